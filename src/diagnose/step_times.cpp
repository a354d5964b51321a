#include "diagnose/step_times.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/math.h"
#include "base/series.h"

namespace muster::diagnose {
namespace {

constexpr std::size_t kPointsMax = 400;  // that the search for a change looks at: more are taken together
constexpr std::size_t kEpisode = 5;      // slow steps in a row
constexpr double kSigma = 1.4826;        // of a normal spread, over the median of deviations
constexpr double kWorth = 0.03;          // a change that is smaller is left alone
constexpr std::uint64_t kStepsMost = std::uint64_t{1} << 60;
constexpr double kChance = 1e-4;  // that a change is none

struct Point {
  double time_s = 0;
  std::uint64_t step = 0;
  std::uint32_t line = 0;
};

double median(std::vector<double> v) { return quantile(std::move(v), 0.5); }

std::vector<double> times_of(const std::vector<Point>& points) {
  std::vector<double> out;
  out.reserve(points.size());
  for (const Point& p : points) out.push_back(p.time_s);
  return out;
}

// Above this a step is slow.
double slow_from(const std::vector<double>& times, double middle) {
  std::vector<double> off;
  off.reserve(times.size());
  for (const double t : times) off.push_back(std::abs(t - middle));
  return middle + std::max(6 * kSigma * median(std::move(off)), 0.15 * middle);
}

// Steps that count, each for the last batch's size: batches that grow make steps longer without being slower.
std::vector<Point> points_of(const StepLog& log, StepTimes& out) {
  std::uint32_t batch = 0;
  for (const StepSample& s : log.steps) batch = s.batch > 0 ? s.batch : batch;
  std::vector<Point> all;
  std::vector<std::size_t> begins;  // of what was started anew
  const StepSample* before = nullptr;
  for (const StepSample& s : log.steps) {
    out.skipped += s.skipped;
    out.nan += s.nan;
    if (before == nullptr || s.step <= before->step) begins.push_back(all.size());
    before = &s;
    if (s.time_s <= 0 || !std::isfinite(s.time_s)) continue;
    const double of = batch > 0 && s.batch > 0 ? static_cast<double>(batch) / s.batch : 1;
    all.push_back({s.time_s * of, s.step, s.line});
  }
  if (all.size() < 4) return all;
  const double slow = 1.2 * median(times_of(all));
  std::vector<bool> drop(all.size(), false);
  for (const std::size_t from : begins) {
    for (std::size_t i = from; i < all.size() && i < from + 5 && all[i].time_s > slow; ++i) drop[i] = true;
  }
  std::vector<Point> out_points;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!drop[i]) out_points.push_back(all[i]);
  }
  out.warm_up = all.size() - out_points.size();
  return out_points.empty() ? all : out_points;
}

void find_restarts(const StepLog& log, StepTimes& out) {
  const StepSample* last = nullptr;
  for (const StepSample& s : log.steps) {
    if (last != nullptr && s.step <= last->step) {
      out.computed_again = std::min<std::uint64_t>(out.computed_again + last->step - s.step + 1, kStepsMost);
      if (out.restarts.size() < 64)
        out.restarts.push_back({last->step, s.step, s.at_s > last->at_s && last->at_s > 0 ? s.at_s - last->at_s : 0, s.line});
    }
    last = &s;
  }
}

// What the clock shows beyond the steps themselves; lines of a run that was started again do not count.
void find_outside(const StepLog& log, StepTimes& out) {
  double wall = 0, in_steps = 0;
  for (std::size_t i = 1; i < log.steps.size(); ++i) {
    const StepSample &a = log.steps[i - 1], &b = log.steps[i];
    if (a.at_s <= 0 || b.at_s <= a.at_s || b.step <= a.step || b.time_s <= 0) continue;
    wall += b.at_s - a.at_s;
    in_steps += b.time_s * static_cast<double>(b.step - a.step);
  }
  constexpr double kCoarse = 60;  // lines have whole seconds
  if (wall > kCoarse) out.outside_pct = std::max(0.0, 100 * (1 - in_steps / wall));
}

