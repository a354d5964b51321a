#include "detect/slow.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace muster::detect {
namespace {
constexpr std::uint32_t kReports = 3;  // slow reports in a row before anybody is suspected
constexpr float kStandsOut = 1.12F;    // tensor activity over the gang's median
constexpr float kSpread = 4;           // and times the median of how far they are from it
}  // namespace

Slow::Slow(const Site& site) : slots_(site.gpus_per_node), tensor_(site.nodes.size() * site.gpus_per_node, -1.0F) {}

void Slow::on_sample(const Sample& m) {
  if (m.field == Field::tensor_active && m.slot >= 0 && static_cast<std::uint32_t>(m.slot) < slots_) {
    tensor_[m.node.v * slots_ + static_cast<std::size_t>(m.slot)] = static_cast<float>(m.value);
  }
}

void Slow::on_step(const StepReport& told, const State& s, Signs& out) {
  const Job* j = find_job(s, told.job);
  if (j == nullptr || j->phase != JobPhase::running || told.step_s <= 0) return;
  StepReport r = told;
  // With fewer pieces than it asked for its steps take longer, and no node is to blame.
  if (j->spec.nodes_min > 0 && j->nodes.size() < j->spec.nodes) r.step_s *= static_cast<double>(j->nodes.size()) / j->spec.nodes;
  Pace& p = jobs_[r.job];
  if (p.attempt != r.attempt) p = {r.attempt, p.best_s, 0, false, {}};
  if (p.lately.size() == kLately) p.lately.erase(p.lately.begin());
  p.lately.push_back({r.at, r.step_s});
  p.best_s = p.best_s == 0 ? r.step_s : std::min(p.best_s, r.step_s);
  const double reference_s = std::min(p.best_s, j->spec.step_s);
  if (r.step_s <= reference_s * (1 + s.policy.slow_step_pct / 100)) {
    p.slow = 0;
    return;
  }
  if (++p.slow < kReports || p.said) return;
  // A gang with a known fault in it needs no further suspect.
  for (NodeId n : j->nodes) {
    if (s.nodes[n.v].incident.some() || in_hot_row(s, n)) return;
  }
  accuse(r, *j, reference_s, onset(p.lately), out);
  p.said = true;
}

void Slow::accuse(const StepReport& r, const Job& j, double reference_s, Time since, Signs& out) {
  std::vector<std::pair<float, std::size_t>> busy;
  for (std::size_t i = 0; i < j.nodes.size(); ++i) {
    const std::size_t first = j.nodes[i].v * slots_;
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      const bool own = i >= j.slots.size() || (j.slots[i] >> slot & 1) != 0;  // a neighbour's GPU is no suspect
      if (own && tensor_[first + slot] >= 0) busy.emplace_back(tensor_[first + slot], first + slot);
    }
  }
  if (busy.size() < 8) return;
  const auto middle = busy.begin() + static_cast<std::ptrdiff_t>(busy.size() / 2);
  std::nth_element(busy.begin(), middle, busy.end());
  const float median = middle->first;
  const auto worst = std::max_element(busy.begin(), busy.end());
  if (median <= 0 || worst->first < median * kStandsOut) return;
  // Where all of them differ, as with uneven pipelines, the busiest is not the slow one: it must stand out of the usual spread
  // too.
  std::vector<float> off;
  for (const auto& [active, gpu] : busy) off.push_back(std::abs(active - median));
  std::nth_element(off.begin(), off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2), off.end());
  if (worst->first - median < kSpread * off[off.size() / 2]) return;
  const NodeId node{static_cast<std::uint32_t>(worst->second / slots_)};
  const auto slot = static_cast<std::int16_t>(worst->second % slots_);
  Sign sign{FindingKind::slow_gpu,
            Severity::warning,
            node,
            slot,
            r.job,
            0,
            {Witness::job,
             r.at,
             {},
             fmt::format(
                 "job {} steps in {:.2f} s instead of {:.2f} s; this GPU's tensor activity is {:.2f} where its peers' is {:.2f}: "
                 "they wait for it",
                 render(r.job), r.step_s, reference_s, worst->first, median)}};
  sign.since = since;
  sign.loss_pct = static_cast<std::uint32_t>(std::lround(100 * (1 - reference_s / r.step_s)));
  out.seen.push_back(std::move(sign));
}

}  // namespace muster::detect
