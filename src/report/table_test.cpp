#include "report/table.h"

#include <gtest/gtest.h>

namespace muster::report {
namespace {

Table people(std::vector<std::vector<std::string>> rows) {
  Table t{{{"NAME"}, {"COUNT", true}, {"NOTE", false, true}}, {}};
  for (auto& row : rows) {
    t.rows.emplace_back();
    for (auto& text : row) t.rows.back().emplace_back(std::move(text));
  }
  return t;
}

TEST(Table, ColumnsAlignAndLinesEndWithoutBlanks) {
  EXPECT_EQ(render_table(people({{"a", "7", "x"}, {"longer", "1234", ""}}), {}), "NAME    COUNT\na           7\nlonger   1234\n");
  EXPECT_EQ(render_table(people({{"a", "7", "x"}, {"b", "", ""}}), {.headers = false, .wide = true}), "a  7  x\nb\n");
}

TEST(Table, WideCharactersTakeTwoColumnsAndMarksNone) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("日本"), 4U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
  EXPECT_EQ(display_width("🔥"), 2U);
  EXPECT_EQ(render_table(people({{"日本", "1", ""}, {"abcd", "2", ""}}), {.headers = false}), "日本  1\nabcd  2\n");
}

TEST(Table, ControlBytesOfANameDoNotReachTheTerminal) {
  const auto text = render_table(people({{"\x1b[31mevil\nrow", "1", ""}, {"\xff", "2", ""}}), {.headers = false});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(Table, ColourOnlyWhenWanted) {
  Table t{{{"STATE"}}, {{Cell("down", Tone::bad)}}};
  EXPECT_EQ(render_table(t, {.headers = false}), "down\n");
  EXPECT_EQ(render_table(t, {.headers = false, .colour = true}), "\x1b[31mdown\x1b[0m\n");
}

TEST(Csv, QuotesAndHoldsBackFormulas) {
  const auto text =
      render_csv(people({{"a,b", "1", "say \"hi\""}, {"=HYPERLINK(1)", "-5", "@x"}, {"+1+1", "-5e3", "two\nlines"}}), true);
  EXPECT_EQ(text, "name,count,note\n\"a,b\",1,\"say \"\"hi\"\"\"\n'=HYPERLINK(1),-5,'@x\n'+1+1,-5e3,two\\x0alines\n");
}

TEST(Csv, GivesMachinesTheRawValue) {
  Table t{{{"AGE"}, {"JOB"}}, {{Cell("3m 5s"), Cell("-")}}};
  t.rows[0][0].raw = "185";
  t.rows[0][1].raw = "";
  EXPECT_EQ(render_csv(t, false), "185,\n");
}

TEST(Sort, NumbersAsNumbersAndEitherWay) {
  auto t = people({{"node10", "5", ""}, {"node9", "12", ""}});
  for (auto& row : t.rows) row[1].key = std::stod(row[1].text);
  t.rows = in_order(t.rows, *sort_order(t, "name"));
  EXPECT_EQ(t.rows[0][0].text, "node9");
  t.rows = in_order(t.rows, *sort_order(t, "-Count"));
  EXPECT_EQ(t.rows[0][1].text, "12");
}

TEST(Sort, AnUnknownColumnIsNamedWithTheNearestOne) {
  auto t = people({});
  const auto r = sort_order(t, "nmae");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::bad_input);
  EXPECT_NE(r.error().next.find("did you mean NAME?"), std::string::npos);
}

TEST(Wrap, BreaksAtBlanksAndIndents) {
  EXPECT_EQ(wrap("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrap("unbreakablylong x", 5, 0), "unbreakablylong\nx");
  EXPECT_EQ(wrap("", 5, 0), "");
}

}  // namespace
}  // namespace muster::report