std::optional<MarkKind> what_of(const std::vector<std::uint64_t>& slow, const StepLog& log, std::uint64_t apart) {
  for (const MarkKind kind : {MarkKind::checkpoint, MarkKind::evaluation}) {
    std::size_t near = 0;
    const std::size_t looked = std::min<std::size_t>(slow.size(), 200);
    for (std::size_t i = 0; i < looked; ++i) {
      near += std::any_of(log.marks.begin(), log.marks.end(),
                          [&](const StepMark& m) { return m.kind == kind && m.step <= slow[i] && slow[i] - m.step <= apart; });
    }
    if (2 * near >= looked) return kind;
  }
  return {};
}

// Whether slow steps come at even distances.
std::optional<Periodic> find_period(const std::vector<Point>& points, double middle, double slow, const StepLog& log) {
  std::vector<std::uint64_t> steps;
  std::vector<double> extra;
  double all = 0;
  for (const Point& p : points) {
    all += p.time_s;
    if (p.time_s <= slow) continue;
    steps.push_back(p.step);
    extra.push_back(p.time_s - middle);
  }
  if (steps.size() < 3 || points.size() < 8) return {};
  std::map<std::uint64_t, std::size_t> gaps;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i] > steps[i - 1]) ++gaps[steps[i] - steps[i - 1]];
  }
  std::uint64_t every = 0;
  std::size_t most = 0;
  for (const auto& [gap, n] : gaps) {
    if (n > most) {
      most = n;
      every = gap;
    }
  }
  const std::uint64_t apart = points[1].step > points[0].step ? points[1].step - points[0].step : 1;
  if (every < 2 * apart) return {};
  std::size_t even = 0, last_even = 0;
  double sum = 0;
  std::map<std::uint64_t, std::size_t> phases;
  for (const std::uint64_t s : steps) ++phases[s % every];
  const auto best =
      std::max_element(phases.begin(), phases.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] % every != best->first) continue;
    ++even;
    last_even = i;
    sum += extra[i];
  }
  const double expected = static_cast<double>(steps[last_even] - steps.front()) / static_cast<double>(every) + 1;
  if (static_cast<double>(even) < 0.7 * static_cast<double>(steps.size()) || static_cast<double>(even) < 0.6 * expected)
    return {};
  return Periodic{every, median(extra), 100 * sum / all, what_of(steps, log, apart)};
}

void find_episodes(const std::vector<Point>& points, double middle, double slow, StepTimes& out) {
  for (std::size_t i = 0; i < points.size();) {
    std::size_t to = i;
    double sum = 0;
    while (to < points.size() && points[to].time_s > slow) sum += points[to++].time_s;
    if (to - i >= kEpisode && out.episodes.size() < 16)
      out.episodes.push_back({points[i].step, points[to - 1].step, 100 * (sum / static_cast<double>(to - i) / middle - 1)});
    i = std::max(to, i + 1);
  }
}

// Neighbours taken together by their median, so that there are no more than can be compared with each other.
std::vector<Point> thinned(const std::vector<Point>& points) {
  const std::size_t each = (points.size() + kPointsMax - 1) / kPointsMax;
  if (each <= 1) return points;
  std::vector<Point> out;
  for (std::size_t i = 0; i < points.size(); i += each) {
    std::vector<double> own;
    for (std::size_t k = i; k < std::min(points.size(), i + each); ++k) own.push_back(points[k].time_s);
    out.push_back({median(std::move(own)), points[i].step, points[i].line});
  }
  return out;
}

double off_levels(const std::vector<Point>& p, std::size_t at, double before, double after) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::abs(p[i].time_s - (i < at ? before : after));
  return sum;
}

