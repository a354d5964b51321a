// Rules of a fleet as CSV: what is read, and what is refused with file, line and reason.
#include "ingest/fleet_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "ingest/embedded.h"

namespace muster {
namespace {

const std::string kHeader = "id,kind,severity,a,range_a,b,range_b,applies_to,says,do,source\n";

std::vector<FleetRule> read(const std::string& text) {
  auto rules = read_fleet_rules(text, "site.csv");
  EXPECT_TRUE(rules.has_value()) << rules.error().what;
  return rules ? *rules : std::vector<FleetRule>{};
}

std::string refusal(const std::string& text) {
  const auto rules = read_fleet_rules(text, "site.csv");
  if (rules) return "it was read";
  EXPECT_EQ(rules.error().code, Code::bad_input);
  return rules.error().what;
}

std::string advice(const std::string& text) {
  const auto rules = read_fleet_rules(text, "site.csv");
  return rules ? "it was read" : rules.error().next;
}

// ---- what is read

TEST(RuleFiles, have_a_rule_a_line_with_all_its_cells) {
  const auto rules =
      read(kHeader +
           "S1,min,error,cuda.toolkit,in 13,driver.loaded,>= 580.95,node.virt == none,{driver.loaded} is old,upgrade,wiki\n"
           "S2,setting,info,,,sysctl.vm.swappiness,<= 10,,swappiness is high,,wiki\n");
  ASSERT_EQ(rules.size(), 2u);
  const FleetRule& r = rules[0];
  EXPECT_EQ(r.id, "S1");
  EXPECT_EQ(r.kind, RuleKind::min);
  EXPECT_EQ(r.severity, RuleSeverity::error);
  EXPECT_EQ(r.a, "cuda.toolkit");
  EXPECT_EQ(r.range_a, "in 13");
  EXPECT_EQ(r.b, "driver.loaded");
  EXPECT_EQ(r.range_b, ">= 580.95");
  EXPECT_EQ(r.applies_to, "node.virt == none");
  EXPECT_EQ(r.says, "{driver.loaded} is old");
  EXPECT_EQ(r.todo, "upgrade");
  EXPECT_EQ(r.source, "wiki");
  EXPECT_EQ(r.file, "site.csv");
  EXPECT_EQ(r.line, 2);
  EXPECT_EQ(rules[1].line, 3);
  EXPECT_EQ(rules[1].todo, "");
}

TEST(RuleFiles, may_have_columns_in_any_order_and_leave_out_those_that_may_be_empty) {
  const auto rules = read("source,says,severity,range_b,b,kind,id\nwiki,no IMEX,warn,present,imex.version,need,S1\n");
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].b, "imex.version");
  EXPECT_EQ(rules[0].source, "wiki");
  EXPECT_TRUE(rules[0].a.empty() && rules[0].applies_to.empty() && rules[0].todo.empty() && rules[0].confidence.empty());
}

TEST(RuleFiles, know_every_kind_and_severity) {
  for (const std::string_view kind : names(RuleKind{})) {
    const auto rules = read(kHeader + "S1," + std::string(kind) + ",warn,,,driver.loaded,alike,,x,,y\n");
    ASSERT_EQ(rules.size(), 1u);
    EXPECT_EQ(name_of(rules[0].kind), kind);
  }
  for (const std::string_view severity : names(RuleSeverity{})) {
    const auto rules = read(kHeader + "S1,need," + std::string(severity) + ",,,driver.loaded,present,,x,,y\n");
    ASSERT_EQ(rules.size(), 1u);
    EXPECT_EQ(name_of(rules[0].severity), severity);
  }
}

TEST(RuleFiles, may_have_commas_quotes_and_lines_in_quoted_cells) {
  const auto rules = read(kHeader +
                          "S1,need,warn,,,a.b,\"in (x, y)\",,\"he said \"\"no\"\",\nand left\",\"a, b\",\"wiki, page 2\"\n"
                          "S2,need,warn,,,a.b,present,,x,,y\n");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].range_b, "in (x, y)");
  EXPECT_EQ(rules[0].says, "he said \"no\",\nand left");
  EXPECT_EQ(rules[0].todo, "a, b");
  EXPECT_EQ(rules[0].source, "wiki, page 2");
  EXPECT_EQ(rules[1].line, 4) << "counted in lines of the file";
}

