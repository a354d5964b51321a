// sweep: six units of every SM, one block an SM, each answer held against what must come out; names the SM that computes wrongly,
// and the slowest. A block takes all the shared memory that there is, so that no SM can have two.
#include <mma.h>

#include <algorithm>
#include <set>

#include "clocks.cuh"
#include "units.h"

namespace muster_accept {
namespace {

constexpr std::uint32_t kStaticShared = 1024;  // what the kernels have of their own
constexpr std::uint32_t kSmsMost = 1024;       // of the table of faults
constexpr int kTries = 5;                      // until each SM has had a block
constexpr float kSlowShare = 0.0625f;          // by which a slow SM is slowed
constexpr double kSlowNoticed = 1.03;
constexpr std::uint32_t kPlantsAtOnce = 64;  // wrong answers in one sweep

struct Answer {
  unsigned long long sum, cycles, ns;
  std::uint32_t sm, valid;
};

// Faults of a sweep: of each SM a bit a unit that answers wrongly (low), and one that is slow (high byte). Null: none.
struct Sweep {
  std::uint64_t seed;
  std::uint32_t words;  // of shared memory
  const std::uint16_t* faults;
  Answer* answers;
};

__device__ __forceinline__ std::uint32_t sm_number() {
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}
__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

// The special functions of one lane: sine, exponential, logarithm, reciprocal root, as the hardware approximates them.
__device__ std::uint32_t special_of(std::uint64_t seed, std::uint32_t lane) {
  float x[2];
#pragma unroll
  for (int c = 0; c < 2; ++c)
    x[c] = static_cast<float>(fraction_of(start_of(seed, Unit::special, lane, static_cast<std::uint32_t>(c))));
  std::uint32_t hash = lane;
#pragma unroll 1
  for (int step = 0; step < kSpecialSteps; step += kHashEvery) {
    std::uint32_t sum = 0;
#pragma unroll
    for (int s = 0; s < kHashEvery; ++s) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float sine, power, root, logarithm;
        asm("sin.approx.ftz.f32 %0, %1;" : "=f"(sine) : "f"(4.0f * x[c]));
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x[c]));
        asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(power + 1.0f));
        asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(logarithm) : "f"(root + 1.5f));
        // In (-1, 1): the root lies in (0.5, 0.9), the logarithm in (1, 1.3).
        x[c] = __fmaf_rn(sine, 0.5f, __fadd_rn(logarithm, -1.15f));
        sum += bits_of(sine) + bits_of(power) + bits_of(root) + bits_of(logarithm);
      }
    }
    hash = hashed(hash, sum);
  }
  return hash;
}

// The part of a thread in the answer of shared memory: words of 16 bytes, written by one thread and read by another.
__device__ std::uint32_t shared_of(const Sweep& sweep, uint4* shared) {
  const auto seed = static_cast<std::uint32_t>(mix(sweep.seed + 5));
  const std::uint32_t vectors = sweep.words / 4;
  std::uint32_t sum = 0;
#pragma unroll 1
  for (std::uint32_t round = 0; round < kSharedRounds; ++round) {
    for (std::uint32_t v = threadIdx.x; v < vectors; v += kUnitThreads) {
      shared[v] = make_uint4(word_of(seed, 4 * v, round), word_of(seed, 4 * v + 1, round), word_of(seed, 4 * v + 2, round),
                             word_of(seed, 4 * v + 3, round));
    }
    __syncthreads();
    const std::uint32_t other = (threadIdx.x + 37 * (round + 1)) % kUnitThreads;
    for (std::uint32_t v = other; v < vectors; v += kUnitThreads) {
      const uint4 got = shared[v];
      sum = looked(sum, got.x, 4 * v);
      sum = looked(sum, got.y, 4 * v + 1);
      sum = looked(sum, got.z, 4 * v + 2);
      sum = looked(sum, got.w, 4 * v + 3);
    }
    __syncthreads();
  }
  return sum;
}

using namespace nvcuda;

// Tiles lie in shared memory, X then Y, then a place of 256 floats for each warp's results.
__device__ void make_tiles(std::uint64_t seed, __half* tiles) {
  for (std::uint32_t i = threadIdx.x; i < 2 * kTiles * 256u; i += kUnitThreads) {
    const std::uint32_t at = i % (kTiles * 256u);
    tiles[i] = __int2half_rn(tile_number(seed, i < kTiles * 256u ? Matrix::x : Matrix::y, at / 256, at / 16 % 16, at % 16));
  }
  __syncthreads();
}

__device__ std::uint64_t tensor_of(const __half* tiles, float* results) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> y[2];
#pragma unroll
  for (int i = 0; i < 4; ++i) wmma::fill_fragment(sums[i / 2][i % 2], 0.0f);
