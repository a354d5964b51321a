// Orders: the engine's hands. Each key acts at most once, orders of an older controller are turned away, and each accepted
// order ends with exactly one OrderEnded (and one more for each later inquiry).
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <set>

#include "base/check.h"
#include "twin/cluster.h"

namespace muster::twin {
namespace {

// Least and greatest duration in seconds; uniform between them.
struct Span {
  double least, most;
};
constexpr Span duration_of(Verb v) {
  switch (v) {
    case Verb::submit_job:
    case Verb::fail_job:
    case Verb::cancel_job: return {0.5, 1.5};
    case Verb::start_job: return {0, 0};  // see launch()
    case Verb::requeue_job: return {1, 4};
    case Verb::restart_job: return {0, 0};  // see launch()
    case Verb::drain_node:
    case Verb::undrain_node:
    case Verb::limit_power:
    case Verb::pace_job: return {0.5, 1.5};
    case Verb::probe_node: return {1.5, 2.5};
    case Verb::test_node: return {180, 300};
    case Verb::reset_gpu: return {60, 120};
    case Verb::reload_driver: return {60, 180};
    case Verb::bounce_link: return {15, 45};
    case Verb::install: return {600, 1200};
    case Verb::reboot_node: return {360, 720};
    case Verb::power_cycle_node: return {480, 900};
    case Verb::replace_node: return {4 * 3600, 24 * 3600};
  }
  return {1, 1};
}
constexpr double kTestMisses = 0.05;  // of intermittent faults

// Needs the node for itself while it lasts.
bool exclusive(Verb v) {
  return v == Verb::test_node || v == Verb::reset_gpu || v == Verb::reboot_node || v == Verb::power_cycle_node ||
         v == Verb::replace_node || v == Verb::reload_driver || v == Verb::bounce_link || v == Verb::install;
}

}  // namespace

std::string Cluster::luck_of(const Order& order) {
  const Action& a = order.action;
  if (!config.luck_by_place || (on_node(a.verb) && a.node.v >= nodes.size())) return order.key;
  if (!on_node(a.verb)) return fmt::format("{}/{}/{}", name_of(a.verb), render(a.job), a.attempt);
  // The second test after the same fault has luck of its own.
  const std::uint32_t strikes = node(a.node).strikes;
  return fmt::format("{}/{}/{}/{}", name_of(a.verb), a.node.v, strikes, times_ordered[{a.verb, a.node.v, strikes}]++);
}

Result<void> Cluster::accept(const Order& order) {
  if (away) return fail(Code::unreachable, "the engine does not answer");
  if (order_of.contains(order.key)) {
    ++count.duplicate_orders;
    return fail(Code::conflict, fmt::format("order {} was received before", order.key));
  }
  if (order.epoch < epoch) {
    return fail(Code::refused, fmt::format("order {} is of epoch {}; {} has been seen", order.key, order.epoch, epoch));
  }
  if (order.not_after.ns != 0 && utc() > order.not_after) {
    return fail(Code::refused, fmt::format("order {} came after its expiry at {}", order.key, render_utc(order.not_after)));
  }
  epoch = order.epoch;
  ++count.orders;
  const auto o = static_cast<std::uint32_t>(orders.size());
  orders.push_back({order.key, order.action, Status::pending, {}, false});
  order_of.emplace(order.key, o);
  orders[o].luck = luck_of(order);
  const Action& a = orders[o].action;
  Prng prng(config.seed, "order/" + orders[o].luck);
  if (a.verb == Verb::start_job || a.verb == Verb::restart_job) {
    const std::string no = a.verb == Verb::start_job ? why_not_start(a) : why_not_restart(a);
    const std::uint32_t g = find_gang(a.job);
    if (!no.empty()) {
      finish_order(o, Status::refused, no);
    } else {
      if (!gangs[g].nodes.empty()) end_gang(g, JobEnd::requeued, "restarted on request");
      launch(g, orders[o].action, o, prng);
    }
    return {};
  }
  if (on_node(a.verb)) {
    const std::string no = why_not_on_node(a);
    if (!no.empty()) {
      finish_order(o, Status::refused, no);
    } else {
      begin_node_order(o, prng);
    }
    return {};
  }
  const Span s = duration_of(a.verb);
  queue.push(now + from_seconds(s.least + (s.most - s.least) * prng.unit()), Tick::order, o);
  return {};
}

Result<void> Cluster::inquire(const std::string& key) {
  if (away) return fail(Code::unreachable, "the engine does not answer");
  const auto it = order_of.find(key);
  if (it == order_of.end()) {
    emit(OrderEnded{key, Status::not_received, "this engine never got it"});
    return {};
  }
  OrderState& o = orders[it->second];
  if (o.ended) emit(OrderEnded{key, o.status, o.detail, o.score});  // a pending one answers when it ends
  return {};
}

void Cluster::finish_order(std::uint32_t o, Status status, std::string detail, double score) {
  if (o == kNone) return;
  OrderState& x = orders[o];
  MUSTER_CHECK(!x.ended);
  if (x.action.node.some() && node(x.action.node).order == o) node(x.action.node).order = kNone;
  x.ended = true;
  x.status = status;
  x.detail = std::move(detail);
  x.score = score;
  x.action.nodes = {};
  x.action.slots = {};
  x.action.spec = {};
  emit(OrderEnded{x.key, x.status, x.detail, x.score});
}

std::string Cluster::why_not_start(const Action& a) {
  const std::uint32_t g = find_gang(a.job);
  if (g == kNone) return "no such job";
  const Gang& x = gangs[g];
  if (x.phase != Phase::queued) return "the job is not queued";
  return why_not_there(a, g, false);
}

std::string Cluster::why_not_restart(const Action& a) {
  const std::uint32_t g = find_gang(a.job);
  if (g == kNone) return "no such job";
  if (gangs[g].phase == Phase::queued) return "the job is queued";
  if (gangs[g].phase == Phase::launching) return "the job is being started";
  return why_not_there(a, g, true);
}

// Pieces lie within nodes: each node named carries a whole number of them.
std::string Cluster::why_not_fit(const Action& a, const Gang& g) const {
  const JobSpec& want = g.spec;
  if (!a.slots.empty() && a.slots.size() != a.nodes.size()) {
    return fmt::format("GPUs of {} nodes are named, and {} nodes", a.slots.size(), a.nodes.size());
  }
  const std::uint32_t per_piece = want.gpu_milli > 0 ? 1 : want.gpus_per_node > 0 ? want.gpus_per_node : per_node;
  if (per_piece > per_node) return fmt::format("the job wants {} GPUs of a node, which has {}", per_piece, per_node);
  if (want.gpu_milli > 1000) return fmt::format("the job wants {} thousandths of a GPU", want.gpu_milli);
  std::uint32_t pieces = 0;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    const std::uint16_t slots = a.slots.empty() ? all_slots() : a.slots[i];
    const auto here = static_cast<std::uint32_t>(std::popcount(slots));
    if ((slots & ~all_slots()) != 0) return "no such GPU";
    if (here == 0 || here % per_piece != 0) {
      return fmt::format("the job wants {} GPUs of a node, not {}", per_piece, here);
    }
    pieces += here / per_piece;
  }
  const std::uint32_t least = want.nodes_min > 0 ? std::min(want.nodes_min, want.nodes) : want.nodes;
  if (pieces > want.nodes || pieces < least) {
    return fmt::format("the job wants {} {}, not {}", want.nodes, per_piece == per_node ? "nodes" : "pieces", pieces);
  }
  return {};
}

