#include "diagnose/fabric_doctor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"

namespace muster::diagnose {
namespace {

DoctorMaterial of_text(std::string_view text) {
  SignReader r;
  r.begin_file("job.log");
  r.feed(text);
  DoctorMaterial m;
  m.signs = r.finish();
  return m;
}

std::string cause_of(const DoctorMaterial& m) {
  const Examination e = examine(m, {}, {});
  return e.verdicts.empty() ? "unknown" : e.verdicts.front().cause;
}

bool has(const std::vector<Finding>& all, std::string_view cause) {
  return std::any_of(all.begin(), all.end(), [&](const Finding& f) { return f.cause == cause; });
}

TEST(FabricDoctor, ALineThatTellsItsCauseIsQuotedWithItsPlace) {
  const DoctorMaterial m = of_text(
      "n1:1:2 [0] NCCL INFO Using network IB\n"
      "n1:1:2 [0] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\n");
  const Examination e = examine(m, {}, {});
  ASSERT_EQ(e.verdicts.size(), 1U);
  EXPECT_EQ(e.verdicts[0].cause, "shm_too_small");
  EXPECT_EQ(e.verdicts[0].confidence, Confidence::high);
  ASSERT_FALSE(e.verdicts[0].evidence.empty());
  EXPECT_TRUE(e.verdicts[0].evidence[0].starts_with("job.log:2: ")) << e.verdicts[0].evidence[0];
  EXPECT_FALSE(e.verdicts[0].remedy.empty());
  EXPECT_FALSE(e.verdicts[0].verify.empty());
}

TEST(FabricDoctor, WhatFollowsComesBehindWhatCausedIt) {
  EXPECT_EQ(cause_of(of_text("x NCCL WARN socketProgress: Connection closed by remote peer n3<1>\n"
                             "x NCCL WARN Cuda failure 'out of memory'\n")),
            "gpu_memory");
}

TEST(FabricDoctor, MemoryThatRanOutIsNearerToTheRootThanWhoWaited) {
  DoctorMaterial m = of_text("[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.\n");
  m.log.troubles.push_back({.kind = NcclTroubleKind::timeout, .rank = 0, .seq = 1580});
  const Examination e = examine(m, {}, {});
  ASSERT_GE(e.verdicts.size(), 2U);
  EXPECT_EQ(e.verdicts[0].cause, "gpu_memory");
  EXPECT_TRUE(e.verdicts[0].title.ends_with("(rank 3)")) << e.verdicts[0].title;
  EXPECT_EQ(e.verdicts[1].cause, "collective_timeout");
  EXPECT_EQ(cause_of(of_text("[12.3] Out of memory: Killed process 42 (python3) total-vm:9kB\n"
                             "[rank1]: NCCL error: remote process exited or there was a network error\n")),
            "host_memory");
  EXPECT_EQ(cause_of(of_text("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.\n")), "host_memory");
  EXPECT_EQ(cause_of(of_text("\"OOMKilled\": false\n")), "unknown");
}

TEST(FabricDoctor, ACallOfVerbsThatFailsWithoutAReasonIsTakenForLockedMemory) {
  const SignMatch m = sign_of("n1:1:2 [0] misc/ibvwrap.cc:268 NCCL WARN Call to ibv_create_cq failed");
  EXPECT_EQ(m.cause, "memlock_limit");
  EXPECT_EQ(m.confidence, Confidence::medium);
  EXPECT_TRUE(sign_of("NCCL WARN Call to ibv_create_qp failed with error Invalid argument").cause.empty());
  EXPECT_EQ(sign_of("NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory").confidence, Confidence::high);
}

TEST(FabricDoctor, RanksAtDifferentNumbersAreSaidToBe) {
  DoctorMaterial m;
  m.log.troubles.push_back({.kind = NcclTroubleKind::timeout, .op = "ALLREDUCE", .rank = 0, .seq = 96120});
  m.log.troubles.push_back({.kind = NcclTroubleKind::timeout, .op = "ALLREDUCE", .rank = 7, .seq = 64088});
  const Examination e = examine(m, {}, {});
  ASSERT_EQ(e.verdicts.size(), 1U);
  EXPECT_EQ(e.verdicts[0].title, "ranks timed out at different collectives: rank 7 at 64088 lags behind rank 0 at 96120");
  EXPECT_TRUE(e.verdicts[0].remedy.starts_with("look at rank 7")) << e.verdicts[0].remedy;
  // What each had enqueued tells more.
  m.log.troubles.push_back({.kind = NcclTroubleKind::standing, .rank = 7, .seq = 64088, .last_enqueued = 64088});
  m.log.troubles.push_back({.kind = NcclTroubleKind::standing, .rank = 0, .seq = 96120, .last_enqueued = 96121});
  EXPECT_TRUE(examine(m, {}, {}).verdicts[0].title.ends_with("timed out: rank 7 did not come to it"));
}

TEST(FabricDoctor, CardsOfOneFileAreAllNamed) {
  DoctorMaterial m;
  for (const char* name : {"mlx5_0", "mlx5_1"}) m.counters.push_back({"before", name, {{"local_ack_timeout_err", 0}}});
  for (const char* name : {"mlx5_0", "mlx5_1"}) m.counters.push_back({"after", name, {{"local_ack_timeout_err", 9}}});
  const Examination e = examine(m, {}, {});
  ASSERT_EQ(e.verdicts.size(), 1U);
  EXPECT_EQ(e.verdicts[0].evidence.size(), 2U);
  EXPECT_TRUE(e.verdicts[0].evidence.back().starts_with("after: mlx5_1: ")) << e.verdicts[0].evidence.back();
}

TEST(FabricDoctor, FallsOfLongAgoDoNotHideWhatFailsNow) {
  DoctorMaterial m = of_text("n1:1:2 [0] NCCL WARN Call to ibv_modify_qp failed with error Connection timed out\n");
  m.counters.push_back({"counters", "mlx5_0", {{"link_downed", 200}}});
  EXPECT_EQ(cause_of(m), "rdma_unreachable");
  m.counters.clear();
  m.errors.push_back({"ibqueryerrors", "leaf1", 3, {{"LinkDownedCounter", 1}, {"SymbolErrorCounter", 2}}});
  EXPECT_EQ(cause_of(m), "rdma_unreachable") << "every start of a node counts one";
  m.errors[0].counters[0].second = 37;
  EXPECT_EQ(cause_of(m), "link_flap");
}

TEST(FabricDoctor, WhatAProgramDidIsNoFaultOfItsGpu) {
  EXPECT_EQ(sign_of("[9.1] NVRM: Xid (PCI:0000:3b:00): 79, pid=12, GPU has fallen off").cause, "gpu_fault");
  EXPECT_EQ(sign_of("[9.1] NVRM: Xid (PCI:0000:3b:00): 48, pid=12").cause, "gpu_fault");
  for (const char* xid : {"13", "31", "43", "45"})
    EXPECT_TRUE(sign_of(std::string("[9.1] NVRM: Xid (PCI:0000:3b:00): ") + xid + ", pid=12, name=python").cause.empty()) << xid;
}

TEST(FabricDoctor, CausesComeInTheOrderOfTheirRanks) {
  const auto all = known_causes();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const Cause* x, const Cause* y) { return x->rank < y->rank; }));
}

