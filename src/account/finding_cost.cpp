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
  return useless(f.kind) ? ms : ms * f.loss_pct / 100;
}

}  // namespace

FindingCost cost_of(const State& s, const Finding& f, Time utc) {
  FindingCost out;
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
