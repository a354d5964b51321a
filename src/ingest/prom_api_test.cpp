#include "ingest/prom_api.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>

namespace muster {
namespace {

class PromApiTest : public testing::Test {
 protected:
  PromApiTest() {
    site.gpus_per_node = 8;
    site.nodes = {{"node0001"}, {"node0002"}};
    reader = std::make_unique<PromReader>(site);
  }
  Result<std::size_t> take(std::string body, unsigned query = 0) {
    return read_prom_answer(body, [&](const PromSeries& s) { reader->take(s, query); });
  }
  static std::string answer(const std::string& series) {
    return R"({"status":"success","data":{"resultType":"matrix","result":[)" + series + "]}}";
  }
  static std::string temp(const std::string& instance, int gpu, const std::string& values, const std::string& more = "") {
    return R"({"metric":{"__name__":"DCGM_FI_DEV_GPU_TEMP","instance":")" + instance + R"(","job":"dcgm","gpu":")" +
           std::to_string(gpu) + "\"" + more + R"(},"values":)" + values + "}";
  }
  Site site;
  std::unique_ptr<PromReader> reader;
};

TEST_F(PromApiTest, TheNewestSampleOfASeriesIsTakenWithItsOwnTime) {
  const auto r = take(answer(temp("node0002:9400", 3, R"([[1700000000.25,"54"],[1700000015.25,"55.5"]])")));
  ASSERT_TRUE(r) << r.error().what;
  const auto samples = reader->finish();
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].node, NodeId{1});
  EXPECT_EQ(samples[0].slot, 3);
  EXPECT_EQ(samples[0].field, Field::gpu_temp_c);
  EXPECT_EQ(samples[0].value, 55.5);
  EXPECT_EQ(samples[0].at.ms(), 1700000015250);
}

TEST_F(PromApiTest, WhatWasTakenIsNotTakenAgain) {
  ASSERT_TRUE(take(answer(temp("node0001:9400", 0, R"([[10,"54"]])"))));
  EXPECT_EQ(reader->finish().size(), 1U);
  ASSERT_TRUE(take(answer(temp("node0001:9400", 0, R"([[10,"54"]])"))));
  EXPECT_TRUE(reader->finish().empty()) << "a target that is gone stays in the range for a while: that is no news of it";
  EXPECT_EQ(reader->counts().old, 1U);
  ASSERT_TRUE(take(answer(temp("node0001:9400", 0, R"([[10,"54"],[25,"56"]])"))));
  EXPECT_EQ(reader->finish().size(), 1U);
}

TEST_F(PromApiTest, AnInstanceIsKnownByTheHostItsSeriesName) {
  ASSERT_TRUE(take(answer(temp("10.2.3.4:9400", 0, R"([[10,"54"]])", R"(,"Hostname":"node0002")"))));
  ASSERT_TRUE(take(answer(R"({"metric":{"__name__":"up","instance":"10.2.3.4:9400","job":"dcgm"},"values":[[11,"0"]]})"), 2));
  const auto samples = reader->finish();
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].field, Field::up);
  EXPECT_EQ(samples[0].value, 0);
  EXPECT_EQ(samples[0].node, NodeId{1});
}

TEST_F(PromApiTest, SeriesOfNobodyAreCounted) {
  ASSERT_TRUE(take(answer(temp("elsewhere:9400", 0, R"([[10,"54"]])"))));
  EXPECT_TRUE(reader->finish().empty());
  EXPECT_EQ(reader->counts().unknown, 1U);
  EXPECT_EQ(reader->some_unknown(), "elsewhere:9400");
}

TEST_F(PromApiTest, NotANumberAndStrangeLabelsAreDropped) {
  ASSERT_TRUE(take(answer(temp("node0001", 0, R"([[10,"NaN"]])") + "," + temp("node0001", 1, R"([[10,"+Inf"]])") + "," +
                          temp("node0001", 2, R"([[10,"rubbish"]])") + "," +
                          temp("node0001", 9, R"([[10,"50"]])", R"(,"device":"a\"b\\\n")"))));
  EXPECT_TRUE(reader->finish().empty());
}

TEST_F(PromApiTest, AGpuThatVanishesFromAWholeInstanceIsSeen) {
  const auto all = [&](int at, int without) {
    std::string list;
    for (int g = 0; g < 8; ++g) {
      if (g != without) list += (list.empty() ? "" : ",") + temp("node0001", g, "[[" + std::to_string(at) + ",\"50\"]]");
    }
    EXPECT_TRUE(take(answer(list)));
    for (const Sample& s : reader->finish()) {
      if (s.field == Field::gpus_visible) return s.value;
    }
    return -1.0;
  };
  EXPECT_EQ(all(10, 3), -1) << "never whole: nothing is inferred";
  EXPECT_EQ(all(20, -1), 255);
  EXPECT_EQ(all(30, 3), -1) << "once may be the moment between two";
  EXPECT_EQ(all(40, 3), 255 - 8);
}

TEST_F(PromApiTest, OfAGpusXidsTheNewestCountsWhateverTheirLabels) {
  const auto xid = [](const char* code, const char* points) {
    return std::string(
               R"({"metric":{"__name__":"DCGM_FI_DEV_XID_ERRORS","instance":"node0001","gpu":"2","UUID":"GPU-7","err_code":")") +
           code + R"("},"values":)" + points + "}";
  };
  ASSERT_TRUE(take(answer(xid("79", R"([[25,"79"]])") + "," + xid("13", R"([[5,"13"],[20,"13"]])"))));
  const auto samples = reader->finish();
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].field, Field::xid_last);
  EXPECT_EQ(samples[0].value, 79);
}