std::string Cluster::why_not_there(const Action& a, std::uint32_t g, bool again) {
  const Gang& x = gangs[g];
  if (a.attempt != 0 && a.attempt <= x.attempt) return fmt::format("attempt {} has been made", a.attempt);
  const auto milli = x.spec.gpu_milli > 0 ? x.spec.gpu_milli : 1000;
  const std::vector<NodeId>& mine = x.nodes.empty() ? x.had : x.nodes;
  std::set<NodeId> distinct;
  for (const NodeId n : a.nodes) {
    if (n.v >= nodes.size()) return "no such node";
    if (!distinct.insert(n).second) return fmt::format("node {} is listed twice", name(n));
  }
  if (std::string no = why_not_fit(a, x); !no.empty()) return no;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    const NodeId n = a.nodes[i];
    const Node& y = node(n);
    if (!x.spec.gpu_model.empty() && x.spec.gpu_model != model(n)) {
      return fmt::format("node {} has no {}", name(n), x.spec.gpu_model);
    }
    const bool kept = again && std::find(mine.begin(), mine.end(), n) != mine.end();
    if (y.condition != NodeCondition::up) return fmt::format("node {} is {}", name(n), name_of(y.condition));
    if (y.drained && !kept) return fmt::format("node {} is drained", name(n));
    if (!room_for(n, a.slots.empty() ? all_slots() : a.slots[i], milli, g)) return fmt::format("node {} is busy", name(n));
    if (y.order != kNone) return fmt::format("node {} is under {}", name(n), name_of(orders[y.order].action.verb));
  }
  return {};
}

