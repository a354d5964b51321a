// What is true of every verdict of every rule that ships, whatever the fleet: unknown is never fine, a node answers for itself,
// and no order of anything matters.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "base/prng.h"
#include "base/text.h"
#include "fleet/check.h"
#include "ingest/fact_book.h"
#include "ingest/fleet_rules.h"
#include "report/rule_cases_fixture.h"

namespace muster::report {
namespace {

using fleet::RuleStatus;

const std::vector<RuleCase>& cases() {
  static const std::vector<RuleCase> kCases = [] {
    std::ifstream in(MUSTER_RULE_CASES);
    std::stringstream text;
    text << in.rdbuf();
    return parse_rule_cases(text.str());
  }();
  return kCases;
}

struct Fleet {
  std::vector<CaseNode> nodes;
  std::string today;
};

std::string key_of(const std::string& fact) { return fact.substr(fact.find(':') + 1); }

// The kind of part that a fact is of; empty: of the node.
std::string part_kind(const std::string& fact) {
  const FactMeaning* m = fact_book().find(key_of(fact));
  return m == nullptr ? std::string() : m->of;
}

// By kind of part a fact that no rule asks for: it says that the part is there, and nothing else.
const std::map<std::string, std::string>& marks() {
  static const std::map<std::string, std::string> kMarks = [] {
    std::string all;
    for (const FleetRule& r : fleet_rules())
      all += r.a + " " + r.range_a + " " + r.b + " " + r.range_b + " " + r.applies_to + " ";
    std::map<std::string, std::string> out;
    for (const FactMeaning& m : fact_book().rows) {
      if (!m.of.empty() && all.find(m.key) == std::string::npos) out.try_emplace(m.of, m.key);
    }
    return out;
  }();
  return kMarks;
}

// Every part of which anything is known gets the mark of its kind.
void mark_parts(CaseNode& node) {
  CaseNode more;
  for (const auto& [fact, value] : node) {
    const std::string kind = part_kind(fact);
    if (!kind.empty()) more.try_emplace(fact.substr(0, fact.find(':')) + ":" + marks().at(kind), "a part of this kind");
  }
  node.merge(more);
}

// Facts of many cases, put together: most rules apply to such a node, and many are broken.
CaseNode any_node(Prng& random) {
  CaseNode out;
  for (int i = 0; i < 80; ++i) {
    const RuleCase& c = cases()[random.below(cases().size())];
    CaseNode facts = c.nodes[random.below(c.nodes.size())];
    out.merge(facts);
  }
  return out;
}

void change_something(CaseNode& node, const CaseNode& other, Prng& random) {
  constexpr const char* kOdd[] = {"", "N/A", "unknown", "banana", "1.master", "0", "-1", "[Not Supported]", "2.28.3, 2.27.5"};
  CaseNode out;
  for (const auto& [fact, value] : node) {
    const double what = random.unit();
    const auto there = other.find(fact);
    if (what < 0.08) continue;
    if (what < 0.12) {
      out[fact] = std::nullopt;
    } else if (what < 0.16) {
      out[fact] = kOdd[random.below(std::size(kOdd))];
    } else if (what < 0.4 && there != other.end()) {
      out[fact] = there->second;
    } else {
      out[fact] = value;
    }
  }
  node = std::move(out);
}

Fleet any_fleet(Prng& random) {
  Fleet out;
  const CaseNode first = any_node(random);
  const std::size_t nodes = 1 + random.below(4);
  for (std::size_t n = 0; n < nodes; ++n) {
    CaseNode node = first;
    if (n > 0 || random.chance(0.5)) change_something(node, any_node(random), random);
    if (random.chance(0.1)) node["gpu.count"] = "0";
    mark_parts(node);
    out.nodes.push_back(std::move(node));
  }
  if (random.chance(0.8)) out.today = random.chance(0.5) ? "2026-11-19" : "2024-02-01";
  return out;
}

bool compares_nodes(const FleetRule& r) { return r.kind == RuleKind::alike || r.kind == RuleKind::job; }

// ---- verdicts, by rule and node

struct Said {
  RuleStatus status;
  RuleSeverity severity;
  std::vector<std::string> parts;
  std::string says, found;
  std::vector<std::string> missing;
  auto operator<=>(const Said&) const = default;
};

using ByNode = std::map<std::pair<std::string, std::string>, std::set<Said>>;  // rule's id and node's name

ByNode verdicts(const FactTable& table, std::span<const FleetRule> rules, const std::string& today) {
  fleet::CheckOptions options;
  options.today = today;
  // One kind: which nodes are alike enough to be compared is not what is asked here.
  options.kinds.push_back({"all", {}, {}});
  for (std::uint32_t n = 0; n < table.nodes().size(); ++n) options.kinds.back().nodes.push_back(n);
  ByNode out;
  for (const fleet::Verdict& v : fleet::check_rules(table, fact_book(), rules, options).all) {
    for (const std::uint32_t n : v.nodes)
      out[{rules[v.rule].id, table.nodes()[n].name}].insert({v.status, v.severity, v.parts, v.says, v.found, v.missing});
  }
  return out;
}

ByNode verdicts(const Fleet& f) { return verdicts(table_of(f.nodes), fleet_rules(), f.today); }

// The gravest, which is what people act upon.
RuleStatus worst(const std::set<Said>& said) { return said.begin()->status; }

std::set<RuleStatus> statuses(const std::set<Said>& said) {
  std::set<RuleStatus> out;
  for (const Said& s : said) out.insert(s.status);
  return out;
}

const FleetRule& rule_of(const std::string& id) {
  return *std::find_if(fleet_rules().begin(), fleet_rules().end(), [&](const FleetRule& r) { return r.id == id; });
}

std::string name_of_node(std::size_t n) { return "n" + std::to_string(n + 1); }

// A fact that may be taken away: any but the marks of parts, as a part of which nothing is known is not there.
std::optional<std::string> any_fact(const CaseNode& node, Prng& random) {
  std::vector<std::string> all;
  for (const auto& [fact, value] : node) {
    const std::string kind = part_kind(fact);
    if (kind.empty() || key_of(fact) != marks().at(kind)) all.push_back(fact);
  }
  return all.empty() ? std::nullopt : std::optional(all[random.below(all.size())]);
}

// ---- what holds

TEST(VerdictsOfFleetsMadeHere, are_of_all_sorts_for_nearly_every_rule) {
  std::map<RuleStatus, std::set<std::string>> met;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    Prng random(seed, "fleets");
    for (const auto& [where, said] : verdicts(any_fleet(random))) {
      for (const RuleStatus s : statuses(said)) met[s].insert(where.first);
    }
  }
  EXPECT_EQ(marks().size(), 3u) << "kinds of parts";
  EXPECT_GE(met[RuleStatus::broken].size(), 130u);
  EXPECT_GE(met[RuleStatus::ok].size(), 150u);
  EXPECT_EQ(met[RuleStatus::unknown].size(), fleet_rules().size());
}

// Every node has a verdict by every rule, and where that is "fine" or "does not apply" it has no other.
RC_GTEST_PROP(EveryVerdict, is_of_every_node_by_every_rule_and_fine_excludes_all_else, (std::uint32_t seed)) {
  Prng random(seed, "fleets");
  const Fleet f = any_fleet(random);
  const ByNode all = verdicts(f);
  RC_ASSERT((all.size() == f.nodes.size() * fleet_rules().size()));
  for (const auto& [where, said] : all) {
    const std::set<RuleStatus> s = statuses(said);
    if (s.count(RuleStatus::ok) || s.count(RuleStatus::not_applicable)) RC_ASSERT((said.size() == 1u));
  }
}

// What is broken says what, and what is unknown says which facts are missing or which value nobody can make sense of.
RC_GTEST_PROP(EveryVerdict, that_is_not_fine_says_why, (std::uint32_t seed)) {
  Prng random(seed, "fleets");
  for (const auto& [where, said] : verdicts(any_fleet(random))) {
    for (const Said& s : said) {
      RC_ASSERT(((s.status == RuleStatus::broken) == !s.says.empty()));
      if (s.status == RuleStatus::unknown && s.missing.empty() && s.found.empty()) RC_FAIL(where.first + " of " + where.second);
    }
  }
}

// Unknown is never fine: with a fact less, a node is judged as before or it is unknown. Only what did not apply may hold now,
// because what is wanted holds wherever it applies.
RC_GTEST_PROP(EveryVerdict, by_a_rule_of_one_node_stays_or_becomes_unknown_where_a_fact_is_lost, (std::uint32_t seed)) {
  Prng random(seed, "fleets");
  Fleet f = any_fleet(random);
  const std::size_t n = random.below(f.nodes.size());
  const ByNode before = verdicts(f);
  std::string lost = "today";
  if (random.chance(0.1)) {
    f.today.clear();
  } else {
    const auto fact = any_fact(f.nodes[n], random);
    if (!fact) return;
    lost = *fact;
    f.nodes[n].erase(*fact);
  }
  for (const auto& [where, said] : verdicts(f)) {
    if (compares_nodes(rule_of(where.first))) continue;
    const RuleStatus was = worst(before.at(where)), now = worst(said);
    const bool holds_now = was == RuleStatus::not_applicable && now == RuleStatus::ok;
    if (now != was && now != RuleStatus::unknown && !holds_now)
      RC_FAIL(where.first + " of " + where.second + " without " + lost + " goes from " + std::to_string(static_cast<int>(was)) +
              " to " + std::to_string(static_cast<int>(now)));
  }
}

// A fact that could not be read, and one for which a program writes "N/A", is as unknown as one for which nobody looked.
RC_GTEST_PROP(EveryVerdict, is_the_same_whether_nobody_looked_or_nobody_could_read_it, (std::uint32_t seed)) {
  Prng random(seed, "fleets");
  Fleet f = any_fleet(random);
  const std::size_t n = random.below(f.nodes.size());
  const auto fact = any_fact(f.nodes[n], random);
  if (!fact) return;
  FactTable unreadable;
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    CaseNode node = f.nodes[i];
    if (i == n) node.erase(*fact);
    put_node(node, name_of_node(i), unreadable);
  }
  const auto colon = fact->find(':');
  unreadable.put_unreadable(n, colon == std::string::npos ? std::string() : fact->substr(0, colon), key_of(*fact));
  Fleet not_known = f;
  not_known.nodes[n][*fact] = "N/A";
  f.nodes[n].erase(*fact);
  const ByNode unread = verdicts(f), read_in_vain = verdicts(unreadable, fleet_rules(), f.today), no_answer = verdicts(not_known);
  RC_ASSERT((unread == read_in_vain));
  for (const auto& [where, said] : unread) {
    if (statuses(said) != statuses(no_answer.at(where)))
      RC_FAIL(where.first + " of " + where.second + " with " + *fact + " of N/A");
  }
}

