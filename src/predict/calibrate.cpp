#include "predict/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "base/hash.h"
#include "base/math.h"
#include "base/text.h"
#include "predict/fit.h"

namespace muster::predict {
namespace {

using Rows = std::vector<const TrainingRow*>;
using Family = std::tuple<std::string, std::string, Dtype>;  // software, GPU, number format

constexpr std::uint32_t kFew = 3;         // runs below which others are asked
constexpr std::size_t kOwnInterval = 20;  // rows from which an interval is a family's own, or a software's

const GpuModel* gpu_of(const TrainingRow& r, std::span<const GpuModel> gpus) {
  const auto it = std::find_if(gpus.begin(), gpus.end(), [&](const GpuModel& g) { return g.name == r.gpu; });
  return it == gpus.end() ? nullptr : &*it;
}

double step_s(const TrainingRow& r, const GpuModel& gpu, const Calibration& c) {
  return step_time(gpu, c, {r.node_gpus, r.nic_gb_s}, r.model, r.plan).all_s();
}

// How far predictions are off, summed over rows: |log(predicted / measured)|.
double off(const Rows& rows, const GpuModel& gpu, const Calibration& c) {
  double sum = 0;
  for (const TrainingRow* r : rows) sum += std::abs(det_log(step_s(*r, gpu, c) / r->step_s));
  return sum;
}

// With n rows no more than a third as many parameters are let loose.
std::vector<std::string> affordable(const std::vector<std::string>& free, std::size_t rows) {
  const std::size_t most = std::max<std::size_t>(1, rows / 3);
  return {free.begin(), free.begin() + static_cast<std::ptrdiff_t>(std::min(free.size(), most))};
}

// Where a function of one positive number is least, by golden section on its logarithm.
template <class F>
double least(double low, double high, int steps, const F& f) {
  constexpr double kGolden = 0.6180339887498949;
  double a = det_log(low), b = det_log(high);
  double x = b - kGolden * (b - a), y = a + kGolden * (b - a), fx = f(det_exp(x)), fy = f(det_exp(y));
  for (int i = 0; i < steps; ++i) {
    if (fx <= fy) {
      b = y;
      y = x;
      fy = fx;
      x = b - kGolden * (b - a);
      fx = f(det_exp(x));
    } else {
      a = x;
      x = y;
      fx = fy;
      y = a + kGolden * (b - a);
      fy = f(det_exp(y));
    }
  }
  return det_exp(fx <= fy ? x : y);
}

// The rows of one software on one GPU in one number format.
struct Own {
  const GpuModel* gpu;
  Dtype dtype;
  Rows rows;
  double gemm = 0;  // as other software has it there; 0: to be fitted
};

// What one run more would weigh: a family that differs from others, or a release, must have more than one to say so.
constexpr double kPrior = 1.0;
constexpr double kGemmPrior = 0.05;  // the same of the rate of products where nothing else is known of it

using Field = double Calibration::*;

// The share of the peak, or the time, that suits these families best; `pull` runs speak for `expected`.
double best_own(const Calibration& c, Field field, std::span<const Own* const> all, double expected, double pull, int steps) {
  const bool share_of = field == &Calibration::gemm;
  return least(share_of ? 0.1 : 0.2, share_of ? 1 : 200, steps, [&](double share) {
    double sum = pull * std::abs(det_log(share / expected));
    for (const Own* own : all) {
      Calibration x = c;
      if (own->gemm > 0) x.gemm = own->gemm;
      x.*field = share;
      sum += off(own->rows, *own->gpu, x);
    }
    return sum;
  });
}

// One calibration for each family: its own share, near to that of its number format on other GPUs.
std::vector<Calibration> by_family(const Calibration& common, Field field, const std::vector<Own>& all, int steps) {
  std::map<Dtype, std::vector<const Own*>> formats;
  for (const Own& own : all) formats[own.dtype].push_back(&own);
  std::map<Dtype, double> expected;
  for (const auto& [dtype, those] : formats) expected[dtype] = best_own(common, field, those, common.*field, kGemmPrior, steps);
  std::vector<Calibration> out;
  for (const Own& own : all) {
    Calibration c = common;
    c.gpu = own.gpu->name;
    c.dtype = own.dtype;
    if (own.gemm > 0) c.gemm = own.gemm;
    const Own* alone[] = {&own};
    c.*field =
        formats[own.dtype].size() == 1 ? expected[own.dtype] : best_own(common, field, alone, expected[own.dtype], kPrior, steps);
    c.rows = static_cast<std::uint32_t>(own.rows.size());
    out.push_back(std::move(c));
  }
  return out;
}

// Parameters that all GPUs and number formats of a software share, fitted to all its rows at once; each has its own rate of
// products.
Calibration shared(const Software& s, Field field, const std::vector<Own>& all, std::size_t rows) {
  std::vector<std::string> free = affordable(s.free, rows);
  if (all.size() == 1) {
    Calibration start = s.start;
    start.gpu = all.front().gpu->name;
    start.dtype = all.front().dtype;
    return fit({.start = start, .free = free, .loss = [&](const Calibration& c) {
                  return off(all.front().rows, *all.front().gpu, c) / static_cast<double>(rows);
                }});
  }
  std::erase(free, s.own);
  if (free.empty()) return s.start;
  constexpr int kRough = 8;
  return fit({.start = s.start,
              .free = free,
              .loss =
                  [&](const Calibration& c) {
                    double sum = 0;
                    const std::vector<Calibration> each = by_family(c, field, all, kRough);
                    for (std::size_t i = 0; i < all.size(); ++i) sum += off(all[i].rows, *all[i].gpu, each[i]);
                    return sum / static_cast<double>(rows);
                  },
              .starts = 2});
}

// A share by what was fitted before: on this GPU in this format, else in the middle of the format.
std::optional<double> as_elsewhere(std::span<const Calibration> fitted, Field field, const std::string& gpu, Dtype dtype) {
  std::vector<double> here, anywhere;
  for (const Calibration& c : fitted) {
    if (c.dtype != dtype || !c.release.empty() || c.attention <= 0) continue;  // before attention was fused, all was otherwise
    if (field == &Calibration::expert_us && c.expert_us <= 0) continue;        // of models that have none
    (c.gpu == gpu ? here : anywhere).push_back(c.*field);
  }
  auto& of = here.empty() ? anywhere : here;
  if (of.empty()) return {};
  std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
  return of[of.size() / 2];
}

// By how much a release's own parameter differs from what all of them share, on all GPUs alike.
double release_factor(const CalibrationField& field, const std::vector<Calibration>& base, const std::vector<Own>& all,
                      const std::string& release) {
  return least(0.3, 3, 14, [&](double factor) {
    double sum = kPrior * std::abs(det_log(factor));
    for (std::size_t i = 0; i < all.size(); ++i) {
      Rows rows;
      for (const TrainingRow* r : all[i].rows) {
        if (r->release == release) rows.push_back(r);
      }
      Calibration c = base[i];
      c.*field.value = std::clamp(c.*field.value * factor, field.min, field.max);
      sum += off(rows, *all[i].gpu, c);
    }
    return sum;
  });
}

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void set_interval(Calibration& c, std::vector<double> residuals) {
  std::sort(residuals.begin(), residuals.end());
  // Of runs that it was fitted on: those of others lie further out.
  c.low = quantile(residuals, 0.075);
  c.high = quantile(residuals, 0.925);
}

}  // namespace

bool teaches(const TrainingRow& row) { return xxh64(row.group, 0) % 3 != 0; }

std::vector<Calibration> calibrate(std::span<const TrainingRow> rows, std::span<const GpuModel> gpus,
                                   std::span<const Software> software) {
  std::vector<Calibration> out;
  std::vector<double> pooled;
  std::map<Family, std::vector<double>> residuals;
  for (const Software& s : software) {
    std::map<std::pair<std::string, Dtype>, Own> families;
    std::set<std::string> releases;
    std::size_t count = 0;
    for (const TrainingRow& r : rows) {
      const GpuModel* gpu = gpu_of(r, gpus);
      if (r.software != s.start.software || r.step_s <= 0 || !teaches(r) || gpu == nullptr) continue;
      Own& own = families.try_emplace({r.gpu, r.plan.dtype}, Own{gpu, r.plan.dtype, {}}).first->second;
      own.rows.push_back(&r);
      if (!r.release.empty()) releases.insert(r.release);
      ++count;
    }
    if (count == 0) continue;
    std::vector<Own> all;
    for (auto& [key, own] : families) all.push_back(std::move(own));
    const auto own_field = std::find_if(calibration_fields().begin(), calibration_fields().end(),
                                        [&](const CalibrationField& f) { return f.name == s.own; });
    const Field of_each = own_field == calibration_fields().end() ? &Calibration::gemm : own_field->value;
    if (of_each != &Calibration::gemm) {
      for (Own& o : all) o.gemm = as_elsewhere(out, &Calibration::gemm, o.gpu->name, o.dtype).value_or(s.start.gemm);
    }
    const Calibration common = shared(s, of_each, all, count);
    std::vector<Calibration> base = all.size() == 1 ? std::vector{common} : by_family(common, of_each, all, 30);
    if (all.size() == 1) base.front().rows = static_cast<std::uint32_t>(count);
    out.insert(out.end(), base.begin(), base.end());
    const auto field = std::find_if(calibration_fields().begin(), calibration_fields().end(),
                                    [&](const CalibrationField& f) { return f.name == s.by_release; });
    const bool differ = field != calibration_fields().end();
    std::map<std::string, double> factors{{"", 1.0}};
    for (const std::string& release : releases) factors[release] = differ ? release_factor(*field, base, all, release) : 1;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const auto& [release, factor] : factors) {
        Calibration c = base[i];
        c.release = release;
        if (differ) c.*field->value = std::clamp(c.*field->value * factor, field->min, field->max);
        for (const TrainingRow* r : all[i].rows) {
          if (r->release == release) residuals[{c.software, c.gpu, c.dtype}].push_back(r->step_s / step_s(*r, *all[i].gpu, c));
        }
        if (differ && !release.empty()) out.push_back(std::move(c));
      }
      const auto& own = residuals[{s.start.software, base[i].gpu, base[i].dtype}];
      pooled.insert(pooled.end(), own.begin(), own.end());
    }
  }
  std::map<std::string, std::vector<double>> of_software;
  for (const auto& [family, own] : residuals) {
    auto& all = of_software[std::get<0>(family)];
    all.insert(all.end(), own.begin(), own.end());
  }
  for (Calibration& c : out) {
    const std::vector<double>& own = residuals[{c.software, c.gpu, c.dtype}];
    const std::vector<double>& all = of_software[c.software];
    if (own.size() >= kOwnInterval) {
      set_interval(c, own);
      continue;
    }
    set_interval(c, pooled);
    if (all.size() < kOwnInterval) continue;
    // A few rows that fit well say little; rows that do not fit say much.
    Calibration wide = c;
    set_interval(wide, all);
    c.low = std::min(c.low, wide.low);
    c.high = std::max(c.high, wide.high);
  }
  return out;
}

