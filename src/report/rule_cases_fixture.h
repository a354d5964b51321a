// Cases of rules, for tests: tests/fleet/rule_cases.csv as nodes with facts, and tables of facts made of such nodes.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "model/fact_table.h"

namespace muster::report {

// By name, "gpu0:vbios.version" or "driver.loaded"; nothing: absent.
using CaseNode = std::map<std::string, std::optional<std::string>>;

struct RuleCase {
  std::string rule, expect;  // "ok", "broken", "unknown", "not applicable"
  std::vector<CaseNode> nodes;
  std::string today;
};

inline void put_node(const CaseNode& facts, std::string_view name, FactTable& into) {
  const std::size_t node = into.node(name);
  for (const auto& [fact, value] : facts) {
    const auto colon = fact.find(':');
    const std::string entity = colon == std::string::npos ? std::string() : fact.substr(0, colon);
    const std::string key = colon == std::string::npos ? fact : fact.substr(colon + 1);
    value ? into.put(node, entity, key, *value) : into.put_absent(node, entity, key);
  }
}

inline FactTable table_of(const std::vector<CaseNode>& nodes) {
  FactTable out;
  for (std::size_t n = 0; n < nodes.size(); ++n) put_node(nodes[n], "n" + std::to_string(n + 1), out);
  return out;
}

// Nodes with " | " between them, "4x " in front: four of that. Facts with "; " between them: "gpu0:vbios.version=96;
// cuda.compat=-", where "-" is absent.
inline RuleCase parse_rule_case(std::string rule, std::string expect, std::string_view text) {
  RuleCase out{std::move(rule), std::move(expect), {}, {}};
  while (true) {
    const auto end = text.find(" | ");
    std::string_view one = text.substr(0, end);
    std::size_t times = 1;
    if (one.size() >= 3 && one[1] == 'x' && one[2] == ' ') {
      times = static_cast<std::size_t>(one[0] - '0');
      one.remove_prefix(3);
    }
    CaseNode node;
    while (!trim(one).empty()) {
      const auto stop = one.find("; ");
      const std::string_view fact = trim(one.substr(0, stop));
      one = stop == std::string_view::npos ? std::string_view() : one.substr(stop + 2);
      const auto equals = fact.find('=');
      MUSTER_CHECK(equals != std::string_view::npos);
      const std::string name(fact.substr(0, equals)), value(fact.substr(equals + 1));
      if (name == "today")
        out.today = value;
      else
        node[name] = value == "-" ? std::nullopt : std::optional(value);
    }
    out.nodes.insert(out.nodes.end(), times, node);
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 3);
  }
}

inline std::vector<RuleCase> parse_rule_cases(std::string_view csv_text) {
  const auto csv = parse_csv(csv_text, "rule_cases.csv");
  MUSTER_CHECK(csv.has_value());
  std::vector<RuleCase> out;
  for (std::size_t r = 0; r < csv->rows.size(); ++r)
    out.push_back(parse_rule_case(csv->cell(r, "rule"), csv->cell(r, "expect"), csv->cell(r, "facts")));
  return out;
}

}  // namespace muster::report