TEST(FabricDoctor, AllRanksThatSaySoAreCounted) {
  std::string text;
  for (int rank = 0; rank < 100; ++rank) text += "[rank" + std::to_string(rank) + "]: torch.OutOfMemoryError: CUDA\n";
  const Examination e = examine(of_text(text), {}, {});
  ASSERT_EQ(e.verdicts.size(), 1U);
  EXPECT_TRUE(e.verdicts[0].title.ends_with("and 92 more)")) << e.verdicts[0].title;
}

TEST(FabricDoctor, AnInterfaceIsNoCardWithoutGpuDirect) {
  DoctorMaterial m;
  NcclTopology t;
  t.gpus.resize(2);
  t.cards.resize(1);
  t.cards[0].name = "eth0";
  t.cards[0].gb_s = 25;
  t.numa_unknown = true;
  m.topologies.push_back(t);
  EXPECT_EQ(cause_of(m), "unknown");
  m.topologies[0].cards[0].name = "mlx5_0";
  EXPECT_TRUE(has(check_wiring(m), "no_gpudirect"));
}

TEST(FabricDoctor, AHealthyLogIsUnknownAndSaysWhatWasLookedFor) {
  DoctorMaterial m = of_text("n1:1:2 [0] NCCL INFO Connected all rings\n");
  m.log.lines = 1;
  const Examination e = examine(m, {}, {});
  EXPECT_TRUE(e.verdicts.empty());
  EXPECT_FALSE(e.looked_for.empty());
}

