// Weather: when a fault strikes, where, and how deep. Each node has its own random stream, and each fault too, so that one
// more fault (drawn or injected) changes nothing about the others.
#include <fmt/core.h>

#include "twin/cluster.h"

namespace muster::twin {
namespace {

constexpr double kLookAhead_h = 24 * 365 * 5;  // what would strike later than this is left out

bool strikes_nodes(FaultKind k) { return !of_site(k) && k != FaultKind::app_bug; }

}  // namespace

void Cluster::seed_weather() {
  const Weather& w = config.weather;
  kind_rate.assign(names(FaultKind{}).size(), 0);
  for (const FaultRate& r : w.rates) kind_rate[static_cast<std::size_t>(r.kind)] += r.per_gpu_hour * w.factor;
  node_rate = 0;
  for (std::size_t k = 0; k < kind_rate.size(); ++k) {
    if (strikes_nodes(static_cast<FaultKind>(k))) node_rate += kind_rate[k] * per_node;
  }
  Prng lemons(config.seed, "weather/lemons");
  double total = 0;
  for (Node& n : nodes) {
    n.fault_per_h = lemons.chance(w.lemon_share) ? w.lemon_factor : 1.0;
    total += n.fault_per_h;
  }
  // Lemons take from the others: the mean over the fleet stays the published one.
  const double base = total > 0 ? node_rate * static_cast<double>(nodes.size()) / total : 0;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    nodes[i].fault_per_h *= base;
    nodes[i].weather = Prng(config.seed, fmt::format("weather/node/{}/{}", i, started.ns));
    next_strike(NodeId{i});
  }
  next_site_strike();
}

void Cluster::next_strike(NodeId n) {
  Node& x = node(n);
  if (x.fault_per_h <= 0) return;
  const double h = x.weather.exponential(1 / x.fault_per_h);
  if (h < kLookAhead_h) queue.push(now + from_seconds(3600 * h), Tick::weather, n.v);
}

void Cluster::next_site_strike() {
  const double per_h = kind_rate[static_cast<std::size_t>(FaultKind::storage_stall)] * config.site.gpus();
  if (per_h <= 0) return;
  const double h = site_weather.exponential(1 / per_h);
  if (h < kLookAhead_h) queue.push(now + from_seconds(3600 * h), Tick::site_weather);
}

void Cluster::strike(NodeId n) {
  if (calmed) return;
  double u = node(n).weather.unit() * node_rate;
  FaultKind kind = FaultKind::gpu_off_bus;
  for (std::size_t k = 0; k < kind_rate.size(); ++k) {
    if (!strikes_nodes(static_cast<FaultKind>(k)) || kind_rate[k] <= 0) continue;
    kind = static_cast<FaultKind>(k);
    if ((u -= kind_rate[k] * per_node) < 0) break;
  }
  // A node that is not running has nothing to lose.
  if (node(n).life == Life::up)
    begin_fault(kind, n, -1, false);
  else if (config.luck_by_place)
    ++node(n).strikes;  // it counts all the same, so that the next one is what it is where the node was up
  next_strike(n);
}

void Cluster::site_strike() {
  if (calmed) return;
  begin_fault(FaultKind::storage_stall, NodeId{}, -1, false);
  next_site_strike();
}

int Cluster::choose_slot(NodeId n, Prng& prng) {
  const auto first = static_cast<int>(prng.below(per_node));
  for (int i = 0; i < static_cast<int>(per_node); ++i) {
    const int slot = (first + i) % static_cast<int>(per_node);
    bool taken = false;
    for (const std::uint32_t f : node(n).faults) taken = taken || faults[f].slot == slot;
    if (!taken) return slot;
  }
  return -1;
}

// Zero: nothing could be hit.
std::uint64_t Cluster::begin_fault(FaultKind kind, NodeId n, int slot, bool by_hand) {
  FaultLive l;
  if (n.some()) {
    l.prng = Prng(config.seed, fmt::format("fault/{}/{}/{}", n.v, node(n).strikes++, started.ns));
    if (cure_of(kind).on_gpu && slot < 0) slot = choose_slot(n, l.prng);
    if (cure_of(kind).on_gpu && slot < 0) return 0;
  } else {
    for (const FaultTruth& t : faults) {
      if (t.kind == kind && t.fate == Fate::active && t.slot == slot) return 0;  // a stalled store stalls no further
    }
    l.prng = Prng(config.seed, fmt::format("fault/site/{}", faults.size()));
  }
  l.depth = draw_depth(cure_of(kind), l.prng);
  FaultTruth t;
  t.id = faults.size() + 1;
  t.kind = kind;
  t.node = n;
  t.slot = static_cast<std::int16_t>(cure_of(kind).on_gpu || of_site(kind) ? slot : -1);
  if (n.some() && busy(n, t.slot)) t.job = gangs[gangs_on(n, t.slot).front()].id;
  t.began = utc();
  t.injected_by_hand = by_hand;
  const auto f = static_cast<std::uint32_t>(faults.size());
  faults.push_back(t);
  live.push_back(l);
  if (n.some()) node(n).faults.push_back(f);
  show(f);
  return t.id;
}

void Cluster::end_fault(std::uint32_t f, Fate fate) {
  FaultTruth& t = faults[f];
  if (t.fate != Fate::active) return;
  t.fate = fate;
  t.ended = utc();
  if (t.node.some()) std::erase(node(t.node).faults, f);
  undo(f);
}

void Cluster::cure(NodeId n, int slot, Depth depth) {
  const std::vector<std::uint32_t> active = node(n).faults;
  for (const std::uint32_t f : active) {
    if (live[f].depth == Depth::itself || live[f].depth > depth) continue;
    if ((live[f].depth == Depth::bounce) != (depth == Depth::bounce) && depth < Depth::reboot) continue;
    if (depth == Depth::bounce && slot >= 0 && faults[f].slot != slot) continue;
    if (depth == Depth::reset && slot >= 0 && faults[f].slot != slot) continue;
    end_fault(f, Fate::cured);
  }
}

}  // namespace muster::twin