// A node answers for itself: by rules of one node it is judged in a fleet as it is alone, with the same words.
RC_GTEST_PROP(EveryVerdict, by_a_rule_of_one_node_is_the_one_it_would_have_alone, (std::uint32_t seed)) {
  Prng random(seed, "fleets");
  const Fleet f = any_fleet(random);
  const ByNode together = verdicts(f);
  for (std::size_t n = 0; n < f.nodes.size(); ++n) {
    FactTable alone;
    put_node(f.nodes[n], name_of_node(n), alone);
    for (const auto& [where, said] : verdicts(alone, fleet_rules(), f.today)) {
      if (!compares_nodes(rule_of(where.first)) && said != together.at(where)) RC_FAIL(where.first + " of " + where.second);
    }
  }
}

// A copy of a node is judged as the node, by every rule; and by rules of one node nobody else notices.
RC_GTEST_PROP(EveryVerdict, of_a_copy_is_that_of_its_original, (std::uint32_t seed)) {
  Prng random(seed, "fleets");
  Fleet f = any_fleet(random);
  const ByNode before = verdicts(f);
  const std::size_t n = random.below(f.nodes.size());
  f.nodes.push_back(f.nodes[n]);
  const ByNode after = verdicts(f);
  for (const auto& [where, said] : after) {
    if (where.second == name_of_node(n) && said != after.at({where.first, name_of_node(f.nodes.size() - 1)}))
      RC_FAIL(where.first);
    const auto was = before.find(where);
    if (was != before.end() && !compares_nodes(rule_of(where.first)) && was->second != said)
      RC_FAIL(where.first + " of " + where.second);
  }
}

