#include "trial/accept_trial.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "accept/judge.h"
#include "base/series.h"
#include "trial/statistics.h"

namespace muster::trial {
namespace {

constexpr AcceptProfile kQuick = AcceptProfile::quick, kAccept = AcceptProfile::accept;
constexpr std::size_t kOurs = 3;  // rules of ours: by quick, by accept, with each GPU's own past
constexpr std::uint32_t kPlantedRuns = 1'000'000, kPastRuns = 2'000'000;  // numbers of runs that are no others'
constexpr std::array kParts = {SlowPart::unit, SlowPart::memory, SlowPart::clock};

// Recordings that limits come from: the first run of each node, some of its GPUs slow already.
std::vector<Acceptance> baseline(const AcceptFleet& fleet, std::uint32_t nodes, AcceptProfile profile,
                                 const AcceptTrialOptions& o) {
  std::vector<Acceptance> out;
  Prng draw(o.seed, "accept/bad");
  for (std::uint32_t n = 0; n < nodes; ++n) {
    out.push_back(fleet.record({0, n, 0}, profile));
    for (const accepting::Gpu& g : out.back().gpus) {
      const bool bad = draw.chance(o.bad_share);
      const double by = 0.03 + 0.12 * draw.unit();
      if (!bad) continue;
      for (accepting::Measured& m : out.back().measured) {
        if (m.gpu == g.gpu && (m.mhz > 0 || m.test == AcceptTest::hbm)) m.value *= 1 - by;
      }
    }
  }
  return out;
}

double median_of_metric(const Acceptance& a, std::int32_t gpu, const char* metric) {
  std::map<std::uint32_t, std::vector<double>> turns;
  for (const accepting::Measured& m : a.measured) {
    if (m.gpu == gpu && m.metric == metric) turns[m.turn].push_back(m.value);
  }
  double best = 0;
  for (auto& [turn, values] : turns) best = std::max(best, median_of(std::move(values)));
  return best;
}

// Rules of other tools: raw rates, of products and of copies of memory, against one number each.
struct RawRule {
  const char* name;
  double share = 0;  // of the fleet's median; 0: 4.5 spreads below it
};
constexpr RawRule kRaw[] = {{"raw rates, 75 % of a reference (DCGM)", 0.75},
                            {"raw rates, 95 % of the median", 0.95},
                            {"raw rates, median less 4.5 spreads", 0}};
constexpr const char* kRawMetrics[] = {"sustained_bf16", "hbm_copy"};
constexpr AcceptTest kRawTests[] = {AcceptTest::sustained, AcceptTest::hbm};

class Trial {
 public:
  explicit Trial(const AcceptTrialOptions& o)
      : o_(o),
        nodes_((o.gpus + AcceptFleet::kPerNode - 1) / AcceptFleet::kPerNode),
        fleet_(o.seed, o.spread),
        limits_{limits(kQuick, 1), limits(kAccept, 1), limits(kQuick, 1 + accept::kHistoryMin)} {}

  AcceptTrial run() {
    AcceptTrial out;
    out.seed = o_.seed;
    out.gpus = nodes_ * AcceptFleet::kPerNode;
    out.spread = o_.spread;
    out.assumed = o_.costs;
    out.rules.push_back(rule("per MHz, limits of the fleet (muster accept)", kQuick));
    out.rules.push_back(rule("the same, in the profile accept", kAccept));
    out.rules.push_back(rule("the same, and limits of each GPU's own past", kQuick));
    for (const RawRule& r : kRaw) out.rules.push_back(rule(r.name, kQuick));
    healthy(out);
    for (std::size_t ours = 0; ours < kOurs; ++ours) slow(out, ours);
    lying(out);
    const std::vector<FaultClass> classes = classes_of(out);
    for (const TestPolicy& p : usual_policies()) out.policies.push_back(cost_of(p, classes, o_.costs));
    for (const double times : {0.1, 1.0, 10.0}) out.best.push_back(best_policy(classes, o_.costs, times));
    tell(1);
    return out;
  }

 private:
  static RuleTried rule(const char* name, AcceptProfile profile) {
    RuleTried r;
    r.name = name;
    r.profile = profile;
    for (const SlowPart part : kParts) r.slow.push_back({part, {}});
    return r;
  }

