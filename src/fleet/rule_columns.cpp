#include "fleet/rule_columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/node_list.h"
#include "base/text.h"
#include "fleet/version.h"

namespace muster::fleet {
namespace {

std::uint32_t place_of(std::vector<std::string>& all, const std::string& name) {
  const auto it = std::find(all.begin(), all.end(), name);
  const auto place = static_cast<std::uint32_t>(it - all.begin());
  if (it == all.end()) all.push_back(name);
  return place;
}

// "alike by nic.board_id": what stands after "by"; empty without.
std::string by_of(std::string_view range) {
  const auto at = range.find(" by ");
  return at == std::string_view::npos ? std::string() : std::string(trim(range.substr(at + 4)));
}

// A text that is not of the fact's kind tells nothing: "N/A" of a version, "err" of a number.
bool tells(FactKind kind, std::string_view text) {
  if (no_answer(text)) return false;
  switch (kind) {
    case FactKind::version: return version_in(text).has_value();
    case FactKind::number: {
      std::string_view s = trim(text);
      if (!s.empty() && s.front() == '-') s.remove_prefix(1);
      return !s.empty() && s.front() >= '0' && s.front() <= '9' && s.find_first_not_of("0123456789.") == std::string_view::npos;
    }
    case FactKind::flag: return is_flag(text);
    default: return true;
  }
}

std::string wants_expression(const FleetRule& rule) {
  // These two compare nodes, not values with values; the expression only names the facts.
  if (rule.kind == RuleKind::alike) {
    const std::string by = by_of(rule.range_b);
    return rule.b + " present" + (by.empty() ? "" : " and " + by + " present");
  }
  if (rule.kind == RuleKind::job) return rule.b + " present";
  return rule.b.empty() ? rule.range_b : rule.b + " " + rule.range_b;
}

std::string applies_expression(const FleetRule& rule) {
  std::string out;
  const auto also = [&](const std::string& text) {
    if (trim(text).empty()) return;
    out += (out.empty() ? "(" : " and (") + text + ")";
  };
  also(rule.applies_to);
  if (!rule.a.empty()) also(rule.a + " " + (trim(rule.range_a).empty() ? "present" : rule.range_a));
  const bool versions =
      rule.kind == RuleKind::min || rule.kind == RuleKind::max || rule.kind == RuleKind::exact || rule.kind == RuleKind::window;
  if (versions && !rule.b.empty()) also(rule.b + " present");
  return out;
}

}  // namespace

std::string where_text(const FleetRule& rule) { return applies_expression(rule); }

std::string wanted_text(const FleetRule& rule) {
  if (rule.kind == RuleKind::job) return rule.b + " the same on all nodes of a job";
  return trim(rule.b + " " + rule.range_b).empty() ? std::string() : std::string(trim(rule.b + " " + rule.range_b));
}

Result<ReadRule> read_rule(const FleetRule& rule, const FactBook& book) {
  const auto is_fact = [&](std::string_view w) { return book.find(w) != nullptr; };
  const auto bad = [&](const std::string& column, const Error& why) {
    return fail(Code::bad_input, fmt::format("{}:{}: {}: {}: {}", rule.file, rule.line, rule.id, column, why.what), why.next);
  };
  ReadRule out;
  // Each by itself, or "x == 1) or (y == 1" would be read with the parentheses that go around it.
  const std::string side_a = rule.a.empty() || rule.range_a.empty() ? std::string() : rule.a + " " + rule.range_a;
  if (const auto alone = parse_expression(rule.applies_to, is_fact); !alone) return bad("applies_to", alone.error());
  if (const auto alone = parse_expression(side_a, is_fact); !alone) return bad("a and range_a", alone.error());
  auto applies = parse_expression(applies_expression(rule), is_fact);
  if (!applies) return bad("applies_to, a and range_a", applies.error());
  if (rule.kind == RuleKind::alike && rule.range_b != "alike" && !rule.range_b.starts_with("alike by "))
    return bad(
        "range_b",
        {Code::bad_input, fmt::format("\"{}\" is neither \"alike\" nor \"alike by\" and a fact", printable(rule.range_b)), {}});
  auto wants = parse_expression(wants_expression(rule), is_fact);
  if (!wants) return bad("b and range_b", wants.error());
  if (wants->empty()) return bad("range_b", {Code::bad_input, "it says nothing", {}});
  out.applies = std::move(*applies);
  out.wants = std::move(*wants);
  for (const std::string& f : out.applies.facts()) out.of_applies.push_back(place_of(out.facts, f));
  for (const std::string& f : out.wants.facts()) out.of_wants.push_back(place_of(out.facts, f));
  for (const std::string& f : out.facts) {
    const FactMeaning* m = book.find(f);
    out.kinds.push_back(m == nullptr ? FactKind::text : m->kind);
    out.of_part.push_back(m != nullptr && !m->of.empty());
    if (!out.of_part.back() || m->of == out.part) continue;
    // The versions of a recipe are held one by one, so they may be of different parts.
    if (!out.part.empty() && rule.kind != RuleKind::bundle)
      return bad("range_b", {Code::bad_input, fmt::format("{} is of each {}, other facts of each {}", f, m->of, out.part), {}});
    out.part = m->of;
  }
  out.any_text = rule.kind == RuleKind::alike;
  if (rule.kind == RuleKind::alike) out.by = by_of(rule.range_b);
  if (rule.kind == RuleKind::bundle) out.part.clear();
  return out;
}

Parts parts_of(const FactTable& table, const FactBook& book) {
  Parts out;
  for (const FactColumn& c : table.columns()) {
    const FactMeaning* m = book.find(c.key);
    if (m == nullptr || m->of.empty()) continue;
    std::vector<bool>& has = out[m->of][c.entity];
    has.resize(table.nodes().size());
    for (std::size_t n = 0; n < std::min(has.size(), c.cells.size()); ++n) has[n] = has[n] || c.cells[n] != kFactUnknown;
  }
  return out;
}

std::vector<Bound> bind(const FactTable& table, const Parts& parts, const ReadRule& rule) {
  std::vector<std::string> entities;
  for (std::size_t f = 0; f < rule.facts.size(); ++f) {
    if (!rule.of_part[f]) continue;
    for (const std::size_t c : table.columns_of(rule.facts[f])) place_of(entities, table.columns()[c].entity);
  }
  const auto of_kind = parts.find(rule.part);
  if (of_kind != parts.end()) {
    entities.clear();
    for (const auto& [entity, has] : of_kind->second) entities.push_back(entity);
  }
  std::sort(entities.begin(), entities.end(), natural_less);
  if (entities.empty()) entities.emplace_back();
  std::vector<Bound> out;
  for (const std::string& e : entities) {
    Bound b{e, {}, of_kind == parts.end() ? nullptr : &of_kind->second.at(e)};
    for (std::size_t f = 0; f < rule.facts.size(); ++f) {
      const std::ptrdiff_t c = table.find_column(rule.of_part[f] ? e : std::string(), rule.facts[f]);
      b.columns.push_back(c < 0 ? nullptr : &table.columns()[static_cast<std::size_t>(c)]);
    }
    out.push_back(std::move(b));
  }
  return out;
}

Alike alike_nodes(std::span<const FactColumn* const> columns, std::span<const std::uint32_t> nodes) {
  const std::size_t table_max = 64 * nodes.size() + 1024;  // so that few nodes of many do not pay for a table of all values
  Alike out{std::vector<std::uint32_t>(nodes.size(), 0), {}};
  if (!nodes.empty()) out.example.push_back(0);
  for (const FactColumn* c : columns) {
    if (c == nullptr) continue;
    const std::size_t codes = c->values.size() + kFirstValue;
    std::vector<std::uint32_t> example;
    std::vector<std::uint32_t> table;  // number so far x code, plus 1; 0: not seen
    if (out.example.size() * codes <= table_max) table.resize(out.example.size() * codes);
    std::unordered_map<std::uint64_t, std::uint32_t> seen;  // only looked up in
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const std::uint64_t key = std::uint64_t{out.of_node[n]} * codes + c->code(nodes[n]);
      std::uint32_t& number = table.empty() ? seen[key] : table[key];
      if (number == 0) {
        example.push_back(static_cast<std::uint32_t>(n));
        number = static_cast<std::uint32_t>(example.size());
      }
      out.of_node[n] = number - 1;
    }
    out.example = std::move(example);
  }
  return out;
}

