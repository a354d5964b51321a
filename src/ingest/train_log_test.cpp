#include "ingest/train_log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

TrainEvent one(std::string_view line) {
  const auto e = parse_train_line(line);
  EXPECT_TRUE(e) << line;
  return e.value_or(TrainEvent{});
}

TEST(TrainLog, reads_completions_in_all_their_spellings) {
  for (const char* line :
       {"w0:3468:3905 [4] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 10.2.1.6<54862> with status=12 opcode=0 "
        "len=0 "
        "vendor err 129 (Recv) localGid fd00::1 remoteGidsfd00::2",
        "w0:3468:3905 [4] transport/net_ib.cc:788 NCCL WARN NET/IB : Got completion from peer 10.2.1.6<54862> with error 12, "
        "opcode 0, "
        "len 0, vendor err 129",
        "[2026-11-15 00:21:43] w0:3468:3905 [4] p2p.cc:9 NCCL WARN NET/IB: Got completion from peer 10.2.1.6<54862> with "
        "status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=129 req_type=Send hca mlx5_0",
        "10.0.0.1: w0:3468:3905 [4] NCCL WARN NET/IB : Got completion from peer 10.2.1.6<1> with status=12 opcode=0 vendor err "
        "129"}) {
    const TrainEvent e = one(line);
    EXPECT_EQ(e.kind, TrainKind::ib_completion) << line;
    EXPECT_EQ(e.status, 12) << line;
    EXPECT_EQ(e.vendor_err, 129) << line;
    EXPECT_EQ(e.peer, "10.2.1.6") << line;
    EXPECT_EQ(e.host, "w0") << line;
    EXPECT_EQ(e.gpu, 4) << line;
  }
  EXPECT_EQ(one("h:1:2 [0] x.cc:1 NCCL WARN NET/IB: Got completion from peer 10.2.1.6<4> with status=5 opcode=0 vendor_err=249 "
                "hca mlx5_3")
                .device,
            "mlx5_3");
}

TEST(TrainLog, tells_a_port_that_goes_from_one_that_comes) {
  const TrainEvent down = one("h:1:2 [0] transport/net_ib.cc:97 NCCL WARN NET/IB : mlx5_5:1 Got async error event: port error");
  EXPECT_EQ(down.kind, TrainKind::ib_port_error);
  EXPECT_EQ(down.device, "mlx5_5:1");
  EXPECT_EQ(one("h:1:2 [0] transport/net_ib.cc:97 NCCL WARN NET/IB : Got async error event: port active").kind,
            TrainKind::ib_port_active);
  EXPECT_EQ(one("h:1:2 [0] transport/net_ib.cc:97 NCCL WARN NET/IB : mlx5_5:1 Got async error event: GID table change").kind,
            TrainKind::ib_event);
}

TEST(TrainLog, other_warnings_of_nccl) {
  const TrainEvent closed =
      one("vm:565:807 [0] misc/socket.cc:72 NCCL WARN socketProgress: Connection closed by remote peer n7<37212>");
  EXPECT_EQ(closed.kind, TrainKind::peer_closed);
  EXPECT_EQ(closed.peer, "n7");
  EXPECT_EQ(one("h:1:2 [0] init.cu:11 NCCL WARN Mismatched collective detected, please check your collective calls at and around "
                "rank 11.")
                .rank,
            11);
  EXPECT_EQ(one("h:1:2 [1] enqueue.cc:4 NCCL WARN Cuda failure 'uncorrectable ECC error encountered'").kind,
            TrainKind::cuda_failure);
  EXPECT_EQ(one("h:1:2 [1] x.cc:4 NCCL WARN NCCL_IB_HCA is set to nothing").kind, TrainKind::nccl_warning);
}

TEST(TrainLog, reads_the_watchdog_with_and_without_element_counts) {
  const TrainEvent old =
      one("[E ProcessGroupNCCL.cpp:737] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=469508, "
          "OpType=ALLREDUCE, "
          "Timeout(ms)=1800000) ran for 1802212 milliseconds before timing out.");
  EXPECT_EQ(old.kind, TrainKind::watchdog_timeout);
  EXPECT_EQ(old.rank, 1);
  EXPECT_EQ(old.seq, 469508);
  EXPECT_EQ(old.op, "ALLREDUCE");
  EXPECT_EQ(old.numel_in, -1);
  EXPECT_EQ(old.timeout_ms, 1800000);
  EXPECT_EQ(old.ran_ms, 1802212);
  const TrainEvent now =
      one("  1%| | 24/1752 [01:08<1:22:56,  2.88s/it][rank5]:[E602 11:17:52.185 ProcessGroupNCCL.cpp:632] [Rank 5] Watchdog "
          "caught collective "
          "operation timeout: WorkNCCL(SeqNum=808, OpType=_REDUCE_SCATTER_BASE, NumelIn=980, NumelOut=98, Timeout(ms)=600000) "
          "ran for 600020 "
          "milliseconds before timing out.");
  EXPECT_EQ(now.rank, 5);
  EXPECT_EQ(now.numel_in, 980);
  EXPECT_EQ(now.op, "_REDUCE_SCATTER_BASE");
}

