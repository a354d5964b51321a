#include "model/job_check.h"

#include <fmt/core.h>

#include <cmath>
#include <map>

#include "base/text.h"

namespace muster {
namespace {

bool within(double x, double low, double high) { return std::isfinite(x) && x >= low && x <= high; }

std::string problem_of_shape(const JobSpec& s) {
  if (s.nodes == 0 || s.nodes > 131'072) return fmt::format("nodes is {}: must be 1 to 131072", s.nodes);
  if (s.gpus_per_node > 16) return fmt::format("gpus_per_node is {}: must be 0 (the whole node) to 16", s.gpus_per_node);
  if (s.gpu_milli >= 1000) return fmt::format("gpu_milli is {}: must be 1 to 999 thousandths of one GPU", s.gpu_milli);
  if (s.gpu_milli > 0 && (s.nodes != 1 || s.gpus_per_node > 1 || s.segment > 0)) {
    return "gpu_milli is a share of one GPU: nodes must be 1, without gpus_per_node and segment";
  }
  if (s.segment > s.nodes) return fmt::format("segment is {}: larger than the {} nodes asked for", s.segment, s.nodes);
  if (s.segment > 0 && s.nodes % s.segment != 0) {
    return fmt::format("segment is {}: {} nodes cannot be cut into segments of that size", s.segment, s.nodes);
  }
  if (s.nodes_min > s.nodes) return fmt::format("nodes_min is {}: must be 1 to the {} nodes asked for", s.nodes_min, s.nodes);
  if (s.nodes_min > 0 && (s.gpus_per_node > 0 || s.gpu_milli > 0 || s.segment > 1)) {
    return "nodes_min is for gangs of whole nodes: without gpus_per_node, gpu_milli and segment";
  }
  if (s.prefer != Level::core && s.within != Level::core && s.prefer >= s.within) {
    return fmt::format("prefer is {}: it must be nearer than within, which is {}: all of it lies within one {} anyway",
                       name_of(s.prefer), name_of(s.within), name_of(s.within));
  }
  if (s.prefer != Level::core && s.prefer_wait_s == 0)
    return "prefer needs a prefer_wait above 0: it is how long it waits for that";
  if (s.prefer == Level::core && s.prefer_wait_s > 0) return "prefer_wait needs prefer: what it waits for";
  return {};
}

// A segment lies within one NVLink domain: what a domain has beyond whole segments is of no use to such a job.
std::string problem_of_segments(const JobSpec& s, const Site& site, std::uint32_t per_node) {
  if (s.segment <= 1) return {};
  const std::string model = s.gpu_model.empty() ? std::string() : model_given(site, s.gpu_model);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> domains;  // by the group it must lie within
  std::uint64_t largest = 0;
  for (const NodeSpec& n : site.nodes) {
    if (!model.empty() && (n.gpu_model.empty() ? site.gpu_model : n.gpu_model) != model) continue;
    const std::uint32_t group = s.within == Level::pod ? n.pod : s.within == Level::leaf ? n.leaf : 0;
    largest = std::max(largest, domains[{group, n.domain}] += site.gpus_per_node / per_node);
  }
  std::map<std::uint32_t, std::uint64_t> fit;
  std::uint64_t most = 0;
  for (const auto& [domain, pieces] : domains) most = std::max(most, fit[domain.first] += pieces / s.segment);
  if (s.nodes / s.segment <= most) return {};
  return fmt::format("nodes is {} in segments of {}: of {} segments at most {} fit, each within one NVLink domain of at most {}",
                     s.nodes, s.segment, s.nodes / s.segment, most, largest);
}

// Whether the largest group of a level holds it at all.
std::string problem_of_groups(const JobSpec& s, const Site& site, std::uint32_t per_node) {
  const auto largest = [&](Level level) {
    std::map<std::uint32_t, std::uint64_t> nodes;
    for (std::uint32_t i = 0; i < site.nodes.size(); ++i) {
      const NodeSpec& n = site.nodes[i];
      ++nodes[level == Level::node ? i : level == Level::domain ? n.domain : level == Level::leaf ? n.leaf : n.pod];
    }
    std::uint64_t most = 0;
    for (const auto& [group, count] : nodes) most = std::max(most, count);
    return most * (site.gpus_per_node / per_node);
  };
  if (s.segment > 1 && s.segment > largest(Level::domain))
    return fmt::format("segment is {}: the largest NVLink domain holds {}", s.segment, largest(Level::domain));
  if (s.within != Level::core && s.nodes > largest(s.within))
    return fmt::format("nodes is {} within one {}: the largest holds {}", s.nodes, name_of(s.within), largest(s.within));
  return problem_of_segments(s, site, per_node);
}

}  // namespace

std::string problem_of_site(const JobSpec& s, const Site& site) {
  const std::uint32_t per_node = s.gpus_per_node > 0 ? s.gpus_per_node : site.gpus_per_node;
  if (per_node > site.gpus_per_node) {
    return fmt::format("gpus_per_node is {}: a node has {}", s.gpus_per_node, site.gpus_per_node);
  }
  const std::uint64_t pieces = std::uint64_t{site.gpus_per_node / per_node} * site.nodes.size();
  if (s.nodes > pieces) return fmt::format("nodes is {}: the cluster has room for {} at most", s.nodes, pieces);
  if (std::string p = problem_of_groups(s, site, per_node); !p.empty()) return p;
  if (!s.gpu_model.empty() && model_given(site, s.gpu_model).empty()) {
    return fmt::format("gpu_model is {}: no node has GPUs of that model; the cluster has {}",
                       printable(s.gpu_model.substr(0, 60)), join(models_of(site), ", "));
  }
  return {};
}

std::vector<std::string> models_of(const Site& site) {
  std::vector<std::string> out;
  if (!site.gpu_model.empty()) out.push_back(site.gpu_model);
  for (const NodeSpec& n : site.nodes) {
    if (!n.gpu_model.empty() && std::find(out.begin(), out.end(), n.gpu_model) == out.end()) out.push_back(n.gpu_model);
  }
  return out;
}

std::string model_given(const Site& site, std::string_view wanted) {
  const auto same = [&](std::string_view a) { return lower(a) == lower(wanted); };
  const std::vector<std::string> models = models_of(site);
  const auto at = std::find_if(models.begin(), models.end(), same);
  return at == models.end() ? std::string() : *at;
}

std::string problem_with(const JobSpec& s, const Site* site) {
  if (std::string p = problem_of_shape(s); !p.empty()) return p;
  if (!within(s.step_s, 0.001, 86'400)) return "step_s must be 0.001 to 86400 seconds";
  if (s.steps == 0 || s.steps > 1'000'000'000'000) return "steps must be 1 to 1000000000000";
  if (!within(s.checkpoint_every_s, 0, 30 * 86'400)) return "checkpoint_every_s must be 0 to 2592000 seconds";
  if (!within(s.checkpoint_gb, 0, 1e7)) return "checkpoint_gb must be 0 to 10000000";
  if (!std::isfinite(s.checkpoint_stall_s) || s.checkpoint_stall_s > 86'400) return "checkpoint_stall_s must be at most 86400";
  if (!within(s.time_limit_s, 0, 1e8)) return "time_limit_s must be 0 (none) to 100000000";
  if (!within(s.prefer_wait_s, 0, 1e8)) return "prefer_wait_s must be 0 to 100000000";
  if (!within(s.value_per_gpu_h, 0, 1e9)) return "value_per_gpu_h must be 0 to 1000000000";
  if (!std::isfinite(s.init_s) || s.init_s > 86'400) return "init_s must be at most 86400 seconds";
  if (s.priority < -1'000'000 || s.priority > 1'000'000)
    return fmt::format("priority is {}: must be -1000000 to 1000000", s.priority);
  if (s.array > kArrayMax) return fmt::format("array is {}: at most {}", s.array, kArrayMax);
  if (s.after.size() > kAfterMax) return fmt::format("after has {} jobs: at most {}", s.after.size(), kAfterMax);
  if (s.deferrable && s.deadline.ns == 0) return "deferrable needs a deadline: without one it would wait for ever";
  return site == nullptr ? std::string() : problem_of_site(s, *site);
}

}  // namespace muster
