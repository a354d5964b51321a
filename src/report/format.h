// Output formats of the command line, and the nouns it lists.
#pragma once
#include <array>
#include <string_view>

namespace muster::report {

enum class Format { table, wide, json, jsonl, yaml, csv, name };
constexpr std::array<std::string_view, 7> kFormatNames = {"table", "wide", "json", "jsonl", "yaml", "csv", "name"};

enum class Noun { nodes, gpus, jobs, queues, findings, incidents, actions, leaves, links };
constexpr std::array<std::string_view, 9> kNounNames = {"nodes",     "gpus",    "jobs",   "queues", "findings",
                                                        "incidents", "actions", "leaves", "links"};
constexpr std::array<std::string_view, 9> kNounSingular = {"node",     "gpu",    "job",  "queue", "finding",
                                                           "incident", "action", "leaf", "link"};

}  // namespace muster::report