TEST(RuleFiles, may_have_comments_empty_lines_and_blanks_around_cells) {
  const auto rules =
      read("# ours\n" + kHeader + "\n# about swappiness\n S1 ,setting,info,,, sysctl.vm.swappiness ,<= 10,, x ,, y \n");
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].id, "S1");
  EXPECT_EQ(rules[0].b, "sysctl.vm.swappiness");
  EXPECT_EQ(rules[0].says, "x");
  EXPECT_EQ(rules[0].line, 5);
}

TEST(RuleFiles, from_spreadsheets_have_a_mark_in_front_and_windows_line_ends) {
  std::string text = "\xEF\xBB\xBF" + kHeader + "S1,need,warn,,,a.b,present,,x,,y\n\nS2,need,warn,,,a.b,absent,,x,,y\n";
  for (std::size_t i = 0; (i = text.find('\n', i)) != std::string::npos; i += 2) text.insert(i, "\r");
  const auto rules = read(text);
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].id, "S1");
  EXPECT_EQ(rules[0].source, "y");
  EXPECT_EQ(rules[1].line, 4);
}

TEST(RuleFiles, need_no_line_end_at_their_end_and_no_rule) {
  EXPECT_EQ(read(kHeader + "S1,need,warn,,,a.b,present,,x,,y").size(), 1u);
  EXPECT_EQ(read(kHeader).size(), 0u);
}

TEST(RuleFiles, are_written_so_that_they_read_back_as_they_were) {
  std::vector<FleetRule> rules = fleet_rules();
  FleetRule odd;
  odd.id = "#S,1";
  odd.kind = RuleKind::alike;
  odd.b = "nic.firmware";
  odd.range_b = "alike by nic.board_id";
  odd.says = "two\nlines, \"quoted\" and \xe6\x9d\xb1";
  odd.source = "a\rb";
  rules.push_back(odd);
  const std::string text = render_fleet_rules(rules);
  const auto again = read(text);
  ASSERT_EQ(again.size(), rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const FleetRule &x = rules[i], &y = again[i];
    EXPECT_EQ(std::tie(x.id, x.kind, x.severity, x.a, x.range_a, x.b, x.range_b, x.applies_to),
              std::tie(y.id, y.kind, y.severity, y.a, y.range_a, y.b, y.range_b, y.applies_to));
    EXPECT_EQ(std::tie(x.says, x.todo, x.effect, x.confidence, x.source),
              std::tie(y.says, y.todo, y.effect, y.confidence, y.source))
        << x.id;
  }
  EXPECT_EQ(render_fleet_rules(again), text);
}

// ---- those that ship

TEST(RuleFiles, that_ship_have_98_rules_of_versions_and_63_of_settings_one_a_line) {
  std::map<std::string, std::size_t> of_file;
  std::set<std::string> ids;
  for (const FleetRule& r : fleet_rules()) {
    ++of_file[r.file];
    EXPECT_TRUE(ids.insert(lower(r.id)).second) << r.id << " is in both";
    EXPECT_EQ(r.id[0], r.file == "fleet/compat.csv" ? 'C' : 'H') << r.id;
  }
  EXPECT_EQ(of_file, (std::map<std::string, std::size_t>{{"fleet/compat.csv", 99}, {"fleet/host_settings.csv", 63}}));
  for (const auto& [file, n] : of_file) {
    const std::string text(*embedded_file(file));
    EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), n + 1) << "a line that is no rule: " << file;
  }
}

// ---- what is refused

TEST(RuleFiles, without_a_header_are_refused) {
  for (const char* text : {"", "\n\n", "# only\n# comments\n", "\xEF\xBB\xBF", "\r\n"})
    EXPECT_EQ(refusal(text), "site.csv:1: no header line") << text;
}

TEST(RuleFiles, without_a_column_that_is_needed_say_which) {
  for (const std::string column : {"id", "kind", "b", "range_b", "severity", "says", "source"}) {
    std::string header;
    for (const std::string_view c : split(trim(kHeader), ',')) {
      if (c != column) header += (header.empty() ? "" : ",") + std::string(c);
    }
    EXPECT_EQ(refusal(header + "\n"), "site.csv:1: there is no column " + column);
    EXPECT_NE(advice(header + "\n").find("docs/formats/fleet_rules.md"), std::string::npos);
  }
}

