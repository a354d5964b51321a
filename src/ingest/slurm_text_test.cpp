#include "ingest/slurm_text.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace muster::slurm {
namespace {

using Names = std::vector<std::string>;

TEST(SlurmNames, AListIsExpanded) {
  EXPECT_EQ(expand_names("gpu[0001-0003,0007],login").value(), (Names{"gpu0001", "gpu0002", "gpu0003", "gpu0007", "login"}));
  EXPECT_EQ(expand_names("a,b1").value(), (Names{"a", "b1"}));
  EXPECT_EQ(expand_names("").value(), Names{});
  EXPECT_EQ(expand_names("n[9-11]").value(), (Names{"n9", "n10", "n11"}));
}

TEST(SlurmNames, WhatIsNoListIsSaidSo) {
  for (const char* bad : {"gpu[1-", "gpu[]", "gpu[2-1]", "gpu[a-b]", ",", "a,", "a,,b", "gpu[1]x", "gpu[1],", "gpu]", "a b",
                          "n[1-999999999]", "n[99999999999999999999]"}) {
    const auto r = expand_names(bad);
    ASSERT_FALSE(r) << bad;
    EXPECT_NE(r.error().what.find("no list of nodes"), std::string::npos);
    EXPECT_FALSE(r.error().next.empty());
  }
}

TEST(SlurmNames, NamesBecomeTheShortestListAndBack) {
  EXPECT_EQ(compress_names({"gpu0007", "gpu0002", "gpu0001", "gpu0003", "gpu0002"}), "gpu[0001-0003,0007]");
  EXPECT_EQ(compress_names({"gpu0007"}), "gpu0007");
  EXPECT_EQ(compress_names({"login", "gpu1", "gpu01"}), "gpu1,gpu01,login");
  EXPECT_EQ(compress_names({}), "");
  const Names many = expand_names("a[1-9],b[08-12],c").value();
  EXPECT_EQ(expand_names(compress_names(many)).value(), many);
}

std::string row(const std::string& id, const std::string& state, const std::string& name, const std::string& nonce = "k3",
                const std::string& tasks = "N/A|1") {
  return fmt::format(
      "{}#{}#{}|None|2|gres:gpu:8||cpu=2,node=2,billing=2|gpu[0005,0007]||1126|1794794752|1794794753|NONE|1794794753|1-00:00:00|"
      "batch|"
      "(null)|ml|ada|(null)|(null)|OK|(null)|1|1|0|N/A|{}|muster: gate%{}%{}|\n",
      id, nonce, state, tasks, nonce, name);
}

TEST(Squeue, WhoHasNodesAloneIsToldDifferentlySince2605) {
  EXPECT_FALSE(tells_exclusive_apart("slurm 22.05.8\n"));
  EXPECT_FALSE(tells_exclusive_apart("slurm 25.11.7"));
  EXPECT_TRUE(tells_exclusive_apart("slurm 26.05.5\n"));
  EXPECT_TRUE(tells_exclusive_apart("slurm-wlm 26.05.5\n")) << "as Debian has it";
  EXPECT_FALSE(tells_exclusive_apart("slurm-wlm 22.05.8\n"));
  EXPECT_TRUE(tells_exclusive_apart("slurm 27.11.0-rc1"));
  EXPECT_FALSE(tells_exclusive_apart("slurm"));
  EXPECT_FALSE(tells_exclusive_apart(""));
  EXPECT_NE(squeue_format("k3", true).find(",Exclusive:|"), std::string::npos);
  EXPECT_EQ(squeue_format("k3", true).find("OverSubscribe"), std::string::npos);
  std::string text = row("17", "RUNNING", "a");
  EXPECT_EQ(parse_squeue(text, "k3", true)->front().sharing, "OK");
  text.replace(text.find("|OK|"), 4, "|NO|");
  EXPECT_EQ(parse_squeue(text, "k3", false)->front().sharing, "NO") << "alone, by the older ones";
  EXPECT_EQ(parse_squeue(text, "k3", true)->front().sharing, "OK") << "not alone, by the newer ones";
}

TEST(Squeue, GpusOfTasksCount) {
  std::string text = row("17", "PENDING", "a", "k3", "gres:gpu:1|16");
  text.replace(text.find("gres:gpu:8"), 10, "N/A");
  EXPECT_EQ(parse_squeue(text, "k3")->front().gpus, 16U);
}

TEST(Squeue, ARowIsRead) {
  const auto rows = parse_squeue(row("17_3", "RUNNING", "train"), "k3");
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1U);
  const JobRow& r = rows->front();
  EXPECT_EQ(render(r.id), "17_3");
  EXPECT_EQ(r.state, "RUNNING");
  EXPECT_EQ(r.reason, "");
  EXPECT_EQ(r.nodes, 2U);
  EXPECT_EQ(r.gpus_per_node, 8U);
  EXPECT_EQ(r.node_list, "gpu[0005,0007]");
  EXPECT_EQ(r.priority, 1126U);
  EXPECT_EQ(r.started.ns, 1794794753'000'000'000);
  EXPECT_EQ(r.ended.ns, 0);
  EXPECT_EQ(r.time_limit_s, 86400);
  EXPECT_EQ(r.partition, "batch");
  EXPECT_EQ(r.account, "ml");
  EXPECT_EQ(r.user, "ada");
  EXPECT_EQ(r.restarts, 1U);
  EXPECT_TRUE(r.requeue);
  EXPECT_FALSE(r.het);
  EXPECT_EQ(r.name, "train");
  EXPECT_EQ(r.admin_comment, "muster: gate");
}

TEST(Squeue, NobodyNamesAJobSoThatItIsTakenForAnother) {
  const std::string evil = "x|\n99#k2#RUNNING|None|64|gres:gpu:8|||gpu[0001-0064]|9|9|9|9|9|9|batch|q|a|root||||||||y|\n98";
  const auto rows = parse_squeue(row("17", "PENDING", evil) + row("18", "PENDING", "b|c"), "k3");
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ(rows->at(0).name, evil);
  EXPECT_EQ(rows->at(1).id.number, 18U);
  EXPECT_EQ(rows->at(1).name, "b|c");
}

TEST(Squeue, WhatIsCutOffIsNoAnswer) {
  const std::string whole = row("17", "PENDING", "a") + row("18", "RUNNING", "b");
  ASSERT_TRUE(parse_squeue(whole, "k3"));
  EXPECT_EQ(parse_squeue("", "k3")->size(), 0U);
  for (std::size_t n = 1; n < whole.size(); ++n) {
    const auto r = parse_squeue(std::string_view(whole).substr(0, n), "k3");
    if (r) {
      EXPECT_EQ(r->size(), 1U) << n << ": only where the first row ends";
    }
  }
}

TEST(Squeue, MembersOfAnArrayThatWaitAreOneRow) {
  const auto rows = parse_squeue(row("17_[3-9,12%2]", "PENDING", "a") + row("20+1", "PENDING", "het"), "k3");
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->at(0).pending, "3-9,12%2");
  EXPECT_TRUE(rows->at(1).het);
}

