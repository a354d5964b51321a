#include "ingest/nccl_inspector.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

std::string record(int rank, int seq, double us) {
  return fmt::format(
      R"({{"header":{{"id":"0x7f8c","comm_name":"dp","rank":{},"n_ranks":4,"nnodes":2}},)"
      R"("metadata":{{"inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":"nccl_profiler_interface",)"
      R"("dump_timestamp_us":1748030377748202,"hostname":"n{}","pid":1}},)"
      R"("coll_perf":{{"coll":"AllReduce","coll_sn":{},"coll_msg_size_bytes":1048576,"coll_exec_time_us":{},)"
      R"("coll_timing_source":"kernel_gpu","coll_algobw_gbs":1.5,"coll_busbw_gbs":2.25}}}})"
      "\n",
      rank, rank / 2, seq, us);
}

TEST(NcclInspector, RanksOfManyFiles) {
  InspectorReader r;
  r.feed(record(1, 2, 20) + record(1, 1, 10));
  r.end_file();
  r.feed(record(0, 1, 11));
  const InspectorLog log = r.finish();
  ASSERT_EQ(log.series.size(), 1u);
  const InspectorSeries& s = log.series[0];
  EXPECT_EQ(log.version, "v4.0");
  EXPECT_EQ(s.comm_name, "dp");
  EXPECT_EQ(s.ranks, 4u);
  EXPECT_EQ(s.nodes, 2u);
  EXPECT_EQ(s.collective, Collective::all_reduce);
  ASSERT_EQ(s.tracks.size(), 2u);
  EXPECT_EQ(s.tracks[1].rank, 1u);
  ASSERT_EQ(s.tracks[1].samples.size(), 2u);
  EXPECT_EQ(s.tracks[1].samples[0].seq, 1u);
  EXPECT_DOUBLE_EQ(s.tracks[1].samples[0].time_us, 10);
  EXPECT_DOUBLE_EQ(s.tracks[1].samples[0].bus_gb_s, 2.25);
}

TEST(NcclInspector, PairsAndWhatIsNotUnderstood) {
  const std::string text = record(0, 1, 5) +
                           R"({"header":{"id":"0x1","rank":0,"n_ranks":2,"nnodes":1},)"
                           R"("p2p_perf":{"p2p":"Send","p2p_sn":3,"p2p_peer":1,)"
                           R"("p2p_msg_size_bytes":64,"p2p_exec_time_us":7,"p2p_algobw_gbs":1,"p2p_busbw_gbs":1}})"
                           "\nnot json\n{\"header\":{}}\n" +
                           record(0, 2, 5).substr(0, 40);
  ASSERT_TRUE(looks_like_nccl_inspector(text));
  const InspectorLog log = parse_nccl_inspector(text);
  EXPECT_EQ(log.records, 2u);
  EXPECT_EQ(log.not_understood, 3u);
  EXPECT_EQ(log.damaged, 1u);
  ASSERT_EQ(log.series.size(), 2u);
  EXPECT_EQ(log.series[0].op, "Send");
  EXPECT_EQ(log.series[0].collective, Collective::send_recv);
  EXPECT_EQ(log.series[0].tracks[0].samples[0].peer, 1);
  EXPECT_EQ(log.series[1].tracks[0].samples[0].peer, -1);
}

TEST(NcclInspector, AFileThatEndsInTheMiddleOfARecordDoesNotSpoilTheNext) {
  InspectorReader r;
  r.feed(record(0, 1, 5) + record(0, 2, 5).substr(0, 40));
  r.end_file();
  r.feed(record(1, 1, 5));
  const InspectorLog log = r.finish();
  EXPECT_EQ(log.records, 2u);
  EXPECT_EQ(log.damaged, 1u);
}

TEST(NcclInspector, OtherJsonIsNone) {
  EXPECT_FALSE(looks_like_nccl_inspector("{\"traceEvents\":[]}"));
  EXPECT_FALSE(looks_like_nccl_inspector("header coll_perf"));
}

}  // namespace
}  // namespace muster