TEST(RuleFiles, with_a_column_that_nobody_reads_are_refused_rather_than_read_without_it) {
  const std::string misspelt = "id,kind,severity,b,range_b,apply_to,says,source\nS1,need,warn,a.b,present,c.d == 1,x,y\n";
  EXPECT_EQ(refusal(misspelt), "site.csv:1: column \"apply_to\" is unknown");
  EXPECT_EQ(advice(misspelt), "did you mean applies_to?");
  EXPECT_EQ(refusal("id,id,kind,severity,b,range_b,says,source\n"), "site.csv:1: column \"id\" is there twice");
  EXPECT_EQ(refusal("id;kind;severity;b;range_b;says;source\n"),
            "site.csv:1: column \"id;kind;severity;b;range_b;says;source\" is unknown");
  EXPECT_EQ(refusal(kHeader.substr(0, kHeader.size() - 1) + ",\x1b[2J\n"), "site.csv:1: column \"\\x1b[2J\" is unknown");
}

TEST(RuleFiles, say_which_line_is_wrong_and_why) {
  const std::string good = "S0,need,warn,,,a.b,present,,x,,y\n";
  const std::pair<const char*, const char*> rows[] = {
      {",need,warn,,,a.b,present,,x,,y", "id is empty"},
      {"  ,need,warn,,,a.b,present,,x,,y", "id is empty"},
      {"S1,needs,warn,,,a.b,present,,x,,y",
       "kind must be one of min, max, exact, window, need, bundle, date, setting, alike, job, is \"needs\""},
      {"S1,,warn,,,a.b,present,,x,,y",
       "kind must be one of min, max, exact, window, need, bundle, date, setting, alike, job, is \"\""},
      {"S1,need,fatal,,,a.b,present,,x,,y", "severity must be one of info, warn, error, is \"fatal\""},
      {"S1,need,Warn,,,a.b,present,,x,,y", "severity must be one of info, warn, error, is \"Warn\""},
      {"S1,need,warn,,,a.b,present,,,,y", "says of S1 is empty"},
      {"S1,need,warn,,,a.b,present,,x,, ", "source of S1 is empty"},
      {"S1,need,warn,,,a.b,,,x,,y", "range_b of S1 is empty"},
      {"S1,job,warn,,,,present,,x,,y", "b of S1 is empty"},
      {"S1,alike,warn,,,,alike,,x,,y", "b of S1 is empty"},
      {"S1,need,warn,,in 13,a.b,present,,x,,y", "range_a of S1 is \"in 13\", but a names no fact"},
      {"S0,need,warn,,,a.b,present,,x,,y", "S0 is there twice"},
      {"S1,need,warn,,,a.b,present,,x,y", "10 cells, the header has 11"},
      {"S1,need,warn,,,a.b,in (x, y),,x,,y", "12 cells, the header has 11"},
      {"S1,need,warn,,,a.b,\"in (x, y),,x,,y", "a quote is not closed"},
      {"S1,\x1b[2J,warn,,,a.b,present,,x,,y",
       "kind must be one of min, max, exact, window, need, bundle, date, setting, alike, job, is \"\\x1b[2J\""},
  };
  for (const auto& [row, why] : rows) EXPECT_EQ(refusal(kHeader + good + row + "\n"), std::string("site.csv:3: ") + why) << row;
}

TEST(RuleFiles, with_bytes_that_are_zero_are_refused_with_their_line) {
  EXPECT_EQ(refusal(kHeader + std::string("S1,need,warn,,,a.b,present,,x\0,,y\n", 34)), "site.csv:2: it has a byte that is zero");
  EXPECT_EQ(refusal(std::string("i\0d\0", 4)), "site.csv:1: it has a byte that is zero");
  EXPECT_EQ(advice(std::string("i\0d\0", 4)), "save it as CSV in UTF-8");
}

TEST(RuleFiles, cut_off_anywhere_are_refused_or_read_and_nothing_else) {
  const std::string text = kHeader + "S1,need,warn,,,a.b,\"in (x, y)\",,\"he said \"\"no\"\"\",,y\n";
  std::set<std::string> said;
  for (std::size_t n = 0; n <= text.size(); ++n) {
    const std::string what = refusal(text.substr(0, n));
    said.insert(what);
    EXPECT_TRUE(what == "it was read" || what.rfind("site.csv:", 0) == 0) << what;
  }
  EXPECT_GE(said.size(), 8u);
}

}  // namespace
}  // namespace muster
