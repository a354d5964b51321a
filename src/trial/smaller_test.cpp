// Gangs that can go on with fewer nodes, on a cluster without spares: what that is worth, over the same faults.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "trial/controlled.h"
#include "trial/run.h"

namespace muster::trial {
namespace {

// One gang has all the nodes there are, for a week of hard weather.
RunReport week(std::uint32_t nodes_min, std::uint64_t seed) {
  RunOptions o;
  o.twin = stormy(seed, 200);  // 24 nodes
  o.twin.workload.mix.clear();
  o.twin.luck_by_place = true;
  TimedJob job;
  job.spec.name = "train";
  job.spec.nodes = 24;
  job.spec.nodes_min = nodes_min;
  job.spec.step_s = 10;
  job.spec.steps = 10'000'000;
  job.spec.checkpoint_every_s = 1800;
  o.twin.workload.jobs = {job};
  o.policy = o.must_hold = default_policy();
  o.length = days(7);
  KeptJournal journal;
  const auto r = run(o, journal);
  EXPECT_TRUE(r) << r.error().what;
  EXPECT_TRUE(r->violations.empty()) << r->violations.front();
  return *r;
}

TEST(SmallerGangs, WithoutSparesMoreOfTheClusterDoesUsefulWork) {
  double without = 0;
  double with = 0;
  int better = 0;
  constexpr int kSeeds = 10;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RunReport a = week(0, seed);
    const RunReport b = week(18, seed);
    const auto share = [](const RunReport& r) {
      return 100 * static_cast<double>(r.hours[Waste::useful]) / static_cast<double>(r.hours.installed_ms);
    };
    fmt::print("seed {:2}: useful {:.1f} % with all nodes or none, {:.1f} % with 18 to 24 of them; {} and {} incidents\n", seed,
               share(a), share(b), a.totals.incidents, b.totals.incidents);
    without += share(a) / kSeeds;
    with += share(b) / kSeeds;
    better += share(b) > share(a) ? 1 : 0;
  }
  fmt::print("mean: {:.1f} % and {:.1f} %; better in {} of {} weeks\n", without, with, better, kSeeds);
  EXPECT_GT(with, without);
  EXPECT_GE(better, 8);
}

}  // namespace
}  // namespace muster::trial
