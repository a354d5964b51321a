#include "report/fleet_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json_writer.h"
#include "base/node_list.h"
#include "base/text.h"
#include "report/units.h"

namespace muster::report {
namespace {

using fleet::RuleStatus;
using fleet::Verdict;

constexpr std::size_t kWidth = 110;
constexpr std::size_t kValuesShown = 5;  // of one rule: a setting may differ in a hundred ways

std::string names_of(const FactTable& facts, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const std::uint32_t n : nodes) names.push_back(facts.nodes()[n].name);
  return compress_node_list(std::move(names));
}

std::string short_names(const FleetChecked& c, const std::vector<std::uint32_t>& nodes) {
  constexpr std::size_t kMost = 300;
  const std::string all = printable(names_of(c.facts, nodes));
  return all.size() <= kMost ? all : std::string(clipped(all, kMost)) + "...";
}

Tone tone_of(RuleSeverity s) { return s == RuleSeverity::error ? Tone::bad : s == RuleSeverity::warn ? Tone::warn : Tone::dim; }

std::string missing_text(const Verdict& v) {
  if (v.missing.empty()) return v.found.empty() ? "the rule does not know this value" : v.found;
  std::string out = "not known: " + join(v.missing, ", ");
  if (!v.found.empty()) out += " (" + v.found + ")";
  return out;
}

std::string sentence(const FleetChecked& c, const Verdict& v) {
  std::string out = v.status == RuleStatus::broken ? v.says : missing_text(v);
  if (v.status == RuleStatus::broken && c.rules[v.rule].kind == RuleKind::date && !c.today.empty())
    out += fmt::format(" (by the day {})", c.today);
  if (v.effect)
    out += fmt::format("; nodes with {} {} are {:.1f} % slower here (p {:.3f})", fact_name(v.effect->entity, v.effect->key),
                       v.effect->absent ? "absent" : v.effect->value, v.effect->effect_pct, v.effect->p);
  return out;
}

struct Counts {
  std::map<RuleSeverity, std::size_t> broken;  // rules, by the gravest of their verdicts
  std::size_t fine = 0, unknown = 0, not_applicable = 0;
};

Counts counts_of(const FleetChecked& c) {
  struct Seen {
    bool broken = false, unknown = false, ok = false;
    RuleSeverity severity = RuleSeverity::info;
  };
  std::vector<Seen> seen(c.rules.size());
  for (const Verdict& v : c.verdicts.all) {
    Seen& s = seen[v.rule];
    if (v.status == RuleStatus::broken) s.severity = s.broken ? std::max(s.severity, v.severity) : v.severity;
    s.broken |= v.status == RuleStatus::broken;
    s.unknown |= v.status == RuleStatus::unknown;
    s.ok |= v.status == RuleStatus::ok;
  }
  Counts out;
  for (const Seen& s : seen) {
    if (s.broken) ++out.broken[s.severity];
    if (s.unknown) ++out.unknown;
    if (!s.broken && !s.unknown) ++(s.ok ? out.fine : out.not_applicable);
  }
  return out;
}

std::size_t broken_of(const Counts& c, RuleSeverity s) {
  const auto it = c.broken.find(s);
  return it == c.broken.end() ? 0 : it->second;
}

std::string summary(const FleetChecked& c) {
  const Counts n = counts_of(c);
  std::string all = fmt::format(
      "{}, {} rules: {} broken as error, {} as warn, {} as info; {} hold, {} do not apply, {} not judged everywhere{}",
      counted(static_cast<std::int64_t>(c.facts.nodes().size()), "node"), c.rules.size(), broken_of(n, RuleSeverity::error),
      broken_of(n, RuleSeverity::warn), broken_of(n, RuleSeverity::info), n.fine, n.not_applicable, n.unknown,
      n.unknown > 0 && !c.unknown ? " (--unknown)" : "");
  if (!c.hardly_known.empty())
    all += fmt::format("; of {} nothing or hardly anything is known: {}",
                       counted(static_cast<std::int64_t>(c.hardly_known.size()), "node"), short_names(c, c.hardly_known));
  return wrap(all, kWidth, 2) + "\n";
}

void put_verdict(JsonWriter& w, const FleetChecked& c, const Verdict& v) {
  const FleetRule& r = c.rules[v.rule];
  w.object().field("rule", r.id).field("status", fleet::names(v.status)[static_cast<std::size_t>(v.status)]);
  w.field("severity", name_of(v.severity)).field("kind", name_of(r.kind)).field("says", sentence(c, v)).field("found", v.found);
  w.field("nodes", names_of(c.facts, v.nodes)).field("count", static_cast<std::uint64_t>(v.nodes.size()));
  w.key("parts").array();
  for (const std::string& p : v.parts) w.value(p);
  w.end_array().key("missing").array();
  for (const std::string& m : v.missing) w.value(m);
  w.end_array();
  if (v.effect) {
    w.key("effect").object().field("fact", fact_name(v.effect->entity, v.effect->key));
    w.field("slower_pct", v.effect->effect_pct).field("p", v.effect->p).end_object();
  }
  w.field("do", r.todo).field("confidence", r.confidence).field("source", r.source).end_object();
}

std::string block(const FleetChecked& c, const Verdict& v, bool colour) {
  const FleetRule& r = c.rules[v.rule];
  const std::string word(v.status == RuleStatus::broken ? name_of(v.severity) : std::string_view("unknown"));
  const std::string where = short_names(c, v.nodes);
  const std::string parts = v.parts.empty() ? std::string() : "  " + printable(join(v.parts, ","));
  const std::string of = v.nodes.size() == c.facts.nodes().size()
                             ? (v.nodes.size() == 1 ? "the only node" : fmt::format("all {} nodes", v.nodes.size()))
                             : fmt::format("{} of {} nodes", v.nodes.size(), c.facts.nodes().size());
  std::string out =
      fmt::format("{} {}  {}{}  ({})\n", paint(word, v.status == RuleStatus::broken ? tone_of(v.severity) : Tone::dim, colour),
                  printable(r.id), where, parts, of);
  out += "  " + wrap(printable(sentence(c, v)), kWidth, 4) + "\n";
  if (v.status == RuleStatus::broken && !r.todo.empty()) out += "  " + wrap("do: " + printable(r.todo), kWidth, 6) + "\n";
  out += "  " + wrap("source: " + printable(r.source), kWidth, 10) + "\n";
  return out;
}

// Whom a rule is told of in further words, in one line: the first of `shown`, and what is behind it of its rule and status.
std::string rest_of(const FleetChecked& c, std::span<const Verdict* const> shown, bool colour) {
  const Verdict& first = *shown.front();
  std::set<std::uint32_t> nodes;
  for (const Verdict* v : shown) {
    if (v->rule == first.rule && v->status == first.status) nodes.insert(v->nodes.begin(), v->nodes.end());
  }
  const std::string word(first.status == RuleStatus::broken ? name_of(first.severity) : std::string_view("unknown"));
  const std::string line =
      fmt::format("and others: {} ({}); -o json has the values of each", short_names(c, {nodes.begin(), nodes.end()}),
                  counted(static_cast<std::int64_t>(nodes.size()), "node"));
  const Tone tone = first.status == RuleStatus::broken ? tone_of(first.severity) : Tone::dim;
  return fmt::format("{} {}  {}\n", paint(word, tone, colour), printable(c.rules[first.rule].id), line);
}

}  // namespace

