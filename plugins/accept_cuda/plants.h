// Faults that are planted to prove that they are found: which kinds there are, and where each is put. A plan is a function of the
// seed alone. Compiled for the GPU and for the host alike.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string>

#include "exact.h"

namespace muster_accept {

enum class Fault : std::uint8_t { none, bit, bits, nan, repeat, row, address, sm, slow_sm, clock };
constexpr int kFaults = 10;
constexpr const char* kFaultNames[kFaults] = {"none", "bit", "bits", "nan", "repeat", "row", "address", "sm", "slow_sm", "clock"};

struct Plant {
  Fault fault = Fault::none;
  std::uint64_t count = 0;
};

constexpr std::uint64_t kPlantsMax = 1000000;

// "bit:640". False: it is not one of these. Empty: no fault.
inline bool parse_plant(const std::string& text, Plant* out) {
  *out = {};
  if (text.empty()) return true;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon + 1 == text.size() || text.size() - colon > 8) return false;
  for (std::size_t i = colon + 1; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
  }
  out->count = std::strtoull(text.c_str() + colon + 1, nullptr, 10);
  for (int i = 1; i < kFaults; ++i) {
    if (text.compare(0, colon, kFaultNames[i]) == 0) out->fault = static_cast<Fault>(i);
  }
  return out->fault != Fault::none && out->count >= 1 && out->count <= kPlantsMax;
}

constexpr bool is_of_products(Fault f) {
  return f == Fault::bit || f == Fault::bits || f == Fault::nan || f == Fault::repeat || f == Fault::row;
}

// A fault in a result: `mask` is flipped in it; of a NaN `mask` takes its place; of a stuck row the row after it is copied there.
struct Flip {
  std::uint32_t row, column, mask;
};

// The `i`-th of the faults of one product, i below rows / 2. Each is in a row of its own: of an affine map modulo a power of two
// with an odd factor no two images are the same. A stuck row has an even number, so that the one after it is nobody's plant.
MUSTER_BOTH Flip flip_of(Fault fault, std::uint64_t seed, std::uint32_t product, std::uint32_t i, std::uint32_t rows,
                         std::uint32_t columns) {
  const std::uint64_t turn = mix(mix(seed + 0x51) ^ product);
  const std::uint32_t among = fault == Fault::row ? rows / 2 : rows;
  const std::uint32_t at = ((static_cast<std::uint32_t>(turn) | 1u) * i + static_cast<std::uint32_t>(turn >> 32)) & (among - 1);
  const std::uint64_t h = mix(turn ^ (static_cast<std::uint64_t>(i) + 1));
  Flip f = {fault == Fault::row ? 2 * at : at, static_cast<std::uint32_t>(h) % columns, 1u << (h >> 32 & 31)};
  if (fault == Fault::bits) {
    f.mask |= static_cast<std::uint32_t>(mix(h)) & static_cast<std::uint32_t>(mix(h) >> 32);
    if ((f.mask & (f.mask - 1)) == 0) f.mask |= f.mask == 1u << 31 ? 1u : f.mask << 1;  // two at least
  }
  if (fault == Fault::nan) f.mask = 0x7F800001u | (static_cast<std::uint32_t>(h >> 40) & 0x807FFFFFu);
  return f;
}

// A fault in memory: bits of the 4-byte word with this number, all words of one march together. `i` of `count`; each in a stretch
// of its own, so that no word has two.
struct WordFlip {
  std::uint64_t word;
  std::uint32_t mask;
};
MUSTER_BOTH WordFlip word_flip_of(std::uint64_t seed, std::uint64_t i, std::uint64_t count, std::uint64_t words) {
  const std::uint64_t h = mix(mix(seed + 0xADD) ^ i), stretch = words / count;
  return {i * stretch + mix(h) % stretch, 1u << (h & 31)};
}

// An SM and one of its units; `i` of at most sms * units in one sweep, no two the same: steps of a number without a divisor in
// common with sms * units.
struct Spot {
  std::uint32_t sm, unit;
};
inline std::uint32_t divisor_in_common(std::uint32_t a, std::uint32_t b) { return b == 0 ? a : divisor_in_common(b, a % b); }
inline Spot spot_of(std::uint64_t seed, std::uint64_t sweep, std::uint32_t i, std::uint32_t sms, std::uint32_t units) {
  const std::uint64_t h = mix(mix(seed + 0x5A) ^ sweep);
  const std::uint32_t all = sms * units;
  std::uint32_t step = static_cast<std::uint32_t>(h) % all | 1u;
  while (divisor_in_common(step, all) != 1) step = (step + 2) % all | 1u;
  const auto at = static_cast<std::uint32_t>((static_cast<std::uint64_t>(step) * i + (h >> 32)) % all);
  return {at / units, at % units};
}

}  // namespace muster_accept
