#include "detect/heat_row.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster::detect {
namespace {

constexpr Duration kEvery = minutes(1);
constexpr Duration kFresh = minutes(5);  // an inlet older than this says nothing about now
constexpr std::size_t kPoints = 5;       // minutes the trend is fitted over
constexpr std::size_t kPointsLeast = 3;
constexpr double kTrendLeast = 0.3;       // C a minute; the day's wave moves a hundredth of that
constexpr double kAhead_min = 15;         // "will throttle" means within this
constexpr double kWarm_c = 32;            // air no row should breathe, whatever its trend
constexpr double kCalm_c = 8;             // this far below throttling ...
constexpr std::uint32_t kCalmLooks = 10;  // ... for so many minutes, and it is over

}  // namespace

HeatRow::HeatRow(const Site& site) : slots_(site.gpus_per_node) {
  if (site.rack_row.empty()) return;
  const auto n = static_cast<std::uint32_t>(site.nodes.size());
  rows_.resize(*std::max_element(site.rack_row.begin(), site.rack_row.end()) + 1);
  for (std::uint32_t i = 0; i < n; ++i) {
    row_of_.push_back(row_of(site, NodeId{i}));
    rows_[row_of_.back()].nodes.push_back(i);
  }
  inlet_c_.assign(n, 0);
  inlet_at_.assign(n, Time{});
  gpu_c_.assign(n * slots_, 0);
}

void HeatRow::take_over(const Finding& f) {
  if (f.kind != FindingKind::row_hot || f.slot < 0 || static_cast<std::size_t>(f.slot) >= rows_.size()) return;
  rows_[static_cast<std::size_t>(f.slot)].hot = any_hot_ = true;
}

void HeatRow::on_sample(const Sample& m, Time mono) {
  if (rows_.empty()) return;
  if (m.field == Field::inlet_temp_c && m.slot < 0) {
    inlet_c_[m.node.v] = static_cast<float>(m.value);
    inlet_at_[m.node.v] = mono;
    rows_[row_of_[m.node.v]].heard = true;
  }
  if (m.field == Field::gpu_temp_c && m.slot >= 0 && static_cast<std::uint32_t>(m.slot) < slots_) {
    gpu_c_[m.node.v * slots_ + static_cast<std::size_t>(m.slot)] = static_cast<float>(m.value);
  }
}

// Least squares over the points kept.
double HeatRow::trend_c_per_min(const Row& r) const {
  if (r.points.size() < kPointsLeast) return 0;
  double t = 0, c = 0, tt = 0, tc = 0;
  const auto n = static_cast<double>(r.points.size());
  for (const Point& p : r.points) {
    const double x = (p.at - r.points.front().at).seconds() / 60;
    t += x;
    c += p.inlet_c;
    tt += x * x;
    tc += x * p.inlet_c;
  }
  const double spread = n * tt - t * t;
  return spread > 0 ? (n * tc - t * c) / spread : 0;
}

double HeatRow::hottest_c(const Row& r) const {
  float hottest = 0;
  for (const std::uint32_t n : r.nodes) {
    for (std::uint32_t s = 0; s < slots_; ++s) hottest = std::max(hottest, gpu_c_[n * slots_ + s]);
  }
  return static_cast<double>(hottest);
}

// True if the row is hot after the look.
bool HeatRow::look(std::uint32_t row, const State& s, Time utc, Time mono, Signs& out, std::vector<Body>& measured) {
  Row& r = rows_[row];
  if (!r.heard && !r.hot) return false;
  r.heard = false;
  double sum = 0;
  std::uint32_t fresh = 0;
  for (const std::uint32_t n : r.nodes) {
    if (inlet_at_[n].ns == 0 || mono - inlet_at_[n] > kFresh) continue;
    sum += static_cast<double>(inlet_c_[n]);
    ++fresh;
  }
  if (fresh == 0) return r.hot;
  const double inlet = sum / fresh;
  while (!r.points.empty() && (r.points.size() >= kPoints || mono - r.points.front().at > kEvery * 10)) r.points.pop_front();
  r.points.push_back({mono, inlet});
  const double trend = trend_c_per_min(r);
  const double hottest = hottest_c(r);
  const double limit = s.policy.temp_throttle_c;
  const bool rising = trend >= kTrendLeast && hottest + trend * kAhead_min >= limit;
  const bool there = inlet >= kWarm_c && hottest >= limit - 3;
  if (rising || there) {
    r.hot = true;
    r.calm = 0;
    const double left_min = trend > 0 ? std::max(0.0, (limit - hottest) / trend) : 0;
    Sign sign{FindingKind::row_hot, Severity::warning, {}, static_cast<std::int16_t>(row), {}, 0, {}};
    sign.evidence = {Witness::scrape,
                     utc,
                     {},
                     fmt::format("row {}: its {} nodes breathe {:.1f} C, {:+.1f} C a minute; the hottest GPU has {:.0f} C and "
                                 "throttles at {:.0f} in {:.0f} minutes if this goes on",
                                 row + 1, r.nodes.size(), inlet, trend, hottest, limit, left_min)};
    out.seen.push_back(std::move(sign));
  } else if (r.hot) {
    const auto known = s.hot_rows.find(row);
    const bool limited = known != s.hot_rows.end() && known->second.limit_pct < 100;
    const bool calm = !limited && trend < kTrendLeast && hottest < limit - kCalm_c;
    r.calm = calm ? r.calm + 1 : 0;
    if (r.calm >= kCalmLooks) {
      r.hot = false;
      out.gone.push_back({FindingKind::row_hot, {}, static_cast<std::int16_t>(row), {}, "the row has cooled down"});
    }
  }
  if (r.hot) measured.emplace_back(RowMeasured{row, inlet, hottest, trend});
  return r.hot;
}

void HeatRow::on_turn(const State& s, Time utc, Time mono, Signs& out, std::vector<Body>& measured) {
  if (rows_.empty() || mono - looked_ < kEvery) return;
  looked_ = mono;
  any_hot_ = false;
  for (std::uint32_t r = 0; r < rows_.size(); ++r) any_hot_ = look(r, s, utc, mono, out, measured) || any_hot_;
}

bool HeatRow::hot(const Site& site, NodeId n) const {
  const std::uint32_t row = rows_.empty() ? kNoRow : row_of(site, n);
  return row != kNoRow && rows_[row].hot;
}

Time HeatRow::next() const { return any_hot_ ? looked_ + kEvery : kNever; }

}  // namespace muster::detect
