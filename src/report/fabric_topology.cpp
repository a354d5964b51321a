#include "report/fabric_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

#include "base/json_writer.h"
#include "base/node_list.h"
#include "ingest/slurm_text.h"

namespace muster::report {
namespace {

using Ids = std::vector<std::uint32_t>;  // ascending

constexpr std::uint32_t kNone = UINT32_MAX;

// "node00012 mlx5_3" is of node00012; anything but two words is of no node, such as a switch's own aggregation port.
std::string_view host_of(std::string_view description) {
  const std::size_t space = description.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == description.size()) return {};
  if (description.find(' ', space + 1) != std::string_view::npos) return {};
  return description.substr(0, space);
}

bool plain(std::string_view name) {
  return !name.empty() && name.size() <= 63 && name.front() != '-' && name.front() != '.' && name.back() != '-' &&
         name.back() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
         });
}

// "MF0;leaf-04:MQM9700/U1", as managed switches describe themselves, is leaf-04.
std::string_view own_name(std::string_view description) {
  const std::size_t semicolon = description.find(';'), colon = description.find(':');
  if (semicolon != std::string_view::npos && colon != std::string_view::npos && semicolon < colon)
    return description.substr(semicolon + 1, colon - semicolon - 1);
  return description;
}

bool part_of(const Ids& small, const Ids& large) {
  return small.size() < large.size() && std::includes(large.begin(), large.end(), small.begin(), small.end());
}

// One tier: what each of its switches leads to, and which of them stands for it.
class Tier {
 public:
  void add(std::uint32_t node, Ids leads_to) {
    std::sort(leads_to.begin(), leads_to.end());
    leads_to.erase(std::unique(leads_to.begin(), leads_to.end()), leads_to.end());
    const auto [at, fresh] = first_.try_emplace(std::move(leads_to), static_cast<std::uint32_t>(kinds_.size()));
    if (fresh) kinds_.push_back({node, &at->first, at->second});
    kind_of_.emplace_back(node, at->second);
  }
  bool empty() const { return kinds_.empty(); }

  // Those that lead to a part of what another does become that one.
  void merge() {
    std::map<std::uint32_t, Ids> having;  // kinds, by what they lead to
    for (std::uint32_t k = 0; k < kinds_.size(); ++k) {
      for (const std::uint32_t id : *kinds_[k].leads_to) having[id].push_back(k);
    }
    for (Kind& k : kinds_) {
      for (const std::uint32_t other : having[k.leads_to->front()]) {
        if (part_of(*k.leads_to, *kinds_[other].leads_to) &&
            (k.stands == self(k) || kinds_[other].leads_to->size() > kinds_[k.stands].leads_to->size()))
          k.stands = other;
      }
    }
  }

  struct Kind {
    std::uint32_t node;    // the first of its switches
    const Ids* leads_to;   // lives in first_
    std::uint32_t stands;  // the kind that it is part of; itself: none
  };
  const std::vector<Kind>& kinds() const { return kinds_; }
  // Each switch with the kind that stands for it.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stand_ins() const {
    auto out = kind_of_;
    for (auto& [node, kind] : out) kind = kinds_[kind].stands;
    return out;
  }

 private:
  std::uint32_t self(const Kind& k) const { return static_cast<std::uint32_t>(&k - kinds_.data()); }

  std::map<Ids, std::uint32_t> first_;
  std::vector<Kind> kinds_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> kind_of_;
};

class Treemaker {
 public:
  explicit Treemaker(const Fabric& f) : f_(f), place_(f.nodes.size(), kNone) {}

  Result<FabricTopology> run() {
    name_hosts();
    if (hosts_.empty()) {
      return fail(Code::bad_input,
                  "no network card of a node is in it: none is described as HOST CARD, such as \"node01 mlx5_0\"",
                  "set the descriptions of the cards (/sys/class/infiniband/*/node_desc) and take the dump again");
    }
    name_switches();
    find_strays();
    std::vector<bool> seen(f_.nodes.size(), false);
    Tier tier = leaves(seen);
    for (std::uint32_t level = 0; !tier.empty(); ++level) {
      take(tier, level);
      if (level == 0) add_strays();
      tier = above(seen);
    }
    hang_strays();
    settle_torn();
    join();
    return std::move(out_);
  }