TEST(FabricDoctor, TwoTestsSideBySideAreOneThatWasBuiltWithoutMpi) {
  EXPECT_EQ(cause_of(of_text("# nThread 1 nGpus 8 minBytes 8 maxBytes 128\n# nThread 1 nGpus 8 minBytes 8 maxBytes 128\n")),
            "tests_without_mpi");
  EXPECT_EQ(cause_of(of_text("# nThread 1 nGpus 8 minBytes 8 maxBytes 128\n# Avg bus bandwidth    : 3\n"
                             "# nThread 1 nGpus 8 minBytes 8 maxBytes 128\n# Avg bus bandwidth    : 3\n")),
            "unknown")
      << "one after the other is as it should be";
}

TEST(FabricDoctor, ConnectionsThatFailOverAVirtualInterfaceAreItsFault) {
  DoctorMaterial m = of_text("n1:1:2 [0] NCCL INFO Call to connect returned Connection timed out, retrying\n");
  EXPECT_EQ(cause_of(m), "peer_unreachable");
  m.log.hosts.push_back({.name = "n1", .interfaces = {"eno1", "veth12"}});
  EXPECT_EQ(cause_of(m), "wrong_interface");
}

TEST(FabricDoctor, PortsThatRedirectBreakGpuDirect) {
  DoctorMaterial m;
  PciPort p;
  p.file = "lspci";
  p.line = 7;
  p.acs = true;
  m.ports.push_back(p);
  EXPECT_EQ(cause_of(m), "unknown");
  m.ports[0].redirected = m.ports[0].source_validated = true;
  EXPECT_EQ(cause_of(m), "pcie_acs");
}

TEST(FabricDoctor, AGpuThatRestsMayBeSlowButNotNarrow) {
  DoctorMaterial m;
  PciPort p;
  p.what = "3D controller: NVIDIA";
  p.gt_s = 2.5;
  p.gt_s_most = 32;
  p.lanes = p.lanes_most = 16;
  m.ports.push_back(p);
  EXPECT_EQ(cause_of(m), "unknown");
  m.ports[0].lanes = 8;
  EXPECT_EQ(cause_of(m), "pcie_degraded");
}

NcclTestLog table(const std::vector<std::pair<double, double>>& rows) {
  NcclTestLog log;
  log.file = "t";
  log.runs.push_back({});
  for (const auto& [bytes, bus] : rows) {
    NcclTestRow r;
    r.bytes = bytes;
    r.line = static_cast<std::uint32_t>(log.runs[0].rows.size() + 1);
    r.out = NcclTestTiming{};
    r.out->time_us = 1;
    r.out->alg_gb_s = r.out->bus_gb_s = bus;
    log.runs[0].rows.push_back(r);
  }
  return log;
}

TEST(FabricDoctor, BandwidthThatFallsApartIsFoundAtItsSize) {
  DoctorMaterial m;
  m.benches.push_back(table({{16 << 20, 24}, {32 << 20, 29.5}, {64 << 20, 5.3}, {128 << 20, 5.2}}));
  const Examination e = examine(m, {}, {});
  ASSERT_EQ(e.verdicts.size(), 1U);
  EXPECT_EQ(e.verdicts[0].cause, "size_collapse");
  EXPECT_NE(e.verdicts[0].title.find("64 MiB"), std::string::npos) << e.verdicts[0].title;
}