#pragma unroll 1
  for (int step = 0; step < kTensorSteps; ++step) {
    if (step % 16 == 0) {
#pragma unroll
      for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(y[j], tiles + (kTiles + tile_y(step, j)) * 256, 16);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x;
      wmma::load_matrix_sync(x, tiles + tile_x(step, i) * 256, 16);
#pragma unroll
      for (int j = 0; j < 2; ++j) wmma::mma_sync(sums[i][j], x, y[j], sums[i][j]);
    }
  }
  float* mine = results + threadIdx.x / 32 * 256;
  std::uint64_t part = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    wmma::store_matrix_sync(mine, sums[i / 2][i % 2], 16, wmma::mem_row_major);
    __syncwarp();
    for (std::uint32_t e = threadIdx.x % 32; e < 256; e += 32)
      part += part_of(static_cast<std::uint32_t>(i) * 256 + e, bits_of(__fadd_rn(mine[e], 0.0f)));  // of zero one sign only
    __syncwarp();
  }
  return part;
}

template <Unit kUnit>
__device__ __forceinline__ std::uint64_t work(const Sweep& sweep, unsigned char* shared) {
  const std::uint32_t lane = threadIdx.x % 32;
  if constexpr (kUnit == Unit::tensor) {
    return tensor_of(reinterpret_cast<const __half*>(shared),
                     reinterpret_cast<float*>(shared + 2 * kTiles * 256 * sizeof(__half)));
  } else if constexpr (kUnit == Unit::fp64) {
    return part_of(threadIdx.x, chains_of<double, kFp64Steps>(sweep.seed, kUnit, lane));
  } else if constexpr (kUnit == Unit::fp32) {
    return part_of(threadIdx.x, chains_of<float, kFp32Steps>(sweep.seed, kUnit, lane));
  } else if constexpr (kUnit == Unit::integer) {
    return part_of(threadIdx.x, chains_of<std::uint32_t, kIntSteps>(sweep.seed, kUnit, lane));
  } else if constexpr (kUnit == Unit::special) {
    return part_of(threadIdx.x, special_of(sweep.seed, lane));
  } else {
    return shared_of(sweep, reinterpret_cast<uint4*>(shared));
  }
}

// Spins for a share of the time that the work took: never long, as the work is not.
__device__ void slow_down(long long since) {
  const long long most = static_cast<long long>(static_cast<float>(clock64() - since) * (1.0f + kSlowShare));
  while (clock64() - since < most) {
  }
}

template <Unit kUnit>
__global__ void __launch_bounds__(kUnitThreads, 1) sweep_unit(Sweep sweep) {
  extern __shared__ __align__(128) unsigned char shared[];  // tiles are loaded 32 bytes at a time
  __shared__ unsigned long long total;
  const std::uint32_t sm = sm_number();
  if (threadIdx.x == 0) total = 0;
  if constexpr (kUnit == Unit::tensor) make_tiles(sweep.seed, reinterpret_cast<__half*>(shared));
  __syncthreads();
  const long long begin = clock64();
  const unsigned long long begin_ns = nanoseconds();
  const std::uint64_t part = work<kUnit>(sweep, shared);
  // Shared memory's part is a sum of 32 bits, and mixed at the end: its host counts words, not threads.
  atomicAdd(&total, static_cast<unsigned long long>(part));
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint64_t sum = total;
  if (kUnit == Unit::shared) sum = mix(static_cast<std::uint32_t>(sum));
  const std::uint16_t fault = sweep.faults != nullptr && sm < kSmsMost ? sweep.faults[sm] : 0;
  if ((fault >> static_cast<int>(kUnit) & 1) != 0) sum ^= 1ull << (sm % 64);
  if ((fault >> (8 + static_cast<int>(kUnit)) & 1) != 0) slow_down(begin);
  Answer a;
  a.cycles = static_cast<unsigned long long>(clock64() - begin);
  a.ns = nanoseconds() - begin_ns;
  a.sum = sum;
  a.sm = sm;
  a.valid = 1;
  sweep.answers[blockIdx.x] = a;
}

using Kernel = void (*)(Sweep);
constexpr Kernel kKernels[kUnits] = {sweep_unit<Unit::tensor>,  sweep_unit<Unit::fp64>,    sweep_unit<Unit::fp32>,
                                     sweep_unit<Unit::integer>, sweep_unit<Unit::special>, sweep_unit<Unit::shared>};

using Answers = std::map<std::uint32_t, Answer>;  // by SM

struct Wrong {
  std::uint32_t sm;
  int unit;
  std::uint64_t got, expected;
};

struct Outcome {
  double ms = 0;
  std::size_t sms = 0;        // that answered for every unit
  double ratio[kUnits] = {};  // the slowest SM's time over the median
  std::uint32_t slowest[kUnits] = {};
  std::vector<Wrong> wrong;
};

