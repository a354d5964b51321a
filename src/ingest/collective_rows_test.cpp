#include "ingest/collective_rows.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

Result<CollectiveRows> read(const std::string& text) {
  const auto csv = parse_csv(text, "t.csv", false);
  return csv ? read_collective_rows(*csv, "t.csv") : tl::unexpected(csv.error());
}

constexpr const char* kPublished =
    "source,platform,gpu,nodes,gpus,network,collective,algorithm,nccl_version,bytes,time_us,busbw_GBps,placement,note\n";

TEST(CollectiveRows, PublishedTablesAreRead) {
  const auto t = read(std::string(kPublished) +
                      "s,AWS p5,H100,2,16,EFA 32x100G,all_reduce,default,,1048576,123,16,out-of-place,\n"
                      "s,DGX,H100,1,8,NVLink4,all_gather,NVLS,,8192,,0.5,,time from busbw\n"
                      "s,rack,GB200,18,72,NVLink5 MNNVL,all_reduce,default,,536870912,1807,586,,\n"
                      "s,x,A100,3,24,4x HDR200,all_reduce,default,,128,2680,96,,\n"
                      "s,y,H100,1,8,NVLink4,all_reduce,NVLS,,,,480,,\n"
                      "s,z,H100,,,NVLink4,all_reduce,NVLS,,64,5,480,,\n");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->rows.size(), 4U);
  EXPECT_EQ(t->rows[0].setup.network, "efa");
  EXPECT_DOUBLE_EQ(t->rows[0].setup.nic_gb_s, 50) << "32 cards of 100 Gb/s for 8 GPUs";
  EXPECT_EQ(t->rows[0].setup.together, 8U);
  EXPECT_DOUBLE_EQ(t->rows[0].time_s, 123e-6);
  EXPECT_NEAR(t->rows[1].time_s, 8192 * 7.0 / 8 / 0.5e9, 1e-12);
  EXPECT_EQ(t->rows[1].setup.network, "");
  EXPECT_EQ(t->rows[2].setup.together, 72U) << "NVLink joins nodes";
  EXPECT_DOUBLE_EQ(t->rows[3].setup.nic_gb_s, 12.5);
  ASSERT_EQ(t->skipped.size(), 2U);
  EXPECT_EQ(t->skipped[0].why, "it does not say how many bytes");
  EXPECT_EQ(t->skipped[1].why, "it does not say on how many GPUs");
}

TEST(CollectiveRows, BusBandwidthsAreRead) {
  const auto t = read(
      "collective,gpu,nodes,gpus,fabric,nccl,size_bytes,time_us,algbw_gb_s,busbw_gb_s,dtype,source\n"
      "alltoall,GB300,32,128,two NVL72 racks over RDMA,2.28.7,17179869184,357610,48,48,float,s\n"
      "all_reduce,H100 SXM,2,16,\"Nebius 8x400G NDR InfiniBand (VM)\",,large,,,470,float,s\n"
      "scan,H100 SXM,2,16,x,,1024,5,,470,float,s\n");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->rows.size(), 1U);
  EXPECT_EQ(t->rows[0].setup.op, Collective::all_to_all);
  EXPECT_EQ(t->rows[0].setup.together, 72U);
  EXPECT_EQ(t->skipped[0].why, "it does not say how many bytes");
  EXPECT_EQ(t->skipped[1].why, "the operation scan is not known");
}

TEST(CollectiveRows, WhatIsWrongHasItsLine) {
  const auto t = read(std::string(kPublished) + "s,p,H100,two,16,EFA,all_reduce,,,64,5,1,,\n");
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().what, "t.csv:2: nodes must be a number, is 'two'");
  EXPECT_FALSE(read("a,b\n1,2\n"));
  EXPECT_FALSE(parse_collective_classes("class,share,start,knee,rows\nnvls,1.2,5,1,3\n")) << "no share above 1";
  EXPECT_FALSE(parse_collective_spread("basis,low,high\ncalibrated,1.1,1.2\n"));
}

TEST(CollectiveRows, WhatShipsIsRead) {
  EXPECT_GE(shipped_collectives().size(), 200U);
  EXPECT_GE(shipped_collective_classes().size(), 4U);
  EXPECT_LT(shipped_collective_spread().low, 1);
}

}  // namespace
}  // namespace muster