TEST(FabricDoctor, ARowWithoutATimeIsNoCollapse) {
  DoctorMaterial m;
  m.benches.push_back(table({{16 << 20, 24}, {32 << 20, 29.5}, {64 << 20, 30}}));
  m.benches[0].runs[0].rows[1].out.reset();
  EXPECT_FALSE(has(check_tables(m), "size_collapse"));
}

TEST(FabricDoctor, ATableThatRisesNeverCollapses) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Prng prng(seed, "tables");
    std::vector<std::pair<double, double>> rows;
    double bytes = 1 << 16, rate = 0;
    for (int i = 0; i < 20; ++i) rows.emplace_back(bytes *= 2, rate += 10 * prng.unit());
    DoctorMaterial m;
    m.benches.push_back(table(rows));
    EXPECT_FALSE(has(check_tables(m), "size_collapse")) << seed;
  }
}

TEST(FabricDoctor, WrongValuesAreACauseOfTheirOwn) {
  DoctorMaterial m;
  m.benches.push_back(table({{1 << 18, 0.8}, {1 << 19, 0.8}}));
  m.benches[0].runs[0].rows[0].out->wrong = 0;
  EXPECT_FALSE(has(check_tables(m), "corrupt_data"));
  m.benches[0].runs[0].rows[1].out->wrong = 17;
  Examination e = examine(m, {}, {});
  ASSERT_FALSE(e.verdicts.empty());
  EXPECT_EQ(e.verdicts[0].cause, "corrupt_data");
  EXPECT_EQ(e.verdicts[0].title, "an exchange gave 17 wrong values") << "of how many GPUs is not told";
  EXPECT_TRUE(e.verdicts[0].evidence[0].starts_with("t:2: ")) << e.verdicts[0].evidence[0];
  m.benches[0].runs[0].ranks = 8;
  m.benches[0].runs[0].program = "all_reduce_perf";
  e = examine(m, {}, {});
  EXPECT_EQ(e.verdicts[0].title, "all_reduce_perf over 8 GPUs gave 17 wrong values");
}

TEST(FabricDoctor, EverySignHasACause) {
  for (const char* line :
       {"NCCL WARN Duplicate GPU detected : rank 1", "Cuda failure 'system not yet initialized'",
        "NET/IB : Unable to open device mlx5_0", "Call to ibv_modify_qp failed with error No data available"}) {
    const SignMatch m = sign_of(line);
    ASSERT_FALSE(m.cause.empty()) << line;
    EXPECT_NE(cause_named(m.cause), nullptr) << m.cause;
  }
  EXPECT_TRUE(sign_of("step 12 loss 2.3").cause.empty());
}

RoceSettings card() {
  RoceSettings s;
  s.file = "qos";
  s.what = "mlnx_qos";
  s.trust = "dscp";
  s.pfc = std::vector<int>{3};
  s.priority_of.emplace();
  for (std::size_t d = 0; d < 64; ++d) (*s.priority_of)[d] = static_cast<int>(d / 8);
  return s;
}

TEST(Roce, MarksComeBeforePausesOrItIsSaid) {
  DoctorMaterial m;
  m.roce.push_back(card());
  m.roce[0].kmin_kb = 150;
  m.roce[0].kmax_kb = 450;
  m.roce[0].xoff_kb = 2000;
  EXPECT_FALSE(has(check_roce(m), "roce_threshold_order"));
  m.roce[0].xoff_kb = 300;
  EXPECT_TRUE(has(check_roce(m), "roce_threshold_order"));
}

TEST(Roce, NcclsClassMustBeTheLosslessOne) {
  DoctorMaterial m;
  m.roce.push_back(card());
  m.log.settings.push_back({"NCCL_IB_TC", "106", {}, {}});  // DSCP 26, priority 3
  EXPECT_FALSE(has(check_roce(m), "roce_class"));
  m.log.settings[0].value = "0";
  const auto found = check_roce(m);
  ASSERT_TRUE(has(found, "roce_class"));
  const auto f = std::find_if(found.begin(), found.end(), [](const Finding& x) { return x.cause == "roce_class"; });
  EXPECT_NE(f->remedy.find("NCCL_IB_TC=104"), std::string::npos) << f->remedy;
}

