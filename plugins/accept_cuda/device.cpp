// The GPU that is opened, and the small things that every test does.
#include "device.cuh"

#include <time.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace muster_accept {

std::string text(const char* format, ...) {
  char out[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(out, sizeof out, format, arguments);
  va_end(arguments);
  return out;
}

void fail(cudaError_t error, const char* doing) {
  std::string why = text("%s: %s", doing, cudaGetErrorString(error));
  cudaGetLastError();  // one that does not stay is forgotten
  if (error == cudaErrorMemoryAllocation) {
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
      why += text(" (%.1f of %.1f GiB are free)", static_cast<double>(free) / (1ull << 30),
                  static_cast<double>(total) / (1ull << 30));
    }
  } else if (error == cudaErrorDevicesUnavailable) {
    why += ": another process has the GPU for itself, or its compute mode forbids";
  } else {
    why += text(" (%s)", cudaGetErrorName(error));
  }
  throw CouldNotRun{why};
}

double now_s() {
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle] + *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle))) / 2;
}

Run::Run(Gpu& the_gpu, const muster_accept_task& task, const muster_accept_host& host, const Plant& the_plant)
    : gpu(the_gpu),
      seconds(task.seconds > 0 ? task.seconds : 0),
      begun_s(now_s()),
      seed(task.seed),
      plant(the_plant),
      host_(host) {}

void Run::ask() const {
  if (host_.stop != nullptr && host_.stop(host_.self) != 0) throw Stopped{};
}

void Run::tell_planted(std::uint64_t planted, std::uint64_t found, std::uint64_t in_place) const {
  measured("planted", static_cast<double>(planted));
  measured("found", static_cast<double>(found));
  measured("found_in_place", static_cast<double>(in_place));
}

Stream::Stream(Rank rank) {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  const int priority = rank == Rank::first ? greatest : rank == Rank::last ? least : (least + greatest) / 2;
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority), "cudaStreamCreate");
}

namespace {

constexpr double kAskEvery_s = 0.005;

// Not by cudaEventSynchronize, which nothing interrupts.
template <class Query>
void poll(const Run& run, Query query) {
  double asked = now_s();
  for (;;) {
    const cudaError_t state = query();
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) fail(state, "waiting for the GPU");
    cudaGetLastError();  // "not ready" would be taken for the error of the next launch
    const double now = now_s();
    if (now - asked > kAskEvery_s) {
      run.ask();
      asked = now;
    }
    const timespec nap = {0, 20000};
    nanosleep(&nap, nullptr);
  }
}

}  // namespace

void Event::wait(const Run& run) const {
  poll(run, [&] { return cudaEventQuery(event_); });
}

double Event::seconds_since(const Event& earlier) const {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, earlier, event_), "cudaEventElapsedTime");
  return 1e-3 * static_cast<double>(ms);
}

void wait_for(const Run& run, cudaStream_t stream) {
  poll(run, [&] { return cudaStreamQuery(stream); });
}

}  // namespace muster_accept
