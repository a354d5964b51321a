#include "ingest/pickle.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace muster {
namespace {

std::string_view bytes(const char* s, std::size_t n) { return {s, n}; }
#define PICKLE(s) bytes(s, sizeof(s) - 1)

// Little-endian.
std::string number(std::uint64_t n, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += static_cast<char>(n >> (8 * i) & 0xff);
  return out;
}

TEST(PickleShared, ProtocolFive) {
  // {"a": [1, -5, 2**40, -2**63, 0.5, None, False], "é": ({"k": "v"}, b"xy", {3}), 7: 2**70}, as Python 3.11 writes it.
  const auto p = read_pickle(
      PICKLE("\x80\x05\x95[\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"
             "a\x94]\x94(K\x01J\xfb\xff\xff\xff\x8a\x06\x00\x00\x00\x00\x00\x01\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80G"
             "?\xe0\x00\x00\x00\x00\x00\x00N\x89"
             "e\x8c\x02\xc3\xa9\x94}\x94\x8c\x01k\x94\x8c\x01v\x94sC\x02xy\x94\x8f\x94(K\x03\x90\x87\x94K\x07\x8a\x09"
             "\x00\x00\x00\x00\x00\x00\x00\x00@u."));
  ASSERT_TRUE(p) << p.error().what;
  const auto root = p->root();
  EXPECT_TRUE(root.is_dictionary());
  EXPECT_EQ(root.size(), 3U);
  std::vector<std::int64_t> numbers;
  const auto list = root.find("a");
  ASSERT_TRUE(list && list->is_list());
  list->each([&](const Pickle::Item& x) {
    if (x.integer()) numbers.push_back(*x.integer());
    return true;
  });
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{1, -5, std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::min()}));
  const auto v = parse_pickle(PICKLE("\x80\x04\x8d\x02\x00\x00\x00\x00\x00\x00\x00ok\x94."));
  ASSERT_TRUE(v) << v.error().what;
  EXPECT_EQ(*v->string(), "ok");
  std::size_t members = 0;
  root.each_member([&](const Pickle::Item& key, const Pickle::Item& x) {
    EXPECT_EQ(key.integer() == 7, x.text() == "a number beyond 64 bits");
    return ++members < 3;
  });
  EXPECT_EQ(members, 3U);
}

TEST(PickleShared, WhatNamesOrCallsIsRefusedInEveryForm) {
  const std::string_view code("cRiboPQ\x81\x82\x83\x84\x92\x93");
  for (const char op : code) {
    const auto r = read_pickle(std::string("\x80\x04]") + op + "os\nsystem\n.");
    ASSERT_FALSE(r) << op;
    EXPECT_EQ(r.error().what, "byte 3: it would name or call something, which data have no need of");
  }
  EXPECT_FALSE(read_pickle(PICKLE("\x80\x04\x97.")));                // a buffer from elsewhere
  EXPECT_FALSE(read_pickle(PICKLE("\x80\x04Nr\xff\xff\xff\xff.")));  // remembered as the four thousand millionth
  EXPECT_FALSE(read_pickle(PICKLE("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff.")));
  EXPECT_FALSE(read_pickle(std::string(20'000, '(')));
  EXPECT_FALSE(read_pickle(PICKLE("\x80\x04}(Nu.")));   // half a member
  EXPECT_FALSE(read_pickle(PICKLE("\x80\x04}(NNu.")));  // a key of nothing
}

TEST(PickleShared, WhatIsSharedIsHeldOnce) {
  // 100,000 dictionaries, each with a list of the same fifty: as trees, five million.
  std::string text = "\x80\x04](";
  for (int f = 0; f < 50; ++f)
    text +=
        "}q" + std::string(1, static_cast<char>(f)) + "(X" + number(4, 4) + "lineK" + std::string(1, static_cast<char>(f)) + "u";
  for (int i = 0; i < 100'000; ++i) {
    text += "}(X" + number(6, 4) + "framesq\x40](";
    for (int f = 0; f < 50; ++f) text += "h" + std::string(1, static_cast<char>(f));
    text += "eu";
  }
  text += "e.";
  const auto p = read_pickle(text);
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->root().size(), 100'050U);
  EXPECT_LT(p->bytes_held(), text.size());
  EXPECT_FALSE(parse_pickle(text)) << "as a tree it is too large";
  std::optional<std::uint64_t> first;
  std::size_t same = 0;
  p->root().each([&](const Pickle::Item& x) {
    if (const auto frames = x.find("frames")) {
      if (!first) first = frames->content();
      same += frames->content() == first && frames->size() == 50;
    }
    return true;
  });
  EXPECT_EQ(same, 100'000U);
}

TEST(PickleShared, AListThatGrowsAfterItWasShared) {
  // a = [{}, {}]; b = [{}, {}] of the same two; then b gets a third.
  const auto p =
      read_pickle(PICKLE("\x80\x04](}q\x00}q\x01](h\x00h\x01"
                         "eq\x02](h\x00h\x01"
                         "e(h\x00"
                         "ee."));
  ASSERT_TRUE(p) << p.error().what;
  std::vector<std::size_t> sizes;
  p->root().each([&](const Pickle::Item& x) {
    if (x.is_list()) sizes.push_back(x.size());
    return true;
  });
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 3}));
}

}  // namespace
}  // namespace muster
