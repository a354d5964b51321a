// hog SHARE SECONDS [busy]: holds that share of the GPU's free memory for so many seconds, or until it is ended, and keeps its
// multiprocessors busy if it is told to. It says "ready" when it has what it holds.
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

// A twentieth of a second, so that whoever ends this program need not wait for a kernel.
__global__ void spin() {
  const long long begun = clock64();
  while (clock64() - begun < 75000000) {
  }
}

double now_s() {
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  const double share = argc > 1 ? std::atof(argv[1]) : 0.5, seconds = argc > 2 ? std::atof(argv[2]) : 10;
  std::size_t free = 0, total = 0;
  void* held = nullptr;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return 2;
  if (cudaMalloc(&held, static_cast<std::size_t>(share * static_cast<double>(free))) != cudaSuccess) return 3;
  std::printf("ready\n");
  std::fflush(stdout);
  for (const double end = now_s() + seconds; now_s() < end;) {
    const timespec nap = {0, 20000000};
    if (argc <= 3) {
      nanosleep(&nap, nullptr);
      continue;
    }
    spin<<<1024, 256>>>();
    if (cudaDeviceSynchronize() != cudaSuccess) return 4;
  }
}
