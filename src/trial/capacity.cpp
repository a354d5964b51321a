#include "trial/capacity.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/prng.h"

namespace muster::trial {
namespace {

constexpr Duration kWeek = days(7);
constexpr Duration kMonday = days(4);  // 1970-01-05
constexpr double kZ90 = 1.6448536269514722;

struct Draw {
  std::vector<TraceJob> jobs;  // in order of submission; the first week begins at Time{}
  double gpu_hours = 0;
};

// The jobs of one week, with each hour's kept whole with this chance.
void take(const std::vector<TraceJob>& week, Time begins, Time at, double chance, Prng& prng, std::vector<TraceJob>& out) {
  std::int64_t hour = -1;
  bool kept = true;
  for (TraceJob j : week) {
    const Duration into = j.submitted - begins;
    if (chance < 1 && into.ns / hours(1).ns != hour) {
      hour = into.ns / hours(1).ns;
      kept = prng.unit() < chance;
    }
    if (!kept) continue;
    j.submitted = at + into;
    out.push_back(std::move(j));
  }
}

Time week_start(const TraceWeeks& w, std::size_t i) { return w.first + kWeek * static_cast<std::int64_t>(i); }

void warm_up(const TraceWeeks& w, std::vector<TraceJob>& out, Prng& prng) {
  for (std::size_t i = 0; i < kWarmWeeks; ++i) {
    const std::size_t from = w.jobs.size() - kWarmWeeks + i;
    take(w.jobs[from], week_start(w, from), Time{} + kWeek * static_cast<std::int64_t>(i), 1, prng, out);
  }
}

Draw draw(const TraceWeeks& w, const CapacitySpec& spec, double growth, std::uint64_t number) {
  Prng prng(spec.seed * 1'000'003 + number, "weeks of jobs");
  Draw d;
  warm_up(w, d.jobs, prng);
  for (std::uint32_t i = 0; i < spec.weeks; ++i) {
    const Time at = Time{} + kWeek * static_cast<std::int64_t>(kWarmWeeks + i);
    for (double left = growth; left > 1e-9; left -= 1) {
      const std::size_t from = prng.below(w.jobs.size());
      take(w.jobs[from], week_start(w, from), at, std::min(left, 1.0), prng, d.jobs);
    }
  }
  std::stable_sort(d.jobs.begin(), d.jobs.end(), [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
  d.gpu_hours = gpu_hours(d.jobs);
  return d;
}

// Waits of the weeks after the warm-up, held against the targets.
Month judge(std::span<const JobOutcome> jobs, const CapacitySpec& spec) {
  const std::size_t n = spec.targets.size();
  std::vector<ClassMonth> cells(n * spec.weeks);
  for (const JobOutcome& j : jobs) {
    const std::int64_t week = (j.submitted - Time{}).ns / kWeek.ns - kWarmWeeks;
    if (week < 0 || week >= spec.weeks) continue;
    const std::size_t c = class_of(spec.targets, j.gpus);
    if (c == n) continue;
    ClassMonth& cell = cells[static_cast<std::size_t>(week) * n + c];
    ++cell.jobs;
    cell.in_time += j.wait_s() <= spec.targets[c].wait.seconds() ? 1 : 0;
  }
  Month m;
  m.classes.resize(n);
  for (std::uint32_t w = 0; w < spec.weeks; ++w) {
    bool all = true;
    for (std::size_t c = 0; c < n; ++c) {
      const ClassMonth& cell = cells[w * n + c];
      ClassMonth& sum = m.classes[c];
      if (cell.jobs == 0) continue;
      const bool met = static_cast<double>(cell.in_time) >= spec.targets[c].share * static_cast<double>(cell.jobs);
      sum.jobs += cell.jobs;
      sum.in_time += cell.in_time;
      ++sum.weeks;
      sum.weeks_met += met ? 1 : 0;
      all = all && met;
    }
    ++m.weeks;
    m.weeks_met += all ? 1 : 0;
  }
  return m;
}

ReplaySpec sized(const CapacitySpec& spec, std::uint32_t nodes_added, std::uint64_t number) {
  ReplaySpec s = spec.replay;
  s.gpus += nodes_added * spec.gpus_per_node;
  s.seed = spec.replay.seed + number;
  if (s.site.nodes.empty()) return s;
  // Nodes like the last one, in further leaves and NVLink domains as full as the site's.
  const auto many = static_cast<std::uint32_t>(s.site.nodes.size());
  const std::uint32_t per_leaf = std::max(1U, many / std::max(1U, s.site.leaves));
  const std::uint32_t per_domain = std::max(1U, many / std::max(1U, s.site.domains));
  for (std::uint32_t i = 0; i < nodes_added; ++i) {
    NodeSpec node = s.site.nodes.back();
    node.name = "added" + std::to_string(i + 1);
    node.leaf = spec.replay.site.leaves + i / per_leaf;
    node.domain = spec.replay.site.domains + i / per_domain;
    s.site.leaves = std::max(s.site.leaves, node.leaf + 1);
    s.site.domains = std::max(s.site.domains, node.domain + 1);
    s.site.nodes.push_back(std::move(node));
  }
  return s;
}

Month play(const Draw& d, const CapacitySpec& spec, ReplaySpec replay) {
  Duration longest;
  for (const WaitTarget& t : spec.targets) longest = std::max(longest, t.wait);
  replay.stop = Time{} + kWeek * static_cast<std::int64_t>(kWarmWeeks + spec.weeks) + longest + seconds(1);
  const auto weekly = static_cast<double>(d.jobs.size()) / (kWarmWeeks + spec.weeks);
  replay.give_up = std::max(kGiveUpMin, static_cast<std::uint32_t>(kGiveUpShare * weekly));
  Replay r = replay_jobs(d.jobs, replay);
  for (const TraceJob& j : d.jobs) {  // the replay leaves out what never fits: here it waits for ever
    if (j.gpus > replay.gpus) r.jobs.push_back({0, j.gpus, j.submitted, j.run, kNever, 0, 0});
  }
  Month m = judge(r.jobs, spec);
  m.given_up = r.given_up;
  m.offered = d.gpu_hours / ((kWarmWeeks + spec.weeks) * 7 * 24.0 * replay.gpus);
  return m;
}

// How far the level moved between neighbouring spans of weeks before, and the same the other way.
std::vector<double> level_moves(const TraceWeeks& w) {
  const std::size_t span = std::max<std::size_t>(1, (w.jobs.size() - 2) / 2);
  std::vector<double> out;
  const auto sum = [&](std::size_t from) {
    double s = 0;
    for (std::size_t i = from; i < from + span; ++i) s += gpu_hours(w.jobs[i]);
    return s;
  };
  for (std::size_t i = 0; i + 2 * span <= w.jobs.size(); ++i) {
    const double ratio = sum(i + span) / sum(i);
    out.push_back(ratio);
    out.push_back(1 / ratio);
  }
  return out;
}

}  // namespace

std::vector<WaitTarget> usual_targets() { return {{8, hours(1), 0.9}, {64, hours(4), 0.9}, {kAnyGpus, hours(12), 0.9}}; }

std::size_t class_of(std::span<const WaitTarget> targets, std::uint32_t gpus) {
  std::size_t c = 0;
  while (c < targets.size() && gpus > targets[c].gpus_max) ++c;
  return c;
}

double gpu_hours(std::span<const TraceJob> jobs) {
  double sum = 0;
  for (const TraceJob& j : jobs) sum += j.run.seconds() * j.gpus / 3600;
  return sum;
}

TraceWeeks whole_weeks(std::span<const TraceJob> trace) {
  TraceWeeks out;
  if (trace.empty()) return out;
  const auto monday_of = [](Time t) {  // at or before
    const std::int64_t into = (t.ns - kMonday.ns) % kWeek.ns;
    return Time{t.ns - (into < 0 ? into + kWeek.ns : into)};
  };
  // The first whole week begins on the first Monday at or after the day of the first job.
  const Time day{trace.front().submitted.ns - trace.front().submitted.ns % days(1).ns};
  Time first = monday_of(day);
  if (first < day) first = first + kWeek;
  const Time last = monday_of(trace.back().submitted);
  if (last <= first) return out;
  out.jobs.resize(static_cast<std::size_t>((last - first).ns / kWeek.ns));
  for (const TraceJob& j : trace) {
    if (j.submitted < first || j.submitted >= last) continue;
    out.jobs[static_cast<std::size_t>((j.submitted - first).ns / kWeek.ns)].push_back(j);
  }
  std::vector<double> counts, sums;
  for (const auto& week : out.jobs) {
    counts.push_back(static_cast<double>(week.size()));
    sums.push_back(gpu_hours(week));
  }
  const auto middle = [](std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
  };
  const double least_jobs = middle(counts) / 4, least_hours = middle(sums) / 4;
  const auto thin = [&](std::size_t i) { return counts[i] < least_jobs || sums[i] < least_hours; };
  std::size_t a = 0, b = out.jobs.size();
  while (a < b && thin(a)) ++a;
  while (b > a && thin(b - 1)) --b;
  out.left_out = static_cast<std::uint32_t>(out.jobs.size() - (b - a));
  out.first = first + kWeek * static_cast<std::int64_t>(a);
  out.jobs = std::vector<std::vector<TraceJob>>(out.jobs.begin() + static_cast<std::ptrdiff_t>(a),
                                                out.jobs.begin() + static_cast<std::ptrdiff_t>(b));
  return out;
}

std::vector<Month> draw_months(const TraceWeeks& weeks, const CapacitySpec& spec, std::span<const double> growths,
                               std::uint32_t nodes_added) {
  MUSTER_CHECK(weeks.jobs.size() >= kWarmWeeks && !growths.empty());
  std::vector<Month> months(spec.draws);
  std::atomic<std::uint32_t> next{0}, done{0};
  std::mutex telling;
  const auto work = [&] {
    for (std::uint32_t i = next++; i < spec.draws; i = next++) {
      const Draw d = draw(weeks, spec, growths[i % growths.size()], i);
      months[i] = play(d, spec, sized(spec, nodes_added, i));
      ++done;
      const std::lock_guard hold(telling);
      if (spec.told) spec.told(static_cast<double>(done) / spec.draws);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < spec.threads; ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  return months;
}

namespace {

Chance wilson(double p, double n) {
  const double z2 = kZ90 * kZ90;
  const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kZ90 * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return {p, std::max(0.0, std::min(p, middle - half)), std::min(1.0, std::max(p, middle + half))};
}

ClassChance class_chance(std::span<const Month> months, std::size_t c) {
  ClassChance out;
  ClassMonth sum;
  std::vector<double> shares;
  for (const Month& m : months) {
    const ClassMonth& x = m.classes[c];
    if (x.jobs == 0) continue;
    sum.jobs += x.jobs;
    sum.in_time += x.in_time;
    sum.weeks += x.weeks;
    sum.weeks_met += x.weeks_met;
    shares.push_back(static_cast<double>(x.in_time) / static_cast<double>(x.jobs));
  }
  if (shares.empty()) return out;
  std::sort(shares.begin(), shares.end());
  const auto at = [&](double q) {
    const auto k = static_cast<std::size_t>(q * static_cast<double>(shares.size() - 1) + 0.5);
    return shares[std::min(k, shares.size() - 1)];
  };
  out.week = wilson(static_cast<double>(sum.weeks_met) / sum.weeks, static_cast<double>(shares.size()));
  out.in_time = static_cast<double>(sum.in_time) / static_cast<double>(sum.jobs);
  out.in_time_p5 = at(0.05);
  out.in_time_p95 = at(0.95);
  return out;
}

}  // namespace

CapacityPoint chances(std::span<const Month> months, std::size_t classes) {
  CapacityPoint out;
  for (std::size_t c = 0; c < classes; ++c) out.classes.push_back(class_chance(months, c));
  std::uint64_t weeks = 0, met = 0;
  for (const Month& m : months) {
    weeks += m.weeks;
    met += m.weeks_met;
    out.offered += m.offered / static_cast<double>(months.size());
    out.given_up += m.given_up ? 1 : 0;
    for (const ClassMonth& c : m.classes) out.jobs += c.jobs;
  }
  if (weeks > 0) out.all = wilson(static_cast<double>(met) / static_cast<double>(weeks), static_cast<double>(months.size()));
  return out;
}

CapacityCurve find_capacity(const TraceWeeks& weeks, const CapacitySpec& spec, double growth, double wanted,
                            std::uint32_t nodes_max, std::span<const std::uint32_t> always) {
  CapacityCurve curve;
  curve.growth = growth;
  const std::vector<double> growths = growth == kDrift ? level_moves(weeks) : std::vector<double>{growth};
  const auto at = [&](std::uint32_t nodes) {
    const auto known =
        std::find_if(curve.points.begin(), curve.points.end(), [&](const CapacityPoint& p) { return p.nodes_added == nodes; });
    if (known != curve.points.end()) return known->all.p;
    CapacityPoint p = chances(draw_months(weeks, spec, growths, nodes), spec.targets.size());
    p.nodes_added = nodes;
    p.growth = growth;
    curve.points.push_back(p);
    return p.all.p;
  };
  for (const std::uint32_t nodes : always) at(nodes);
  std::uint32_t low = 0, high = std::max<std::uint32_t>(1, std::min(nodes_max, spec.replay.gpus / spec.gpus_per_node / 16));
  bool met = at(0) >= wanted;
  if (met) high = 0;
  while (!met && low < nodes_max) {
    met = at(high) >= wanted;
    if (met) break;
    low = high;
    high = std::min(nodes_max, 2 * high);
  }
  // To about a fiftieth of the cluster: finer than that the draws do not see.
  const std::uint32_t fine = std::max<std::uint32_t>(1, spec.replay.gpus / spec.gpus_per_node / 50);
  while (met && high > low + fine) {
    const std::uint32_t middle = low + (high - low) / 2;
    (at(middle) >= wanted ? high : low) = middle;
  }
  if (met) curve.least = high;
  std::sort(curve.points.begin(), curve.points.end(),
            [](const CapacityPoint& a, const CapacityPoint& b) { return a.nodes_added < b.nodes_added; });
  return curve;
}

std::optional<HeldOut> hold_out(const TraceWeeks& weeks, const CapacitySpec& spec, bool all) {
  if (weeks.jobs.size() < 2 * spec.weeks + kWarmWeeks) return std::nullopt;
  const std::size_t cut = weeks.jobs.size() - spec.weeks;
  TraceWeeks before = weeks;
  before.jobs.resize(cut);
  Draw came;
  Prng prng(spec.seed, "held-out weeks");
  warm_up(before, came.jobs, prng);
  double asked = 0, usual = 0;
  for (std::size_t i = 0; i < spec.weeks; ++i) {
    const Time at = Time{} + kWeek * static_cast<std::int64_t>(kWarmWeeks + i);
    take(weeks.jobs[cut + i], week_start(weeks, cut + i), at, 1, prng, came.jobs);
    asked += gpu_hours(weeks.jobs[cut + i]) / spec.weeks;
  }
  came.gpu_hours = gpu_hours(came.jobs);
  for (const auto& w : before.jobs) usual += gpu_hours(w) / static_cast<double>(before.jobs.size());
  HeldOut out;
  out.growth_came = asked / usual;
  out.came = play(came, spec, sized(spec, 0, 0));
  const auto predicted = [&](std::span<const double> growths) {
    return chances(draw_months(before, spec, growths, 0), spec.targets.size());
  };
  const double same = out.growth_came, one = 1;
  out.same_demand = predicted(std::span(&same, 1));
  if (!all) return out;
  out.no_growth = predicted(std::span(&one, 1));
  out.level_unknown = predicted(level_moves(before));
  return out;
}

}  // namespace muster::trial
