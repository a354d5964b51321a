#include "predict/job_traffic.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace muster::predict {
namespace {

using Cards = std::vector<std::uint32_t>;  // endpoints of one node, in the order of their names
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

std::map<std::string_view, Cards> cards_by_node(const Fabric& fabric) {
  std::map<std::string_view, Cards> out;
  for (const std::uint32_t e : fabric.endpoints()) {
    const std::string_view name = fabric.nodes[e].name;
    out[name.substr(0, name.find(' '))].push_back(e);
  }
  return out;
}

// Every node to the one `by` further on, card by card.
Pairs shifted(const std::vector<const Cards*>& nodes, std::size_t by) {
  Pairs out;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Cards &from = *nodes[i], &to = *nodes[(i + by) % nodes.size()];
    for (std::size_t c = 0; c < std::min(from.size(), to.size()); ++c) out.emplace_back(from[c], to[c]);
  }
  return out;
}

// The rates of flows that are all there at once, as shares of what each could send alone.
Result<std::vector<double>> shares(const std::vector<double>& capacity, Router& router, const Pairs& pairs) {
  Flows flows;
  std::vector<double> own;
  for (const auto& [from, to] : pairs) {
    const auto way = router.way(from, to);
    if (!way) return tl::unexpected(way.error());
    own.push_back(std::min(capacity[way->front().link], capacity[way->back().link]));
    flows.add(*way);
  }
  std::vector<double> out = max_min(flows, capacity, 0);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] /= own[i];
  return out;
}

double mean(std::span<const double> all) {
  double sum = 0;
  for (const double d : all) sum += d;
  return all.empty() ? 1 : sum / static_cast<double>(all.size());
}
double least(std::span<const double> all) { return all.empty() ? 1 : *std::min_element(all.begin(), all.end()); }

Result<std::vector<const Cards*>> nodes_of(const JobOnNodes& job, const std::map<std::string_view, Cards>& known) {
  std::vector<const Cards*> out;
  std::set<std::string_view> taken;  // lists with a line for each rank have a node many times
  for (const std::string& n : job.nodes) {
    if (!taken.insert(n).second) continue;
    const auto it = known.find(n);
    if (it == known.end()) {
      return fail(Code::not_found,
                  fmt::format("job {}: no endpoint of the fabric belongs to its node {}", printable(job.name), printable(n)),
                  "the nodes' names must be what the names of the network cards begin with, as in \"gpu0063 mlx5_0\"");
    }
    out.push_back(&it->second);
  }
  return out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> drop_jobs_elsewhere(const Fabric& fabric, std::vector<JobOnNodes>& jobs) {
  const auto known = cards_by_node(fabric);
  std::vector<std::pair<std::string, std::string>> out;
  std::erase_if(jobs, [&](const JobOnNodes& j) {
    const auto strange = std::find_if(j.nodes.begin(), j.nodes.end(), [&](const std::string& n) { return !known.contains(n); });
    if (strange == j.nodes.end() && !j.nodes.empty()) return false;
    out.emplace_back(j.name, j.nodes.empty() ? "" : *strange);
    return true;
  });
  return out;
}

Result<std::vector<JobTraffic>> job_traffic(const Fabric& fabric, Router& router, std::span<const JobOnNodes> jobs,
                                            std::uint32_t shifts) {
  const auto known = cards_by_node(fabric);
  std::vector<double> capacity;
  for (const FabricLink& l : fabric.links) capacity.push_back(l.gb_s);
  std::vector<JobTraffic> out;
  Pairs together;
  std::vector<std::size_t> begin{0};  // of each job in `together`
  for (const JobOnNodes& job : jobs) {
    const auto nodes = nodes_of(job, known);
    if (!nodes) return tl::unexpected(nodes.error());
    JobTraffic t{job.name, static_cast<std::uint32_t>(nodes->size())};
    for (const Cards* c : *nodes) t.cards += static_cast<std::uint32_t>(c->size());
    if (nodes->size() > 1) {
      const Pairs ring = shifted(*nodes, 1);
      const auto alone = shares(capacity, router, ring);
      if (!alone) return tl::unexpected(alone.error());
      t.ring = mean(*alone);
      t.ring_slowest = least(*alone);
      together.insert(together.end(), ring.begin(), ring.end());
      const std::size_t all = nodes->size() - 1, step = (all + std::max(1U, shifts) - 1) / std::max(1U, shifts);
      double sum = 0, measured = 0;
      for (std::size_t k = 1; k <= all; k += step, ++measured) {
        const auto now = shares(capacity, router, shifted(*nodes, k));
        if (!now) return tl::unexpected(now.error());
        sum += mean(*now);
        t.all_to_all_slowest = std::min(t.all_to_all_slowest, least(*now));
      }
      t.all_to_all = sum / measured;
    }
    begin.push_back(together.size());
    out.push_back(std::move(t));
  }
  const auto rates = shares(capacity, router, together);
  if (!rates) return tl::unexpected(rates.error());
  for (std::size_t j = 0; j < out.size(); ++j)
    out[j].ring_together = mean(std::span(*rates).subspan(begin[j], begin[j + 1] - begin[j]));
  return out;
}

}  // namespace muster::predict
