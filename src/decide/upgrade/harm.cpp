#include "decide/upgrade/harm.h"

#include <fmt/core.h>

#include "base/math.h"
#include "decide/words.h"
#include "predict/paired_change.h"

namespace muster::decide {
namespace {

constexpr double kFailuresPerNodeHour = 6.5e-4;  // of published fleets, for a node of eight; data/fault_rates.csv
constexpr double kOwnHistoryTimes = 2;           // a fleet fails in bursts: what was seen on average is doubled
constexpr double kOutHours = 0.5;                // a node is away so long for its turn, and tested in it
constexpr std::uint32_t kBadLeast = 3;           // in waves: fewer are never enough to stop it
constexpr double kChance = 0.001;                // and less likely than this by chance
constexpr double kSlowerLeast = 0.005;           // a loss of speed that is worth taking a version back for
constexpr double kWorthATest = -2;               // standard errors: above that no test finds anything

// Cables, cooling and storage have nothing to do with what is installed.
bool of_software(FindingKind k) {
  switch (k) {
    case FindingKind::link_flap:
    case FindingKind::link_down:
    case FindingKind::ib_degraded:
    case FindingKind::thermal_throttle:
    case FindingKind::row_hot:
    case FindingKind::fabric_fault:
    case FindingKind::storage_stall:
    case FindingKind::mount_stalled:
    case FindingKind::app_error:
    case FindingKind::job_failed:
    case FindingKind::hearsay:
    case FindingKind::version_drift:  // that is what an upgrade looks like half-way
    case FindingKind::common_cause: return false;
    default: return true;
  }
}

}  // namespace

std::string trouble_on(const State& s, NodeId n) {
  const auto counts = [&](const Finding& f) {
    const Runbook* book = runbook_for(s, n, f.kind, f.code);
    return f.cleared.ns == 0 && of_software(f.kind) && book != nullptr && book->act;
  };
  if (const Incident* i = find_incident(s, s.nodes[n.v].incident)) {
    for (const FindingId id : i->findings) {
      const Finding* f = find_finding(s, id);
      if (f != nullptr && counts(*f)) return std::string(say(f->kind));
    }
  }
  if (const auto it = s.explained.find(n); it != s.explained.end()) {
    for (const FindingId id : it->second) {
      if (counts(*find_finding(s, id))) return std::string(say(find_finding(s, id)->kind));
    }
  }
  return {};
}

std::uint32_t bad_nodes(const Upgrade& u) {
  return static_cast<std::uint32_t>(std::count_if(u.turns.begin(), u.turns.end(), [](const auto& t) {
    return t.second.stage == TurnStage::bad && t.second.installed && !t.second.back;
  }));
}

double poisson_tail(double mean, std::uint32_t count) {
  double term = det_exp(-mean);
  double below = 0;
  for (std::uint32_t k = 0; k < count; ++k) {
    below += term;
    term *= mean / (k + 1);
  }
  return std::max(0.0, 1 - below);
}

std::string slower_with_it(const Upgrade& u) {
  std::vector<double> before, after;
  double sum = 0, squares = 0;
  for (const auto& [n, t] : u.turns) {
    if (t.back || !t.installed || t.score_before <= 0 || t.score_after <= 0) continue;
    before.push_back(t.score_before);
    after.push_back(t.score_after);
    const double change = t.score_after / t.score_before - 1;
    sum += change;
    squares += change * change;
  }
  // The test takes thousands of draws, and this is asked in every turn of the loop: first a look at the mean.
  const auto n = static_cast<double>(before.size());
  if (before.size() < 2) return {};
  const double mean = sum / n;
  const double error = det_sqrt(std::max(1e-18, squares / n - mean * mean) / n);
  if (mean > kWorthATest * error || mean > -kSlowerLeast) return {};
  const PairedChange c = paired_change(before, after, {}, {}, kChance, kSlowerLeast);
  if (!c.worse) return {};
  return fmt::format("{} nodes measured before and after are {:.1f} % slower with it, which chance does in {:.2g} of cases",
                     c.pairs, -100 * c.change, c.p_worse);
}

std::string verdict(const State& s) {
  const Upgrade& u = s.upgrade;
  if (u.spec.measured) {
    if (std::string slower = slower_with_it(u); !slower.empty()) return slower;
  }
  const std::uint32_t bad = bad_nodes(u);
  if (bad == 0) return {};
  std::string first;
  double hours_watched = 0;
  std::uint32_t canaries = 0;
  for (const auto& [n, t] : u.turns) {
    if (t.stage == TurnStage::bad && t.installed && first.empty()) first = s.site.nodes[n.v].name + ": " + t.note;
    canaries += t.canary ? 1 : 0;
    if (!t.installed) continue;
    const Duration seen = t.returned.ns == 0 ? Duration{} : std::min(u.spec.watch, s.mono() - t.returned);
    hours_watched += kOutHours + seen.seconds() / 3600;
  }
  if (u.phase == UpgradePhase::canary) {
    const bool enough = bad >= 2 || 2 * bad > std::max(canaries, 1U);
    return enough ? fmt::format("{} of {} canaries went bad with it ({})", bad, canaries, first) : std::string();
  }
  const double own = kOwnHistoryTimes * u.baseline / (28 * 24.0 * std::max<double>(1, static_cast<double>(s.nodes.size())));
  const double expected = hours_watched * std::max(kFailuresPerNodeHour, own);
  const double chance = poisson_tail(expected, bad);
  if (bad < kBadLeast || chance >= kChance) return {};
  return fmt::format("{} upgraded nodes went bad where {:.1f} would have without it, which chance does in {:.2g} of cases ({})",
                     bad, expected, chance, first);
}

}  // namespace muster::decide
