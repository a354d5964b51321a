// Each fault: how it shows to the outside, what it does to the job, what cures it.
#include <gtest/gtest.h>

#include <functional>

#include "ingest/embedded.h"
#include "twin/cures.h"
#include "twin/first_fit.h"

namespace muster::twin {
namespace {

constexpr NodeId kVictim{1};
constexpr int kSlot = 5;

// Four nodes, one job on all of them, forty minutes old when the fault strikes node 1.
class Faults : public ::testing::Test {
 protected:
  void start(std::uint64_t seed = 1) {
    Config c = plain_config(4, seed);
    c.workload.mix.clear();
    JobSpec j;
    j.nodes = 4;
    j.step_s = 10;
    j.steps = 100000;
    j.checkpoint_every_s = 600;
    j.checkpoint_gb = 16;
    c.workload.jobs.push_back({seconds(1), j});
    driver_.reset();
    twin_ = std::make_unique<Twin>(std::move(c));
    driver_ = std::make_unique<FirstFit>(*twin_, 4);
    driver_->requeues = false;
    run(minutes(40));
    samples_.clear();
    kernel_.clear();
    steps_.clear();
  }
  void inject(FaultKind k, std::uint64_t seed = 1) {
    start(seed);
    const auto id = twin_->inject(k, kVictim, cure_of(k).on_gpu ? kSlot : -1);
    ASSERT_TRUE(id) << id.error().what;
    EXPECT_EQ(*id, 1U);
  }
  void run(Duration d) {
    const Time end = twin_->now().steady + d;
    while (twin_->now().steady < end) {
      driver_->turn(std::min(minutes(1), end - twin_->now().steady));
      const Inbox& in = driver_->inbox;
      samples_.insert(samples_.end(), in.samples.begin(), in.samples.end());
      kernel_.insert(kernel_.end(), in.kernel.begin(), in.kernel.end());
      steps_.insert(steps_.end(), in.steps.begin(), in.steps.end());
    }
  }
  bool xid(int code) const {
    for (const KernelRecord& r : kernel_) {
      if (r.kind == KernelKind::xid && r.code == code && r.node == kVictim && r.slot == kSlot) return true;
    }
    return false;
  }
  bool record(KernelKind k) const {
    for (const KernelRecord& r : kernel_) {
      if (r.kind == k && r.node == kVictim && r.slot == kSlot) return true;
    }
    return false;
  }
  // Newest value of a series of the victim; -1 when nothing was said.
  double last(Field f, int slot = kSlot, NodeId n = kVictim) const {
    double v = -1;
    for (const Sample& s : samples_) {
      if (s.field == f && s.node == n && s.slot == slot) v = s.value;
    }
    return v;
  }
  Status act(Verb v, int slot = -1) { return driver_->finish(driver_->on_node(v, kVictim, slot)).status; }
  bool cured() const { return twin_->faults()[0].fate == Fate::cured; }
  // Tries seeds until the fault needs exactly this act.
  void inject_needing(FaultKind k, Verb cure_verb, const std::vector<Verb>& too_weak) {
    for (std::uint64_t seed = 1; seed < 60; ++seed) {
      inject(k, seed);
      run(minutes(12));
      bool enough_before = false;
      for (const Verb v : too_weak) {
        act(v, v == Verb::reset_gpu ? kSlot : -1);
        enough_before = enough_before || cured();
      }
      if (enough_before) continue;
      act(cure_verb, cure_verb == Verb::reset_gpu ? kSlot : -1);
      if (cured()) return;
    }
    FAIL() << "no seed has a fault that needs " << name_of(cure_verb);
  }

