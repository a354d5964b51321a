// Forks: a cluster made from what a controller's state knows of another one.
#include <fmt/core.h>

#include "model/acceptance_word.h"
#include "twin/cluster.h"

namespace muster::twin {
namespace {

// The fault that a failed acceptance test would mean. The twin has none of GPUs that compute wrongly.
std::optional<FaultKind> meaning_of(AcceptFault f) {
  switch (f) {
    case AcceptFault::memory: return FaultKind::ecc_uncorrectable;
    case AcceptFault::link: return FaultKind::pcie_degraded;
    case AcceptFault::slow: return FaultKind::slow_gpu;
    case AcceptFault::none:
    case AcceptFault::wrong_results:
    case AcceptFault::power:
    case AcceptFault::not_run:
    case AcceptFault::hung: return std::nullopt;
  }
  return std::nullopt;
}

// The fault that a finding would mean, if it were true. Findings about jobs and passing trouble mean none.
std::optional<FaultKind> meaning_of(const Finding& f) {
  switch (f.kind) {
    case FindingKind::acceptance_failed: return meaning_of(static_cast<AcceptFault>(f.code));
    case FindingKind::gpu_lost: return FaultKind::gpu_off_bus;
    case FindingKind::ecc_uncorrectable: return FaultKind::ecc_uncorrectable;
    case FindingKind::row_remap_pending: return FaultKind::row_remap;
    case FindingKind::row_remap_failed: return FaultKind::row_remap_failure;
    case FindingKind::nvlink_degraded: return FaultKind::nvlink_degraded;
    case FindingKind::pcie_degraded: return FaultKind::pcie_degraded;
    case FindingKind::thermal_throttle: return FaultKind::thermal;
    case FindingKind::link_down: return FaultKind::cable_down;
    case FindingKind::gsp_timeout: return FaultKind::gsp_hang;
    case FindingKind::slow_gpu: return FaultKind::slow_gpu;
    case FindingKind::link_flap:
    case FindingKind::node_silent:  // known from the node's condition
    case FindingKind::host_rebooted:
    case FindingKind::storage_stall:
    case FindingKind::app_error:
    case FindingKind::job_failed:
    case FindingKind::row_hot:
    case FindingKind::gpu_fault:  // what the twin has no fault for
    case FindingKind::gpu_suspect:
    case FindingKind::ecc_correctable:
    case FindingKind::power_brake:
    case FindingKind::clock_drop:
    case FindingKind::ib_degraded:
    case FindingKind::driver_hang:
    case FindingKind::nccl_hang:
    case FindingKind::version_drift:
    case FindingKind::failure_predicted:
    case FindingKind::host_fault:
    case FindingKind::mount_stalled:
    case FindingKind::hearsay:
    case FindingKind::common_cause:  // its members are what is wrong
    case FindingKind::sdc_suspected:
    case FindingKind::xid_other:
    case FindingKind::engine_drained:
    case FindingKind::fabric_fault: return std::nullopt;
  }
  return std::nullopt;
}

bool being_repaired(const State& s, NodeId n) {
  for (const auto& [key, o] : s.orders) {
    const Verb v = o.order.action.verb;
    if (o.status == Status::pending && o.order.action.node == n &&
        (v == Verb::reboot_node || v == Verb::power_cycle_node || v == Verb::replace_node)) {
      return true;
    }
  }
  return false;
}

}  // namespace

void Cluster::fork_nodes(const State& s) {
  for (std::uint32_t i = 0; i < nodes.size() && i < s.nodes.size(); ++i) {
    const NodeState& from = s.nodes[i];
    Node& to = nodes[i];
    to.drained = from.hold != Hold::none;
    to.condition = from.condition;
    told_place(NodeId{i});
    if (from.condition == NodeCondition::up || being_repaired(s, NodeId{i})) continue;
    if (from.condition == NodeCondition::booting) {
      set_life(NodeId{i}, Life::booting);
      queue.push(now + minutes(5), Tick::booted, i, to.turn);
    } else {
      begin_fault(FaultKind::node_hang, NodeId{i}, -1, false);
    }
  }
  for (const auto& [id, f] : s.findings) {
    const auto kind = meaning_of(f);
    if (!kind || f.cleared.ns != 0 || !f.node.some() || f.node.v >= nodes.size()) continue;
    if (node(f.node).life != Life::up) continue;
    int slot = f.slot;
    if (slot < 0 || slot >= static_cast<int>(per_node)) slot = -1;
    bool known = false;
    for (const std::uint32_t g : node(f.node).faults) known = known || faults[g].slot == slot;
    if (!known) begin_fault(*kind, f.node, slot, false);
  }
}

void Cluster::fork_jobs(const State& s) {
  for (const auto& [id, j] : s.jobs) {
    next_job = std::max(next_job, id.number + 1);
    if (ended(j.phase)) continue;
    const std::uint32_t g = add_gang(id, j.spec);
    Gang& x = gangs[g];
    x.attempt = j.phase == JobPhase::starting && j.attempt > 0 ? j.attempt - 1 : j.attempt;
    x.durable_ns = std::min(static_cast<std::int64_t>(j.progress.durable_steps) * x.step_ns, x.total_ns);
    x.work_ns = x.durable_ns;
    x.phase = j.phase == JobPhase::broken ? Phase::broken : Phase::queued;
    if (j.phase != JobPhase::running || j.nodes.empty()) continue;
    const std::uint32_t milli = j.spec.gpu_milli > 0 ? j.spec.gpu_milli : 1000;
    bool whole = j.slots.empty() || j.slots.size() == j.nodes.size();
    for (std::size_t i = 0; i < j.nodes.size() && whole; ++i) {
      const std::uint16_t slots = j.slots.empty() ? all_slots() : j.slots[i];
      whole = j.nodes[i].v < nodes.size() && (slots & ~all_slots()) == 0 && room_for(j.nodes[i], slots, milli, kNone);
    }
    if (!whole) continue;
    x.nodes = j.nodes;
    x.slots = j.slots;
    x.life = next_life++;
    occupy(g);
    x.init_ns = j.progress.init_ms * 1'000'000;
    x.checkpoint_ns = j.progress.checkpoint_ms * 1'000'000;
    x.slow_ns = j.progress.slow_ms * 1'000'000;
    x.checkpoints = j.progress.checkpoints;
    x.work_ns = std::clamp(static_cast<std::int64_t>(j.progress.steps) * x.step_ns, x.durable_ns, x.total_ns);
    // What it did since its last word is not known: it goes on from there.
    x.told_work_ns = x.work_ns;
    x.told_slow_ns = x.slow_ns;
    x.since = now;
    const double init_s = j.spec.init_s >= 0 ? j.spec.init_s : 120;
    if (j.progress.init_ms == 0 && init_s > 0) {
      begin_init(g, from_seconds(std::min(init_s, 1e6)));
    } else {
      begin_compute(g);
    }
    if (j.paced_every.ns > 0) pace(g, j.paced_every, j.paced_next);
    watch_limit(g, s.now.utc - j.started);
    haunt(g);
  }
}

// Orders under way go on; how long they still take is drawn anew.
void Cluster::fork_orders(const State& s) {
  epoch = s.epoch;
  for (const auto& [key, o] : s.orders) {
    if (order_of.contains(key)) continue;
    if (o.status == Status::pending || o.status == Status::unknown) {
      Order again = o.order;
      again.epoch = epoch;
      again.not_after = {};
      (void)accept(again);
    } else {
      order_of.emplace(key, static_cast<std::uint32_t>(orders.size()));
      orders.push_back({key, o.order.action, o.status, o.detail, true});
    }
  }
}

void Cluster::fork(const State& s) {
  now = started = s.now.steady;
  utc_offset = s.now.utc - s.now.steady;
  if (truth) truth.emplace(static_cast<std::uint32_t>(nodes.size()), std::int64_t{1000} * per_node, now);
  allocated_since = now;
  const Duration uptime = started - Time{0};
  for (Node& n : nodes) {
    n.booted = n.booted + uptime;
    n.heat_at = now;
  }
  if (const auto it = s.streams.find("engine"); it != s.streams.end()) {
    boot = it->second.boot;
    engine_seq = it->second.seq;
  }
  mix = mix_of(config, config.seed + s.seq);  // other jobs than those the state has seen
  const Duration elapsed = s.now.utc - config.start_utc;
  while (next_listed < config.workload.jobs.size() && config.workload.jobs[next_listed].at <= elapsed) ++next_listed;
  begin();
  fork_nodes(s);
  fork_jobs(s);
  fork_orders(s);
  // Nobody has heard these beginnings: what is already known is not news.
  inbox.kernel.clear();
}

void Cluster::backlog() {
  if (config.workload.mix.empty() || config.workload.load <= 0) return;
  const double want = std::min(1.15, config.workload.load) * static_cast<double>(nodes.size());
  double have = 0;
  while (have < want) {
    const JobSpec j = mix.draw_running(utc(), next_job);
    have += static_cast<double>(std::max(1U, j.array)) * static_cast<double>(milli_gpus(config.site, j)) / (1000.0 * per_node);
    submit_job(j);
  }
}

}  // namespace muster::twin
