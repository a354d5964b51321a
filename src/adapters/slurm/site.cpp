#include "adapters/slurm/site.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "base/text.h"
#include "ingest/cluster_file.h"

namespace muster::slurm {
namespace {

// Index of the leaf of each node, and of the pod of each leaf.
struct Wiring {
  std::map<std::string, std::uint32_t> leaf_of;  // node
  std::vector<std::string> leaves;
  std::vector<std::uint32_t> pod_of;  // leaf
  std::uint32_t pods = 1;
};

Wiring wiring_of(const std::vector<SwitchRow>& switches) {
  Wiring w;
  std::map<std::string, std::uint32_t> index;
  for (const SwitchRow& s : switches) {
    if (s.level > 0 || (!s.switches.empty() && s.nodes.empty())) continue;
    const auto nodes = expand_names(s.nodes);
    if (!nodes) continue;
    const auto leaf = static_cast<std::uint32_t>(w.leaves.size());
    index[s.name] = leaf;
    w.leaves.push_back(s.name);
    for (const std::string& n : *nodes) w.leaf_of.emplace(n, leaf);
  }
  w.pod_of.assign(w.leaves.size(), 0);
  std::uint32_t pods = 0;
  for (const SwitchRow& s : switches) {
    if (s.switches.empty()) continue;
    const auto below = expand_names(s.switches);
    if (!below) continue;
    bool any = false;
    for (const std::string& b : *below) {
      const auto it = index.find(b);
      if (it == index.end()) continue;
      w.pod_of[it->second] = pods;
      any = true;
    }
    pods += any ? 1 : 0;
  }
  w.pods = std::max<std::uint32_t>(pods, 1);
  return w;
}

std::vector<Pool> pools_of(const std::vector<PartitionRow>& partitions, const Site& site) {
  std::map<std::string, NodeId, std::less<>> by_name;
  for (std::uint32_t n = 0; n < site.nodes.size(); ++n) by_name[site.nodes[n].name] = NodeId{n};
  std::vector<Pool> out;
  for (const PartitionRow& p : partitions) {
    std::set<NodeId> nodes;
    for (const std::string& n : expand_names(p.nodes).value_or(std::vector<std::string>{})) {
      if (const auto it = by_name.find(n); it != by_name.end()) nodes.insert(it->second);
    }
    if (!nodes.empty() && nodes.size() < site.nodes.size() && out.size() < kPoolsMax)
      out.push_back({p.name, {nodes.begin(), nodes.end()}});
  }
  return out;
}

}  // namespace

Result<Site> site_of(const std::vector<NodeRow>& nodes, const std::vector<SwitchRow>& switches, const std::string& name,
                     const std::vector<PartitionRow>& partitions, std::vector<std::string>* left_out) {
  std::map<std::uint32_t, std::size_t> sizes;
  for (const NodeRow& n : nodes) {
    if (n.gpus > 0) ++sizes[n.gpus];
  }
  if (sizes.empty()) {
    return fail(Code::bad_input, "Slurm has no node with GPUs",
                "GPUs are known to Slurm by GresTypes=gpu, Gres=gpu:N on the nodes and gres.conf");
  }
  const auto usual =
      std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first;
  auto site = plain_cluster(usual * static_cast<std::uint32_t>(sizes[usual]));
  if (!site) return site;
  Site out = std::move(*site);
  out.name = name;
  out.gpus_per_node = usual;
  out.nodes.clear();
  out.racks.clear();
  const Wiring w = wiring_of(switches);
  out.leaves = std::max<std::uint32_t>(static_cast<std::uint32_t>(w.leaves.size()), 1);
  out.pods = w.pods;
  out.racks = w.leaves;
  if (out.racks.empty()) out.racks.emplace_back("all");
  for (const NodeRow& n : nodes) {
    if (n.gpus != usual) {
      if (left_out != nullptr) left_out->push_back(n.name);
      continue;
    }
    NodeSpec x;
    x.name = n.name;
    const auto leaf = w.leaf_of.find(n.name);
    x.leaf = leaf == w.leaf_of.end() ? 0 : leaf->second;
    x.rack = x.leaf;
    x.pod = w.pod_of.empty() ? 0 : w.pod_of[x.leaf];
    x.domain = static_cast<std::uint32_t>(out.nodes.size());
    out.nodes.push_back(std::move(x));
  }
  out.domains = static_cast<std::uint32_t>(out.nodes.size());
  out.rack_row.clear();
  out.pools = pools_of(partitions, out);
  return out;
}

Site as_known(Site found, const Site& known, const std::vector<PartitionRow>& partitions, std::vector<std::string>* news) {
  if (known.nodes.empty() || known.name != found.name || known.gpus_per_node != found.gpus_per_node) return found;
  std::map<std::string, const NodeSpec*> before;
  for (const NodeSpec& n : known.nodes) before[n.name] = &n;
  std::vector<std::string> fresh;
  std::size_t moved = 0;
  for (const NodeSpec& n : found.nodes) {
    const auto it = before.find(n.name);
    if (it == before.end()) {
      fresh.push_back(n.name);
      continue;
    }
    moved += it->second->leaf != n.leaf || it->second->pod != n.pod ? 1 : 0;
    before.erase(it);
  }
  const char* const next = "a new --state directory takes in what there is now";
  std::vector<std::string> gone;
  for (const auto& [name, node] : before) gone.push_back(name);
  const auto say = [&](const std::string& what) { news->push_back(fmt::format("{}; {}", what, next)); };
  if (!fresh.empty()) say(fmt::format("{} nodes are new and left aside: {}", fresh.size(), compress_names(fresh).substr(0, 200)));
  if (!gone.empty())
    say(fmt::format("{} nodes are no longer there and count as down: {}", gone.size(), compress_names(gone).substr(0, 200)));
  if (moved > 0) say(fmt::format("{} nodes hang on other switches than before, which is not taken over", moved));
  Site out = known;
  out.cables = found.cables;
  out.pools = pools_of(partitions, out);
  return out;
}

Result<Site> discover_site(Tools& tools, const Site& known) {
  const auto config = tools.config();
  if (!config) return tl::unexpected(config.error());
  const auto nodes = tools.nodes();
  if (!nodes) return tl::unexpected(nodes.error());
  const auto switches = tools.topology();
  if (!switches) log(LogLevel::warning, fmt::format("Slurm tells nothing of switches: {}", switches.error().what));
  const auto partitions = tools.partitions();
  if (!partitions) return tl::unexpected(partitions.error());
  const auto name = config->find("ClusterName");
  std::vector<std::string> left_out;
  auto site = site_of(*nodes, switches ? *switches : std::vector<SwitchRow>(), name == config->end() ? "slurm" : name->second,
                      *partitions, &left_out);
  if (site && !left_out.empty()) {
    log(LogLevel::warning, fmt::format("{} nodes are left aside: they have another number of GPUs than most, or none: {}",
                                       left_out.size(), compress_names(left_out).substr(0, 200)));
  }
  if (!site) return site;
  std::vector<std::string> news;
  Site out = as_known(std::move(*site), known, *partitions, &news);
  for (const std::string& n : news) log(LogLevel::warning, n);
  return out;
}

}  // namespace muster::slurm