TEST_F(PromApiTest, ErrorsSayWhatTheServerSaid) {
  const auto r = take(R"({"status":"error","errorType":"execution","error":"query processing would load too many samples"})");
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().what.find("too many samples"), std::string::npos);
}

TEST_F(PromApiTest, WhatIsNoAnswerIsSaidToBeNone) {
  for (const char* bad :
       {"", "<html>hello</html>", "[]", "{}", "{\"status\":\"success\"}", R"({"status":"success","data":{}})",
        R"({"status":"success","data":{"result":{}}})", R"({"status":"success","data":{"result":[1]}})",
        R"({"status":"success","data":{"result":[{"metric":{"a":1},"value":[1,"1"]}]}})",
        R"({"status":"success","data":{"result":[{"metric":{},"value":[1,"1",2]}]}})",
        R"({"status":"success","data":{"result":[{"metric":{},"value":["x","1"]}]}})",
        R"({"status":"success","data":{"result":[{"metric":{},"value":[9700000015,"1"]}]}})",
        R"({"status":"success","data":{"result":[]}} {})", R"({"status":"success","data":{"result":[]})", "\xff{}"}) {
    const auto r = take(bad);
    ASSERT_FALSE(r) << bad;
    EXPECT_NE(r.error().what.find("not an answer of Prometheus"), std::string::npos) << bad << r.error().what;
  }
}

TEST_F(PromApiTest, ErrorsOfOtherServersAreReadToo) {
  EXPECT_EQ(error_in_answer(R"({"code":601,"message":"start time must be before end time"})"),
            "start time must be before end time");
  EXPECT_EQ(error_in_answer("bad thing\nsecond line"), "bad thing");
  EXPECT_EQ(error_in_answer(""), "");
  EXPECT_LE(error_in_answer(std::string(5000, 'x')).size(), 300U);
}

TEST_F(PromApiTest, AnAnswerOfManySeriesIsReadWithoutATreeOfIt) {
  for (std::uint32_t n = 3; n <= 2000; ++n) site.nodes.push_back({"node" + std::to_string(10000 + n)});
  reader = std::make_unique<PromReader>(site);
  std::string list;
  std::size_t series = 0;
  for (std::uint32_t n = 2; n < 2000; ++n) {
    for (int g = 0; g < 8; ++g, ++series) {
      list += (list.empty() ? "" : ",") + temp(site.nodes[n].name + ":9400", g, R"([[10,"54"],[25,"55"]])",
                                               R"(,"UUID":"GPU-11111111-2222-3333-4444-555555555555","modelName":"NVIDIA H200",)"
                                               R"("device":"nvidia0","Hostname":")" +
                                                   site.nodes[n].name + "\"");
    }
  }
  std::string body = answer(list);
  list.clear();
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(read_prom_answer(body, [&](const PromSeries& s) { reader->take(s, 0); }));
  const std::size_t samples = reader->finish().size();
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("read_prom_answer and PromReader: %zu series of 15,984 GPUs, %.1f MB, in %.0f ms\n", series,
              static_cast<double>(body.size()) / 1e6, took * 1e3);
  EXPECT_EQ(samples, series + 1998) << "and for each node which GPUs are visible";
}

TEST(PromQueries, EverySeriesIsAskedForOnce) {
  std::string all;
  for (const std::string& q : prom_queries("60s")) {
    EXPECT_EQ(q.find("{__name__=~\""), 0U);
    EXPECT_EQ(q.substr(q.size() - 5), "[60s]");
    all += q;
  }
  for (const char* name : {"DCGM_FI_DEV_GPU_TEMP|", "DCGM_FI_DEV_GPU_TEMP_CELSIUS|", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "|up\"",
                           "node_infiniband_link_downed_total", "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL"}) {
    EXPECT_NE(all.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace muster