TEST(Roce, PrioritiesAgreeAndAreMarked) {
  DoctorMaterial m;
  m.roce = {card(), card()};
  EXPECT_FALSE(has(check_roce(m), "roce_pfc_mismatch"));
  m.roce[1].pfc = std::vector<int>{4};
  EXPECT_TRUE(has(check_roce(m), "roce_pfc_mismatch"));
  m.roce[1] = card();
  m.roce[1].ecn = std::vector<int>{0};
  EXPECT_TRUE(has(check_roce(m), "roce_ecn_off"));
  m.roce[1].trust = "pcp";
  EXPECT_TRUE(has(check_roce(m), "roce_trust"));
}

TEST(Roce, WhatACardMarksMayStandInAnotherFile) {
  DoctorMaterial m;
  RoceSettings marks;
  marks.file = "ecn.txt";
  marks.what = "ecn";
  marks.ecn = std::vector<int>{3};
  m.roce = {card(), marks};
  EXPECT_FALSE(has(check_roce(m), "roce_ecn_off"));
  m.roce[1].ecn->clear();
  const auto found = check_roce(m);
  ASSERT_TRUE(has(found, "roce_ecn_off"));
  const auto f = std::find_if(found.begin(), found.end(), [](const Finding& x) { return x.cause == "roce_ecn_off"; });
  EXPECT_EQ(f->evidence[0], "ecn.txt: ecn: PFC on 3, ECN on none");
}

TEST(Roce, AClassThatNobodySetIsNotSure) {
  DoctorMaterial m;
  m.roce.push_back(card());
  m.log.settings.push_back({"NCCL_DEBUG", "INFO", {}, {}});
  const auto found = check_roce(m);
  const auto f = std::find_if(found.begin(), found.end(), [](const Finding& x) { return x.cause == "roce_class"; });
  ASSERT_NE(f, found.end());
  EXPECT_EQ(f->confidence, Confidence::medium) << "the cards may have one of their own";
}

RoceSettings leaf() {
  RoceSettings s = card();
  s.file = "config_db.json";
  s.what = "SONiC";
  s.is_switch = true;
  s.ecn = std::vector<int>{3};
  return s;
}

TEST(Roce, TheSwitchMustPauseWhatTheCardsUse) {
  DoctorMaterial m;
  m.roce = {card(), leaf()};
  m.log.settings.push_back({"NCCL_IB_TC", "106", {}, {}});  // DSCP 26, priority 3
  EXPECT_EQ(cause_of(m), "unknown");
  m.roce[1].pfc = std::vector<int>{4};
  const Examination e = examine(m, {}, {});
  ASSERT_EQ(e.verdicts.size(), 1U) << "neither NCCL's class is wrong, nor are marks of a priority that nobody uses";
  EXPECT_EQ(e.verdicts[0].cause, "roce_pfc_mismatch");
  EXPECT_TRUE(e.verdicts[0].remedy.starts_with("PFC on priority 3 at the switch")) << e.verdicts[0].remedy;
}

TEST(Roce, AClassIsProposedOnlyWhereAllSidesCarryIt) {
  DoctorMaterial m;
  m.roce = {card(), leaf()};
  m.log.settings.push_back({"NCCL_IB_TC", "104", {}, {}});
  (*m.roce[1].priority_of)[26] = 1;  // the switch alone leads it elsewhere
  Examination e = examine(m, {}, {});
  ASSERT_FALSE(e.verdicts.empty());
  EXPECT_EQ(e.verdicts[0].cause, "roce_class");
  EXPECT_TRUE(e.verdicts[0].remedy.starts_with("NCCL_IB_TC=96 ")) << e.verdicts[0].remedy;
  m.roce[1].priority_of->fill(1);
  e = examine(m, {}, {});
  ASSERT_FALSE(e.verdicts.empty());
  EXPECT_TRUE(e.verdicts[0].remedy.starts_with("map DSCP 26 to priority 3 in config_db.json")) << e.verdicts[0].remedy;
}

