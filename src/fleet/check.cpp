#include "fleet/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

#include "base/check.h"
#include "base/text.h"
#include "fleet/check_kinds.h"
#include "fleet/rule_columns.h"
#include "fleet/version.h"

namespace muster::fleet {
namespace {

// How things are somewhere, apart from where.
struct Outcome {
  RuleStatus status = RuleStatus::ok;
  std::string says, found;
  std::vector<std::string> missing;
  std::optional<SettingEffect> effect;
};

Outcome outcome_of_one(const FleetRule& rule, const ReadRule& read, const std::vector<Known>& known) {
  const auto for_applies = picked(known, read.of_applies), for_wants = picked(known, read.of_wants);
  const Truth applies = read.applies.holds(for_applies);
  Outcome out;
  if (applies == Truth::no) {
    out.status = RuleStatus::not_applicable;
    return out;
  }
  const Truth wants = read.wants.holds(for_wants);
  if (wants == Truth::yes) return out;  // also where it may not apply: then it holds by being of no concern
  out.found = found_text(read, known);
  if (applies == Truth::yes && wants == Truth::no) {
    out.status = RuleStatus::broken;
    out.says = filled_in(rule.says, read, known);
    return out;
  }
  out.status = RuleStatus::unknown;
  const auto add = [&](const Expression& e, const std::vector<Known>& k) {
    for (const std::uint32_t m : e.missing(k)) {
      const std::string& name = e.facts()[m];
      if (std::find(out.missing.begin(), out.missing.end(), name) == out.missing.end()) out.missing.push_back(name);
    }
  };
  add(read.applies, for_applies);
  add(read.wants, for_wants);
  return out;
}

// Where a fact holds several versions that are in use, each has to fit: the worst of them counts, and is what the sentence is of.
Outcome outcome_of(const FleetRule& rule, const ReadRule& read, const std::vector<Known>& known) {
  const auto rows = in_use(read, known);
  Outcome out = outcome_of_one(rule, read, rows.front());
  for (std::size_t r = 1; r < rows.size(); ++r) {
    Outcome other = outcome_of_one(rule, read, rows[r]);
    if (other.status < out.status) out = std::move(other);
  }
  if (rows.size() > 1 && out.status <= RuleStatus::unknown) out.found = found_text(read, known);
  return out;
}

// A setting's effect counts where the node has the very value that was measured to be slow.
std::optional<SettingEffect> effect_of(const std::vector<SettingEffect>& effects, const ReadRule& read,
                                       const std::vector<Known>& known, const std::string& entity) {
  std::optional<SettingEffect> out;
  for (const SettingEffect& e : effects) {
    for (const std::uint32_t w : read.of_wants) {
      const Known& k = known[w];
      const bool same = e.absent ? k.state == Known::State::absent : k.state == Known::State::value && k.text == e.value;
      if (e.key != read.facts[w] || !same || (!e.entity.empty() && e.entity != entity)) continue;
      if (!out || e.effect_pct > out->effect_pct) out = e;
    }
  }
  return out;
}

class NodeRule {
 public:
  NodeRule(const FactTable& table, const Parts& parts, const FleetRule& rule, const ReadRule& read, const CheckOptions& options)
      : table_(table), rule_(rule), read_(read), options_(options), bound_(bind(table, parts, read)) {
    all_.resize(table.nodes().size());
    std::iota(all_.begin(), all_.end(), 0U);
  }

  std::vector<Verdict> judge() {
    const std::size_t nodes = table_.nodes().size();
    of_part_.assign(nodes, {});
    for (std::size_t b = 0; b < bound_.size(); ++b) judge_part(b);
    Groups groups;
    Targets same;  // of the node before: most nodes are like it
    for (std::uint32_t n = 0; n < nodes; ++n) {
      const bool like_before = n > 0 && !of_part_[n].empty() && of_part_[n] == before_;
      before_ = of_part_[n];
      if (!like_before) same = gather(n, groups);
      for (std::vector<std::uint32_t>* group : same) group->push_back(n);
    }
    std::vector<Verdict> out;
    for (auto& [what, where] : groups) {
      const Outcome& o = outcomes_[what.first];
      Verdict v;
      v.status = o.status;
      v.nodes = std::move(where);
      v.says = o.says;
      v.found = o.found;
      v.missing = o.missing;
      v.effect = o.effect;
      if (!read_.part.empty()) {
        for (const std::uint32_t b : what.second) {
          if (!bound_[b].entity.empty()) v.parts.push_back(bound_[b].entity);
        }
      }
      out.push_back(std::move(v));
    }
    return out;
  }

