#include "decide/never.h"

#include <fmt/core.h>

#include "base/text.h"
#include "decide/energy/power.h"
#include "model/job_check.h"

namespace muster::decide {
namespace {

std::uint32_t nodes_needed(const Site& site, const JobSpec& spec) {
  if (spec.gpu_milli > 0) return 1;
  if (spec.gpus_per_node == 0) return spec.nodes;
  const std::uint32_t in_one = std::max(1U, site.gpus_per_node / spec.gpus_per_node);
  return (spec.nodes + in_one - 1) / in_one;
}

}  // namespace

std::uint32_t busy_at_once(const State& s) {
  const auto all = static_cast<std::uint32_t>(s.site.nodes.size());
  const double busy_w = s.policy.scheduling.gpu_kw * 1000 * s.site.gpus_per_node;
  if (!power_capped(s.site) || busy_w <= 0) return all;
  // The very budget that placement goes by, with nothing taken: what it leaves open is the most, since caps nest.
  const PowerBudget budget(s.site, busy_w, busy_w * kIdlePower);
  std::uint32_t open = 0;
  for (std::uint32_t n = 0; n < all; ++n) open += budget.open(NodeId{n}) ? 1U : 0U;
  return open;
}

std::string say_power_caps(const Site& site) {
  std::vector<std::string> of;
  if (site.rack_kw > 0) of.emplace_back("the rack");
  if (site.row_kw > 0) of.emplace_back("the row");
  if (site.power_limit_kw > 0) of.emplace_back("the site");
  return "a power cap of " + join(of, " or ");
}

std::string why_too_large(const State& s, const JobSpec& spec) {
  if (s.site.nodes.empty()) return {};  // not known yet
  if (std::string wrong = problem_of_site(spec, s.site); !wrong.empty()) return wrong;
  if (!power_capped(s.site)) return {};
  const std::uint32_t needed = nodes_needed(s.site, spec);
  const std::uint32_t most = busy_at_once(s);
  if (needed <= most) return {};
  return fmt::format("{} lets {} node{} be busy at once, and it needs {}", say_power_caps(s.site), most, most == 1 ? "" : "s",
                     needed);
}

}  // namespace muster::decide
