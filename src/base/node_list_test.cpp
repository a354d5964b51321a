#include "base/node_list.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace muster {
namespace {

using Names = std::vector<std::string>;

TEST(NodeList, RangesKeepTheirLeadingZeros) {
  EXPECT_EQ(*expand_node_list("node[008-011,070]"), (Names{"node008", "node009", "node010", "node011", "node070"}));
  EXPECT_EQ(*expand_node_list("n[9-11]"), (Names{"n9", "n10", "n11"}));
}

TEST(NodeList, PlainNamesAndSeveralBracketsMix) {
  EXPECT_EQ(*expand_node_list("login1, r[1-2]n[01-02]"), (Names{"login1", "r1n01", "r1n02", "r2n01", "r2n02"}));
  EXPECT_EQ(*expand_node_list("a[1]b"), (Names{"a1b"}));
}

TEST(NodeList, WhatIsWrongIsNamed) {
  for (const auto* text :
       {"", "a,,b", "node[1-", "node]1", "node[[1]]", "node[]", "node[a-b]", "node[5-1]", "node[1-2-3]", "node[-1]",
        "node[1-99999999999999999999]", "node[1-2000000]", "r[1-2000]n[1-2000]", "node[ 1]"}) {
    const auto r = expand_node_list(text);
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(r.error().code, Code::bad_input);
    EXPECT_NE(r.error().what.find("node list"), std::string::npos) << r.error().what;
  }
  EXPECT_TRUE(expand_node_list("n[1-10]", 10));
  EXPECT_FALSE(expand_node_list("n[1-10]", 9));
  EXPECT_FALSE(expand_node_list("n[1-5],m[1-5]", 9));
}

TEST(NodeList, CompressedTextIsShortAndSorted) {
  EXPECT_EQ(compress_node_list({"node070", "node002", "node001", "node003", "node001"}), "node[001-003,070]");
  EXPECT_EQ(compress_node_list({"n9", "n10", "n11"}), "n[9-11]");
  EXPECT_EQ(compress_node_list({"node001"}), "node001");
  EXPECT_EQ(compress_node_list({"login", "n01", "n1", "n2"}), "login,n01,n[1-2]");
  EXPECT_EQ(compress_node_list({"a1-ib", "a2-ib"}), "a[1-2]-ib");
  EXPECT_EQ(compress_node_list({}), "");
}

TEST(NodeList, CompressingAndExpandingGivesTheSameSet) {
  Prng prng(7, "node_list_test");
  for (int round = 0; round < 300; ++round) {
    Names names;
    for (auto n = prng.below(40) + 1; n > 0; --n) {
      const auto number = std::to_string(prng.below(120));
      names.push_back(std::string(prng.chance(0.5) ? "node" : "gpu-") + (prng.chance(0.3) ? "0" : "") + number +
                      (prng.chance(0.2) ? "x" : ""));
    }
    auto back = *expand_node_list(compress_node_list(names));
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::sort(back.begin(), back.end());
    ASSERT_EQ(back, names);
  }
}

TEST(NodeList, NumbersCompareAsNumbers) {
  EXPECT_TRUE(natural_less("node9", "node10"));
  EXPECT_FALSE(natural_less("node10", "node9"));
  EXPECT_TRUE(natural_less("node", "node1"));
  EXPECT_FALSE(natural_less("a", "a"));
  EXPECT_TRUE(natural_less("n01", "n1") != natural_less("n1", "n01"));
}

}  // namespace
}  // namespace muster