TEST(Scontrol, NodesAreRead) {
  const auto nodes = parse_nodes(
      "NodeName=gpu0001 Arch=aarch64 CoresPerSocket=48  CPUAlloc=0 AvailableFeatures=h200,ib Gres=gpu:h200:8(S:0-1) "
      "Version=22.05.8 "
      "OS=Linux 6.1 #1 SMP State=DOWN*+DRAIN+REBOOT_ISSUED ThreadsPerCore=1 Partitions=batch,urgent  BootTime=1794708093 "
      "Reason=bad fan State=IDLE [root@1794795095]\n"
      "NodeName=cpu1 Gres=(null) State=IDLE Partitions=batch BootTime=None \n");
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 2U);
  const NodeRow& n = nodes->front();
  EXPECT_EQ(n.state.front(), "DOWN");
  EXPECT_TRUE(n.has("DRAIN") && n.has("REBOOT_ISSUED") && n.has("NOT_RESPONDING"));
  EXPECT_EQ(n.reason, "bad fan State=IDLE") << "a reason says nothing about the state";
  EXPECT_EQ(n.reason_by, "root");
  EXPECT_EQ(n.reason_at.ns, 1794795095'000'000'000);
  EXPECT_EQ(n.gpus, 8U);
  EXPECT_EQ(n.gpu_type, "h200");
  EXPECT_EQ(n.partitions, (Names{"batch", "urgent"}));
  EXPECT_EQ(nodes->at(1).gpus, 0U);
  EXPECT_TRUE(nodes->at(1).reason.empty());
  EXPECT_FALSE(parse_nodes("NodeName=gpu0001 Arch=aar"));
  EXPECT_FALSE(parse_nodes("slurm_load_node: Unable to contact slurm controller"));
}

