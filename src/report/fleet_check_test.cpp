// Every rule that ships, held against cases of it: where it is fine, where it is broken, and where too little is known.
#include "report/fleet_check.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/json_writer.h"
#include "base/text.h"
#include "fleet/check.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"
#include "ingest/fact_book.h"
#include "ingest/facts_file.h"
#include "ingest/fleet_rules.h"
#include "report/rule_cases_fixture.h"

namespace muster {
namespace {

std::string file_text(const char* path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::map<std::string, std::vector<report::RuleCase>> all_cases() {
  std::map<std::string, std::vector<report::RuleCase>> out;
  for (report::RuleCase& c : report::parse_rule_cases(file_text(MUSTER_RULE_CASES))) out[c.rule].push_back(std::move(c));
  return out;
}

// All nodes of a case are of one kind and of one job.
fleet::Verdicts verdicts_of(const FleetRule& rule, const report::RuleCase& c, const FactTable& facts) {
  fleet::CheckOptions options;
  options.today = c.today;
  fleet::Cohort all;
  for (std::uint32_t n = 0; n < facts.nodes().size(); ++n) all.nodes.push_back(n);
  options.jobs.push_back(all.nodes);
  options.kinds.push_back(std::move(all));
  return fleet::check_rules(facts, fact_book(), {&rule, 1}, options);
}

std::set<std::string> statuses(const FleetRule& rule, const report::RuleCase& c) {
  std::set<std::string> out;
  for (const fleet::Verdict& v : verdicts_of(rule, c, report::table_of(c.nodes)).all) {
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
    if (it == cases.end()) {
      ADD_FAILURE() << rule.id << " has no case";
      continue;
    }
    std::set<std::string> expected;
    for (const report::RuleCase& c : it->second) {
      if (c.expect != "not applicable") expected.insert(c.expect);
      const auto got = statuses(rule, c);
      EXPECT_TRUE(got.count(c.expect)) << rule.id << " should be " << c.expect << ", is "
                                       << join({got.begin(), got.end()}, " and ");
      EXPECT_TRUE(c.expect == "broken" || got.size() == 1) << rule.id << ", " << c.expect;
    }
    EXPECT_EQ(expected, (std::set<std::string>{"ok", "broken", "unknown"})) << rule.id;
  }
}

TEST(FleetRules, are_there_for_each_case) {
  std::set<std::string> ids;
  for (const FleetRule& r : fleet_rules()) ids.insert(r.id);
  for (const auto& [rule, cases] : all_cases()) EXPECT_TRUE(ids.count(rule)) << "a case of " << rule << ", which is no rule";
}

// Words of a text, whichever way it is wrapped.
std::string words_of(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n') out += c;
  }
  return out;
}

TEST(FleetRules, show_what_is_wrong_and_their_source_wherever_they_are_broken) {
  std::set<std::string> shown;
  for (const auto& [id, cases] : all_cases()) {
    for (const report::RuleCase& c : cases) {
      const auto rule =
          std::find_if(fleet_rules().begin(), fleet_rules().end(), [&](const FleetRule& r) { return r.id == c.rule; });
      if (c.expect != "broken" || rule == fleet_rules().end()) continue;
      const FactTable facts = report::table_of(c.nodes);
      const fleet::Verdicts verdicts = verdicts_of(*rule, c, facts);
      const report::FleetChecked checked{facts, {&*rule, 1}, verdicts, RuleSeverity::info, false};
      const std::string text = words_of(report::render_fleet_check(checked, false));
      const std::string table = words_of(report::render_csv(report::fleet_check_table(checked), true));
      const std::string json = report::fleet_check_json(checked);
      EXPECT_TRUE(report::any_broken(checked)) << id;
      for (const std::string& word : {rule->id, rule->source, rule->todo, verdicts.all.front().says}) {
        EXPECT_NE(text.find(words_of(printable(word))), std::string::npos) << id << " does not show " << word << " in\n" << text;
        JsonWriter w;
        w.value(word);
        EXPECT_NE(json.find(w.take()), std::string::npos) << id << " does not show " << word << " in\n" << json;
      }
      EXPECT_NE(table.find(words_of(rule->id)), std::string::npos) << id;
      shown.insert(id);
    }
  }
  EXPECT_EQ(shown.size(), fleet_rules().size());
  for (const FleetRule& r : fleet_rules())
    EXPECT_NE(words_of(report::render_fleet_rule(r)).find(words_of(printable(r.source))), std::string::npos) << r.id;
}

TEST(FleetRules, and_the_other_tables_of_fleets_name_a_source_in_every_row) {
  std::set<std::string> ids;
  for (const FleetRule& r : fleet_rules()) ids.insert(r.id);
  for (const char* file : {"fleet/compat.csv", "fleet/host_settings.csv", "fleet/remedies.csv", "fleet/upgrade_order.csv",
                           "fleet/cloud_config_keys.csv"}) {
    const auto csv = parse_csv(*embedded_file(file), file);
    ASSERT_TRUE(csv.has_value()) << file;
    ASSERT_GE(csv->column("source"), 0) << file;
    EXPECT_FALSE(csv->rows.empty()) << file;
    for (std::size_t r = 0; r < csv->rows.size(); ++r) {
      const bool by_hand = csv->cell(r, "by") == "hand";  // what a person would do anyway
      EXPECT_TRUE(by_hand || !trim(csv->cell(r, "source")).empty()) << file << ":" << csv->lines[r];
      for (const std::string_view rule : split(csv->cell(r, "rule"), ' '))
        EXPECT_TRUE(rule.empty() || ids.count(std::string(rule)))
            << file << ":" << csv->lines[r] << ": there is no rule " << rule;
    }
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

// Four nodes, of which the last has two versions of NCCL in use.
TEST(FleetCheck, where_several_nccl_are_in_use_a_known_job_is_undecided_as_a_whole_and_else_only_such_nodes_are) {
  const auto rule = std::find_if(fleet_rules().begin(), fleet_rules().end(), [](const FleetRule& r) { return r.id == "C036"; });
  ASSERT_NE(rule, fleet_rules().end());
  const report::RuleCase c = report::parse_rule_case("C036", "unknown", "3x nccl.mapped=2.28.3 | nccl.mapped=2.28.3,2.27.5");
  const FactTable facts = report::table_of(c.nodes);
  fleet::CheckOptions options;
  options.kinds.push_back({"all", {}, {0, 1, 2, 3}});
  const auto verdicts = [&] { return fleet::check_rules(facts, fact_book(), {&*rule, 1}, options).all; };
  const auto might = verdicts();
  ASSERT_EQ(might.size(), 2U);
  EXPECT_EQ(might[0].status, fleet::RuleStatus::unknown);
  EXPECT_EQ(might[0].nodes, std::vector<std::uint32_t>{3});
  EXPECT_NE(might[0].found.find("2.27.5 and 2.28.3 on n4"), std::string::npos) << might[0].found;
  EXPECT_EQ(might[1].status, fleet::RuleStatus::ok);
  options.jobs = {{0, 1}, {2, 3}};
  const auto known = verdicts();
  ASSERT_EQ(known.size(), 2U);
  EXPECT_EQ(known[0].status, fleet::RuleStatus::unknown);
  EXPECT_EQ(known[0].nodes, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(known[1].nodes, (std::vector<std::uint32_t>{0, 1}));
}

// A node that is fine by every rule, as far as one node can be: the facts of all cases that are, and words for the rest.
std::map<std::string, std::string> fine_node(std::size_t facts) {
  std::map<std::string, std::string> out;
  for (const auto& [rule, cases] : all_cases()) {
    for (const report::RuleCase& c : cases) {
      if (c.expect != "ok") continue;
      for (const auto& [name, value] : c.nodes.front()) {
        if (value && out.size() < facts) out.emplace(name, *value);
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
