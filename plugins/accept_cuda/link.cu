// link: what the GPU and its host say to each other: copies of large and of four bytes, launches, graphs, and a flag that goes
// there and back through memory that both see. No wait is without end, on neither side.
#include <algorithm>
#include <functional>

#include "device.cuh"

namespace muster_accept {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{256} << 20;
constexpr int kCopies = 5, kSmallRepeats = 200, kLaunches = 200, kGraphNodes = 200, kPings = 500, kPingWarm = 50;
constexpr int kRoundsMost = 50;
// The device goes after 40 ms, answered or not; the host waits a little longer for one answer.
constexpr double kPingPatience_s = 0.06;
constexpr unsigned long long kPingPatience_ns = 40000000;
constexpr long long kPingPatienceCycles = 100000000;

__global__ void nothing() {}

__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

// Answers 1, 2, 3 ... with the same number, and goes when its time is over.
__global__ void answer_pings(volatile unsigned int* asked, volatile unsigned int* answered, unsigned int count) {
  const unsigned long long begin = nanoseconds();
  const long long first = clock64();
  for (unsigned int i = 1; i <= count; ++i) {
    while (*asked < i) {
      if (nanoseconds() - begin > kPingPatience_ns || clock64() - first > kPingPatienceCycles) return;
    }
    *answered = i;
    __threadfence_system();
  }
}

double gb_s(const Run& run, double bytes, const std::function<void()>& launch, const Stream& a, const Stream& b) {
  std::vector<double> rates;
  for (int i = 0; i < kCopies; ++i) {
    const Event begin, end;
    const Event joined(Event::Kind::order);
    begin.record(a);
    check(cudaStreamWaitEvent(b, begin, 0), "cudaStreamWaitEvent");
    launch();
    joined.record(b);
    check(cudaStreamWaitEvent(a, joined, 0), "cudaStreamWaitEvent");
    end.record(a);
    end.wait(run);
    rates.push_back(1e-9 * bytes / end.seconds_since(begin));
  }
  return median_of(rates);
}

void copies(Run& run, const Pinned<unsigned char>& out, const Pinned<unsigned char>& in, const Memory<unsigned char>& there) {
  const Stream a, b;
  const auto size = static_cast<double>(kCopyBytes);
  const auto to = [&] {
    check(cudaMemcpyAsync(there.data(), out.data(), kCopyBytes, cudaMemcpyHostToDevice, a), "a copy to the device");
  };
  const auto from = [&](cudaStream_t stream) {
    check(cudaMemcpyAsync(in.data(), there.data() + kCopyBytes, kCopyBytes, cudaMemcpyDeviceToHost, stream),
          "a copy from the device");
  };
  run.measured("h2d_gb_s", gb_s(run, size, to, a, b));
  run.measured("d2h_gb_s", gb_s(
                               run, size, [&] { from(a); }, a, b));
  run.measured("both_gb_s", gb_s(
                                run, 2 * size, [&] { to(), from(b); }, a, b));
}

template <class Once>
double median_us(int repeats, Once once) {
  std::vector<double> us;
  for (int i = 0; i < repeats; ++i) {
    const double begin = now_s();
    once();
    us.push_back(1e6 * (now_s() - begin));
  }
  return median_of(us);
}

void launches(Run& run, const Pinned<unsigned char>& out, const Memory<unsigned char>& there) {
  const Stream stream;
  nothing<<<1, 1, 0, stream>>>();
  check_launch("an empty kernel");
  check(cudaStreamSynchronize(stream), "an empty kernel");
  run.measured("copy_us", median_us(kSmallRepeats, [&] {
                 check(cudaMemcpyAsync(there.data(), out.data(), 4, cudaMemcpyHostToDevice, stream), "a copy to the device");
                 check(cudaStreamSynchronize(stream), "a copy to the device");
               }));
  run.ask();
  // The host's side alone: what the device does meanwhile is waited for outside of the time.
  std::vector<double> us;
  for (int batch = 0; batch < 5; ++batch) {
    const double begin = now_s();
    for (int i = 0; i < kLaunches; ++i) nothing<<<1, 1, 0, stream>>>();
    us.push_back(1e6 * (now_s() - begin) / kLaunches);
    check_launch("an empty kernel");
    check(cudaStreamSynchronize(stream), "an empty kernel");
  }
  run.measured("launch_us", median_of(us));
  run.ask();
  run.measured("launch_sync_us", median_us(kSmallRepeats, [&] {
                 nothing<<<1, 1, 0, stream>>>();
                 check(cudaStreamSynchronize(stream), "an empty kernel");
               }));
  check_launch("an empty kernel");
}

struct GraphOwner {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  ~GraphOwner() {
    if (ready != nullptr) cudaGraphExecDestroy(ready);
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
};

void graphs(Run& run) {
  const Stream stream;
  GraphOwner g;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (int i = 0; i < kGraphNodes; ++i) nothing<<<1, 1, 0, stream>>>();
  check(cudaStreamEndCapture(stream, &g.graph), "cudaStreamEndCapture");
  check(cudaGraphInstantiate(&g.ready, g.graph, 0), "cudaGraphInstantiate");
  const auto once = [&] {
    check(cudaGraphLaunch(g.ready, stream), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream), "a graph");
  };
  once();
  run.measured("graph_node_us", median_us(20, once) / kGraphNodes);
}

// Microseconds there and back; below 0: the other side did not answer.
double ping_us(Run& run) {
  const Pinned<unsigned int> flags(64);  // asked, answered: in cache lines of their own
  std::fill_n(flags.data(), 64, 0u);
  unsigned int* seen = nullptr;
  check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&seen), flags.data(), 0), "cudaHostGetDevicePointer");
  unsigned int* const asked = flags.data();
  const unsigned int* const answered = flags.data() + 32;
  const Stream stream;
  answer_pings<<<1, 1, 0, stream>>>(seen, seen + 32, kPings);
  check_launch("a ping");
  std::vector<double> us;
  bool lost = false;
  for (unsigned int i = 1; i <= kPings && !lost; ++i) {
    const double begin = now_s();
    __atomic_store_n(asked, i, __ATOMIC_RELEASE);
    double now = begin;
    while (__atomic_load_n(answered, __ATOMIC_ACQUIRE) < i && !lost) {
      now = now_s();
      lost = now - begin > kPingPatience_s;
    }
    if (i > kPingWarm) us.push_back(1e6 * (now_s() - begin));
  }
  wait_for(run, stream);  // it goes by itself, when no more is asked
  return lost ? -1 : median_of(us);
}

}  // namespace

