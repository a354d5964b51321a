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

// A figure that is known of a kind, with its values over all GPUs, sorted.
struct Column {
  const Metric* metric = nullptr;
  const std::vector<double>* sorted = nullptr;
  double median = 0;
};

std::vector<Standing> standings_of(const MetricValues& values, const std::vector<Column>& columns) {
  std::vector<Standing> out;
  out.reserve(columns.size());
  for (const Column& c : columns) {
    const double* v = values.find(c.metric->name);
    if (v == nullptr) continue;
    const double percentile = percentile_of(*c.sorted, *v, c.metric->better);
    out.push_back({c.metric->name, *v, percentile, c.median != 0 ? *v / c.median : 0});
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

Fleet fleet_of(std::span<const NodeFigures> nodes, const Limits& limits) {
  Fleet out;
  std::map<Cohort, std::size_t> kinds;
  std::vector<std::vector<Column>> columns;  // of each kind
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    out.judgements.push_back(judge(nodes[n], limits));
    const Judgement& j = out.judgements.back();
    (j.verdict == Verdict::pass       ? out.pass
     : j.verdict == Verdict::degraded ? out.degraded
     : j.verdict == Verdict::fail     ? out.fail
                                      : out.could_not_run) += 1;
    for (std::size_t i = 0; i < nodes[n].gpus.size(); ++i) {
      const Figures& figures = nodes[n].gpus[i];
      const auto [it, first] = kinds.try_emplace(figures.kind, out.kinds.size());
      if (first) {
        out.kinds.push_back({figures.kind, {}, {}});
        columns.emplace_back();
        for (const Metric& m : metrics()) {
          const std::vector<double>& sorted = limits.values(figures.kind, m.name);
          if (sorted.empty()) continue;
          out.kinds.back().metrics.push_back(metric_of(m.name, sorted));
          columns.back().push_back({&m, &sorted, out.kinds.back().metrics.back().of.median});
        }
      }
      FleetGpu g{n, figures.gpu, nodes[n].recording.gpus[i].uuid, j.gpus[i].verdict, {}};
      g.standings = standings_of(figures.value, columns[it->second]);
      out.kinds[it->second].gpus.push_back(std::move(g));
    }
  }
  return out;
}

}  // namespace muster::accept
