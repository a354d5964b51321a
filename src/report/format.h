// Output formats of the command line, and the nouns it lists.
#pragma once
#include <array>
#include <string_view>

namespace muster::report {

enum class Format { table, wide, json, jsonl, yaml, csv, name };
constexpr std::array<std::string_view, 7> kFormatNames = {"table", "wide", "json", "jsonl", "yaml", "csv", "name"};

enum class Noun { nodes, gpus, jobs, findings, incidents, actions };
constexpr std::array<std::string_view, 6> kNounNames = {"nodes", "gpus", "jobs", "findings", "incidents", "actions"};
constexpr std::array<std::string_view, 6> kNounSingular = {"node", "gpu", "job", "finding", "incident", "action"};

}  // namespace muster::report