TEST(Roce, AClassMoreOnASwitchIsWorthALook) {
  DoctorMaterial m;
  m.roce = {card(), leaf()};
  m.roce[1].pfc = std::vector<int>{3, 4};
  Examination e = examine(m, {}, {});
  EXPECT_TRUE(e.verdicts.empty());
  EXPECT_TRUE(has(e.advice, "roce_pfc_priorities"));
  // On a card it is not.
  m.roce = {card(), card()};
  m.roce[1].pfc = std::vector<int>{3, 4};
  EXPECT_EQ(cause_of(m), "roce_pfc_mismatch");
}

TEST(Roce, HeadroomFollowsFromSpeedCableAndPacket) {
  // 400 Gb/s over 40 m: 20 KB on the way, 18.4 KB of packets, 100 KB to react.
  EXPECT_NEAR(headroom_needed_kb(50, 40, 9216), 138.4, 0.1);
  DoctorMaterial m;
  m.roce.push_back(card());
  m.roce[0].line_gb_s = 50;
  m.roce[0].cable_m = 40;
  m.roce[0].headroom_kb = 200;
  EXPECT_FALSE(has(check_roce(m), "roce_headroom"));
  m.roce[0].headroom_kb = 60;
  EXPECT_TRUE(has(check_roce(m), "roce_headroom"));
}

TEST(Roce, TwoReadingsAreARateOneIsHistory) {
  DoctorMaterial m;
  m.counters.push_back({"before", "mlx5_0", {{"rx_prio3_pause", 100}, {"np_cnp_sent", 5}, {"local_ack_timeout_err", 7}}});
  EXPECT_FALSE(has(check_roce(m), "roce_pauses"));
  EXPECT_FALSE(has(check_roce(m), "roce_loss"));
  m.counters.push_back({"after", "mlx5_0", {{"rx_prio3_pause", 5100}, {"np_cnp_sent", 5}, {"local_ack_timeout_err", 9}}});
  m.between_s = 10;
  const auto found = check_roce(m);
  EXPECT_TRUE(has(found, "roce_pauses"));
  ASSERT_TRUE(has(found, "roce_loss"));
  EXPECT_NE(std::find_if(found.begin(), found.end(),
                         [](const Finding& f) {
                           return f.cause == "roce_pauses" && f.evidence[0].find("500.0 a second") != std::string::npos;
                         }),
            found.end());
}

TEST(Roce, WhatTheEarlierReadingDoesNotTellDidNotGrow) {
  DoctorMaterial m;
  m.counters.push_back({"before", "", {{"rx_packets", 1}}});
  m.counters.push_back({"after", "", {{"rx_packets", 2}, {"local_ack_timeout_err", 9}, {"rx_out_of_buffer", 5}}});
  EXPECT_TRUE(check_counters(m).empty());
  m.counters[0].value["rx_out_of_buffer"] = 0;
  EXPECT_TRUE(check_counters(m).empty()) << "of sockets, and not of RDMA";
}

TEST(Roce, ALinkThatErrsOrGoesDownIsTold) {
  DoctorMaterial m;
  m.counters.push_back({"before", "", {{"rx_symbol_err_phy", 3}, {"link_down_events_phy", 1}}});
  EXPECT_TRUE(check_counters(m).empty()) << "what was before is history";
  m.counters.push_back({"after", "", {{"rx_symbol_err_phy", 900003}, {"link_down_events_phy", 1}}});
  EXPECT_EQ(cause_of(m), "link_errors");
  m.counters[1].value["link_down_events_phy"] = 4;
  EXPECT_EQ(cause_of(m), "link_flap");
}

