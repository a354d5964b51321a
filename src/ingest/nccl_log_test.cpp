#include "ingest/nccl_log.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace muster {
namespace {

constexpr std::string_view kShort = R"(Epoch 1 begins
NCCL version 2.21.5+cuda12.4
@7 NCCL_IB_HCA set by environment to mlx5_0,mlx5_1
@7 NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.7<0>
@7 Using network IB
@7 ncclCommInit comm 0x5581 rank 0 nranks 2 cudaDev 0 busId 1b000 commId 0x8f1c - Init START
@8 NET/IB : No device found.
@8 NET/Socket : Using [0]eth0:10.0.0.8<0> [1]docker0:172.17.0.1<0>
@8 Using network Socket
@8 [Rank 1] ncclCommInit comm 0x77 rank 1 nranks 2 cudaDev 3 busId 5d000 commId 0x8f1c - Init START
@7 NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'
@7 NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1'
@7 NVLS multicast support is not available on dev 0
@7 comm 0x5581 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
@7 Channel 00/04 :    0   1
@7 Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1
@p Channel 00/0 : 1[3] -> 0[0] [receive] via NET/IB/0/GDRDMA
@p Channel 00/0 : 0[0] -> 1[3] [send] via NET/IB/0(1)/GDRDMA/Shared
@p Channel 01/0 : 0[0] -> 1[3] [send] via NET/AWS Libfabric/1
@p Channel 01 : 0[1b000] -> 1[1c000] via SHM/direct/direct
@p Channel 02/0 : 0[0] -> 1[1] via P2P/direct pointer/read
@7 Connected all rings, use ring PXN 0 GDR 1
@7 24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 2 p2p channels per peer
@7 ncclCommInit comm 0x5581 rank 0 nranks 2 cudaDev 0 busId 1b000 commId 0x8f1c - Init COMPLETE
@7 Init timings - Init: rank 0 nranks 2 total 8.31 (kernels 0.20, alloc 0.31, bootstrap 7.02, rest 0.01)
@7 AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..7}
@7 AllReduce: 4194304 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..15}
@7 16 Bytes -> Algo 0 proto 0 time 7.2
@7 AllGather: opCount 1f sendbuff 0x7f recvbuff 0x7f count 1024 datatype 9 op 0 root 0 comm 0x5581 [nranks=2] stream 0x1
)";
// "@7" is node7's first thread, "@p" its proxy, "@8" node8: Open MPI's mark, and NCCL's own.
std::string expand(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) {
    const bool of7 = line.starts_with("@7 "), proxy = line.starts_with("@p "), of8 = line.starts_with("@8 ");
    out += of7     ? "[1,0]<stdout>:node7:100:140 [0] NCCL INFO "
           : proxy ? "[1,0]<stdout>:node7:100:141 [0] NCCL INFO "
           : of8   ? "[1,8]<stdout>:node8:200:240 [3] NCCL INFO "
                   : "";
    out += std::string(of7 || proxy || of8 ? line.substr(3) : line) + "\n";
  }
  out.pop_back();
  return out;
}
const std::string kTwoRanks = expand(kShort);

const NcclHost& host(const NcclLog& log, std::string_view name) {
  for (const NcclHost& h : log.hosts) {
    if (h.name == name) return h;
  }
  ADD_FAILURE() << name;
  return log.hosts.front();
}

TEST(NcclLog, RanksOfManyNodesInOneFile) {
  ASSERT_TRUE(looks_like_nccl_log(kTwoRanks));
  const NcclLog log = parse_nccl_log(kTwoRanks, "job.log");
  ASSERT_EQ(log.hosts.size(), 2u);
  EXPECT_EQ(log.versions.count("2.21.5+cuda12.4"), 1u);
  const NcclHost& a = host(log, "node7");
  EXPECT_EQ(a.networks, std::vector<std::string>{"IB"});
  ASSERT_EQ(a.devices.size(), 2u);
  EXPECT_EQ(a.devices[1].name, "mlx5_1:1");
  EXPECT_EQ(a.devices[1].link, "RoCE");
  EXPECT_EQ(a.devices[0].gdr, true);
  EXPECT_EQ(a.devices[1].gdr, false);
  EXPECT_EQ(a.oob, "eth0");
  EXPECT_EQ(a.no_nvls, 1u);
  const NcclHost& b = host(log, "node8");
  EXPECT_TRUE(b.no_rdma_device);
  EXPECT_EQ(b.interfaces, (std::vector<std::string>{"eth0", "docker0"}));
  ASSERT_EQ(log.settings.size(), 1u);
  EXPECT_EQ(log.settings[0].name, "NCCL_IB_HCA");
  EXPECT_EQ(log.settings[0].value, "mlx5_0,mlx5_1");
  EXPECT_EQ(log.settings[0].at.line, 3u);
}