std::string Cluster::why_not_on_node(const Action& a) {
  if (!a.node.some() || a.node.v >= nodes.size()) return "no such node";
  if (a.slot >= static_cast<int>(per_node)) return "no such GPU";
  if ((a.verb == Verb::reload_driver || a.verb == Verb::install) && busy(a.node, -1))
    return fmt::format("node {} is not empty", name(a.node));
  const Node& x = node(a.node);
  if (exclusive(a.verb) && x.order != kNone) {
    return fmt::format("node {} is under {}", name(a.node), name_of(orders[x.order].action.verb));
  }
  if (a.verb == Verb::test_node && busy(a.node, -1)) return fmt::format("node {} is not empty", name(a.node));
  return {};
}

void Cluster::begin_node_order(std::uint32_t o, Prng& prng) {
  const Action a = orders[o].action;
  Node& x = node(a.node);
  const Span s = duration_of(a.verb);
  Duration lasts = from_seconds(s.least + (s.most - s.least) * prng.unit());
  if (exclusive(a.verb)) x.order = o;
  const bool answers = x.life == Life::up;
  switch (a.verb) {
    case Verb::reload_driver:
    case Verb::bounce_link:
      if (!answers) lasts = seconds(60);
      break;
    case Verb::reset_gpu:
      if (!answers) lasts = seconds(60);
      for (const std::uint32_t g : gangs_on(a.node, a.slot)) {
        end_gang(g, JobEnd::node_failed, fmt::format("a GPU of {} was reset", name(a.node)));
      }
      break;
    case Verb::reboot_node:
      if (answers) {
        start_boot(a.node, Life::booting, NodeCondition::booting, "rebooting on request");
      } else {
        lasts = minutes(3);  // nobody there to ask
      }
      break;
    case Verb::install:
      if (answers || x.stuck) {  // one that does not come up is installed from outside
        start_boot(a.node, Life::booting, NodeCondition::booting, "installing " + a.version);
      } else {
        lasts = minutes(3);
      }
      break;
    case Verb::power_cycle_node: start_boot(a.node, Life::booting, NodeCondition::booting, "power cycled on request"); break;
    case Verb::replace_node: start_boot(a.node, Life::away, NodeCondition::down, "taken out for repair"); break;
    case Verb::test_node:
      if (answers) set_load(a.node, 0.95);
      break;
    default: break;
  }
  queue.push(now + lasts, Tick::order, o);
}

// What a probe finds worth saying: counters that are not 0, and what is wrong.
std::string Cluster::readings(NodeId n) {
  std::string out;
  for (std::uint32_t s = 0; s < per_node; ++s) {
    const Gpu& g = gpu(n, static_cast<int>(s));
    std::string here = g.lost ? ", no answer" : "";
    const auto tell = [&](std::uint64_t value, const char* what) {
      if (value > 0) here += fmt::format(", {} {}", value, what);
    };
    tell(g.ecc_sbe, "corrected ECC errors");
    tell(g.ecc_dbe, "uncorrectable ECC errors");
    tell(g.remapped_rows, "remapped rows");
    tell(g.nvlink_errors, "NVLink errors");
    tell(g.pcie_replays, "PCIe replays");
    tell(g.link_downed, "link downs");
    tell(g.thermal_us / 1'000'000, "s throttled by heat");
    if (g.remap_pending) here += ", a remap pending";
    if (g.remap_failed) here += ", a remap failed";
    if (g.pcie_width != 16) here += fmt::format(", PCIe x{}", g.pcie_width);
    if (!g.link_up) here += ", NIC link down";
    if (!here.empty()) out += fmt::format("{}slot {}: {}", out.empty() ? "" : "; ", s, here.substr(2));
  }
  return out.empty() ? "all counters are 0" : out;
}

void Cluster::order_due(std::uint32_t o) {
  if (orders[o].ended) return;
  if (on_node(orders[o].action.verb)) {
    end_node_order(o);
  } else {
    end_job_order(o);
  }
}

