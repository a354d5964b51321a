#include "diagnose/run_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "diagnose/ranks.h"
#include "diagnose/step_times.h"

namespace muster::diagnose {
namespace {

constexpr std::size_t kKept = 40, kStepsLeast = 3;
constexpr double kTwoSigma = 2;

// Of one run: what its steps take, and how sure that is.
struct Measured {
  double ms = 0;
  double error_ms = -1;  // standard; below 0: too few
};

double chance_of(const Measured& x, const Measured& y) {
  return x.error_ms < 0 || y.error_ms < 0 ? 0 : kTwoSigma * std::sqrt(x.error_ms * x.error_ms + y.error_ms * y.error_ms);
}

double step_ms(const Profile& p) { return static_cast<double>(p.line.step_ns()) / 1e6; }

// Ranks go in step with each other: the n-th of each are one measurement.
Measured measured(std::span<const Profile> ranks) {
  Measured out;
  std::size_t steps = SIZE_MAX;
  for (const Profile& p : ranks) {
    out.ms += step_ms(p) / static_cast<double>(ranks.size());
    steps = std::min(steps, p.line.steps.size());
  }
  if (steps < kStepsLeast) return out;
  std::vector<double> each(steps, 0);
  for (const Profile& p : ranks) {
    for (std::size_t i = 0; i < steps; ++i)
      each[i] += static_cast<double>(p.line.steps[i].span.length()) / 1e6 / static_cast<double>(ranks.size());
  }
  double mean = 0, squares = 0;
  for (const double x : each) mean += x / static_cast<double>(steps);
  for (const double x : each) squares += (x - mean) * (x - mean);
  const auto n = static_cast<double>(steps);
  out.error_ms = std::sqrt(squares / (n - 1) / n);
  return out;
}

// The standard error of a median, from what lies between a tenth and nine tenths.
Measured measured(const StepTimes& t) {
  Measured out{1e3 * t.spread.median_s, -1};
  if (t.spread.samples < kStepsLeast) return out;
  constexpr double kTenths = 2.563, kOfMedian = 1.253;
  out.error_ms = kOfMedian * 1e3 * (t.spread.p90_s - t.spread.p10_s) / kTenths / std::sqrt(static_cast<double>(t.spread.samples));
  return out;
}

void add_kernels(std::span<const Profile> ranks, double KernelChange::*ms, double KernelChange::*n,
                 std::map<std::string, KernelChange>& all) {
  for (const Profile& p : ranks) {
    const auto parts = static_cast<double>(p.line.steps.size() * ranks.size());
    for (const KernelClass& k : p.kernels.classes) {
      KernelChange& c = all[k.name];
      c.*ms += static_cast<double>(k.own_ns) / 1e6 / parts;
      c.*n += static_cast<double>(k.count) / parts;
    }
  }
}

template <class T>
void most_changed_first(std::vector<T>& all) {
  const auto by = [](const T& c) { return std::abs(c.after_ms - c.before_ms); };
  std::stable_sort(all.begin(), all.end(), [&](const T& x, const T& y) { return by(x) > by(y); });
  if (all.size() > kKept) all.resize(kKept);
}

std::vector<RankChange> rank_changes(std::span<const Profile> before, std::span<const Profile> after) {
  std::vector<RankChange> out;
  if (before.size() < 2 && after.size() < 2) return out;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto& rank = before[i].trace->rank;
    const auto same = std::find_if(after.begin(), after.end(), [&](const Profile& p) { return p.trace->rank == rank; });
    if (rank && same != after.end()) out.push_back({rank_words(before[i], i), step_ms(before[i]), step_ms(*same)});
  }
  most_changed_first(out);
  return out;
}

using Settings = std::map<std::string, std::string, std::less<>>;

void add_settings(RunDiff& diff, const Settings& before, const Settings& after) {
  const auto value = [](const Settings& of, const std::string& key) {
    const auto it = of.find(key);
    return it == of.end() ? std::string() : printable(it->second);
  };
  Settings all = before;
  all.insert(after.begin(), after.end());
  if (before.empty() || after.empty()) return;  // one of them did not print any: that is no difference
  for (const auto& [key, any] : all) {
    SettingChange c{printable(key), value(before, key), value(after, key)};
    if (c.before != c.after) diff.settings.push_back(std::move(c));
  }
}

double usual(const StepLog& log, double StepSample::*of) {
  std::vector<double> all;
  for (const StepSample& s : log.steps) {
    if (s.*of > 0) all.push_back(s.*of);
  }
  return quantile(std::move(all), 0.5);
}

}  // namespace

Result<RunDiff> compare_profiles(std::span<const Profile> before, std::span<const Profile> after) {
  for (const auto& side : {before, after}) {
    for (const Profile& p : side) {
      if (p.line.events.empty())
        return fail(Code::bad_input, fmt::format("{}: nothing in it ran on a GPU", p.file), "profiles with GPU events");
    }
  }
  RunDiff d;
  d.profiled = true;
  const Measured was = measured(before), is = measured(after);
  d.before_ms = was.ms;
  d.after_ms = is.ms;
  d.chance_ms = chance_of(was, is);
  const auto add_shares = [](std::span<const Profile> ranks, Shares& ms) {
    for (const Profile& p : ranks) {
      for (std::size_t b = 0; b < kBounds; ++b) ms[b] += p.shares[b] / 100 * step_ms(p) / static_cast<double>(ranks.size());
    }
  };
  add_shares(before, d.before_share_ms);
  add_shares(after, d.after_share_ms);
  std::map<std::string, KernelChange> all;
  add_kernels(before, &KernelChange::before_ms, &KernelChange::before_n, all);
  add_kernels(after, &KernelChange::after_ms, &KernelChange::after_n, all);
  for (auto& [name, c] : all) {
    c.name = name;
    d.kernels.push_back(c);
  }
  most_changed_first(d.kernels);
  d.ranks = rank_changes(before, after);
  return d;
}

Result<RunDiff> compare_logs(const StepLog& before, const StepLog& after) {
  const Measured was = measured(study_steps(before)), is = measured(study_steps(after));
  if (was.ms <= 0 || is.ms <= 0)
    return fail(Code::bad_input, fmt::format("the log {} tells no times of steps", was.ms <= 0 ? "before" : "after"),
                "logs with a line for every step, and its time");
  RunDiff d;
  d.before_ms = was.ms;
  d.after_ms = is.ms;
  d.chance_ms = chance_of(was, is);
  add_logs(d, before, after);
  return d;
}

void add_logs(RunDiff& diff, const StepLog& before, const StepLog& after) {
  constexpr std::pair<std::string_view, double StepSample::*> kRates[] = {
      {"tokens/s of a GPU", &StepSample::tokens_per_s},
      {"samples/s", &StepSample::samples_per_s},
      {"TFLOP/s of a GPU", &StepSample::tflops},
      {"MFU, % as the framework counts", &StepSample::mfu_pct}};
  for (const auto& [name, of] : kRates) {
    const RateChange r{name, usual(before, of), usual(after, of)};
    if (r.before > 0 && r.after > 0) diff.rates.push_back(r);
  }
  add_settings(diff, before.arguments, after.arguments);
  add_settings(diff, before.engine, after.engine);
}

}  // namespace muster::diagnose
