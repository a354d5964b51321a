#include "account/finding_cost.h"

#include <algorithm>
#include <bit>
#include <map>

namespace muster::account {
namespace {

using K = FindingKind;

bool whole_node(K k) { return k == K::node_silent || k == K::driver_hang; }
// The GPU that is named does nothing useful while it lasts.
bool useless(K k) {
  return k == K::gpu_lost || k == K::gpu_fault || k == K::gsp_timeout || k == K::ecc_uncorrectable || k == K::link_down;
}

bool open(const Finding& f) { return f.cleared.ns == 0; }

std::int64_t gpus_of_job(const State& s, JobId id) {
  const Job* j = find_job(s, id);
  std::int64_t n = 0;
  for (std::size_t i = 0; j != nullptr && i < j->nodes.size(); ++i)
    n += i < j->slots.size() && j->slots[i] != 0 ? std::popcount(j->slots[i]) : s.site.gpus_per_node;
  return n;
}

std::int64_t lasted_ms(const Finding& f, Time utc) {
  const Time end = f.cleared.ns != 0 ? f.cleared : utc;
  return std::max<std::int64_t>(0, (end - f.began()).ns / 1'000'000);
}

// The gang on the GPU, or the first on the node.
JobId gang_at(const State& s, const Finding& f) {
  for (const Share& x : s.nodes[f.node.v].shares) {
    if (f.slot < 0 || f.slot >= 16 || (x.slots >> f.slot & 1) != 0) return x.job;
  }
  return {};
}

// In percent: since it started, as far as its last checkpoint tells.
std::uint32_t told_slow_pct(const Job& j) {
  const std::int64_t ran = (j.checkpointed - j.started).ns / 1'000'000;
  if (ran <= 0 || j.progress.slow_ms <= 0) return 0;
  constexpr std::int64_t kMost = 95;  // it does make checkpoints
  return static_cast<std::uint32_t>(std::min(kMost, 100 * j.progress.slow_ms / ran));
}

// What an open finding takes from the gang on its node, in percent; what is found of the gang itself (`of_gang`) says it best.
std::uint32_t slows_by(const State& s, const Finding& f, JobId gang, std::uint32_t of_gang) {
  const Job* j = find_job(s, gang);
  if (j == nullptr || j->phase != JobPhase::running || !slows_gangs(f.kind)) return 0;
  const std::uint32_t pct = std::max(f.loss_pct, of_gang);
  return pct > 0 ? pct : told_slow_pct(*j);
}

// Found of each gang itself, in percent.
std::map<JobId, std::uint32_t> losses_of_gangs(const State& s) {
  std::map<JobId, std::uint32_t> out;
  for (const auto& [id, x] : s.findings) {
    if (open(x) && x.job.some() && x.loss_pct > 0) out[x.job] = std::max(out[x.job], x.loss_pct);
  }
  return out;
}

std::uint32_t loss_of(const std::map<JobId, std::uint32_t>& losses, JobId gang) {
  const auto it = losses.find(gang);
  return it == losses.end() ? 0 : it->second;
}

std::int64_t of_one(const State& s, const Finding& f, Time utc) {
  const std::int64_t ms = lasted_ms(f, utc);
  if (f.loss_pct > 0 && f.job.some()) return ms * gpus_of_job(s, f.job) * f.loss_pct / 100;
  if (!f.node.some() || f.node.v >= s.nodes.size()) return 0;
  if (whole_node(f.kind)) return ms * s.site.gpus_per_node;
  // A node that is kept from work for this finding costs all of its GPUs.
  const NodeState& n = s.nodes[f.node.v];
  const Incident* i = find_incident(s, n.incident);
  const bool out = f.cleared.ns == 0 && i != nullptr && n.hold != Hold::none && !n.busy() &&
                   std::find(i->findings.begin(), i->findings.end(), f.id) != i->findings.end();
  if (out) return ms * s.site.gpus_per_node;
  if (open(f) && slows_gangs(f.kind)) {
    const JobId gang = gang_at(s, f);
    const Job* j = find_job(s, gang);
    if (const std::uint32_t pct = slows_by(s, f, gang, loss_of(losses_of_gangs(s), gang)); pct > 0) {
      const std::int64_t with_it = std::max<std::int64_t>(0, (utc - std::max(f.began(), j->started)).ns / 1'000'000);
      return with_it * gpus_of_job(s, gang) * pct / 100;
    }
  }
  return useless(f.kind) ? ms : ms * f.loss_pct / 100;
}

}  // namespace

bool slows_gangs(FindingKind k) {
  switch (k) {
    case K::thermal_throttle:
    case K::nvlink_degraded:
    case K::pcie_degraded:
    case K::link_flap:
    case K::slow_gpu:
    case K::power_brake:
    case K::clock_drop:
    case K::ib_degraded: return true;
    default: return false;
  }
}

std::map<JobId, double> slow_shares(const State& s) {
  std::map<JobId, double> out;
  const std::map<JobId, std::uint32_t> losses = losses_of_gangs(s);  // once: a storm has thousands of findings
  for (const auto& [id, f] : s.findings) {
    if (!open(f)) continue;
    const JobId gang = f.job.some() ? f.job : f.node.v < s.nodes.size() ? gang_at(s, f) : JobId{};
    const std::uint32_t pct = slows_by(s, f, gang, loss_of(losses, gang));
    if (pct > 0) out[gang] = std::max(out[gang], std::min(1.0, pct / 100.0));
  }
  return out;
}

FindingCost cost_of(const State& s, const Finding& f, Time utc) {
  FindingCost out;
  out.currency = s.policy.currency;
  if (f.kind == K::common_cause || f.kind == K::storage_stall) {
    std::map<NodeId, std::int64_t> by_node;
    for (const auto& [id, x] : s.findings) {
      if (x.part_of == f.id && x.node.some()) by_node[x.node] += of_one(s, x, utc);
    }
    const std::int64_t most = lasted_ms(f, utc) * s.site.gpus_per_node;  // of a node, however many findings it has
    for (const auto& [node, ms] : by_node) out.gpu_ms += std::min(ms, most);
  } else {
    out.gpu_ms = of_one(s, f, utc);
  }
  constexpr double kHour_ms = 3.6e6;
  out.money = static_cast<double>(out.gpu_ms) / kHour_ms * s.policy.gpu_hour_price;
  return out;
}

}  // namespace muster::account
