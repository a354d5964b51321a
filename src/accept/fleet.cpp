#include "accept/fleet.h"

#include <algorithm>
#include <map>

#include "accept/metrics.h"

namespace muster::accept {
namespace {

// Share of the sorted values that are not better than `v`, in percent, the equal ones by half.
double percentile_of(const std::vector<double>& sorted, double v, Better better) {
  if (sorted.empty()) return 50;
  const auto low = std::lower_bound(sorted.begin(), sorted.end(), v), high = std::upper_bound(low, sorted.end(), v);
  const double below = static_cast<double>(low - sorted.begin()) + static_cast<double>(high - low) / 2;
  const double share = 100 * below / static_cast<double>(sorted.size());
  return better == Better::higher ? share : 100 - share;
}

std::vector<Standing> standings_of(const Figures& f, const Cohort& cohort, const Limits& limits,
                                   const std::map<std::string_view, double>& medians) {
  std::vector<Standing> out;
  for (const Metric& m : metrics()) {
    const auto it = f.value.find(std::string(m.name));
    const auto median = medians.find(m.name);
    if (it == f.value.end() || median == medians.end()) continue;
    Standing s;
    s.metric = m.name;
    s.value = it->second;
    s.percentile = percentile_of(limits.values(cohort, m.name), s.value, m.better);
    s.share = median->second != 0 ? s.value / median->second : 0;
    out.push_back(std::move(s));
  }
  return out;
}

FleetMetric metric_of(std::string_view name, const std::vector<double>& sorted) {
  FleetMetric out;
  out.metric = name;
  out.of = spread_of(sorted);
  out.least = sorted.front();
  out.most = sorted.back();
  return out;
}

}  // namespace

Fleet fleet_of(std::span<const Acceptance> recordings, const Limits& limits) {
  Fleet out;
  std::map<Cohort, std::size_t> kinds;
  std::vector<std::map<std::string_view, double>> medians;  // of each kind
  for (std::size_t n = 0; n < recordings.size(); ++n) {
    const Acceptance& a = recordings[n];
    out.judgements.push_back(judge(a, limits));
    const Judgement& j = out.judgements.back();
    (j.verdict == Verdict::pass       ? out.pass
     : j.verdict == Verdict::degraded ? out.degraded
     : j.verdict == Verdict::fail     ? out.fail
                                      : out.could_not_run) += 1;
    const std::vector<Figures> figures = figures_of(a);
    for (std::size_t i = 0; i < a.gpus.size(); ++i) {
      const Cohort cohort = cohort_of(a, a.gpus[i]);
      const auto [it, first] = kinds.try_emplace(cohort, out.kinds.size());
      if (first) {
        out.kinds.push_back({cohort, {}, {}});
        medians.emplace_back();
        for (const Metric& m : metrics()) {
          const std::vector<double>& sorted = limits.values(cohort, m.name);
          if (sorted.empty()) continue;
          out.kinds.back().metrics.push_back(metric_of(m.name, sorted));
          medians.back()[m.name] = out.kinds.back().metrics.back().of.median;
        }
      }
      FleetGpu g{n, a.gpus[i].gpu, a.gpus[i].uuid, j.gpus[i].verdict, {}};
      g.standings = standings_of(figures[i], cohort, limits, medians[it->second]);
      out.kinds[it->second].gpus.push_back(std::move(g));
    }
  }
  return out;
}

}  // namespace muster::accept