// The line that half of all pairs are steeper than, and how far points are off it.
struct Line {
  double slope = 0, at0 = 0, off = 0;
};
Line line_through(const std::vector<Point>& p) {
  std::vector<double> slopes, starts;
  for (std::size_t i = 0; i < p.size(); ++i) {
    for (std::size_t k = i + 1; k < p.size(); ++k) slopes.push_back((p[k].time_s - p[i].time_s) / static_cast<double>(k - i));
  }
  Line out;
  out.slope = median(std::move(slopes));
  for (std::size_t i = 0; i < p.size(); ++i) starts.push_back(p[i].time_s - out.slope * static_cast<double>(i));
  out.at0 = median(std::move(starts));
  for (std::size_t i = 0; i < p.size(); ++i) out.off += std::abs(p[i].time_s - out.at0 - out.slope * static_cast<double>(i));
  return out;
}

// Whether there is a change is told by ranks (Pettitt 1979), so that no single slow step makes one; where, as everywhere.
void find_change(const std::vector<Point>& all, StepTimes& out) {
  const std::vector<Point> p = thinned(all);
  constexpr std::size_t kSide = 5;
  if (p.size() < 4 * kSide) return;
  const auto n = static_cast<double>(p.size());
  double u = 0, best = 0;
  for (std::size_t t = 0; t + 1 < p.size(); ++t) {
    for (const Point& other : p) u += p[t].time_s > other.time_s ? 1 : p[t].time_s < other.time_s ? -1 : 0;
    if (t + 1 >= kSide && p.size() - t - 1 >= kSide) best = std::max(best, std::abs(u));
  }
  if (2 * det_exp(-6 * best * best / (n * n * n + n * n)) > kChance) return;
  const LevelSplit split = *split_levels(times_of(p), kSide);
  const std::size_t at = split.at;
  const double low = split.before, high = split.after;
  const Line line = line_through(p);
  const double end = line.at0 + line.slope * (n - 1);
  if (line.at0 > 0 && std::abs(end / line.at0 - 1) >= kWorth && line.off < 0.9 * off_levels(p, at, low, high)) {
    out.growth = Shift{all.front().step, all.front().line, line.at0, end};
    return;
  }
  if (low <= 0 || std::abs(high / low - 1) < kWorth) return;
  // Among steps that were taken together, the first that is on the other side of the middle for good.
  const std::size_t each = (all.size() + kPointsMax - 1) / kPointsMax;
  std::size_t from = at * each;
  const double half = (low + high) / 2;
  while (from > (at - 1) * each && (all[from - 1].time_s > half) == (high > low)) --from;
  out.shift = Shift{all[from].step, all[from].line, low, high};
}

}  // namespace

double quantile(std::vector<double> v, double share) {
  if (v.empty()) return 0;
  const double at = share * static_cast<double>(v.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(below), v.end());
  const double low = v[below];
  if (below + 1 >= v.size()) return low;
  const double high = *std::min_element(v.begin() + static_cast<std::ptrdiff_t>(below) + 1, v.end());
  return low + (at - static_cast<double>(below)) * (high - low);
}

StepTimes study_steps(const StepLog& log) {
  StepTimes out;
  const std::vector<Point> points = points_of(log, out);
  if (points.empty()) return out;
  const std::vector<double> times = times_of(points);
  out.first = out.last = log.steps.front().step;
  for (const StepSample& s : log.steps) {
    out.first = std::min(out.first, s.step);
    out.last = std::max(out.last, s.step);
  }
  double sum = 0;
  for (const double t : times) sum += t;
  out.spread = {times.size(), median(times), quantile(times, 0.1), quantile(times, 0.9), sum / static_cast<double>(times.size())};
  const double middle = out.spread.median_s, slow = slow_from(times, middle);
  double extra = 0;
  for (const double t : times) {
    if (t <= slow) continue;
    ++out.outliers;
    extra += t - middle;
  }
  out.outliers_pct = sum > 0 ? 100 * extra / sum : 0;
  find_restarts(log, out);
  find_outside(log, out);
  out.periodic = find_period(points, middle, slow, log);
  find_episodes(points, middle, slow, out);
  find_change(points, out);
  return out;
}

}  // namespace muster::diagnose