bool has_part(const ReadRule& rule, const Bound& bound, std::uint32_t node) {
  return rule.part.empty() || (bound.has != nullptr && (*bound.has)[node]);
}

bool counted_none(const FactTable& table, const ReadRule& rule, std::uint32_t node) {
  const std::string* count = table.value(node, "", rule.part + ".count");
  return count != nullptr && trim(*count) == "0";
}

std::vector<std::string> facts_of_part(const ReadRule& rule) {
  std::vector<std::string> out;
  for (std::size_t f = 0; f < rule.facts.size(); ++f) {
    if (rule.of_part[f]) out.push_back(rule.facts[f]);
  }
  return out;
}

std::vector<Known> known_of(const ReadRule& rule, const Bound& bound, std::uint32_t node, const std::string& today) {
  std::vector<Known> out(rule.facts.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (rule.facts[i] == "today") {
      if (!today.empty()) out[i] = {Known::State::value, today};
      continue;
    }
    const FactColumn* c = bound.columns[i];
    if (c == nullptr) continue;
    if (const std::string* v = c->value(node)) {
      // Rules that only ask for the same everywhere take a maker's name of a version as it is.
      const FactKind kind = rule.any_text && rule.kinds[i] == FactKind::version ? FactKind::text : rule.kinds[i];
      out[i] = {tells(kind, *v) ? Known::State::value : Known::State::unknown, *v};
    } else if (c->code(node) == kFactAbsent) {
      out[i].state = Known::State::absent;
    }
  }
  return out;
}

