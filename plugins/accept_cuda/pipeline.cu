// Products and their checks on two streams, and the kernels that plant faults between them.
#include <algorithm>
#include <cmath>

#include "pipeline.cuh"

namespace muster_accept {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kNan = 1, kRow = 2, kFlip = 0;

// A block a stuck row, a thread any other fault.
__global__ void __launch_bounds__(kThreads)
    plant_faults(std::uint32_t* results, const Flip* flips, std::uint32_t count, std::uint32_t columns, std::uint32_t kind) {
  if (kind == kRow) {
    std::uint32_t* row = results + static_cast<std::size_t>(flips[blockIdx.x].row) * columns;
    for (std::uint32_t c = threadIdx.x; c < columns; c += kThreads) row[c] = row[columns + c];
    return;
  }
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  std::uint32_t* place = results + static_cast<std::size_t>(flips[i].row) * columns + flips[i].column;
  *place = kind == kNan ? flips[i].mask : *place ^ flips[i].mask;
}

__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

// One thread that waits, bounded by cycles too should the timer stand still.
__global__ void wait_idly(unsigned long long ns, long long cycles_most) {
  const unsigned long long begin = nanoseconds();
  const long long first = clock64();
  while (nanoseconds() - begin < ns && clock64() - first < cycles_most) __nanosleep(1000);
}

constexpr double kIdleMost_s = 0.04;

}  // namespace

Planter::Planter(Run& run, Fault fault, const Exact& kind) : run_(run), fault_(fault), kind_(kind), there_(kKeptRows) {}

void Planter::plan(std::uint32_t product, std::uint32_t count) {
  flips_.clear();
  for (std::uint32_t i = 0; i < std::min(count, kKeptRows); ++i)
    flips_.push_back(flip_of(fault_, run_.seed, product, i, kind_.rows, kind_.columns));
  if (flips_.empty()) return;
  check(cudaMemcpy(there_.data(), flips_.data(), flips_.size() * sizeof(Flip), cudaMemcpyHostToDevice), "a copy to the device");
  check(cudaStreamSynchronize(nullptr), "a copy to the device");
}

void Planter::launch(void* results, cudaStream_t stream) const {
  if (flips_.empty()) return;
  const auto count = static_cast<std::uint32_t>(flips_.size());
  const std::uint32_t kind = fault_ == Fault::nan ? kNan : fault_ == Fault::row ? kRow : kFlip;
  const std::uint32_t blocks = kind == kRow ? count : (count + kThreads - 1) / kThreads;
  plant_faults<<<blocks, kThreads, 0, stream>>>(static_cast<std::uint32_t*>(results), there_.data(), count, kind_.columns, kind);
  check_launch("planting faults");
}

Pipeline::Pipeline(Run& run, Number number, Way way)
    : run_(run),
      products_(way == Way::behind ? Stream::Rank::first : Stream::Rank::plain),
      checks_(way == Way::behind ? Stream::Rank::last : Stream::Rank::plain),
      data_(run, number),
      matmul_(run, Shape{number, true, data_.kind.rows, data_.kind.columns, data_.kind.depth}),
      way_(way) {
  for (std::uint32_t i = 0; i < kPlaces; ++i) {
    places_.emplace_back(matmul_.shape.d_bytes());
    done_.emplace_back(Event::Kind::order);
    checked_.emplace_back(Event::Kind::order);
  }
}

void Pipeline::prepare(std::uint64_t seed) {
  wait_for(run_, products_);
  wait_for(run_, checks_);
  data_.make(seed, products_);
  wait_for(run_, products_);
  if (matmul_.seconds() <= 0) matmul_.choose(data_.x(), data_.y(), places_[0].data(), products_);
}

void Pipeline::verified(const Planter* planter) {
  const std::uint32_t place = next_ % kPlaces;
  void* results = places_[place].data();
  const cudaStream_t second = way_ == Way::serial ? products_ : checks_;
  // What lies there may still be under its check. An event that was never recorded is no reason to wait.
  if (way_ != Way::serial) check(cudaStreamWaitEvent(products_, checked_[place], 0), "cudaStreamWaitEvent");
  matmul_.launch(data_.x(), data_.y(), results, products_);
  if (way_ != Way::serial) {
    done_[place].record(products_);
    check(cudaStreamWaitEvent(second, done_[place], 0), "cudaStreamWaitEvent");
  }
  if (planter != nullptr) planter->launch(results, second);
  data_.verify(results, next_, second);
  if (way_ != Way::serial) checked_[place].record(second);
  ++next_;
  ++checks_asked_;
}

void Pipeline::unchecked() {
  matmul_.launch(data_.x(), data_.y(), places_[next_ % kPlaces].data(), products_);
  ++next_;
}

void Pipeline::join() {
  if (way_ == Way::serial) return;
  for (const Event& e : checked_) check(cudaStreamWaitEvent(products_, e, 0), "cudaStreamWaitEvent");
}

void Pipeline::idle(double idle_s) {
  const double bounded = std::min(idle_s, kIdleMost_s);
  wait_idly<<<1, 1, 0, products_>>>(static_cast<unsigned long long>(1e9 * bounded), static_cast<long long>(4e9 * bounded));
  check_launch("an idle gap");
}

Checked Pipeline::collect(std::size_t closer) {
  wait_for(run_, products_);
  wait_for(run_, checks_);
  Checked out = data_.collect(checks_, closer);
  const std::uint64_t due = std::uint64_t{checks_asked_} * data_.kind.rows;
  checks_asked_ = 0;
  if (out.rows != due) {
    throw CouldNotRun{text("%llu of %llu rows of products were checked", static_cast<unsigned long long>(out.rows),
                           static_cast<unsigned long long>(due))};
  }
  return out;
}

std::uint32_t Pipeline::products_in(double duration_s) const {
  return std::max(1u, static_cast<std::uint32_t>(std::lround(duration_s / std::max(matmul_.seconds(), 1e-5))));
}

}  // namespace muster_accept
