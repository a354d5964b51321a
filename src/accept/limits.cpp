#include "accept/limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/series.h"

namespace muster::accept {
namespace {

constexpr double kNormal = 1.4826;      // a standard deviation over the median deviation
constexpr double kEfficiency = 0.37;    // of the median deviation: it knows as much as so many of the values
constexpr double kPrior = 10;           // what is known of the spread beforehand counts as so many values
constexpr double kWidest = 4;           // times the spread that is known beforehand: what differs by more is not alike
constexpr std::size_t kFirstRuns = 10;  // of a GPU: what decays little by little is held against how it began

double judged_metrics() {
  double n = 0;
  for (const Metric& m : metrics()) n += m.judged == Judged::limited ? 1 : 0;
  return n;
}

// One side of a normal distribution.
double normal_quantile(double chance) {
  double low = 0, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double mid = (low + high) / 2;
    (0.5 * std::erfc(mid / std::sqrt(2.0)) > chance ? low : high) = mid;
  }
  return low;
}

// `floor` is the spread that is known beforehand, as a share.
Limit limit_of(const Spread& s, const Metric& m, Basis basis, std::string from) {
  const double n = kEfficiency * static_cast<double>(s.count), prior = m.floor * std::abs(s.median);
  // A fleet that is more alike than cards are is not held to that: the next delivery need not be.
  const double sigma = std::max(prior, std::sqrt((n * s.sigma * s.sigma + kPrior * prior * prior) / (n + kPrior)));
  const double many = multiples(kFalseFailures / judged_metrics(), n + kPrior);
  // A fleet of which half is slow must not set a limit that nothing is short of.
  const double away = std::min(sigma * many, std::max(kFailShare * std::abs(s.median), prior * many));
  Limit out;
  out.basis = basis;
  out.of = s;
  out.wide = sigma > kWidest * prior;
  out.value = m.better == Better::higher ? s.median - away : s.median + away;
  out.from = std::move(from);
  return out;
}

// A run of a GPU, in a recording that somebody else holds.
struct Run {
  Time begun;
  const MetricValues* value = nullptr;
};
// By kind and UUID, the oldest first.
using Runs = std::map<Cohort, std::map<std::string_view, std::vector<Run>>>;

// Limits are not made of GPUs that gave wrong results, nor of runs that were cut off.
bool is_whole(const Acceptance& a) { return !a.end.empty() && !a.end.back().stopped; }
bool is_fit(const Acceptance& a, std::int32_t gpu) {
  const auto of_it = [gpu](const auto& row) { return row.gpu == gpu; };
  return std::none_of(a.wrong.begin(), a.wrong.end(), of_it) && std::none_of(a.kernel.begin(), a.kernel.end(), of_it);
}

Runs runs_of(std::span<const NodeFigures> fleet) {
  Runs out;
  for (const NodeFigures& node : fleet) {
    if (!is_whole(node.recording)) continue;
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
      if (!is_fit(node.recording, node.gpus[i].gpu)) continue;
      out[node.gpus[i].kind][node.recording.gpus[i].uuid].push_back({node.recording.host.begun, &node.gpus[i].value});
    }
  }
  for (auto& [cohort, gpus] : out) {
    for (auto& [uuid, runs] : gpus)
      std::stable_sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.begun < b.begun; });
  }
  return out;
}

std::vector<PastRun> past_of(const std::vector<Run>& runs) {
  std::vector<PastRun> out;
  for (const Run& run : runs) {
    auto& values = out.emplace_back(run.begun).value;
    for (const Metric& m : metrics()) {
      const double* v = run.value->find(m.name);
      values.push_back(v == nullptr ? std::nullopt : std::optional(*v));
    }
  }
  return out;
}

void add_values(std::map<std::string, std::vector<double>, std::less<>>& to, const MetricValues& run) {
  auto at = to.begin();  // GPUs of a kind tell the same figures: most are found without a search
  for (const auto& [metric, value] : run) {
    if (at == to.end() || at->first != metric) at = to.try_emplace(metric).first;
    at->second.push_back(value);
    ++at;
  }
}

}  // namespace

double multiples(double chance, double freedom) {
  // The expansion of Student's t around the normal's quantile; at 10 degrees of freedom it is still some percent below.
  const double z = normal_quantile(chance), z3 = z * z * z, z5 = z3 * z * z, v = freedom;
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v);
}

Spread spread_of(std::vector<double> values) {
  Spread s;
  s.count = values.size();
  if (values.empty()) return s;
  s.median = median_of(values);
  for (double& v : values) v = std::abs(v - s.median);
  s.sigma = kNormal * median_of(std::move(values));
  return s;
}

Limits::Limits(std::span<const Acceptance> fleet, const std::vector<AcceptReference>& shipped) : shipped_(shipped) {
  learn(figures_of(fleet));
}

Limits Limits::of(std::span<const NodeFigures> fleet, const std::vector<AcceptReference>& shipped) {
  Limits out(std::span<const Acceptance>(), shipped);
  out.learn(fleet);
  return out;
}

