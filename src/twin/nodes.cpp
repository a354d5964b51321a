// Nodes: who lives, who hangs, who boots, what the engine believes of it, and how warm and fast they are.
#include <fmt/core.h>

#include <array>

#include "base/hash.h"
#include "twin/cluster.h"

namespace muster::twin {

std::uint64_t Cluster::identity(NodeId n, int slot) const {
  const std::uint32_t at = n.v * per_node + static_cast<std::uint32_t>(std::max(slot, 0));
  const std::array<std::uint64_t, 3> key = {n.v, static_cast<std::uint64_t>(slot + 1), gpus[at].swaps};
  return xxh64({reinterpret_cast<const char*>(key.data()), sizeof key}, config.seed);
}

std::string Cluster::uuid(NodeId n, int slot) {
  const std::uint64_t a = identity(n, slot);
  const std::uint64_t b = a * 0x9e3779b97f4a7c15ULL;
  // By hand: every scrape of every node names each of its GPUs, and a general formatter was a tenth of a simulated day.
  constexpr std::array<int, 5> kDigits = {8, 4, 4, 4, 12};
  constexpr char kHex[] = "0123456789abcdef";
  char name[] = "GPU-00000000-0000-0000-0000-000000000000";
  char* at = name + 4;
  int digit = 0;  // of the 32 of a and b
  for (const int digits : kDigits) {
    for (int i = 0; i < digits; ++i, ++digit) *at++ = kHex[(digit < 16 ? a : b) >> (60 - 4 * (digit % 16)) & 15];
    ++at;
  }
  return {name, sizeof name - 1};
}

std::uint64_t Cluster::boot_id(NodeId n) const {
  const std::array<std::uint64_t, 2> key = {n.v, nodes[n.v].boots};
  return xxh64({reinterpret_cast<const char*>(key.data()), sizeof key}, config.seed + 1);
}

void Cluster::set_life(NodeId n, Life life) {
  Node& x = node(n);
  x.life = life;
  ++x.turn;
  if (life == Life::up) {
    pulse[n.v] |= 1;
    silence_told[n.v] = 0;
  } else {
    pulse[n.v] &= static_cast<std::uint8_t>(~1u);
  }
  told_place(n);
}

void Cluster::go_silent(NodeId n, Life life) {
  set_life(n, life);
  queue.push(now + kUnheardLimit, Tick::unheard, n.v, node(n).turn);
  for (const std::uint32_t g : gangs_on(n, -1)) {
    doom(g, kNcclTimeout, JobEnd::node_failed, fmt::format("collective timed out: no answer from {}", name(n)));
  }
}

void Cluster::unheard(NodeId n, std::uint32_t turn) {
  Node& x = node(n);
  if (x.turn != turn || x.life == Life::up) return;
  if (x.condition != NodeCondition::down) {
    x.condition = NodeCondition::down;
    emit(NodeChanged{n, NodeCondition::down, "not responding"});
  }
  for (const std::uint32_t g : gangs_on(n, -1)) {
    end_gang(g, JobEnd::node_failed, fmt::format("node {} is not responding", name(n)));
  }
}

void Cluster::start_boot(NodeId n, Life life, NodeCondition seen, const std::string& detail) {
  Node& x = node(n);
  for (const std::uint32_t g : gangs_on(n, -1)) end_gang(g, JobEnd::node_failed, fmt::format("node {}: {}", name(n), detail));
  set_life(n, life);
  set_load(n, 0);
  if (x.condition != seen) {
    x.condition = seen;
    emit(NodeChanged{n, seen, detail});
  }
}

void Cluster::finish_boot(NodeId n, const std::string& detail) {
  Node& x = node(n);
  for (const std::uint32_t g : gangs_on(n, -1)) end_gang(g, JobEnd::node_failed, fmt::format("node {} rebooted", name(n)));
  set_life(n, Life::up);
  ++x.boots;
  x.booted = now;
  x.records = 0;
  x.heat_from = x.load = 0;
  if (x.split != kNone) splits[x.split] = {};
  x.heat_at = now;
  x.limit = x.draw = 1;  // a boot forgets power limits
  for (std::uint32_t s = 0; s < per_node; ++s) {
    // Volatile counters begin anew; remapped rows are kept in the board.
    Gpu& g = gpu(n, static_cast<int>(s));
    g.ecc_sbe = g.ecc_dbe = g.nvlink_errors = g.pcie_replays = g.link_downed = 0;
    g.thermal_us = 0;
    g.row_hot = false;
  }
  // A person's or an order's boot has cured what it could before this; a crash is over when the node is back.
  const std::vector<std::uint32_t> still = x.faults;
  for (const std::uint32_t f : still) {
    if (faults[f].kind == FaultKind::host_crash) {
      end_fault(f, Fate::self_cleared);
    } else {
      show_again(f);
    }
  }
  tell(n, -1, kFull);
  if (x.pushed) hang_again(n);
  // The engine notices the new boot time even where it never missed the node.
  x.condition = NodeCondition::up;
  emit(NodeChanged{n, NodeCondition::up, detail});
}

float Cluster::gpu_speed(NodeId n, int slot) {
  const Gpu& g = gpu(n, slot);
  if (g.stalled) return 0;
  float speed = std::min(g.speed, g.hot_c > 0 ? g.clock : 1.0F);
  if (g.row_hot) speed = std::min(speed, static_cast<float>(kHotClock));
  if (node(n).limit < 1) speed = std::min(speed, static_cast<float>(limited_speed(static_cast<double>(node(n).limit))));
  return speed;
}

void Cluster::update_speed(NodeId n) {
  Node& x = node(n);
  float speed = 1.0F;
  for (std::uint32_t s = 0; s < per_node; ++s) speed = std::min(speed, gpu_speed(n, static_cast<int>(s)));
  x.speed = speed * x.pace;
  for (const Tenant& t : x.tenants) speed_changed(t.gang);
}

double Cluster::heat_now(const Node& n) const {
  return relax(static_cast<double>(n.heat_from), settled_heat(n), now - n.heat_at);
}

double Cluster::inlet_now(NodeId n) const {
  const double room = inlet_c(xxh64("rack", config.seed + config.site.nodes[n.v].rack), utc());
  return rows.empty() ? room : room + rows[row_of(config.site, n)].rise_c;
}

void Cluster::set_load(NodeId n, double load) {
  Node& x = node(n);
  if (x.split != kNone) {
    std::array<float, kSlotsMax> loads{};
    std::fill_n(loads.begin(), per_node, static_cast<float>(load));
    return set_loads(n, loads);
  }
  if (x.load == static_cast<float>(load)) return;
  x.heat_from = static_cast<float>(heat_now(x));
  x.heat_at = now;
  x.load = static_cast<float>(load);
  x.warming = true;
  if (load > 0.5) {
    for (const std::uint32_t f : x.faults) faults[f].shown = true;
  }
  tell(n, -1, kLoad);
}

}  // namespace muster::twin
