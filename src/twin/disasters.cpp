// Disasters: what strikes many nodes at once, or what Muster itself depends on. They show as on real machines: versions in
// scrapes, links, silence, an engine that does not answer, a clock. Only a hand begins one: of leaf switches 0.051 % a month are
// published (Alibaba HPN), which is too rare for the weather of a run; of the others no rate that we trust.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "ingest/kernel_log.h"
#include "twin/cluster.h"

namespace muster::twin {
namespace {

enum Op : std::uint32_t {
  kPush = 0,    // the driver is installed on the node
  kHang = 1,    // it hangs a GPU
  kBooted = 2,  // the node has booted with the old driver
  kBeat = 3,    // the storm goes on
};
constexpr Duration kFlapLasts = seconds(8);

constexpr std::uint32_t stage_of(Op op, NodeId n) { return kDisasterStages + n.v * kDisasterOps + op; }

Duration usually(FaultKind k) {
  switch (k) {
    case FaultKind::bad_push: return hours(2);
    case FaultKind::switch_failure: return hours(4);
    case FaultKind::pdu_loss:
    case FaultKind::engine_away: return hours(1);
    case FaultKind::event_storm: return minutes(10);
    default: return {};  // drawn, or for good
  }
}

}  // namespace

// Zero: it is there already.
std::uint64_t Cluster::begin_disaster(const Stroke& x) {
  int part = -1;
  if (x.kind == FaultKind::cooling_fault) part = static_cast<int>(row_of(config.site, x.node));
  if (x.kind == FaultKind::switch_failure) part = static_cast<int>(config.site.nodes[x.node.v].leaf);
  if (x.kind == FaultKind::pdu_loss) part = static_cast<int>(config.site.nodes[x.node.v].rack);
  const auto f = static_cast<std::uint32_t>(faults.size());
  Stroke& kept = strokes[f] = x;
  if (kept.lasts.ns == 0) kept.lasts = usually(x.kind);
  const std::uint64_t id = begin_fault(x.kind, NodeId{}, part, true);
  if (id == 0) strokes.erase(f);
  return id;
}

void Cluster::show_disaster(std::uint32_t f) {
  switch (faults[f].kind) {
    case FaultKind::bad_push: return push_driver(f);
    case FaultKind::switch_failure: return fail_switch(f);
    case FaultKind::pdu_loss: return cut_power(f);
    case FaultKind::engine_away: away = true; return;
    case FaultKind::clock_jump: clock_error = clock_error + strokes[f].by; return;
    case FaultKind::event_storm: return storm(f);
    default: return;
  }
}

void Cluster::undo_disaster(std::uint32_t f) {
  switch (faults[f].kind) {
    case FaultKind::bad_push: return roll_back(f);
    case FaultKind::switch_failure: return mend_switch(f);
    case FaultKind::pdu_loss: return restore_power(f);
    case FaultKind::engine_away: return engine_back();
    case FaultKind::clock_jump: clock_error = clock_error - strokes[f].by; return;
    default: return;
  }
}

void Cluster::disaster_stage(std::uint32_t f, std::uint32_t op, NodeId n) {
  if (op == kBeat) return storm(f);
  Node& x = node(n);
  if (op == kBooted) {
    if (x.life != Life::booting || x.order != kNone) return;  // an order has taken over
    cure(n, -1, Depth::reboot);
    return finish_boot(n, "booted by hand, with the driver rolled back");
  }
  if (faults[f].fate != Fate::active) return;
  if (op == kPush) {
    x.pushed = true;
    tell(n, -1, kFull);
    return hang_again(n);
  }
  if (!x.pushed) return;
  if (x.life == Life::up) {
    begin_fault(FaultKind::gsp_hang, n, -1, false);
  } else {
    queue.push(now + minutes(10), Tick::fault, f, stage_of(kHang, n));
  }
}

// ---- a driver that hangs GPUs, minutes after it came

void Cluster::push_driver(std::uint32_t f) {
  Prng& prng = live[f].prng;
  std::vector<NodeId> all;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) all.push_back(NodeId{i});
  const auto chosen = static_cast<std::size_t>(strokes[f].share * static_cast<double>(all.size()) + 0.5);
  for (std::size_t i = 0; i < std::min(chosen, all.size()); ++i) {
    std::swap(all[i], all[i + prng.below(all.size() - i)]);
    queue.push(now + from_seconds(600 * prng.unit()), Tick::fault, f, stage_of(kPush, all[i]));
  }
}

