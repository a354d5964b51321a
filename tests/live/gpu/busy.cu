// Arithmetic and memory traffic on every multiprocessor for so many seconds.
#include <cstdio>
#include <cstdlib>
#include <ctime>
__global__ void burn(float4* a, size_t n, int rounds) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  for (size_t k = i; k < n; k += gridDim.x * (size_t)blockDim.x) {
    float4 v = a[k];
    for (int r = 0; r < rounds; ++r) {
      v.x = v.x * 1.0001f + v.y;
      v.y = v.y * 0.9999f + v.z;
      v.z = v.z * 1.0002f + v.w;
      v.w = v.w * 0.9998f + v.x;
    }
    a[k] = v;
  }
}
int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 10;
  const size_t n = (size_t)4 << 30 >> 4;
  float4* a = nullptr;
  if (cudaMalloc(&a, n * 16) != cudaSuccess) return 2;
  cudaMemset(a, 1, n * 16);
  const time_t end = time(nullptr) + (time_t)seconds;
  long laps = 0;
  while (time(nullptr) < end) {
    for (int k = 0; k < 20; ++k, ++laps) burn<<<132 * 8, 256>>>(a, n, 64);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
  }
  std::printf("%ld laps\n", laps);
}
