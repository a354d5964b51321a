#include "ingest/file_sd.h"

#include <gtest/gtest.h>

#include "ingest/node_names.h"

namespace muster {
namespace {

TEST(FileSd, GroupsBecomeAddresses) {
  const auto t = parse_file_sd(
      R"([{"targets":["n1:9400","n2:9400"],"labels":{"node":"node0001","env":"x"}},
          {"targets":["10.0.0.7:9100","n1:9400"],"labels":{"__scheme__":"https","__metrics_path__":"probe","instance":"i"}},
          {"targets":["[::1]:9400"]}])",
      "sd.json");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->size(), 5U);
  EXPECT_EQ((*t)[0].url, "http://[::1]:9400/metrics");
  EXPECT_EQ((*t)[1].url, "http://n1:9400/metrics");
  EXPECT_EQ((*t)[1].node, "node0001");
  EXPECT_EQ((*t)[3].url, "https://10.0.0.7:9100/probe");
  EXPECT_EQ((*t)[3].instance, "i");
}

TEST(FileSd, TheSameTargetTwiceIsOne) {
  const auto t = parse_file_sd(R"([{"targets":["a:1","a:1"]},{"targets":["a:1"]}])", "f");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->size(), 1U);
}

TEST(FileSd, AnEmptyListIsAList) {
  const auto t = parse_file_sd("[]", "f");
  ASSERT_TRUE(t);
  EXPECT_TRUE(t->empty());
}

TEST(FileSd, WhatIsWrongIsSaidWithTheFile) {
  for (const char* bad : {"", "{", "{}", "[1]", R"([{"targets":"a:1"}])", R"([{"targets":[1]}])", R"([{"targets":[""]}])",
                          R"([{"targets":["a b"]}])", R"([{"targets":["a/b"]}])", R"([{"targets":["a:1"],"labels":[]}])",
                          R"([{"targets":["u@h:1"]}])", R"([{"targets":["a:1"],"labels":{"__scheme__":"file"}}])",
                          R"([{"targets":["a:1"],"labels":{"__metrics_path__":"/a b"}}])",
                          R"([{"targets":["a:1"],"labels":{"__metrics_path__":"/a\r\nX: y"}}])"}) {
    const auto t = parse_file_sd(bad, "sd.json");
    ASSERT_FALSE(t) << bad;
    EXPECT_EQ(t.error().what.rfind("sd.json: ", 0), 0U) << t.error().what;
    EXPECT_FALSE(t.error().next.empty());
  }
}

TEST(NodeNames, ANodeIsFoundByItsNameWithPortAndDomain) {
  Site site;
  site.nodes = {{"node0001"}, {"node0002"}, {"10"}};
  const NodeNames names(site);
  EXPECT_EQ(names.find("node0002"), NodeId{1});
  EXPECT_EQ(names.find("node0002:9400"), NodeId{1});
  EXPECT_EQ(names.find("node0002.example.org:9400"), NodeId{1});
  EXPECT_FALSE(names.find("node0003").some());
  EXPECT_FALSE(names.find("10.0.0.1:9400").some()) << "an address's first number is no name";
  EXPECT_FALSE(names.find("").some());
}

TEST(NodeNames, APageNamesItsHost) {
  EXPECT_EQ(hostname_in("A{gpu=\"0\",Hostname=\"node0007\",x=\"y\"} 1\n"), "node0007");
  EXPECT_EQ(hostname_in("A{hostname=\"n\"} 1\n"), "n");
  EXPECT_EQ(hostname_in("A{myhostname=\"n\"} 1\nB{Hostname=\"m\"} 2"), "m");
  EXPECT_EQ(hostname_in("# nothing\n"), "");
  EXPECT_EQ(hostname_in("A{Hostname=\"unfinished"), "unfinished");
}

}  // namespace
}  // namespace muster
