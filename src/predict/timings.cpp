#include "predict/timings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/hash.h"
#include "base/math.h"
#include "predict/fit.h"
#include "predict/step.h"

namespace muster::predict {
namespace {

using Key = std::pair<Timing::Kind, std::string>;

std::string shape(const Timing& t) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(t.kind), t.m, t.n, t.k, t.groups, t.batch,
                     t.heads, t.seq, t.head_dim, t.bytes, t.model.layers, t.model.hidden, t.model.ffn, t.plan.micro_batch,
                     t.plan.seq);
}

std::vector<std::string> free_of(Timing::Kind kind) {
  switch (kind) {
    case Timing::Kind::gemm: return {"gemm", "gemm_k_half", "gemm_waves", "kernel_us"};
    case Timing::Kind::attention: return {"attention", "attention_tail", "attention_us", "attention_back"};
    case Timing::Kind::stream: return {"hbm", "kernel_us"};
    case Timing::Kind::step: return {"optimizer_bytes", "hbm"};
  }
  return {};
}

void take(Calibration& to, const TimingFamily& from) {
  const auto free = free_of(from.kind);
  for (const CalibrationField& field : calibration_fields()) {
    if (std::find(free.begin(), free.end(), field.name) != free.end()) to.*field.value = from.calibration.*field.value;
  }
}

std::vector<TimingFamily::Pass> passes(const GpuModel& gpu, const Calibration& c, const Timing& t) {
  const TimedSeconds p = timing_s(gpu, c, t);
  std::vector<TimingFamily::Pass> out{{&t, false, p.forward_s, t.forward_s}};
  if (t.backward_s > 0) out.push_back({&t, true, p.backward_s, t.backward_s});
  return out;
}

}  // namespace

bool teaches(const Timing& t) { return xxh64(shape(t), 0) % 3 != 0; }

TimedSeconds timing_s(const GpuModel& gpu, const Calibration& c, const Timing& t) {
  const Engine e{&gpu, &c, t.dtype};
  switch (t.kind) {
    case Timing::Kind::gemm: return {gemm_s(e, {t.m, t.n, t.k, t.groups}), 0};
    case Timing::Kind::attention: {
      const double f = attention_s(e, {t.batch, t.heads, t.head_dim, t.seq, t.seq, 1});
      return {f, f * c.attention_back};
    }
    case Timing::Kind::stream: return {c.kernel_us * 1e-6 + stream_s(e, t.bytes), 0};
    case Timing::Kind::step: return {step_time(gpu, c, {1, gpu.nic_gb_s}, t.model, t.plan).all_s(), 0};
  }
  return {};
}

std::vector<TimingFamily> fit_timings(const GpuModel& gpu, std::span<const Timing> timings) {
  std::map<Key, std::vector<const Timing*>> families;
  for (const Timing& t : timings) families[{t.kind, t.by}].push_back(&t);
  Calibration known;  // grows: what products and attention were found to be is where steps begin
  known.gpu = gpu.name;
  known.layer_host_us = 0;
  std::vector<TimingFamily> out;
  for (const auto& [key, all] : families) {
    std::vector<const Timing*> taught;
    for (const Timing* t : all) {
      if (teaches(*t)) taught.push_back(t);
    }
    if (taught.empty()) continue;
    TimingFamily f{key.first, key.second, {}, static_cast<std::uint32_t>(taught.size()), {}};
    f.calibration = fit({.start = known, .free = free_of(key.first), .loss = [&](const Calibration& c) {
                           double sum = 0;
                           for (const Timing* t : taught) {
                             for (const auto& p : passes(gpu, c, *t)) sum += std::abs(det_log(p.predicted_s / p.measured_s));
                           }
                           return sum / static_cast<double>(taught.size());
                         }});
    for (const Timing* t : all) {
      if (teaches(*t)) continue;
      for (const auto& p : passes(gpu, f.calibration, *t)) f.kept_back.push_back(p);
    }
    std::sort(f.kept_back.begin(), f.kept_back.end(), [](const auto& a, const auto& b) { return a.error() < b.error(); });
    // The first library of a kind, in the order of their names, is what steps use: bf16, cudnn.
    if (key.second == "bf16" || key.second == "cudnn") take(known, f);
    out.push_back(std::move(f));
  }
  return out;
}

std::vector<Calibration> calibrations(const Calibration& start, std::span<const TimingFamily> families) {
  const auto find = [&](Timing::Kind kind, std::string_view by) {
    const auto it =
        std::find_if(families.begin(), families.end(), [&](const TimingFamily& f) { return f.kind == kind && f.by == by; });
    return it == families.end() ? nullptr : &*it;
  };
  const TimingFamily* products = find(Timing::Kind::gemm, "bf16");
  if (products == nullptr) return {};
  Calibration c = start;
  c.gpu = products->calibration.gpu;
  const TimingFamily* attention = find(Timing::Kind::attention, "cudnn");
  if (attention == nullptr) attention = find(Timing::Kind::attention, "flash");
  const TimingFamily* steps = find(Timing::Kind::step, "compiled");
  if (steps == nullptr) steps = find(Timing::Kind::step, "eager");
  for (const TimingFamily* f : {products, attention, steps}) {
    if (f == nullptr) continue;
    take(c, *f);
    if (f == steps) c.rows = f->fitted;
  }
  std::vector<Calibration> out{c};
  if (const TimingFamily* f = find(Timing::Kind::gemm, "fp8")) {
    take(c, *f);
    c.dtype = Dtype::fp8;
    c.rows = 0;  // no step was measured in it
    out.push_back(c);
  }
  return out;
}

}  // namespace muster::predict
