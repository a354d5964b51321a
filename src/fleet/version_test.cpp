// How versions of vendors compare: what is before what, what is the same, and what nobody can put in order.
#include "fleet/version.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace muster::fleet {
namespace {

using std::partial_ordering;

std::string_view found(std::string_view text) { return version_in(text).value_or("none"); }

TEST(Versions, stand_in_what_programs_print) {
  EXPECT_EQ(found("release 13.0, V13.0.48"), "13.0");
  EXPECT_EQ(found("cuda-13.0"), "13.0");
  EXPECT_EQ(found("CUDA Version: 12.9"), "12.9");
  EXPECT_EQ(found("slurm-wlm 24.11.5-1"), "24.11.5-1");
  EXPECT_EQ(found("slurm 22.05.8"), "22.05.8");
  EXPECT_EQ(found("R580"), "580");
  EXPECT_EQ(found("r580"), "580");
  EXPECT_EQ(found("v1.17.8"), "1.17.8");
  EXPECT_EQ(found("1:4.5.2"), "4.5.2");
  EXPECT_EQ(found("MLX5_1.25"), "1.25");
  EXPECT_EQ(found("28.43.2566 (MT_0000000838)"), "28.43.2566");
  EXPECT_EQ(found("2.27.5-1+cuda12.9"), "2.27.5-1+cuda12.9");
  EXPECT_EQ(found("5.15.0-1079-azure"), "5.15.0-1079-azure");
}

TEST(Versions, are_not_in_words_hashes_and_non_answers) {
  for (const char* text : {"", " ", "latest", "git-3fa9", "3fa9c2d", "N/A", "unknown", "-1", "0x10", "banana 13.0", "r", "v",
                           "cuda-", "release", "1:", ".5", "\xff\xfe", "\xc2\xb2"})
    EXPECT_EQ(version_in(text), std::nullopt) << text;
}

TEST(Versions, known_to_be_no_answers_are_told_from_names) {
  for (const char* text : {"N/A", "[N/A]", " [Not Supported] ", "unknown", "Unknown Error", "-", "--", "?", "ERR!"})
    EXPECT_TRUE(no_answer(text)) << text;
  for (const char* text : {"", "none", "0", "off", "nothing", "[580]"}) EXPECT_FALSE(no_answer(text)) << text;
}

TEST(Versions, go_up_number_by_number_and_not_letter_by_letter) {
  const char* up[] = {"450.80.02", "535.129.03", "580", "580.9", "580.65.06", "580.159.04", "610.57.04", "5801"};
  for (std::size_t i = 0; i < std::size(up); ++i) {
    for (std::size_t k = 0; k < std::size(up); ++k) {
      EXPECT_EQ(order_versions(up[i], up[k]), partial_ordering(i <=> k)) << up[i] << " and " << up[k];
      EXPECT_EQ(compare_versions(up[i], up[k]), i <=> k) << up[i] << " and " << up[k];
    }
  }
  EXPECT_TRUE(order_versions("12.9", "13.0") < 0);
  EXPECT_TRUE(order_versions("2.27.7-1+cuda12.9", "2.27.5-1+cuda13.0") > 0);
  EXPECT_TRUE(order_versions("6.8.0-45-generic", "6.8.0-101-generic") < 0);
  EXPECT_TRUE(order_versions("28.43.2566", "28.9.9999") > 0);
  EXPECT_TRUE(order_versions("18446744073709551616", "18446744073709551615") > 0) << "beyond 64 bits";
}

TEST(Versions, are_the_same_with_zeros_that_say_nothing) {
  for (const auto& [a, b] : {std::pair{"13", "13.0"}, {"22.05.8", "22.5.8"}, {"580.65.06", "580.65.6"}, {"1.0.0.0", "1"}}) {
    EXPECT_TRUE(order_versions(a, b) == 0) << a << " and " << b;
    EXPECT_EQ(compare_versions(a, b), std::strong_ordering::equal) << a << " and " << b;
  }
  EXPECT_EQ(compare_versions("R580", "580"), std::strong_ordering::equal);
}

TEST(Versions, have_what_a_package_put_behind_only_where_both_have_it) {
  EXPECT_TRUE(order_versions("2.27.5-1+cuda12.9", "2.27.5") == 0);
  EXPECT_TRUE(order_versions("5.15.0-1079-azure", "5.15.0") == 0);
  EXPECT_TRUE(order_versions("5.15.0-1079-azure", "5.15.0-1063-azure") > 0);
  EXPECT_TRUE(order_versions("2.27.5+cuda12.9", "2.27.5+cuda13.0") < 0);
  EXPECT_TRUE(order_versions("580.95.05-1ubuntu1", "580.159.04") < 0);
}

TEST(Versions, of_programs_decide_before_those_of_packages) {
  EXPECT_TRUE(order_versions("12.9-5", "12.9.1-1") < 0);
  EXPECT_TRUE(order_versions("24.10-9.9", "24.10.2-0.1") < 0);
  EXPECT_TRUE(order_versions("13-2", "13.0-1") > 0);
}

TEST(Versions, to_come_are_before_their_release) {
  for (const char* rc :
       {"2.27.5-rc1", "2.27.5rc1", "2.27.5~rc1", "2.27.5-rc1-1ubuntu1", "2.27.5-0rc1", "2.27.5.dev3", "2.27.5-beta"}) {
    EXPECT_TRUE(order_versions(rc, "2.27.5") < 0) << rc;
    EXPECT_TRUE(order_versions("2.27.5-1", rc) > 0) << rc;
    EXPECT_TRUE(order_versions(rc, "2.27.4") > 0) << rc;
  }
  EXPECT_TRUE(order_versions("24.11.0-0rc1", "24.11") < 0) << "as Slurm names them";
  EXPECT_TRUE(order_versions("6.8-rc1", "6.8.0-45-generic") < 0);
  EXPECT_TRUE(order_versions("1.0-rc1", "1.0-rc2") < 0);
  EXPECT_TRUE(order_versions("1.0-alpha1", "1.0-beta1") < 0);
}

TEST(Versions, with_a_word_where_others_have_a_number_cannot_be_ordered) {
  EXPECT_EQ(order_versions("1.master", "1.17"), partial_ordering::unordered);
  EXPECT_EQ(order_versions("1.17", "1.master"), partial_ordering::unordered);
  EXPECT_EQ(order_versions("5.15.0-azure", "5.15.0-45"), partial_ordering::unordered);
  EXPECT_TRUE(order_versions("1.master", "2.0") < 0) << "what stands before decides";
  EXPECT_TRUE(order_versions("9.2p1", "9.2") > 0);
  EXPECT_TRUE(order_versions("9.2p1", "9.2.0") > 0) << "as 9.2";
}

TEST(Versions, lie_in_branches_by_whole_numbers) {
  EXPECT_TRUE(in_branch("580.159.04", "580"));
  EXPECT_TRUE(in_branch("580.159.04", "R580"));
  EXPECT_TRUE(in_branch("28.43.2566", "28.43"));
  EXPECT_TRUE(in_branch("5.15.0-1079-azure", "5.15"));
  EXPECT_TRUE(in_branch("22.5.8", "22.05"));
  EXPECT_TRUE(in_branch("13", "13.0")) << "as 13 is 13.0";
  EXPECT_FALSE(in_branch("13", "13.1"));
  EXPECT_FALSE(in_branch("5801", "580"));
  EXPECT_FALSE(in_branch("580.159.04", "580.1"));
  EXPECT_FALSE(in_branch("hopper", "blackwell"));
  EXPECT_TRUE(in_branch("hopper", "hopper"));
}

TEST(Versions, in_other_scripts_are_words_that_differ) {
  EXPECT_NE(compare_versions("\xe6\x9d\xb1\xe4\xba\xac", "\xe5\xa4\xa7\xe9\x98\xaa"), std::strong_ordering::equal);
  EXPECT_FALSE(in_branch("\xe6\x9d\xb1\xe4\xba\xac", "\xe5\xa4\xa7\xe9\x98\xaa"));
  EXPECT_FALSE(has_parts(" .-/*"));
  EXPECT_TRUE(has_parts("\xe6\x9d\xb1"));
}

// ---- of all versions

// What vendors write, put together at random, so that versions are often close to one another.
rc::Gen<std::string> any_version() {
  const auto piece = rc::gen::element<std::string>("0", "1", "2", "05", "65", "580", "18446744073709551616", ".", ".", ".", "-",
                                                   "+", "~", "rc", "rc1", "beta", "azure", "p", "1ubuntu1", "cuda12.9", "a", "z");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), [](const std::vector<std::string>& all) {
    std::string out = "1";
    for (const std::string& s : all) out += s;
    return out;
  });
}

