#include "ingest/agent_list.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using List = std::vector<AgentAddress>;

List list(std::string_view text) {
  const auto out = parse_agent_list(text);
  EXPECT_TRUE(out) << text << ": " << out.error().what;
  return out ? *out : List{};
}

std::string refusal(std::string_view text) {
  const auto out = parse_agent_list(text);
  EXPECT_FALSE(out) << text;
  return out ? std::string() : out.error().what;
}

TEST(AgentList, TakesListsOfNodesAtTheAgentsOwnPort) {
  EXPECT_EQ(list("gpu[009-010], login1"), (List{{"http://gpu009:9400/facts", "gpu009"},
                                                {"http://gpu010:9400/facts", "gpu010"},
                                                {"http://login1:9400/facts", "login1"}}));
}

TEST(AgentList, TakesPortsAndAddressesWhichNameNobody) {
  EXPECT_EQ(list("gpu[1-2]:9500"), (List{{"http://gpu1:9500/facts", "gpu1"}, {"http://gpu2:9500/facts", "gpu2"}}));
  EXPECT_EQ(list("10.0.0.7,[fd00::7]:9500,[::1],localhost"), (List{{"http://10.0.0.7:9400/facts", ""},
                                                                   {"http://[fd00::7]:9500/facts", ""},
                                                                   {"http://[::1]:9400/facts", ""},
                                                                   {"http://localhost:9400/facts", ""}}));
  EXPECT_EQ(list("10.0.0.7").front().shown(), "http://10.0.0.7:9400/facts");
  EXPECT_EQ(list("10gb-gpu1").front().node, "10gb-gpu1") << "a name may begin with digits";
}

TEST(AgentList, TakesUrlsAndOneWithAPathOfItsOwnNamesNobody) {
  EXPECT_EQ(list("https://gpu[1-2]:9443,http://gpu3/"),
            (List{{"https://gpu1:9443/facts", "gpu1"}, {"https://gpu2:9443/facts", "gpu2"}, {"http://gpu3/facts", "gpu3"}}));
  EXPECT_EQ(list("https://proxy/agents/gpu1/facts"), (List{{"https://proxy/agents/gpu1/facts", ""}}));
  EXPECT_EQ(list("http://[::1]:9400"), (List{{"http://[::1]:9400/facts", ""}}));
}

TEST(AgentList, AsksEachUrlOnce) { EXPECT_EQ(list("gpu1,gpu1:9400,http://gpu1:9400/facts").size(), 1U); }

TEST(AgentList, RefusesWhatIsNoAddressAndSaysWhy) {
  EXPECT_NE(refusal("gpu1,,gpu2").find("an empty name"), std::string::npos);
  EXPECT_NE(refusal("gpu1:0").find("no port"), std::string::npos);
  EXPECT_NE(refusal("gpu1:").find("no port"), std::string::npos);
  EXPECT_NE(refusal("gpu1:65536").find("no port"), std::string::npos);
  EXPECT_NE(refusal("ftp://gpu1").find("neither http"), std::string::npos);
  EXPECT_NE(refusal("http://user:secret@gpu1").find("no password"), std::string::npos);
  EXPECT_NE(refusal("gpu1/facts").find("needs http://"), std::string::npos);
  EXPECT_NE(refusal("http://gpu1/fa cts").find("path"), std::string::npos);
  for (const char* name : {"-gpu1", "gpu1;x", "gpu 1", "http://", "[gpu1", "gpu[1-", "\x1b[31m"})
    EXPECT_FALSE(refusal(name).empty());
  EXPECT_EQ(refusal("gpu\x1b[1]").find('\x1b'), std::string::npos);
  EXPECT_FALSE(parse_agent_list("gpu[1-20]", 10));
  EXPECT_FALSE(parse_agent_list("gpu[1-6],login[1-6]", 10));
}

TEST(AgentList, ReadsFilesOfTargetsAsPrometheusHasThem) {
  const auto out = parse_agent_file(R"([{"targets": ["gpu001:9400"]},
    {"targets": ["10.0.0.7:9400"], "labels": {"node": "gpu002"}},
    {"targets": ["10.0.0.8:9400"], "labels": {"__scheme__": "https", "instance": "gpu003:9400"}},
    {"targets": ["10.0.0.9:9400"], "labels": {"__metrics_path__": "/gpu004/metrics"}}])",
                                    "t.json");
  ASSERT_TRUE(out) << out.error().what;
  EXPECT_EQ(*out, (List{{"http://10.0.0.7:9400/facts", "gpu002"},
                        {"http://10.0.0.9:9400/gpu004/facts", ""},
                        {"http://gpu001:9400/facts", "gpu001"},
                        {"https://10.0.0.8:9400/facts", "gpu003"}}));
  const auto bad = parse_agent_file("[{\"targets\": 1}]", "t.json");
  ASSERT_FALSE(bad);
  EXPECT_TRUE(bad.error().what.starts_with("t.json: "));
}

TEST(AgentList, ReadsFilesOfListsAndNamesTheLineThatIsWrong) {
  const auto out = parse_agent_file("# racks 1 and 2\ngpu[001-002]\n\n[::1]:9400   # this machine\ngpu001:9400\n", "agents");
  ASSERT_TRUE(out) << out.error().what;
  EXPECT_EQ(out->size(), 3U);
  const auto bad = parse_agent_file("gpu001\ngpu002:x\n", "agents");
  ASSERT_FALSE(bad);
  EXPECT_TRUE(bad.error().what.starts_with("agents:2: "));
  EXPECT_FALSE(parse_agent_file("# nobody\n", "agents"));
}

}  // namespace
}  // namespace muster
