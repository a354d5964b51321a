// Shares: which gang has which GPUs of a node, and what that makes of the node's load. A node that belongs to one gang as a whole
// is the common case and costs what it would if there were no other.
#include <bit>

#include "base/check.h"
#include "twin/cluster.h"

namespace muster::twin {
namespace {

constexpr std::uint32_t kWhole = 1000;  // thousandths

bool has(const Tenant& t, int slot) { return slot < 0 || (t.slots >> slot & 1) != 0; }

std::int64_t milli_of(const Tenant& t) { return std::int64_t{t.milli} * std::popcount(t.slots); }

}  // namespace

bool Cluster::room_for(NodeId n, std::uint16_t slots, std::uint32_t milli, std::uint32_t except) const {
  for (std::uint32_t s = 0; s < per_node; ++s) {
    if ((slots >> s & 1) == 0) continue;
    std::uint32_t used = milli;
    for (const Tenant& t : nodes[n.v].tenants) {
      if (t.gang != except && has(t, static_cast<int>(s))) used += t.milli;
    }
    if (used > kWhole) return false;
  }
  return true;
}

std::vector<std::uint32_t> Cluster::gangs_on(NodeId n, int slot) const {
  std::vector<std::uint32_t> out;
  for (const Tenant& t : nodes[n.v].tenants) {
    if (has(t, slot)) out.push_back(t.gang);
  }
  return out;
}

bool Cluster::busy(NodeId n, int slot) const {
  for (const Tenant& t : nodes[n.v].tenants) {
    if (has(t, slot)) return true;
  }
  return false;
}

void Cluster::occupy(std::uint32_t g) {
  Gang& x = gangs[g];
  const auto milli = static_cast<std::uint16_t>(x.spec.gpu_milli > 0 ? x.spec.gpu_milli : kWhole);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < x.nodes.size(); ++i) {
    MUSTER_CHECK(room_for(x.nodes[i], slots_of(x, i), milli, kNone));
    node(x.nodes[i]).tenants.push_back({g, slots_of(x, i), milli, 0});
    sum += milli_of(node(x.nodes[i]).tenants.back());
    told_place(x.nodes[i]);
  }
  if (truth) truth->began(x.id, sum, now);
  allocated(sum);
  const std::int64_t wanted = milli_gpus(config.site, x.spec);
  x.part = x.spec.nodes_min > 0 && sum < wanted ? static_cast<double>(sum) / static_cast<double>(wanted) : 1;
}

void Cluster::release_nodes(std::uint32_t g) {
  Gang& x = gangs[g];
  std::int64_t sum = 0;
  for (const NodeId n : x.nodes) {
    std::vector<Tenant>& here = node(n).tenants;
    for (auto t = here.begin(); t != here.end(); ++t) {
      if (t->gang != g) continue;
      sum += milli_of(*t);
      here.erase(t);
      break;
    }
    told_place(n);
    if (node(n).life == Life::up) refresh_load(n);
  }
  allocated(-sum);
  // Whoever is still launching did nothing else.
  if (truth) truth->ended(x.id, x.phase == Phase::launching ? Doing::starting : Doing::lost, now);
  x.had = std::move(x.nodes);
  x.nodes.clear();
  x.slots.clear();
}

void Cluster::set_drained(NodeId n, bool drained) {
  node(n).drained = drained;
  told_place(n);
}

void Cluster::told_place(NodeId n) {
  if (!truth) return;
  const Node& x = node(n);
  std::int64_t had = 0;
  for (const Tenant& t : x.tenants) had += milli_of(t);
  const bool runs = x.life == Life::up;
  truth->node(n, !runs ? Truth::Place::down : x.drained ? Truth::Place::drained : Truth::Place::free, had, now);
}

void Cluster::load_nodes(std::uint32_t g, double load) {
  for (const NodeId n : gangs[g].nodes) {
    for (Tenant& t : node(n).tenants) {
      if (t.gang == g) t.load = static_cast<float>(load);
    }
    if (node(n).life == Life::up) refresh_load(n);
  }
}

double Cluster::speed_of(const Gang& g) {
  double speed = 1;
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    if (g.slots.empty() || g.slots[i] == all_slots()) {
      speed = std::min(speed, static_cast<double>(node(g.nodes[i]).speed));
      continue;
    }
    for (std::uint32_t s = 0; s < per_node; ++s) {
      if (g.slots[i] >> s & 1) speed = std::min(speed, static_cast<double>(gpu_speed(g.nodes[i], static_cast<int>(s))));
    }
  }
  return speed * g.part;
}

void Cluster::refresh_load(NodeId n) {
  const std::vector<Tenant>& here = node(n).tenants;
  if (here.empty()) return set_load(n, 0);
  if (here.front().slots == all_slots() && here.front().milli == kWhole)
    return set_load(n, static_cast<double>(here.front().load));
  std::array<float, kSlotsMax> loads{};
  for (const Tenant& t : here) {
    for (std::uint32_t s = 0; s < per_node; ++s) {
      if (t.slots >> s & 1) loads[s] += t.load * static_cast<float>(t.milli) / static_cast<float>(kWhole);
    }
  }
  set_loads(n, loads);
}

void Cluster::set_loads(NodeId n, const std::array<float, kSlotsMax>& loads) {
  Node& x = node(n);
  if (x.split == kNone) {
    x.split = static_cast<std::uint32_t>(splits.size());
    splits.emplace_back();
    splits.back().load.fill(x.load);
    splits.back().heat_from.fill(x.heat_from);
  }
  GpuLoads& y = splits[x.split];
  if (y.load == loads) return;
  float mean = 0;
  for (std::uint32_t s = 0; s < per_node; ++s) {
    y.heat_from[s] = static_cast<float>(gpu_heat(n, static_cast<int>(s)));
    mean += loads[s] / static_cast<float>(per_node);
  }
  // Heat follows load linearly, so the node's mean follows from its own mean.
  x.heat_from = static_cast<float>(heat_now(x));
  x.heat_at = now;
  x.load = mean;
  y.load = loads;
  x.warming = true;
  for (const std::uint32_t f : x.faults) {
    if (gpu_load(n, faults[f].slot) > 0.5) faults[f].shown = true;
  }
  tell(n, -1, kLoad);
}

double Cluster::gpu_load(NodeId n, int slot) const {
  const Node& x = nodes[n.v];
  if (x.split == kNone || slot < 0) return static_cast<double>(x.load);
  return static_cast<double>(splits[x.split].load[static_cast<std::size_t>(slot)]);
}

double Cluster::gpu_heat(NodeId n, int slot) const {
  const Node& x = nodes[n.v];
  if (x.split == kNone || slot < 0) return heat_now(x);
  const GpuLoads& y = splits[x.split];
  const auto s = static_cast<std::size_t>(slot);
  const double settled = static_cast<double>(y.load[s]) * static_cast<double>(x.draw);
  return relax(static_cast<double>(y.heat_from[s]), settled, now - x.heat_at);
}

}  // namespace muster::twin