TEST(Scontrol, SwitchesPartitionsReservationsAndTimes) {
  const auto t = parse_topology(
      "SwitchName=leaf001 Level=0 LinkSpeed=1 Nodes=gpu[0001-0004]\nSwitchName=spine Level=1 Switches=leaf[001-002]\n# x\n");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->at(0).nodes, "gpu[0001-0004]");
  EXPECT_EQ(t->at(1).switches, "leaf[001-002]");
  const auto blocks = parse_topology(
      "BlockName=b01 BlockIndex=0 Nodes=gpu[0001-0002] BlockSize=2\nBlockName=b02 BlockIndex=1 Nodes=gpu[0003-0004] BlockSize=2\n"
      "AggregatedBlock=b[01-02] BlockIndex=2 Nodes=gpu[0001-0004] BlockSize=4\n");
  ASSERT_TRUE(blocks);
  ASSERT_EQ(blocks->size(), 2U);
  EXPECT_EQ(blocks->at(1).name, "b02");
  EXPECT_EQ(blocks->at(1).nodes, "gpu[0003-0004]");
  const auto p = parse_partitions(
      "PartitionName=batch Default=YES Nodes=gpu[0001-0008] PriorityTier=10 OverSubscribe=NO PreemptMode=REQUEUE State=UP\n");
  ASSERT_TRUE(p);
  EXPECT_EQ(p->front().tier, 10U);
  EXPECT_TRUE(p->front().stoppable && p->front().up);
  const auto r = parse_reservations(
      "ReservationName=maint StartTime=1794708093 EndTime=1794795095 Nodes=gpu0001 Flags=MAINT,IGNORE_JOBS,SPEC_NODES\n");
  ASSERT_TRUE(r);
  EXPECT_EQ(r->front().flags.front(), "MAINT");
  EXPECT_TRUE(parse_reservations("No reservations in the system\n")->empty());
  EXPECT_EQ(parse_span_s("1-02:03:04"), 93784);
  EXPECT_EQ(parse_span_s("02:03:04"), 7384);
  EXPECT_EQ(parse_span_s("03:04"), 184);
  EXPECT_EQ(parse_span_s("UNLIMITED"), 0);
  EXPECT_EQ(parse_config("PriorityMaxAge          = 01:00:00\nx\n").at("PriorityMaxAge"), "01:00:00");
}

TEST(Scontrol, GpusInAllTheirSpellings) {
  std::string type;
  EXPECT_EQ(gpus_in("gres:gpu:8"), 8U);
  EXPECT_EQ(gpus_in("gres/gpu:h200:4", &type), 4U);
  EXPECT_EQ(type, "h200");
  EXPECT_EQ(gpus_in("gpu"), 1U);
  EXPECT_EQ(gpus_in("cpu=2,mem=2000M,node=2,gres/gpu=16,gres/gpu:h200=16"), 16U);
  EXPECT_EQ(gpus_in("gpu:a100:2,gpu:h200:6"), 8U);
  EXPECT_EQ(gpus_in("gpumem:80,license=3"), 0U);
  EXPECT_EQ(gpus_in("gpu:99999999999999999999"), 1U);
  const auto slots = parse_slots(
      "JobId=4 JOB_GRES=gpu:h200:6   Nodes=gpu[0003-0004] CPU_IDs=0 Mem=1 GRES=gpu:h200:2(IDX:0-1)   "
      "Nodes=gpu0005 CPU_IDs=0 Mem=1 GRES=gpu:h200:2(IDX:3,7)");
  EXPECT_EQ(slots.at("gpu0003"), 3);
  EXPECT_EQ(slots.at("gpu0004"), 3);
  EXPECT_EQ(slots.at("gpu0005"), 0x88);
  EXPECT_TRUE(
      parse_slots("JobId=4 JobName=x JOB_GRES=gpu:1 Nodes=a GRES=gpu:1(IDX:0) JOB_GRES=gpu:2  Nodes=a GRES=gpu:2(IDX:4-5)")
          .empty())
      << "one of the two is a job's name";
  EXPECT_EQ(parse_slots("JobId=4 JOB_GRES=gpu:2  Nodes=a GRES=gpu:2(IDX:4-5) MinCPUsNode=1 Command=/x Nodes=a GRES=gpu:1(IDX:0)")
                .at("a"),
            0x30)
      << "what a command is called says nothing";
}

}  // namespace
}  // namespace muster::slurm
