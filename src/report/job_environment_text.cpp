// Two runs against each other as people read it, from JobRuns' JSON.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/job_environment.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::size_t kValueWidth = 44;  // of a cell; the whole is in JSON
constexpr std::size_t kNodesWidth = 60;
constexpr std::size_t kValuesShown = 3;

std::string shortened(std::string text, std::size_t most) {
  text = printable(text);
  return text.size() <= most ? text : std::string(clipped(text, most - 3)) + "...";
}

std::size_t count_of(const Value& v) { return static_cast<std::size_t>(number_of(v, "count").value_or(0)); }

// "2.28.3", "2.28.3 (61 nodes), 2.27.5 (3)"
std::string said(const Value::Array& values) {
  if (values.empty()) return "-";
  std::string out;
  for (std::size_t i = 0; i < std::min(values.size(), kValuesShown); ++i) {
    out += (i > 0 ? ", " : "") + shortened(text_of(values[i], "value"), kValueWidth);
    if (values.size() > 1) out += fmt::format(" ({}{})", count_of(values[i]), i == 0 ? " nodes" : "");
  }
  if (values.size() > kValuesShown) out += fmt::format(" and {} more", values.size() - kValuesShown);
  return out;
}

void say_runs(const Value& answer, std::string& out) {
  for (const Value& r : list_of(answer, "runs")) {
    const std::string end = text_of(r, "end"), ended = text_of(r, "ended_utc");
    out += fmt::format("{}  {} of {}, {} ({}), {} to {}{}\n", text_of(r, "run"), shortened(text_of(r, "name"), kValueWidth),
                       shortened(text_of(r, "user"), kValueWidth),
                       counted(static_cast<std::int64_t>(number_of(r, "node_count").value_or(0)), "node"),
                       shortened(text_of(r, "nodes"), kNodesWidth), text_of(r, "started_utc"), ended.empty() ? "now" : ended,
                       end.empty() ? "" : ", " + end);
  }
}

Table changes_table(const Value& answer) {
  const auto& runs = list_of(answer, "runs");
  Table t;
  t.columns = {{"LAYER"},
               {"WHAT"},
               {runs.empty() ? "A" : text_of(runs.front(), "run")},
               {runs.empty() ? "B" : text_of(runs.back(), "run")}};
  for (const Value& c : list_of(answer, "changes")) {
    t.rows.push_back({Cell(text_of(c, "layer")), Cell(text_of(c, "what")), Cell(said(list_of(c, "a"))),
                      Cell(said(list_of(c, "b")), Tone::warn)});
  }
  for (const Value& c : list_of(answer, "same")) {
    const std::string value = said(list_of(c, "a"));
    t.rows.push_back({Cell(text_of(c, "layer")), Cell(text_of(c, "what")), Cell(value), Cell("the same", Tone::dim)});
  }
  return t;
}

void say_splits(const Value& answer, std::string& out) {
  const auto& splits = list_of(answer, "split");
  if (!splits.empty()) out += "\nnodes of one run that differ among themselves:\n";
  for (const Value& s : splits) {
    std::size_t all = 0;
    const auto& values = list_of(s, "values");
    for (const Value& v : values) all += count_of(v);
    for (std::size_t i = 1; i < values.size(); ++i) {
      out += fmt::format("  {}: {} of {} nodes have {} {} instead of {}: {}\n", text_of(s, "run"), count_of(values[i]), all,
                         printable(text_of(s, "what")), shortened(text_of(values[i], "value"), kValueWidth),
                         shortened(text_of(values.front(), "value"), kValueWidth),
                         shortened(text_of(values[i], "nodes"), kNodesWidth));
    }
  }
  const auto& meanwhile = list_of(answer, "changed_meanwhile");
  if (!meanwhile.empty()) out += "\nchanged while it ran:\n";
  for (const Value& m : meanwhile) {
    out += fmt::format("  {}: {} from {} to {} on {} ({})\n", text_of(m, "run"), printable(text_of(m, "what")),
                       shortened(text_of(m, "from"), kValueWidth), shortened(text_of(m, "to"), kValueWidth),
                       counted(static_cast<std::int64_t>(count_of(m)), "node"), shortened(text_of(m, "nodes"), kNodesWidth));
  }
}

}  // namespace

std::string render_job_difference(const Value& answer, bool colour) {
  std::string out;
  say_runs(answer, out);
  const auto same = static_cast<std::int64_t>(number_of(answer, "same_count").value_or(0));
  const Table t = changes_table(answer);
  out += t.rows.empty() ? "\nnothing that is known of them differs\n" : "\n" + render_table(t, {.colour = colour});
  if (list_of(answer, "same").empty() && same > 0)
    out += fmt::format("{} {} the same; --all lists them\n", counted(same, "other thing"), same == 1 ? "is" : "are");
  say_splits(answer, out);
  const auto& notes = list_of(answer, "notes");
  if (!notes.empty()) out += "\n";
  for (const Value& n : notes) out += "note: " + printable(n.string() != nullptr ? *n.string() : std::string()) + "\n";
  return out;
}

std::string render_job_environment(const Value& answer) {
  std::string out;
  for (const Value& f : list_of(answer, "facts"))
    out += fmt::format("  {}: {}\n", printable(text_of(f, "what")), said(list_of(f, "values")));
  return out.empty() ? out : "\nRuns in\n" + out;
}

}  // namespace muster::report
