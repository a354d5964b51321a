#include "ingest/nccl_tests.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::string_view kNew = R"(# nccl-tests version 2.17.1 nccl-headers=22800 nccl-library=22803
# Collective test starting: all_gather_perf
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1
#
# Using devices
#  Rank  0 Group  0 Pid   6899 on node-1 device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   6900 on node-1 device  1 [0000:05:00] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid   6733 on node-2 device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid   6734 on node-2 device  1 [0000:05:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576         65536     float    none      -1    135.8    7.72    5.79      0    123.5    8.49    6.37      0
     2097152        131072     float    none      -1    1.6e+07  8.00    6.00    N/A    200.0   10.49    7.86      3
# Out of bounds values : 1 FAILED
# Avg bus bandwidth    : 6.505
#
# Collective test concluded: all_gather_perf
)";

TEST(NcclTests, NewTextWithRanks) {
  ASSERT_TRUE(looks_like_nccl_tests(kNew));
  const auto log = parse_nccl_tests(kNew, "x.log");
  ASSERT_TRUE(log) << log.error().what;
  ASSERT_EQ(log->runs.size(), 1u);
  const NcclTestRun& r = log->runs[0];
  EXPECT_EQ(r.program, "all_gather_perf");
  EXPECT_EQ(r.op, Collective::all_gather);
  EXPECT_EQ(r.ranks, 4u);
  EXPECT_EQ(r.nodes, 2u);
  EXPECT_EQ(r.per_node, 2u);
  EXPECT_EQ(r.gpu, "NVIDIA H100 80GB HBM3");
  ASSERT_EQ(r.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(r.rows[0].out->time_us, 135.8);
  EXPECT_DOUBLE_EQ(r.rows[0].in->bus_gb_s, 6.37);
  EXPECT_DOUBLE_EQ(r.rows[1].out->time_us, 1.6e7);
  EXPECT_FALSE(r.rows[1].out->wrong);
  EXPECT_EQ(r.rows[1].in->wrong, 3);
  EXPECT_EQ(r.rows[0].redop, "");
  EXPECT_EQ(r.rows[0].root, -1);
  EXPECT_EQ(r.out_of_bounds, 1u);
  EXPECT_DOUBLE_EQ(*r.average_bus_gb_s, 6.505);
  EXPECT_EQ(r.rows[0].best(), &*r.rows[0].in);
}

// A launcher's prefix before every line, and NCCL's lines in the middle of rows.
TEST(NcclTests, PrefixedAndTorn) {
  const std::string text =
      "[1,0]<stdout>:# nThread 1 nGpus 8 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20 validation: 1\n"
      "[1,0]<stdout>:#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "[1,0]<stdout>:           8             2   float     sum node1:3442:3442 [0] NCCL INFO Launch mode Parallel\n"
      "[1,0]<stdout>:node1:3442:3442 [0] NCCL INFO something\n"
      "[1,0]<stdout>:   34.27    0.00    0.00  2e-07    33.57    0.00    0.00  0e+00\n"
      "0:           16             4   float     sum    8.00    10.00    17.50    N/A    33.57    0.00    0.00    N/A\n";
  const auto log = parse_nccl_tests(text, "x.log");
  ASSERT_TRUE(log) << log.error().what;
  ASSERT_EQ(log->runs[0].rows.size(), 2u);
  EXPECT_DOUBLE_EQ(log->runs[0].rows[0].out->time_us, 34.27);
  EXPECT_FALSE(log->runs[0].rows[0].out->wrong) << "how far off is no count";
  EXPECT_EQ(log->runs[0].op, Collective::all_reduce);
  EXPECT_EQ(log->runs[0].op_by, "its columns");
  EXPECT_EQ(log->runs[0].ranks, 8u);
  EXPECT_EQ(log->torn, 0u);
}

std::string table(std::string_view columns, std::string_view texts, double factor) {
  return fmt::format(
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 16 step: 2(factor)\n#   Rank  0 Pid 1 on h device 0 [0x00] A100\n"
      "#   Rank  1 Pid 1 on h device 1 [0x00] A100\n#   Rank  2 Pid 1 on h device 2 [0x00] A100\n"
      "#   Rank  3 Pid 1 on h device 3 [0x00] A100\n"
      "#  size  count  type  {}  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n"
      "  1073741824  33554432  float  {}  4413.4  200.00  {:.2f}  0  4258.8  200.00  {:.2f}  0\n",
      columns, texts, 200 * factor, 200 * factor);
}

TEST(NcclTests, TheOperationByColumnsAndRatio) {
  const auto op = [](const std::string& text, std::string_view file = "x.log") {
    return parse_nccl_tests(text, file)->runs[0].op;
  };
  EXPECT_EQ(op(table("redop", "sum", 1.5)), Collective::all_reduce);
  EXPECT_EQ(op(table("", "", 0.75)), Collective::all_gather);
  EXPECT_EQ(op(table("redop", "", 0.75)), Collective::all_to_all);
  EXPECT_EQ(op(table("redop", "sum", 0.75)), Collective::reduce_scatter);
  EXPECT_EQ(op(table("root", "0", 1)), Collective::broadcast);
  EXPECT_EQ(op(table("redop root", "sum 0", 1)), Collective::reduce);
  EXPECT_EQ(op(table("redop root", "sum -1", 1)), Collective::send_recv);
  EXPECT_EQ(op(table("redop root", "none -1", 0.75)), std::nullopt);
  EXPECT_EQ(op(table("redop root", "none -1", 0.75), "dir/all_gather/alltoall-4.txt"), Collective::all_to_all);
  EXPECT_EQ(op(table("redop root", "none -1", 0.75), "nccl_allreduce.txt"), std::nullopt);
}

TEST(NcclTests, ManyRunsInOneFile) {
  const std::string text =
      std::string(kNew) + "srun /opt/broadcast_perf -b 8\n" + table("redop root", "none 0", 1) + std::string(kNew);
  const auto log = parse_nccl_tests(text, "x");
  ASSERT_TRUE(log);
  ASSERT_EQ(log->runs.size(), 3u);
  EXPECT_EQ(log->runs[0].program, "all_gather_perf");
  EXPECT_EQ(log->runs[1].program, "broadcast_perf");
  EXPECT_EQ(log->runs[1].ranks, 4u);
  EXPECT_EQ(log->runs[2].program, "all_gather_perf");
  EXPECT_EQ(log->runs[2].rows.size(), 2u);
}

TEST(NcclTests, TimesOfEachIterationAndTimestamps) {
  const auto log = parse_nccl_tests(
      "#  size  count  type  redop  root  time  algbw  busbw  #wrong  i_min  i_max  i_p99  i_cv%  time  algbw  busbw  #wrong  "
      "i_min  "
      "i_max  i_p99  i_cv%  timestamp\n"
      "  1073741824  33554432  float  sum  -1  4413.4  200.00  375.00  0  1 2 3 4  4258.8  210.00  393.75  0  5 6 7 8  "
      "2026-11-15 "
      "10:00:00\n",
      "x");
  ASSERT_TRUE(log) << log.error().what;
  const NcclTestRow& row = log->runs[0].rows.at(0);
  EXPECT_DOUBLE_EQ(row.in->bus_gb_s, 393.75);
  EXPECT_EQ(log->runs[0].op, Collective::all_reduce);
  EXPECT_EQ(log->runs[0].ranks, 16u);
}

TEST(NcclTests, JsonOfNcclTests) {
  const std::string text =
      R"({"version":3,"start_time":"2026-11-15 10:00:00","args":["\/opt\/build\/all_reduce_perf","-b","8"],"env":[],)"
      R"("nccl_version":22803,"config":{"nthreads":1,"ngpus":4,"devices":[)"
      R"({"rank":0,"group":0,"pid":1,"hostname":"a","device":0,"device_hex":"04","device_info":"NVIDIA H100 80GB HBM3"},)"
      R"({"rank":4,"group":0,"pid":2,"hostname":"b","device":0,"device_hex":"04","device_info":"NVIDIA H100 80GB HBM3"}]},)"
      R"("results":[{"size":1024,"count":256,"type":"float","redop":"sum","root":"    -1",)"
      R"("out_of_place":{"time":20.5,"alg_bw":0.05,"bus_bw":0.09,"nwrong":0.0},)"
      R"("in_place":{"time":"nan","alg_bw":0.05,"bus_bw":0.09,"nwrong":null},)"
      R"("actual_iterations":20,"experiment_name":""}],"out_of_bounds":{"count":0,"okay":"true"},)"
      R"("average_bus_bandwidth":{"bandwidth":12.5,"okay":"unchecked"},"errors":[],"end_time":"2026-11-15 10:00:10"})";
  ASSERT_TRUE(looks_like_nccl_tests(text));
  const auto log = parse_nccl_tests(text, "x.json");
  ASSERT_TRUE(log) << log.error().what;
  const NcclTestRun& r = log->runs.at(0);
  EXPECT_EQ(r.op, Collective::all_reduce);
  EXPECT_EQ(r.ranks, 8u);
  EXPECT_EQ(r.nodes, 2u);
  EXPECT_EQ(r.per_node, 4u);
  EXPECT_DOUBLE_EQ(r.rows.at(0).out->time_us, 20.5);
  EXPECT_DOUBLE_EQ(*r.average_bus_gb_s, 12.5);
}

TEST(NcclTests, JsonTellsTheEnvironmentAndTheMedian) {
  const auto log = parse_nccl_tests(
      R"({"version":3,"args":["all_reduce_perf","-R","1"],"env":["NCCL_ALGO=Ring","HOME=/root","NCCL_PROTO=LL","TOKEN=x"],)"
      R"("nccl_version":22803,"results":[{"size":1024,"count":256,"type":"float","redop":"sum","root":"-1",)"
      R"("out_of_place":{"time":20.5,"alg_bw":0.05,"bus_bw":0.09,"nwrong":0.0},)"
      R"("out_of_place_per_iter":{"p50_us":19.0,"times_us":[18.0,19.0,24.5]}}]})",
      "x.json");
  ASSERT_TRUE(log) << log.error().what;
  const NcclTestRun& r = log->runs.at(0);
  ASSERT_EQ(r.settings.size(), 2u);
  EXPECT_EQ(r.settings[1], (std::pair<std::string, std::string>("NCCL_PROTO", "LL")));
  EXPECT_TRUE(r.registered);
  EXPECT_DOUBLE_EQ(r.rows.at(0).out->median_us, 19.0);
}

TEST(NcclTests, RecordsOfRccl) {
  const std::string json =
      R"([{"numCycle":0,"name":"AllReduce","nodes":1,"ranks":8,"ranksPerNode":8,"gpusPerRank":1,"size":1024,"type":"float",)"
      R"("redop":"sum","inPlace":0,"time":20.5,"algBw":0.05,"busBw":0.09,"wrong":0},)"
      R"({"numCycle":0,"name":"AllReduce","nodes":1,"ranks":8,"ranksPerNode":8,"gpusPerRank":1,"size":1024,"type":"float",)"
      R"("redop":"sum","inPlace":1,"time":19.5,"algBw":0.06,"busBw":0.1,"wrong":"0"}])";
  const std::string csv =
      "numCycle,Name,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inPlace,time,algBw,busBw,#wrong\n"
      "0,AllReduce,1,8,8,1,1024,float,sum,0,20.5,0.05,0.09,0\n0,AllReduce,1,8,8,1,1024,float,sum,1,19.5,0.06,0.1,0\n";
  for (const std::string& text : {json, csv}) {
    ASSERT_TRUE(looks_like_nccl_tests(text));
    const auto log = parse_nccl_tests(text, "x");
    ASSERT_TRUE(log) << log.error().what;
    ASSERT_EQ(log->runs.size(), 1u);
    EXPECT_EQ(log->runs[0].op, Collective::all_reduce);
    EXPECT_EQ(log->runs[0].ranks, 8u);
    ASSERT_EQ(log->runs[0].rows.size(), 1u);
    EXPECT_DOUBLE_EQ(log->runs[0].rows[0].in->time_us, 19.5);
    EXPECT_DOUBLE_EQ(log->runs[0].rows[0].out->time_us, 20.5);
  }
}

TEST(NcclTests, NothingInIt) {
  EXPECT_FALSE(looks_like_nccl_tests("loss 1\n"));
  const auto r = parse_nccl_tests("loss 1\n", "a.log");
  ASSERT_FALSE(r);
  EXPECT_TRUE(r.error().what.starts_with("a.log: "));
}

}  // namespace
}  // namespace muster
