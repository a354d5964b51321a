// A kernel that writes where nothing is: an Xid 31. Prints when it was launched and when the error came (CLOCK_MONOTONIC, ns).
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>
static long long now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
__global__ void wild(int* p) { p[threadIdx.x] = 1; }
int main() {
  int* good = nullptr;
  if (cudaMalloc(&good, 4096) != cudaSuccess) return 2;
  wild<<<1, 32>>>(good);
  if (cudaDeviceSynchronize() != cudaSuccess) return 3;
  const long long launched = now();
  wild<<<1, 32>>>((int*)0x7f00000000ULL);
  const cudaError_t e = cudaDeviceSynchronize();
  const long long failed = now();
  std::printf("{\"pid\": %d, \"launched\": %lld, \"failed\": %lld, \"error\": \"%s\"}\n", getpid(), launched, failed,
              cudaGetErrorName(e));
  std::fflush(stdout);
  _exit(0);
}
