// march: every byte of memory that can be had, through seven patterns: one pass writes, six verify and write the next, the last
// verifies. A wrong word is named by its place from the beginning of the tested memory.
#include <algorithm>
#include <set>

#include "patterns.h"
#include "tiles.cuh"

namespace muster_accept {
namespace {

constexpr int kThreads = 256, kLoads = 4, kPasses = kPatterns + 1;
using MarchTile = Tile<kThreads, kLoads>;
constexpr std::size_t kPage = std::size_t{2} << 20;     // what the driver gives out
constexpr std::size_t kLeft = std::size_t{32} << 20;    // for the driver's own needs meanwhile
constexpr std::size_t kLaunch = std::size_t{32} << 30;  // bytes of one launch: 16 ms on an H200
constexpr double kFreeLeast = 0.90;                     // of memory: else somebody uses the GPU
constexpr std::uint32_t kKeptWords = 1u << 17;
constexpr std::uint32_t kCountMost = 1u << 22;  // wrong words beyond which nobody counts: a whole chip is gone
static_assert(kPage % MarchTile::bytes == 0, "pieces are whole tiles");

struct WrongWord {
  unsigned long long word;  // of 4 bytes, from the beginning of all tested memory
  std::uint32_t got, expected;
  std::uint32_t pattern, padding;
};

struct Words {
  unsigned int count, padding;
  WrongWord kept[kKeptWords];
};

// By value, so that what is verified stays in registers.
__device__ __noinline__ void report(Words* words, std::uint64_t vector, uint4 got, uint4 expected, std::uint32_t pattern) {
  if (*const_cast<volatile unsigned int*>(&words->count) >= kCountMost) return;
  const std::uint32_t g[4] = {got.x, got.y, got.z, got.w}, e[4] = {expected.x, expected.y, expected.z, expected.w};
#pragma unroll
  for (std::uint32_t i = 0; i < 4; ++i) {
    if (g[i] == e[i]) continue;
    const std::uint32_t slot = atomicAdd(&words->count, 1u);
    if (slot < kKeptWords) words->kept[slot] = {vector * 4 + i, g[i], e[i], pattern, 0};
  }
}

template <int kPattern>
__device__ __forceinline__ uint4 words_of(std::uint64_t index, std::uint64_t seed) {
  const Sixteen s = pattern_of<kPattern>(index, seed);
  return make_uint4(static_cast<std::uint32_t>(s.low), static_cast<std::uint32_t>(s.low >> 32),
                    static_cast<std::uint32_t>(s.high), static_cast<std::uint32_t>(s.high >> 32));
}

// Pass n verifies pattern n - 1, unless it is the first, and writes pattern n, unless it is the last.
template <int kPass>
__global__ void __launch_bounds__(kThreads, 5) march_tiles(uint4* piece, std::uint64_t first, std::uint64_t seed, Words* words) {
  const std::uint64_t at = static_cast<std::uint64_t>(blockIdx.x) * MarchTile::vectors + threadIdx.x;
  uint4* p = piece + at;
  const std::uint64_t index = first + at;
  if constexpr (kPass > 0) {
    uint4 v[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) v[i] = __ldcs(p + i * kThreads);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const uint4 e = words_of<kPass - 1>(index + static_cast<std::uint64_t>(i * kThreads), seed);
      if (((v[i].x ^ e.x) | (v[i].y ^ e.y) | (v[i].z ^ e.z) | (v[i].w ^ e.w)) != 0)
        report(words, index + static_cast<std::uint64_t>(i * kThreads), v[i], e, kPass - 1);
    }
  }
  if constexpr (kPass < kPatterns) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      __stcs(p + i * kThreads, words_of<kPass>(index + static_cast<std::uint64_t>(i * kThreads), seed));
  }
}

using Kernel = void (*)(uint4*, std::uint64_t, std::uint64_t, Words*);
constexpr Kernel kKernels[kPasses] = {march_tiles<0>, march_tiles<1>, march_tiles<2>, march_tiles<3>,
                                      march_tiles<4>, march_tiles<5>, march_tiles<6>, march_tiles<7>};

struct Hit {
  std::uint32_t* word;
  std::uint32_t mask, padding;
};

__global__ void __launch_bounds__(kThreads) plant_hits(const Hit* hits, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) *hits[i].word ^= hits[i].mask;
}

struct Freed {
  void operator()(uint4* data) const { cudaFree(data); }
};