class Sweeper {
 public:
  explicit Sweeper(Run& run);
  // `faults`: of each SM, as in Sweep; empty: none.
  Outcome once(const std::vector<std::uint16_t>& faults);

 private:
  std::vector<std::uint64_t> expected() const;

  Run& run_;
  Stream stream_;
  std::uint32_t shared_bytes_, words_;
  Memory<Answer> answers_;
  Memory<std::uint16_t> faults_;
  Event begin_, end_;
};

Sweeper::Sweeper(Run& run)
    : run_(run),
      shared_bytes_((static_cast<std::uint32_t>(run.gpu.properties.sharedMemPerBlockOptin) - kStaticShared) / 16 * 16),
      words_(shared_bytes_ / 4 / (4 * kUnitThreads) * (4 * kUnitThreads)),
      answers_(std::size_t{kUnits} * run.gpu.sms()),
      faults_(kSmsMost) {
  if (run.gpu.properties.sharedMemPerBlockOptin < 65536) throw CouldNotRun{"this GPU has too little shared memory for the sweep"};
  for (const Kernel k : kKernels)
    check(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes_)),
          "cudaFuncSetAttribute");
}

// Of every unit but the special functions, whose answers nobody can tell: there most SMs are right.
std::vector<std::uint64_t> Sweeper::expected() const {
  auto& known = run_.gpu.answers[run_.seed];
  if (known.empty()) {
    known = {tensor_answer(run_.seed),
             chains_answer<double, kFp64Steps>(run_.seed, Unit::fp64),
             chains_answer<float, kFp32Steps>(run_.seed, Unit::fp32),
             chains_answer<std::uint32_t, kIntSteps>(run_.seed, Unit::integer),
             0,
             shared_answer(run_.seed, words_)};
  }
  return known;
}

std::uint64_t most_common(const Answers& answers) {
  std::map<std::uint64_t, std::size_t> counts;
  for (const auto& [sm, a] : answers) ++counts[a.sum];
  std::uint64_t out = 0;
  std::size_t most = 0;
  for (const auto& [sum, count] : counts) {
    if (count > most) out = sum, most = count;
  }
  return out;
}

Outcome Sweeper::once(const std::vector<std::uint16_t>& faults) {
  const std::uint32_t sms = run_.gpu.sms();
  if (!faults.empty()) {
    check(cudaMemcpyAsync(faults_.data(), faults.data(), faults.size() * sizeof(std::uint16_t), cudaMemcpyHostToDevice, stream_),
          "a copy to the device");
    wait_for(run_, stream_);
  }
  Sweep sweep = {run_.seed, words_, faults.empty() ? nullptr : faults_.data(), nullptr};
  std::vector<Answers> answers(kUnits);
  Outcome out;
  // All six one after the other; then again those in which an SM had no block, as the GPU deals them out as it likes.
  for (int attempt = 0; attempt < kTries; ++attempt) {
    std::vector<int> units;
    for (int u = 0; u < kUnits; ++u) {
      if (answers[static_cast<std::size_t>(u)].size() < sms) units.push_back(u);
    }
    if (units.empty()) break;
    check(cudaMemsetAsync(answers_.data(), 0, answers_.size() * sizeof(Answer), stream_), "cudaMemset");
    begin_.record(stream_);
    for (const int u : units) {
      sweep.answers = answers_.data() + static_cast<std::size_t>(u) * sms;
      kKernels[u]<<<sms, kUnitThreads, shared_bytes_, stream_>>>(sweep);
      check_launch("the sweep of a unit");
    }
    end_.record(stream_);
    end_.wait(run_);
    if (attempt == 0) out.ms = 1e3 * end_.seconds_since(begin_);
    const std::vector<Answer> got = copied(run_, answers_.data(), answers_.size(), stream_);
    for (const int u : units) {
      for (std::uint32_t b = 0; b < sms; ++b) {
        const Answer& a = got[static_cast<std::size_t>(u) * sms + b];
        if (a.valid == 1) answers[static_cast<std::size_t>(u)].emplace(a.sm, a);
      }
    }
  }
  std::vector<std::uint64_t> due = expected();
  due[static_cast<std::size_t>(Unit::special)] = most_common(answers[static_cast<std::size_t>(Unit::special)]);
  out.sms = sms;
  for (int u = 0; u < kUnits; ++u) {
    const Answers& mine = answers[static_cast<std::size_t>(u)];
    out.sms = std::min(out.sms, mine.size());
    std::vector<double> times;
    double longest = 0;
    for (const auto& [sm, a] : mine) {
      const auto ns = static_cast<double>(a.ns);
      times.push_back(ns);
      if (ns > longest) longest = ns, out.slowest[u] = sm;
      if (a.sum != due[static_cast<std::size_t>(u)]) out.wrong.push_back({sm, u, a.sum, due[static_cast<std::size_t>(u)]});
    }
    const double middle = median_of(times);
    out.ratio[u] = middle > 0 ? longest / middle : 0;
  }
  return out;
}