namespace {

constexpr std::size_t kInUseMost = 64;

// Each once. Empty: it is one value. A text that is not of versions and numbers alone is one, whatever commas it has.
std::vector<Known> several(FactKind kind, const Known& known) {
  std::vector<Known> out;
  if (known.state != Known::State::value || known.text.find(',') == std::string_view::npos) return out;
  if (kind != FactKind::version && kind != FactKind::text) return out;
  for (const std::string_view one : split(known.text, ',')) {
    const bool version = version_in(one).has_value();
    if (!version && kind == FactKind::text) return {};
    const Known k{version ? Known::State::value : Known::State::unknown, trim(one)};
    if (std::none_of(out.begin(), out.end(), [&](const Known& o) { return o.text == k.text; })) out.push_back(k);
    if (out.size() > kInUseMost) return {{Known::State::unknown, known.text}};
  }
  return out;
}

}  // namespace

std::vector<std::vector<Known>> in_use(const ReadRule& rule, const std::vector<Known>& known) {
  std::vector<std::vector<Known>> out{known};
  for (std::size_t f = 0; f < known.size(); ++f) {
    std::vector<Known> all = several(rule.kinds[f], known[f]);
    if (all.empty()) continue;
    if (all.size() * out.size() > kInUseMost) all = {{Known::State::unknown, known[f].text}};
    std::vector<std::vector<Known>> next;
    for (const std::vector<Known>& row : out) {
      for (const Known& one : all) {
        next.push_back(row);
        next.back()[f] = one;
      }
    }
    out = std::move(next);
  }
  return out;
}

Truth applies_to_any(const ReadRule& rule, const std::vector<Known>& known) {
  const auto lists = [](const Known& k) { return k.text.find(',') != std::string_view::npos; };
  if (std::none_of(known.begin(), known.end(), lists)) return rule.applies.holds(picked(known, rule.of_applies));
  Truth out = Truth::no;
  for (const std::vector<Known>& row : in_use(rule, known)) out = std::max(out, rule.applies.holds(picked(row, rule.of_applies)));
  return out;
}

std::vector<Known> picked(const std::vector<Known>& known, const std::vector<std::uint32_t>& places) {
  std::vector<Known> out;
  for (const std::uint32_t p : places) out.push_back(known[p]);
  return out;
}

std::string spoken(const Known& known) {
  if (known.state == Known::State::value) return known.text.empty() ? "empty" : std::string(known.text);
  if (known.state == Known::State::absent) return "absent";
  return known.text.empty() || lower(known.text) == "unknown" ? "unknown" : fmt::format("unknown (\"{}\")", known.text);
}

std::string filled_in(std::string_view text, const ReadRule& rule, const std::vector<Known>& known) {
  std::string out;
  while (true) {
    const auto open = text.find('{');
    const auto close = open == std::string_view::npos ? open : text.find('}', open);
    out += text.substr(0, open);
    if (close == std::string_view::npos) return open == std::string_view::npos ? out : out + std::string(text.substr(open));
    const std::string_view name = text.substr(open + 1, close - open - 1);
    const auto it = std::find(rule.facts.begin(), rule.facts.end(), name);
    if (it == rule.facts.end()) {
      out += text.substr(open, close - open + 1);
    } else {
      out += spoken(known[static_cast<std::size_t>(it - rule.facts.begin())]);
    }
    text.remove_prefix(close + 1);
  }
}

}  // namespace muster::fleet