TEST(TrainLog, reads_where_a_rank_stood_under_each_name_of_a_group) {
  const TrainEvent a =
      one("[rank9]:[E321 02:07:08 ProcessGroupNCCL.cpp:1664] [PG 1 Rank 1] Exception (either an error or timeout) detected by "
          "watchdog at work: "
          "1580, last enqueued NCCL work: 1582, last completed NCCL work: 1579.");
  EXPECT_EQ(a.kind, TrainKind::watchdog_failure);
  EXPECT_EQ(a.group, "1");
  EXPECT_EQ(a.rank, 9);
  EXPECT_EQ(a.last_enqueued, 1582);
  EXPECT_EQ(a.last_completed, 1579);
  const TrainEvent b =
      one("[rank118]:[E603 17:48:01 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank 118]  failure detected by "
          "watchdog at work "
          "sequence id: 2398459 PG status: last enqueued work: 2398578, last completed work: 2398458");
  EXPECT_EQ(b.group, "0(default_pg)");
  EXPECT_EQ(b.seq, 2398459);
  EXPECT_EQ(b.last_completed, 2398458);
}

TEST(TrainLog, knows_a_watchdog_that_hangs_and_a_signal_from_another_rank) {
  EXPECT_EQ(
      one("[rank144]:[E ProcessGroupNCCL.cpp:1316] [PG 0 Rank 144] Heartbeat monitor timed out! Process will be terminated").kind,
      TrainKind::heartbeat_timeout);
  EXPECT_EQ(one("[rank0]:[E1115 ProcessGroupNCCL.cpp:1914] [PG ID 0 PG GUID 0 Rank 0] Received a dump signal due to a collective "
                "timeout")
                .kind,
            TrainKind::dump_signal);
}

TEST(TrainLog, passes_over_everything_else) {
  for (const char* line : {"", "iteration 100/5000 | elapsed time per iteration (ms): 1234.5 | lm loss: 2.1E+00",
                           "vm:436:436 [0] NCCL INFO Bootstrap: Using eth0:192.0.2.2<0>", "  distributed_backend ........ nccl",
                           "[INFO] [comm.py:668:init_distributed] Initializing TorchBackend in DeepSpeed with backend nccl",
                           "frame #2: c10d::ProcessGroupNCCL::WorkNCCL::checkAndSetException() + 0x80",
                           "[rank0]:[E1115 ProcessGroupNCCL.cpp:733] Stack trace of the failed collective: "})
    EXPECT_FALSE(parse_train_line(line)) << line;
}

TEST(TrainLog, folds_repeats_and_finds_the_rank_that_did_not_come) {
  std::string text;
  for (int rank = 0; rank < 8; ++rank) {
    for (int again = 0; again < 3; ++again) {
      text += "[rank" + std::to_string(rank) + "]:[E1 x] [Rank " + std::to_string(rank) +
              "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" + std::to_string(rank == 5 ? 9 : 10) +
              ", OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600" + std::to_string(again) +
              "02 milliseconds before timing out.\n";
    }
    text += "[rank" + std::to_string(rank) + "]:[E1 x] [PG ID 0 PG GUID 0(default_pg) Rank " + std::to_string(rank) +
            "]  failure detected by watchdog at work sequence id: 10 PG status: last enqueued work: " +
            std::to_string(rank == 5 ? 9 : 12) + ", last completed work: 9\n";
  }
  const TrainLog log = parse_train_log(text);
  EXPECT_EQ(log.lines, 32u);
  EXPECT_EQ(log.events.size(), 16u);
  EXPECT_EQ(log.folded, 16u);
  EXPECT_EQ(log.events[0].repeats, 2u);
  EXPECT_EQ(log.events[0].line, 1u);
  EXPECT_EQ(ranks_behind(log, "0(default_pg)"), std::vector<int>{5});
}

TEST(TrainLog, counts_what_it_does_not_understand_and_what_it_leaves_out) {
  EXPECT_EQ(parse_train_log("[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqN").not_understood, 1u);
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "h:1:2 [0] x.cc:4 NCCL WARN number " + std::to_string(i) + "\n";
  const TrainLog log = parse_train_log(text);
  EXPECT_EQ(log.events.size(), kTrainEventsMax);
  EXPECT_EQ(log.left_out, 5000 - kTrainEventsMax);
  const TrainEvent e = one("h:1:2 [0] x.cc:4 NCCL WARN " + std::string(100'000, 'x'));
  EXPECT_EQ(e.text.size(), kTrainTextMax);
}

TEST(TrainLog, reads_a_real_log_of_a_rank_that_was_killed) {
  const char* data = std::getenv("MUSTER_DATA");
  std::ifstream in(std::string(data != nullptr ? data : "/nowhere") + "/collectives/nccl_h200/res_4.txt");
  if (!in) GTEST_SKIP() << "collectives/nccl_h200/res_4.txt of $MUSTER_DATA is not there";
  std::stringstream text;
  text << in.rdbuf();
  const TrainLog log = parse_train_log(text.str());
  EXPECT_EQ(log.not_understood, 0u);
  const auto has = [&](TrainKind k, std::int64_t seq) {
    return std::any_of(log.events.begin(), log.events.end(),
                       [&](const TrainEvent& e) { return e.kind == k && e.seq == seq && e.rank == 0; });
  };
  EXPECT_TRUE(has(TrainKind::nccl_error, 372));
  EXPECT_TRUE(has(TrainKind::watchdog_failure, 372));
  EXPECT_TRUE(has(TrainKind::dump_signal, -1));
}

TEST(TrainLog, a_progress_bar_hides_nothing) {
  const std::string timeout =
      "[rank0]:[E1115 15:27:03 P.cpp:689] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=401, "
      "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=25000) ran for 25023 milliseconds before timing out.";
  std::string bar;
  while (bar.size() < 20'000) bar += "\r 10%|##        | 100/1000";
  const auto e = parse_train_line(bar + "\r" + timeout + "\r");
  ASSERT_TRUE(e);
  EXPECT_EQ(e->rank, 0);
}

}  // namespace
}  // namespace muster
