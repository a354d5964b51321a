#include "ingest/ncu_csv.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

// Cells in quotes, as ncu writes them.
std::string line(const std::vector<std::string>& cells) {
  std::string out;
  for (const std::string& c : cells) out += (out.empty() ? "\"" : ",\"") + c + "\"";
  return out + "\n";
}

std::string raw_page() {
  const std::vector<std::string> header = {"ID",
                                           "Process ID",
                                           "Kernel Name",
                                           "Block Size",
                                           "Grid Size",
                                           "gpu__time_duration.sum",
                                           "sm__throughput.avg.pct_of_peak_sustained_elapsed",
                                           "gpc__cycles_elapsed.avg.per_second",
                                           "launch__waves_per_multiprocessor",
                                           "launch__occupancy_limit_registers",
                                           "device__attribute_multiprocessor_count",
                                           "device__attribute_clock_rate",
                                           "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active",
                                           "dram__bytes.sum.per_second",
                                           "launch__shared_mem_per_block_allocated"};
  return "==PROF== Connected to process 77 (/usr/bin/python3.11)\nstep 1 loss 2.5\n"
         "==PROF== Profiling \"gemm\" - 0: 0%....50%....100% - 38 passes\n" +
         line(header) +
         line({"", "", "", "", "", "usecond", "%", "cycle/nsecond", "", "block", "", "", "%", "Gbyte/second", "Kbyte/block"}) +
         line({"0", "77", "void gemm<float, 2>(float *, int)", "(128, 1, 1)", "(24, 6, 2)", "1,234.50", "41.2", "1.50", "2.18",
               "3", "132", "1,980,000", "55.5", "2,100.25", "1.5"}) +
         line({"1", "77", "copy", "(256, 1, 1)", "(9, 1, 1)", "5.5", "n/a", "1.50", "0.1", "8", "132", "1,980,000", "0", "10",
               "0"}) +
         "==PROF== Disconnected from process 77\n";
}

TEST(NcuCsv, TheRawPage) {
  EXPECT_TRUE(looks_like_ncu_csv(raw_page()));
  const auto p = parse_ncu_csv(raw_page(), "x.csv");
  ASSERT_TRUE(p) << p.error().what;
  ASSERT_EQ(p->launches.size(), 2U);
  const KernelMeasurement& k = p->launches[0];
  EXPECT_EQ(k.name, "void gemm<float, 2>(float *, int)");
  EXPECT_DOUBLE_EQ(*k.duration_ns, 1'234'500);
  EXPECT_EQ(k.sm_pct, 41.2);
  EXPECT_EQ(k.blocks, 24 * 6 * 2);
  EXPECT_EQ(k.threads, 128);
  EXPECT_DOUBLE_EQ(*k.sm_hz, 1.5e9);
  EXPECT_DOUBLE_EQ(*k.sm_hz_max, 1.98e9);
  EXPECT_EQ(k.waves, 2.18);
  EXPECT_EQ(k.limit_registers, 3);
  EXPECT_EQ(k.sms, 132);
  EXPECT_EQ(k.tensor_pct, 55.5);
  EXPECT_DOUBLE_EQ(*k.dram_bytes_per_s, 2100.25e9);
  EXPECT_DOUBLE_EQ(*k.shared_bytes, 1500);
  EXPECT_FALSE(p->launches[1].sm_pct) << "n/a";
  EXPECT_EQ(p->skipped, 1U) << "what the profiler says when it leaves";
}

