#include "fleet/held_back.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "fleet/lockstep.h"
#include "fleet/rule_columns.h"

namespace muster::fleet {
namespace {

using Broken = std::map<std::pair<std::uint32_t, std::uint32_t>, const Verdict*>;  // by rule and node

// Of rules that compare nodes with each other nothing new comes by bringing one to what the others have.
bool may_refuse(const FleetRule& r) {
  if (r.kind == RuleKind::alike || r.kind == RuleKind::job) return false;
  return r.severity == RuleSeverity::error || (r.kind == RuleKind::date && r.severity == RuleSeverity::warn);
}

void put(FactTable& table, std::uint32_t node, const Wish& w) {
  w.absent ? table.put_absent(node, w.entity, w.key) : table.put(node, w.entity, w.key, w.value);
}

// As it would be afterwards. What comes with a driver moves with it, though nobody asks for it by name.
FactTable afterwards(const FactTable& table, const RepairOf& of, const std::vector<std::size_t>& made) {
  FactTable out = table;
  std::set<std::pair<std::uint32_t, std::string>> asked;
  for (const std::size_t i : made) asked.emplace(of.wishes[i].node, of.wishes[i].key);
  for (const std::size_t i : made) {
    const Wish& w = of.wishes[i];
    put(out, w.node, w);
    if ((w.key != "driver.loaded" && w.key != "driver.on_disk") || w.absent) continue;
    for (const std::string_view key : follow_driver()) {
      if (asked.contains({w.node, std::string(key)})) continue;
      for (const std::size_t c : table.columns_of(key)) {
        const FactColumn& column = table.columns()[c];
        if (const std::string* v = column.value(w.node); v != nullptr && *v == w.has)
          out.put(w.node, column.entity, key, w.value);
      }
    }
    // The reboot loads what is on the disk.
    if (w.key == "driver.on_disk" && table.value(w.node, "", "driver.loaded") == nullptr &&
        !asked.contains({w.node, "driver.loaded"}))
      out.put(w.node, "", "driver.loaded", w.value);
    const bool known = table.value(w.node, "", "cuda.driver_max") != nullptr;
    if (known && !asked.contains({w.node, "cuda.driver_max"})) out.put_unreadable(w.node, "", "cuda.driver_max");
  }
  return out;
}

class HoldingBack {
 public:
  HoldingBack(RepairOf of, const Judged& judged) : of_(std::move(of)), judged_(judged) {
    std::copy_if(judged.rules.begin(), judged.rules.end(), std::back_inserter(rules_), may_refuse);
    for (const FleetRule& r : rules_) {
      const auto read = read_rule(r, judged.book);
      MUSTER_CHECK(read.has_value());
      facts_.push_back(read->facts);
    }
  }

  Repair plan() {
    const Verdicts before = check_rules(judged_.table, judged_.book, rules_, judged_.check);
    const Broken were = broken(before);
    constexpr int kTurns = 8;  // what is left out may leave the rest broken
    for (int turn = 0; turn < kTurns; ++turn) {
      Repair out = plan_repair(of_, judged_.book, judged_.remedies);
      const FactTable after = afterwards(judged_.table, of_, out.made);
      const Verdicts verdicts = check_rules(after, judged_.book, rules_, judged_.check);
      std::map<std::uint32_t, std::vector<const Wish*>> made;
      for (const std::size_t i : out.made) made[of_.wishes[i].node].push_back(&of_.wishes[i]);
      if (!refuse(broken(verdicts), were, made, turn + 2 >= kTurns)) return out;
    }
    return plan_repair(of_, judged_.book, judged_.remedies);
  }

 private:
  static Broken broken(const Verdicts& verdicts) {
    Broken out;
    for (const Verdict& v : verdicts.all) {
      if (v.status != RuleStatus::broken) continue;
      for (const std::uint32_t n : v.nodes) out.emplace(std::pair(v.rule, n), &v);
    }
    return out;
  }

  bool refuse(const Broken& now, const Broken& were, const std::map<std::uint32_t, std::vector<const Wish*>>& made, bool all) {
    bool any = false;
    for (const auto& [where, verdict] : now) {
      const auto wishes = made.find(where.second);
      if (wishes == made.end()) continue;
      const FleetRule& rule = rules_[where.first];
      const std::vector<std::string>& facts = facts_[where.first];
      const auto of_rule = [&](const Wish* w) { return std::find(facts.begin(), facts.end(), w->key) != facts.end(); };
      const bool fresh = rule.severity == RuleSeverity::error && !were.contains(where);
      const bool named = std::any_of(wishes->second.begin(), wishes->second.end(), of_rule);
      for (const Wish* w : wishes->second) {
        const bool guilty = of_rule(w) && (fresh || !w->declared);
        // Where no wish is of a fact of the rule, it is broken by what moves with the driver.
        if (!guilty && !(fresh && (all || (!named && is_of_driver(w->key))))) continue;
        any |= of_.refused
                   .emplace(std::pair(w->node, fact_name(w->entity, w->key)),
                            fmt::format("{} would break {}: {}; {}", w->declared ? "it" : "what most have", rule.id,
                                        verdict->says, rule.source))
                   .second;
      }
    }
    return any;
  }

  RepairOf of_;
  const Judged& judged_;
  std::vector<FleetRule> rules_;
  std::vector<std::vector<std::string>> facts_;  // by rule
};

}  // namespace

Repair plan_within_rules(RepairOf of, const Judged& judged) { return HoldingBack(std::move(of), judged).plan(); }

Repair plan_declared(const Site& site, const Declarations& declared, const FactBook& book, const RemedyBook& remedies,
                     std::span<const FleetRule> rules, std::string_view today) {
  RepairOf of = declared_for(site, declared);
  FactTable table;
  for (std::uint32_t n = 0; n < of.nodes.size(); ++n) {
    table.put(table.node(of.nodes[n]), "", "os.id", of.known(n, "os.id"));
    table.put_absent(n, "", "cuda.compat");  // which lets newer programs run on an older driver: where somebody declares it
  }
  for (const Wish& w : of.wishes) {
    const Remedy* r = remedies.find(w.key);
    if (r == nullptr || r->by == RemedyBy::hand || r->by == RemedyBy::follows) put(table, w.node, w);
  }
  CheckOptions check;
  check.today = today;
  return plan_within_rules(std::move(of), {table, book, remedies, rules, check});
}

}  // namespace muster::fleet
