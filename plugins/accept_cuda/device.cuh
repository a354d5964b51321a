// What every test stands on: the GPU that was opened, what is asked of a run and told by it, and owners of device memory, streams
// and events. Inside the library what cannot go on is thrown; it is caught at the C interface (accept.cu).
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "accept.h"
#include "lt.cuh"
#include "plants.h"

namespace muster_accept {

struct CouldNotRun {
  std::string why;
};
struct Stopped {};  // the host asked for it

std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));
// Throws CouldNotRun that names the call: "cudaMalloc of 8.0 GiB: out of memory (1.2 of 139.8 GiB are free)".
[[noreturn]] void fail(cudaError_t error, const char* doing);
inline void check(cudaError_t error, const char* doing) {
  if (error != cudaSuccess) fail(error, doing);
}
// After a launch.
inline void check_launch(const char* kernel) { check(cudaGetLastError(), kernel); }

double now_s();  // CLOCK_MONOTONIC
double median_of(std::vector<double> values);

struct Choice {  // an algorithm of cuBLASLt
  cublasLtMatmulAlgo_t algorithm;
  double id = 0;       // that says which, for a recording
  double seconds = 0;  // that one product took
};

struct Gpu {
  int number = 0;
  cudaDeviceProp properties = {};
  std::string lost;  // not empty: the context is, and why
  Lt lt;
  std::map<std::string, Choice> choices;                        // by format and shape: chosen once
  std::map<std::uint64_t, std::vector<std::uint64_t>> answers;  // of the sweep's units, by seed

  std::uint32_t sms() const { return static_cast<std::uint32_t>(properties.multiProcessorCount); }
};

// One test: what it was asked, and how it tells.
class Run {
 public:
  Run(Gpu& the_gpu, const muster_accept_task& task, const muster_accept_host& host, const Plant& the_plant);

  Gpu& gpu;
  const double seconds, begun_s;
  const std::uint64_t seed;
  const Plant plant;

  void measured(const std::string& metric, double value) const { host_.measured(host_.self, metric.c_str(), value); }
  void held(const std::string& metric, double value, double begun, double took, double mhz) const {
    host_.held(host_.self, metric.c_str(), value, begun, took, mhz);
  }
  void wrong(const std::string& place, std::uint64_t count, const std::string& detail) const {
    host_.wrong(host_.self, place.c_str(), count, detail.c_str());
  }
  void progress(double share) const { host_.progress(host_.self, share < 0 ? 0 : share > 1 ? 1 : share); }
  // Throws Stopped if the host wants that. Cheap enough for every turn of a loop.
  void ask() const;
  bool time_left(double needed_s = 0) const { return now_s() + needed_s < begun_s + seconds; }
  // How many faults were planted, how many of them were noticed, and how many with the right place.
  void tell_planted(std::uint64_t planted, std::uint64_t found, std::uint64_t in_place) const;

 private:
  const muster_accept_host& host_;
};

template <class T>
class Memory {  // of the device
 public:
  Memory() = default;
  explicit Memory(std::size_t count) : count_(count) {
    const cudaError_t error = cudaMalloc(&data_, count * sizeof(T));
    if (error != cudaSuccess) {
      data_ = nullptr;
      fail(error, text("cudaMalloc of %.1f MiB", static_cast<double>(count * sizeof(T)) / (1 << 20)).c_str());
    }
  }
  ~Memory() {
    if (data_ != nullptr) cudaFree(data_);
  }
  Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  T* data() const { return data_; }
  std::size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

template <class T>
class Pinned {  // memory of the host that the device may copy from and to, and see
 public:
  explicit Pinned(std::size_t count) : count_(count) {
    const cudaError_t error = cudaHostAlloc(reinterpret_cast<void**>(&data_), count * sizeof(T), cudaHostAllocMapped);
    if (error != cudaSuccess) {
      data_ = nullptr;
      fail(error, text("pinning of %.1f MiB of the host's memory", static_cast<double>(count * sizeof(T)) / (1 << 20)).c_str());
    }
  }
  ~Pinned() {
    if (data_ != nullptr) cudaFreeHost(data_);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  T* data() const { return data_; }
  std::size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

class Stream {
 public:
  enum class Rank { plain, first, last };
  explicit Stream(Rank rank = Rank::plain);
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }  // NOLINT: it is one

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  enum class Kind { clock, order };
  explicit Event(Kind kind = Kind::clock) {
    check(cudaEventCreateWithFlags(&event_, kind == Kind::clock ? cudaEventDefault : cudaEventDisableTiming), "cudaEventCreate");
  }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  operator cudaEvent_t() const { return event_; }  // NOLINT: it is one

  void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  // Until the device has come here, asking the host meanwhile whether to stop.
  void wait(const Run& run) const;
  double seconds_since(const Event& earlier) const;  // both have been waited for

 private:
  cudaEvent_t event_ = nullptr;
};

// Waits for all that is on the stream.
void wait_for(const Run& run, cudaStream_t stream);

template <class T>
std::vector<T> copied(const Run& run, const T* device, std::size_t count, cudaStream_t stream) {
  wait_for(run, stream);
  std::vector<T> out(count);
  if (count == 0) return out;
  check(cudaMemcpy(out.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost), "a copy from the device");
  return out;
}

// Calls of `wrong` that one test makes; what is beyond them is told as one sum.
constexpr std::size_t kWrongMax = 64;

// The tests.
void run_link(Run& run);
void run_sweep(Run& run);
void run_hbm(Run& run);
void run_march(Run& run);
void run_gemm(Run& run, Number number);
void run_sustained(Run& run);
void run_pulse(Run& run);
void run_peers(Run& run);
void run_nccl(Run& run);
void run_trial(Run& run);

}  // namespace muster_accept