std::string Cluster::test_verdict(std::uint32_t o) {
  const NodeId n = orders[o].action.node;
  if (node(n).life != Life::up) return "no answer from the node";
  if (leaf_dead(n)) return "NIC 0: no link";
  Prng prng(config.seed, "test/" + orders[o].luck);
  for (const std::uint32_t f : node(n).faults) {
    const FaultTruth& t = faults[f];
    const bool missed = cure_of(t.kind).intermittent && prng.chance(kTestMisses);
    if (missed) continue;
    switch (t.kind) {
      case FaultKind::gpu_off_bus:
      case FaultKind::gsp_hang: return fmt::format("GPU {} does not answer", t.slot);
      case FaultKind::ecc_uncorrectable: return fmt::format("GPU {}: memory test failed", t.slot);
      case FaultKind::row_remap: return fmt::format("GPU {}: a row remap is pending", t.slot);
      case FaultKind::row_remap_failure: return fmt::format("GPU {}: a row could not be remapped", t.slot);
      case FaultKind::nvlink_degraded: return fmt::format("GPU {}: NVLink errors under load", t.slot);
      case FaultKind::pcie_degraded: return fmt::format("GPU {}: host bandwidth too low", t.slot);
      case FaultKind::thermal: return fmt::format("GPU {}: throttles under load", t.slot);
      case FaultKind::slow_gpu: return fmt::format("GPU {}: matrix multiply too slow", t.slot);
      case FaultKind::driver_hang: return "the driver does not answer";
      case FaultKind::nic_flap:
      case FaultKind::cable_down: return fmt::format("NIC {}: no link", t.slot);
      default: break;
    }
  }
  return {};
}

void Cluster::end_test(std::uint32_t o) {
  const NodeId n = orders[o].action.node;
  const std::string bad = test_verdict(o);
  if (node(n).life == Life::up && !busy(n, -1)) set_load(n, 0);
  if (!bad.empty()) return finish_order(o, Status::failed, bad);
  Prng prng(config.seed, "score/" + orders[o].luck);
  finish_order(o, Status::done, "passed", score_of(n, prng));
}

void Cluster::end_install(std::uint32_t o) {
  const NodeId n = orders[o].action.node;
  const std::string version = orders[o].action.version;
  if (node(n).life != Life::booting) return finish_order(o, Status::failed, "no answer from the node");
  cure(n, -1, Depth::reboot);
  install(n, version);
  if (!node(n).stuck) {
    finish_boot(n, "booted with " + version);
    return finish_order(o, Status::done, {});
  }
  set_life(n, Life::crashed);
  node(n).condition = NodeCondition::down;
  emit(NodeChanged{n, NodeCondition::down, "does not come up with " + version});
  finish_order(o, Status::failed, "it does not come up with " + version);
}