  // From so many runs of each node: the first of several is its newest, and the others are its past.
  accept::Limits limits(AcceptProfile profile, std::size_t runs) {
    std::vector<Acceptance> known = baseline(fleet_, nodes_, profile, o_);
    for (std::size_t k = 0; k < 2 && profile == kQuick; ++k) {
      std::vector<double> values;
      for (const Acceptance& a : known) {
        for (const accepting::Gpu& g : a.gpus) values.push_back(median_of_metric(a, g.gpu, kRawMetrics[k]));
      }
      raw_[k] = accept::spread_of(std::move(values));
    }
    for (std::uint32_t n = 0; n < nodes_ && runs > 1; ++n) {
      for (std::uint32_t past = 1; past < runs; ++past) {
        known.push_back(fleet_.record({0, n, kPastRuns + past}, profile));
        known.back().host.begun = known[n].host.begun - days(past);
      }
    }
    return accept::Limits(known);
  }

  // GPUs of the recording that do not pass, after what was short was tried once more.
  std::uint64_t judged(Acceptance a, std::size_t ours, const TestedNode& of, const Planted& planted,
                       std::uint64_t& repeated) const {
    const accept::Limits& limits = limits_[ours];
    accept::Judgement j = accept::judge(a, limits);
    if (j.verdict == accept::Verdict::pass) return 0;
    if (const auto again = accept::worth_repeating(a, limits); !again.empty()) {
      std::map<std::int32_t, int> gpus;
      for (const auto& [gpu, test] : again) ++gpus[gpu];
      repeated += gpus.size();
      fleet_.repeat(a, again, of, planted);
      j = accept::judge(a, limits);
    }
    const bool node_failed = !j.node.empty();
    return static_cast<std::uint64_t>(std::count_if(j.gpus.begin(), j.gpus.end(), [&](const accept::GpuVerdict& g) {
      return node_failed || g.verdict != accept::Verdict::pass;
    }));
  }

  // The same by a rule of others: of a GPU that is short, the better of two counts as well.
  std::uint64_t raw_failures(const RawRule& r, const Acceptance& a, const TestedNode& of, const Planted& planted) const {
    std::vector<std::pair<std::int32_t, AcceptTest>> again;
    const auto short_of = [&](const Acceptance& x, std::int32_t gpu, std::size_t k) {
      const double limit = r.share > 0 ? r.share * raw_[k].median : raw_[k].median - 4.5 * raw_[k].sigma;
      return median_of_metric(x, gpu, kRawMetrics[k]) < limit;
    };
    for (const accepting::Gpu& g : a.gpus) {
      for (std::size_t k = 0; k < 2; ++k) {
        if (short_of(a, g.gpu, k)) again.emplace_back(g.gpu, kRawTests[k]);
      }
    }
    if (again.empty()) return 0;
    Acceptance twice = a;
    fleet_.repeat(twice, again, of, planted);
    return static_cast<std::uint64_t>(std::count_if(twice.gpus.begin(), twice.gpus.end(), [&](const accepting::Gpu& g) {
      return short_of(twice, g.gpu, 0) || short_of(twice, g.gpu, 1);
    }));
  }

  // Cards that no limit comes from, each tested once: so that a card at the edge is not counted a hundred times.
  void healthy(AcceptTrial& out) {
    const auto count = [&](std::size_t ours, const Acceptance& a, const TestedNode& of) {
      RuleTried& r = out.rules[ours];
      r.runs += a.gpus.size();
      r.failures += judged(a, ours, of, {}, r.repeated);
    };
    for (std::uint32_t run = 1; run <= o_.runs; ++run) {
      for (std::uint32_t n = 0; n < nodes_; ++n) {
        const TestedNode of{run, n, 0};
        const Acceptance a = fleet_.record(of, kQuick);
        for (std::size_t r = 0; r < std::size(kRaw); ++r) {
          out.rules[kOurs + r].runs += a.gpus.size();
          out.rules[kOurs + r].failures += raw_failures(kRaw[r], a, of, {});
        }
        count(0, a, of);
        // What differs from it in little is tried on a fifth of the runs.
        if (run % 5 != 1) continue;
        count(1, fleet_.record(of, kAccept), of);
        const TestedNode known{0, n, run};  // one that has a past
        count(2, fleet_.record(known, kQuick), known);
      }
      tell(0.7 * run / o_.runs);
    }
  }

  // As many nodes as have the GPUs that are asked for, of the fleet that limits come from.
  template <class F>
  void planted_runs(F body) const {
    const std::uint32_t nodes = (o_.planted + AcceptFleet::kPerNode - 1) / AcceptFleet::kPerNode;
    for (std::uint32_t i = 0; i < nodes; ++i) body(TestedNode{0, i % nodes_, kPlantedRuns + i / nodes_});
  }

