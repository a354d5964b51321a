#include "diagnose/nccl.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::diagnose {
namespace {

// Two nodes of eight, over InfiniBand as it should be.
NcclLog sound() {
  NcclLog log;
  log.files = {"job.log"};
  log.versions["2.21.5"] = 1;
  for (const char* name : {"n1", "n2"}) {
    NcclHost h;
    h.name = name;
    h.networks = {"IB"};
    h.oob = "eth0";
    for (std::int32_t i = 0; i < 4; ++i) {
      h.devices.push_back({i, "mlx5_" + std::to_string(i) + ":1", "IB", true});
      h.paths.push_back({NcclTransport::net, "IB", i, true, false, 4, {0, 7}});
    }
    h.paths.push_back({NcclTransport::p2p, "CUMEM", -1, false, false, 64, {0, 8}});
    h.nvls = 8;
    log.hosts.push_back(h);
  }
  for (std::uint32_t r = 0; r < 16; ++r) {
    NcclComm c;
    c.id = 9;
    c.rank = r;
    c.ranks = 16;
    c.nodes = 2;
    c.local_ranks = 8;
    c.host = r < 8 ? "n1" : "n2";
    c.complete = true;
    c.channels = 16;
    c.init.total_s = 3;
    log.comms.push_back(c);
  }
  return log;
}

std::vector<Finding> find(const NcclLog& log, const std::string& gpu = "") {
  std::vector<GpuModel> gpus(1);
  gpus[0].name = "h100";
  gpus[0].nvls = true;
  gpus[0].nvlink_gb_s = 450;
  NcclHint hint;
  hint.gpu = gpu;
  return find_in_nccl_log(log, gpus, hint);
}

// The only one, or a failure.
Finding only(const NcclLog& log, const std::string& gpu = "") {
  const auto all = find(log, gpu);
  if (all.size() != 1) {
    for (const Finding& f : all) ADD_FAILURE() << f.title;
    return {};
  }
  return all[0];
}

TEST(NcclFindings, NothingWhereAllIsWell) {
  for (const Finding& f : find(sound(), "h100")) ADD_FAILURE() << f.title;
}

TEST(NcclFindings, SocketsWhereThereAreCards) {
  NcclLog log = sound();
  for (NcclHost& h : log.hosts) {
    h.networks = {"Socket"};
    h.paths = {{NcclTransport::net, "Socket", 0, false, false, 4, {0, 7}},
               {NcclTransport::p2p, "CUMEM", -1, false, false, 4, {}}};
  }
  log.settings.push_back({"NCCL_IB_DISABLE", "1", {0}, {0, 2}});
  const Finding f = only(log);
  EXPECT_EQ(f.title, "nodes talk over TCP sockets and not over RDMA cards");
  EXPECT_EQ(f.remedy, "unset NCCL_IB_DISABLE");
  EXPECT_EQ(f.confidence, Confidence::high);
}

TEST(NcclFindings, OneNodeNeedsNoNetwork) {
  NcclLog log = sound();
  log.hosts.resize(1);
  log.hosts[0].networks = {"Socket"};
  std::erase_if(log.hosts[0].paths, [](const NcclPath& p) { return p.transport == NcclTransport::net; });
  for (NcclComm& c : log.comms) c.nodes = 1;
  EXPECT_TRUE(find(log).empty());
}

TEST(NcclFindings, CardsThatDoNotReachTheGpus) {
  NcclLog log = sound();
  for (NcclPath& p : log.hosts[1].paths) p.gdr = false;
  const Finding f = only(log);
  EXPECT_EQ(f.title, "16 of 32 connections between nodes go without GPUDirect RDMA");
  EXPECT_NE(std::find(f.evidence.begin(), f.evidence.end(), "on none of the connections of n2"), f.evidence.end());
}

TEST(NcclFindings, SharedMemoryWithinANode) {
  NcclLog log = sound();
  log.hosts[0].paths.push_back({NcclTransport::shm, "direct", -1, false, false, 6, {0, 33}});
  log.settings.push_back({"NCCL_P2P_DISABLE", "1", {0}, {0, 2}});
  const Finding f = only(log);
  EXPECT_EQ(f.remedy, "unset NCCL_P2P_DISABLE");
  EXPECT_EQ(f.evidence[0], "job.log:33: via SHM: 6 connections on n1, 128 by P2P");
}

TEST(NcclFindings, NvlsThatIsMissing) {
  NcclLog log = sound();
  log.hosts[1].nvls = 0;
  log.hosts[1].no_nvls = 8;
  EXPECT_EQ(only(log).title, "NVLink SHARP (NVLS) is not available on n2");
  log.hosts[0].nvls = 0;
  log.hosts[0].no_nvls = 8;
  EXPECT_TRUE(find(log).empty()) << "it may be a GPU that has none";
  EXPECT_EQ(only(log, "h100").title, "NVLink SHARP (NVLS) is not available although the GPUs have it");
}

TEST(NcclFindings, CardsThatAreNotUsedOrNotThere) {
  NcclLog one = sound();
  for (NcclHost& h : one.hosts) {
    for (NcclPath& p : h.paths) p.device = p.transport == NcclTransport::net ? 0 : -1;
  }
  EXPECT_EQ(only(one).title, "one of 4 RDMA cards carries all that leaves the node");
  NcclLog fewer = sound();
  fewer.hosts.push_back(fewer.hosts[0]);
  fewer.hosts[2].name = "n3";
  fewer.hosts[1].devices.pop_back();
  EXPECT_EQ(only(fewer).title, "nodes with fewer RDMA cards than the 4 of most: n2 (3)");
}

TEST(NcclFindings, SettingsThatHurt) {
  NcclLog log = sound();
  log.settings.push_back({"NCCL_PROTO", "Simple", {0, 1}, {0, 2}});
  EXPECT_EQ(only(log).remedy, "unset NCCL_PROTO and let NCCL choose");
  log.settings = {{"NCCL_P2P_DISABLE", "1", {0, 1}, {0, 2}}};
  EXPECT_EQ(only(log).title, "NCCL_P2P_DISABLE is set to 1: GPUs of one node exchange through the host's memory");
  log.settings = {{"NCCL_BUFFSIZE", "8388608", {0}, {}}, {"NCCL_DEBUG", "INFO", {0}, {}}, {"NCCL_PXN_DISABLE", "0", {0}, {}}};
  EXPECT_TRUE(find(log).empty());
  log.settings = {{"NCCL_IB_TC", "106", {0}, {0, 5}}, {"NCCL_IB_TC", "0", {1}, {0, 9}}};
  EXPECT_EQ(only(log).title, "NCCL_IB_TC is not the same on all ranks");
}

TEST(NcclFindings, SlowBeginningsAndVersions) {
  NcclLog log = sound();
  log.comms[4].init = {62, {{"kernels", 2}, {"bootstrap", 55}, {"topo", 1}}};
  const Finding f = only(log);
  EXPECT_EQ(f.title, "a communicator of 16 ranks took 62 s to begin, 55 of them bootstrap");
  EXPECT_NE(f.remedy.find("NCCL_SOCKET_IFNAME"), std::string::npos);
  NcclLog mixed = sound();
  mixed.versions["2.19.3"] = 4;
  EXPECT_EQ(only(mixed).title, "ranks run different versions of NCCL");
}

TEST(NcclFindings, TheNetworkByItsName) {
  NcclLog log = sound();
  EXPECT_EQ(network_of(log), "infiniband");
  for (NcclHost& h : log.hosts) h.devices[0].link = "RoCE";
  EXPECT_EQ(network_of(log), "roce");
  for (NcclHost& h : log.hosts) h.networks = {"AWS Libfabric"};
  EXPECT_EQ(network_of(log), "efa");
  for (NcclHost& h : log.hosts) h.networks = {"Socket"};
  EXPECT_EQ(network_of(log), "");
}

TEST(NcclFindings, RanksThatNeverCame) {
  NcclLog log = sound();
  for (NcclComm& c : log.comms) c.complete = false;
  log.comms.erase(log.comms.begin() + 11);
  EXPECT_EQ(only(log).title, "a communicator of 16 ranks never began: rank 11 did not come");
}

TEST(NcclFindings, LinksThatFail) {
  NcclLog log = sound();
  NcclTrouble t;
  t.kind = NcclTroubleKind::completion;
  t.host = "n1";
  t.device = "mlx5_3";
  t.peer = "10.0.0.9";
  t.status = 12;
  t.at = {0, 40};
  t.times = 3;
  NcclTrouble flushed = t;
  flushed.device = "mlx5_0";
  flushed.status = 5;
  NcclTrouble second = t;
  second.peer = "10.0.0.8";
  log.troubles = {t, flushed, second};
  const Finding f = only(log);
  EXPECT_EQ(f.title, "transfers over RDMA failed on 2 links, 2 of them with n1 mlx5_3");
  EXPECT_EQ(f.evidence.size(), 2u);
  EXPECT_EQ(f.evidence[1], "job.log:40: n1 mlx5_3 to 10.0.0.9: the other end did not answer (status 12), 3 times");
}

NcclTrouble failed(const char* host, const char* peer) {
  NcclTrouble t;
  t.kind = NcclTroubleKind::completion;
  t.host = host;
  t.device = "mlx5_1";
  t.peer = peer;
  t.status = 12;
  return t;
}

TEST(NcclFindings, OneFailedTransferMayBeEitherEndsFault) {
  NcclLog log = sound();
  log.troubles = {failed("n1", "10.0.0.7")};
  const Finding f = only(log);
  EXPECT_EQ(f.title, "transfers over RDMA failed between n1 mlx5_1 and 10.0.0.7");
  EXPECT_TRUE(f.remedy.starts_with("either end may be at fault, or the path between: 10.0.0.7, n1 mlx5_1")) << f.remedy;
  EXPECT_EQ(f.remedy.find("NCCL_IB_RETRY_CNT"), std::string::npos) << "7 is the default";
}

TEST(NcclFindings, APeerThatAnotherConnectionDidNotReachEitherIsLookedAtFirst) {
  NcclLog log = sound();
  NcclTrouble warning;
  warning.text = "socketStartConnect: Connect to 10.0.0.7<45231> failed : Software caused connection abort";
  log.troubles = {warning, failed("n1", "10.0.0.7")};
  const auto all = find(log);
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(all[0].remedy.starts_with("10.0.0.7 first, which another connection did not reach either")) << all[0].remedy;
  log.troubles[0].text = "socketStartConnect: Connect to 10.0.0.71<45231> failed : Software caused connection abort";
  EXPECT_TRUE(find(log)[0].remedy.starts_with("either end")) << "that is another address";
}

TEST(NcclFindings, APeerThatSeveralNameIsLookedAtFirst) {
  NcclLog log = sound();
  log.troubles = {failed("n1", "10.0.0.7"), failed("n1", "10.0.0.8"), failed("n2", "10.0.0.7")};
  const Finding f = only(log);
  EXPECT_EQ(f.title, "transfers over RDMA failed on 3 links, 2 of them with 10.0.0.7");
  EXPECT_TRUE(f.remedy.starts_with("10.0.0.7 first, which most of them have in common")) << f.remedy;
  log.troubles = {failed("n1", "10.0.0.7"), failed("n2", "10.0.0.8")};
  EXPECT_TRUE(only(log).remedy.starts_with("no end is common to them")) << only(log).remedy;
}

TEST(NcclFindings, WhoIsBehindAtATimeout) {
  NcclLog log = sound();
  for (const int rank : {0, 1, 2, 3}) {
    NcclTrouble t;
    t.kind = NcclTroubleKind::standing;
    t.rank = rank;
    t.group = "0";
    t.seq = 118;
    t.last_enqueued = rank == 2 ? 117 : 120;
    t.last_completed = 117;
    t.text = "Timeout at NCCL work: 118";
    log.troubles.push_back(t);
  }
  NcclTrouble old;
  old.kind = NcclTroubleKind::timeout;
  old.rank = 0;
  old.seq = 118;
  old.op = "ALLREDUCE";
  old.timeout_ms = 600000;
  log.troubles.push_back(old);
  const Finding f = only(log);
  EXPECT_EQ(f.expected, "done within 600 s");
  EXPECT_EQ(f.title, "ALLREDUCE number 118 of group 0 timed out: rank 2 did not come to it");
  EXPECT_EQ(f.evidence[1], "last enqueued: 117 there, 120 on the others");
}

TEST(NcclFindings, RanksAtDifferentNumbersDidNotTimeOutInOneCollective) {
  NcclLog log;
  log.troubles.push_back({.kind = NcclTroubleKind::timeout, .group = "0", .op = "ALLREDUCE", .rank = 0, .seq = 96120});
  log.troubles.push_back({.kind = NcclTroubleKind::timeout, .group = "0", .op = "ALLREDUCE", .rank = 7, .seq = 64088});
  EXPECT_EQ(only(log).title, "ranks timed out at different collectives of group 0: rank 7 at 64088 lags behind rank 0 at 96120");
  // One of them alone tells how far it came.
  log.troubles.push_back({.kind = NcclTroubleKind::standing, .group = "0", .rank = 7, .seq = 64088, .last_enqueued = 64088});
  EXPECT_TRUE(only(log).title.starts_with("ranks timed out at different collectives")) << only(log).title;
  log.troubles.pop_back();
  log.troubles[1].seq = 96120;
  EXPECT_EQ(only(log).title, "ALLREDUCE number 96120 of group 0 timed out on 2 ranks");
  log.troubles.pop_back();
  log.troubles[0].rank = -1;
  EXPECT_EQ(only(log).title, "ALLREDUCE number 96120 of group 0 timed out") << "which ranks is not told";
}

}  // namespace
}  // namespace muster::diagnose