// All free memory, in as few pieces as it takes.
class Everything {
 public:
  explicit Everything(const Run& run);

  struct Piece {
    std::unique_ptr<uint4, Freed> data;
    std::size_t bytes, from;  // of the tested memory
  };
  const std::vector<Piece>& pieces() const { return pieces_; }
  std::size_t bytes() const { return bytes_; }
  // Where a 4-byte word lies.
  std::uint32_t* word(std::uint64_t number) const;

 private:
  std::vector<Piece> pieces_;
  std::size_t bytes_ = 0;
};

Everything::Everything(const Run& run) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  if (static_cast<double>(free) < kFreeLeast * static_cast<double>(total)) {
    throw CouldNotRun{text("the GPU is in use: %.1f of %.1f GiB are free, and a march needs all of it",
                           static_cast<double>(free) / (1ull << 30), static_cast<double>(total) / (1ull << 30))};
  }
  for (std::size_t piece = free; piece >= kPage;) {
    run.ask();
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    piece = std::min(piece, free > kLeft ? (free - kLeft) / kPage * kPage : 0);
    if (piece == 0) break;
    uint4* data = nullptr;
    const cudaError_t error = cudaMalloc(&data, piece);
    if (error == cudaSuccess) {
      pieces_.push_back({std::unique_ptr<uint4, Freed>(data), piece, bytes_});
      bytes_ += piece;
    } else if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      piece = piece / 2 / kPage * kPage;
    } else {
      fail(error, "cudaMalloc");
    }
  }
  if (pieces_.empty()) throw CouldNotRun{"no memory of the GPU can be had"};
}

std::uint32_t* Everything::word(std::uint64_t number) const {
  for (const Piece& p : pieces_) {
    if (number * 4 < p.from + p.bytes) return reinterpret_cast<std::uint32_t*>(p.data.get()) + (number - p.from / 4);
  }
  return nullptr;
}

struct Found {
  std::uint64_t count = 0;
  std::vector<WrongWord> kept;
};

class March {
 public:
  explicit March(Run& run);

  struct Took {
    double all_s, write_gb_s, verify_gb_s;
  };
  // One march. `planned`: words in which bits are flipped before they are verified, the i-th after the write of pattern i % 7.
  Took once(const Everything& memory, std::uint64_t seed, const std::vector<WordFlip>& planned);
  Found collect();

 private:
  void pass(int number, uint4* piece, std::size_t bytes, std::uint64_t first, std::uint64_t seed) const;
  void plant(const Everything& memory, const std::vector<WordFlip>& planned, std::size_t pattern);

  Run& run_;
  Stream stream_;
  Memory<Words> words_;
  Memory<Hit> hits_;
};

March::March(Run& run) : run_(run), words_(1), hits_((run.plant.fault == Fault::address ? run.plant.count : 0) / kPatterns + 1) {
  check(cudaMemsetAsync(words_.data(), 0, sizeof(Words), stream_), "cudaMemset");
  // Kernels need memory themselves: they are loaded before there is none left.
  const Memory<uint4> little(kPage / 16);
  for (int i = 0; i < kPasses; ++i) pass(i, little.data(), kPage, 0, run.seed);
  plant_hits<<<1, kThreads, 0, stream_>>>(hits_.data(), 0);
  check_launch("planting faults");
  wait_for(run_, stream_);
}

void March::pass(int number, uint4* piece, std::size_t bytes, std::uint64_t first, std::uint64_t seed) const {
  for (std::size_t at = 0; at < bytes; at += kLaunch) {
    const auto blocks = static_cast<std::uint32_t>(std::min(kLaunch, bytes - at) / MarchTile::bytes);
    kKernels[number]<<<blocks, kThreads, 0, stream_>>>(piece + at / 16, first + at / 16, seed, words_.data());
    check_launch("a pass of the march");
  }
}

void March::plant(const Everything& memory, const std::vector<WordFlip>& planned, std::size_t pattern) {
  std::vector<Hit> hits;
  for (std::size_t i = pattern; i < planned.size(); i += kPatterns)
    hits.push_back({memory.word(planned[i].word), planned[i].mask, 0});
  if (hits.empty()) return;
  wait_for(run_, stream_);
  check(cudaMemcpy(hits_.data(), hits.data(), hits.size() * sizeof(Hit), cudaMemcpyHostToDevice), "a copy to the device");
  check(cudaStreamSynchronize(nullptr), "a copy to the device");
  const auto count = static_cast<std::uint32_t>(hits.size());
  plant_hits<<<(count + kThreads - 1) / kThreads, kThreads, 0, stream_>>>(hits_.data(), count);
  check_launch("planting faults");
}