  void slow(AcceptTrial& out, std::size_t ours) {
    for (std::size_t p = 0; p < kParts.size(); ++p) {
      for (std::size_t s = 0; s < kSlowSizes.size(); ++s) {
        const Planted planted{kParts[p], kSlowSizes[s], Lie::none, 0};
        planted_runs([&](const TestedNode& of) {
          const Acceptance a = fleet_.record(of, out.rules[ours].profile, planted);
          const auto count = [&](std::size_t rule, std::uint64_t found) {
            FoundShare& f = out.rules[rule].slow[p].by_size[s];
            f.tried += a.gpus.size();
            f.found += found;
          };
          for (std::size_t r = 0; r < std::size(kRaw) && ours == 0; ++r) count(kOurs + r, raw_failures(kRaw[r], a, of, planted));
          std::uint64_t repeated = 0;
          count(ours, judged(a, ours, of, planted, repeated));
        });
      }
      tell(0.7 + 0.15 * static_cast<double>(kParts.size() * ours + p + 1) / static_cast<double>(kParts.size() * kOurs));
    }
  }

  void lying(AcceptTrial& out) {
    const auto add = [&](const char* what, Lie lie, double chance, std::optional<bool> first_result) {
      out.lies.push_back({what, {SlowPart::none, 0, lie, chance}, {}, {}, first_result});
    };
    add("one output in 1e10 is wrong", Lie::output, 1e-10, true);
    add("one output in 1e11 is wrong", Lie::output, 1e-11, true);
    add("one output in 1e12 is wrong", Lie::output, 1e-12, true);
    add("one output in 1e13 is wrong", Lie::output, 1e-13, true);
    add("one row of every product, always alike", Lie::repeating, 0, false);
    add("one SM, always", Lie::sm, 0, false);
    add("one SM, in one pass of 100", Lie::sm_at_times, 1e-2, true);
    add("one SM, in one pass of 1,000", Lie::sm_at_times, 1e-3, true);
    add("one address, always", Lie::address, 0, std::nullopt);
    add("one address, in one pattern of 100", Lie::address_at_times, 1e-2, std::nullopt);
    add("one uncorrected memory error an hour", Lie::uncorrected, 1, std::nullopt);
    add("30,000 corrected memory errors an hour", Lie::corrected, 30'000, std::nullopt);
    for (LieTried& l : out.lies) {
      for (const std::size_t ours : {0, 1}) {
        FoundShare& f = ours == 0 ? l.quick : l.accept;
        planted_runs([&](const TestedNode& of) {
          std::uint64_t repeated = 0;
          f.tried += AcceptFleet::kPerNode;
          f.found += judged(fleet_.record(of, out.rules[ours].profile, l.planted), ours, of, l.planted, repeated);
        });
      }
      tell(0.85 + 0.1 * static_cast<double>(&l - out.lies.data() + 1) / static_cast<double>(out.lies.size()));
    }
  }

  // Slow is what healthy cards do not differ by.
  static std::vector<FaultClass> classes_of(const AcceptTrial& t) {
    constexpr double kLeast = 0.03, kLeastClock = 0.08;
    std::vector<FaultClass> out;
    for (std::size_t p = 0; p < kParts.size(); ++p) {
      for (std::size_t s = 0; s < kSlowSizes.size(); ++s) {
        if (kSlowSizes[s] < (kParts[p] == SlowPart::clock ? kLeastClock : kLeast)) continue;
        out.push_back({false, kSlowSizes[s], {t.rules[0].slow[p].by_size[s].share(), t.rules[1].slow[p].by_size[s].share()}});
      }
    }
    for (const LieTried& l : t.lies) out.push_back({true, 0, {l.quick.share(), l.accept.share()}});
    return out;
  }

  void tell(double share) const {
    if (o_.progress) o_.progress(share);
  }

  const AcceptTrialOptions& o_;
  std::uint32_t nodes_;
  AcceptFleet fleet_;
  std::array<accept::Spread, 2> raw_{};
  std::array<accept::Limits, kOurs> limits_;
};

}  // namespace

double FoundShare::at_least() const {
  if (tried == 0) return 0;
  return std::max(0.0, 1 - poisson_high(tried - found) / static_cast<double>(tried));
}

double RuleTried::per_10000_at_most() const { return runs == 0 ? 1e4 : 1e4 * poisson_high(failures) / static_cast<double>(runs); }

AcceptTrial try_acceptance(const AcceptTrialOptions& options) { return Trial(options).run(); }

}  // namespace muster::trial
