#include "adapters/slurm/site.h"

#include <fmt/core.h>

#include <algorithm>

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

}  // namespace

Result<Site> site_of(const std::vector<NodeRow>& nodes, const std::vector<SwitchRow>& switches, const std::string& name,
                     std::vector<std::string>* left_out) {
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
  return out;
}

Result<Site> discover_site(Tools& tools) {
  const auto config = tools.config();
  if (!config) return tl::unexpected(config.error());
  const auto nodes = tools.nodes();
  if (!nodes) return tl::unexpected(nodes.error());
  const auto switches = tools.topology();
  if (!switches) log(LogLevel::warning, fmt::format("Slurm tells nothing of switches: {}", switches.error().what));
  const auto name = config->find("ClusterName");
  std::vector<std::string> left_out;
  auto site =
      site_of(*nodes, switches ? *switches : std::vector<SwitchRow>(), name == config->end() ? "slurm" : name->second, &left_out);
  if (site && !left_out.empty()) {
    log(LogLevel::warning, fmt::format("{} nodes are left aside: they have another number of GPUs than most, or none: {}",
                                       left_out.size(), compress_names(left_out).substr(0, 200)));
  }
  return site;
}

}  // namespace muster::slurm
