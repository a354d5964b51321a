// The language in which rules say where they apply and what they want, held against what is known of a node.
#include "fleet/expression.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <map>

#include "base/text.h"

namespace muster::fleet {
namespace {

using Facts = std::map<std::string, Known, std::less<>>;

const Known kAbsent{Known::State::absent, {}};
const Known kUnknown{Known::State::unknown, {}};
Known is(std::string_view text) { return {Known::State::value, text}; }

bool short_fact(std::string_view word) { return word == "a" || word == "b" || word == "c"; }

std::vector<Known> known_to(const Expression& e, const Facts& facts) {
  std::vector<Known> out;
  for (const std::string& f : e.facts()) {
    const auto it = facts.find(f);
    out.push_back(it == facts.end() ? kUnknown : it->second);
  }
  return out;
}

// "yes", "no", "unknown", or what is wrong with the text.
std::string holds(std::string_view text, const Facts& facts) {
  const auto e = parse_expression(text, short_fact);
  if (!e) return e.error().what;
  const Truth t = e->holds(known_to(*e, facts));
  return t == Truth::yes ? "yes" : t == Truth::no ? "no" : "unknown";
}

// Of one fact, a, with this value.
std::string of_a(std::string_view text, std::string_view value) { return holds(text, {{"a", is(value)}}); }

std::string missing(std::string_view text, const Facts& facts) {
  const auto e = parse_expression(text, short_fact);
  if (!e) return e.error().what;
  std::vector<std::string> out;
  for (const std::uint32_t f : e->missing(known_to(*e, facts))) out.push_back(e->facts()[f]);
  return join(out, " ");
}

Error error_of(std::string_view text) {
  const auto e = parse_expression(text, short_fact);
  return e ? Error{Code::internal, "it was read", {}} : e.error();
}

// ---- operators

TEST(Expressions, compare_as_versions_do) {
  for (const auto& [text, value] : {std::pair{"a == 13.0", "13"},
                                    {"a == R580", "580"},
                                    {"a != 580.65", "580.9"},
                                    {"a < 580.65", "580.9"},
                                    {"a <= 13", "13.0"},
                                    {"a > 2.27.5-rc1", "2.27.5"},
                                    {"a >= 580.65.06", "580.159.04"},
                                    {"a >= 2.27.5", "2.27.5-1+cuda12.9"},
                                    {"a >= 17179869184", "17179869184"}}) {
    EXPECT_EQ(of_a(text, value), "yes") << text << " of " << value;
  }
  for (const auto& [text, value] : {std::pair{"a == 13.0", "13.1"},
                                    {"a != R580", "580"},
                                    {"a < 580.65", "580.65.0"},
                                    {"a <= 12.9", "13.0"},
                                    {"a > 24.11", "24.11.0-0rc1"},
                                    {"a >= 580.159", "580.65.06"}}) {
    EXPECT_EQ(of_a(text, value), "no") << text << " of " << value;
  }
}

TEST(Expressions, leave_out_the_epoch_that_a_package_has_in_front) {
  EXPECT_EQ(of_a("a == 4.5.2", "1:4.5.2"), "yes");
  EXPECT_EQ(of_a("a >= 5", "1:4.5.2-3.el9"), "no");
  EXPECT_EQ(of_a("a >= 580", "3:580.95.05-1.el9"), "yes");
}

TEST(Expressions, hold_facts_against_facts_as_well) {
  EXPECT_EQ(holds("a == b", {{"a", is("580.95.05-1")}, {"b", is("580.95.05")}}), "yes");
  EXPECT_EQ(holds("a > b", {{"a", is("580.95.05")}, {"b", is("580.159.04")}}), "no");
  EXPECT_EQ(holds("a in b", {{"a", is("580.95.05")}, {"b", is("580")}}), "yes");
  EXPECT_EQ(holds("a contains b", {{"a", is("NVIDIA DGX H100")}, {"b", is("dgx-h100")}}), "yes");
  EXPECT_EQ(holds("a == a", {{"a", is("\xe6\x9d\xb1")}}), "yes");
}

TEST(Expressions, know_branches_and_words_of_a_list) {
  EXPECT_EQ(of_a("a in 580", "580.159.04"), "yes");
  EXPECT_EQ(of_a("a in 580", "5801"), "no");
  EXPECT_EQ(of_a("a in (570, 580)", "580.159.04"), "yes");
  EXPECT_EQ(of_a("a not in (570, 575)", "580.159.04"), "yes");
  EXPECT_EQ(of_a("not a in (570, 580)", "580.159.04"), "no");
  EXPECT_EQ(of_a("a in (hopper, blackwell)", "hopper"), "yes");
  EXPECT_EQ(of_a("a in (\"off\", passthrough)", "translated"), "no");
  EXPECT_EQ(of_a("a in (580, banana)", "banana"), "yes");
  EXPECT_EQ(of_a("a in (580, 570)", "banana"), "unknown") << "it may be any version";
}

TEST(Expressions, find_text_in_text_whatever_its_case_and_signs) {
  EXPECT_EQ(of_a("a contains DGXH100", "NVIDIA DGX H100"), "yes");
  EXPECT_EQ(of_a("a contains \"dgx h-100\"", "NVIDIA DGX H100"), "yes");
  EXPECT_EQ(of_a("a not contains H200", "NVIDIA H100"), "yes");
  EXPECT_EQ(of_a("a contains \xe6\x9d\xb1", "rack \xe6\x9d\xb1 4"), "yes");
  EXPECT_EQ(of_a("a contains \xe6\x9d\xb1", "rack \xe8\xa5\xbf 4"), "no");
  EXPECT_EQ(holds("a contains b", {{"a", is("x")}, {"b", is("--")}}), "unknown") << "nothing is in everything";
}

TEST(Expressions, count_releases_along_a_list) {
  const char* text = "a within 2 before b of (23.02, 23.11, 24.05, 24.11, 25.05)";
  const auto at = [&](std::string_view a, std::string_view b) { return holds(text, {{"a", is(a)}, {"b", is(b)}}); };
  EXPECT_EQ(at("24.05.3", "24.11.5-1"), "yes");
  EXPECT_EQ(at("24.11.5", "24.11.0"), "yes") << "the same release";
  EXPECT_EQ(at("23.11.1", "24.11.5"), "yes");
  EXPECT_EQ(at("23.02.1", "24.11.5"), "no") << "three before";
  EXPECT_EQ(at("25.05.0", "24.11.5"), "no") << "newer";
  EXPECT_EQ(at("22.05.8", "24.11.5"), "unknown") << "not in the list";
  EXPECT_EQ(at("24.11.5", "26.05"), "unknown");
}

TEST(Expressions, take_parts_of_values) {
  EXPECT_EQ(of_a("major(a) == 13", "cuda-13.0.2"), "yes");
  EXPECT_EQ(of_a("release(a) == 13.0", "13.0.2"), "yes");
  EXPECT_EQ(of_a("release(a) == 13.0", "13"), "unknown") << "it has but one number";
  EXPECT_EQ(of_a("major(a) == 13", "latest"), "unknown");
  EXPECT_EQ(of_a("word(a, 3) == 12582912", "4096 131072  12582912"), "yes");
  EXPECT_EQ(of_a("word(a, 4) absent", "4096\t131072 12582912"), "yes");
  EXPECT_EQ(of_a("word(a, 1) >= 4096", "4096 131072"), "yes");
  EXPECT_EQ(holds("major(a) == major(b)", {{"a", is("12.9")}, {"b", is("12.4.131")}}), "yes");
  EXPECT_EQ(holds("major(first(a, b)) == 12", {{"a", kAbsent}, {"b", is("12.4")}}), "yes");
}

TEST(Expressions, take_for_on_and_off_what_programs_write) {
  for (const char* on : {"true", "1", "yes", "on", "Enabled", "ENABLE", "True(1)"}) {
    EXPECT_EQ(of_a("a == true", on), "yes") << on;
    EXPECT_EQ(of_a("a != true", on), "no") << on;
    EXPECT_EQ(of_a("a == false", on), "no") << on;
    EXPECT_TRUE(is_flag(on)) << on;
  }
  for (const char* off : {"false", "0", "no", "off", "Disabled", "disable", "False(0)"}) {
    EXPECT_EQ(of_a("a == false", off), "yes") << off;
    EXPECT_TRUE(is_flag(off)) << off;
  }
  for (const char* neither : {"2", "maybe", "", "tru"}) {
    EXPECT_EQ(of_a("a == true", neither), "unknown") << neither;
    EXPECT_EQ(of_a("a != true", neither), "unknown") << neither;
    EXPECT_FALSE(is_flag(neither)) << neither;
  }
  EXPECT_EQ(of_a("a == 0", "off"), "yes") << "init_on_alloc=off";
  EXPECT_EQ(of_a("a == 0", "on"), "no");
}

TEST(Expressions, hold_a_text_in_the_rule_against_numbers_too) {
  EXPECT_EQ(of_a("a == unlimited or >= 17179869184", "unlimited"), "yes");
  EXPECT_EQ(of_a("a == unlimited or >= 17179869184", "65536"), "no");
  EXPECT_EQ(of_a("a == unlimited or >= 17179869184", "34359738368"), "yes");
}

TEST(Expressions, take_texts_that_differ_in_more_than_signs_for_different) {
  EXPECT_EQ(of_a("a == \"\xe6\x9d\xb1\xe4\xba\xac\"", "\xe5\xa4\xa7\xe9\x98\xaa"), "no");
  EXPECT_EQ(of_a("a in (\xe6\x9d\xb1\xe4\xba\xac, x)", "\xe5\xa4\xa7\xe9\x98\xaa"), "no");
  EXPECT_EQ(of_a("a in (\"\", x)", "anything"), "no");
  EXPECT_EQ(of_a("a == \"***\"", "..."), "no");
  EXPECT_EQ(of_a("a == \"\"", ""), "yes");
  EXPECT_EQ(of_a("a == \"x y\"", "x-y"), "yes");
}

TEST(Expressions, without_a_text_hold_everywhere) {
  for (const char* text : {"", " ", "\t "}) {
    const auto e = parse_expression(text, short_fact);
    ASSERT_TRUE(e.has_value());
    EXPECT_TRUE(e->empty());
    EXPECT_EQ(e->holds({}), Truth::yes);
  }
  EXPECT_EQ(holds("true", {}), "yes");
  EXPECT_EQ(holds("false or not false", {}), "yes");
}

// ---- precedence

TEST(Expressions, bind_not_before_and_before_or) {
  const std::string_view truths[] = {"1", "0"};
  for (const auto a : truths) {
    for (const auto b : truths) {
      for (const auto c : truths) {
        const Facts facts{{"a", is(a)}, {"b", is(b)}, {"c", is(c)}};
        const bool x = a == "1", y = b == "1", z = c == "1";
        const auto word = [](bool t) { return t ? "yes" : "no"; };
        EXPECT_EQ(holds("a == 1 or b == 1 and c == 1", facts), word(x || (y && z)));
        EXPECT_EQ(holds("a == 1 and b == 1 or c == 1", facts), word((x && y) || z));
        EXPECT_EQ(holds("(a == 1 or b == 1) and c == 1", facts), word((x || y) && z));
        EXPECT_EQ(holds("not a == 1 and b == 1", facts), word(!x && y));
        EXPECT_EQ(holds("not (a == 1 and b == 1)", facts), word(!(x && y)));
        EXPECT_EQ(holds("not not a == 1 or not c == 1", facts), word(x || !z));
      }
    }
  }
}

TEST(Expressions, go_on_with_the_fact_that_was_compared_before) {
  EXPECT_EQ(of_a("a >= 6 and < 7", "6.8.0"), "yes");
  EXPECT_EQ(of_a("a >= 6 and < 7", "7.0"), "no");
  EXPECT_EQ(of_a("a == unlimited or (>= 5 and not >= 9)", "7"), "yes");
  EXPECT_EQ(holds("a >= 6 and b >= 5 and < 7", {{"a", is("6")}, {"b", is("8")}}), "no") << "the last one named";
}

// ---- what is not known

TEST(Expressions, are_unknown_where_what_is_unknown_decides) {
  const Facts known{{"a", is("1")}};
  EXPECT_EQ(holds("a == 1 and b == 1", known), "unknown");
  EXPECT_EQ(holds("a == 2 and b == 1", known), "no");
  EXPECT_EQ(holds("b == 1 and a == 2", known), "no");
  EXPECT_EQ(holds("a == 1 or b == 1", known), "yes");
  EXPECT_EQ(holds("a == 2 or b == 1", known), "unknown");
  EXPECT_EQ(holds("not b == 1", known), "unknown");
  EXPECT_EQ(holds("b == 1 or not b == 1", known), "unknown");
  EXPECT_EQ(holds("b == b", known), "unknown");
}

TEST(Expressions, with_an_unknown_fact_are_unknown_by_every_comparison) {
  for (const char* text : {"a == 1",
                           "a != 1",
                           "a < 1",
                           "a <= 1",
                           "a > 1",
                           "a >= 1",
                           "a in 1",
                           "a not in 1",
                           "a in (1, 2)",
                           "a contains x",
                           "a not contains x",
                           "a present",
                           "a absent",
                           "major(a) == 1",
                           "release(a) == 1.0",
                           "word(a, 1) == 1",
                           "a within 1 before b of (1, 2)",
                           "b == a",
                           "b in a",
                           "b in (a, 7)",
                           "b contains a",
                           "first(a, b) == 1",
                           "a == true",
                           "a == unlimited"}) {
    EXPECT_EQ(holds(text, {{"b", is("1")}}), "unknown") << text;
  }
}

TEST(Expressions, with_an_absent_fact_are_false_but_for_those_that_ask_whether_it_differs_or_is_absent) {
  const Facts facts{{"a", kAbsent}, {"b", kAbsent}, {"c", is("1")}};
  for (const char* text : {"a == 1",
                           "a < 1",
                           "a <= 1",
                           "a > 1",
                           "a >= 1",
                           "a in 1",
                           "a in (1, 2)",
                           "a contains x",
                           "a present",
                           "major(a) == 1",
                           "word(a, 1) == 1",
                           "a == c",
                           "c == a",
                           "c in a",
                           "c < a",
                           "a == true",
                           "a == false",
                           "a within 1 before c of (1, 2)",
                           "first(a, b) present",
                           "a != b",
                           "a == \"\""}) {
    EXPECT_EQ(holds(text, facts), "no") << text;
  }
  for (const char* text : {"a absent", "a != 1", "a not in 1", "a not contains x", "a == b", "a != c", "first(a, b) absent",
                           "first(a, b, c) == 1", "word(c, 2) absent"}) {
    EXPECT_EQ(holds(text, facts), "yes") << text;
  }
}

TEST(Expressions, do_not_pass_over_an_unread_fact_to_the_next_one) {
  EXPECT_EQ(holds("first(a, b) >= 2", {{"a", is("3")}, {"b", is("1")}}), "yes");
  EXPECT_EQ(holds("first(a, b) >= 2", {{"a", kAbsent}, {"b", is("1")}}), "no");
  EXPECT_EQ(holds("first(a, b) >= 2", {{"a", kUnknown}, {"b", is("3")}}), "unknown") << "a may be 1";
  EXPECT_EQ(holds("first(a, b) present", {{"a", kUnknown}, {"b", is("3")}}), "yes") << "whichever it is";
  EXPECT_EQ(holds("first(a, b) absent", {{"a", kUnknown}, {"b", kAbsent}}), "unknown");
  EXPECT_EQ(missing("first(a, b) >= 2", {{"b", is("3")}}), "a");
}

TEST(Expressions, do_not_compare_what_cannot_be_compared) {
  for (const char* text : {"", "latest", "git-3fa9", "N/A", "unknown", "-1", "1.master"}) {
    for (const char* op : {"a < 1.17", "a >= 1.17", "a == b", "a != b"})
      EXPECT_EQ(holds(op, {{"a", is(text)}, {"b", is("1.17")}}), "unknown") << op << " of " << text;
  }
  EXPECT_EQ(of_a("a == 1.17", "1.master"), "unknown");
  EXPECT_EQ(of_a("a != 1.17", "1.master"), "unknown");
  EXPECT_EQ(of_a("a in 1.17", "latest"), "unknown");
}

TEST(Expressions, know_that_versions_of_a_VBIOS_differ_though_not_which_is_the_later) {
  EXPECT_EQ(of_a("a == 97.00.B9.00.69", "97.00.B9.00.69"), "yes");
  EXPECT_EQ(of_a("a == 97.00.B9.00.69", "97.00.89.00.69"), "no");
  EXPECT_EQ(of_a("a != 97.00.B9.00.69", "97.00.89.00.69"), "yes");
  EXPECT_EQ(of_a("a >= 97.00.B9.00.69", "97.00.89.00.69"), "unknown");
}

TEST(Expressions, say_which_facts_would_decide_and_no_others) {
  EXPECT_EQ(missing("a == 1 and (b == 1 or c == 1)", {{"a", is("1")}}), "b c");
  EXPECT_EQ(missing("a == 1 and (b == 1 or c == 1)", {{"a", is("1")}, {"c", is("2")}}), "b");
  EXPECT_EQ(missing("a == 1 and (b == 1 or c == 1)", {{"a", is("2")}}), "");
  EXPECT_EQ(missing("a == 1 or a == 2", {}), "a") << "each once";
  EXPECT_EQ(missing("a >= 1", {{"a", is("latest")}}), "") << "it was read, and is no version";
  EXPECT_EQ(missing("b == 1 and today <= 2026-11-19", {{"b", is("1")}}), "today");
}

// ---- facts

TEST(Expressions, name_each_fact_once_in_the_order_of_the_text) {
  const auto e = parse_expression("b == 1 and first(a, b) == c or site.image == b and today > 2026-01-01", short_fact);
  ASSERT_TRUE(e.has_value()) << e.error().what;
  EXPECT_EQ(e->facts(), (std::vector<std::string>{"b", "a", "c", "site.image", "today"}));
}

TEST(Expressions, take_a_word_on_the_right_for_a_fact_only_where_it_is_a_known_one) {
  EXPECT_EQ(parse_expression("a == b", short_fact)->facts().size(), 2u);
  EXPECT_EQ(parse_expression("a == \"b\"", short_fact)->facts().size(), 1u);
  EXPECT_EQ(parse_expression("a == site.image", short_fact)->facts().size(), 1u);
  EXPECT_EQ(of_a("a == \"and\"", "and"), "yes");
  EXPECT_EQ(of_a("a == \"x (y), z\"", "x (y), z"), "yes");
}

TEST(Expressions, hold_days_against_today) {
  const auto on = [](std::string_view day) { return holds("today <= 2026-07-31", {{"today", is(day)}}); };
  EXPECT_EQ(on("2026-07-31"), "yes");
  EXPECT_EQ(on("2026-08-01"), "no");
  EXPECT_EQ(on("2025-12-31"), "yes");
  EXPECT_EQ(holds("today <= 2026-07-31", {}), "unknown");
}

// ---- errors

TEST(Expressions, that_are_wrong_say_what_and_where) {
  const std::pair<const char*, const char*> cases[] = {
      {"a", "a comparison is missing (==, !=, <, <=, >, >=, in, contains, present, absent, within) at the end of \"a\""},
      {"a = 1",
       "a comparison is missing (==, !=, <, <=, >, >=, in, contains, present, absent, within) at \"=\" (byte 3) of \"a = 1\""},
      {"a ! 1",
       "a comparison is missing (==, !=, <, <=, >, >=, in, contains, present, absent, within) at \"!\" (byte 3) of \"a ! 1\""},
      {"a == ", "a fact or a value is missing at the end of \"a == \""},
      {"a == 1 and", "a fact or a value is missing at the end of \"a == 1 and\""},
      {"and a == 1", "\"and\" is no fact, in \"and a == 1\" (byte 1)"},
      {"a == 1 or > > 2", "a fact or a value is missing at \">\" (byte 13) of \"a == 1 or > > 2\""},
      {">= 1", "a fact is missing at \">=\" (byte 1) of \">= 1\""},
      {"not", "a fact or a value is missing at the end of \"not\""},
      {"a == 1 b == 2", "nothing more was expected at \"b\" (byte 8) of \"a == 1 b == 2\""},
      {"a == 1)", "nothing more was expected at \")\" (byte 7) of \"a == 1)\""},
      {"(a == 1", "a ) is missing at the end of \"(a == 1\""},
      {"a in (1, 2", "a ) is missing at the end of \"a in (1, 2\""},
      {"a in ()", "a fact or a value is missing at \")\" (byte 7) of \"a in ()\""},
      {"a in (1,)", "a fact or a value is missing at \")\" (byte 9) of \"a in (1,)\""},
      {"a == \"open", "a quote is not closed at \"\"open\" (byte 6) of \"a == \"open\""},
      {"d == 1", "\"d\" is no fact, in \"d == 1\" (byte 1)"},
      {"\"a\" == 1", "\"a\" is no fact, in \"\"a\" == 1\" (byte 1)"},
      {"a >= banana", "\"banana\" is neither a version nor a number, in \"a >= banana\" (byte 6)"},
      {"a contains \"--\"", "\"--\" has neither letters nor digits, in \"a contains \"--\"\" (byte 12)"},
      {"word(a) == 1", "which word is missing, from 1 at \"==\" (byte 9) of \"word(a) == 1\""},
      {"word(a, 0) == 1", "which word is missing, from 1 at \"0\" (byte 9) of \"word(a, 0) == 1\""},
      {"major(a, b) == 1", "one fact was expected at \"==\" (byte 13) of \"major(a, b) == 1\""},
      {"major() == 1", "a fact or a value is missing at \")\" (byte 7) of \"major() == 1\""},
      {"first(a, b == 1", "a ) is missing at \"==\" (byte 12) of \"first(a, b == 1\""},
      {"a within x before b of 1", "a number of releases is missing at \"x\" (byte 10) of \"a within x before b of 1\""},
      {"a within 101 before b of 1", "a number of releases is missing at \"101\" (byte 10) of \"a within 101 before b of 1\""},
      {"a within 2 after b of 1", "\"before\" is missing at \"after\" (byte 12) of \"a within 2 after b of 1\""},
      {"a within 2 before b", "\"of\" and the releases, oldest first, are missing at the end of \"a within 2 before b\""},
  };
  for (const auto& [text, what] : cases) {
    EXPECT_EQ(error_of(text).what, what);
    EXPECT_EQ(error_of(text).code, Code::bad_input) << text;
  }
}

TEST(Expressions, that_are_wrong_say_what_would_be_right) {
  EXPECT_EQ(error_of("d == 1").next, "muster fleet probe --list shows what is known");
  EXPECT_EQ(error_of("a >= banana").next, "before and after are of versions and numbers: >= 580.95");
  EXPECT_EQ(error_of("a contains \"/\"").next, "contains compares these only: contains H100");
  EXPECT_EQ(error_of(std::string(50, '(') + "a == 1").next, "at most 40 within one another");
}

TEST(Expressions, that_are_wrong_are_shown_without_what_a_terminal_would_obey) {
  const std::string what = error_of("\x1b[2Jd == 1").what;
  EXPECT_EQ(what.find('\x1b'), std::string::npos) << what;
  EXPECT_EQ(error_of("a == 1 \x1b]0;x").what.find('\x1b'), std::string::npos);
}

// ---- bounds

TEST(Expressions, nest_to_forty_parentheses_and_no_deeper) {
  const auto nested = [](int n) {
    return std::string(static_cast<std::size_t>(n), '(') + "a == 1" + std::string(static_cast<std::size_t>(n), ')');
  };
  EXPECT_EQ(of_a(nested(39), "1"), "yes");
  EXPECT_EQ(error_of(nested(40)).what.find("too many parentheses"), 0u);
  EXPECT_EQ(error_of(nested(1'000'000)).what.find("too many parentheses"), 0u);
  std::string calls = "a";
  for (int i = 0; i < 45; ++i) calls = "first(" + calls + ")";
  EXPECT_EQ(error_of(calls + " == 1").what.find("too many parentheses"), 0u);
}

TEST(Expressions, of_any_length_take_no_time_and_errors_of_them_stay_short) {
  const auto many = [](std::string_view one, std::string_view between) {
    std::string out(one);
    while (out.size() < 4'000'000) out.append(between).append(one);
    return out;
  };
  std::string different = "x0.y == 1";
  for (int i = 1; i < 200'000; ++i) different += " and x" + std::to_string(i) + ".y == 1";
  const auto began = std::chrono::steady_clock::now();
  for (const std::string& text : {many("a == 1", " and "), many("a == 1", " or "), "a in (" + many("1", ",") + ")",
                                  "first(" + many("a", ",") + ") == 1", different}) {
    const Error e = error_of(text);
    EXPECT_EQ(e.what.find("too long"), 0u) << e.what;
    EXPECT_LT(e.what.size(), 700u);
    EXPECT_EQ(e.next, "make several rules of it");
  }
  EXPECT_EQ(of_a(many("not", " ") + " a == 1", "1"), "no") << "a million and one of them";
  EXPECT_LT(error_of(many("x", "x")).what.size(), 700u);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

// ---- of all expressions

rc::Gen<std::string> any_comparison() {
  return rc::gen::element<std::string>("a == 1", "a != 2.0", "b < 3", "b >= c", "c in (1, 2)", "c not in 3", "a present",
                                       "b absent", "first(a, b) > 1", "first(b, c) present", "major(a) == b", "word(c, 1) == 1",
                                       "a contains b", "b == true", "a == unlimited or >= 2", "a within 1 before c of (1, 2, 3)",
                                       "not c == a", "a == b", "true");
}

rc::Gen<std::string> any_expression(int depth) {
  if (depth == 0) return any_comparison();
  return rc::gen::oneOf(
      any_comparison(), rc::gen::map(any_expression(depth - 1), [](const std::string& s) { return "not (" + s + ")"; }),
      rc::gen::apply(
          [](const std::string& x, const std::string& y, bool all) { return "(" + x + (all ? ") and (" : ") or (") + y + ")"; },
          any_expression(depth - 1), any_expression(depth - 1), rc::gen::arbitrary<bool>()));
}

rc::Gen<std::string> any_value() {
  return rc::gen::element<std::string>("1", "2", "3", "2.0.1", "on", "1 2", "latest", "", "unlimited");
}

Facts some_facts(const std::vector<std::string>& values) {
  Facts out;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto state = *rc::gen::inRange(0, 4);
    out[std::string(1, static_cast<char>('a' + i))] = state == 0 ? kUnknown : state == 1 ? kAbsent : is(values[i]);
  }
  return out;
}

// What is known stays so, whatever else comes to be known: a fact less never makes a truth of a doubt, nor another truth.
RC_GTEST_PROP(EveryExpression, says_less_or_the_same_where_less_is_known, ()) {
  const auto e = parse_expression(*any_expression(3), short_fact);
  RC_ASSERT((e.has_value()));
  const std::vector<std::string> values{*any_value(), *any_value(), *any_value()};
  const Facts facts = some_facts(values);
  Facts fewer = facts;
  fewer[*rc::gen::element<std::string>("a", "b", "c")] = kUnknown;
  const Truth all = e->holds(known_to(*e, facts)), less = e->holds(known_to(*e, fewer));
  RC_ASSERT((less == all || less == Truth::unknown));
}

RC_GTEST_PROP(EveryExpression, names_what_is_missing_only_where_it_is_unknown, ()) {
  const auto e = parse_expression(*any_expression(3), short_fact);
  RC_ASSERT((e.has_value()));
  const std::vector<std::string> values{*any_value(), *any_value(), *any_value()};
  const Facts facts = some_facts(values);
  const auto known = known_to(*e, facts);
  const auto names = e->missing(known);
  if (e->holds(known) != Truth::unknown) RC_ASSERT((names.empty()));
  for (const std::uint32_t f : names) RC_ASSERT((known[f].state == Known::State::unknown));
}

RC_GTEST_PROP(EveryExpression, may_be_any_bytes, (const std::string& text)) {
  const auto e = parse_expression(text, short_fact);
  if (e) e->holds(std::vector<Known>(e->facts().size()));
  if (!e) RC_ASSERT((!e.error().what.empty() && e.error().what.size() < 1000u));
}

RC_GTEST_PROP(EveryExpression, may_be_words_of_the_language_in_any_order, ()) {
  const auto word = rc::gen::element<std::string>("a", "b", "first", "major", "word", "(", ")", ",", "==", "!=", ">=", "<", "in",
                                                  "not", "and", "or", "contains", "present", "absent", "within", "before", "of",
                                                  "2", "580", "\"", "true", "today");
  std::string text;
  for (const std::string& w : *rc::gen::container<std::vector<std::string>>(word)) text += w + " ";
  const auto e = parse_expression(text, short_fact);
  if (!e) return;
  const std::vector<Known> nothing(e->facts().size());
  RC_ASSERT((e->holds(nothing) == Truth::unknown || e->missing(nothing).empty()));
}

}  // namespace
}  // namespace muster::fleet
