#include "report/document.h"

#include <gtest/gtest.h>

#include "ingest/json.h"

namespace muster::report {
namespace {

Value json(std::string_view text) {
  auto v = parse_json(text);
  EXPECT_TRUE(v) << text;
  return v ? *v : Value();
}

TEST(Json, IndentedTextReadsBackAsTheSame) {
  const std::string compact = R"({"a":[1,2.5,{"b":"x: [y], {z}"}],"empty":[],"none":{},"t":true,"n":null,"q":"\"\\"})";
  const auto pretty = render_json(json(compact));
  EXPECT_EQ(render_json_line(json(pretty)), compact);
  EXPECT_NE(pretty.find("\n  \"empty\": [],\n"), std::string::npos);
}

TEST(Json, SteeringCharactersAreEscapedAndKeepTheirMeaning) {
  const std::string evil = "{\"name\":\"a\u009b31m\u202Eb\u007f\"}";
  const auto text = render_json_line(json(evil));
  EXPECT_EQ(text, "{\"name\":\"a\\u009b31m\\u202eb\\u007f\"}");
  EXPECT_EQ(*json(text).find("name")->string(), *json(evil).find("name")->string());
  EXPECT_EQ(render_json_line(json("{\"name\":\"日本 – ok\"}")), "{\"name\":\"日本 – ok\"}");
}

TEST(Yaml, BlocksAndScalars) {
  EXPECT_EQ(render_yaml(json(
                R"({"kind":"NodeList","items":[{"name":"node001","gpus":[1,2],"o":{"x":1.5}},{"name":"b"}],"none":[],"z":{}})")),
            "kind: NodeList\n"
            "items:\n"
            "- name: node001\n"
            "  gpus:\n"
            "  - 1\n"
            "  - 2\n"
            "  o:\n"
            "    x: 1.5\n"
            "- name: b\n"
            "none: []\n"
            "z: {}\n");
}

TEST(Yaml, WhatCouldBeMisreadIsQuoted) {
  EXPECT_EQ(
      render_yaml(json(R"({"a":"no","b":"17","c":"","d":"x: y","e":"- z","f":"1e3","g":"True","h":"2026-01-01","i":"a\nb"})")),
      "a: \"no\"\nb: \"17\"\nc: \"\"\nd: \"x: y\"\ne: \"- z\"\nf: \"1e3\"\ng: \"True\"\nh: \"2026-01-01\"\ni: "
      "\"a\\nb\"\n");
  EXPECT_EQ(render_yaml(json("[]")), "[]\n");
  EXPECT_EQ(render_yaml(json("[[1,2],\"x\"]")), "- [1,2]\n- x\n");
}

}  // namespace
}  // namespace muster::report