void Cluster::end_node_order(std::uint32_t o) {
  const Action a = orders[o].action;
  const NodeId n = a.node;
  Node& x = node(n);
  const bool answers = x.life == Life::up;
  if (x.dark && (a.verb == Verb::power_cycle_node || a.verb == Verb::replace_node)) {
    set_life(n, Life::crashed);
    return finish_order(o, Status::failed, "the rack has no power");
  }
  if (x.stuck && a.verb == Verb::power_cycle_node) {
    set_life(n, Life::crashed);
    x.condition = NodeCondition::down;
    emit(NodeChanged{n, NodeCondition::down, "does not come up"});
    return finish_order(o, Status::failed, "it does not come up");
  }
  switch (a.verb) {
    case Verb::drain_node:
    case Verb::undrain_node:
      set_drained(n, a.verb == Verb::drain_node);
      return finish_order(o, Status::done, {});
    case Verb::probe_node:
      if (!answers) return finish_order(o, Status::failed, "no answer from the node");
      full_scrape(n);
      return finish_order(o, Status::done, readings(n));
    case Verb::test_node: return end_test(o);
    case Verb::reset_gpu: {
      if (!answers) return finish_order(o, Status::failed, "no answer from the node");
      const int first = a.slot < 0 ? 0 : a.slot;
      const int last = a.slot < 0 ? static_cast<int>(per_node) - 1 : a.slot;
      for (int s = first; s <= last; ++s) {
        if (gpu(n, s).lost) return finish_order(o, Status::failed, fmt::format("GPU {} is lost: it cannot be reset", s));
      }
      for (int s = first; s <= last; ++s) {
        gpu(n, s).ecc_sbe = gpu(n, s).ecc_dbe = gpu(n, s).nvlink_errors = 0;
        tell(n, s, kCounters);
      }
      cure(n, a.slot, Depth::reset);
      return finish_order(o, Status::done, {});
    }
    case Verb::reload_driver:
    case Verb::bounce_link:
      if (!answers) return finish_order(o, Status::failed, "no answer from the node");
      cure(n, a.slot, depth_of(a.verb));
      return finish_order(o, Status::done, {});
    case Verb::reboot_node:
      if (x.life != Life::booting) return finish_order(o, Status::failed, "no answer from the node");
      [[fallthrough]];
    case Verb::power_cycle_node:
      cure(n, -1, depth_of(a.verb));
      finish_boot(n, "booted on request");
      return finish_order(o, Status::done, {});
    case Verb::install: return end_install(o);
    case Verb::replace_node:
      x.stuck = false;  // whoever repairs it installs it anew
      cure(n, -1, Depth::replace);
      for (std::uint32_t s = 0; s < per_node; ++s) {
        if (a.slot >= 0 && s != static_cast<std::uint32_t>(a.slot)) continue;
        const std::uint32_t swaps = gpu(n, static_cast<int>(s)).swaps + 1;
        gpu(n, static_cast<int>(s)) = Gpu{};
        gpu(n, static_cast<int>(s)).swaps = swaps;
        if (leaf_dead(n)) recompute_gpu(n, static_cast<int>(s));
      }
      // A new node is no lemon.
      x.fault_per_h = std::min(x.fault_per_h, node_rate);
      emit(GpuSwapped{n, a.slot, a.slot >= 0 ? uuid(n, a.slot) : std::string()});
      finish_boot(n, "back from repair");
      return finish_order(o, Status::done, {});
    default: break;
  }
}

void Cluster::end_job_order(std::uint32_t o) {
  const Action a = orders[o].action;
  if (a.verb == Verb::limit_power) {
    if (a.limit_pct == 0 || a.limit_pct > 100) return finish_order(o, Status::refused, "no such limit");
    for (const NodeId n : a.nodes) {
      if (n.v < nodes.size() && node(n).life == Life::up) limit_power(n, a.limit_pct / 100.0);
    }
    return finish_order(o, Status::done, {});
  }
  if (a.verb == Verb::submit_job) {
    if (a.spec.array > kArrayMax) {
      return finish_order(o, Status::refused, fmt::format("an array has at most {} members", kArrayMax));
    }
    const JobId id = submit_job(a.spec);
    return finish_order(o, Status::done, render(id));
  }
  const std::uint32_t g = find_gang(a.job);
  if (g == kNone) return finish_order(o, Status::refused, "no such job");
  const Phase phase = gangs[g].phase;
  if (phase == Phase::launching) return finish_order(o, Status::refused, "the job is being started");
  const bool runs = phase != Phase::queued && phase != Phase::broken;
  switch (a.verb) {
    case Verb::requeue_job:
      if (phase == Phase::queued) return finish_order(o, Status::refused, "the job is queued");
      if (a.attempt != 0 && a.attempt != gangs[g].attempt) return finish_order(o, Status::refused, "another attempt runs");
      if (runs) end_gang(g, JobEnd::requeued, "requeued on request");
      gangs[g].phase = Phase::queued;
      if (truth) truth->queued(a.job, true, now);
      emit(JobRequeued{a.job});
      break;
    case Verb::pace_job:
      if (!runs || a.attempt != gangs[g].attempt) return finish_order(o, Status::refused, "that attempt does not run");
      if (!gangs[g].spec.paced) return finish_order(o, Status::refused, "the job keeps its own time");
      if (a.every.ns < seconds(1).ns) return finish_order(o, Status::refused, "no such interval");
      pace(g, a.every, a.next);
      break;
    case Verb::fail_job:
      if (runs) end_gang(g, JobEnd::app_failed, "given up on request");
      emit(JobGone{a.job, JobEnd::app_failed});
      drop_gang(g);
      break;
    case Verb::cancel_job:
      if (runs) {
        end_gang(g, JobEnd::cancelled, "cancelled on request");
      } else {
        emit(JobGone{a.job, JobEnd::cancelled});
        drop_gang(g);
      }
      break;
    default: break;
  }
  finish_order(o, Status::done, {});
}

}  // namespace muster::twin