std::vector<const Verdict*> shown_verdicts(const FleetChecked& c) {
  std::vector<const Verdict*> out;
  for (const Verdict& v : c.verdicts.all) {
    const bool wanted = v.status == RuleStatus::broken || (c.unknown && v.status == RuleStatus::unknown);
    if (wanted && v.severity >= c.least) out.push_back(&v);
  }
  std::stable_sort(out.begin(), out.end(), [](const Verdict* a, const Verdict* b) {
    if (a->status != b->status) return a->status < b->status;
    return a->severity > b->severity;
  });
  return out;
}

bool any_broken(const FleetChecked& c) {
  return std::any_of(c.verdicts.all.begin(), c.verdicts.all.end(),
                     [&](const Verdict& v) { return v.status == RuleStatus::broken && v.severity >= c.least; });
}

bool any_judged(const FleetChecked& c) {
  return std::any_of(c.verdicts.all.begin(), c.verdicts.all.end(),
                     [](const Verdict& v) { return v.status == RuleStatus::broken || v.status == RuleStatus::ok; });
}

std::string render_fleet_check(const FleetChecked& c, bool colour) {
  std::string out;
  const std::vector<const Verdict*> shown = shown_verdicts(c);
  std::map<std::pair<std::uint32_t, RuleStatus>, std::size_t> told;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Verdict* v = shown[i];
    const std::size_t n = ++told[{v->rule, v->status}];
    const bool error = v->status == RuleStatus::broken && v->severity == RuleSeverity::error;
    if (n <= kValuesShown || error) out += block(c, *v, colour) + "\n";
    if (n == kValuesShown + 1 && !error) out += rest_of(c, std::span(shown).subspan(i), colour) + "\n";
  }
  return out + summary(c);
}

Table fleet_check_table(const FleetChecked& c) {
  Table t;
  t.columns = {{"SEVERITY"}, {"RULE"}, {"STATUS"}, {"COUNT", true}, {"NODES"}, {"PARTS"}, {"WHAT"}, {"DO"}, {"SOURCE"}};
  for (const Verdict* v : shown_verdicts(c)) {
    const FleetRule& r = c.rules[v->rule];
    t.rows.push_back({Cell(std::string(name_of(v->severity)), tone_of(v->severity)), Cell(r.id),
                      Cell(std::string(fleet::names(v->status)[static_cast<std::size_t>(v->status)])),
                      Cell(std::to_string(v->nodes.size())), Cell(names_of(c.facts, v->nodes)), Cell(join(v->parts, ",")),
                      Cell(sentence(c, *v)), Cell(r.todo), Cell(r.source)});
  }
  return t;
}

std::string fleet_check_json(const FleetChecked& c) {
  const Counts n = counts_of(c);
  JsonWriter w;
  w.object().field("nodes", static_cast<std::uint64_t>(c.facts.nodes().size()));
  w.field("rules", static_cast<std::uint64_t>(c.rules.size())).key("summary").object();
  for (const RuleSeverity s : {RuleSeverity::error, RuleSeverity::warn, RuleSeverity::info})
    w.field(name_of(s), static_cast<std::uint64_t>(broken_of(n, s)));
  w.field("hold", static_cast<std::uint64_t>(n.fine)).field("not_applicable", static_cast<std::uint64_t>(n.not_applicable));
  w.field("unknown", static_cast<std::uint64_t>(n.unknown)).end_object();
  if (!c.today.empty()) w.field("today", c.today);
  w.field("hardly_known", names_of(c.facts, c.hardly_known)).key("findings").array();
  for (const Verdict* v : shown_verdicts(c)) put_verdict(w, c, *v);
  w.end_array().end_object();
  return w.take() + "\n";
}

std::string fleet_check_jsonl(const FleetChecked& c) {
  std::string out;
  for (const Verdict* v : shown_verdicts(c)) {
    JsonWriter w;
    put_verdict(w, c, *v);
    out += w.take() + "\n";
  }
  return out;
}

}  // namespace muster::report
