#include "diagnose/kernel_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace muster::diagnose {
namespace {

constexpr double kBusy = 60;          // percent of the peak from which a unit is what bounds a kernel
constexpr double kNearPeak = 80;      // and from which there is little left to gain in the kernel itself
constexpr double kShareLeast = 2;     // of the time: smaller kernels are not worth a finding
constexpr double kTailLeast = 15;     // percent
constexpr double kOccupancyLow = 40;  // percent
constexpr double kClockLow = 0.9;     // of what the device can
constexpr std::size_t kFindingsMost = 12;

// A mean weighed by time over those that were measured.
class Mean {
 public:
  void add(const std::optional<double>& v, double weight) {
    if (!v) return;
    sum_ += *v * weight;
    weight_ += weight;
  }
  std::optional<double> get() const { return weight_ > 0 ? std::optional(sum_ / weight_) : std::nullopt; }

 private:
  double sum_ = 0, weight_ = 0;
};

// What an SM has, by the compute capability of the GPU (CUDA's programming guide); where that is not told, as most have it.
struct SmLimits {
  double warps = 64, blocks = 32, registers = 65'536, shared_bytes = 0;  // shared_bytes 0: not known
};
SmLimits sm_limits(const std::optional<double>& capability) {
  SmLimits out;
  if (!capability || *capability < 1 || *capability >= 100) return out;
  const int cc = static_cast<int>(*capability * 10 + 0.5);
  const bool small = cc == 86 || cc == 87 || cc == 89 || cc >= 120;  // those of workstations and of Jetson
  out.warps = cc == 75 ? 32 : small ? 48 : 64;
  out.blocks = cc == 75 || cc == 86 || cc == 87 ? 16 : cc == 89 || cc >= 120 ? 24 : 32;
  const double kib = cc == 70 ? 96 : cc == 75 ? 64 : cc == 80 || cc == 87 ? 164 : small ? 100 : cc >= 90 ? 228 : 0;
  out.shared_bytes = kib * 1024;
  return out;
}

struct Limit {
  std::optional<double> blocks;  // that fit on an SM
  const char* name;
};

bool limits_measured(const KernelMeasurement& k) {
  return k.limit_warps || k.limit_registers || k.limit_shared || k.limit_blocks;
}

// In warps of a block; none: its size is not told.
std::optional<double> warps_of(const KernelMeasurement& k) {
  return k.threads && *k.threads > 0 && *k.threads <= 1024 ? std::optional(std::ceil(*k.threads / 32)) : std::nullopt;
}

// What lets the fewest blocks on an SM, as measured or worked out from what a block takes: a page may have the one and not the
// other. Warps are first: where they limit, an SM is full.
std::optional<Limit> least_limit(const KernelMeasurement& k) {
  std::array<Limit, 4> all = {{{k.limit_warps, "warps"},
                               {k.limit_registers, "registers"},
                               {k.limit_shared, "shared memory"},
                               {k.limit_blocks, "blocks"}}};
  const auto warps = warps_of(k);
  if (warps && (limits_measured(k) || k.registers)) {
    const SmLimits sm = sm_limits(k.capability);
    if (!all[0].blocks) all[0].blocks = std::floor(sm.warps / *warps);
    // Registers are given to a warp by 256.
    if (!all[1].blocks && k.registers && *k.registers > 0 && *k.registers <= 255)
      all[1].blocks = std::floor(sm.registers / (std::ceil(*k.registers * 32 / 256) * 256 * *warps));
    // CUDA takes a KiB of each block for itself.
    if (!all[2].blocks && k.shared_bytes && *k.shared_bytes > 0 && sm.shared_bytes > 0)
      all[2].blocks = std::floor(sm.shared_bytes / (*k.shared_bytes + 1024));
    if (!all[3].blocks) all[3].blocks = sm.blocks;
  }
  std::optional<Limit> least;
  for (const Limit& l : all) {
    if (l.blocks && *l.blocks > 0 && (!least || *l.blocks < *least->blocks)) least = l;
  }
  return least;
}

// Percent; none: the limits do not tell.
std::optional<double> occupancy_of(const KernelMeasurement& k, const std::optional<Limit>& least) {
  const auto warps = warps_of(k);
  if (!least || !warps) return {};
  return std::min(100.0, 100 * *least->blocks * *warps / sm_limits(k.capability).warps);
}

// One that was worked out must give the occupancy that was measured, or something else limits it.
std::string limiter_of(const KernelMeasurement& k) {
  const std::optional<Limit> least = least_limit(k);
  if (!least) return "";
  const auto occupancy = occupancy_of(k, least);
  const bool fits = !k.theoretical_occupancy_pct || !occupancy || std::abs(*occupancy - *k.theoretical_occupancy_pct) < 2;
  return limits_measured(k) || fits ? least->name : "";
}

std::optional<double> theoretical_of(const KernelMeasurement& k) {
  return k.theoretical_occupancy_pct ? k.theoretical_occupancy_pct : occupancy_of(k, least_limit(k));
}

// A wave is as many blocks as fit on all SMs at once. Where there is no full one, blocks may still be spread evenly over the SMs.
std::optional<double> tail_of(const KernelMeasurement& k) {
  if (!k.waves || *k.waves < 1 || *k.waves > 1e9) return {};
  const double whole = std::floor(*k.waves);
  const double waves = *k.waves - whole > 1e-6 ? whole + 1 : whole;
  return 100 * (1 - *k.waves / waves);
}

// Where the SMs were not counted: no SM takes more than 32 blocks, so that less than a 32nd of a wave is less than a block each.
bool too_few_blocks(const KernelMeasurement& k) {
  if (!k.blocks) return false;
  return k.sms ? *k.blocks < *k.sms : k.waves && *k.waves > 0 && *k.waves < 1.0 / 32;
}

KernelBound bound_of(const KernelVerdict& v, bool few) {
  if (few) return KernelBound::fill;
  if (!v.sm_pct && !v.memory_pct) return KernelBound::unknown;
  const double sm = v.sm_pct.value_or(0), memory = std::max(v.memory_pct.value_or(0), v.dram_pct.value_or(0));
  if (std::max(sm, memory) < kBusy) return KernelBound::latency;
  return memory >= sm ? KernelBound::memory : KernelBound::compute;
}

KernelVerdict verdict_of(const std::string& name, const std::vector<const KernelMeasurement*>& launches) {
  KernelVerdict out;
  out.name = name;
  out.launches = launches.size();
  Mean sm, memory, dram, tensor, l2, achieved, theoretical, waves, blocks, sms, tail, clock, clock_max, capability, registers;
  double few = 0, all = 0, longest = -1;
  for (const KernelMeasurement* k : launches) {
    const double time = k->duration_ns.value_or(0), weight = std::max(time, 1e-3);  // where no time was measured, all weigh alike
    out.time_ns += time;
    for (const auto& [mean, value] :
         std::initializer_list<std::pair<Mean*, const std::optional<double>*>>{{&sm, &k->sm_pct},
                                                                               {&memory, &k->memory_pct},
                                                                               {&dram, &k->dram_pct},
                                                                               {&tensor, &k->tensor_pct},
                                                                               {&l2, &k->l2_hit_pct},
                                                                               {&achieved, &k->achieved_occupancy_pct},
                                                                               {&waves, &k->waves},
                                                                               {&blocks, &k->blocks},
                                                                               {&sms, &k->sms},
                                                                               {&clock, &k->sm_hz},
                                                                               {&clock_max, &k->sm_hz_max},
                                                                               {&capability, &k->capability},
                                                                               {&registers, &k->registers}})
      mean->add(*value, weight);
    tail.add(tail_of(*k), weight);
    theoretical.add(theoretical_of(*k), weight);
    all += weight;
    if (too_few_blocks(*k)) few += weight;
    if (weight > longest) {
      longest = weight;
      out.limiter = limiter_of(*k);
    }
  }
  out.sm_pct = sm.get();
  out.memory_pct = memory.get();
  out.dram_pct = dram.get();
  out.tensor_pct = tensor.get();
  out.l2_hit_pct = l2.get();
  out.achieved_occupancy_pct = achieved.get();
  out.theoretical_occupancy_pct = theoretical.get();
  out.waves = waves.get();
  out.blocks = blocks.get();
  out.sms = sms.get();
  out.tail_pct = tail.get();
  out.sm_hz = clock.get();
  out.sm_hz_max = clock_max.get();
  out.capability = capability.get();
  out.registers = registers.get();
  out.bound = bound_of(out, few * 2 > all);
  return out;
}

// Not in the middle of a character.
std::string short_name(const std::string& name) {
  if (name.size() <= 60) return name;
  std::size_t end = 57;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
  return name.substr(0, end) + "...";
}

bool is_product(const std::string& name) {
  for (const char* part : {"gemm", "Gemm", "GEMM", "matmul", "cutlass", "xmma", "nvjet", "wgrad", "dgrad", "fprop"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

Finding start(const KernelVerdict& v, std::string what) {
  Finding f;
  f.title = fmt::format("{} {}", short_name(v.name), what);
  f.evidence.push_back(fmt::format("{} launch{}, {:.1f} us in all, {:.1f} % of what was profiled", v.launches,
                                   v.launches == 1 ? "" : "es", v.time_ns / 1e3, v.share_pct));
  f.cost_pct = v.share_pct;
  f.verify = "profile the kernel again: ncu -k regex:NAME --set full --csv --page details";
  return f;
}

// Of the kernel's own time: what it is of a step, a file of kernels does not tell.
void say_gain(Finding& f, double low_pct, double high_pct) {
  f.evidence.push_back(low_pct > 0 ? fmt::format("to gain: {:.0f} to {:.0f} % of this kernel's time", low_pct, high_pct)
                                   : fmt::format("to gain: up to {:.0f} % of this kernel's time", high_pct));
}

std::string pct(const std::optional<double>& v) { return v ? fmt::format("{:.1f} %", *v) : std::string("not measured"); }

Finding too_few(const KernelVerdict& v) {
  Finding f = start(v, "does not fill the GPU");
  if (v.sms) {
    f.evidence.push_back(fmt::format("{:.0f} blocks for {:.0f} SMs", *v.blocks, *v.sms));
    f.expected = fmt::format("at least {:.0f} blocks", *v.sms);
    say_gain(f, 0, std::max(0.0, 100 * (1 - *v.blocks / *v.sms)));
  } else {
    f.evidence.push_back(
        fmt::format("{:.0f} blocks, {:.3f} of a wave: fewer than there are SMs", *v.blocks, v.waves.value_or(0)));
    f.expected = "at least a block for each SM";
  }
  f.achieved = fmt::format("{:.0f}", *v.blocks);
  f.remedy =
      is_product(v.name)
          ? "more work at a time (batch size, or several products in one: torch.bmm, grouped GEMM), or a kernel that splits the "
            "inner axis: TORCHINDUCTOR_MAX_AUTOTUNE=1 (torch.compile mode=max-autotune)"
          : "more work at a time, smaller blocks, or launch it beside others: one launch for many tensors (foreach, fused), CUDA "
            "graphs, a second stream";
  return f;
}

Finding tail(const KernelVerdict& v) {
  Finding f = start(v, "loses time in its last wave");
  f.evidence.push_back(
      fmt::format("{:.2f} waves: the last one leaves SMs without work, {:.0f} % of the time", *v.waves, *v.tail_pct));
  say_gain(f, 0, *v.tail_pct);
  f.expected = "a whole number of waves, or many";
  f.achieved = fmt::format("{:.2f}", *v.waves);
  f.remedy = is_product(v.name)
                 ? "sizes whose tiles are a multiple of the SMs (pad the batch or the hidden size to a multiple of 128), or "
                   "a kernel that keeps its blocks (stream-K, persistent): torch.compile mode=max-autotune"
                 : "a grid that is a multiple of the SMs times the blocks that fit on one, or a loop in the kernel over a "
                   "grid of that size";
  f.confidence = Confidence::medium;
  return f;
}

std::string limit_remedy(const std::string& limiter) {
  if (limiter == "registers")
    return "fewer registers a thread: __launch_bounds__(threads, blocks), -maxrregcount, in Triton a smaller tile or more "
           "num_warps";
  if (limiter == "shared memory")
    return "less shared memory a block: a smaller tile or fewer stages (in Triton num_stages), or a larger carve-out "
           "(cudaFuncAttributePreferredSharedMemoryCarveout)";
  if (limiter == "blocks") return "larger blocks: 128 to 256 threads";
  if (limiter == "warps") return "blocks whose warps fill an SM: 128 or 256 threads";
  return "fewer registers a thread or less shared memory a block: `ncu --section Occupancy` tells which of them limits it";
}

// Either no more warps fit, or there are fewer than would: what mends the one does nothing for the other.
Finding low_occupancy(const KernelVerdict& v) {
  constexpr double kReached = 0.8;  // of what fits
  const std::optional<double>& fits = v.theoretical_occupancy_pct;
  const double achieved = *v.achieved_occupancy_pct;
  const bool limited = fits ? *fits < kOccupancyLow : !v.limiter.empty() && v.limiter != "warps",
             missing = fits ? achieved < kReached * *fits : !limited;
  Finding f = start(
      v,
      fmt::format("has few warps to hide latency with{}",
                  limited ? (v.limiter.empty() ? std::string(": no more fit") : fmt::format(": {} limit it", v.limiter)) : ""));
  f.evidence.push_back(fmt::format("occupancy {:.1f} %{}; SM throughput {}, memory {}", achieved,
                                   fits ? fmt::format(", and {:.1f} % would fit", *fits) : std::string(), pct(v.sm_pct),
                                   pct(v.memory_pct)));
  if (limited && v.limiter == "registers" && v.registers)
    f.evidence.push_back(fmt::format("{:.0f} registers a thread", *v.registers));
  f.expected = fmt::format("{:.0f} % or more", kOccupancyLow);
  f.achieved = fmt::format("{:.1f} %", achieved);
  if (limited) f.remedy = limit_remedy(v.limiter);
  if (missing) f.remedy += (limited ? "; and " : "") + std::string("more blocks, or work that is spread evenly over them");
  f.confidence = Confidence::low;
  return f;
}

Finding bandwidth(const KernelVerdict& v) {
  const double memory = std::max(v.memory_pct.value_or(0), v.dram_pct.value_or(0));
  Finding f = start(v, memory >= kNearPeak ? "runs as fast as the memory lets it" : "is bound by memory");
  f.evidence.push_back(fmt::format("memory {:.1f} % of the peak, SM {}{}", memory, pct(v.sm_pct),
                                   v.l2_hit_pct ? fmt::format(", L2 hits {:.0f} %", *v.l2_hit_pct) : ""));
  f.expected = "the peak of the memory";
  f.achieved = fmt::format("{:.1f} %", memory);
  f.remedy = "move fewer bytes: fuse it with what comes before and after (torch.compile), or a smaller type (bf16, fp8)";
  // Fused with one neighbour, a kernel that reads and writes once saves half.
  say_gain(f, 0, 50);
  f.confidence = memory >= kNearPeak ? Confidence::high : Confidence::medium;
  return f;
}

Finding no_tensor_cores(const KernelVerdict& v) {
  Finding f = start(v, "multiplies matrices without the tensor cores");
  f.evidence.push_back(fmt::format("tensor pipe {}, SM {}", pct(v.tensor_pct), pct(v.sm_pct)));
  f.expected = "a tensor pipe that is busy";
  f.achieved = pct(v.tensor_pct);
  const std::string ampere = "torch.set_float32_matmul_precision('high') for TF32, or bf16 (torch.autocast)",
                    before = "torch.autocast(\"cuda\", dtype=torch.float16) with torch.amp.GradScaler";
  f.remedy = (v.capability ? (*v.capability >= 8 ? ampere : before)
                           : "on GPUs from Ampere on: " + ampere + "; on those before: " + before) +
             "; sizes that are multiples of 8";
  say_gain(f, 50, 90);
  f.confidence = Confidence::high;
  return f;
}

Finding waits(const KernelVerdict& v) {
  Finding f = start(v, "is bound by latency");
  f.evidence.push_back(fmt::format("SM {}, memory {}: neither is near its peak", pct(v.sm_pct), pct(v.memory_pct)));
  f.expected = fmt::format("{:.0f} % of one of them", kBusy);
  f.achieved = fmt::format("{:.1f} %", std::max(v.sm_pct.value_or(0), v.memory_pct.value_or(0)));
  f.remedy =
      "more independent work a thread (unrolling, wider loads), asynchronous copies, or fusion with its neighbours "
      "(torch.compile)";
  f.confidence = Confidence::low;
  return f;
}

// What is worth saying of one kernel, the most certain first, one thing alone: the others change once that is mended.
std::optional<Finding> finding_of(const KernelVerdict& v) {
  if (v.share_pct < kShareLeast) return {};
  if (v.bound == KernelBound::fill) return too_few(v);
  // Those before Volta have no tensor cores.
  if (is_product(v.name) && v.tensor_pct && *v.tensor_pct < 1 && v.sm_pct.value_or(0) >= 30 && v.capability.value_or(7) >= 7)
    return no_tensor_cores(v);
  // Near the peak of the SMs there is no time in which they have no work.
  const bool busy = std::max({v.sm_pct.value_or(0), v.memory_pct.value_or(0), v.dram_pct.value_or(0)}) >= kNearPeak;
  if (v.tail_pct && *v.tail_pct >= kTailLeast && v.waves && v.bound != KernelBound::memory && !busy) return tail(v);
  if (v.bound == KernelBound::memory) return bandwidth(v);
  if (v.bound == KernelBound::latency) {
    if (v.achieved_occupancy_pct && *v.achieved_occupancy_pct < kOccupancyLow) return low_occupancy(v);
    return waits(v);
  }
  return {};
}

std::optional<Finding> slow_clock(const std::vector<KernelVerdict>& kernels) {
  Mean now, most;
  for (const KernelVerdict& v : kernels) {
    const double weight = std::max(v.time_ns, 1e-3);  // where no time was measured, all weigh alike
    now.add(v.sm_hz, weight);
    most.add(v.sm_hz_max, weight);
  }
  if (!now.get() || !most.get() || *most.get() <= 0 || *now.get() >= kClockLow * *most.get()) return {};
  Finding f;
  f.title = "The SMs ran below the clock that the GPU can";
  f.evidence.push_back(fmt::format("{:.2f} GHz of {:.2f} GHz", *now.get() / 1e9, *most.get() / 1e9));
  f.evidence.push_back("ncu holds the clock at its base unless told otherwise: this may be the profiler's doing");
  f.expected = fmt::format("{:.2f} GHz", *most.get() / 1e9);
  f.achieved = fmt::format("{:.2f} GHz", *now.get() / 1e9);
  f.remedy = "profile again with --clock-control none; if it stays low, see nvidia-smi -q -d PERFORMANCE (power, heat, -lgc)";
  f.verify = "nvidia-smi --query-gpu=clocks.sm,clocks.max.sm,clocks_event_reasons.active --format=csv";
  f.confidence = Confidence::low;
  return f;
}

}  // namespace

KernelDiagnosis diagnose_kernels(const KernelProfile& profile) {
  KernelDiagnosis out;
  std::map<std::string_view, std::vector<const KernelMeasurement*>> by_name;
  for (const KernelMeasurement& k : profile.launches) by_name[k.name].push_back(&k);
  for (const auto& [name, launches] : by_name) out.kernels.push_back(verdict_of(std::string(name), launches));
  std::stable_sort(out.kernels.begin(), out.kernels.end(),
                   [](const KernelVerdict& x, const KernelVerdict& y) { return x.time_ns > y.time_ns; });
  for (const KernelVerdict& v : out.kernels) out.time_ns += v.time_ns;
  for (KernelVerdict& v : out.kernels) {
    // Without times all launches count alike.
    v.share_pct = out.time_ns > 0 ? 100 * v.time_ns / out.time_ns
                                  : 100 * static_cast<double>(v.launches) / static_cast<double>(profile.launches.size());
    auto f = finding_of(v);
    if (f && out.findings.size() < kFindingsMost) out.findings.push_back(std::move(*f));
  }
  if (auto f = slow_clock(out.kernels)) out.findings.push_back(std::move(*f));
  return out;
}

}  // namespace muster::diagnose
