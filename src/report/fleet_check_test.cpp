// Every rule that ships, held against cases of it: where it is fine, where it is broken, and where too little is known.
#include "report/fleet_check.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/text.h"
#include "fleet/check.h"
#include "ingest/csv.h"
#include "ingest/fact_book.h"
#include "ingest/facts_file.h"
#include "ingest/fleet_rules.h"

namespace muster {
namespace {

struct Case {
  std::string expect;
  FactTable facts;
  std::string today;
};

// "gpu0:vbios.version=96; driver.loaded=-": "-" is absent.
void put_facts(std::string_view text, std::size_t node, Case& into) {
  while (!trim(text).empty()) {
    const auto end = text.find("; ");
    const std::string_view one = trim(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 2);
    const auto equals = one.find('=');
    ASSERT_NE(equals, std::string_view::npos) << one;
    std::string_view name = one.substr(0, equals);
    const std::string_view value = one.substr(equals + 1);
    const auto colon = name.find(':');
    const std::string_view entity = colon == std::string_view::npos ? std::string_view() : name.substr(0, colon);
    if (colon != std::string_view::npos) name.remove_prefix(colon + 1);
    if (name == "today") {
      into.today = value;
    } else if (value == "-") {
      into.facts.put_absent(node, entity, name);
    } else {
      into.facts.put(node, entity, name, value);
    }
  }
}

// Nodes with " | " between them; "4x " in front: four of that.
Case case_of(const std::string& expect, std::string_view text) {
  Case out{expect, {}, {}};
  std::size_t nodes = 0;
  while (true) {
    const auto end = text.find(" | ");
    std::string_view one = text.substr(0, end);
    std::size_t times = 1;
    if (one.size() >= 3 && one[1] == 'x' && one[2] == ' ') {
      times = static_cast<std::size_t>(one[0] - '0');
      one.remove_prefix(3);
    }
    for (std::size_t i = 0; i < times; ++i) put_facts(one, out.facts.node("n" + std::to_string(++nodes)), out);
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 3);
  }
}

std::map<std::string, std::vector<Case>> all_cases() {
  std::ifstream in(MUSTER_RULE_CASES);
  std::stringstream text;
  text << in.rdbuf();
  const auto csv = parse_csv(text.str(), "rule_cases.csv");
  EXPECT_TRUE(csv.has_value());
  std::map<std::string, std::vector<Case>> out;
  for (std::size_t r = 0; csv && r < csv->rows.size(); ++r)
    out[csv->cell(r, "rule")].push_back(case_of(csv->cell(r, "expect"), csv->cell(r, "facts")));
  return out;
}

std::set<std::string> statuses(const FleetRule& rule, const Case& c) {
  fleet::CheckOptions options;
  options.today = c.today;
  fleet::Cohort all;
  for (std::uint32_t n = 0; n < c.facts.nodes().size(); ++n) all.nodes.push_back(n);
  options.jobs.push_back(all.nodes);
  options.kinds.push_back(std::move(all));
  std::set<std::string> out;
  for (const fleet::Verdict& v : fleet::check_rules(c.facts, fact_book(), {&rule, 1}, options).all) {
    EXPECT_FALSE(v.nodes.empty()) << rule.id;
    EXPECT_EQ(v.status == fleet::RuleStatus::broken, !v.says.empty()) << rule.id;
    EXPECT_EQ(v.says.find('{'), std::string::npos) << rule.id << ": " << v.says;
    out.insert(std::string(fleet::names(v.status)[static_cast<std::size_t>(v.status)]));
  }
  return out;
}

TEST(FleetRules, read_as_expressions_over_facts_that_are_in_the_book) {
  const auto ok = fleet::validate_rules(fleet_rules(), fact_book());
  EXPECT_TRUE(ok.has_value()) << (ok ? "" : ok.error().what);
  std::set<std::string> ids;
  for (const FleetRule& r : fleet_rules()) {
    EXPECT_TRUE(ids.insert(r.id).second) << r.id;
    EXPECT_FALSE(r.source.empty() || r.says.empty() || r.todo.empty() || r.confidence.empty()) << r.id;
  }
  EXPECT_GE(ids.size(), 158u);
}

TEST(FleetRules, have_each_a_case_where_they_are_fine_broken_and_unknown) {
  const auto cases = all_cases();
  for (const FleetRule& rule : fleet_rules()) {
    const auto it = cases.find(rule.id);
    ASSERT_NE(it, cases.end()) << rule.id << " has no case";
    std::set<std::string> expected;
    for (const Case& c : it->second) {
      if (c.expect != "not applicable") expected.insert(c.expect);
      const auto got = statuses(rule, c);
      EXPECT_TRUE(got.count(c.expect)) << rule.id << " should be " << c.expect << ", is "
                                       << join({got.begin(), got.end()}, " and ");
      EXPECT_TRUE(c.expect == "broken" || got.size() == 1) << rule.id << ", " << c.expect;
    }
    EXPECT_EQ(expected, (std::set<std::string>{"ok", "broken", "unknown"})) << rule.id;
  }
}

TEST(FleetRules, are_unknown_of_a_node_of_which_nothing_is_known_and_never_fine) {
  FactTable table;
  table.node("n1");
  fleet::CheckOptions options;
  options.kinds.push_back({"all", {}, {0}});
  for (const fleet::Verdict& v : fleet::check_rules(table, fact_book(), fleet_rules(), options).all)
    EXPECT_EQ(v.status, fleet::RuleStatus::unknown) << fleet_rules()[v.rule].id;
}

std::string file_text(const char* path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Recipes as their makers publish them; the source stands in each line.
TEST(FleetCheck, reports_what_public_recipes_have_wrong) {
  FactTable table;
  ASSERT_TRUE(read_facts(file_text(MUSTER_PUBLIC_RECIPES), "public_recipes.jsonl", table).has_value());
  fleet::CheckOptions options;
  options.today = "2026-11-19";
  options.jobs.emplace_back();
  for (std::uint32_t n = 0; n < table.nodes().size(); ++n) {
    if (table.nodes()[n].name.rfind("azure", 0) == 0) options.jobs.back().push_back(n);
  }
  std::map<std::string, std::set<std::string>> broken;
  std::string of_nccl;
  for (const fleet::Verdict& v : fleet::check_rules(table, fact_book(), fleet_rules(), options).all) {
    if (v.status != fleet::RuleStatus::broken) continue;
    for (const std::uint32_t n : v.nodes) broken[fleet_rules()[v.rule].id].insert(table.nodes()[n].name);
    if (fleet_rules()[v.rule].id == "C036") of_nccl = v.says;
  }
  using Names = std::set<std::string>;
  EXPECT_EQ(broken["C096"], Names{"azure-rhel8.10"});             // a branch in no table of NVIDIA's
  EXPECT_EQ(broken["C097"], Names{"azure-azurelinux3.0-arm64"});  // IMEX pinned, driver not
  EXPECT_NE(of_nccl.find("4 different"), std::string::npos) << of_nccl;
  EXPECT_EQ(broken["C014"], Names{"stackhpc-appliance"});
  EXPECT_EQ(broken["C078"], Names{"deepops"});
  EXPECT_EQ(broken["C098"], Names{"deepops"});
  EXPECT_TRUE(broken["C027"].empty() && broken["C034"].empty());  // fabric managers and IMEX fit everywhere
}

// A node that is fine by every rule, as far as one node can be: the facts of all cases that are, and words for the rest.
std::map<std::string, std::string> fine_node(std::size_t facts) {
  std::map<std::string, std::string> out;
  for (const auto& [rule, cases] : all_cases()) {
    for (const Case& c : cases) {
      for (const FactColumn& f : c.facts.columns()) {
        if (c.expect == "ok" && f.value(0) != nullptr && out.size() < facts) out.emplace(fact_name(f.entity, f.key), *f.value(0));
      }
    }
  }
  for (const FactMeaning& m : fact_book().rows) {
    if (out.size() < facts && m.of.empty() && m.kind != FactKind::identity) out.emplace(m.key, "3");
  }
  return out;
}

TEST(FleetCheck, judges_12500_nodes_with_209_facts_by_all_rules_in_two_seconds_and_a_gigabyte) {
  constexpr int kNodes = 12'500;
  const auto facts = fine_node(209);
  ASSERT_EQ(facts.size(), 209u);
  std::string text;
  for (int n = 0; n < kNodes; ++n) {
    std::string plain, parts;
    std::size_t place = 0;
    for (const auto& [name, value] : facts) {
      const auto colon = name.find(':');
      const bool drifted = (static_cast<std::size_t>(n) * 31 + ++place * 17) % 400 == 0;
      const std::string cell =
          fmt::format("\"{}\":\"{}{}\"", colon == std::string::npos ? name : name.substr(colon + 1), value, drifted ? ".1" : "");
      if (colon == std::string::npos)
        plain += (plain.empty() ? "" : ",") + cell;
      else
        parts += fmt::format("{}\"{}\":{{{}}}", parts.empty() ? "" : ",", name.substr(0, colon) + std::to_string(place), cell);
    }
    text += fmt::format("{{\"node\":\"gpu{:05}\",\"source\":\"probe\",\"facts\":{{{}}},\"parts\":{{{}}}}}\n", n, plain, parts);
  }
  const std::clock_t begin = std::clock();
  FactTable table;
  ASSERT_TRUE(read_facts(text, "facts.jsonl", table).has_value());
  const std::clock_t read = std::clock();
  fleet::CheckOptions options;
  options.today = "2026-11-19";
  const fleet::Verdicts v = fleet::check_rules(table, fact_book(), fleet_rules(), options);
  const std::clock_t judged = std::clock();
  const fleet::Golden golden = fleet::hold_against_kind(table, fact_book(), {}, {});
  const std::clock_t end = std::clock();
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](std::clock_t a, std::clock_t b) { return static_cast<double>(b - a) / CLOCKS_PER_SEC; };
  fmt::print("{} nodes x {} facts, {} rules: read {:.2f} CPU-s, rules {:.2f}, kinds {:.2f}; peak {} MB (text {} MB)\n", kNodes,
             facts.size(), fleet_rules().size(), seconds(begin, read), seconds(read, judged), seconds(judged, end),
             used.ru_maxrss / 1024, text.size() >> 20);
  EXPECT_FALSE(v.all.empty());
  EXPECT_FALSE(golden.cohorts.empty());
  EXPECT_LE(seconds(read, end), 2.0);
  EXPECT_LE(used.ru_maxrss / 1024, 1024);
}

}  // namespace
}  // namespace muster
