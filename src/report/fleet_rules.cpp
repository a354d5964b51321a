// The rules themselves: all in a list, or one in full.
#include <fmt/core.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/fleet_check.h"

namespace muster::report {
namespace {

constexpr std::size_t kWidth = 110;

// {driver.loaded} is a place for a value; in a list the fact's name says enough.
std::string plain(std::string_view says) {
  std::string out;
  for (const char c : says) {
    if (c == '{')
      out += '<';
    else if (c == '}')
      out += '>';
    else
      out += c;
  }
  return out;
}

// A list has a line for each; the whole sentence is in that of one rule, in JSON and CSV.
constexpr std::size_t kSays = 92;
std::string in_short(const std::string& says) {
  return says.size() <= kSays ? says : std::string(clipped(says, kSays - 3)) + "...";
}

}  // namespace

Table fleet_rules_table(std::span<const FleetRule> rules) {
  Table t;
  t.columns = {{"ID"},
               {"KIND"},
               {"SEVERITY"},
               {"SAYS"},
               {"WHERE", false, true},
               {"WANTED", false, true},
               {"CONFIDENCE", false, true},
               {"SOURCE", false, true}};
  for (const FleetRule& r : rules)
    t.rows.push_back({Cell(r.id), Cell(std::string(name_of(r.kind))), Cell(std::string(name_of(r.severity))),
                      Cell(in_short(plain(r.says))), Cell(fleet::where_text(r)), Cell(fleet::wanted_text(r)), Cell(r.confidence),
                      Cell(r.source)});
  return t;
}

std::string fleet_rules_json(std::span<const FleetRule> rules) {
  JsonWriter w;
  w.array();
  for (const FleetRule& r : rules) {
    w.object().field("id", r.id).field("kind", name_of(r.kind)).field("severity", name_of(r.severity));
    w.field("a", r.a).field("range_a", r.range_a).field("b", r.b).field("range_b", r.range_b);
    w.field("applies_to", r.applies_to).field("says", r.says).field("do", r.todo).field("effect", r.effect);
    w.field("confidence", r.confidence).field("source", r.source).field("file", r.file).field("line", r.line).end_object();
  }
  w.end_array();
  return w.take() + "\n";
}

std::string render_fleet_rule(const FleetRule& r) {
  std::string out = fmt::format("{}  {}, {}\n", printable(r.id), name_of(r.kind), name_of(r.severity));
  const auto line = [&](const char* what, const std::string& text) {
    if (!text.empty()) out += fmt::format("  {:<11}", what) + wrap(printable(text), kWidth, 13) + "\n";
  };
  line("says", plain(r.says));
  line("where", fleet::where_text(r));
  line("wanted", fleet::wanted_text(r));
  line("do", r.todo);
  line("effect", r.effect);
  line("confidence", r.confidence);
  line("source", r.source);
  line("from", fmt::format("{}:{}", r.file, r.line));
  return out;
}

}  // namespace muster::report
