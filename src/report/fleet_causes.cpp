#include "report/fleet_causes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/node_list.h"
#include "base/text.h"
#include "fleet/experiment.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

using fleet::Cause;
using fleet::Experiment;
using fleet::FactValue;

constexpr std::size_t kWidth = 120, kNodesBytes = 70, kValueBytes = 48, kFactsShown = 6, kSlowShown = 20;

std::string short_text(std::string_view s, std::size_t most) {
  return printable(clipped(s, most)) + (s.size() > most ? "…" : "");
}

std::string value_text(const FactColumn& c, FactCode code) {
  return code >= kFirstValue ? c.values[code - kFirstValue] : code == kFactAbsent ? "absent" : "unknown";
}

// What "some of" begins is a list already.
std::string parts_text(const std::vector<std::string>& parts) { return parts.size() == 1 ? parts[0] : compress_node_list(parts); }

// "gpu3"; "some of gpu[0-7]" where the slot does not matter. Empty: the node itself.
std::string part_text(const FactTable& table, FactValue f) {
  const FactColumn& c = table.columns()[f.column];
  if (!f.some) return c.entity;
  std::vector<std::string> parts;
  for (const std::size_t other : table.columns_of(c.key)) {
    if (!table.columns()[other].entity.empty()) parts.push_back(table.columns()[other].entity);
  }
  return "some of " + compress_node_list(std::move(parts));
}

std::string name_text(const FactTable& table, FactValue f) {
  return fact_name(part_text(table, f), table.columns()[f.column].key);
}

// "driver.loaded = 570.133.20"; parts with the same value of the same key are one.
std::vector<std::string> fact_texts(const FactTable& table, const std::vector<FactValue>& facts) {
  std::vector<std::pair<std::pair<std::string, std::string>, std::vector<std::string>>> groups;
  for (const FactValue f : facts) {
    const FactColumn& c = table.columns()[f.column];
    const std::pair<std::string, std::string> name{c.key, value_text(c, f.code)};
    if (f.some) {
      groups.push_back({name, {part_text(table, f)}});
      continue;
    }
    auto it = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
    if (it == groups.end()) it = groups.insert(groups.end(), {name, {}});
    if (!c.entity.empty()) it->second.push_back(c.entity);
  }
  std::vector<std::string> out;
  for (const auto& [name, parts] : groups) {
    out.push_back(fmt::format("{}{} = {}", parts.empty() ? "" : short_text(parts_text(parts), kValueBytes) + ":",
                              short_text(name.first, kNodesBytes), short_text(name.second, kValueBytes)));
  }
  return out;
}

std::string joined(std::vector<std::string> texts, std::string_view between) {
  const std::size_t n = texts.size();
  if (n > kFactsShown) {
    texts.resize(kFactsShown);
    texts.push_back(fmt::format("{} more", n - kFactsShown));
  }
  return join(texts, between);
}

std::string nodes_text(const FactTable& table, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::string> names;
  for (const std::uint32_t n : nodes) names.push_back(table.nodes()[n].name);
  return compress_node_list(std::move(names));
}

std::string line(std::string_view text) { return "  " + wrap(text, kWidth - 2, 4) + "\n"; }

std::string experiment_text(const CausesView& v, const Cause& c) {
  const Experiment e = experiment_for(v.table, v.book, v.explanation.cohorts, c, v.explanation.measures[c.measure].noise);
  if (e.arms.empty())
    return line(
        "nobody can set that alone: swap it between these nodes and others, or run the same there; or compare nodes that "
        "differ only in this");
  std::string out;
  for (const fleet::Arm& a : e.arms) {
    std::vector<std::string> changes;
    for (std::size_t i = 0; i < a.change.size(); ++i) {
      const std::string to = a.to[i].empty() ? "absent" : short_text(a.to[i], kValueBytes);
      changes.push_back(fmt::format("{} to {}", short_text(name_text(v.table, a.change[i]), kNodesBytes), to));
    }
    out += line(fmt::format("try: on {} set {}", short_text(nodes_text(v.table, a.nodes), kNodesBytes),
                            joined(std::move(changes), ", ")));
  }
  std::string then = e.otherwise.empty()
                         ? "if they stay slow, it is none of this"
                         : fmt::format("if none gets faster, it is {}", joined(fact_texts(v.table, e.otherwise), ", "));
  out += line(fmt::format("then measure them again beside {} that stay as they are: {}", e.untouched, then));
  if (!e.enough) out += line("so few nodes may not show it beyond noise: measure each several times");
  return out;
}

