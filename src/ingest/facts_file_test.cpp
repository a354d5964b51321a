// Facts of nodes as lines of JSON, and as other programs write them.
#include "ingest/facts_file.h"

#include <gtest/gtest.h>

#include "ingest/foreign_facts.h"

namespace muster {
namespace {

std::string value(const FactTable& t, std::size_t node, std::string_view part, std::string_view key) {
  const std::string* v = t.value(node, part, key);
  return v == nullptr ? "" : *v;
}

constexpr std::string_view kTwo =
    "{\"node\":\"g1\",\"source\":\"probe\",\"at\":1795085018,\"facts\":{\"a\":\"1\",\"b\":null},\"parts\":{\"gpu0\":{\"v\":\"x\"}"
    "},"
    "\"unreadable\":[\"c\",\"gpu0:w\"]}\n"
    "{\"node\":\"g2\",\"source\":\"probe\",\"facts\":{\"b\":\"2\",\"a\":\"1\",\"d\":\"\"},\"parts\":{},\"unreadable\":[]}\n";

TEST(FactsFile, WhatIsWrittenIsReadAgain) {
  FactTable t;
  ASSERT_TRUE(read_facts(kTwo, "f", t));
  ASSERT_EQ(t.nodes().size(), 2U);
  EXPECT_EQ(t.nodes()[0].at.ns, 1795085018LL * 1'000'000'000);
  EXPECT_EQ(value(t, 0, "gpu0", "v"), "x");
  EXPECT_EQ(value(t, 1, "", "b"), "2") << "another order, and it is the column of that key";
  const auto b = static_cast<std::size_t>(t.find_column("", "b"));
  EXPECT_EQ(t.columns()[b].code(0), kFactAbsent);
  EXPECT_EQ(t.columns()[static_cast<std::size_t>(t.find_column("gpu0", "w"))].code(0), kFactUnreadable);
  FactTable again;
  ASSERT_TRUE(read_facts(render_facts(t, 0) + render_facts(t, 1), "f", again));
  EXPECT_EQ(render_facts(again, 0), render_facts(t, 0));
  EXPECT_EQ(render_facts(again, 1), render_facts(t, 1));
}

// Blanks, escapes and other orders of the members are read by another way: it must not matter which.
TEST(FactsFile, EveryWayOfWritingALineSaysTheSame) {
  FactTable t;
  ASSERT_TRUE(
      read_facts("{\"node\":\"g1\",\"source\":\"s\",\"facts\":{\"a\":\"x\\\"y\"},\"parts\":{},\"unreadable\":[]}\n"
                 "{ \"facts\": {\"a\": \"\\u0041\"}, \"node\": \"g2\" }\n"
                 "{\"node\":\"g3\",\"source\":\"s\",\"facts\":{\"a\":\"\xc3\xa4\"},\"parts\":{},\"unreadable\":[]}\n",
                 "f", t));
  EXPECT_EQ(value(t, 0, "", "a"), "x\"y");
  EXPECT_EQ(value(t, 1, "", "a"), "A");
  EXPECT_EQ(value(t, 2, "", "a"), "\xc3\xa4");
}

TEST(FactsFile, AnErrorNamesFileAndLineAndLeavesTheTableAsItWas) {
  for (const bool held : {false, true}) {
    FactTable t;
    if (held) ASSERT_TRUE(read_facts("{\"node\":\"g0\",\"facts\":{\"a\":\"1\"}}\n", "f", t));
    const auto r = read_facts(std::string(kTwo) + "{\"node\":\"g3\",\"facts\":{\"a\":\"1\",\"a\":\"2\"}}\n", "some.jsonl", t);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().what.find("some.jsonl:3: "), 0U) << r.error().what;
    EXPECT_EQ(t.nodes().size(), held ? 1U : 0U);
    EXPECT_EQ(t.columns().size(), held ? 1U : 0U);
  }
  FactTable t;
  EXPECT_EQ(read_facts("{\"node\":\"g1\",\"source\":\"s\",\"facts\":{\"a\":3}}\n", "f", t).error().what,
            "f:1: a must be text or null, is a whole number");
  EXPECT_EQ(read_facts("{\"facts\":{}}\n", "f", t).error().what, "f:1: no node");
  EXPECT_FALSE(
      read_facts("{\"node\":\"g1\",\"source\":\"s\",\"facts\":{\"a\":\"\x01\"},\"parts\":{},\"unreadable\":[]}\n", "f", t));
}

TEST(FactsFile, ALastLineThatWasCutOffIsLeftOutAndNamed) {
  for (const bool held : {false, true}) {
    FactTable t;
    if (held) ASSERT_TRUE(read_facts("{\"node\":\"g1\",\"facts\":{\"a\":\"1\"}}\n", "f", t));
    const auto r =
        read_any_facts(std::string(kTwo) + "{\"node\":\"g3\",\"source\":\"s\",\"facts\":{\"a\":\"1\"},\"par", "x.jsonl", t);
    ASSERT_TRUE(r);
    EXPECT_EQ(*r, "x.jsonl:3");
    EXPECT_EQ(t.nodes().size(), 2U) << "nothing of it is there";
  }
}

std::string probed(int at, const std::string& facts) {
  return "{\"node\":\"g1\",\"source\":\"probe\",\"at\":" + std::to_string(at) + ",\"facts\":{" + facts +
         "},\"parts\":{},\"unreadable\":[]}\n";
}

TEST(FactsFile, OfTwoProbesTheNewerHoldsWhicheverComesFirst) {
  const std::string older = probed(100, "\"a\":\"old\",\"b\":\"gone\""), newer = probed(200, "\"a\":\"new\"");
  for (const bool older_last : {false, true}) {
    FactTable t;
    ASSERT_TRUE(read_facts(older_last ? newer : older, "f", t));
    ASSERT_TRUE(read_facts(older_last ? older : newer, "g", t));
    EXPECT_EQ(value(t, 0, "", "a"), "new");
    EXPECT_EQ(value(t, 0, "", "b"), "") << "what the newer does not have is gone";
    EXPECT_EQ(t.nodes()[0].at.ns, 200'000'000'000);
    EXPECT_EQ(t.passed_over().size(), older_last ? 1U : 0U);
  }
}

TEST(FactsFile, WhatSaysNoTimeReplacesAndStays) {
  FactTable t;
  ASSERT_TRUE(read_facts(probed(200, "\"a\":\"1\"") + "{\"node\":\"g1\",\"source\":\"x\",\"facts\":{\"b\":\"2\",\"a\":\"3\"}}\n" +
                             probed(300, "\"a\":\"4\"") + probed(100, "\"a\":\"5\""),
                         "f", t));
  EXPECT_EQ(value(t, 0, "", "a"), "4");
  EXPECT_EQ(value(t, 0, "", "b"), "2");
}

TEST(FactsFile, ATimeThatIsNoneIsRefusedWithItsLine) {
  for (const std::string at : {"-5", "1795101873000", "\"yesterday\"", "1.5", "{}"}) {
    FactTable t;
    const auto r =
        read_facts(std::string(kTwo) + "{\"node\":\"g3\",\"source\":\"probe\",\"at\":" + at + ",\"facts\":{}}\n", "f", t);
    ASSERT_FALSE(r) << at;
    EXPECT_EQ(r.error().what.find("f:3: at must be whole seconds"), 0U) << r.error().what;
  }
}

TEST(FactsFile, AByteOrderMarkIsNoPartOfIt) {
  FactTable t;
  ASSERT_TRUE(read_any_facts("\xef\xbb\xbf" + std::string(kTwo), "f", t));
  EXPECT_EQ(t.nodes().size(), 2U);
}

TEST(FactsFile, ALastLineThatOnlyLacksItsEndIsRead) {
  FactTable t;
  const auto r = read_facts(std::string(kTwo) + "{\"node\":\"g3\",\"facts\":{\"a\":\"1\"}}", "f", t);
  ASSERT_TRUE(r);
  EXPECT_EQ(*r, "");
  EXPECT_EQ(t.nodes().size(), 3U);
}

TEST(ForeignFacts, NvidiaSmiNamesItsNodeByTheFile) {
  FactTable t;
  const auto r = read_any_facts(
      "<?xml version=\"1.0\" "
      "?>\n<nvidia_smi_log>\n<driver_version>580.159.04</driver_version>\n<cuda_version>13.0</cuda_version>\n"
      "<attached_gpus>1</attached_gpus>\n<gpu id=\"00000000:1B:00.0\"><product_name>NVIDIA H200</product_name>"
      "<uuid>GPU-1</uuid><pci><pci_bus_id>00000000:1B:00.0</pci_bus_id></pci></gpu>\n</nvidia_smi_log>\n",
      "out/gpu001.xml", t);
  ASSERT_TRUE(r) << r.error().what;
  ASSERT_EQ(t.nodes().size(), 1U);
  EXPECT_EQ(t.nodes()[0].name, "gpu001");
  EXPECT_EQ(value(t, 0, "", "driver.loaded"), "580.159.04");
  EXPECT_EQ(value(t, 0, "gpu0", "gpu.model"), "NVIDIA H200");
  EXPECT_EQ(value(t, 0, "gpu0", "gpu.pci"), "0000:1b:00.0");
}

TEST(ForeignFacts, ANodeThatAnsibleDidNotReachIsSaidInItsWords) {
  FactTable t;
  const auto r =
      read_any_facts("{\"changed\": false, \"msg\": \"Failed to connect\\nby ssh\", \"unreachable\": true}", "a/g7", t);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().what, "a/g7: no facts: Ansible says of g7: Failed to connect by ssh");
  EXPECT_TRUE(t.nodes().empty());
}

TEST(ForeignFacts, WhatIsNoneIsRefused) {
  FactTable t;
  EXPECT_FALSE(read_any_facts("hello\n", "f", t));
  EXPECT_FALSE(read_any_facts("{\"ansible_facts\": [", "f", t));
  EXPECT_FALSE(read_any_facts("{\"ansible_facts\": 3, \"ansible_x\": 1}", "f", t));
  EXPECT_TRUE(read_any_facts("", "f", t));
  EXPECT_TRUE(t.nodes().empty());
}

}  // namespace
}  // namespace muster