partial_ordering turned(partial_ordering o) { return 0 <=> o; }

RC_GTEST_PROP(EveryVersion, is_the_same_as_itself_and_the_order_does_not_depend_on_who_is_asked_first, ()) {
  const std::string a = *any_version(), b = *any_version();
  RC_ASSERT((order_versions(a, a) == 0));
  RC_ASSERT((compare_versions(a, a) == 0));
  RC_ASSERT((order_versions(b, a) == turned(order_versions(a, b))));
  RC_ASSERT((compare_versions(b, a) == (0 <=> compare_versions(a, b))));
}

RC_GTEST_PROP(EveryVersion, before_one_that_is_before_a_third_is_before_that, ()) {
  const std::string a = *any_version(), b = *any_version(), c = *any_version();
  if (order_versions(a, b) < 0 && order_versions(b, c) < 0) RC_ASSERT((order_versions(a, c) < 0));
  if (compare_versions(a, b) <= 0 && compare_versions(b, c) <= 0) RC_ASSERT((compare_versions(a, c) <= 0));
  if (compare_versions(a, b) == 0 && compare_versions(b, c) == 0) RC_ASSERT((compare_versions(a, c) == 0));
}

// With what packages put behind, 1-1 and 1-2 are both the 1 of a rule, and yet not each other.
RC_GTEST_PROP(EveryVersion, without_a_package_around_it_is_in_one_order_with_its_equals, ()) {
  const auto bare = rc::gen::map(any_version(), [](std::string s) {
    std::replace_if(
        s.begin(), s.end(), [](char c) { return c == '-' || c == '+'; }, '.');
    return s;
  });
  const std::string a = *bare, b = *bare, c = *bare;
  if (order_versions(a, b) == 0) RC_ASSERT((order_versions(a, c) == order_versions(b, c)));
  if (order_versions(a, b) <= 0 && order_versions(b, c) <= 0) RC_ASSERT((order_versions(a, c) <= 0));
}