 private:
  void name_hosts() {
    std::map<std::string_view, std::uint32_t> known;
    host_.assign(f_.nodes.size(), kNone);
    for (std::uint32_t i = 0; i < f_.nodes.size(); ++i) {
      if (f_.nodes[i].is_switch) continue;
      const std::string_view host = host_of(f_.nodes[i].name);
      if (!plain(host)) {
        ++out_.unnamed_cards;
        continue;
      }
      known.try_emplace(host, 0);
      host_[i] = 0;
    }
    for (auto& [name, id] : known) {
      id = static_cast<std::uint32_t>(hosts_.size());
      hosts_.emplace_back(name);
    }
    for (std::uint32_t i = 0; i < f_.nodes.size(); ++i) {
      if (host_[i] != kNone) host_[i] = known.at(host_of(f_.nodes[i].name));
    }
  }

  void name_switches() {
    std::map<std::string, int> times;
    for (const FabricNode& n : f_.nodes) {
      if (!n.is_switch) continue;
      by_guid_.push_back(static_cast<std::uint32_t>(&n - f_.nodes.data()));
      ++times[std::string(own_name(n.name))];
    }
    std::stable_sort(by_guid_.begin(), by_guid_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return f_.nodes[a].guid < f_.nodes[b].guid; });
    for (const auto& [name, n] : times) {
      if (n == 1 && plain(name)) unique_.insert(name);
    }
  }
  std::string name_of(std::uint32_t node) const {
    std::string name(own_name(f_.nodes[node].name));
    return unique_.contains(name) ? name : fmt::format("S-{:016x}", f_.nodes[node].guid);
  }

  Ids hosts_at(std::uint32_t node) const {
    Ids out;
    for (const std::uint32_t l : f_.nodes[node].out) {
      if (l != Fabric::kNoLink && host_[f_.links[l].to] != kNone) out.push_back(host_[f_.links[l].to]);
    }
    return out;
  }

  // A spine may have a storage server or a login node plugged in, and is no leaf for that: it has many more cables to switches,
  // most of them to ones with many more hosts. Those of a leaf that is nearly empty lead to spines, and in a dragonfly the
  // switches with hosts are cabled to each other.
  bool is_spine_with_hosts(std::uint32_t node, std::size_t hosts) const {
    constexpr std::size_t kMany = 4;  // times
    std::size_t trunks = 0, to_leaves = 0;
    std::set<std::uint32_t> leaves;
    for (const std::uint32_t l : f_.nodes[node].out) {
      if (l == Fabric::kNoLink || !f_.nodes[f_.links[l].to].is_switch) continue;
      ++trunks;
      const std::uint32_t far = f_.links[l].to;
      if (leaves.contains(far) || hosts_at(far).size() >= kMany * hosts) ++to_leaves, leaves.insert(far);
    }
    if (trunks < kMany * hosts || 2 * to_leaves <= trunks || leaves.size() < 2) return false;
    return std::none_of(leaves.begin(), leaves.end(), [&](std::uint32_t leaf) {
      const Ids& out = f_.nodes[leaf].out;
      return std::any_of(out.begin(), out.end(),
                         [&](std::uint32_t l) { return l != Fabric::kNoLink && leaves.contains(f_.links[l].to); });
    });
  }

  void find_strays() {
    for (const std::uint32_t i : by_guid_) {
      const Ids hosts = hosts_at(i);
      if (!hosts.empty() && is_spine_with_hosts(i, hosts.size())) strays_[i] = kNone;
    }
  }

  // What is plugged in there and nowhere else gets a leaf of its own, since Slurm has nodes at leaves alone.
  void add_strays() {
    std::set<std::string> placed;
    for (const TopologySwitch& s : out_.switches) placed.insert(s.nodes.begin(), s.nodes.end());
    for (auto& [node, place] : strays_) {
      TopologySwitch s;
      s.name = name_of(node) + "-hosts";
      while (unique_.contains(s.name)) s.name += "-own";
      const Ids at = hosts_at(node);
      for (const std::uint32_t h : std::set<std::uint32_t>(at.begin(), at.end())) {
        if (placed.insert(hosts_[h]).second) s.nodes.push_back(hosts_[h]);
      }
      if (s.nodes.empty()) continue;
      out_.nodes_on_spines.insert(out_.nodes_on_spines.end(), s.nodes.begin(), s.nodes.end());
      place = static_cast<std::uint32_t>(out_.switches.size());
      out_.switches.push_back(std::move(s));
    }
  }

  void hang_strays() {
    for (const auto& [node, place] : strays_) {
      if (place != kNone && place_[node] != kNone) out_.switches[place_[node]].below.push_back(place);
    }
  }

  Tier leaves(std::vector<bool>& seen) const {
    Tier out;
    for (const std::uint32_t i : by_guid_) {
      Ids hosts = hosts_at(i);
      if (hosts.empty() || strays_.contains(i)) continue;
      seen[i] = true;
      out.add(i, std::move(hosts));
    }
    out.merge();
    return out;
  }

  Tier above(std::vector<bool>& seen) const {
    Tier out;
    Ids fresh;
    for (const std::uint32_t i : by_guid_) {
      if (seen[i]) continue;
      Ids below;
      for (const std::uint32_t l : f_.nodes[i].out) {
        if (l != Fabric::kNoLink && place_[f_.links[l].to] != kNone && place_[f_.links[l].to] >= tier_begins_)
          below.push_back(place_[f_.links[l].to]);
      }
      if (below.empty()) continue;
      fresh.push_back(i);
      out.add(i, std::move(below));
    }
    for (const std::uint32_t i : fresh) seen[i] = true;
    out.merge();
    return out;
  }

  // The tier's switches go into the list, and each switch of the fabric gets the place of the one that stands for it.
  void take(const Tier& tier, std::uint32_t level) {
    tier_begins_ = static_cast<std::uint32_t>(out_.switches.size());
    Ids place(tier.kinds().size(), kNone);
    for (std::uint32_t k = 0; k < tier.kinds().size(); ++k) {
      const Tier::Kind& kind = tier.kinds()[k];
      if (kind.stands != k) continue;
      place[k] = static_cast<std::uint32_t>(out_.switches.size());
      TopologySwitch s;
      s.name = name_of(kind.node);
      s.tier = level;
      if (level > 0) {
        s.below = *kind.leads_to;
      } else {
        for (const std::uint32_t h : *kind.leads_to) s.nodes.push_back(hosts_[h]);
      }
      out_.switches.push_back(std::move(s));
    }
    for (const auto& [node, kind] : tier.stand_ins()) {
      // What stands for it may itself stand for a larger one.
      std::uint32_t k = kind;
      while (tier.kinds()[k].stands != k) k = tier.kinds()[k].stands;
      place_[node] = place[k];
    }
  }

  // A node is placed by one leaf: by the first, where its cards go to several that lead to different nodes.
  void settle_torn() {
    std::map<std::string, std::uint32_t> first;
    std::set<std::string> torn;
    for (std::uint32_t i = 0; i < out_.switches.size(); ++i) {
      for (const std::string& n : out_.switches[i].nodes) {
        if (!first.try_emplace(n, i).second) torn.insert(n);
      }
    }
    for (std::uint32_t i = 0; i < out_.switches.size() && !torn.empty(); ++i) {
      std::erase_if(out_.switches[i].nodes, [&](const std::string& n) { return torn.contains(n) && first.at(n) != i; });
    }
    out_.torn_nodes = static_cast<std::uint32_t>(torn.size());
  }

  // Without a switch above all, Slurm starts no job across what nothing joins.
  void join() {
    std::vector<bool> has_parent(out_.switches.size(), false);
    for (const TopologySwitch& s : out_.switches) {
      for (const std::uint32_t b : s.below) has_parent[b] = true;
    }
    TopologySwitch all;
    all.name = "fabric";
    for (std::uint32_t i = 0; i < out_.switches.size(); ++i) {
      if (has_parent[i]) continue;
      all.below.push_back(i);
      all.tier = std::max(all.tier, out_.switches[i].tier + 1);
    }
    if (all.below.size() < 2) return;
    while (unique_.contains(all.name)) all.name += "-all";
    out_.joined = true;
    out_.switches.push_back(std::move(all));
  }

  const Fabric& f_;
  FabricTopology out_;
  std::vector<std::string> hosts_;  // in order of their names
  Ids host_;                        // by node of the fabric: of an endpoint, its place in hosts_
  Ids by_guid_;                     // switches
  std::set<std::string> unique_;    // names that one switch has
  Ids place_;                       // by node of the fabric: of a switch, its place in the list
  // Spines with hosts, by node of the fabric: the place of the leaf that stands for these; kNone: they have another.
  std::map<std::uint32_t, std::uint32_t> strays_;
  std::uint32_t tier_begins_ = 0;  // of the last tier, in the list
};