Limits::ByMetric Limits::shipped_for(const Cohort& cohort) const {
  ByMetric out(metrics().size());
  for (const bool of_board : {true, false}) {
    for (const AcceptReference& r : shipped_) {
      const Metric* m = find_metric(r.metric);
      const bool fits = r.model == cohort.model && (r.algorithms.empty() || r.algorithms == cohort.algorithms);
      if (m == nullptr || !fits || r.part != (of_board ? cohort.part : "") || !out[index_of(*m)].empty()) continue;
      const Spread s{r.median, r.median * r.sigma, r.cards};
      Limit limit = limit_of(s, *m, Basis::shipped, fmt::format("{} card{}: {}", r.cards, r.cards == 1 ? "" : "s", r.source));
      limit.provisional = true;
      out[index_of(*m)].push_back(std::move(limit));
    }
  }
  return out;
}

Limit Limits::among(const std::vector<double>& siblings, const Metric& m) {
  Limit out = limit_of({median_of(siblings), 0, siblings.size()}, m, Basis::node,
                       fmt::format("{} other GPUs of the node", siblings.size()));
  out.provisional = true;
  return out;
}

const std::vector<accepting::Gpu>* Limits::earlier_gpus(const std::string& node, Time before) const {
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) return nullptr;
  const auto later =
      std::partition_point(it->second.begin(), it->second.end(), [before](const NodeRun& run) { return run.begun < before; });
  return later == it->second.begin() ? nullptr : &std::prev(later)->gpus;
}

void Limits::learn(std::span<const NodeFigures> fleet) {
  for (const NodeFigures& node : fleet) {
    if (!is_whole(node.recording) || node.recording.host.name.empty()) continue;
    nodes_[node.recording.host.name].push_back({node.recording.host.begun, node.recording.gpus});
  }
  for (auto& [name, runs] : nodes_)
    std::stable_sort(runs.begin(), runs.end(), [](const NodeRun& a, const NodeRun& b) { return a.begun < b.begun; });
  for (const auto& [cohort, gpus] : runs_of(fleet)) {
    Kind& kind = kinds_[cohort];
    kind.gpus = gpus.size();
    for (const auto& [uuid, runs] : gpus) {
      add_values(kind.sorted, *runs.back().value);
      if (runs.size() > kHistoryMin && !uuid.empty()) kind.past[std::string(uuid)] = past_of(runs);
    }
    kind.limits = shipped_for(cohort);
    for (auto& [metric, values] : kind.sorted) {
      std::sort(values.begin(), values.end());
      const Metric* m = find_metric(metric);
      if (m == nullptr || m->judged != Judged::limited || values.size() < kFleetMin) continue;
      kind.limits[index_of(*m)] = {
          limit_of(spread_of(values), *m, Basis::fleet, fmt::format("{} GPUs of {}", values.size(), render(cohort)))};
    }
  }
}

std::size_t Limits::gpus(const Cohort& cohort) const {
  const auto it = kinds_.find(cohort);
  return it == kinds_.end() ? 0 : it->second.gpus;
}

const std::vector<double>& Limits::values(const Cohort& cohort, std::string_view metric) const {
  static const std::vector<double> none;
  const auto kind = kinds_.find(cohort);
  if (kind == kinds_.end()) return none;
  const auto it = kind->second.sorted.find(metric);
  return it == kind->second.sorted.end() ? none : it->second;
}

GpuLimits Limits::gpu(const Cohort& cohort, const std::string& uuid, Time before) const {
  GpuLimits out;
  const auto kind = kinds_.find(cohort);
  if (kind == kinds_.end()) {
    out.shipped_ = shipped_for(cohort);
    return out;
  }
  out.of_kind_ = &kind->second.limits;
  const auto past = kind->second.past.find(uuid);
  if (past == kind->second.past.end()) return out;
  const auto later =
      std::partition_point(past->second.begin(), past->second.end(), [before](const PastRun& run) { return run.begun < before; });
  out.past_ = {past->second.begin(), later};
  return out;
}

std::span<const Limit> GpuLimits::of_kind(const Metric& m) const {
  const auto& of_all = of_kind_ != nullptr ? *of_kind_ : shipped_;
  return of_all.empty() ? std::span<const Limit>() : of_all[index_of(m)];
}

std::optional<Limit> GpuLimits::of_past(const Metric& m) const {
  if (past_.size() < kHistoryMin) return std::nullopt;
  std::vector<double> earlier;
  for (const PastRun& run : past_) {
    if (earlier.size() == kFirstRuns) break;
    if (const auto& v = run.value[index_of(m)]) earlier.push_back(*v);
  }
  if (earlier.size() < kHistoryMin) return std::nullopt;
  const std::size_t count = earlier.size();
  return limit_of(spread_of(std::move(earlier)), m, Basis::history, fmt::format("its own {} first runs", count));
}

}  // namespace muster::accept
