#include "trial/fleet_made.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/math.h"
#include "base/prng.h"

namespace muster::trial {
namespace {

constexpr double kConstant = 0.2, kTogether = 0.15, kByRack = 0.5, kSecondValue = 0.25;
constexpr double kLeastShare = 0.004, kMostShare = 0.3;  // of nodes that have another value, log-uniform
constexpr double kInRack = 0.8;                          // of a rack that was reached by a change
constexpr double kUnknown = 0.005;
constexpr std::uint32_t kNames = 6, kOfRacks = 4;

using Nodes = std::vector<std::uint32_t>;

Nodes some_nodes(const MadeFleetOptions& o, Prng& prng) {
  const double share = kLeastShare * det_exp(prng.unit() * det_log(kMostShare / kLeastShare));
  Nodes out;
  if (!prng.chance(kByRack)) {
    for (std::uint32_t n = 0; n < o.nodes; ++n) {
      if (prng.chance(share)) out.push_back(n);
    }
    return out;
  }
  const std::uint32_t racks = (o.nodes + o.rack - 1) / o.rack;
  std::vector<bool> reached(racks, false);
  const auto wanted = static_cast<std::uint32_t>(share / kInRack * racks + prng.unit());
  for (std::uint32_t r = 0; r < wanted; ++r) reached[prng.below(racks)] = true;
  for (std::uint32_t n = 0; n < o.nodes; ++n) {
    if (reached[n / o.rack] && prng.chance(kInRack)) out.push_back(n);
  }
  return out;
}

struct Maker {
  const MadeFleetOptions& o;
  Prng prng;
  MadeFleet out;
  std::vector<std::pair<fleet::FactValue, Nodes>> minorities;

  std::uint32_t column(const std::string& key) const { return static_cast<std::uint32_t>(out.table.find_column("", key)); }

  void put_all(const std::string& key, const std::vector<std::string>& value_of) {
    for (std::uint32_t n = 0; n < o.nodes; ++n) {
      if (!prng.chance(kUnknown)) out.table.put(n, "", key, value_of[n]);
    }
  }

  void names_and_racks() {
    for (std::uint32_t n = 0; n < o.nodes; ++n) {
      out.table.node(fmt::format("r{:03}n{:02}", n / o.rack, n % o.rack));
      out.table.put(n, "", "node.product", "DGXH100");
    }
    for (std::uint32_t k = 0; k < kNames + kOfRacks; ++k) {
      std::vector<std::string> v;
      for (std::uint32_t n = 0; n < o.nodes; ++n)
        v.push_back(k < kNames ? fmt::format("{:016x}", prng.next()) : fmt::format("10.{}.{}.1", k, n / o.rack));
      put_all(fmt::format("name.{:02}", k), v);
    }
  }

  // A value that some have; a setting may have two such.
  void setting(std::uint32_t k) {
    const std::string key = fmt::format("setting.{:03}", k);
    std::vector<std::string> v(o.nodes, "usual");
    if (prng.chance(kConstant)) return put_all(key, v);
    const bool together = !minorities.empty() && prng.chance(kTogether);
    const Nodes first = together ? minorities[prng.below(minorities.size())].second : some_nodes(o, prng);
    const Nodes second = !together && prng.chance(kSecondValue) ? some_nodes(o, prng) : Nodes{};
    for (const std::uint32_t n : second) v[n] = "third";
    for (const std::uint32_t n : first) v[n] = "other";
    if (together) {  // all of it is known where the other is, so that both are exactly alike
      for (std::uint32_t n = 0; n < o.nodes; ++n) out.table.put(n, "", key, v[n]);
    } else {
      put_all(key, v);
    }
    const FactColumn& c = out.table.columns()[column(key)];
    for (std::size_t i = 0; i < c.values.size(); ++i) {
      if (c.values[i] == "usual") continue;
      Nodes have;
      for (std::uint32_t n = 0; n < o.nodes; ++n) {
        if (c.code(n) == kFirstValue + i) have.push_back(n);
      }
      minorities.emplace_back(fleet::FactValue{column(key), static_cast<FactCode>(kFirstValue + i)}, std::move(have));
    }
  }

