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

bool is(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool capital(char c) { return c >= 'A' && c <= 'Z'; }

// "StepTime (ms/op)": step time ms per op. Words end at whatever is no letter and where capitals begin.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> out(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool begins = capital(c) && i > 0 && letter(name[i - 1]) &&
                        (!capital(name[i - 1]) || (i + 1 < name.size() && letter(name[i + 1]) && !capital(name[i + 1])));
    if ((begins || !letter(c)) && !out.back().empty()) out.emplace_back();
    if (letter(c)) out.back() += c;
    if (c == '/') {
      out.back() = "per";
      out.emplace_back();
    }
  }
  if (out.back().empty()) out.pop_back();
  for (std::string& w : out) w = lower(w);
  return out;
}

bool time_unit(std::string_view w) {
  return is(
      w, {"s",           "sec",          "secs",  "second",     "seconds",     "ms",     "msec",        "msecs",        "millis",
          "millisecond", "milliseconds", "us",    "usec",       "usecs",       "micros", "microsecond", "microseconds", "ns",
          "nsec",        "nsecs",        "nanos", "nanosecond", "nanoseconds", "minute", "minutes",     "hour",         "hours"});
}

bool time_word(std::string_view w) {
  return is(w, {"latency", "latencies", "time", "times", "timing", "timings", "duration", "durations", "elapsed", "runtime",
                "runtimes", "walltime", "delay", "delays", "rtt"});
}

bool rate_word(std::string_view w) {
  return is(w, {"bandwidth", "bw", "busbw", "algbw", "throughput", "rate", "rates", "flops", "tflops", "gflops", "pflops",
                "speed", "fps", "qps", "iops", "gbps", "mbps", "tps"});
}

// "gb_s", "tokens_s": so many of it a second.
bool counted(std::string_view w) {
  return is(
      w, {"b",     "kb",   "mb",    "gb",    "tb",     "kib",    "mib",    "gib",     "tib",      "bit",  "bits",  "gbit",
          "mbit",  "flop", "flops", "tflop", "tflops", "gflop",  "gflops", "tok",     "tokens",   "its",  "iters", "iterations",
          "steps", "ops",  "op",    "img",   "imgs",   "images", "msgs",   "samples", "requests", "reqs", "bytes", "frames"});
}

enum class Better : std::uint8_t { more, less, unclear, perhaps_less };

// By its name: times are better when they are less, rates when they are more. X per time is a rate, time per X a time.
Better better_of(std::string_view name) {
  std::vector<std::string> words = words_of(name);
  while (words.size() > 1 && is(words.back(), {"p", "avg", "mean", "median", "min", "max", "std"})) words.pop_back();
  const auto per = std::find(words.begin(), words.end(), "per");
  const auto before = static_cast<std::size_t>(per - words.begin());
  bool time = false, rate = false, perhaps = false;
  for (std::size_t i = 0; i < before; ++i) {
    const std::string& w = words[i];
    const bool full = w.size() > 4;  // "seconds", "millis": a unit wherever it stands
    time = time || time_word(w) || (time_unit(w) && full);
    rate = rate || rate_word(w);
    perhaps = perhaps || (!time_word(w) && (w.find("time") != std::string::npos || w.find("latenc") != std::string::npos));
  }
  if (before > 0 && time_unit(words[before - 1]) && !time) {
    const std::string_view of = before > 1 ? std::string_view(words[before - 2]) : std::string_view();
    const bool second = is(words[before - 1], {"s", "sec"}) && per == words.end();
    if (second && is(of, {"step", "it", "iter", "token", "request", "frame", "sample", "image"})) return Better::unclear;
    (second && counted(of) ? rate : time) = true;
  }
  if (per != words.end()) rate = rate || (per + 1 != words.end() && time_unit(*(per + 1)));
  if (time && rate) return Better::unclear;
  return time ? Better::less : perhaps && !rate ? Better::perhaps_less : Better::more;
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
    const Better by_name = less || more ? Better::more : better_of(name);
    if (by_name == Better::unclear) {
      return bad(1, fmt::format("whether less or more is better in {} cannot be told from its name: write {} or {}", quoted(name),
                                quoted("-" + name), quoted("+" + name)));
    }
    if (by_name == Better::perhaps_less) {
      out.notes.push_back(fmt::format("{}: more is taken to be better; if it is a time, write {}", name, quoted("-" + name)));
    }
    const bool turned = less || by_name == Better::less;
    out.less_is_better.push_back(turned);
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
