#include "diagnose/kernel_profile.h"

#include <fmt/format.h>

#include <algorithm>
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

// The limit that fits the fewest blocks. Warps are what a full SM holds: where they limit, nothing does.
std::string limiter_of(const KernelMeasurement& k) {
  struct Limit {
    const std::optional<double>& blocks;
    const char* name;
  };
  const std::array<Limit, 4> limits = {{{k.limit_warps, "warps"},
                                        {k.limit_registers, "registers"},
                                        {k.limit_shared, "shared memory"},
                                        {k.limit_blocks, "blocks"}}};
  const Limit* least = nullptr;
  for (const Limit& l : limits) {
    if (l.blocks && *l.blocks > 0 && (least == nullptr || *l.blocks < *least->blocks)) least = &l;
  }
  return least == nullptr ? "" : least->name;
}

std::optional<double> tail_of(const KernelMeasurement& k) {
  if (!k.waves || *k.waves <= 0 || *k.waves > 1e9) return {};
  const double whole = static_cast<double>(static_cast<std::int64_t>(*k.waves));
  const double waves = *k.waves - whole > 1e-6 ? whole + 1 : whole;
  return 100 * (1 - *k.waves / std::max(waves, 1.0));
}

bool too_few_blocks(const KernelMeasurement& k) { return k.blocks && k.sms && *k.blocks < *k.sms; }

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
  Mean sm, memory, dram, tensor, l2, achieved, theoretical, waves, blocks, sms, tail, clock, clock_max;
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
                                                                               {&theoretical, &k->theoretical_occupancy_pct},
                                                                               {&waves, &k->waves},
                                                                               {&blocks, &k->blocks},
                                                                               {&sms, &k->sms},
                                                                               {&clock, &k->sm_hz},
                                                                               {&clock_max, &k->sm_hz_max}})
      mean->add(*value, weight);
    tail.add(tail_of(*k), weight);
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
  f.evidence.push_back(
      fmt::format("{} launches, {:.1f} us in all, {:.1f} % of what was profiled", v.launches, v.time_ns / 1e3, v.share_pct));
  f.cost_pct = v.share_pct;
  f.verify = "profile the kernel again: ncu -k regex:NAME --set full --csv --page details";
  return f;
}

std::string pct(const std::optional<double>& v) { return v ? fmt::format("{:.1f} %", *v) : std::string("not measured"); }

Finding too_few(const KernelVerdict& v) {
  Finding f = start(v, "does not fill the GPU");
  f.evidence.push_back(fmt::format("{:.0f} blocks for {:.0f} SMs", *v.blocks, *v.sms));
  f.expected = fmt::format("at least {:.0f} blocks", *v.sms);
  f.achieved = fmt::format("{:.0f}", *v.blocks);
  f.remedy =
      is_product(v.name)
          ? "more work at a time (batch size, or several products in one: torch.bmm, grouped GEMM), or a kernel that splits the "
            "inner axis: TORCHINDUCTOR_MAX_AUTOTUNE=1 (torch.compile mode=max-autotune)"
          : "more work at a time, smaller blocks, or launch it beside others: one launch for many tensors (foreach, fused), CUDA "
            "graphs, a second stream";
  f.gain = Gain{0, v.share_pct * (1 - *v.blocks / *v.sms)};
  return f;
}

Finding tail(const KernelVerdict& v) {
  Finding f = start(v, "loses time in its last wave");
  f.evidence.push_back(
      fmt::format("{:.2f} waves: the last one leaves SMs without work, {:.0f} % of the time", *v.waves, *v.tail_pct));
  f.expected = "a whole number of waves, or many";
  f.achieved = fmt::format("{:.2f}", *v.waves);
  f.remedy = is_product(v.name)
                 ? "sizes whose tiles are a multiple of the SMs (pad the batch or the hidden size to a multiple of 128), or "
                   "a kernel that keeps its blocks (stream-K, persistent): torch.compile mode=max-autotune"
                 : "a grid that is a multiple of the SMs times the blocks that fit on one, or a loop in the kernel over a "
                   "grid of that size";
  f.gain = Gain{0, v.share_pct * *v.tail_pct / 100};
  f.confidence = Confidence::medium;
  return f;
}

Finding low_occupancy(const KernelVerdict& v) {
  Finding f =
      start(v, fmt::format("has few warps to hide latency with{}", v.limiter.empty() ? "" : ": " + v.limiter + " limit it"));
  f.evidence.push_back(fmt::format("occupancy {} of {} that would fit; SM throughput {}, memory {}",
                                   pct(v.achieved_occupancy_pct), pct(v.theoretical_occupancy_pct), pct(v.sm_pct),
                                   pct(v.memory_pct)));
  f.expected = fmt::format("{:.0f} % or more", kOccupancyLow);
  f.achieved = pct(v.achieved_occupancy_pct);
  if (v.limiter == "registers") {
    f.remedy =
        "fewer registers a thread: __launch_bounds__(threads, blocks), -maxrregcount, in Triton a smaller tile or more num_warps";
  } else if (v.limiter == "shared memory") {
    f.remedy =
        "less shared memory a block: a smaller tile or fewer stages (in Triton num_stages), or a larger carve-out "
        "(cudaFuncAttributePreferredSharedMemoryCarveout)";
  } else if (v.limiter == "blocks") {
    f.remedy = "larger blocks: 128 to 256 threads";
  } else {
    f.remedy = "more blocks, or work that is spread evenly over them";
  }
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
  f.gain = Gain{0, v.share_pct / 2};
  f.confidence = memory >= kNearPeak ? Confidence::high : Confidence::medium;
  return f;
}

Finding no_tensor_cores(const KernelVerdict& v) {
  Finding f = start(v, "multiplies matrices without the tensor cores");
  f.evidence.push_back(fmt::format("tensor pipe {}, SM {}", pct(v.tensor_pct), pct(v.sm_pct)));
  f.expected = "a tensor pipe that is busy";
  f.achieved = pct(v.tensor_pct);
  f.remedy = "torch.set_float32_matmul_precision('high') for TF32, or bf16 (torch.autocast); sizes that are multiples of 8";
  f.gain = Gain{v.share_pct * 0.5, v.share_pct * 0.9};
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
  if (is_product(v.name) && v.tensor_pct && *v.tensor_pct < 1 && v.sm_pct.value_or(0) >= 30) return no_tensor_cores(v);
  if (v.tail_pct && *v.tail_pct >= kTailLeast && v.waves && v.bound != KernelBound::memory) return tail(v);
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
    now.add(v.sm_hz, v.time_ns);
    most.add(v.sm_hz_max, v.time_ns);
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
