#include "detect/fabric_said.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace muster::detect {
namespace {

constexpr std::size_t kOpenMax = 8192;  // whoever tells of ever new faults, and of no end of any, is not followed further

// The nodes that are ends themselves: "gpu017 mlx5_3[1]", or "gpu017" alone. No more than a fault has ends.
std::vector<NodeId> own_nodes(const FabricTold& f, const Site& site) {
  std::vector<NodeId> out;
  for (const NodeId n : f.nodes) {
    if (n.v >= site.nodes.size()) continue;
    const auto names_it = [&](const std::string& e) { return e.substr(0, e.find_first_of(" \t[")) == site.nodes[n.v].name; };
    if (std::any_of(f.ends.begin(), f.ends.end(), names_it)) out.push_back(n);
  }
  return out;
}

// Leaves half of whose nodes are touched: the fault is of their switch, and the site may call two switches one leaf or one switch
// two. Else the one leaf that most of the nodes are in; none where there is no such.
std::vector<std::int16_t> leaves_of(const FabricTold& f, const Site& site) {
  std::map<std::uint32_t, std::size_t> touched, all;
  std::size_t nodes = 0;
  for (const NodeId n : f.nodes) {
    if (n.v >= site.nodes.size() || site.nodes[n.v].leaf > std::numeric_limits<std::int16_t>::max()) continue;
    ++touched[site.nodes[n.v].leaf];
    ++nodes;
  }
  if (nodes == 0) return {};
  for (const NodeSpec& n : site.nodes) {
    if (touched.count(n.leaf) != 0) ++all[n.leaf];
  }
  std::vector<std::int16_t> out;
  for (const auto& [leaf, count] : touched) {
    if (2 * count >= all[leaf]) out.push_back(static_cast<std::int16_t>(leaf));
  }
  for (const auto& [leaf, count] : touched) {
    if (out.empty() && 2 * count > nodes) out.push_back(static_cast<std::int16_t>(leaf));
  }
  return out;
}

// A cable of two nodes under one leaf is theirs: their neighbours have nothing to do with it. What is wrong with the reading or
// the routing as a whole is the site's, whichever devices it shows at.
std::vector<std::pair<NodeId, std::int16_t>> whose(const FabricTold& f, const Site& site) {
  std::vector<std::pair<NodeId, std::int16_t>> out;
  if (named_by_kind_alone(f.kind)) return {{NodeId{}, std::int16_t{-1}}};
  for (const NodeId n : own_nodes(f, site)) out.emplace_back(n, std::int16_t{-1});
  if (!out.empty()) return out;
  for (const std::int16_t leaf : leaves_of(f, site)) out.emplace_back(NodeId{}, leaf);
  if (out.empty()) out.emplace_back(NodeId{}, std::int16_t{-1});
  return out;
}

std::string seen_text(const FabricTold& f, const std::string& subject) {
  const std::string& seen = f.detail.empty() ? subject : f.detail;
  return f.fix.empty() ? seen : seen + std::string(kFixWords) + f.fix;
}

// The word is of the network that it is of, and could have told of it.
bool could_tell(const FabricSaid& said, const std::string& subject) {
  const FaultSubject what = read_fault_subject(subject);
  if (!said.complete || what.fabric != said.name) return false;
  if (what.kind == FabricFaultKind::error_rate) return said.rates;
  if (what.kind == FabricFaultKind::flapping_link) return said.flaps;
  return true;
}

}  // namespace

void FabricFaults::take_over(const Finding& f) {
  // Whether a watch is heard is not for its word to end.
  const bool told = f.kind == FindingKind::fabric_fault && read_fault_subject(f.subject).fault != kUnwatched;
  if (told) open_.emplace(f.node, f.slot, f.subject);
}

void FabricFaults::on_event(const Body& b, const State& s, Time utc, Signs& out) {
  const auto* said = std::get_if<FabricSaid>(&b);
  if (said == nullptr) return;
  std::set<Key> standing;
  for (const FabricTold& f : said->faults) {
    const std::string subject = fault_subject(said->name, name_of_fault(f.kind, f.ends));
    for (const auto& [node, leaf] : whose(f, s.site)) {
      const Key key{node, leaf, subject};
      const bool room = open_.count(key) != 0 || open_.size() < kOpenMax;
      if (!room || !standing.insert(key).second) continue;
      open_.insert(key);
      const bool cut_off = f.kind == FabricFaultKind::dead_switch && leaf >= 0;
      out.see(FindingKind::fabric_fault, cut_off ? Severity::critical : Severity::warning, node, leaf, Witness::scrape, utc,
              seen_text(f, subject));
      out.seen.back().subject = subject;
      out.seen.back().code = std::clamp(static_cast<int>(std::lround(100 * f.confidence)), 1, 100);
    }
  }
  for (auto it = open_.begin(); it != open_.end();) {
    const auto& [node, leaf, subject] = *it;
    if (standing.count(*it) != 0 || !could_tell(*said, subject)) {
      ++it;
      continue;
    }
    out.gone.push_back({FindingKind::fabric_fault, node, leaf, {}, "the watch of the network finds it no more", subject});
    it = open_.erase(it);
  }
}

}  // namespace muster::detect
