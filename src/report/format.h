// Output formats of the command line.
#pragma once
#include <array>
#include <string_view>

namespace muster::report {

enum class Format { table, wide, json, jsonl, yaml, csv, name };
constexpr std::array<std::string_view, 7> kFormatNames = {"table", "wide", "json", "jsonl", "yaml", "csv", "name"};

}  // namespace muster::report
