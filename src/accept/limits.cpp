#include "accept/limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/series.h"

namespace muster::accept {
namespace {

constexpr double kNormal = 1.4826;    // a standard deviation over the median deviation
constexpr double kEfficiency = 0.37;  // of the median deviation: it knows as much as so many of the values
constexpr double kPrior = 10;         // what is known of the spread beforehand counts as so many values

std::size_t judged_metrics() {
  std::size_t n = 0;
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
  const double away = sigma * multiples(kFalseFailures / static_cast<double>(judged_metrics()), n + kPrior);
  Limit out;
  out.basis = basis;
  out.of = s;
  out.value = m.better == Better::higher ? s.median - away : s.median + away;
  out.from = std::move(from);
  return out;
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

Limits::Limits(std::span<const Acceptance> fleet, std::vector<AcceptReference> shipped) : shipped_(std::move(shipped)) {
  for (const Acceptance& a : fleet) {
    std::vector<Figures> all = figures_of(a);
    for (std::size_t i = 0; i < a.gpus.size(); ++i)
      history_[{cohort_of(a, a.gpus[i]), a.gpus[i].uuid}].push_back({a.host.begun, std::move(all[i].value)});
  }
  for (auto& [who, runs] : history_) {
    std::stable_sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.begun < b.begun; });
    Kind& kind = kinds_[who.first];
    ++kind.gpus;
    for (const auto& [metric, value] : runs.back().value) kind.sorted[metric].push_back(value);
  }
  for (auto& [cohort, kind] : kinds_) {
    for (auto& [metric, values] : kind.sorted) {
      std::sort(values.begin(), values.end());
      const Metric* m = find_metric(metric);
      if (m == nullptr || m->judged != Judged::limited || values.size() < kFleetMin) continue;
      kind.limits[metric] =
          limit_of(spread_of(values), *m, Basis::fleet, fmt::format("{} GPUs of {}", values.size(), render(cohort)));
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

std::vector<Limit> Limits::of(const Cohort& cohort, const std::string& uuid, const Metric& metric, Time before) const {
  std::vector<Limit> out;
  const auto kind = kinds_.find(cohort);
  const auto fleet =
      kind == kinds_.end() ? decltype(kind->second.limits.find(metric.name)){} : kind->second.limits.find(metric.name);
  if (kind != kinds_.end() && fleet != kind->second.limits.end()) {
    out.push_back(fleet->second);
  } else {
    for (const AcceptReference& r : shipped_) {
      if (r.model != cohort.model || r.metric != metric.name) continue;
      const Spread s{r.median, r.median * r.sigma, r.cards};
      out.push_back(limit_of(s, metric, Basis::shipped, fmt::format("{} cards: {}", r.cards, r.source)));
      out.back().provisional = true;
    }
  }
  const auto own = history_.find({cohort, uuid});
  if (own == history_.end() || uuid.empty() || own->second.size() <= kHistoryMin) return out;
  std::vector<double> earlier;
  for (const Run& run : own->second) {
    const auto it = run.value.find(std::string(metric.name));
    if (run.begun < before && it != run.value.end()) earlier.push_back(it->second);
  }
  if (earlier.size() < kHistoryMin) return out;
  const std::size_t count = earlier.size();
  out.push_back(limit_of(spread_of(std::move(earlier)), metric, Basis::history, fmt::format("its own {} earlier runs", count)));
  return out;
}

}  // namespace muster::accept