TEST(Roce, CountersThatGoBackwardsAreHistoryAndItIsSaid) {
  DoctorMaterial m;
  m.counters.push_back({"one", "", {{"rx_packets", 1000}, {"rx_symbol_err_phy", 3}, {"rx_discards_phy", 0}}});
  m.counters.push_back({"two", "", {{"rx_packets", 10}, {"rx_symbol_err_phy", 9}, {"rx_discards_phy", 7}}});
  const auto found = check_counters(m);
  ASSERT_EQ(found.size(), 1U) << "what grew did not grow between them";
  EXPECT_TRUE(found[0].cause.empty());
  EXPECT_TRUE(found[0].title.starts_with("counters go backwards")) << found[0].title;
  EXPECT_NE(found[0].evidence[0].find("rx_packets is 1000 in one and 10 in two"), std::string::npos) << found[0].evidence[0];
}

TEST(Roce, TheForecastPlaysWhatIsSetAndWhatTheFixSays) {
  RoceSettings s = leaf();
  s.kmin_kb = 2000;
  s.kmax_kb = 900;
  s.xoff_kb = 3500;
  const auto inverted = forecast_roce(std::vector<RoceSettings>{s});
  ASSERT_TRUE(inverted);
  EXPECT_TRUE(inverted->by_fix);
  EXPECT_FALSE(inverted->now.control.on);
  EXPECT_NEAR(inverted->proposed.control.kmin_kb, 300, 1e-9);
  EXPECT_NEAR(inverted->proposed.control.kmax_kb, 900, 1e-9);
  DoctorMaterial m;
  m.roce.push_back(s);
  const auto found = check_roce(m);
  const auto f = std::find_if(found.begin(), found.end(), [](const Finding& x) { return x.cause == "roce_threshold_order"; });
  ASSERT_NE(f, found.end());
  EXPECT_NE(f->remedy.find("300 KB"), std::string::npos) << f->remedy;

  s.kmin_kb = 250;
  s.kmax_kb = 1000;
  s.ecn->clear();
  const auto off = forecast_roce(std::vector<RoceSettings>{s});
  ASSERT_TRUE(off);
  EXPECT_FALSE(off->now.control.on) << "marking is off as it is set";
  EXPECT_TRUE(off->proposed.control.on);
  EXPECT_EQ(off->why, "marking is off");
  EXPECT_NEAR(off->proposed.control.kmin_kb, 250, 1e-9);

  s.ecn = std::vector<int>{3};
  s.kmin_kb = 1000;  // a step
  const auto step = forecast_roce(std::vector<RoceSettings>{s});
  ASSERT_TRUE(step);
  EXPECT_TRUE(step->now_orderly);
  EXPECT_FALSE(step->by_fix);
}

TEST(Roce, TheForecastIsOfAModelAndNotWorseThanNow) {
  RoceSettings s = card();
  EXPECT_FALSE(forecast_roce(std::vector<RoceSettings>{s})) << "nothing is known of marks";
  s.kmin_kb = 1500;
  s.kmax_kb = 1900;
  s.xoff_kb = 2000;
  const auto f = forecast_roce(std::vector<RoceSettings>{s});
  ASSERT_TRUE(f);
  EXPECT_TRUE(f->xoff_told);
  EXPECT_TRUE(f->now_orderly);
  EXPECT_LE(f->proposed_figures.paused, f->now_figures.paused + 0.01) << "marks are not traded for pauses";
  EXPECT_LE(f->proposed_figures.last_s, f->now_figures.last_s);
  s.xoff_kb.reset();
  const auto guess = forecast_roce(std::vector<RoceSettings>{s});
  ASSERT_TRUE(guess);
  EXPECT_FALSE(guess->xoff_told);
  s.line_gb_s = 0.125;
  EXPECT_FALSE(forecast_roce(std::vector<RoceSettings>{s})) << "1 Gb/s would take minutes, and nobody runs RoCE on it";
  s.line_gb_s.reset();
  s.xoff_kb = 1000;
  const auto late = forecast_roce(std::vector<RoceSettings>{s});
  ASSERT_TRUE(late);
  EXPECT_FALSE(late->now_orderly);
  EXPECT_LT(late->proposed.control.kmax_kb, 1000);
}

}  // namespace
}  // namespace muster::diagnose