std::string cause_text(const CausesView& v, const Cause& c, bool sure) {
  const std::string& measure = v.performance.measures[c.measure];
  std::string out = line(fmt::format("{}", joined(fact_texts(v.table, c.facts), " and ")));
  const bool faster = c.effect < 0;
  out += line(fmt::format("{} nodes are {:.1f} % {} in {} (95 %: {:.1f} to {:.1f} %), p {:.4f} over all values together",
                          c.nodes.size(), 100 * (faster ? -c.effect : c.effect), faster ? "faster" : "slower", printable(measure),
                          100 * (faster ? -c.high : c.low), 100 * (faster ? -c.low : c.high), c.p));
  out += line(short_text(nodes_text(v.table, c.nodes), kNodesBytes));
  if (fact_texts(v.table, c.facts).size() > 1)
    out += line("the same nodes have all of these: which of them it is cannot be seen from here");
  if (!c.near.empty()) out += line("nearly the same nodes have: " + joined(fact_texts(v.table, c.near), ", "));
  if (c.as_racks) {
    out += line("not blamed: racks, or nodes with neighbouring names, that are slow as wholes do as well as this");
  } else if (!c.racks.empty()) {
    out += line(fmt::format("these nodes are all of {}: what they stand on or hang on may be it",
                            c.racks.size() == 1 ? "one rack" : "their racks"));
  }
  if (!faster && (!sure || fact_texts(v.table, c.facts).size() > 1)) out += experiment_text(v, c);
  return out;
}

// A setting that is found in several measures is one.
std::size_t settings_of(const std::vector<Cause>& causes) {
  std::set<std::vector<FactValue>> out;
  for (const Cause& c : causes) out.insert(c.facts);
  return out.size();
}

std::string differences(std::size_t n, bool begins) {
  return n == 1 ? begins ? "One difference" : "one" : fmt::format("{}{}", n, begins ? " differences" : "");
}

std::string verdict_text(const CausesView& v) {
  const fleet::Explanation& e = v.explanation;
  const std::size_t slow = settings_of(e.causes), fast = settings_of(e.faster);
  if (slow > 0) {
    std::string out = fmt::format("{} explain{} slow nodes", differences(slow, true), slow == 1 ? "s" : "");
    if (fast > 0) out += fmt::format("; {} make{} nodes faster than their kind", differences(fast, false), fast == 1 ? "s" : "");
    return out + "\n";
  }
  if (!e.slow_racks.empty()) {
    return e.candidates.empty() ? "Nodes that stand together are slow, and configuration does not explain it\n"
                                : "Nodes that stand together are slow; no setting can be told from where they stand\n";
  }
  if (fast > 0) {
    return fmt::format("{} make{} nodes faster than the rest of their kind: the others may want it\n", differences(fast, true),
                       fast == 1 ? "s" : "");
  }
  if (!e.candidates.empty()) return "Nothing is sure enough to be blamed; something is worth an experiment\n";
  if (!e.unexplained.empty()) return "The slow nodes are not explained by configuration\n";
  return "No node is slow by more than noise, and no difference makes any slower\n";
}

bool less_is_better(const CausesView& v, std::size_t measure) {
  return measure < v.performance.less_is_better.size() && v.performance.less_is_better[measure];
}

// Where the name does not say it already.
std::string measure_text(const CausesView& v, std::size_t m) {
  const std::string& name = v.performance.measures[m];
  return printable(name) + (less_is_better(v, m) || name.ends_with("(less is better)") ? "" : " (more is better)");
}