TEST(NcclLog, CommunicatorsWithTheirBeginning) {
  const NcclLog log = parse_nccl_log(kTwoRanks, "job.log");
  ASSERT_EQ(log.comms.size(), 2u);
  const NcclComm& c = log.comms[0];
  EXPECT_EQ(c.id, 0x8f1cu);
  EXPECT_EQ(c.rank, 0u);
  EXPECT_EQ(c.nodes, 2u);
  EXPECT_EQ(c.local_ranks, 1u);
  EXPECT_EQ(c.channels, 24);
  EXPECT_EQ(c.nvls_channels, 16);
  EXPECT_EQ(c.p2p_channels, 32);
  EXPECT_EQ(c.rings, 4);
  EXPECT_EQ(c.trees, 2);
  EXPECT_EQ(c.gdr, 1);
  EXPECT_TRUE(c.complete);
  EXPECT_DOUBLE_EQ(c.init.total_s, 8.31);
  ASSERT_EQ(c.init.parts_s.size(), 4u);
  EXPECT_EQ(c.init.parts_s[2].first, "bootstrap");
  EXPECT_DOUBLE_EQ(c.init.parts_s[2].second, 7.02);
  EXPECT_FALSE(log.comms[1].complete);
  EXPECT_EQ(log.comms[1].gpu, 3);
}

TEST(NcclLog, PathsAreCountedByTheirKind) {
  const NcclLog log = parse_nccl_log(kTwoRanks, "job.log");
  const auto& paths = host(log, "node7").paths;
  ASSERT_EQ(paths.size(), 5u);
  EXPECT_TRUE(paths[0].gdr);
  EXPECT_FALSE(paths[0].proxied);
  EXPECT_TRUE(paths[1].proxied);
  EXPECT_EQ(paths[2].via, "AWS Libfabric");
  EXPECT_EQ(paths[2].device, 1);
  EXPECT_FALSE(paths[2].gdr);
  EXPECT_EQ(paths[3].transport, NcclTransport::shm);
  EXPECT_EQ(paths[4].via, "direct");
}

TEST(NcclLog, WhatTheTunerChoseAndWhatWasCalled) {
  const NcclLog log = parse_nccl_log(kTwoRanks, "job.log");
  ASSERT_EQ(log.choices.size(), 2u);
  EXPECT_EQ(log.choices[0].times, 2u);
  EXPECT_EQ(log.choices[0].channels, 16);
  EXPECT_EQ(log.choices[0].most_bytes, 4194304);
  EXPECT_EQ(log.choices[1].algorithm, "TREE");
  EXPECT_EQ(log.choices[1].protocol, "LL");
  ASSERT_EQ(log.calls.size(), 1u);
  EXPECT_EQ(log.calls[0].bytes, 1024 * 2 * 2);
}

TEST(NcclLog, LinesMayLieAcrossPieces) {
  const NcclLog whole = parse_nccl_log(kTwoRanks, "job.log");
  for (const std::size_t size : {1u, 7u, 100u}) {
    NcclLogReader r;
    r.begin_file("job.log");
    for (std::size_t i = 0; i < kTwoRanks.size(); i += size) r.feed(std::string_view(kTwoRanks).substr(i, size));
    const NcclLog log = r.finish();
    EXPECT_EQ(log.lines, whole.lines);
    EXPECT_EQ(log.nccl_lines, whole.nccl_lines);
    EXPECT_EQ(log.comms.size(), whole.comms.size());
    EXPECT_EQ(host(log, "node7").paths.size(), 5u);
  }
}