  std::unique_ptr<Twin> twin_;
  std::unique_ptr<FirstFit> driver_;
  std::vector<Sample> samples_;
  std::vector<KernelRecord> kernel_;
  std::vector<StepReport> steps_;
};

TEST_F(Faults, OffBusVanishesFromTheScrapeAndEndsTheJob) {
  inject(FaultKind::gpu_off_bus);
  run(minutes(12));
  EXPECT_TRUE(xid(79));
  EXPECT_TRUE(record(KernelKind::off_bus));
  EXPECT_EQ(last(Field::gpus_visible, -1), 255 - (1 << kSlot));
  ASSERT_EQ(driver_->ends.size(), 1U);
  EXPECT_EQ(driver_->ends[0].end, JobEnd::node_failed);
  EXPECT_EQ(act(Verb::test_node), Status::failed);
  EXPECT_EQ(act(Verb::reset_gpu, kSlot), Status::failed);
  EXPECT_FALSE(cured());
  act(Verb::replace_node);
  EXPECT_TRUE(cured());
  run(minutes(2));
  EXPECT_EQ(last(Field::gpus_visible, -1), 255);
  EXPECT_EQ(driver_->swaps.size(), 1U);
  EXPECT_EQ(act(Verb::test_node), Status::done);
}

TEST_F(Faults, OffBusNeedsAsMuchAsItsBirthDecided) {
  inject_needing(FaultKind::gpu_off_bus, Verb::reboot_node, {});
  inject_needing(FaultKind::gpu_off_bus, Verb::power_cycle_node, {Verb::reboot_node});
  inject_needing(FaultKind::gpu_off_bus, Verb::replace_node, {Verb::reboot_node, Verb::power_cycle_node});
}

TEST_F(Faults, UncorrectableEccKillsTheJobAndAResetCures) {
  inject(FaultKind::ecc_uncorrectable);
  run(minutes(2));
  EXPECT_TRUE(xid(94) || xid(95));
  EXPECT_TRUE(xid(45));
  EXPECT_EQ(last(Field::ecc_dbe_total), 1);
  EXPECT_EQ(driver_->ends.size(), 1U);
  EXPECT_EQ(act(Verb::test_node), Status::failed);
  EXPECT_EQ(act(Verb::reset_gpu, 2), Status::done);  // another GPU's reset changes nothing
  EXPECT_FALSE(cured());
  EXPECT_EQ(act(Verb::reset_gpu, kSlot), Status::done);
  EXPECT_TRUE(cured());
  EXPECT_EQ(act(Verb::test_node), Status::done);
}

TEST_F(Faults, ARowRemapWaitsForAResetWithoutHarm) {
  inject(FaultKind::row_remap);
  run(minutes(15));
  EXPECT_TRUE(xid(63));
  EXPECT_EQ(last(Field::remap_pending), 1);
  EXPECT_EQ(last(Field::remapped_rows), 1);
  EXPECT_TRUE(driver_->ends.empty());
  EXPECT_EQ(act(Verb::reset_gpu, kSlot), Status::done);  // under a job: it dies, as on a real machine
  EXPECT_EQ(driver_->ends.size(), 1U);
  EXPECT_TRUE(cured());
  run(minutes(2));
  EXPECT_EQ(last(Field::remap_pending), 0);
}

TEST_F(Faults, ARemapFailureNeedsANewPart) {
  inject(FaultKind::row_remap_failure);
  run(minutes(2));
  EXPECT_TRUE(xid(64));
  EXPECT_EQ(last(Field::remap_failed), 1);
  act(Verb::reset_gpu, kSlot);
  act(Verb::reboot_node);
  EXPECT_FALSE(cured());
  EXPECT_EQ(act(Verb::test_node), Status::failed);
  act(Verb::replace_node);
  EXPECT_TRUE(cured());
}

TEST_F(Faults, NvlinkErrorsCountUp) {
  inject(FaultKind::nvlink_degraded);
  run(minutes(2));
  EXPECT_TRUE(xid(74));
  const double first = last(Field::nvlink_errors_total);
  EXPECT_GT(first, 0);
  run(minutes(5));
  EXPECT_GT(last(Field::nvlink_errors_total), first);
  inject_needing(FaultKind::nvlink_degraded, Verb::reset_gpu, {});
  inject_needing(FaultKind::nvlink_degraded, Verb::replace_node, {Verb::reset_gpu, Verb::reboot_node, Verb::power_cycle_node});
}

TEST_F(Faults, PcieLosesLanesAndSlowsTheJob) {
  inject(FaultKind::pcie_degraded);
  run(minutes(10));
  EXPECT_TRUE(record(KernelKind::pcie_error));
  EXPECT_EQ(last(Field::pcie_width), 8);
  EXPECT_GT(last(Field::pcie_replay_total), 0);
  EXPECT_GT(steps_.back().step_s, 10.5);
  EXPECT_TRUE(driver_->ends.empty());
  inject_needing(FaultKind::pcie_degraded, Verb::reboot_node, {});
  inject_needing(FaultKind::pcie_degraded, Verb::replace_node, {Verb::reboot_node});
}

TEST_F(Faults, HeatThrottlesUnderLoad) {
  inject(FaultKind::thermal);
  run(minutes(10));
  EXPECT_TRUE(kernel_.empty());
  EXPECT_GE(last(Field::gpu_temp_c), 88);
  EXPECT_LT(last(Field::sm_clock_mhz), 1700);
  EXPECT_GT(last(Field::thermal_violation_us), 0);
  EXPECT_LT(last(Field::gpu_temp_c, 2), 80);
  EXPECT_GT(steps_.back().step_s, 11);
  act(Verb::reboot_node);
  EXPECT_FALSE(cured());
  EXPECT_EQ(act(Verb::test_node), Status::failed);
  act(Verb::replace_node);
  EXPECT_TRUE(cured());
}

TEST_F(Faults, AGspHangHangsTheJobUntilTheTimeout) {
  inject(FaultKind::gsp_hang);
  run(minutes(9));
  EXPECT_TRUE(xid(119));
  EXPECT_TRUE(driver_->ends.empty());
  EXPECT_EQ(last(Field::gpus_visible, -1), 255 - (1 << kSlot));
  run(minutes(2));
  EXPECT_EQ(driver_->ends.size(), 1U);
  EXPECT_EQ(act(Verb::reboot_node), Status::done);
  EXPECT_TRUE(cured());
}

TEST_F(Faults, AFlapPassesByItself) {
  inject(FaultKind::nic_flap);
  run(minutes(6));
  EXPECT_TRUE(record(KernelKind::link_down));
  EXPECT_TRUE(record(KernelKind::link_up));
  EXPECT_EQ(last(Field::ib_link_downed_total), 1);
  EXPECT_EQ(last(Field::ib_up), 1);
  EXPECT_EQ(twin_->faults()[0].fate, Fate::self_cleared);
}

TEST_F(Faults, ADeadCableStaysDown) {
  inject(FaultKind::cable_down);
  run(minutes(12));
  EXPECT_TRUE(record(KernelKind::link_down));
  EXPECT_FALSE(record(KernelKind::link_up));
  EXPECT_EQ(last(Field::ib_up), 0);
  EXPECT_EQ(driver_->ends.size(), 1U);
  act(Verb::power_cycle_node);
  EXPECT_FALSE(cured());
  act(Verb::replace_node);
  EXPECT_TRUE(cured());
}

TEST_F(Faults, AHungNodeIsDownAfterFiveMinutesAndNeedsPower) {
  inject(FaultKind::node_hang);
  run(minutes(4));
  EXPECT_TRUE(driver_->changes.empty());
  EXPECT_EQ(last(Field::up, -1), 0);
  run(minutes(2));
  ASSERT_EQ(driver_->changes.size(), 1U);
  EXPECT_EQ(driver_->changes[0].condition, NodeCondition::down);
  ASSERT_EQ(driver_->ends.size(), 1U);
  EXPECT_EQ(driver_->ends[0].end, JobEnd::node_failed);
  EXPECT_EQ(act(Verb::reboot_node), Status::failed);
  EXPECT_EQ(act(Verb::probe_node), Status::failed);
  EXPECT_EQ(act(Verb::test_node), Status::failed);
  EXPECT_EQ(act(Verb::power_cycle_node), Status::done);
  EXPECT_TRUE(cured());
  EXPECT_EQ(driver_->changes.back().condition, NodeCondition::up);
  EXPECT_EQ(act(Verb::test_node), Status::done);
}

TEST_F(Faults, ACrashedHostComesBackByItself) {
  inject(FaultKind::host_crash);
  const double before = last(Field::boot_time_s, -1);
  run(minutes(12));
  EXPECT_EQ(twin_->faults()[0].fate, Fate::self_cleared);
  EXPECT_EQ(driver_->changes.back().condition, NodeCondition::up);
  EXPECT_GT(last(Field::boot_time_s, -1), before);
  EXPECT_EQ(driver_->ends.size(), 1U);
  EXPECT_EQ(act(Verb::test_node), Status::done);
}

TEST_F(Faults, ASlowGpuShowsOnlyInStepTimesAndActivity) {
  inject(FaultKind::slow_gpu);
  run(minutes(10));
  EXPECT_TRUE(kernel_.empty());
  EXPECT_GT(steps_.back().step_s, 11);
  const double slow = last(Field::tensor_active);
  EXPECT_GT(slow, last(Field::tensor_active, 2) + 0.04);
  EXPECT_GT(slow, last(Field::tensor_active, 2, NodeId{3}) + 0.04);
  EXPECT_EQ(last(Field::ecc_dbe_total), -1);
  inject_needing(FaultKind::slow_gpu, Verb::reset_gpu, {});
  inject_needing(FaultKind::slow_gpu, Verb::replace_node, {Verb::reset_gpu, Verb::power_cycle_node});
}

TEST_F(Faults, AStalledStoreStretchesCheckpoints) {
  start();
  ASSERT_TRUE(twin_->inject(FaultKind::storage_stall, NodeId{}, -1));
  EXPECT_FALSE(twin_->inject(FaultKind::storage_stall, NodeId{}, -1));
  // A checkpoint takes 2 s (16 GB at 8 GB/s), 40 s now.
  run(hours(2));
  EXPECT_EQ(twin_->faults()[0].fate, Fate::self_cleared);
  Action a;
  a.verb = Verb::cancel_job;
  a.job = JobId{1, 0};
  driver_->finish(driver_->order(a));
  ASSERT_EQ(driver_->ends.size(), 1U);
  EXPECT_GT(driver_->ends[0].progress.checkpoint_ms, 14 * 2000 + 30'000);
}

TEST_F(Faults, AnAppBugIsTheJobsOwn) {
  int with_xid = 0;
  for (std::uint64_t seed = 1; seed < 9; ++seed) {
    inject(FaultKind::app_bug, seed);
    run(minutes(1));
    ASSERT_EQ(driver_->ends.size(), 1U);
    EXPECT_EQ(driver_->ends[0].end, JobEnd::app_failed);
    with_xid += xid(13) || xid(31) || xid(43);
    EXPECT_EQ(act(Verb::test_node), Status::done);
  }
  EXPECT_GT(with_xid, 2);
  EXPECT_LT(with_xid, 8);
  EXPECT_FALSE(twin_->inject(FaultKind::app_bug, kVictim, 0));  // no job, no bug
}

TEST_F(Faults, AJobStartedOnAFaultyNodeMeetsTheFault) {
  inject(FaultKind::gpu_off_bus);
  run(minutes(12));
  Action a;
  a.verb = Verb::requeue_job;
  a.job = JobId{1, 0};
  driver_->finish(driver_->order(a));
  run(minutes(10));
  EXPECT_EQ(driver_->ends.size(), 2U);
}

TEST_F(Faults, InjectionIsChecked) {
  start();
  EXPECT_EQ(twin_->inject(FaultKind::thermal, NodeId{99}, 0).error().code, Code::not_found);
  EXPECT_EQ(twin_->inject(FaultKind::thermal, NodeId{0}, 8).error().code, Code::bad_input);
  EXPECT_TRUE(twin_->inject(FaultKind::thermal, NodeId{0}, 0));
  EXPECT_EQ(twin_->inject(FaultKind::row_remap, NodeId{0}, 0).error().code, Code::conflict);
  EXPECT_TRUE(twin_->inject(FaultKind::node_hang, NodeId{0}, -1));
  EXPECT_EQ(twin_->inject(FaultKind::node_hang, NodeId{0}, -1).error().code, Code::conflict);
}

TEST(Cures, EveryKindHasItsRowAndTheSharesAreWhole) {
  for (std::size_t k = 0; k < kCures.size(); ++k) {
    const Cure& c = kCures[k];
    EXPECT_EQ(static_cast<std::size_t>(c.kind), k);
    EXPECT_DOUBLE_EQ(c.itself + c.reset + c.reload + c.bounce + c.reboot + c.power_cycle + c.replace, 1);
  }
}

TEST(Weather, ShippedRatesAreReadAndNearThePublishedTotal) {
  const auto csv = embedded_file("fault_rates.csv");
  ASSERT_TRUE(csv);
  const auto rates = parse_rates(*csv);
  ASSERT_TRUE(rates) << rates.error().what;
  EXPECT_EQ(rates->size(), kCures.size() - 8);  // hung drivers and disasters strike only where somebody asks for it
  double total = 0;
  for (const FaultRate& r : *rates) {
    EXPECT_FALSE(r.source.empty());
    if (r.kind != FaultKind::nic_flap && r.kind != FaultKind::app_bug) total += r.per_gpu_hour;
  }
  EXPECT_NEAR(total, 1.7e-5, 2e-6);  // 1.97e-5 with software
  EXPECT_FALSE(parse_rates("kind,per_gpu_hour,source,note\nlightning,1e-6,s,n\n"));
}

TEST(Weather, LemonsCarryMoreAndTheMeanStays) {
  Config c = plain_config(200, 3);
  c.workload.mix.clear();
  c.weather.rates = {{FaultKind::nic_flap, 1e-4, "test"}};
  c.weather.factor = 10;
  Twin twin(std::move(c));
  twin.advance_to(twin.now().steady + days(5));
  // 200 x 8 GPUs x 120 h x 1e-3
  EXPECT_NEAR(static_cast<double>(twin.faults().size()), 192, 45);
  std::map<NodeId, int> by_node;
  for (const FaultTruth& f : twin.faults()) ++by_node[f.node];
  int most = 0;
  for (const auto& [n, k] : by_node) most = std::max(most, k);
  EXPECT_GT(most, 5);
}

}  // namespace
}  // namespace muster::twin
