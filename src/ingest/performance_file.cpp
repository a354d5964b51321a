#include "ingest/performance_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/form.h"

namespace muster {
namespace {

// Times, by their names: latency_us, step_time, seconds. Rates are none, such as tokens_per_s and copy_gb_s.
bool is_time(std::string_view name) {
  const std::string all = lower(name);
  const auto words = split(std::string_view(all), '_');
  const auto is = [](std::string_view w, std::initializer_list<std::string_view> list) {
    return std::find(list.begin(), list.end(), w) != list.end();
  };
  if (all.find("per_") != std::string::npos || all.find('/') != std::string::npos) return false;
  for (const std::string_view w : words) {
    if (is(w, {"latency", "time", "seconds", "duration", "latencies", "elapsed"})) return true;
  }
  if (words.size() < 2) return false;
  if (is(words.back(), {"ms", "us", "ns", "sec", "secs", "msec", "usec"})) return true;
  return words.back() == "s" &&
         !is(words[words.size() - 2],
             {"b",    "kb",      "mb",     "gb",    "tb",    "kib",      "mib",  "gib",   "tib",   "bit",  "gbit",
              "mbit", "flop",    "flops",  "tflop", "tok",   "tokens",   "it",   "iter",  "steps", "step", "ops",
              "op",   "samples", "images", "msgs",  "token", "requests", "reqs", "bytes", "frames"});
}

struct Column {
  std::size_t at = 0;
  bool less_is_better = false;
};

}  // namespace

Result<NodePerformance> read_performance(std::string_view text, const std::string& file) {
  const auto csv = parse_csv(text, file);
  if (!csv) return tl::unexpected(csv.error());
  const auto bad = [&](int line, const std::string& why) {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", file, line, why),
                "a header \"node,busbw\" and one line a node; docs/fleet/explain.md");
  };
  const int at = csv->column("node");
  if (at < 0) return bad(1, "there is no column node");
  if (csv->header.size() < 2) return bad(1, "there is no column with a measure");
  NodePerformance out;
  std::vector<Column> columns;
  std::set<std::string> measures;
  for (std::size_t c = 0; c < csv->header.size(); ++c) {
    if (static_cast<int>(c) == at) continue;
    std::string name(trim(csv->header[c]));
    const bool less = name.starts_with('-'), more = name.starts_with('+');
    if (less || more) name = trim(std::string_view(name).substr(1));
    if (name.empty()) return bad(1, "a measure has no name");
    if (!measures.insert(name).second) return bad(1, fmt::format("two columns are called {}", quoted(name)));
    const bool turned = less || (!more && is_time(name));
    out.measures.push_back(turned ? name + " (less is better)" : name);
    columns.push_back({c, turned});
  }
  out.values.resize(columns.size());
  std::set<std::string> seen;
  for (std::size_t r = 0; r < csv->rows.size(); ++r) {
    const std::string node(trim(csv->rows[r][static_cast<std::size_t>(at)]));
    if (node.empty()) return bad(csv->lines[r], "the node has no name");
    if (!seen.insert(node).second) return bad(csv->lines[r], fmt::format("{} is there twice", quoted(node)));
    out.nodes.push_back(node);
    for (std::size_t m = 0; m < columns.size(); ++m) {
      const std::string_view cell = trim(csv->rows[r][columns[m].at]);
      if (cell.empty() || cell == "-") {
        out.values[m].push_back(std::numeric_limits<double>::quiet_NaN());
        continue;
      }
      const auto value = parse_double(cell);
      if (!value || !std::isfinite(*value) || *value <= 0)
        return bad(csv->lines[r], fmt::format("{} must be a number above 0, or empty where it was not measured, is {}",
                                              quoted(out.measures[m]), quoted(cell)));
      out.values[m].push_back(columns[m].less_is_better ? 1 / *value : *value);
    }
  }
  if (out.nodes.empty()) return bad(1, "there is no node");
  return out;
}

}  // namespace muster