TEST(NcuCsv, TheDetailsPage) {
  const std::string table = line({"ID", "Process ID", "Kernel Name", "Section Name", "Metric Name", "Metric Unit", "Metric Value",
                                  "Rule Description"}) +
                            line({"0", "7", "gemm", "GPU Speed Of Light Throughput", "SM Frequency", "Ghz", "1.12", ""}) +
                            line({"0", "7", "gemm", "GPU Speed Of Light Throughput", "Duration", "us", "12.5", ""}) +
                            line({"0", "7", "gemm", "GPU Speed Of Light Throughput", "Memory Throughput", "%", "33.3", ""}) +
                            line({"0", "7", "gemm", "Memory Workload Analysis", "Memory Throughput", "Tbyte/s", "1.25", ""}) +
                            line({"0", "7", "gemm", "", "", "", "", "a \"\"long\"\" rule,\nof two lines"}) +
                            line({"1", "7", "gemm", "Occupancy", "Achieved Occupancy", "%", "25", ""}) +
                            line({"0", "8", "other", "Occupancy", "Achieved Occupancy", "%", "50", ""});
  const auto p = parse_ncu_csv(table, "x.csv");
  ASSERT_TRUE(p) << p.error().what;
  ASSERT_EQ(p->launches.size(), 3U) << "ids are of a process";
  const KernelMeasurement& k = p->launches[0];
  EXPECT_DOUBLE_EQ(*k.sm_hz, 1.12e9);
  EXPECT_DOUBLE_EQ(*k.duration_ns, 12'500);
  EXPECT_EQ(k.memory_pct, 33.3);
  EXPECT_DOUBLE_EQ(*k.dram_bytes_per_s, 1.25e12);
  EXPECT_EQ(p->launches[1].achieved_occupancy_pct, 25);
  EXPECT_EQ(p->launches[2].name, "other");
}

TEST(NcuCsv, RowsOfMetricsEndBeforeTheRules) {
  const auto p =
      parse_ncu_csv(line({"ID", "Process ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name",
                          "Rule Type", "Rule Text"}) +
                        "\"0\",\"7\",\"gemm\",\"SM Frequency\",\"hz\",\"1239496049.13\",\n"
                        "\"0\",\"7\",\"gemm\",\"Grid Size\",\"\",\"288\",\n"
                        "\"0\",\"7\",\"gemm\",\"Dynamic Shared Memory Per Block\",\"byte/block\",\"205696\",\n" +
                        line({"0", "7", "gemm", "", "", "", "SOLBottleneck", "OPT", "text"}) + "loss 3.5, 2, 1, 0, 5, 6, 7\n",
                    "x.csv");
  ASSERT_TRUE(p) << p.error().what;
  ASSERT_EQ(p->launches.size(), 1U);
  EXPECT_DOUBLE_EQ(*p->launches[0].sm_hz, 1239496049.13);
  EXPECT_EQ(p->launches[0].blocks, 288);
  EXPECT_EQ(p->launches[0].shared_bytes, 205'696);
  EXPECT_EQ(p->skipped, 1U);
}

TEST(NcuCsv, TheGpusCapabilityAndItsHighestClock) {
  const auto p = parse_ncu_csv(
      line({"ID", "Kernel Name", "CC", "sm__cycles_elapsed.avg.per_second", "device__attribute_max_gpu_frequency_khz"}) +
          line({"", "", "", "cycle/nsecond", ""}) + line({"0", "gemm", "9.0", "1.2", "1,980,000"}) +
          line({"1", "gemm", "n/a", "1.2", "1,980,000"}),
      "x.csv");
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->launches[0].capability, 9.0);
  EXPECT_DOUBLE_EQ(*p->launches[0].sm_hz, 1.2e9);
  EXPECT_DOUBLE_EQ(*p->launches[0].sm_hz_max, 1.98e9);
  EXPECT_FALSE(p->launches[1].capability);
}

TEST(NcuCsv, UnitsOfTime) {
  for (const auto& [unit, ns] : std::vector<std::pair<std::string, double>>{{"nsecond", 2},
                                                                            {"ns", 2},
                                                                            {"usecond", 2e3},
                                                                            {"us", 2e3},
                                                                            {"msecond", 2e6},
                                                                            {"ms", 2e6},
                                                                            {"second", 2e9},
                                                                            {"s", 2e9},
                                                                            {"", 2}}) {
    const auto p =
        parse_ncu_csv("ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,k,gpu__time_duration.sum," + unit + ",2\n", "x");
    ASSERT_TRUE(p) << unit;
    ASSERT_TRUE(p->launches[0].duration_ns) << unit;
    EXPECT_DOUBLE_EQ(*p->launches[0].duration_ns, ns) << unit;
  }
  const auto p = parse_ncu_csv("ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,k,Duration,byte,2\n", "x");
  EXPECT_FALSE(p->launches[0].duration_ns) << "bytes are no time";
}

TEST(NcuCsv, NumbersOfOtherCountries) {
  const auto p = parse_ncu_csv(R"("ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","k","gpu__time_duration.sum","ns","117.344"
"0","k","sm__throughput.avg.pct_of_peak_sustained_elapsed","%","65,77"
)",
                               "x");
  ASSERT_TRUE(p);
  EXPECT_EQ(p->launches[0].duration_ns, 117'344);
  EXPECT_EQ(p->launches[0].sm_pct, 65.77);
}

TEST(NcuCsv, WhatIsNone) {
  EXPECT_FALSE(looks_like_ncu_csv("a,b\n1,2\n"));
  EXPECT_FALSE(looks_like_ncu_csv("\"ID\",\"Name\"\n"));
  EXPECT_EQ(parse_ncu_csv("==PROF== x\n==ERROR== ERR_NVGPUCTRPERM\n", "f").error().what, "f: there is no table of kernels in it");
  EXPECT_EQ(parse_ncu_csv("x\n\"ID\",\"Kernel Name\"\n", "f").error().what, "f:2: the table has no kernels");
  EXPECT_EQ(parse_ncu_csv("\"ID\",\"Kernel Name\"\n0,\"cut", "f").error().what, "f:2: a quote is not closed");
}

}  // namespace
}  // namespace muster