// No order matters: of nodes, of facts, of parts, of rules.
RC_GTEST_PROP(EveryVerdict, is_the_same_in_any_order_of_nodes_facts_and_rules, (std::uint32_t seed)) {
  Prng random(seed, "fleets");
  const Fleet f = any_fleet(random);
  const auto shuffled = [&](auto all) {
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
    return all;
  };
  std::vector<std::pair<std::size_t, std::string>> facts;
  for (std::size_t n = 0; n < f.nodes.size(); ++n) {
    for (const auto& [fact, value] : f.nodes[n]) facts.emplace_back(n, fact);
  }
  FactTable table;
  for (const auto& [n, fact] : shuffled(facts)) put_node({{fact, f.nodes[n].at(fact)}}, name_of_node(n), table);
  const FactTable in_order = table_of(f.nodes);
  for (const FactNode& node : shuffled(in_order.nodes())) table.node(node.name);  // those of which nothing is known
  RC_ASSERT((verdicts(f) == verdicts(table, shuffled(fleet_rules()), f.today)));
}

// ---- of rules that compare nodes

// A rule that compares nodes finds nothing in copies of one node, but for one whose own parts differ.
RC_GTEST_PROP(EveryVerdict, by_a_rule_that_compares_nodes_finds_no_fault_with_copies_of_a_node, (std::uint32_t seed)) {
  Prng random(seed, "fleets");
  Fleet f = any_fleet(random);
  f.nodes.assign(2 + random.below(7), f.nodes.front());
  for (const auto& [where, said] : verdicts(f)) {
    const FleetRule& rule = rule_of(where.first);
    if (!compares_nodes(rule) || rule.range_b.find(" by ") != std::string::npos) continue;
    if (worst(said) == RuleStatus::broken) RC_FAIL(where.first);
  }
}