void Cluster::hang_again(NodeId n) {
  for (const auto& [f, x] : strokes) {
    if (x.kind != FaultKind::bad_push || faults[f].fate != Fate::active) continue;
    queue.push(now + from_seconds(180 + 900 * live[f].prng.unit()), Tick::fault, f, stage_of(kHang, n));
  }
}

// A version that hangs GPUs is a bad push of its own, which is over when nobody runs it any more.
void Cluster::install(NodeId n, const std::string& versions) {
  Node& x = node(n);
  x.pace = 1;
  x.stuck = false;
  for (std::size_t from = 0; from < versions.size();) {
    const std::size_t end = std::min(versions.find(", ", from), versions.size());
    install_part(n, versions.substr(from, end - from));
    from = end + 2;
  }
  update_speed(n);
}

// Nodes of a kind differ for good, and no two measurements of one agree.
double Cluster::score_of(NodeId n, Prng& prng) {
  constexpr double kNodesDiffer = 0.015, kTestsDiffer = 0.01;
  Prng own(config.seed, fmt::format("pace/{}", n.v));
  const double as_built = 1 + kNodesDiffer * own.normal();
  const double this_time = 1 + kTestsDiffer * prng.normal();
  return 1000 * static_cast<double>(node(n).speed) * as_built * this_time;
}

void Cluster::install_part(NodeId n, const std::string& version) {
  const std::string number = version.substr(std::min(version.find(' ') + 1, version.size()));
  if (!config.slow_version.empty() && number == config.slow_version) node(n).pace = static_cast<float>(1 - config.slow_by);
  if (!config.broken_version.empty() && number == config.broken_version)
    node(n).stuck = Prng(config.seed, fmt::format("broken/{}", n.v)).chance(config.broken_share);
  constexpr std::string_view kOfDriver = "driver ";
  const bool driver = version.starts_with(kOfDriver);
  emit(NodeDescribed{
      n, {{driver ? "driver_version" : version.substr(0, version.find(' ')), version.substr(version.find(' ') + 1)}}});
  if (!driver) return;
  Node& x = node(n);
  x.driver = version.substr(kOfDriver.size());
  x.pushed = !config.bad_driver.empty() && x.driver == config.bad_driver;
  if (x.pushed) begin_disaster({.kind = FaultKind::bad_push, .lasts = days(3650), .share = 0});
  if (std::any_of(nodes.begin(), nodes.end(), [](const Node& y) { return y.pushed; })) return;
  for (std::uint32_t f = 0; f < faults.size(); ++f) {
    if (faults[f].kind == FaultKind::bad_push) end_fault(f, Fate::cured);
  }
}

// A person brings the old driver back, and boots the nodes whose GPUs hang.
void Cluster::roll_back(std::uint32_t f) {
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const NodeId n{i};
    Node& x = nodes[i];
    if (!x.pushed) continue;
    x.pushed = false;
    tell(n, -1, kFull);
    const bool hangs =
        std::any_of(x.faults.begin(), x.faults.end(), [&](std::uint32_t k) { return faults[k].kind == FaultKind::gsp_hang; });
    if (!hangs || x.life != Life::up || x.order != kNone) continue;
    start_boot(n, Life::booting, NodeCondition::booting, "booted by hand to roll the driver back");
    queue.push(now + from_seconds(360 + 360 * live[f].prng.unit()), Tick::fault, f, stage_of(kBooted, n));
  }
}

// ---- a leaf switch

bool Cluster::leaf_dead(NodeId n) const {
  if (dead_leaves.empty()) return false;
  return std::find(dead_leaves.begin(), dead_leaves.end(), config.site.nodes[n.v].leaf) != dead_leaves.end();
}