std::string noise_text(const fleet::MeasureTold& t) {
  if (!t.coarse) return fmt::format("noise {:.2f} % of a node", 100 * t.noise);
  constexpr std::string_view kWhy = "more than half of a kind measured exactly the same";
  return t.noise < 0.00005 ? fmt::format("no noise to be seen since {}", kWhy)
                           : fmt::format("noise about {:.2f} % of a node ({})", 100 * t.noise, kWhy);
}

std::string slow_racks_text(const CausesView& v) {
  std::string out;
  for (const fleet::SlowRack& r : v.explanation.slow_racks) {
    if (out.empty()) out = "\nSlow as wholes: racks, or neighbours by name where racks are not known\n";
    out += line(fmt::format("{} {:.1f} % below their kind in {}", short_text(nodes_text(v.table, r.nodes), kNodesBytes),
                            100 * r.below, printable(v.performance.measures[r.measure])));
  }
  if (out.empty()) return out;
  return out +
         line("next: what they have in common that no fact tells: switch, power, cooling; then muster accept --profile quick");
}

std::string slow_text(const CausesView& v, bool colour) {
  std::vector<fleet::SlowNode> slow = v.explanation.unexplained;
  if (slow.empty()) return {};
  std::stable_sort(slow.begin(), slow.end(), [](const auto& a, const auto& b) { return a.below > b.below; });
  Table t;
  t.columns = {{"NODE"}, {"MEASURE"}, {"BELOW ITS KIND", true}};
  std::vector<std::string> names;
  for (const fleet::SlowNode& s : slow) {
    names.push_back(v.table.nodes()[s.node].name);
    if (t.rows.size() < kSlowShown)
      t.rows.push_back({Cell(short_text(names.back(), kNodesBytes)),
                        Cell(short_text(v.performance.measures[s.measure], kValueBytes)),
                        Cell(fmt::format("{:.1f} %", 100 * s.below), Tone::warn)});
  }
  const std::size_t nodes = std::set<std::string>(names.begin(), names.end()).size();
  std::size_t by_chance = 0;
  for (const fleet::MeasureTold& m : v.explanation.measures) by_chance += m.by_chance;
  std::string out =
      fmt::format("\nNot explained by configuration: {} {}{}\n", nodes, nodes == 1 ? "node is slow" : "nodes are slow",
                  by_chance == 0 ? "" : fmt::format(" (about {} of them by chance)", by_chance));
  out += render_table(t, {true, false, colour});
  if (slow.size() > kSlowShown) out += fmt::format("and {} more: -o json has all\n", slow.size() - kSlowShown);
  return out +
         wrap("next: look at the hardware of " + short_text(compress_node_list(std::move(names)), kNodesBytes) +
                  ": muster accept --profile quick on each",
              kWidth, 2) +
         "\n";
}

std::string section(const CausesView& v, std::string_view title, const std::vector<Cause>& causes, bool sure) {
  std::string out;
  for (std::size_t i = 0; i < causes.size(); ++i)
    out += (i == 0 ? fmt::format("\n{}\n", title) : "\n") + cause_text(v, causes[i], sure);
  return out;
}

void write_facts(JsonWriter& w, const CausesView& v, std::string_view key, const std::vector<FactValue>& facts) {
  w.key(key).array();
  for (const FactValue f : facts) {
    const FactColumn& c = v.table.columns()[f.column];
    w.object().field("fact", name_text(v.table, f)).key("value");
    f.code >= kFirstValue ? w.value(c.values[f.code - kFirstValue]) : w.null();
    w.end_object();
  }
  w.end_array();
}

void write_experiment(JsonWriter& w, const CausesView& v, const Cause& c) {
  const Experiment e = experiment_for(v.table, v.book, v.explanation.cohorts, c, v.explanation.measures[c.measure].noise);
  w.key("experiment").object().key("arms").array();
  for (const fleet::Arm& a : e.arms) {
    w.object().field("nodes", nodes_text(v.table, a.nodes)).key("set").array();
    for (std::size_t i = 0; i < a.change.size(); ++i) {
      w.object().field("fact", name_text(v.table, a.change[i])).key("to");
      a.to[i].empty() ? w.null() : w.value(a.to[i]);
      w.end_object();
    }
    w.end_array().end_object();
  }
  w.end_array();
  write_facts(w, v, "otherwise", e.otherwise);
  write_facts(w, v, "fixed", e.fixed);
  w.field("per_arm", e.per_arm).field("enough", e.enough).end_object();
}