std::optional<RunPrediction> predict_run(const TrainingRow& row, std::span<const GpuModel> gpus,
                                         std::span<const Calibration> calibrations) {
  const GpuModel* gpu = gpu_of(row, gpus);
  const Calibration* best = nullptr;
  int rank = 0;
  for (const Calibration& c : calibrations) {
    if (c.gpu != row.gpu) continue;
    const bool same = c.software == row.software, dtype = c.dtype == row.plan.dtype, release = c.release == row.release;
    const int r = 1 + (same ? 8 : 0) + (dtype ? 4 : 0) + (release ? 2 : c.release.empty() ? 1 : 0);
    if (r <= rank) continue;
    rank = r;
    best = &c;
  }
  if (gpu == nullptr || best == nullptr) return {};
  RunPrediction out;
  out.time = step_time(*gpu, *best, {row.node_gpus, row.nic_gb_s}, row.model, row.plan);
  out.step_s = out.time.all_s();
  out.low_s = out.step_s * best->low;
  out.high_s = out.step_s * best->high;
  out.calibrated = best->software == row.software && best->dtype == row.plan.dtype;
  return out;
}

Result<ChosenCalibration> choose_calibration(std::span<const Calibration> calibrations, std::span<const Software> software,
                                             std::span<const GpuModel> gpus, const GpuModel& gpu, Dtype dtype,
                                             const std::string& name, bool experts) {
  std::vector<std::string> names;
  const Software* usual = nullptr;
  for (const Software& s : software) {
    names.push_back(s.start.software);
    if (name.empty() ? s.usual_for == (experts ? UsualFor::experts : UsualFor::dense) : s.start.software == name) usual = &s;
  }
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
    return fail(Code::not_found, fmt::format("no software is called \"{}\"", printable(name)), "there are " + join(names, ", "));
  const Calibration* best = nullptr;
  const auto rank = [&](const Calibration& c) {
    // With experts the software matters most: what it launches, and when. Else the number format does.
    const bool fits = usual != nullptr && c.software == usual->start.software, known = c.dtype == dtype && c.rows >= kFew;
    return std::tuple(experts ? fits : known, experts ? known : fits, c.dtype == dtype, c.release.empty(), c.rows);
  };
  const auto other_kind = [&](const Calibration& c) {
    return name.empty() && std::any_of(software.begin(), software.end(), [&](const Software& s) {
             return s.start.software == c.software && s.usual_for == (experts ? UsualFor::dense : UsualFor::experts);
           });
  };
  const auto allowed = [&](const Calibration& c) { return (name.empty() || c.software == name) && !other_kind(c); };
  const auto same_chip = [&](const std::string& other) {
    const auto it = std::find_if(gpus.begin(), gpus.end(), [&](const GpuModel& g) { return g.name == other; });
    return it != gpus.end() && it->bf16_tflops == gpu.bf16_tflops && it->sms == gpu.sms;
  };
  for (const Calibration& c : calibrations) {
    if (c.gpu == gpu.name && allowed(c) && (best == nullptr || rank(c) > rank(*best))) best = &c;
  }
  // A run or two say less than more of them on another GPU with the same chip.
  if (best == nullptr || best->rows < kFew) {
    for (const Calibration& c : calibrations) {
      if (allowed(c) && c.rows >= kFew && same_chip(c.gpu) && (best == nullptr || rank(c) > rank(*best))) best = &c;
    }
  }
  // With experts another GPU says more than other software; and where nothing at all is of this GPU, any says more than nothing.
  if (usual != nullptr && (best == nullptr || (experts && name.empty() && best->software != usual->start.software))) {
    for (const Calibration& c : calibrations) {
      const bool better = best == nullptr || best->software != usual->start.software || rank(c) > rank(*best);
      if (c.software == usual->start.software && better) best = &c;
    }
  }
  if (best != nullptr) {
    const std::string_view format = muster::names(Dtype{})[static_cast<std::size_t>(best->dtype)];
    ChosenCalibration out{
        *best, fmt::format("calibrated on {} measured runs of {} on {} in {}", best->rows, best->software, best->gpu, format)};
    std::vector<std::string> far;
    if (best->gpu != gpu.name) far.push_back(same_chip(best->gpu) ? "another GPU with the same chip" : "another GPU");
    if (best->dtype != dtype) {
      far.push_back("another number format");
      for (const Field share : {&Calibration::gemm, &Calibration::expert_us}) {
        if (share == &Calibration::expert_us && best->expert_us <= 0) continue;
        if (const auto usually = as_elsewhere(calibrations, share, gpu.name, dtype)) out.calibration.*share = *usually;
      }
    }
    if (!far.empty()) {
      out.words += ": extrapolated to " + join(far, " and ");
      const double again = best->gpu != gpu.name && !same_chip(best->gpu) ? 2 : 1;  // as far off again, or twice
      for (double i = 0; i < again; ++i) {
        out.calibration.low *= best->low;
        out.calibration.high *= best->high;
      }
    }
    return out;
  }
  Calibration c = usual == nullptr ? Calibration{} : usual->start;
  c.gpu = gpu.name;
  c.dtype = dtype;
  return ChosenCalibration{c, fmt::format("no run on {} was measured: extrapolated from what software usually gets", gpu.name)};
}

}  // namespace muster::predict
