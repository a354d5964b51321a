// What kernels could do better.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "diagnose/remedies.h"

namespace muster::diagnose {
namespace {

constexpr double kFusedPasses = 5.0 / 3.0;  // a fused kernel's time over its longest part's: five tensors instead of three
constexpr double kOptimizerShare = 0.6;     // of the memory's rate that fused optimizers were seen to get
constexpr double kOptimizerPasses = 7;      // weights, gradients, two moments read; three written
constexpr double kOptimizerLeast = 0.4;     // of what passes one by one take
constexpr double kNearPeak = 0.75;
constexpr double kFarBelow = 0.6;  // of what the GPU can do

}  // namespace

// By the GPU's name, or where none is told by the kernels that were written for such.
bool Remedies::before_ampere() const {
  const auto device = static_cast<std::size_t>(std::max<int>(0, p_.line.device));
  if (device < t_.gpus.size() && !t_.gpus[device].empty()) {
    constexpr std::string_view kOld[] = {"V100", "T4", "P100", "P40", "TITAN", "Quadro", "GTX", "RTX 20", "K80", "M60"};
    return std::any_of(std::begin(kOld), std::end(kOld), [&](std::string_view n) { return has_part(t_.gpus[device], n); });
  }
  if (!peaks_.gpu.empty()) return false;
  return std::any_of(p_.kernels.classes.begin(), p_.kernels.classes.end(), [&](const KernelClass& c) {
    const std::string_view name = t_.names[c.kernel];
    return name.starts_with("volta_") || name.starts_with("turing_") || name.starts_with("maxwell_");
  });
}

void Remedies::plain_fp32() {
  std::vector<std::int64_t> lengths = measured();
  std::int64_t own = 0;
  double flops = 0, seconds = 0;
  std::set<std::uint32_t> classes;
  for (std::uint32_t e = 0; e < lengths.size(); ++e) {
    const std::uint32_t k = p_.kernels.of_event[e];
    if (k == kNone) continue;
    const KernelClass& c = p_.kernels.classes[k];
    const bool product = c.kind == KernelKind::product || c.kind == KernelKind::convolution;
    if (!product || c.limit != Limit::compute || !is_plain_fp32(t_.names[p_.line.events[e]->name])) continue;
    own += p_.line.own_ns[e];
    classes.insert(k);
    // Three times as fast where the shapes do not tell: what TF32 gave on the least of GPUs that have it.
    double factor = 1.0 / 3;
    if (peaks_.known() && peaks_.fp32 > 0 && c.flops > 0) {
      factor = std::max(c.flops / peaks_.tf32, c.bytes / peaks_.bytes_per_s) * 1e9 / static_cast<double>(c.own_ns);
    } else if (peaks_.known() && peaks_.fp32 > 0) {
      factor = peaks_.fp32 / peaks_.tf32;
    }
    lengths[e] = static_cast<std::int64_t>(static_cast<double>(lengths[e]) * std::min(1.0, factor));
  }
  if (pct(own) < kWorthTelling) return;
  Finding f;
  f.cost_pct = pct(own);
  f.title = fmt::format("Products in 32 bits leave the tensor cores idle: {:.1f} % of the step", f.cost_pct);
  for (const std::uint32_t k : classes) {
    flops += p_.kernels.classes[k].flops;
    seconds += static_cast<double>(p_.kernels.classes[k].own_ns) / 1e9;
  }
  const KernelClass& top = p_.kernels.classes[*classes.begin()];
  f.evidence.push_back(fmt::format("{}: {:.4g} ms a step", top.name, in_ms(a_step(top.own_ns))));
  f.evidence.push_back(fmt::format("{}, {}", printable(t_.names[top.kernel]).substr(0, 90), where(top.example)));
  if (flops > 0) f.achieved = fmt::format("{:.3g} TFLOP/s", flops / seconds / 1e12);
  if (before_ampere()) {
    f.remedy =
        "torch.autocast(\"cuda\", dtype=torch.float16) with torch.amp.GradScaler: this GPU has tensor cores for FP16, and "
        "neither "
        "TF32 nor BF16";
    put(Bound::compute, std::move(f), nullptr);
    return;
  }
  if (peaks_.tf32 > 0 && flops > 0) f.expected = fmt::format("{:.3g} TFLOP/s in TF32", peaks_.tf32 / 1e12);
  f.remedy = "torch.set_float32_matmul_precision(\"high\") for TF32, or bf16 by torch.autocast, which is twice as fast again";
  if (!peaks_.known()) f.confidence = Confidence::low;
  Change c;
  c.lengths_ns = std::move(lengths);
  put(Bound::compute, std::move(f), &c, 4);
}

// Runs of kernels that go through memory one after the other, on one stream and by one thread of the host: forward, backward
// and the update come apart by that.
void Remedies::unfused() {
  std::vector<std::int64_t> lengths = measured();
  std::map<std::uint32_t, std::vector<std::uint32_t>> streams;
  for (std::uint32_t e = 0; e < lengths.size(); ++e) {
    if (p_.line.events[e]->work == GpuWork::compute) streams[p_.line.events[e]->stream].push_back(e);
  }
  std::int64_t own = 0, before = 0, after = 0;
  std::size_t longest = 0;
  std::uint32_t example = kNone;
  const auto close = [&](std::vector<std::uint32_t>& run) {
    std::int64_t sum = 0, most = 0, mine = 0;
    for (const std::uint32_t e : run) {
      sum += lengths[e];
      most = std::max(most, lengths[e]);
      mine += p_.line.own_ns[e];
    }
    const auto fused = static_cast<std::int64_t>(static_cast<double>(most) * kFusedPasses);
    if (run.size() >= 3 && fused < sum && !has_part(t_.names[p_.line.events[run.front()]->name], "triton_")) {
      own += mine;
      before += sum;
      after += fused;
      if (run.size() > longest) {
        longest = run.size();
        example = run.front();
      }
      for (const std::uint32_t e : run) lengths[e] = -1;
      lengths[run.front()] = fused;
    }
    run.clear();
  };
  for (auto& [stream, events] : streams) {
    std::vector<std::uint32_t> run;
    std::uint32_t thread = kNone;
    std::int64_t step = -2;
    for (const std::uint32_t e : events) {
      const std::uint32_t by = p_.line.calls[e] != nullptr ? p_.line.calls[e]->thread : kNone;
      if (!is_kind(e, KernelKind::stream) || by != thread || p_.line.launch_steps[e] != step) close(run);
      thread = by;
      step = p_.line.launch_steps[e];
      if (is_kind(e, KernelKind::stream)) run.push_back(e);
    }
    close(run);
  }
  if (pct(own) < 5 || example == kNone) return;
  Finding f;
  f.cost_pct = pct(own);
  f.title = fmt::format("Operators that only go through memory, one by one, take {:.1f} % of the step", f.cost_pct);
  f.evidence.push_back(fmt::format("up to {} kernels in a row, from {}", longest, where(example)));
  say_kernels(KernelKind::stream, f);
  f.expected = fmt::format("{:.4g} ms a step for them", in_ms(after) / std::max<double>(1, steps_));
  f.achieved = fmt::format("{:.4g} ms", in_ms(before) / std::max<double>(1, steps_));
  f.remedy = "torch.compile(model): one kernel instead of each row of them";
  f.confidence = Confidence::medium;
  Change c;
  c.lengths_ns = std::move(lengths);
  put(Bound::memory, std::move(f), &c, 6);
}

void Remedies::say_kernels(KernelKind kind, Finding& f) const {
  int said = 0;
  for (const KernelClass& k : p_.kernels.classes) {
    if (k.kind != kind || said == 3) continue;
    ++said;
    f.evidence.push_back(fmt::format(
        "{}: {:.4g} ms a step{}", k.name, in_ms(a_step(k.own_ns)),
        k.share_of_peak() > 0 ? fmt::format(", {:.0f} % of what the GPU can do", 100 * std::min(1.0, k.share_of_peak())) : ""));
  }
}

void Remedies::optimizer() {
  std::vector<std::int64_t> lengths = measured();
  std::int64_t own = 0;
  std::map<std::int64_t, std::uint32_t> first;  // by step
  double bytes = 0;                             // of the parameters, as large as the largest list
  std::set<std::uint32_t> seen;
  for (std::uint32_t e = 0; e < lengths.size(); ++e) {
    if (!is_kind(e, KernelKind::optimizer) || has_part(t_.names[p_.line.events[e]->name], "FusedOpt") ||
        has_part(t_.names[p_.line.events[e]->name], "FusedAdam"))
      continue;
    own += p_.line.own_ns[e];
    const auto [it, fresh] = first.try_emplace(p_.line.launch_steps[e], e);
    if (!fresh) lengths[e] = -1;
    const KernelClass& c = p_.kernels.classes[p_.kernels.of_event[e]];
    if (c.inputs == kNone || !seen.insert(c.inputs).second) continue;
    for (const OpInput& in : t_.inputs[c.inputs]) {
      double sum = 0;
      for (const auto& shape : in.shapes) {
        double n = 1;
        for (const std::int64_t d : shape) n *= static_cast<double>(d);
        sum += n;
      }
      bytes = std::max(bytes, sum * (has_part(t_.names[c.kernel], "BFloat16") || has_part(t_.names[c.kernel], "Half") ? 2 : 4));
    }
  }
  if (pct(own) < 3 || bytes <= 0 || !peaks_.known()) return;
  // Lists of more than thirty tensors are cut short in profiles. One pass through all reads and writes seven tensors where
  // single ones do twenty, and gets less of the memory's rate: no less than two fifths of their time.
  const double least = kOptimizerLeast * static_cast<double>(a_step(own)) * 1e-9;
  const double fused = std::max(least, kOptimizerPasses * bytes / (kOptimizerShare * peaks_.bytes_per_s));
  for (const auto& [step, e] : first) lengths[e] = static_cast<std::int64_t>(fused * 1e9);
  Finding f;
  f.cost_pct = pct(own);
  f.title = fmt::format("The optimizer goes through its state many times: {:.1f} % of the step", f.cost_pct);
  f.evidence.push_back(fmt::format("{:.4g} M parameters, {:.4g} ms a step", bytes / 4e6, in_ms(a_step(own))));
  say_kernels(KernelKind::optimizer, f);
  f.achieved = fmt::format("{:.4g} ms", in_ms(a_step(own)));
  f.expected = fmt::format("{:.4g} ms", fused * 1e3);
  f.remedy = "fused=True for torch.optim.Adam, AdamW or SGD (or Apex's fused optimizers)";
  Change c;
  c.lengths_ns = std::move(lengths);
  put(Bound::memory, std::move(f), &c, 4);
}

// A dimension of its inputs that tiles do not divide.
bool Remedies::has_odd_size(const KernelClass& c) const {
  if (c.inputs == kNone) return false;
  for (const OpInput& in : t_.inputs[c.inputs]) {
    for (const auto& shape : in.shapes) {
      if (shape.size() >= 2 && std::any_of(shape.end() - 2, shape.end(), [](std::int64_t d) { return d % 64 != 0; })) return true;
    }
  }
  return false;
}

void Remedies::slow_products() {
  bool odd = false;
  std::vector<std::int64_t> lengths = measured();
  std::vector<bool> slow(p_.kernels.classes.size());
  Finding f;
  for (std::size_t k = 0; k < slow.size(); ++k) {
    const KernelClass& c = p_.kernels.classes[k];
    const bool product = c.kind == KernelKind::product || c.kind == KernelKind::attention || c.kind == KernelKind::convolution;
    if (!product || c.limit != Limit::compute || c.least_s <= 0 || c.share_of_peak() >= kFarBelow || pct(c.own_ns) < 1) continue;
    if (is_plain_fp32(t_.names[c.kernel])) continue;
    slow[k] = true;
    odd = odd || has_odd_size(c);
    f.cost_pct += pct(c.own_ns);
    if (f.evidence.size() < 4)
      f.evidence.push_back(fmt::format(
          "{}: {:.0f} % of what the GPU can do, {:.4g} ms a step{}, {}", c.name, 100 * std::min(1.0, c.share_of_peak()),
          in_ms(a_step(c.own_ns)), c.launch != nullptr ? fmt::format(", {} blocks", c.launch->blocks) : "", where(c.example)));
  }
  if (f.cost_pct < 5) return;
  for (std::uint32_t e = 0; e < lengths.size(); ++e) {
    const std::uint32_t k = p_.kernels.of_event[e];
    if (k == kNone || !slow[k]) continue;
    lengths[e] =
        static_cast<std::int64_t>(static_cast<double>(lengths[e]) * std::min(1.0, p_.kernels.classes[k].share_of_peak() / 0.75));
  }
  f.title = fmt::format("Products that are far below what the GPU can do take {:.1f} % of the step", f.cost_pct);
  f.expected = "three quarters of what large products get";
  f.achieved = "see the evidence";
  f.remedy =
      odd ? "sizes that are multiples of 64 (vocabulary, hidden, heads), a larger micro-batch, less tensor parallelism"
          : "a larger micro-batch, less tensor parallelism (sizes are multiples of 64 already); else other kernels: a newer "
            "library, torch.compile(mode=\"max-autotune\")";
  f.confidence = Confidence::medium;
  Change c;
  c.lengths_ns = std::move(lengths);
  put(Bound::compute, std::move(f), &c, 6);
}

void Remedies::fewer_bits() {
  if (!bounds(Bound::compute) || peaks_.fp8 <= peaks_.bf16 || peaks_.bf16 <= 0) return;
  std::vector<std::int64_t> lengths = measured();
  std::int64_t own = 0;
  for (std::uint32_t e = 0; e < lengths.size(); ++e) {
    const std::uint32_t k = p_.kernels.of_event[e];
    if (k == kNone || !is_kind(e, KernelKind::product) || p_.kernels.classes[k].limit != Limit::compute) continue;
    if (p_.kernels.classes[k].share_of_peak() < kFarBelow) continue;
    if (is_plain_fp32(t_.names[p_.line.events[e]->name]) || has_part(t_.names[p_.line.events[e]->name], "e4m3")) continue;
    own += p_.line.own_ns[e];
    // Casting what is multiplied takes about a fifth of what fewer bits save.
    lengths[e] = static_cast<std::int64_t>(static_cast<double>(lengths[e]) * (0.2 + 0.8 * peaks_.bf16 / peaks_.fp8));
  }
  if (pct(own) < 30) return;
  Finding f;
  f.cost_pct = pct(own);
  f.title = fmt::format("Products in 16 bits take {:.1f} % of the step, near what the GPU can do in them", f.cost_pct);
  say_kernels(KernelKind::product, f);
  f.remedy =
      "FP8 products (Transformer Engine, torchao.float8), if the model's quality allows it; else fewer operations or more GPUs";
  f.confidence = Confidence::low;
  Change c;
  c.lengths_ns = std::move(lengths);
  put(Bound::other, std::move(f), &c, 8);
}

void Remedies::small_grids() {
  Finding f;
  for (const KernelClass& k : p_.kernels.classes) {
    if (k.launch == nullptr || k.launch->blocks == 0 || pct(k.own_ns) < 3) continue;
    if (k.share_of_peak() > kNearPeak) continue;  // however few its blocks are, they do what can be done
    const bool few = p_.kernels.units > 0 && k.launch->blocks < p_.kernels.units;
    const bool thin = k.launch->occupancy_pct > 0 && k.launch->occupancy_pct < 13 && k.kind == KernelKind::stream;
    const double waves = p_.kernels.units > 0 ? static_cast<double>(k.launch->blocks) / p_.kernels.units : 0;
    const bool tail = k.kind != KernelKind::stream && waves > 1 && waves < 4 && waves - std::floor(waves) > 0 &&
                      waves - std::floor(waves) < 0.3;
    if (!few && !thin && !tail) continue;
    f.cost_pct += pct(k.own_ns);
    if (f.evidence.size() < 4) {
      f.evidence.push_back(fmt::format("{}: {} blocks on {} multiprocessors{}, {:.4g} ms a step, {}", k.name, k.launch->blocks,
                                       p_.kernels.units,
                                       thin   ? fmt::format(", occupancy {} %", k.launch->occupancy_pct)
                                       : tail ? ", a last wave that is nearly empty"
                                              : "",
                                       in_ms(a_step(k.own_ns)), where(k.example)));
    }
  }
  if (f.cost_pct < 10) return;
  f.title = fmt::format("Kernels that do not fill the GPU take {:.1f} % of the step", f.cost_pct);
  f.remedy =
      "more work in each: a larger micro-batch, batched instead of looped operators, sizes whose tiles divide by the "
      "multiprocessors";
  f.confidence = Confidence::medium;
  put(Bound::other, std::move(f), nullptr);
}

}  // namespace muster::diagnose
