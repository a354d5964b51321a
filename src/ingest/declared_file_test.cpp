#include "ingest/declared_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ingest/performance_file.h"

namespace muster {
namespace {

TEST(declared_file, blocks_say_for_whom_and_what) {
  const auto d = read_declared(R"(declare:
  - where: {node.product: DGXH100}
    facts:
      driver.loaded: "580.159.04"
      "gpu*:vbios.version": "96.00.99.00.01"
      driver.nv_peer_mem: null
  - nodes: login[1-2]
    facts: {sysctl.vm.swappiness: 10}
)",
                               "golden.yaml");
  ASSERT_TRUE(d) << d.error().what;
  ASSERT_EQ(d->size(), 4u);
  EXPECT_EQ((*d)[0].where.at(0).second, "DGXH100");
  EXPECT_EQ((*d)[0].source, "golden.yaml:4");
  EXPECT_EQ((*d)[1].entity, "gpu*");
  EXPECT_EQ((*d)[1].key, "vbios.version");
  EXPECT_TRUE((*d)[2].absent);
  EXPECT_EQ((*d)[3].nodes, (std::vector<std::string>{"login1", "login2"}));
  EXPECT_EQ((*d)[3].value, "10");
}

TEST(declared_file, errors_name_the_line) {
  const auto what = [](std::string_view text) {
    const auto d = read_declared(text, "g.yaml");
    return d ? std::string() : d.error().what;
  };
  EXPECT_NE(what("declare:\n  - facts:\n      cuda.toolkit: 13.0\n").find("g.yaml:3"), std::string::npos);
  EXPECT_NE(what("declare:\n  - facts:\n      vbios.version: x\n").find("gpu*:vbios.version"), std::string::npos);
  EXPECT_NE(what("declare:\n  - fact: {a: b}\n").find("g.yaml:2"), std::string::npos);
  EXPECT_NE(what("declare: []\n").find("nothing is declared"), std::string::npos);
  EXPECT_NE(what("declare:\n  - nodes: 'n[1-'\n    facts: {a: b}\n").find("nodes"), std::string::npos);
  EXPECT_FALSE(what("declare:\n  - facts: {a: [1]}\n").empty());
  EXPECT_FALSE(what("").empty());
}

TEST(performance_file, a_column_a_measure_and_what_was_not_measured_is_no_number) {
  const auto p = read_performance("node,busbw,gemm\nn1,390.5,700\nn2,-,\n", "p.csv");
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->measures, (std::vector<std::string>{"busbw", "gemm"}));
  EXPECT_DOUBLE_EQ(p->values[0][0], 390.5);
  EXPECT_TRUE(std::isnan(p->values[0][1]));
  EXPECT_TRUE(std::isnan(p->values[1][1]));
}

TEST(performance_file, what_cannot_be_is_refused_with_its_line) {
  const auto what = [](std::string_view text) {
    const auto p = read_performance(text, "p.csv");
    return p ? std::string() : p.error().what;
  };
  EXPECT_NE(what("node,busbw\nn1,fast\n").find("p.csv:2"), std::string::npos);
  EXPECT_NE(what("node,busbw\nn1,1\nn1,2\n").find("p.csv:3"), std::string::npos);
  EXPECT_NE(what("host,busbw\nn1,1\n").find("node"), std::string::npos);
  EXPECT_FALSE(what("node,busbw\nn1,-5\n").empty());
  EXPECT_FALSE(what("node,busbw\nn1,nan\n").empty());
  EXPECT_FALSE(what("node,busbw\n").empty());
  EXPECT_FALSE(what("node\nn1\n").empty());
}

TEST(performance_file, a_time_is_known_however_it_is_written_and_so_is_a_rate) {
  const auto read = [](const std::string& name) { return read_performance("node,\"" + name + "\"\nn1,20\n", "p.csv"); };
  for (const char* name : {"step time (ms)", "Time (s)", "p99 latency", "latency(us)", "allreduce time [us]", "time_per_step",
                           "ms_per_step", "seconds per step", "StepTime", "runtime", "ns/op", "ms", "ms p99", "LatencyMs",
                           "wall_s", "latency \xc2\xb5s", "step_ms", "elapsed"}) {
    const auto p = read(name);
    ASSERT_TRUE(p) << name << ": " << p.error().what;
    EXPECT_TRUE(p->less_is_better[0]) << name;
    EXPECT_DOUBLE_EQ(p->values[0][0], 0.05) << name;
  }
  for (const char* name : {"busbw", "busbw (GB/s)", "tokens_per_s", "steps per second", "tokens/s", "copy_gb_s", "samples/sec",
                           "GB/s", "TFLOPs", "gemm_tflops", "it/s", "min_clock", "us_east", "MBps", "ops_s", "items/ms"}) {
    const auto p = read(name);
    ASSERT_TRUE(p) << name << ": " << p.error().what;
    EXPECT_FALSE(p->less_is_better[0]) << name;
    EXPECT_TRUE(p->notes.empty()) << name;
  }
}

TEST(performance_file, a_name_that_hints_at_both_is_asked_for_and_one_that_may_be_a_time_is_noted) {
  for (const char* name : {"latency (GB/s)", "bandwidth time", "step_s", "time per second"}) {
    const auto p = read_performance(std::string("node,") + name + "\nn1,20\n", "p.csv");
    ASSERT_FALSE(p) << name;
    EXPECT_NE(p.error().what.find(std::string("-") + name), std::string::npos) << p.error().what;
    EXPECT_TRUE(read_performance(std::string("node,-") + name + "\nn1,20\n", "p.csv")) << name;
  }
  const auto p = read_performance("node,steptime\nn1,20\n", "p.csv");
  ASSERT_TRUE(p);
  ASSERT_EQ(p->notes.size(), 1u);
  EXPECT_NE(p->notes[0].find("-steptime"), std::string::npos);
}

TEST(performance_file, times_are_turned_round_and_rates_are_not) {
  const auto p =
      read_performance("node,latency_us,copy_gb_s,step_ms,tokens_per_s,-stalls,+idle_time\nn1,20,5,4,5,2,5\n", "p.csv");
  ASSERT_TRUE(p) << p.error().what;
  const std::vector<std::string> names = {"latency_us (less is better)", "copy_gb_s", "step_ms (less is better)", "tokens_per_s",
                                          "stalls (less is better)",     "idle_time"};
  EXPECT_EQ(p->measures, names);
  const std::vector<std::vector<double>> values = {{0.05}, {5}, {0.25}, {5}, {0.5}, {5}};
  EXPECT_EQ(p->values, values);
}

}  // namespace
}  // namespace muster