 private:
  // Nodes by an outcome and the parts that have it.
  using Groups = std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::vector<std::uint32_t>>;
  using Targets = std::vector<std::vector<std::uint32_t>*>;

  void judge_part(std::size_t b) {
    const Alike alike = alike_nodes(bound_[b].columns, all_);
    std::vector<std::uint32_t> outcome(alike.example.size());
    for (std::size_t i = 0; i < alike.example.size(); ++i) {
      const std::vector<Known> known = known_of(read_, bound_[b], alike.example[i], options_.today);
      Outcome o = outcome_of(rule_, read_, known);
      const bool tuning = rule_.kind == RuleKind::setting;
      if (o.status == RuleStatus::broken && tuning) o.effect = effect_of(options_.effects, read_, known, bound_[b].entity);
      outcome[i] = number_of(std::move(o));
    }
    for (std::uint32_t n = 0; n < of_part_.size(); ++n) {
      // A node with four adapters has no eighth one.
      if (has_part(read_, bound_[b], n)) of_part_[n].emplace_back(outcome[alike.of_node[n]], static_cast<std::uint32_t>(b));
    }
  }

  std::uint32_t number_of(Outcome o) {
    std::string key;
    for (const std::string* s : {&o.says, &o.found}) key += *s + '\x1f';
    for (const std::string& m : o.missing) key += m + '\x1f';
    if (o.effect) key += o.effect->entity + '\x1f' + o.effect->key;
    const auto [it, fresh] = numbers_.try_emplace({o.status, std::move(key)}, static_cast<std::uint32_t>(outcomes_.size()));
    if (fresh) outcomes_.push_back(std::move(o));
    return it->second;
  }

  Targets gather(std::uint32_t n, Groups& groups) {
    auto& parts = of_part_[n];
    if (parts.empty()) {  // it has none of the kind, or nobody looked
      auto& known = none_[counted_none(table_, read_, n) ? 1 : 0];
      if (known == nullptr) known = &groups[{number_of(outcome_of_none(n)), {}}];
      return {known};
    }
    std::stable_sort(parts.begin(), parts.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    Targets out;
    for (std::size_t i = 0; i < parts.size();) {
      const std::uint32_t o = parts[i].first;
      std::vector<std::uint32_t> who;
      for (; i < parts.size() && parts[i].first == o; ++i) who.push_back(parts[i].second);
      if (outcomes_[o].status <= RuleStatus::unknown) out.push_back(&groups[{o, std::move(who)}]);
    }
    if (!out.empty()) return out;
    const bool any_ok =
        std::any_of(parts.begin(), parts.end(), [&](const auto& p) { return outcomes_[p.first].status == RuleStatus::ok; });
    return {&groups[{number_of({any_ok ? RuleStatus::ok : RuleStatus::not_applicable, {}, {}, {}, {}}), {}}]};
  }

  Outcome outcome_of_none(std::uint32_t node) const {
    Outcome o;
    o.status = counted_none(table_, read_, node) ? RuleStatus::not_applicable : RuleStatus::unknown;
    if (o.status == RuleStatus::unknown) o.missing = facts_of_part(read_);
    return o;
  }

  const FactTable& table_;
  const FleetRule& rule_;
  const ReadRule& read_;
  const CheckOptions& options_;
  std::vector<Bound> bound_;
  std::vector<std::uint32_t> all_;  // nodes
  std::vector<Outcome> outcomes_;
  std::map<std::pair<RuleStatus, std::string>, std::uint32_t> numbers_;
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> of_part_;  // by node: outcome and part
  std::vector<std::pair<std::uint32_t, std::uint32_t>> before_;                // of the node before
  std::array<std::vector<std::uint32_t>*, 2> none_{};  // nodes without such a part: whether one is there is not known, or known
};

RuleSeverity severity_of(const FleetRule& rule, const Verdict& v, const CheckOptions& options) {
  if (v.effect && rule.severity == RuleSeverity::info) return RuleSeverity::warn;
  // Without lists of jobs nobody knows that a job ever spans these nodes.
  if (rule.kind == RuleKind::job && options.jobs.empty()) return std::min(rule.severity, RuleSeverity::warn);
  return rule.severity;
}

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t before = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t up = row[j];
      row[j] = std::min({up + 1, row[j - 1] + 1, before + (a[i - 1] == b[j - 1] ? 0 : 1)});
      before = up;
    }
  }
  return row[b.size()];
}

