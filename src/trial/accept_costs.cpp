#include "trial/accept_costs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "accept/plan.h"
#include "base/prng.h"

namespace muster::trial {
namespace {

constexpr double kGpus = 1024, kYear_h = 8760, kPerNode = 8;
constexpr double kPlain = 0.15;  // slower by this share a GPU stands out by itself

std::size_t index(AcceptProfile p) { return p == AcceptProfile::quick ? 0 : 1; }
double test_h(AcceptProfile p, const AcceptCosts& c) { return (accept::seconds_of(accept::plan_of(p)) + c.around_s) / 3600; }

// How long one fault goes on, and whether a test ended it.
struct Course {
  double hours = 0;
  bool caught = false;
};

Course course_of(const FaultClass& f, const TestPolicy& p, const AcceptCosts& c, Prng& draw) {
  const double known_h = f.lying ? c.lying_known_h : f.size >= kPlain ? c.slow_known_h : c.horizon_h;
  // Drawn before anything depends on the policy, so that all policies meet the same faults.
  const double phase = draw.unit(), otherwise = known_h < c.horizon_h ? draw.exponential(known_h) : c.horizon_h;
  const double most = std::min(otherwise, c.horizon_h), returns_h = 1 / (kPerNode * c.returns_per_gpu_h);
  double next_return = p.at_return ? draw.exponential(returns_h) : most;
  double next_planned = p.every_h > 0 ? phase * p.every_h : most;
  for (;;) {
    const bool planned = next_planned <= next_return;
    const double at = std::min(next_planned, next_return);
    if (at >= most) return {most, false};
    if (draw.chance(f.found[planned ? index(p.profile) : 0])) return {at, true};
    if (planned)
      next_planned += p.every_h;
    else
      next_return += draw.exponential(returns_h);
  }
}

}  // namespace

PolicyCost cost_of(const TestPolicy& policy, const std::vector<FaultClass>& classes, const AcceptCosts& assumed) {
  PolicyCost out;
  out.policy = policy;
  const double hours = kGpus * kYear_h;
  const double returns = policy.at_return ? kYear_h * kPerNode * assumed.returns_per_gpu_h : 0;
  const double planned = policy.every_h > 0 ? kYear_h / policy.every_h : 0;
  out.tests = returns + planned;
  out.tested_gpu_h = kGpus * (returns * test_h(AcceptProfile::quick, assumed) + planned * test_h(policy.profile, assumed));
  double caught = 0, rates = 0;
  for (const bool lying : {false, true}) {
    std::vector<const FaultClass*> mine;
    for (const FaultClass& f : classes) {
      if (f.lying == lying) mine.push_back(&f);
    }
    if (mine.empty()) continue;
    const double rate = lying ? assumed.lying_per_gpu_h : assumed.slow_per_gpu_h;
    double lost = 0, found = 0;
    for (std::uint32_t i = 0; i < assumed.drawn; ++i) {
      const FaultClass& f = *mine[i % mine.size()];
      Prng draw(assumed.seed, fmt::format("accept/course/{}/{}", lying ? 1 : 0, i));
      const Course c = course_of(f, policy, assumed, draw);
      lost += c.hours * assumed.gang_gpus * (lying ? assumed.lying_share : f.size * assumed.bound_share);
      found += c.caught ? 1 : 0;
    }
    (lying ? out.lying_gpu_h : out.slow_gpu_h) = rate * hours * lost / assumed.drawn;
    caught += rate * found / assumed.drawn;
    rates += rate;
  }
  out.caught = rates > 0 ? caught / rates : 0;
  return out;
}

std::vector<TestPolicy> usual_policies() {
  constexpr auto kQuick = AcceptProfile::quick, kAccept = AcceptProfile::accept;
  constexpr double kDay = 24;
  return {{"no tests", false, kQuick, 0},
          {"quick at each return", true, kQuick, 0},
          {"..., quick every month", true, kQuick, 30 * kDay},
          {"..., quick every week", true, kQuick, 7 * kDay},
          {"..., quick every day", true, kQuick, kDay},
          {"..., accept every month", true, kAccept, 30 * kDay},
          {"..., accept every week", true, kAccept, 7 * kDay}};
}

BestPolicy best_policy(const std::vector<FaultClass>& classes, const AcceptCosts& assumed, double times) {
  constexpr double kDays[] = {1, 2, 3, 5, 7, 10, 14, 21, 30, 60, 90, 180, 365};
  BestPolicy best;
  best.times = times;
  double least = 0;
  for (const AcceptProfile profile : {AcceptProfile::quick, AcceptProfile::accept}) {
    for (const double days : kDays) {
      const TestPolicy p{fmt::format("{} every {}", name_of(profile), days == 1 ? "day" : fmt::format("{} days", days)), true,
                         profile, 24 * days};
      PolicyCost c = cost_of(p, classes, assumed);
      const double total = c.tested_gpu_h + times * (c.slow_gpu_h + c.lying_gpu_h);
      if (!best.cost.policy.name.empty() && total >= least) continue;
      least = total;
      best.cost = std::move(c);
    }
  }
  return best;
}

}  // namespace muster::trial