// As eight ranks wrote it into one pipe.
TEST(NcclLog, TornLinesMakeNoNodesOfTheirOwn) {
  const NcclLog log = parse_nccl_log(
      "dc07:1:1 [0] NCCL INFO CC Off, workFifoBytes 1048576\n"
      "dc07:1801:1801 [5] NCCL INFO ncclCommInitRankConfig comm 0x56 rank 5 nranks 8 cudaDev 5 nvmlDev 5 busId "
      "a8dc07:1803:1803 [7] NCCL INFO ncclCommInitRankConfig comm 0x58 rank 7 nranks 8 cudaDev 7 nvmlDev 7 busId ca000 commId "
      "0x7b "
      "- Init COMPLETE\n",
      "x");
  ASSERT_EQ(log.hosts.size(), 1u);
  EXPECT_EQ(log.hosts[0].name, "dc07");
  ASSERT_EQ(log.comms.size(), 1u);
  EXPECT_EQ(log.comms[0].rank, 7u);
}

TEST(NcclLog, ColourAndTimesBeforeTheLine) {
  const NcclLog log =
      parse_nccl_log("\x1b[32m3: [2026-11-15 10:00:00] node1:5:6 [2] NCCL INFO Using network Socket\x1b[0m\n", "x");
  ASSERT_EQ(log.hosts.size(), 1u);
  EXPECT_EQ(log.hosts[0].networks, std::vector<std::string>{"Socket"});
}

TEST(NcclLog, WarningsAreFolded) {
  std::string text;
  for (int i = 0; i < 3; ++i) {
    text +=
        "n1:5:6 [2] transport/net_ib.cc:10 NCCL WARN NET/IB: Got completion from peer 10.0.0.9<40001> with status=12 opcode=0 "
        "len=0 vendor err 129 (Recv) hca mlx5_3\n";
  }
  const NcclLog log = parse_nccl_log(text, "x");
  ASSERT_EQ(log.troubles.size(), 1u);
  EXPECT_EQ(log.troubles[0].kind, NcclTroubleKind::completion);
  EXPECT_EQ(log.troubles[0].times, 3u);
  EXPECT_EQ(log.troubles[0].device, "mlx5_3");
  EXPECT_EQ(log.troubles[0].peer, "10.0.0.9");
  EXPECT_EQ(log.troubles[0].status, 12);
}

TEST(NcclLog, OtherTextIsNone) {
  EXPECT_FALSE(looks_like_nccl_log("loss 3.2\nNCCL INFO is what one sets\n"));
  EXPECT_FALSE(looks_like_nccl_log(""));
  EXPECT_TRUE(looks_like_nccl_log("n1:5:6 [2] init.cc:1 NCCL WARN something\n"));
}

TEST(NcclLog, MemoryIsBounded) {
  NcclLogReader r;
  r.begin_file("x");
  for (int i = 0; i < 20000; ++i) r.feed("h" + std::to_string(i) + ":1:1 [0] NCCL INFO Using network IB\n");
  r.feed(std::string(1 << 20, 'x'));
  const NcclLog log = r.finish();
  EXPECT_EQ(log.hosts.size(), kNcclHostsMax);
  EXPECT_EQ(log.left_out, 20000 - kNcclHostsMax);
}

TEST(NcclLog, WhereARankStoodIsOfATimeoutOnlyWhereOneIsLogged) {
  constexpr const char* kStanding =
      "[rank0]:[E ProcessGroupNCCL.cpp:2303] [PG ID 7 PG GUID 7 Rank 0]  failure detected by watchdog at work sequence id: 372 "
      "PG status: last enqueued work: 372, last completed work: 371\n";
  const auto error = parse_nccl_log(kStanding, "job.log");
  ASSERT_EQ(error.troubles.size(), 1U);
  EXPECT_EQ(error.troubles[0].kind, NcclTroubleKind::error);
  const auto late = parse_nccl_log(std::string(kStanding) +
                                       "[E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog caught collective operation timeout: "
                                       "WorkNCCL(SeqNum=372, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600001 milliseconds\n",
                                   "job.log");
  ASSERT_EQ(late.troubles.size(), 2U);
  EXPECT_EQ(late.troubles[0].kind, NcclTroubleKind::standing);
}

}  // namespace
}  // namespace muster
