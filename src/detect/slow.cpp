#include "detect/slow.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/series.h"

namespace muster::detect {
namespace {
constexpr std::uint32_t kReports = 3;  // slow reports in a row before anybody is suspected
constexpr float kStandsOut = 1.12F;    // tensor activity over the gang's median
constexpr float kSpread = 4;           // and times the median of how far they are from it
constexpr std::size_t kGangLeast = 8;  // GPUs of which something is known, for one to stand out

float median(std::vector<std::pair<float, std::size_t>> v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return middle->first;
}
}  // namespace

Slow::Slow(const Site& site)
    : slots_(site.gpus_per_node), tensor_(site.nodes.size() * site.gpus_per_node, -1.0F), collective_(tensor_) {}

void Slow::on_sample(const Sample& m) {
  if (m.slot < 0 || static_cast<std::uint32_t>(m.slot) >= slots_) return;
  (m.field == Field::tensor_active ? tensor_ : collective_)[m.node.v * slots_ + static_cast<std::size_t>(m.slot)] =
      static_cast<float>(m.value);
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

Slow::Values Slow::of_job(const Job& j, const std::vector<float>& all) const {
  Values out;
  for (std::size_t i = 0; i < j.nodes.size(); ++i) {
    const std::size_t first = j.nodes[i].v * slots_;
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      const bool own = i >= j.slots.size() || (j.slots[i] >> slot & 1) != 0;  // a neighbour's GPU is no suspect
      if (own && all[first + slot] >= 0) out.emplace_back(all[first + slot], first + slot);
    }
  }
  return out;
}

std::optional<Slow::Odd> Slow::busiest(const Job& j) const {
  const Values busy = of_job(j, tensor_);
  if (busy.size() < kGangLeast) return {};
  const float usual = median(busy);
  const auto worst = std::max_element(busy.begin(), busy.end());
  if (usual <= 0 || worst->first < usual * kStandsOut) return {};
  // Where all of them differ, as with uneven pipelines, the busiest is not the slow one: it must stand out of the usual spread
  // too.
  std::vector<float> off;
  for (const auto& [active, gpu] : busy) off.push_back(std::abs(active - usual));
  std::nth_element(off.begin(), off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2), off.end());
  if (worst->first - usual < kSpread * off[off.size() / 2]) return {};
  return Odd{worst->second, fmt::format("this GPU's tensor activity is {:.2f} where its peers' is {:.2f}: they wait for it",
                                        worst->first, usual)};
}

std::optional<Slow::Odd> Slow::last_to_come(const Job& j) const {
  const Values in = of_job(j, collective_);
  if (in.size() < kGangLeast) return {};
  const float usual = median(in);
  const auto late = [&](float us) { return us > 0 && in_collective(usual / us) == InCollective::late; };
  // One GPU is late, or those of its own group with it; where many are, there is no line.
  const auto many = std::count_if(in.begin(), in.end(), [&](const auto& x) { return late(x.first); });
  const auto first = std::min_element(in.begin(), in.end());
  if (!late(first->first) || 4 * static_cast<std::size_t>(many) > in.size()) return {};
  return Odd{first->second,
             fmt::format("this GPU is in its collectives for {:.4g} us where its peers are for {:.4g}: it comes to "
                         "them last, and they wait for it",
                         first->first, usual)};
}

void Slow::accuse(const StepReport& r, const Job& j, double reference_s, Time since, Signs& out) {
  auto odd = busiest(j);
  if (!odd) odd = last_to_come(j);
  if (!odd) return;
  const NodeId node{static_cast<std::uint32_t>(odd->gpu / slots_)};
  const auto slot = static_cast<std::int16_t>(odd->gpu % slots_);
  Sign sign{FindingKind::slow_gpu,
            Severity::warning,
            node,
            slot,
            r.job,
            0,
            {Witness::job,
             r.at,
             {},
             fmt::format("job {} steps in {:.2f} s instead of {:.2f} s; {}", render(r.job), r.step_s, reference_s, odd->why)}};
  sign.since = since;
  sign.loss_pct = static_cast<std::uint32_t>(std::lround(100 * (1 - reference_s / r.step_s)));
  out.seen.push_back(std::move(sign));
}

}  // namespace muster::detect
