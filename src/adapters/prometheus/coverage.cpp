#include "adapters/prometheus/coverage.h"

#include <fmt/core.h>

namespace muster {
namespace {

constexpr const char* kEmit =
    "dcgm-exporter's default list leaves them out; `muster fleet emit dcgm-counters` writes one that has them";

}  // namespace

void Coverage::add(std::span<const Sample> samples) {
  for (const Sample& s : samples) nodes_[static_cast<std::size_t>(s.field)].insert(s.node.v);
}

std::vector<std::string> Coverage::describe(const Site& site) const {
  const auto of = [&](Field f) -> const std::set<std::uint32_t>& { return nodes_[static_cast<std::size_t>(f)]; };
  std::set<std::uint32_t> heard;
  for (const auto& n : nodes_) heard.insert(n.begin(), n.end());
  const std::size_t gpu_nodes = of(Field::gpu_temp_c).size();
  std::vector<std::string> out;
  out.push_back(fmt::format("{} of {} nodes are heard, {} of them with GPU temperatures, {} with InfiniBand", heard.size(),
                            site.nodes.size(), gpu_nodes, of(Field::ib_up).size()));
  std::string quiet;
  std::size_t quiet_count = 0;
  for (std::uint32_t n = 0; n < site.nodes.size(); ++n) {
    if (heard.count(n) != 0) continue;
    if (++quiet_count <= 3) quiet += (quiet.empty() ? "" : ", ") + site.nodes[n].name;
  }
  if (quiet_count > 0) {
    out.push_back(
        fmt::format("no series of {} nodes ({}{}): targets that are not there, or names that the cluster file does not have",
                    quiet_count, quiet, quiet_count > 3 ? " ..." : ""));
  }
  if (gpu_nodes == 0) {
    out.emplace_back("no GPU readings at all: neither dcgm-exporter nor muster agent is among the targets");
    return out;
  }
  if (of(Field::ecc_dbe_total).empty()) out.push_back(fmt::format("no ECC counters: {}", kEmit));
  if (of(Field::remap_pending).empty()) out.push_back(fmt::format("no pending row remaps: {}", kEmit));
  if (of(Field::nvlink_errors_total).empty()) out.push_back(fmt::format("no NVLink error counters: {}", kEmit));
  if (of(Field::clock_reasons).empty()) out.push_back(fmt::format("no throttle reasons: {}", kEmit));
  if (of(Field::ib_up).empty()) {
    out.emplace_back("no InfiniBand series: node_exporter is not among the targets, or there is no InfiniBand");
  }
  return out;
}

}  // namespace muster
