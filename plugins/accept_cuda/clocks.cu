// Marks of the SMs' clocks. The counter of an SM runs with its clock; whether it also runs in an SM that the chip has put to
// sleep is not written anywhere, so stretches are only measured under load, and an SM whose counter makes no sense is left out.
#include <map>

#include "clocks.cuh"

namespace muster_accept {
namespace {

constexpr std::uint32_t kBlocksPerSm = 4;  // so that nearly every SM has one; which of them is the first does not matter
constexpr double kMhzLeast = 50, kMhzMost = 6000;

__global__ void stamp(Stamp* out) {
  if (threadIdx.x != 0) return;
  Stamp s;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(s.cycles)::"memory");
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(s.ns)::"memory");
  asm volatile("mov.u32 %0, %%smid;" : "=r"(s.sm));
  s.valid = 1;
  out[blockIdx.x] = s;
}

std::map<std::uint32_t, Stamp> by_sm(const std::vector<Stamp>& stamps) {
  std::map<std::uint32_t, Stamp> out;
  for (const Stamp& s : stamps) {
    if (s.valid == 1) out.emplace(s.sm, s);
  }
  return out;
}

}  // namespace

Marks::Marks(const Gpu& gpu, std::size_t capacity) : blocks_(gpu.sms() * kBlocksPerSm), stamps_(capacity * blocks_) {
  check(cudaMemset(stamps_.data(), 0, stamps_.size() * sizeof(Stamp)), "cudaMemset of the marks");
  check(cudaDeviceSynchronize(), "cudaMemset of the marks");
  events_.reserve(capacity);
}

std::size_t Marks::put(cudaStream_t stream) {
  const std::size_t mark = events_.size();
  if ((mark + 1) * blocks_ > stamps_.size()) throw CouldNotRun{"more marks of the clock than there is room for"};
  stamp<<<blocks_, 32, 0, stream>>>(stamps_.data() + mark * blocks_);
  check_launch("the mark of the clock");
  events_.emplace_back();
  events_.back().record(stream);
  return mark;
}

std::vector<Stamp> Marks::read(std::size_t mark) const {
  std::vector<Stamp> out(blocks_);
  check(cudaMemcpy(out.data(), stamps_.data() + mark * blocks_, blocks_ * sizeof(Stamp), cudaMemcpyDeviceToHost),
        "a copy of the marks");
  return out;
}

std::vector<std::uint32_t> Marks::sms(std::size_t mark) const {
  std::vector<std::uint32_t> out;
  for (const auto& [sm, stamp] : by_sm(read(mark))) out.push_back(sm);
  return out;
}

Stretch Marks::between(std::size_t from, std::size_t to) const {
  Stretch out;
  out.seconds = events_[to].seconds_since(events_[from]);
  const auto before = by_sm(read(from)), after = by_sm(read(to));
  std::vector<double> mhz;
  for (const auto& [sm, end] : after) {
    const auto begin = before.find(sm);
    if (begin == before.end() || end.cycles <= begin->second.cycles || end.ns <= begin->second.ns) continue;
    const double value =
        1e3 * static_cast<double>(end.cycles - begin->second.cycles) / static_cast<double>(end.ns - begin->second.ns);
    if (value > kMhzLeast && value < kMhzMost) mhz.push_back(value);
  }
  if (mhz.size() * 2 > before.size() && !mhz.empty()) out.mhz = median_of(mhz);
  return out;
}

}  // namespace muster_accept
