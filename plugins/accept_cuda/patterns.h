// The seven patterns of the march: what lies in each 16 bytes of memory, as a function of where they are. Compiled for the GPU
// and for the host alike.
#pragma once
#include <cstdint>

#include "exact.h"

namespace muster_accept {

constexpr int kPatterns = 7;

struct Sixteen {
  std::uint64_t low, high;
};

// `index` counts units of 16 bytes from the beginning of all tested memory. Each bit is both 0 and 1, and differs from both of
// its neighbours, in some pattern; each word holds its own address, so that a row or bank that answers for another one is found;
// the last is a different one for every seed.
template <int kPattern>
MUSTER_BOTH Sixteen pattern_of(std::uint64_t index, std::uint64_t seed) {
  static_assert(kPattern >= 0 && kPattern < kPatterns, "there are seven");
  constexpr std::uint64_t kAlternate = 0x5555555555555555ull;
  if (kPattern == 0) return {0, 0};
  if (kPattern == 1) return {~0ull, ~0ull};
  if (kPattern == 2) return {index * 16, index * 16 + 8};
  if (kPattern == 3) return {~(index * 16), ~(index * 16 + 8)};
  if (kPattern == 4 || kPattern == 5) {
    const std::uint64_t turned = (index & 1) == (kPattern == 4 ? 0 : 1) ? kAlternate : ~kAlternate;
    return {turned, turned};
  }
  std::uint64_t x = (index + seed) * 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93ull;
  x ^= x >> 32;
  return {x, ~(x << 32 | x >> 32) + index};
}

}  // namespace muster_accept