// A fact of a site's own may have any name, but not one that is a slip of a known one; and what a sentence names must be there.
Result<void> check_names(const FleetRule& rule, const ReadRule& read, const FactBook& book) {
  const auto bad = [&](const std::string& what, std::string next) {
    return fail(Code::bad_input, fmt::format("{}:{}: {}: {}", rule.file, rule.line, printable(rule.id), what), std::move(next));
  };
  std::vector<std::string> known;
  for (const FactMeaning& m : book.rows) known.push_back(m.key);
  std::vector<std::string> named = read.facts;
  for (const Expression* e : {&read.applies, &read.wants}) {
    for (const Expression::Part& p : e->parts()) {
      if (p.op == Expression::Op::text && p.text.find('.') != std::string::npos && !version_in(p.text)) named.push_back(p.text);
    }
  }
  for (const std::string& f : named) {
    if (f == "today" || book.find(f) != nullptr) continue;
    const auto meant = f.size() < 8 ? std::nullopt : nearest(f, known);
    if (meant && edits(f, *meant) <= 2)
      return bad(fmt::format("{} is no fact", printable(f)), "did you mean " + *meant + "? muster fleet probe --list has all");
  }
  std::string_view says = rule.says;
  while (true) {
    const auto open = says.find('{'), close = says.find('}', open);
    if (open == std::string_view::npos || close == std::string_view::npos) return {};
    const std::string name(says.substr(open + 1, close - open - 1));
    if (std::find(read.facts.begin(), read.facts.end(), name) == read.facts.end()) {
      const auto meant = nearest(name, read.facts);
      return bad(fmt::format("says has {{{}}}, which the rule is not about", printable(name)),
                 meant ? "did you mean {" + *meant + "}?" : "name a fact of a, b, range_b or applies_to");
    }
    says.remove_prefix(close + 1);
  }
}

std::string_view first_name(const FactTable& table, const Verdict& v) {
  std::string_view out;
  for (const std::uint32_t n : v.nodes) {
    const std::string& name = table.nodes()[n].name;
    if (out.empty() || name < out) out = name;
  }
  return out;
}

}  // namespace

Result<void> validate_rules(std::span<const FleetRule> rules, const FactBook& book) {
  for (const FleetRule& rule : rules) {
    const auto read = read_rule(rule, book);
    if (!read) return tl::unexpected(read.error());
    if (const auto items = bundle_items(rule, book); !items) return tl::unexpected(items.error());
    if (auto ok = check_names(rule, *read, book); !ok) return ok;
  }
  return {};
}

Verdicts check_rules(const FactTable& table, const FactBook& book, std::span<const FleetRule> rules,
                     const CheckOptions& options) {
  CheckOptions known = options;
  if (known.kinds.empty()) known.kinds = cohorts_of(table, book);
  const Parts parts = parts_of(table, book);
  Verdicts out;
  for (std::size_t r = 0; r < rules.size(); ++r) {
    const FleetRule& rule = rules[r];
    const auto read = read_rule(rule, book);
    MUSTER_CHECK(read.has_value());
    std::vector<Verdict> verdicts;
    switch (rule.kind) {
      case RuleKind::alike: verdicts = judge_alike(table, parts, rule, *read, known); break;
      case RuleKind::job: verdicts = judge_jobs(table, parts, rule, *read, known); break;
      case RuleKind::bundle: verdicts = judge_bundle(table, parts, book, rule, *read, known); break;
      default: verdicts = NodeRule(table, parts, rule, *read, known).judge();
    }
    for (Verdict& v : verdicts) {
      v.rule = static_cast<std::uint32_t>(r);
      v.severity = severity_of(rule, v, options);
    }
    std::stable_sort(verdicts.begin(), verdicts.end(), [&](const Verdict& a, const Verdict& b) {
      if (a.status != b.status) return a.status < b.status;
      if (a.nodes.size() != b.nodes.size()) return a.nodes.size() > b.nodes.size();
      const auto words = [](const Verdict& v) { return std::tie(v.says, v.found, v.missing, v.parts); };
      if (words(a) != words(b)) return words(a) < words(b);
      return first_name(table, a) < first_name(table, b);  // and not who stands first in the file
    });
    for (Verdict& v : verdicts) out.all.push_back(std::move(v));
  }
  return out;
}

}  // namespace muster::fleet
