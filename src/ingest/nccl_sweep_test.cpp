#include "ingest/nccl_sweep.h"

#include <gtest/gtest.h>

#include "ingest/nccl_log.h"
#include "ingest/nccl_tests.h"

namespace muster {
namespace {

constexpr std::string_view kHeader =
    "collective,nodes,ranks_per_node,nvlink_domain,registered,bytes,algorithm,protocol,channels,run,time_us\n";

TEST(NcclSweep, RowsOfALaunchAreOneRun) {
  const auto in = parse_sweep(std::string(kHeader) +
                                  "all_reduce,4,1,1,0,1024,default,,,0,69.8\n"
                                  "all_reduce,4,1,1,0,2048,default,,,0,115.1\n"
                                  "AllReduce,4,1,1,1,1024,RING,LL128,4,2,60\n"
                                  "allreduce,4,1,,0,1024,NVLSTree,Simple,-1,0,61\n",
                              "s.csv");
  ASSERT_TRUE(in) << in.error().what;
  ASSERT_EQ(in->runs.size(), 3u);
  EXPECT_TRUE(in->runs[0].way.is_default());
  ASSERT_EQ(in->runs[0].times.size(), 2u);
  EXPECT_DOUBLE_EQ(in->runs[0].times[1].second, 115.1);
  EXPECT_EQ(in->runs[1].way, (NcclWay{false, NcclAlgorithm::ring, NcclProtocol::ll128, 4, 0}));
  EXPECT_EQ(in->runs[1].run, 2u);
  EXPECT_TRUE(in->runs[1].key.registered);
  EXPECT_EQ(in->runs[2].way.algorithm, NcclAlgorithm::nvls_tree);
  EXPECT_EQ(in->runs[2].way.channels, 0u);
  EXPECT_EQ(in->runs[2].key.nvlink_domain, 1u);
  EXPECT_EQ(times_of(in->runs).size(), 4u);
}

TEST(NcclSweep, FailuresAreKept) {
  const auto in = parse_sweep(
      "# a sweep\ncollective,nodes,ranks_per_node,nvlink_domain,registered,bytes,algorithm,protocol,channels,run,time_us,"
      "buffer_bytes,seconds,failure\n"
      "all_reduce,4,1,1,0,0,tree,ll128,0,0,0,0,12.5,\"exit code 3: \"\"no\"\"\"\n"
      "all_reduce,4,1,1,0,1024,default,,0,0,70,8388608,3.25,\n",
      "s.csv");
  ASSERT_TRUE(in) << in.error().what;
  EXPECT_EQ(in->runs[0].failure, "exit code 3: \"no\"");
  EXPECT_DOUBLE_EQ(in->runs[0].seconds, 12.5);
  EXPECT_TRUE(in->runs[0].times.empty());
  EXPECT_TRUE(in->runs[1].way.own);
  EXPECT_EQ(in->runs[1].way.buffer_bytes, 8388608u);
}

TEST(NcclSweep, WhatIsWrongIsNamed) {
  const auto what = [](std::string_view row) {
    return parse_sweep(std::string(kHeader) + std::string(row), "s.csv").error().what;
  };
  EXPECT_EQ(what("all_reduce,4,1,1,0,1024,spiral,ll,0,0,1\n"),
            "s.csv:2: algorithm must be default or one of NCCL's: tree, ring, nvls, ..., is 'spiral'");
  EXPECT_EQ(what("all_reduce,0,1,1,0,1024,ring,ll,0,0,1\n"), "s.csv:2: nodes must be a whole number from 1 to 1000000, is '0'");
  EXPECT_EQ(what("all_reduce,4,1,1,0,1024,ring,ll,0,0,0\n"), "s.csv:2: time_us must be above 0, is '0'");
  EXPECT_EQ(what("all_reduce,4,1,1,0,1024,ring,ll,65,0,9\n"), "s.csv:2: channels must be a whole number from 0 to 64, is '65'");
  EXPECT_EQ(what(""), "s.csv: no row is in it");
  EXPECT_EQ(parse_sweep("collective,nodes\nall_reduce,1\n", "s.csv").error().what,
            "s.csv:1: the column ranks_per_node is missing");
}

std::string json(std::string_view env) {
  return R"({"version":3,"args":["all_reduce_perf"],"env":[)" + std::string(env) +
         R"(],"nccl_version":22803,"config":{"nthreads":1,"ngpus":1,"devices":[)"
         R"({"rank":0,"group":0,"hostname":"a","device_info":"x"},{"rank":1,"group":0,"hostname":"b","device_info":"x"}]},)"
         R"("results":[{"size":1024,"count":256,"type":"float","redop":"sum","root":"-1",)"
         R"("out_of_place":{"time":20.0,"alg_bw":1,"bus_bw":1,"nwrong":0.0},)"
         R"("in_place":{"time":80.0,"alg_bw":1,"bus_bw":1,"nwrong":0.0}}]})";
}

TuneInput of_json(std::string_view env, const TuneHint& hint = {}) {
  const auto tests = parse_nccl_tests(json(env), "x.json");
  EXPECT_TRUE(tests);
  return tune_input(*tests, {}, hint);
}

TEST(NcclSweep, TheEnvironmentTellsTheWay) {
  const TuneInput in = of_json(R"("NCCL_ALGO=Ring","NCCL_PROTO=LL","NCCL_MIN_NCHANNELS=4","NCCL_MAX_NCHANNELS=4")");
  ASSERT_EQ(in.runs.size(), 1u);
  EXPECT_EQ(in.runs[0].way, (NcclWay{false, NcclAlgorithm::ring, NcclProtocol::ll, 4, 0}));
  EXPECT_EQ(in.runs[0].key, (TuneKey{Collective::all_reduce, 2, 1, 1, false}));
  EXPECT_NEAR(in.runs[0].times.at(0).second, 40.0, 1e-9);  // the geometric mean of both halves
  EXPECT_TRUE(of_json("").runs.at(0).way.is_default());
}

TEST(NcclSweep, WhatCannotBeToldIsLeftOut) {
  for (const char* env : {R"("NCCL_ALGO=Ring")", R"("NCCL_ALGO=Ring,Tree","NCCL_PROTO=LL")", R"("NCCL_ALGO=^Tree")"}) {
    const TuneInput in = of_json(env);
    EXPECT_TRUE(in.runs.empty()) << env;
    EXPECT_EQ(in.notes.size(), 1u) << env;
  }
  const TuneInput hinted = of_json("", {1, 2, 2, true, {}});
  EXPECT_EQ(hinted.runs.at(0).key, (TuneKey{Collective::all_reduce, 1, 2, 2, true}));
}

TEST(NcclSweep, NcclsLogTellsWhatHalfASettingCameTo) {
  const std::string text =
      "h:1:1 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x2 - Init START\n"
      "h:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n"
      "h:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n"
      "h:1:1 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n";
  const auto tests = parse_nccl_tests(json(""), "x.json");
  const TuneInput in = tune_input(*tests, parse_nccl_log(text, "x"), {});
  ASSERT_EQ(in.runs.size(), 1u);
  EXPECT_EQ(in.runs[0].way.protocol, NcclProtocol::ll);
  const TuneInput alone = tune_input(parse_nccl_log(text, "x"), {});
  ASSERT_EQ(alone.picks.size(), 1u);
  EXPECT_EQ(alone.picks[0].key.nodes, 2u);
  EXPECT_EQ(alone.picks[0].way.channels, 2u);
}

// Two launches in one log: whose times these are cannot be told, whichever setting they differ in.
TEST(NcclSweep, SettingsWithSeveralValuesAreLeftOut) {
  const auto tests = parse_nccl_tests(json(""), "x.json");
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_NCHANNELS", "NCCL_BUFFSIZE"}) {
    NcclLog log;
    const auto set = [&](const char* key, const char* value) {
      NcclSetting s;
      s.name = key;
      s.value = value;
      log.settings.push_back(s);
    };
    set("NCCL_ALGO", "Ring");
    set("NCCL_PROTO", "LL");
    set("NCCL_MIN_NCHANNELS", "8");
    set("NCCL_MAX_NCHANNELS", "8");
    set("NCCL_BUFFSIZE", "4194304");
    EXPECT_EQ(tune_input(*tests, log, {}).runs.size(), 1u) << name;
    set(name, "2");
    const TuneInput in = tune_input(*tests, log, {});
    EXPECT_TRUE(in.runs.empty()) << name;
    ASSERT_EQ(in.notes.size(), 1u) << name;
    EXPECT_NE(in.notes[0].find("several values"), std::string::npos) << in.notes[0];
  }
}

TEST(NcclSweep, LaunchesAreNumberedByWay) {
  TuneInput in = of_json("");
  in.add(of_json(R"("NCCL_ALGO=Ring","NCCL_PROTO=LL")"));
  in.add(of_json(""));
  number_runs(in.runs);
  EXPECT_EQ(in.runs[0].run, 0u);
  EXPECT_EQ(in.runs[1].run, 0u);
  EXPECT_EQ(in.runs[2].run, 1u);
}

TEST(NcclSweep, ACopyOfALaunchIsCountedOnce) {
  const std::string rows =
      "all_reduce,4,1,1,0,1024,default,,,0,70\n"
      "all_reduce,4,1,1,0,2048,default,,,0,80\n"
      "all_reduce,4,1,1,0,1024,default,,,1,71\n";
  TuneInput in = *parse_sweep(std::string(kHeader) + rows, "a.csv");
  in.add(*parse_sweep(std::string(kHeader) + rows, "copy.csv"));
  // The same number, and another time: a launch of its own.
  in.add(*parse_sweep(std::string(kHeader) + "all_reduce,4,1,1,0,1024,default,,,1,72\n", "b.csv"));
  count_once(in);
  ASSERT_EQ(in.runs.size(), 3u);
  ASSERT_EQ(in.notes.size(), 1u);
  EXPECT_EQ(in.notes[0], "2 launches come again with the same shape, way, number and times: counted once");
  count_once(in);
  EXPECT_EQ(in.runs.size(), 3u);
  EXPECT_EQ(in.notes.size(), 1u);
}

TEST(NcclSweep, TheLastCommandThatALogNames) {
  EXPECT_EQ(sweep_command(kHeader), "");
  EXPECT_EQ(sweep_command("# command: ./a -b 1K\r\n" + std::string(kHeader)), "# command: ./a -b 1K");
  EXPECT_EQ(sweep_command(std::string(kHeader) + "# command: a\nall_reduce\n# command: b"), "# command: b");
}

TEST(NcclSweep, Recognised) {
  EXPECT_TRUE(looks_like_sweep(kHeader));
  EXPECT_TRUE(looks_like_sweep("# x\n" + std::string(kHeader)));
  EXPECT_FALSE(looks_like_sweep("# nThread 1"));
  EXPECT_FALSE(looks_like_sweep(""));
}

}  // namespace
}  // namespace muster
