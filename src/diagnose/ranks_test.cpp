#include "diagnose/ranks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"
#include "diagnose/trace_builder.h"

namespace muster::diagnose {
namespace {

// What one rank does before each exchange.
struct Work {
  std::int64_t fetch = 0, think = 0, kernel = 2 * ms;
  int kernels = 4;
  std::int64_t network = 0;  // between its kernels and the exchange, nothing that it does itself
};

struct Job {
  std::vector<Machine> ranks;
  std::vector<Profile> profiles;
  RankWaits waits;

  const Trace& trace(std::size_t r) const { return ranks[r].b.t; }
  void look() {
    std::vector<const Trace*> traces;
    for (const Machine& m : ranks) traces.push_back(&m.b.t);
    waits = match_ranks(traces);
    profiles.clear();
    for (std::size_t r = 0; r < ranks.size(); ++r)
      profiles.push_back(take_apart(trace(r), "rank" + std::to_string(r) + ".json", Peaks{}, waits.by_event[r]));
  }
  std::optional<LateRank> late() const { return late_rank(profiles, waits); }
};

// Steps of two exchanges each. All begin one when they get there and end it when the last one has been there for a millisecond.
// The host waits for the end of a step. Each has a clock of its own.
template <class F>
Job job(std::size_t ranks, int steps, const F& work, bool numbered = false, std::string_view op = "allreduce") {
  Job j;
  j.ranks.resize(ranks);
  std::uint64_t seq = 100;
  for (std::size_t r = 0; r < ranks; ++r) {
    j.ranks[r].b.t.rank = static_cast<std::uint32_t>(r);
    j.ranks[r].host = static_cast<std::int64_t>(r) * 77 * ms;
  }
  std::vector<std::int64_t> began(ranks), there(ranks);
  for (int k = 0; k < steps; ++k) {
    for (std::size_t r = 0; r < ranks; ++r) began[r] = j.ranks[r].host;
    for (int half = 0; half < 2; ++half, ++seq) {
      std::int64_t last = INT64_MIN;
      for (std::size_t r = 0; r < ranks; ++r) {
        Machine& m = j.ranks[r];
        const Work w = work(r, k);
        if (w.fetch > 0 && half == 0) m.fetch(w.fetch);
        m.think(w.think);
        for (int i = 0; i < w.kernels; ++i) m.kernel(w.kernel, 7, INT64_MIN, i % 2 == 0 ? "gemm" : "softmax");
        there[r] = m.free[7] + 2 * us + w.network;
        last = std::max(last, there[r] - static_cast<std::int64_t>(r) * 77 * ms);
      }
      for (std::size_t r = 0; r < ranks; ++r) {
        Machine& m = j.ranks[r];
        const std::int64_t end = last + static_cast<std::int64_t>(r) * 77 * ms + ms;
        m.b.exchange({m.host, m.host + 4 * us}, {there[r], end}, op, "0", static_cast<std::uint32_t>(ranks),
                     numbered ? seq : UINT64_MAX, 7);
        m.host += 4 * us;
        m.free[7] = end;
      }
    }
    for (std::size_t r = 0; r < ranks; ++r) {
      j.ranks[r].wait();
      j.ranks[r].b.step({began[r], j.ranks[r].host});
    }
  }
  j.look();
  return j;
}

TEST(Ranks, WaitsAreWhatIsLongerThanTheShortest) {
  const Job j = job(3, 4, [](std::size_t r, int) { return Work{.kernel = r == 1 ? 3 * ms : 2 * ms}; });
  EXPECT_EQ(j.waits.matched, 8U);
  EXPECT_EQ(j.waits.alone, 0U);
  ASSERT_EQ(j.waits.steps.size(), 4U);
  EXPECT_EQ(j.waits.steps[0].name, "ProfilerStep#5");
  for (const RankWaits::Step& s : j.waits.steps) {
    EXPECT_EQ(s.last, (std::vector<std::uint32_t>{0, 2, 0}));
    EXPECT_EQ(s.ns[1], 0);
    EXPECT_EQ(s.blamed_ns, (std::vector<std::int64_t>{0, 8 * ms, 0})) << "on average of the others";
    EXPECT_EQ(s.ns[0], 8 * ms) << "four kernels, a millisecond each, before each of two";
  }
  for (std::size_t r = 0; r < 3; ++r) {
    ASSERT_EQ(j.waits.by_event[r].size(), j.trace(r).gpu.size());
    for (std::size_t e = 0; e < j.trace(r).gpu.size(); ++e) {
      const GpuEvent& event = j.trace(r).gpu[e];
      EXPECT_EQ(j.waits.by_event[r][e], event.work == GpuWork::communication ? event.span.length() - ms : 0);
    }
  }
  const PartTimes parts = j.profiles[0].line.parts();
  EXPECT_EQ(parts[static_cast<std::size_t>(Part::wait)], 32 * ms);
  EXPECT_EQ(parts[static_cast<std::size_t>(Part::transfer)], 8 * ms);
}

TEST(Ranks, NumbersTellExchangesApartWhereTheyAreTold) {
  Job j = job(
      2, 3, [](std::size_t, int) { return Work{}; }, true);
  EXPECT_EQ(j.waits.matched, 6U);
  // Without its first exchange, the others of this rank are still the ones they are.
  Trace& t = j.ranks[1].b.t;
  const auto first = std::find_if(t.gpu.begin(), t.gpu.end(), [](const GpuEvent& e) { return e.work == GpuWork::communication; });
  t.gpu.erase(first);
  j.look();
  EXPECT_EQ(j.waits.matched, 5U);
  EXPECT_EQ(j.waits.alone, 1U);
  for (const RankWaits::Step& s : j.waits.steps) EXPECT_LE(s.ns[0], 10 * us) << "all were there at once";
}

TEST(Ranks, StepsAreTheSameByTheirNames) {
  Job j = job(2, 4, [](std::size_t, int) { return Work{}; });
  // One began to record two steps later.
  Trace& t = j.ranks[1].b.t;
  for (Mark& m : t.steps) m.name = j.ranks[1].b.name("ProfilerStep#" + std::to_string(7 + (&m - t.steps.data())));
  j.look();
  EXPECT_EQ(j.waits.matched, 4U);
  EXPECT_EQ(j.waits.alone, 8U);
  ASSERT_EQ(j.waits.steps.size(), 2U);
  EXPECT_EQ(j.waits.steps[0].name, "ProfilerStep#7");
}

TEST(Ranks, ADifferentNumberOfExchanges) {
  Job j = job(3, 2, [](std::size_t, int) { return Work{}; });
  j.ranks[2].b.exchange({j.ranks[2].host - us, j.ranks[2].host}, {j.ranks[2].host, j.ranks[2].host + ms}, "barrier");
  j.look();
  EXPECT_EQ(j.waits.matched, 4U);
  EXPECT_EQ(j.waits.alone, 1U);
  EXPECT_FALSE(j.late());
}

TEST(Ranks, GroupsOfFewerRanksThanThereAreFiles) {
  TraceBuilder b[4];
  for (std::size_t r = 0; r < 4; ++r) {
    b[r].t.rank = static_cast<std::uint32_t>(r);
    b[r].step({0, 100 * ms});
    const std::int64_t early = r % 2 == 0 ? 10 * ms : 0;
    b[r].exchange({5 * ms, 6 * ms}, {20 * ms - early, 30 * ms}, "allreduce", r < 2 ? "1" : "2", 2);
    b[r].exchange({7 * ms, 8 * ms}, {40 * ms, 50 * ms}, "allreduce", "0", 4);
    if (r == 3) b[r].exchange({9 * ms, 10 * ms}, {60 * ms, 70 * ms}, "allreduce", "3", 2);
  }
  const std::vector<const Trace*> traces = {&b[0].t, &b[1].t, &b[2].t, &b[3].t};
  const RankWaits w = match_ranks(traces);
  EXPECT_EQ(w.matched, 3U);
  EXPECT_EQ(w.alone, 1U) << "a group of which there is but one file";
  for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(w.by_event[r][0], r % 2 == 0 ? 10 * ms : 0);
}

TEST(Ranks, GroupsOfOneNameThatAreNotTheSame) {
  // Tensor-parallel pairs, each of which calls its group "tp": four files tell of an exchange of two.
  TraceBuilder b[4];
  for (std::size_t r = 0; r < 4; ++r) {
    b[r].step({0, 100 * ms});
    b[r].exchange({5 * ms, 6 * ms}, {20 * ms, r < 2 ? 30 * ms : 50 * ms}, "allreduce", "tp", 2);
  }
  const std::vector<const Trace*> traces = {&b[0].t, &b[1].t, &b[2].t, &b[3].t};
  const RankWaits w = match_ranks(traces);
  EXPECT_EQ(w.matched, 0U);
  for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(w.by_event[r][0], 0) << "nobody waited for another pair";
}

TEST(Ranks, ExchangesThatSayNothingOfThemselvesAreMatchedByName) {
  TraceBuilder b[2];
  for (std::size_t r = 0; r < 2; ++r) {
    b[r].step({0, 100 * ms});
    b[r].exchange({5 * ms, 6 * ms}, {(r == 0 ? 10 : 20) * ms, 30 * ms}).detail = kNone;
  }
  const std::vector<const Trace*> traces = {&b[0].t, &b[1].t};
  EXPECT_EQ(match_ranks(traces).by_event[0][0], 10 * ms);
  b[1].exchange({35 * ms, 36 * ms}, {40 * ms, 50 * ms}).detail = kNone;
  EXPECT_EQ(match_ranks(traces).matched, 0U) << "one has more of them: which are the same is not told";
}

TEST(Ranks, WhatCannotBeMatched) {
  TraceBuilder a, b;
  for (TraceBuilder* t : {&a, &b}) {
    t->step({10 * ms, 20 * ms});
    t->exchange({ms, 2 * ms}, {12 * ms, 13 * ms});                                // before the first step
    t->event({14 * ms, 15 * ms}, "ncclDevKernel_X", 20, GpuWork::communication);  // nobody launched it
    t->exchange({11 * ms, 12 * ms}, {16 * ms, 17 * ms}).detail = kNone;           // says nothing of itself
  }
  const std::vector<const Trace*> traces = {&a.t, &b.t};
  const RankWaits w = match_ranks(traces);
  EXPECT_EQ(w.matched + w.alone, 0U);
  EXPECT_TRUE(w.steps.empty());
  EXPECT_TRUE(match_ranks({}).by_event.empty());
  EXPECT_FALSE(late_rank({}, RankWaits{}));
}

TEST(Ranks, AllAlikeAreNotLate) {
  const Job j = job(4, 5, [](std::size_t r, int k) {
    return Work{.kernel = 2 * ms + static_cast<std::int64_t>((r + static_cast<std::size_t>(k)) % 4) * 5 * us};
  });
  EXPECT_EQ(j.waits.matched, 10U);
  EXPECT_FALSE(j.late());
  const Job turns =
      job(4, 8, [](std::size_t r, int k) { return Work{.kernel = r == static_cast<std::size_t>(k) % 4 ? 3 * ms : 2 * ms}; });
  EXPECT_FALSE(turns.late()) << "each in its turn";
}

struct Told {
  std::string_view cause;
  std::string title;
};
Told told(const Job& j, std::size_t who) {
  const auto late = j.late();
  if (!late) return {"none", ""};
  EXPECT_EQ(late->trace, who);
  EXPECT_GT(late->blamed_share, 0.99);
  EXPECT_EQ(late->since, "ProfilerStep#5");
  const Finding f = late_finding(*late, j.profiles);
  EXPECT_TRUE(f.title.starts_with("All wait for rank " + std::to_string(who))) << f.title;
  EXPECT_EQ(f.confidence, Confidence::high);
  EXPECT_LE(f.gain->low_pct, f.gain->high_pct);
  EXPECT_LE(f.gain->high_pct, 99);
  return {names(LateCause{})[static_cast<std::size_t>(late->cause)], f.title};
}

TEST(Ranks, WhyOneIsLate) {
  constexpr std::size_t kWho = 2;
  const auto of = [](const Work& late) { return job(4, 5, [&](std::size_t r, int) { return r == kWho ? late : Work{}; }); };
  Told t = told(of({.kernel = 3 * ms}), kWho);
  EXPECT_EQ(t.cause, "gpu");
  EXPECT_TRUE(t.title.find(", whose GPU is slower") != std::string::npos) << t.title;
  t = told(of({.kernels = 6}), kWho);
  EXPECT_EQ(t.cause, "work");
  EXPECT_TRUE(t.title.find(", which has more to compute") != std::string::npos) << t.title;
  t = told(of({.think = 4 * ms}), kWho);
  EXPECT_EQ(t.cause, "host");
  t = told(of({.fetch = 10 * ms}), kWho);
  EXPECT_EQ(t.cause, "input");
  EXPECT_TRUE(t.title.find(", which waits for its input") != std::string::npos) << t.title;
}

TEST(Ranks, WhatIsLostToALateRank) {
  const Job j = job(4, 5, [](std::size_t r, int) { return Work{.kernel = r == 0 ? 3 * ms : 2 * ms}; });
  const auto late = j.late();
  ASSERT_TRUE(late);
  const auto step = static_cast<double>(j.profiles[0].line.step_ns());
  EXPECT_NEAR(late->lost_pct, 100 * 8e6 / step, 0.5);
  const Job even = job(4, 5, [](std::size_t, int) { return Work{}; });
  const double gain = 100 * (1 - static_cast<double>(even.profiles[0].line.step_ns()) / step);
  const Finding f = late_finding(*late, j.profiles);
  EXPECT_GE(gain, f.gain->low_pct);
  EXPECT_LE(gain, f.gain->high_pct + 0.5);
  EXPECT_EQ(f.evidence[0], "100 % of all waiting was for it; it came last to 10 of 10 exchanges");
  EXPECT_EQ(f.evidence.back(), "rank0.json, since ProfilerStep#5");
}

TEST(Ranks, WaitsThatNobodyIsToBlameForAreToldOfAll) {
  const Job turns =
      job(4, 8, [](std::size_t r, int k) { return Work{.kernel = r == static_cast<std::size_t>(k) % 4 ? 3 * ms : 2 * ms}; });
  const auto f = spread_finding(turns.profiles, turns.waits);
  ASSERT_TRUE(f);
  EXPECT_TRUE(f->title.starts_with("Ranks wait for each other, now for one and now for another: 2")) << f->title;
  EXPECT_EQ(f->evidence[1], "rank 1 came last to 4 of 16 exchanges");
  const Job even = job(4, 5, [](std::size_t, int) { return Work{}; });
  EXPECT_FALSE(spread_finding(even.profiles, even.waits));
}

TEST(Ranks, ProfilesThatAreNotOfOneJob) {
  Trace a, b;
  a.rank = b.rank = 3;
  const std::vector<const Trace*> both = {&a, &b};
  EXPECT_EQ(rank_twice(both), 3U);
  b.rank = 4;
  EXPECT_FALSE(rank_twice(both));
  EXPECT_TRUE(strangers(both).empty());
  a.gpus = {"NVIDIA H100"};
  b.gpus = {"NVIDIA A100"};
  a.ranks = 8;
  b.ranks = 16;
  EXPECT_EQ(strangers(both),
            (std::vector<std::string>{"their GPUs differ: NVIDIA A100, NVIDIA H100", "they are of jobs of 16 and 8 ranks"}));
}

TEST(Ranks, SinceWhenItIsLate) {
  const Job j = job(3, 8, [](std::size_t r, int k) {
    return Work{.kernel = r == 1 && k >= 2 ? 4 * ms : 2 * ms + static_cast<std::int64_t>(r) * us};
  });
  const auto late = j.late();
  ASSERT_TRUE(late);
  EXPECT_EQ(late->trace, 1U);
  EXPECT_EQ(late->since, "ProfilerStep#7");
}

TEST(Ranks, TwoRanksTellOfEachOther) {
  const Job j = job(2, 5, [](std::size_t r, int) { return Work{.kernel = r == 1 ? 3 * ms : 2 * ms}; });
  EXPECT_EQ(told(j, 1).cause, "gpu");
}

TEST(Ranks, WaitsThatComputingHidesAreNotLost) {
  TraceBuilder b[2];
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::int64_t k = 0; k < 4; ++k) {
      const std::int64_t at = k * 10 * ms;
      b[r].step({at, at + 10 * ms});
      b[r].kernel({at + 5 * us, at + 9 * us}, {at + 10 * us, at + 9'990 * us});
      b[r].exchange({at + 10 * us, at + 14 * us}, {at + (r == 0 ? 2 : 6) * ms, at + 7 * ms});
    }
  }
  const std::vector<const Trace*> traces = {&b[0].t, &b[1].t};
  const RankWaits w = match_ranks(traces);
  EXPECT_EQ(w.steps[0].ns[0], 4 * ms);
  const std::vector<Profile> ranks = {take_apart(b[0].t, "a", Peaks{}, w.by_event[0]),
                                      take_apart(b[1].t, "b", Peaks{}, w.by_event[1])};
  EXPECT_FALSE(late_rank(ranks, w)) << "no step is longer for it";
}

TEST(Ranks, WhatNothingOfItsOwnExplainsIsTheNetworks) {
  const Job j = job(4, 5, [](std::size_t r, int) { return Work{.network = r == 3 ? 3 * ms : 0}; });
  EXPECT_EQ(told(j, 3).cause, "network");
}

TEST(Ranks, WaitsAreNeverNegativeAndSomebodyIsAlwaysLast) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Prng r(seed, "ranks");
    const std::size_t n = 2 + r.below(4);
    std::vector<TraceBuilder> b(n);
    for (TraceBuilder& t : b) {
      for (std::int64_t k = 0; k < 3; ++k) t.step({k * 10 * ms, (k + 1) * 10 * ms});
      for (std::uint64_t i = r.below(15); i > 0; --i) {
        const auto at = static_cast<std::int64_t>(r.below(30'000)) * us;
        const auto run = at + static_cast<std::int64_t>(r.below(5'000)) * us;
        t.exchange({at, at + us}, {run, run + static_cast<std::int64_t>(r.below(3'000)) * us},
                   r.chance(0.5) ? "allreduce" : "send", r.chance(0.5) ? "0" : "1", static_cast<std::uint32_t>(r.below(6)),
                   r.chance(0.3) ? r.below(9) : UINT64_MAX);
      }
    }
    std::vector<const Trace*> traces;
    for (const TraceBuilder& t : b) traces.push_back(&t.t);
    const RankWaits w = match_ranks(traces);
    std::uint64_t last = 0;
    for (const RankWaits::Step& s : w.steps) {
      for (const std::uint32_t x : s.last) last += x;
    }
    ASSERT_EQ(last, w.matched) << "seed " << seed;
    std::vector<Profile> profiles;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t e = 0; e < traces[i]->gpu.size(); ++e) {
        ASSERT_GE(w.by_event[i][e], 0);
        ASSERT_LE(w.by_event[i][e], traces[i]->gpu[e].span.length());
      }
      profiles.push_back(take_apart(*traces[i], "x", Peaks{}, w.by_event[i]));
    }
    if (const auto late = late_rank(profiles, w)) {
      ASSERT_LT(late->trace, n);
      ASSERT_LE(late->lost_pct, 100) << "seed " << seed;
      ASSERT_LE(late->blamed_share, 1.0 + 1e-9);
    }
  }
}

}  // namespace
}  // namespace muster::diagnose