void write_causes(JsonWriter& w, const CausesView& v, std::string_view key, const std::vector<Cause>& causes) {
  w.key(key).array();
  for (const Cause& c : causes) {
    w.object().field("measure", v.performance.measures[c.measure]);
    write_facts(w, v, "facts", c.facts);
    write_facts(w, v, "near", c.near);
    w.field("as_racks", c.as_racks)
        .field("slower", c.effect)
        .field("low", c.low)
        .field("high", c.high)
        .field("p", c.p)
        .field("statistic", c.statistic);
    w.field("surprise_bits", c.surprise_bits).field("whole_racks", static_cast<std::uint64_t>(c.racks.size()));
    w.field("count", static_cast<std::uint64_t>(c.nodes.size())).field("nodes", nodes_text(v.table, c.nodes));
    write_experiment(w, v, c);
    w.end_object();
  }
  w.end_array();
}

}  // namespace

std::string render_causes(const CausesView& v, bool colour) {
  const fleet::Explanation& e = v.explanation;
  std::string out = verdict_text(v);
  for (std::size_t m = 0; m < e.measures.size(); ++m) {
    const fleet::MeasureTold& t = e.measures[m];
    out += line(fmt::format("{}: {} nodes measured, {}, {} tried by {} shuffles within each kind{}",
                            measure_text(v, m), t.nodes, noise_text(t), counted(t.values, "difference"), e.permutations,
                            t.within_racks ? " and rack, since racks differ" : ""));
  }
  out += section(v, "Causes, the one that explains most first", e.causes, true);
  out += slow_racks_text(v);
  const bool bound = std::any_of(e.candidates.begin(), e.candidates.end(), [](const Cause& c) { return c.as_racks; });
  out += section(v,
                 bound ? "Candidates: not sure enough to be blamed, so try before you believe it"
                       : "Candidates: chance alone gives one in 1 of 20 fleets, so try before you believe it",
                 e.candidates, false);
  out += section(v, "Faster than their kind: what the others may want", e.faster, true);
  out += slow_text(v, colour);
  for (const std::string& n : e.notes) out += "\n" + wrap("note: " + printable(n), kWidth, 2) + "\n";
  return out;
}

std::string causes_json(const CausesView& v) {
  const fleet::Explanation& e = v.explanation;
  JsonWriter w;
  w.object().field("alpha", v.options.alpha).field("permutations", e.permutations).field("seed", v.options.seed);
  w.key("measures").array();
  for (std::size_t m = 0; m < e.measures.size(); ++m) {
    const fleet::MeasureTold& t = e.measures[m];
    w.object().field("measure", v.performance.measures[m]).field("nodes", static_cast<std::uint64_t>(t.nodes));
    w.field("better", less_is_better(v, m) ? "less" : "more").field("coarse", t.coarse);
    w.field("differences", static_cast<std::uint64_t>(t.values)).field("noise", t.noise).field("within_racks", t.within_racks);
    w.end_object();
  }
  w.end_array();
  write_causes(w, v, "causes", e.causes);
  write_causes(w, v, "candidates", e.candidates);
  write_causes(w, v, "faster", e.faster);
  w.key("unexplained").array();
  for (const fleet::SlowNode& s : e.unexplained) {
    w.object().field("node", v.table.nodes()[s.node].name).field("measure", v.performance.measures[s.measure]);
    w.field("below", s.below).end_object();
  }
  w.end_array().key("slow_racks").array();
  for (const fleet::SlowRack& r : e.slow_racks) {
    w.object().field("nodes", nodes_text(v.table, r.nodes)).field("measure", v.performance.measures[r.measure]);
    w.field("below", r.below).end_object();
  }
  w.end_array().key("notes").array();
  for (const std::string& n : e.notes) w.value(n);
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace muster::report