// A node of which nobody knows what is compared is neither broken nor fine, whatever the others have.
RC_GTEST_PROP(EveryVerdict, by_a_rule_that_compares_nodes_is_never_fine_of_a_node_whose_value_is_unknown, (std::uint32_t seed)) {
  Prng random(seed, "fleets");
  Fleet f = any_fleet(random);
  const std::size_t n = random.below(f.nodes.size());
  std::vector<FleetRule> rules = fleet_rules();
  std::erase_if(rules, [](const FleetRule& r) { return !compares_nodes(r); });
  const FleetRule& rule = rules[random.below(rules.size())];
  const std::string compared = rule.b;
  std::erase_if(f.nodes[n], [&](const auto& fact) { return compared.find(key_of(fact.first)) != std::string::npos; });
  const auto all = verdicts(table_of(f.nodes), {&rule, 1}, f.today);
  const RuleStatus now = worst(all.at({rule.id, name_of_node(n)}));
  if (now != RuleStatus::unknown && now != RuleStatus::not_applicable) RC_FAIL(rule.id);
}

// What a node has is not changed by what others are not known to have: a fact less on one node makes no other broken, but where
// nodes vote.
RC_GTEST_PROP(EveryVerdict, by_a_rule_of_jobs_is_not_made_worse_by_a_fact_that_another_node_has_lost, (std::uint32_t seed)) {
  Prng random(seed, "fleets");
  Fleet f = any_fleet(random);
  const std::size_t n = random.below(f.nodes.size());
  const ByNode before = verdicts(f);
  const auto fact = any_fact(f.nodes[n], random);
  if (!fact) return;
  f.nodes[n].erase(*fact);
  for (const auto& [where, said] : verdicts(f)) {
    if (rule_of(where.first).kind != RuleKind::job || where.second == name_of_node(n)) continue;
    if (worst(said) == RuleStatus::broken && worst(before.at(where)) != RuleStatus::broken)
      RC_FAIL(where.first + " of " + where.second + " without " + *fact + " of " + name_of_node(n));
  }
}

}  // namespace
}  // namespace muster::report
