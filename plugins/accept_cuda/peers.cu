// peers: copies between every ordered pair of GPUs that can be seen, and whether what arrives is what was sent. nccl: an
// all-reduce over all of them, by the NCCL that this node has.
#include <dlfcn.h>

#include <algorithm>

#include "device.cuh"
#include "lt.cuh"

namespace muster_accept {
namespace {

constexpr std::size_t kPairBytes = std::size_t{256} << 20;
constexpr int kThreads = 256, kCopies = 7, kRoundsMost = 20;

__global__ void __launch_bounds__(kThreads) send_words(std::uint32_t* out, std::uint64_t count, std::uint32_t seed) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step)
    out[i] = (static_cast<std::uint32_t>(i) + seed) * 0x9E3779B1u;
}

__global__ void __launch_bounds__(kThreads)
    count_differences(const std::uint32_t* in, std::uint64_t count, std::uint32_t seed, unsigned long long* wrong) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * kThreads;
  unsigned int mine = 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step)
    mine += in[i] != (static_cast<std::uint32_t>(i) + seed) * 0x9E3779B1u ? 1 : 0;
  if (mine > 0) atomicAdd(wrong, static_cast<unsigned long long>(mine));
}

int devices() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (count < 2) throw CouldNotRun{"there is only one GPU to be seen"};
  return count;
}

// Whatever becomes of a run on other GPUs: nothing of it stays there, and the run's own GPU is the current one again.
class Others {
 public:
  explicit Others(const Run& run) : own_(run.gpu.number), count_(devices()) {}
  ~Others() {
    for (int d = 0; d < count_; ++d) {
      if (d != own_ && cudaSetDevice(d) == cudaSuccess) cudaDeviceReset();
    }
    cudaSetDevice(own_);
    cudaGetLastError();
  }
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;
  int count() const { return count_; }

 private:
  const int own_, count_;
};

void use(int device) { check(cudaSetDevice(device), "cudaSetDevice"); }

// Both know each other where the driver allows it; elsewhere the driver copies by way of the host.
void open_way(int from, int to) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, from, to), "cudaDeviceCanAccessPeer");
  if (can == 0) return;
  use(from);
  const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
  } else {
    check(error, "cudaDeviceEnablePeerAccess");
  }
}

double pair_gb_s(Run& run, int from, int to) {
  open_way(from, to);
  open_way(to, from);
  use(to);
  const Memory<std::uint32_t> there(kPairBytes / 4);
  const Memory<unsigned long long> wrong(1);
  check(cudaMemset(wrong.data(), 0, sizeof(unsigned long long)), "cudaMemset");
  check(cudaMemset(there.data(), 0, kPairBytes), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaMemset");
  use(from);
  const Memory<std::uint32_t> here(kPairBytes / 4);
  const auto seed = static_cast<std::uint32_t>(mix(run.seed + static_cast<std::uint64_t>(from * 64 + to)));
  std::vector<double> rates;
  {
    const Stream stream;
    send_words<<<1024, kThreads, 0, stream>>>(here.data(), here.size(), seed);
    check_launch("making what is sent");
    for (int i = 0; i < kCopies; ++i) {
      const Event begin, end;
      begin.record(stream);
      check(cudaMemcpyPeerAsync(there.data(), to, here.data(), from, kPairBytes, stream), "cudaMemcpyPeerAsync");
      end.record(stream);
      end.wait(run);
      if (i > 0) rates.push_back(1e-9 * static_cast<double>(kPairBytes) / end.seconds_since(begin));
    }
  }
  use(to);
  const Stream stream;
  count_differences<<<1024, kThreads, 0, stream>>>(there.data(), there.size(), seed, wrong.data());
  check_launch("looking at what arrived");
  const unsigned long long count = copied(run, wrong.data(), 1, stream)[0];
  if (count > 0) run.wrong(text("GPU %d to GPU %d", from, to), count, "words that arrived otherwise than they were sent");
  return median_of(rates);
}

// Of nccl.h what is needed, so that it need not be there to build this.
using Comm = void*;
struct Nccl {
  int (*init_all)(Comm*, int, const int*) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, Comm, cudaStream_t) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*abort)(Comm) = nullptr;
  const char* (*error)(int) = nullptr;
};
constexpr int kFloat = 7, kSum = 0;  // ncclFloat32, ncclSum

constexpr const char* kNcclNames[] = {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2",
                                      "/usr/lib/x86_64-linux-gnu/libnccl.so.2", "/usr/lib/aarch64-linux-gnu/libnccl.so.2",
                                      nullptr};

