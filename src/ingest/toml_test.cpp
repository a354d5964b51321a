#include "ingest/toml.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string error_of(std::string_view text) {
  const auto v = parse_toml(text, "f.toml");
  return v ? "none" : v.error().what;
}

TEST(Toml, TablesKeysAndValues) {
  const auto v = parse_toml(
      "# a comment\ntop = 1\n[training]\nseq_len = 8_192 # tokens\nlr = 3e-4\ncompile = true\nname = \"a \\\"b\\\" \\u00e9\"\n"
      "raw = 'C:\\x'\nlong = \"\"\"\none\\\n  two\"\"\"\nwhen = 2025-01-02T03:04:05Z\nhex = 0xff\n"
      "[parallelism.inner]\n\"quoted key\" = [1, 2,\n  3, ] \na.b = { c = 1, d = [\"x\"] }\n[[stages]]\nn = 1\n[[stages]]\nn = "
      "2\n",
      "f.toml");
  ASSERT_TRUE(v) << v.error().what;
  const Value* t = v->find("training");
  EXPECT_EQ(*v->find("top")->integer(), 1);
  EXPECT_EQ(*t->find("seq_len")->integer(), 8192);
  double lr = 0;
  EXPECT_TRUE(t->find("lr")->number(lr));
  EXPECT_DOUBLE_EQ(lr, 3e-4);
  EXPECT_TRUE(*t->find("compile")->boolean());
  EXPECT_EQ(*t->find("name")->string(), "a \"b\" \xc3\xa9");
  EXPECT_EQ(*t->find("raw")->string(), "C:\\x");
  EXPECT_EQ(*t->find("long")->string(), "onetwo");
  EXPECT_EQ(*t->find("when")->string(), "2025-01-02T03:04:05Z");
  EXPECT_EQ(*t->find("hex")->integer(), 255);
  const Value* inner = v->find("parallelism")->find("inner");
  EXPECT_EQ(inner->find("quoted key")->array()->size(), 3U);
  EXPECT_EQ(*inner->find("a")->find("b")->find("c")->integer(), 1);
  EXPECT_EQ(v->find("stages")->array()->size(), 2U);
}

TEST(Toml, ErrorsHaveALine) {
  EXPECT_EQ(error_of("a = 1\nb = \n"), "f.toml:2: '' is no value");
  EXPECT_EQ(error_of("a = 1\na = 2\n"), "f.toml:2: a is there twice");
  EXPECT_EQ(error_of("[t]\n[t]\n"), "f.toml:2: [t] is there twice");
  EXPECT_EQ(error_of("a = 1\na.b = 2\n"), "f.toml:2: a is a value, no table");
  EXPECT_EQ(error_of("a = { b = 1 }\n[a]\nc = 1\n"), "f.toml:2: a is a value, no table");
  EXPECT_EQ(error_of("a = \"x\nb = 1\n"), "f.toml:1: a text without an end");
  EXPECT_EQ(error_of("a = 1 2\n"), "f.toml:1: something is left over behind the value");
  EXPECT_EQ(error_of("a\n"), "f.toml:1: = is missing behind a key");
  EXPECT_EQ(error_of("a = \"\\q\"\n"), "f.toml:1: a backslash before something that has none");
  EXPECT_EQ(error_of("a = " + std::string(100, '[')), "f.toml:1: nested too deeply");
  EXPECT_EQ(error_of("a = \"\xff\"\n"), "f.toml:1: it is not UTF-8");
}

}  // namespace
}  // namespace muster