void tell_wrong(const Run& run, const Outcome& o) {
  std::size_t told = 0;
  for (const Wrong& w : o.wrong) {
    if (told++ == kWrongMax) break;
    run.wrong(text("SM %u", w.sm), 1,
              text("unit %s: 0x%016llx instead of 0x%016llx", kUnitNames[w.unit], static_cast<unsigned long long>(w.got),
                   static_cast<unsigned long long>(w.expected)));
  }
  if (o.wrong.size() > kWrongMax) run.wrong("other SMs", o.wrong.size() - kWrongMax, "wrong answers of units");
}

// Numbers that the SMs have: not always from 0 on without a gap.
std::vector<std::uint32_t> numbers_of_sms(Run& run) {
  Marks marks(run.gpu, 1);
  const Stream stream;
  marks.put(stream);
  marks.event(0).wait(run);
  return marks.sms(0);
}

void plant(Run& run, Sweeper& sweeper) {
  const std::vector<std::uint32_t> sms = numbers_of_sms(run);
  const bool slow = run.plant.fault == Fault::slow_sm;
  std::uint64_t planted = 0, found = 0, in_place = 0, strange = 0;
  for (std::uint64_t sweep = 0; planted < run.plant.count; ++sweep) {
    std::vector<std::uint16_t> faults(kSmsMost, 0);
    std::set<std::pair<std::uint32_t, int>> put;
    const std::uint64_t most = slow ? kUnits : kPlantsAtOnce;  // one slow SM a unit: only the slowest is named
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, run.plant.count - planted));
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto spots = static_cast<std::uint32_t>(sms.size());
      Spot s = spot_of(run.seed, sweep, i, spots, kUnits);
      if (slow) s.unit = i;
      if (sms[s.sm] >= kSmsMost) throw CouldNotRun{"SM numbers beyond the table of planted faults"};
      faults[sms[s.sm]] |= static_cast<std::uint16_t>(1u << (s.unit + (slow ? 8 : 0)));
      put.insert({sms[s.sm], static_cast<int>(s.unit)});
    }
    const Outcome o = sweeper.once(faults);
    if (sweep == 0) tell_wrong(run, o);
    for (int u = 0; slow && u < kUnits; ++u) {
      const bool noticed = o.ratio[u] >= kSlowNoticed, named = put.count({o.slowest[u], u}) > 0;
      found += noticed ? 1 : 0;
      in_place += noticed && named ? 1 : 0;
    }
    for (const Wrong& w : o.wrong) {
      const bool mine = !slow && put.count({w.sm, w.unit}) > 0;
      (mine ? found : strange) += 1;
      in_place += mine ? 1 : 0;
    }
    planted += put.size();
    run.progress(static_cast<double>(planted) / static_cast<double>(run.plant.count));
    run.ask();
  }
  run.tell_planted(planted, found, in_place);
  run.measured("found_beyond", static_cast<double>(strange));
}

}  // namespace

void run_sweep(Run& run) {
  Sweeper sweeper(run);
  if (run.plant.fault == Fault::sm || run.plant.fault == Fault::slow_sm) {
    plant(run, sweeper);
    return;
  }
  sweeper.once({});  // not measured: its kernels are loaded, the clock comes up
  constexpr int kLeast = 5, kMost = 1000;
  std::vector<double> ms, ratios[kUnits];
  std::map<std::uint32_t, int> slowest[kUnits];  // how often
  std::size_t sms = run.gpu.sms();
  for (int i = 0; i < kMost && (i < kLeast || run.time_left()); ++i) {
    const Outcome o = sweeper.once({});
    tell_wrong(run, o);
    ms.push_back(o.ms);
    sms = std::min(sms, o.sms);
    for (int u = 0; u < kUnits; ++u) {
      ratios[u].push_back(o.ratio[u]);
      ++slowest[u][o.slowest[u]];
    }
    run.progress(run.seconds > 0 ? (now_s() - run.begun_s) / run.seconds : (i + 1.0) / kLeast);
    run.ask();
  }
  run.measured("sweep_ms", median_of(ms));
  run.measured("sweep_sms", static_cast<double>(sms));
  for (int u = 0; u < kUnits; ++u) {
    const auto most =
        std::max_element(slowest[u].begin(), slowest[u].end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    run.measured(std::string("sweep_") + kUnitNames[u], median_of(ratios[u]));
    run.measured(std::string("sweep_") + kUnitNames[u] + "_slowest", most->first);
  }
}

}  // namespace muster_accept