March::Took March::once(const Everything& memory, std::uint64_t seed, const std::vector<WordFlip>& planned) {
  std::vector<Event> marks;
  marks.reserve(kPasses + 1);
  marks.emplace_back();
  marks.back().record(stream_);
  for (int number = 0; number < kPasses; ++number) {
    for (const Everything::Piece& p : memory.pieces()) pass(number, p.data.get(), p.bytes, p.from / 16, seed);
    marks.emplace_back();
    marks.back().record(stream_);
    if (number > 0) marks[static_cast<std::size_t>(number)].wait(run_);  // the end of the pass before
    if (!planned.empty() && number < kPatterns) plant(memory, planned, static_cast<std::size_t>(number));
    run_.ask();
  }
  marks.back().wait(run_);
  const double gb = 1e-9 * static_cast<double>(memory.bytes());
  return {marks[kPasses].seconds_since(marks[0]), gb / marks[1].seconds_since(marks[0]),
          gb / marks[kPasses].seconds_since(marks[kPasses - 1])};
}

Found March::collect() {
  Found out;
  out.count = copied(run_, &words_.data()->count, 1, stream_)[0];
  out.kept = copied(run_, words_.data()->kept, std::min<std::size_t>(out.count, kKeptWords), stream_);
  check(cudaMemsetAsync(words_.data(), 0, sizeof(Words), stream_), "cudaMemset");
  wait_for(run_, stream_);
  return out;
}

constexpr const char* kPatternNames[kPatterns] = {
    "zeros", "ones", "own address", "own address inverted", "alternating", "alternating inverted", "random"};

void tell_wrong(const Run& run, const Found& found) {
  std::uint64_t told = 0;
  for (const WrongWord& w : found.kept) {
    if (told == kWrongMax) break;
    run.wrong(text("address 0x%llx", w.word * 4), 1,
              text("0x%08x instead of 0x%08x, pattern %s", w.got, w.expected, kPatternNames[w.pattern % kPatterns]));
    ++told;
  }
  if (found.count > told)
    run.wrong("other addresses", found.count - told, found.count >= kCountMost ? "at least" : "wrong words");
}

void run_planted(Run& run, March& march, const Everything& memory) {
  const std::uint64_t words = memory.bytes() / 4;
  std::vector<WordFlip> planned;
  std::map<std::uint64_t, std::pair<std::uint32_t, std::uint32_t>> put;  // word: mask, pattern
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(run.plant.count, kKeptWords); ++i) {
    planned.push_back(word_flip_of(run.seed, i, run.plant.count, words));
    put[planned.back().word] = {planned.back().mask, static_cast<std::uint32_t>(i % kPatterns)};
  }
  march.once(memory, run.seed, planned);
  const Found found = march.collect();
  tell_wrong(run, found);
  std::uint64_t in_place = 0;
  for (const WrongWord& w : found.kept) {
    const auto it = put.find(w.word);
    in_place += it != put.end() && it->second == std::pair<std::uint32_t, std::uint32_t>{w.got ^ w.expected, w.pattern} ? 1 : 0;
  }
  run.tell_planted(planned.size(), std::min<std::uint64_t>(found.count, planned.size()), in_place);
  run.measured("found_beyond", static_cast<double>(found.count > planned.size() ? found.count - planned.size() : 0));
}

}  // namespace

void run_march(Run& run) {
  March march(run);
  const Everything memory(run);
  if (run.plant.fault == Fault::address) {
    run_planted(run, march, memory);
    return;
  }
  run.measured("march_share",
               100.0 * static_cast<double>(memory.bytes()) / static_cast<double>(run.gpu.properties.totalGlobalMem));
  double once_s = 0;
  for (std::uint64_t round = 0; round == 0 || run.time_left(once_s); ++round) {
    const double begun = now_s();
    const March::Took took = march.once(memory, mix(run.seed + round), {});
    tell_wrong(run, march.collect());
    run.measured("march_s", took.all_s);
    run.measured("march_write", took.write_gb_s);
    run.measured("march_verify", took.verify_gb_s);
    once_s = now_s() - begun;
    run.progress(run.seconds > 0 ? (now_s() - run.begun_s) / run.seconds : 1);
  }
}

}  // namespace muster_accept