  void scores() {
    std::vector<double> y(o.nodes);
    const std::uint32_t racks = (o.nodes + o.rack - 1) / o.rack;
    std::vector<double> of_rack(racks);
    for (double& r : of_rack) r = o.rack_spread * prng.normal();
    for (std::uint32_t n = 0; n < o.nodes; ++n) {
      y[n] = of_rack[n / o.rack] + o.noise * (prng.chance(0.1) ? 3 : 1) * prng.normal();
      if (prng.chance(o.broken)) y[n] += det_log(1 - 0.03 - 0.27 * prng.unit());
    }
    std::vector<std::size_t> fit;
    for (std::size_t i = 0; i < minorities.size(); ++i) {
      if (minorities[i].second.size() >= o.affected) fit.push_back(i);
    }
    for (std::uint32_t c = 0; c < o.causes && !fit.empty(); ++c) {
      const std::size_t at = prng.below(fit.size());
      const auto& [value, nodes] = minorities[fit[at]];
      fit.erase(fit.begin() + static_cast<std::ptrdiff_t>(at));
      for (const std::uint32_t n : nodes) y[n] += det_log(1 - o.effect);
      out.causes.push_back(value);
      out.affected.push_back(static_cast<std::uint32_t>(nodes.size()));
    }
    out.performance.measures = {"busbw"};
    out.performance.values.resize(1);
    for (std::uint32_t n = 0; n < o.nodes; ++n) {
      out.performance.nodes.push_back(out.table.nodes()[n].name);
      out.performance.values[0].push_back(380 * det_exp(y[n]));
    }
  }
};

// What a fact of the book is on all nodes of a kind alike.
std::string usual_value(const FactMeaning& m) {
  switch (m.kind) {
    case FactKind::version: return "580.159.04";
    case FactKind::number: return m.key == "memory.gib" ? "2015" : "8";
    case FactKind::flag: return "yes";
    case FactKind::hash: return "6f1d3c2a";
    case FactKind::text:
    case FactKind::identity: break;
  }
  return "usual";
}

bool is_name(const FactMeaning* m) { return m != nullptr && (m->kind == FactKind::identity || m->layer == FactLayer::identity); }

}  // namespace

MadeFleet make_fleet(const MadeFleetOptions& options, std::uint64_t seed) {
  Maker m{options, Prng(seed, "trial.fleet"), {}, {}};
  m.names_and_racks();
  for (std::uint32_t k = kNames + kOfRacks; k < options.facts; ++k) m.setting(k);
  m.scores();
  return std::move(m.out);
}

MadeFleet make_batch_fleet(const BatchFleetOptions& o, std::uint64_t seed) {
  Prng prng(seed, "trial.batch_fleet");
  MadeFleet out;
  for (std::uint32_t n = 0; n < o.nodes; ++n) {
    out.table.node(fmt::format("gpu{:04}", n + 1));
    out.table.put(n, "", "node.product", "DGXH100");
    out.table.put(n, "", "name", fmt::format("{:016x}", prng.next()));
    if (o.racks_told) out.table.put(n, "", "node.rack", fmt::format("r{:02}", n / o.rack));
  }
  constexpr std::uint32_t kLeast = 13, kMost = 40;
  for (std::uint32_t k = 0; k < o.facts; ++k) {
    const bool rolled_out = k < o.settings;
    const auto first = static_cast<std::uint32_t>(prng.below(o.nodes - kMost));
    const auto end = first + kLeast + static_cast<std::uint32_t>(prng.below(kMost - kLeast));
    for (std::uint32_t n = 0; n < o.nodes; ++n)
      out.table.put(n, "", fmt::format("setting.{:03}", k), rolled_out && n >= first && n < end ? "other" : "usual");
  }
  std::set<std::uint64_t> slow;
  while (slow.size() < o.slow_racks) slow.insert(prng.below(o.nodes / o.rack));
  out.performance.measures = {"busbw"};
  out.performance.values.resize(1);
  for (std::uint32_t n = 0; n < o.nodes; ++n) {
    out.performance.nodes.push_back(out.table.nodes()[n].name);
    out.performance.values[0].push_back(390 * (1 + o.noise * prng.normal()) * (slow.contains(n / o.rack) ? 1 - o.effect : 1));
  }
  return out;
}

FactTable make_clean_fleet(const FactBook& book, std::uint32_t nodes, std::uint64_t seed) {
  constexpr std::uint32_t kRack = 16, kParts = 8;
  Prng prng(seed, "trial.clean_fleet");
  FactTable out;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    out.node(fmt::format("r{:03}n{:02}", n / kRack, n % kRack));
    for (const FactMeaning& m : book.rows) {
      const std::uint32_t parts = m.of == "gpu" || m.of == "nic" ? kParts : m.of.empty() ? 1 : 2;
      for (std::uint32_t p = 0; p < parts; ++p) {
        const std::string entity = m.of.empty() ? "" : fmt::format("{}{}", m.of, p);
        std::string v = usual_value(m);
        if (is_name(&m)) v = fmt::format("{:016x}", prng.next());
        if (m.key == "memory.gib" && prng.chance(0.4)) v = "2016";
        if (m.key == "gpu.pci" || m.key == "nic.pci") v = fmt::format("0000:{:02x}:00.0", 16 * p + 27);
        out.put(n, entity, m.key, v);
      }
    }
    out.put(n, "", "net.gateway", fmt::format("10.{}.{}.1", n / kRack / 256, n / kRack % 256));
    out.put(n, "", "net.address", fmt::format("10.{}.{}.{}", n / kRack / 256, n / kRack % 256, n % kRack + 10));
    out.put(n, "", "fan.rpm", std::to_string(8000 + prng.below(400)));
  }
  return out;
}

std::vector<Seeded> seed_drift(FactTable& table, const FactBook& book, std::uint32_t values, std::uint64_t seed) {
  Prng prng(seed, "trial.drift");
  std::vector<std::uint32_t> columns;
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const FactColumn& x = table.columns()[c];
    if (!is_name(book.find(x.key)) && x.key != "net.address" && x.key != "fan.rpm")
      columns.push_back(static_cast<std::uint32_t>(c));
  }
  std::vector<Seeded> out;
  std::set<std::pair<std::uint32_t, std::uint32_t>> done;
  while (out.size() < values) {
    const Seeded s{static_cast<std::uint32_t>(prng.below(table.nodes().size())), columns[prng.below(columns.size())]};
    if (!done.emplace(s.node, s.column).second) continue;
    const FactColumn& c = table.columns()[s.column];
    const std::string entity = c.entity, key = c.key;
    if (prng.chance(0.2)) {
      table.put_absent(s.node, entity, key);
    } else {
      const std::string* was = c.value(s.node);
      table.put(s.node, entity, key, was != nullptr && *was == "8" ? "7" : fmt::format("570.133.{}", prng.below(30)));
    }
    out.push_back(s);
  }
  return out;
}

}  // namespace muster::trial