Nccl open_nccl() {
  std::string why;
  void* library = open_library("MUSTER_NCCL", kNcclNames, &why);
  if (library == nullptr) throw CouldNotRun{"NCCL is not there: " + why};
  Nccl n;
  n.init_all = reinterpret_cast<decltype(n.init_all)>(dlsym(library, "ncclCommInitAll"));
  n.all_reduce = reinterpret_cast<decltype(n.all_reduce)>(dlsym(library, "ncclAllReduce"));
  n.group_start = reinterpret_cast<decltype(n.group_start)>(dlsym(library, "ncclGroupStart"));
  n.group_end = reinterpret_cast<decltype(n.group_end)>(dlsym(library, "ncclGroupEnd"));
  n.abort = reinterpret_cast<decltype(n.abort)>(dlsym(library, "ncclCommAbort"));
  n.error = reinterpret_cast<decltype(n.error)>(dlsym(library, "ncclGetErrorString"));
  if (n.init_all == nullptr || n.all_reduce == nullptr || n.group_start == nullptr || n.group_end == nullptr ||
      n.abort == nullptr || n.error == nullptr)
    throw CouldNotRun{"libnccl.so.2 lacks a function"};
  return n;
}

class Communicator {
 public:
  Communicator(const Nccl& nccl, int count) : nccl_(nccl), comms_(static_cast<std::size_t>(count), nullptr) {
    ask(nccl_.init_all(comms_.data(), count, nullptr), "ncclCommInitAll");
  }
  // Aborted, not destroyed: that waits for nobody.
  ~Communicator() {
    for (Comm c : comms_) {
      if (c != nullptr) nccl_.abort(c);
    }
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  void all_reduce(const std::vector<Memory<float>>& data, const std::vector<std::unique_ptr<Stream>>& streams) const {
    ask(nccl_.group_start(), "ncclGroupStart");
    for (std::size_t d = 0; d < comms_.size(); ++d)
      ask(nccl_.all_reduce(data[d].data(), data[d].data(), data[d].size(), kFloat, kSum, comms_[d], *streams[d]),
          "ncclAllReduce");
    ask(nccl_.group_end(), "ncclGroupEnd");
  }

 private:
  void ask(int result, const char* doing) const {
    if (result != 0) throw CouldNotRun{text("%s: %s", doing, nccl_.error(result))};
  }

  const Nccl& nccl_;
  std::vector<Comm> comms_;
};

}  // namespace

void run_peers(Run& run) {
  const Others others(run);
  const int count = others.count(), pairs = count * (count - 1);
  for (int round = 0; round < kRoundsMost && (round == 0 || run.time_left()); ++round) {
    int pair = 0;
    for (int from = 0; from < count; ++from) {
      for (int to = 0; to < count; ++to) {
        if (from == to) continue;
        run.measured(text("pair_gb_s:%d>%d", from, to), pair_gb_s(run, from, to));
        run.progress(static_cast<double>(++pair) / pairs);
        run.ask();
      }
    }
  }
}

void run_nccl(Run& run) {
  const Others others(run);
  const int count = others.count();
  const Nccl nccl = open_nccl();
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  constexpr int kWarm = 3, kReduces = 5;
  std::vector<Memory<float>> data;
  std::vector<std::unique_ptr<Stream>> streams;
  for (int d = 0; d < count; ++d) {
    use(d);
    data.emplace_back(kBytes / sizeof(float));
    check(cudaMemset(data.back().data(), 0, kBytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaMemset");
    streams.push_back(std::make_unique<Stream>());
  }
  const Communicator comm(nccl, count);
  const auto finish = [&] {
    for (int d = 0; d < count; ++d) wait_for(run, *streams[static_cast<std::size_t>(d)]);
  };
  for (int i = 0; i < kWarm; ++i) comm.all_reduce(data, streams);
  finish();
  for (int round = 0; round < kRoundsMost && (round == 0 || run.time_left()); ++round) {
    const double begin = now_s();
    for (int i = 0; i < kReduces; ++i) comm.all_reduce(data, streams);
    finish();
    const double seconds = (now_s() - begin) / kReduces;
    run.measured("nccl_busbw", 2.0 * (count - 1) / count * 1e-9 * static_cast<double>(kBytes) / seconds);
    run.progress(run.seconds > 0 ? (now_s() - run.begun_s) / run.seconds : 1);
    run.ask();
  }
}

}  // namespace muster_accept
