#include "ingest/yaml.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string error(std::string_view text) {
  const auto v = parse_yaml(text, "f.yaml");
  return v ? "accepted" : v.error().what;
}

TEST(Yaml, ReadsEveryKindOfScalar) {
  const auto v = parse_yaml(
      "a: 1\nb: -2.5\nc: text with words\nd: 'quoted 7'\ne: \"7\"\nf: true\ng:\nh: ~\ni: 10m\nj: 1e3\nk: 0x10\nl: "
      ".nan\n"
      "m: 99999999999999999999\nn: '~'\no: 2026-01-01\np: yes\nq: '0'\n",
      "f.yaml");
  ASSERT_TRUE(v) << v.error().what;
  EXPECT_EQ(*v->find("a")->integer(), 1);
  double d = 0;
  ASSERT_TRUE(v->find("b")->number(d));
  EXPECT_EQ(d, -2.5);
  EXPECT_EQ(*v->find("c")->string(), "text with words");
  EXPECT_EQ(*v->find("d")->string(), "quoted 7");
  EXPECT_EQ(*v->find("e")->string(), "7");
  EXPECT_TRUE(*v->find("f")->boolean());
  EXPECT_TRUE(v->find("g")->is_null());
  EXPECT_TRUE(v->find("h")->is_null());
  EXPECT_EQ(*v->find("i")->string(), "10m");
  ASSERT_TRUE(v->find("j")->number(d));
  EXPECT_EQ(d, 1000);
  EXPECT_EQ(*v->find("k")->string(), "0x10");
  EXPECT_EQ(*v->find("l")->string(), ".nan");
  ASSERT_TRUE(v->find("m")->number(d));
  EXPECT_EQ(*v->find("n")->string(), "~");
  EXPECT_EQ(*v->find("o")->string(), "2026-01-01");
  EXPECT_EQ(*v->find("p")->string(), "yes");
  EXPECT_EQ(*v->find("q")->string(), "0");
}

TEST(Yaml, KnowsTheLineOfEverything) {
  const auto v = parse_yaml("# note\na:\n  - x: 1\n    y: 2\n  - [3,\n     4]\nb: {c: d}\n", "f.yaml");
  ASSERT_TRUE(v) << v.error().what;
  const auto& a = *v->find("a")->array();
  EXPECT_EQ(a[0].find("x")->line(), 3);
  EXPECT_EQ(a[0].find("y")->line(), 4);
  EXPECT_EQ((*a[1].array())[1].line(), 6);
  EXPECT_EQ(v->find("b")->find("c")->line(), 7);
  const auto empty = parse_yaml("a:\nb:\n  c:\nd: 1\n", "f.yaml");
  ASSERT_TRUE(empty) << empty.error().what;
  EXPECT_EQ(empty->find("a")->line(), 1) << "where nothing stands, that of its key";
  EXPECT_EQ(empty->find("b")->find("c")->line(), 3);
}

TEST(Yaml, NamesFileAndLineOfErrors) {
  EXPECT_EQ(error("a: 1\nb: [1, 2\n").rfind("f.yaml:", 0), 0u);
  EXPECT_EQ(error("a: 1\nb: 2\na: 3\n"), "f.yaml:3: the key \"a\" is there twice");
  EXPECT_EQ(error("a: 1\nb: &x 2\n"), "f.yaml:2: anchors (&name) are not accepted");
  EXPECT_EQ(error("a: 1\nb: !!int 2\n"), "f.yaml:2: tags (!name) are not accepted");
  EXPECT_EQ(error("a: 1\n? [x]\n: 2\n"), "f.yaml:2: a key must be a plain word");
  EXPECT_EQ(error("a: 1\nb: \xff\n"), "f.yaml:2: not UTF-8 text");
  EXPECT_EQ(error(""), "f.yaml:1: empty: nothing but comments or blank lines");
  EXPECT_EQ(error("a: 1\n---\nb: 2\n"), "f.yaml:1: more than one document in one file");
  EXPECT_EQ(error("a:\n\tb: 1\n").rfind("f.yaml:2", 0), 0u);
}

TEST(Yaml, RefusesBombs) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i) bomb += std::string(i ? ", *" : "*") + static_cast<char>(c - 1);
    bomb += "]\n";
  }
  EXPECT_EQ(error(bomb), "f.yaml:1: anchors (&name) are not accepted");
  EXPECT_NE(error(std::string(100000, '[')), "accepted");
  EXPECT_NE(error(std::string(40, '[') + std::string(40, ']')), "accepted");
  std::string dashes;
  for (int i = 0; i < 100000; ++i) dashes += "- ";
  EXPECT_NE(error(dashes), "accepted");
  std::string stairs;
  for (int i = 0; i < 2000; ++i) stairs += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_NE(error(stairs), "accepted");
  EXPECT_NE(error(std::string(kYamlBytesMax + 1, ' ')), "accepted");
}

}  // namespace
}  // namespace muster
