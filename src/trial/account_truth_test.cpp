// The account of a simulated cluster against what the cluster itself says its GPUs did: class by class, over days with faults.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "account/waterfall.h"
#include "trial/controlled.h"

namespace muster::trial {
namespace {

using account::SiteClass;
using twin::Doing;

constexpr std::array<std::pair<SiteClass, Doing>, 10> kSame = {{{SiteClass::down, Doing::down},
                                                                {SiteClass::drained, Doing::drained},
                                                                {SiteClass::idle_no_demand, Doing::idle_no_demand},
                                                                {SiteClass::idle_fragmented, Doing::idle_fragmented},
                                                                {SiteClass::starting, Doing::starting},
                                                                {SiteClass::checkpoint, Doing::checkpoint},
                                                                {SiteClass::stalled, Doing::stalled},
                                                                {SiteClass::lost_restart, Doing::lost},
                                                                {SiteClass::unsettled, Doing::unsettled},
                                                                {SiteClass::useful, Doing::useful}}};

struct Both {
  account::SiteSum told;
  twin::TruthSums truth;
  std::uint64_t faults = 0;
  std::uint64_t events = 0;
};

Both play(twin::Config config, Duration length, Policy policy) {
  config.truth = true;
  Controlled c(std::move(config), std::move(policy));
  account::Waterfall flow;
  State s;
  std::uint64_t read = 0;
  const auto take = [&] {
    for (; read < c.journal.events.size(); ++read) {
      fold(s, c.journal.events[read]);
      flow.take(c.journal.events[read], s);
    }
  };
  const Time end = c.twin.now().utc + length;
  while (c.twin.now().utc < end && c.turn()) take();
  EXPECT_TRUE(c.loop->turn());  // what was said last is heard too
  take();
  const Now now = c.twin.now();
  Both out;
  out.told = flow.close(s, now.steady + s.mono_offset, now.utc).sum();
  out.truth = c.twin.truth();
  out.faults = c.twin.faults().size();
  out.events = read;
  return out;
}

// Within 1 % of what is true, or 0.01 % of all there is, for classes of next to nothing.
void expect_same(const Both& b, const std::string& what) {
  fmt::print("{}: {} faults, {} events, {:.0f} GPU-hours\n", what, b.faults, b.events, account::gpu_hours(b.truth.installed));
  for (const auto& [c, d] : kSame) {
    const double told = account::gpu_hours(b.told[c]), truth = account::gpu_hours(b.truth[d]);
    const double off = truth > 0 ? 100 * (told / truth - 1) : 0;
    fmt::print("  {:16} told {:12.2f}  truth {:12.2f}  {:+.3f} %\n", names(c)[static_cast<std::size_t>(c)], told, truth, off);
    EXPECT_LE(std::abs(told - truth), std::max(0.01 * truth, 1e-4 * account::gpu_hours(b.truth.installed)))
        << what << ": " << names(c)[static_cast<std::size_t>(c)];
  }
  EXPECT_TRUE(b.truth.exact) << "the twin's own count sums to what is installed";
  EXPECT_EQ(b.told.installed(), b.truth.installed) << "and the account to the same, to the thousandth of a GPU-millisecond";
  EXPECT_EQ(b.told[SiteClass::held_idle], 0);
  EXPECT_EQ(b.told[SiteClass::unseen], 0);
}

TEST(AccountTruth, ADayWithoutFaults) {
  twin::Config c = stormy(3, 0);
  const Both b = play(std::move(c), days(1), roomy_policy());
  EXPECT_GT(b.truth[Doing::useful], 0);
  expect_same(b, "a day without faults");
}

TEST(AccountTruth, FiveDaysOfWeatherWithWorkForAll) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Both b = play(stormy(seed, 8'000), days(5), roomy_policy());
    EXPECT_GT(b.faults, 20U);
    EXPECT_GT(b.truth[Doing::lost], 0);
    EXPECT_GT(b.truth[Doing::down], 0);
    expect_same(b, fmt::format("five days of weather, seed {}", seed));
  }
}

TEST(AccountTruth, FiveDaysOfWeatherWithTooLittleWork) {
  twin::Config c = stormy(2, 8'000);
  c.workload.load = 0.5;
  const Both b = play(std::move(c), days(5), roomy_policy());
  EXPECT_GT(b.truth[Doing::idle_no_demand], 0);
  expect_same(b, "five days, half of the work");
}

TEST(AccountTruth, CheckpointsBesideTheSteps) {
  twin::Config c = stormy(4, 8'000);
  c.workload.mix = "llm";
  const Both b = play(std::move(c), days(5), roomy_policy());
  EXPECT_GT(b.truth[Doing::checkpoint], 0);
  expect_same(b, "five days of training");
}

TEST(AccountTruth, AHistoryWithTheTruthIsTheHistoryWithoutIt) {
  const auto digest = [](bool truth) {
    twin::Config c = stormy(5, 8'000);
    c.truth = truth;
    Controlled x(std::move(c), roomy_policy());
    x.run(hours(12));
    return x.journal.head();
  };
  EXPECT_EQ(digest(true), digest(false));
}

}  // namespace
}  // namespace muster::trial