void Cluster::fail_switch(std::uint32_t f) {
  const auto leaf = static_cast<std::uint32_t>(faults[f].slot);
  dead_leaves.push_back(leaf);
  std::set<std::uint32_t> broken;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const NodeId n{i};
    if (config.site.nodes[i].leaf != leaf) continue;
    for (int s = 0; s < static_cast<int>(per_node); ++s) {
      ++gpu(n, s).link_downed;
      kernel(n, fmt::format("mlx5_core {} ibs{}: Link down", nic_pci(config.site, s), s), 6);
      recompute_gpu(n, s);
      tell(n, s, kCounters);
    }
    for (const std::uint32_t g : gangs_on(n, -1)) broken.insert(g);
  }
  for (const std::uint32_t g : broken) {
    if (gangs[g].nodes.size() < 2) continue;  // needs no network
    const bool quick = live[f].prng.chance(0.6);
    const double soon_s = 2 + 14 * live[f].prng.unit();
    doom(g, quick ? from_seconds(soon_s) : kNcclTimeout, JobEnd::node_failed,
         quick ? "NET/IB: Got completion with status=12 opcode=0 len=0 vendor err 129"
               : "watchdog: collective timed out after 600000 ms");
  }
}

void Cluster::mend_switch(std::uint32_t f) {
  std::erase(dead_leaves, static_cast<std::uint32_t>(faults[f].slot));
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const NodeId n{i};
    if (config.site.nodes[i].leaf != static_cast<std::uint32_t>(faults[f].slot)) continue;
    for (int s = 0; s < static_cast<int>(per_node); ++s) {
      recompute_gpu(n, s);
      if (gpu(n, s).link_up) kernel(n, fmt::format("mlx5_core {} ibs{}: Link up", nic_pci(config.site, s), s), 6);
      tell(n, s, kCounters);
    }
  }
}

// ---- a rack's power

void Cluster::cut_power(std::uint32_t f) {
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (config.site.nodes[i].rack != static_cast<std::uint32_t>(faults[f].slot)) continue;
    nodes[i].dark = true;
    if (nodes[i].life != Life::away) go_silent(NodeId{i}, Life::crashed);
  }
}

void Cluster::restore_power(std::uint32_t f) {
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (config.site.nodes[i].rack != static_cast<std::uint32_t>(faults[f].slot)) continue;
    nodes[i].dark = false;
    if (nodes[i].life != Life::crashed) continue;
    cure(NodeId{i}, -1, Depth::power_cycle);
    queue.push(now + from_seconds(300 + 300 * live[f].prng.unit()), Tick::booted, i, nodes[i].turn);
  }
}

// ---- what Muster depends on

void Cluster::engine_back() {
  away = false;
  inbox.events.insert(inbox.events.end(), std::make_move_iterator(untold.begin()), std::make_move_iterator(untold.end()));
  untold.clear();
  wake = true;
}

// Each second some links go down, and those of eight seconds before come up again. Link k is the NIC k / nodes of node k % nodes.
void Cluster::storm(std::uint32_t f) {
  const Stroke& x = strokes[f];
  const auto all = static_cast<std::uint32_t>(nodes.size());
  const double per_s = static_cast<double>(x.count) / std::max(1.0, x.lasts.seconds());
  const auto until = [&](std::uint32_t beat) {
    return static_cast<std::uint32_t>(std::min(static_cast<double>(x.count), per_s * beat));
  };
  const auto flap = [&](std::uint32_t from, std::uint32_t to, bool down) {
    for (std::uint32_t k = from; k < to; ++k) {
      const NodeId n{k % all};
      const int s = static_cast<int>(k / all % per_node);
      if (node(n).life != Life::up || !gpu(n, s).link_up) continue;
      if (down) ++gpu(n, s).link_downed;
      kernel(n, fmt::format("mlx5_core {} ibs{}: Link {}", nic_pci(config.site, s), s, down ? "down" : "up"), 6);
      if (!down) tell(n, s, kCounters);
    }
  };
  const std::uint32_t beat = live[f].turn++;
  const auto lag = static_cast<std::uint32_t>(kFlapLasts.seconds());
  flap(until(beat), until(beat + 1), true);
  if (beat >= lag) flap(until(beat - lag), until(beat - lag + 1), false);
  if (until(beat >= lag ? beat - lag + 1 : 0) < x.count) queue.push(now + seconds(1), Tick::fault, f, stage_of(kBeat, NodeId{0}));
}

}  // namespace muster::twin
