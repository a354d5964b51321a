#include "ingest/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace muster {
namespace {

TEST(Json, ReadsEveryKindOfValueInOrder) {
  const auto v =
      parse_json(R"( {"b":true,"a":[1,-2.5,"x\u00e9\n",null,{}],"big":12345678901234567890123,"i":-9223372036854775808} )");
  ASSERT_TRUE(v) << v.error().what;
  const auto& o = *v->object();
  ASSERT_EQ(o.size(), 4u);
  EXPECT_EQ(o[0].key, "b");
  EXPECT_TRUE(*o[0].value.boolean());
  const auto& a = *v->find("a")->array();
  ASSERT_EQ(a.size(), 5u);
  EXPECT_EQ(*a[0].integer(), 1);
  double d = 0;
  ASSERT_TRUE(a[1].number(d));
  EXPECT_EQ(d, -2.5);
  EXPECT_EQ(*a[2].string(), "x\xc3\xa9\n");
  EXPECT_TRUE(a[3].is_null());
  EXPECT_TRUE(a[4].object()->empty());
  ASSERT_TRUE(v->find("big")->number(d));
  EXPECT_EQ(d, 12345678901234567890123.0);
  EXPECT_EQ(v->find("big")->integer(), nullptr);
  EXPECT_EQ(*v->find("i")->integer(), INT64_MIN);
}

TEST(Json, ReadsScalarsAlone) {
  EXPECT_EQ(*parse_json("17")->integer(), 17);
  EXPECT_EQ(*parse_json(" -0 ")->integer(), 0);
  EXPECT_TRUE(parse_json(" null\n")->is_null());
  EXPECT_EQ(*parse_json("\"\"")->string(), "");
  EXPECT_FALSE(*parse_json("false")->boolean());
  EXPECT_TRUE(parse_json("[]")->array()->empty());
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* bad : {"",
                          " ",
                          "{",
                          "}",
                          "[",
                          "]",
                          "[1,]",
                          "[,1]",
                          "[1 2]",
                          "[1]x",
                          "1 2",
                          "{\"a\":1,}",
                          "{\"a\"}",
                          "{\"a\":}",
                          "{a:1}",
                          "{1:2}",
                          "[01]",
                          "[.5]",
                          "[1.]",
                          "[1e]",
                          "[+1]",
                          "[--1]",
                          "[0x10]",
                          "[NaN]",
                          "[Infinity]",
                          "[1e999]",
                          "tru",
                          "truee",
                          "[nul]",
                          "[nulll]",
                          "\"a",
                          "\"\x01\"",
                          "\"\\q\"",
                          "\"\\ud800\"",
                          "\"\xff\"",
                          "[\"\xc0\xaf\"]",
                          "{\"a\":1}{}",
                          "[1][2]",
                          "'a'",
                          "{\"a\":1 \"b\":2}",
                          "[1,,2]",
                          "nullnull",
                          "\"a\"\"b\"",
                          "\xef\xbb\xbf[",
                          "{\"a\":1]",
                          "[1}"}) {
    const auto v = parse_json(bad);
    ASSERT_FALSE(v) << bad;
    EXPECT_EQ(v.error().code, Code::bad_input) << bad;
    EXPECT_EQ(v.error().what.rfind("byte ", 0), 0u) << v.error().what;
  }
}

TEST(Json, NamesTheByteOfAnError) {
  EXPECT_EQ(parse_json("[1,2,x]").error().what.substr(0, 7), "byte 5:");
  EXPECT_EQ(parse_json("{\"a\":[1,2,01]}").error().what.substr(0, 8), "byte 10:");
}

TEST(Json, RefusesDuplicateKeys) {
  EXPECT_NE(parse_json(R"({"a":1,"b":2,"a":3})").error().what.find("\"a\" twice"), std::string::npos);
  EXPECT_FALSE(parse_json(R"({"a":1,"\u0061":3})"));
  std::string many = "{";
  for (int i = 0; i < 1000; ++i) many += "\"k" + std::to_string(i) + "\":1,";
  EXPECT_TRUE(parse_json(many + "\"z\":1}"));
  EXPECT_FALSE(parse_json(many + "\"k500\":1}"));
}

TEST(Json, RefusesDeepNesting) {
  const auto nested = [](int n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(parse_json(nested(64)));
  EXPECT_FALSE(parse_json(nested(65)));
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')));
  EXPECT_TRUE(parse_json(nested(200), 300));
}

}  // namespace
}  // namespace muster