std::string quoted(std::string_view text) {
  JsonWriter w;
  w.value(text);
  return w.take();
}

}  // namespace

Result<FabricTopology> fabric_topology(const Fabric& fabric) { return Treemaker(fabric).run(); }

std::vector<SlurmSwitch> slurm_switches(const FabricTopology& t) {
  std::vector<SlurmSwitch> out;
  // A leaf all of whose nodes another one has would be a line that Slurm refuses, and so would a switch above such leaves alone.
  std::vector<bool> bare(t.switches.size(), false);
  for (std::size_t i = 0; i < t.switches.size(); ++i) {
    const TopologySwitch& s = t.switches[i];
    std::vector<std::string> below;
    for (const std::uint32_t b : s.below) {
      if (!bare[b]) below.push_back(t.switches[b].name);  // it stands before this one
    }
    bare[i] = s.nodes.empty() && below.empty();
    if (bare[i]) continue;
    out.push_back({s.name, slurm::compress_names(s.nodes), slurm::compress_names(std::move(below))});
  }
  return out;
}

std::string render_node_labels(const FabricTopology& t, std::uint32_t domain_nodes) {
  constexpr std::array<std::string_view, 3> kBefore = {"block", "spine", "datacenter"};
  std::vector<std::uint32_t> parent(t.switches.size(), kNone);
  for (std::uint32_t i = 0; i < t.switches.size(); ++i) {
    for (const std::uint32_t b : t.switches[i].below) {
      if (parent[b] == kNone) parent[b] = i;
    }
  }
  std::map<std::string_view, std::uint32_t> leaf;  // the first that a node is under
  for (std::uint32_t i = 0; i < t.switches.size(); ++i) {
    for (const std::string& n : t.switches[i].nodes) leaf.try_emplace(n, i);
  }
  std::vector<std::string_view> nodes;
  for (const auto& [name, at] : leaf) nodes.push_back(name);
  std::stable_sort(nodes.begin(), nodes.end(), [](std::string_view a, std::string_view b) { return natural_less(a, b); });
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    fmt::format_to(to, "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: {}\n  labels:\n", quoted(nodes[i]));
    if (domain_nodes > 1) {
      const std::string domain = fmt::format("nvlink{:04}", i / domain_nodes + 1);
      fmt::format_to(to, "    accelerator.topograph.run/domain: {}\n    network.topology.nvidia.com/accelerator: {}\n", domain,
                     domain);
    }
    std::uint32_t tier = 0;
    for (std::uint32_t s = leaf.at(nodes[i]); s != kNone; s = parent[s], ++tier) {
      const std::string name = quoted(t.switches[s].name);
      fmt::format_to(to, "    fabric.topograph.run/tier-{}: {}\n", tier, name);
      if (tier < kBefore.size()) fmt::format_to(to, "    network.topology.nvidia.com/{}: {}\n", kBefore[tier], name);
    }
  }
  return fmt::to_string(out);
}

}  // namespace muster::report