void run_link(Run& run) {
  const Pinned<unsigned char> out(kCopyBytes), in(kCopyBytes);
  const Memory<unsigned char> there(2 * kCopyBytes);
  for (std::size_t i = 0; i < kCopyBytes; i += 8) {
    const std::uint64_t x = (i + run.seed) * 0x9E3779B97F4A7C15ull;
    std::copy_n(reinterpret_cast<const unsigned char*>(&x), 8, out.data() + i);
  }
  check(cudaMemcpy(there.data() + kCopyBytes, out.data(), kCopyBytes, cudaMemcpyHostToDevice), "a copy to the device");
  for (int round = 0; round < kRoundsMost && (round == 0 || run.time_left()); ++round) {
    copies(run, out, in, there);
    // What came back is what went there: the link carries what it is given.
    for (std::size_t i = 0; i < kCopyBytes && round == 0; i += 4096) {
      if (std::equal(in.data() + i, in.data() + i + 4096, out.data() + i)) continue;
      run.wrong("host link", 1, text("bytes from %zu on came back otherwise than they were sent", i));
      break;
    }
    run.ask();
    launches(run, out, there);
    graphs(run);
    run.ask();
    const double us = ping_us(run);
    if (us >= 0) run.measured("ping_us", us);
    run.progress(run.seconds > 0 ? (now_s() - run.begun_s) / run.seconds : 1);
    run.ask();
  }
}

}  // namespace muster_accept