// Numbers alone are never left without an order.
RC_GTEST_PROP(EveryVersion, of_numbers_only_can_be_ordered_and_both_orders_agree, ()) {
  const auto number = rc::gen::inRange(0, 30);
  const auto numbers = rc::gen::container<std::vector<int>>(number);
  const auto text = [](const std::vector<int>& all) {
    std::string out = "1";
    for (const int n : all) out += "." + std::to_string(n);
    return out;
  };
  const auto x = *numbers, y = *numbers;
  auto padded = [](std::vector<int> v, std::size_t n) {
    v.resize(n, 0);
    return v;
  };
  const std::size_t n = std::max(x.size(), y.size());
  RC_ASSERT((order_versions(text(x), text(y)) == partial_ordering(padded(x, n) <=> padded(y, n))));
  RC_ASSERT((compare_versions(text(x), text(y)) == (padded(x, n) <=> padded(y, n))));
}

RC_GTEST_PROP(EveryVersion, is_in_the_branches_of_its_own_first_numbers, ()) {
  const std::string a = *any_version();
  const auto dot = a.find('.', static_cast<std::size_t>(*rc::gen::inRange(0, 20)));
  RC_ASSERT((in_branch(a, a.substr(0, dot))));
}

RC_GTEST_PROP(EveryVersion, may_be_any_bytes, (const std::string& a, const std::string& b)) {
  RC_ASSERT((compare_versions(a, b) == (0 <=> compare_versions(b, a))));
  RC_ASSERT((order_versions(a, b) == turned(order_versions(b, a))));
  RC_ASSERT((order_versions(a, a) == 0));
  no_answer(a);
  in_branch(a, b);
  const auto v = version_in(a);
  if (!v) return;
  RC_ASSERT((v->data() >= a.data() && v->data() + v->size() <= a.data() + a.size()));
  RC_ASSERT((!v->empty() && v->front() >= '0' && v->front() <= '9'));
  RC_ASSERT((version_in(*v) == v));
}

}  // namespace
}  // namespace muster::fleet
