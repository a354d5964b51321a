// Products whose every result is known beforehand: their data, and the checksum over each row that no tensor core has a part in.
// Compiled for the GPU and for the host alike, so that the arithmetic is proven where there is no GPU.
//
// Data are small integers, given by a function of seed, matrix, row and column: nothing that is stored is trusted. The results
// D(r, c) = sum over k of X(r, k) * Y(c, k) and all their partial sums are integers below 2^24, exact in fp32 in any order of
// summation. Of each row the sum of weight(c) * D(r, c) modulo 2^64 is expected; weights are odd, hence units modulo 2^64, so one
// wrong result in a row is always noticed, and several escape with a chance of 2^-31.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define MUSTER_BOTH __host__ __device__ __forceinline__
#else
#define MUSTER_BOTH inline
#endif

namespace muster_accept {

// Every bit of the result depends on every bit of x, and no two x give the same (splitmix64).
MUSTER_BOTH std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

enum class Number : std::uint8_t { bf16, fp16, fp8, tf32, int8 };
constexpr int kNumbers = 5;
constexpr const char* kNumberNames[kNumbers] = {"bf16", "fp16", "fp8", "tf32", "int8"};
constexpr std::uint32_t kNumberBytes[kNumbers] = {2, 2, 1, 4, 1};

constexpr std::uint32_t kAllBytes = 255;  // of Exact::reach: every value of a byte
constexpr std::uint32_t kGroup = 8;       // numbers along a row that come from one hash
constexpr std::int32_t kWhole = 1 << 24;  // fp32 holds every integer up to here

// One product: X has `rows` rows, Y `columns`, both of length `depth`. A reach of 31 means the odd numbers from -31 to 31.
struct Exact {
  Number number;
  std::uint32_t rows, columns, depth;
  std::uint32_t reach_x, reach_y;
};

// Odd numbers only, and the last column of X zero (int8 has its sign apart, and needs neither): depth - 1 odd terms make an odd
// sum, so that no result is zero and a flipped sign of zero is nothing to miss. The depth makes a product long beside its check.
// fp8: tensor cores of Hopper keep 14 bits while they add up 128 products or more; sums of +-1 and +-3 stay far below that.
constexpr Exact exact_of(Number n) {
  return n == Number::bf16   ? Exact{n, 8192, 8192, 16384, 31, 31}
         : n == Number::fp16 ? Exact{n, 8192, 8192, 16384, 31, 31}
         : n == Number::fp8  ? Exact{n, 8192, 8192, 32768, 3, 3}
         : n == Number::tf32 ? Exact{n, 8192, 8192, 8192, 63, 31}
                             : Exact{n, 8192, 8192, 32768, kAllBytes, kAllBytes};
}

enum class Matrix : std::uint8_t { x, y };

struct Keys {  // of one set of data
  std::uint64_t x, y, weights;
};
MUSTER_BOTH Keys keys_of(std::uint64_t seed) { return {mix(seed * 3), mix(seed * 3 + 1), mix(seed * 3 + 2)}; }

// Eight bytes from which eight numbers of a row are made.
MUSTER_BOTH std::uint64_t group_of(std::uint64_t key, std::uint32_t row, std::uint32_t group) {
  return mix(key ^ (static_cast<std::uint64_t>(row) << 32 | group));
}

MUSTER_BOTH std::int32_t number_of(std::uint32_t byte, std::uint32_t reach) {
  if (reach == kAllBytes) return static_cast<std::int8_t>(static_cast<std::uint8_t>(byte));
  return 2 * static_cast<std::int32_t>(byte & reach) - static_cast<std::int32_t>(reach);
}

// Number j (0 to 7) of a group.
MUSTER_BOTH std::int32_t member_of(const Exact& e, Matrix matrix, std::uint64_t bytes, std::uint32_t group, std::uint32_t j) {
  if (matrix == Matrix::x && e.number != Number::int8 && group * kGroup + j == e.depth - 1) return 0;
  return number_of(static_cast<std::uint32_t>(bytes >> (8 * j)) & 255u, matrix == Matrix::x ? e.reach_x : e.reach_y);
}

MUSTER_BOTH std::int32_t weight_of(std::uint64_t key, std::uint32_t column) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(mix(key ^ column) >> 32) | 1u);
}

// What X(row) times Y(column) gives over one group.
MUSTER_BOTH std::int64_t group_product(const Exact& e, const Keys& keys, std::uint32_t row, std::uint32_t column,
                                       std::uint32_t group) {
  const std::uint64_t x = group_of(keys.x, row, group), y = group_of(keys.y, column, group);
  std::int64_t sum = 0;
  for (std::uint32_t j = 0; j < kGroup; ++j)
    sum += static_cast<std::int64_t>(member_of(e, Matrix::x, x, group, j)) * member_of(e, Matrix::y, y, group, j);
  return sum;
}

// The result itself. Slow: for what must be looked at one by one.
MUSTER_BOTH std::int64_t result_of(const Exact& e, const Keys& keys, std::uint32_t row, std::uint32_t column) {
  std::int64_t sum = 0;
  for (std::uint32_t g = 0; g < e.depth / kGroup; ++g) sum += group_product(e, keys, row, column, g);
  return sum;
}

MUSTER_BOTH std::uint64_t weighed(std::int32_t weight, std::int32_t value) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(weight) * value);
}

// A result of fp32 as the integer that it must be; false: it is none (NaN, infinity, a fraction, beyond 2^24). `whole` is then
// whatever the hardware makes of it.
MUSTER_BOTH bool is_whole(float v, std::int32_t* whole) {
#ifdef __CUDA_ARCH__
  *whole = __float2int_rn(v);
#else
  *whole = v >= -2147483648.0f && v < 2147483648.0f ? static_cast<std::int32_t>(std::lrintf(v)) : 0;
#endif
  return fabsf(v) <= static_cast<float>(kWhole) && static_cast<float>(*whole) == v;
}

MUSTER_BOTH float float_of(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
#endif
}

// Whether a result as it lies in memory, fp32 or int32, is the integer that it must be.
MUSTER_BOTH bool is_right(Number n, std::uint32_t bits, std::int64_t expected) {
  if (n == Number::int8) return static_cast<std::int32_t>(bits) == expected;
  std::int32_t whole = 0;
  return is_whole(float_of(bits), &whole) && whole == expected;
}

}  // namespace muster_accept
