// Making a cluster and stepping through its events.
#include "twin/cluster.h"

#include <fmt/core.h>

#include "base/check.h"
#include "twin/prices.h"

namespace muster::twin {
namespace {

constexpr double kNodeWriteGbs = 8;  // what one node can write to the store
constexpr std::uint32_t kAmbientGroups = 60;

Config completed(Config c) {
  constexpr int kFirstBus = 0x0f;
  constexpr int kBusStep = 0x0e;
  if (c.site.gpu_pci.size() != c.site.gpus_per_node) {
    c.site.gpu_pci.clear();
    for (std::uint32_t i = 0; i < c.site.gpus_per_node; ++i) {
      c.site.gpu_pci.push_back(fmt::format("0000:{:02x}:00", kFirstBus + kBusStep * static_cast<int>(i)));
    }
  }
  if (c.site.gpu_model.empty()) c.site.gpu_model = "H200";
  if (c.report_every < seconds(1)) c.report_every = seconds(1);
  return c;
}

}  // namespace

std::uint32_t least_leaf(const Site& site) {
  std::vector<std::uint32_t> size(site.leaves, 0);
  for (const NodeSpec& n : site.nodes) {
    if (n.leaf < size.size()) ++size[n.leaf];
  }
  return size.empty() ? 0 : *std::min_element(size.begin(), size.end());
}

void keep_work_of(Config& config, const Site& site) {
  config.mix_nodes = static_cast<std::uint32_t>(site.nodes.size());
  config.mix_leaf_nodes = least_leaf(site);
}

Mix mix_of(const Config& c, std::uint64_t seed) {
  const bool own = c.mix_nodes == 0;
  return Mix(c.workload.mix, c.workload.load, own ? static_cast<std::uint32_t>(c.site.nodes.size()) : c.mix_nodes,
             c.site.gpus_per_node, seed, own ? least_leaf(c.site) : c.mix_leaf_nodes);
}

Cluster::Cluster(Config given)
    : config(completed(std::move(given))),
      per_node(config.site.gpus_per_node),
      utc_offset{config.start_utc.ns},
      boot(config.boot.empty() ? fmt::format("{:016x}", config.seed) : config.boot),
      nodes(config.site.nodes.size()),
      gpus(config.site.nodes.size() * config.site.gpus_per_node),
      pulse(config.site.nodes.size(), 1),
      silence_told(config.site.nodes.size(), 0),
      store(config.site.storage_write_gbs, kNodeWriteGbs),
      mix(mix_of(config, config.seed)),
      site_weather(config.seed, "weather/site") {
  MUSTER_CHECK(!nodes.empty() && per_node >= 1 && per_node <= 16);
  Prng uptime(config.seed, "nodes/uptime");
  for (Node& n : nodes) n.booted = Time{0} - from_seconds(3600.0 + 40 * 86400.0 * uptime.unit());
  const auto every_s = static_cast<std::uint32_t>(config.report_every.ns / 1'000'000'000);
  make_rows();
  if (config.truth) truth.emplace(static_cast<std::uint32_t>(nodes.size()), std::int64_t{1000} * per_node, now);
  report_slots = std::max<std::uint32_t>(1, std::min<std::uint32_t>(every_s, static_cast<std::uint32_t>(nodes.size())));
}

Time Cluster::listed_at(std::size_t i) const { return std::max(now, config.start_utc + config.workload.jobs[i].at - utc_offset); }

void Cluster::begin() {
  seed_weather();
  queue.push(now + nanoseconds(config.report_every.ns / report_slots), Tick::report);
  queue.push(now + minutes(1), Tick::ambient);
  // Every node says once what it has: the scraper's first round.
  for (std::uint32_t i = 0; i < nodes.size(); ++i) tell(NodeId{i}, -1, kFull);
  const auto& listed = config.workload.jobs;
  if (next_listed < listed.size()) queue.push(listed_at(next_listed), Tick::listed);
  if (!config.workload.mix.empty() && config.workload.load > 0) queue.push(now + mix.until_next(), Tick::arrival);
  announce_prices();
}

// After the weather has calmed work comes in for as long as there is a fault that only load shows, or it would never be found.
bool Cluster::hot_in_service() const {
  return std::any_of(faults.begin(), faults.end(), [&](const FaultTruth& f) {
    return f.kind == FaultKind::thermal && f.fate == Fate::active && !nodes[f.node.v].drained;
  });
}

void Cluster::step() {
  const Scheduled e = queue.pop();
  now = e.at;
  ++count.kernel_events;
  switch (e.tick) {
    case Tick::report: report_slot(); break;
    case Tick::ambient:
      ambient();
      ambient_group = (ambient_group + 1) % kAmbientGroups;
      queue.push(now + minutes(1), Tick::ambient);
      break;
    case Tick::arrival:
      if (calmed && !hot_in_service()) break;
      submit_job(mix.draw(utc(), next_job));
      queue.push(now + mix.until_next(), Tick::arrival);
      break;
    case Tick::listed: {
      if (calmed) break;
      const auto& listed = config.workload.jobs;
      JobSpec spec = listed[next_listed].spec;
      if (listed[next_listed].deadline_in.ns > 0) spec.deadline = utc() + listed[next_listed].deadline_in;
      submit_job(spec);
      if (++next_listed < listed.size()) queue.push(listed_at(next_listed), Tick::listed);
      break;
    }
    case Tick::price: announce_prices(); break;
    case Tick::weather: strike(NodeId{e.a}); break;
    case Tick::site_weather: site_strike(); break;
    case Tick::fault: fault_stage(e.a, e.b); break;
    case Tick::gang:
      if (gangs[e.a].turn == e.b) phase_over(e.a);
      break;
    case Tick::gang_doom:
      if (gangs[e.a].id.some() && gangs[e.a].life == e.b && gangs[e.a].doom_at == now) {
        const Gang& g = gangs[e.a];
        end_gang(e.a, g.doom_end, std::string(g.doom_detail));
      }
      break;
    case Tick::gang_limit:
      if (gangs[e.a].id.some() && gangs[e.a].life == e.b) over_limit(e.a);
      break;
    case Tick::gang_bug:
      if (gangs[e.a].id.some() && gangs[e.a].life == e.b) bug(e.a);
      break;
    case Tick::storage: store_done(e.b); break;
    case Tick::order: order_due(e.a); break;
    case Tick::cooling: cool_row(e.a); break;
    case Tick::unheard: unheard(NodeId{e.a}, e.b); break;
    case Tick::booted:
      if (nodes[e.a].turn == e.b) finish_boot(NodeId{e.a}, "node came back by itself after an unexpected reboot");
      break;
  }
}

void Cluster::announce_prices() {
  if (config.prices.hours() == 0) return;
  if (auto p = announced(config.prices, config.carbon, utc())) emit(std::move(*p));
  const Time noon = next_noon(utc());
  if (noon < config.prices.begins + hours(static_cast<std::int64_t>(config.prices.hours()))) {
    queue.push(now + (noon - utc()), Tick::price);
  }
}

void Cluster::run_to(Time steady) {
  while (queue.next() <= steady) step();
  if (now < steady) now = steady;
}

void Cluster::emit(Body body, bool wakes) {
  (away ? untold : inbox.events).push_back({Source{boot, "engine", ++engine_seq}, utc(), std::move(body), {}});
  wake = wake || (wakes && !away);
}

void Cluster::tell(NodeId n, int slot, std::uint8_t what) {
  Node& x = node(n);
  x.dirty |= what;
  if (slot >= 0) x.dirty_slots = static_cast<std::uint16_t>(x.dirty_slots | 1u << slot);
  pulse[n.v] |= 2;
}

}  // namespace muster::twin
