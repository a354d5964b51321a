// What a bench and its processes say to each other: packets of one size each, so that nothing is parsed, nothing grows, and
// whatever a broken process writes is at worst a wrong number.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/text.h"

namespace muster::bench {

// From the bench to a process.
struct Order {
  enum class Kind : std::uint32_t {
    open,      // worker: load the tests, take the GPU
    run,       // worker: one test
    end,       // both: close and exit
    who,       // watcher, from here on: who the GPUs are
    look,      // who uses them, and how much
    counters,
    sample,    // tell power, clocks and heat of the GPUs in `mask` from now on
    rest,      // no more of that
  };
  Kind kind = Kind::end;
  std::uint32_t number = 0;  // comes back with each part of the answer
  std::uint64_t mask = 0;    // bit g: GPU g
  std::uint64_t seed = 0;
  double seconds = 0;
  char test[32] = {};
  char plant[64] = {};
};

// From a process to the bench.
struct Said {
  enum class Kind : std::uint32_t {
    opened,    // worker: value 0 SMs, 1 bytes of memory, 2 CUDA's version of the driver, 3 of the runtime, 4 of cublasLt; model
    broken,    // worker: it cannot open; watcher: value 0 is what NVML answered, -1 where the library is not there. text: why
    measured,  // name, value 0
    held,      // name, value 0, 1 begun, 2 took, 3 MHz
    wrong,     // name: the place; count; text
    progress,  // value 0
    done,      // count: what the test returned; text: why
    fact,      // watcher, from here on: of `gpu`, or of the node (-1): name, text
    figure,    // name, value 0
    reading,   // value 0 at, 1 W, 2 MHz, 3 degrees of the GPU, 4 of its memory, 5 link generation, 6 lanes; count: reasons
    xid,       // count: the code
    answered,  // all of the answer to `number` is told
  };
  Kind kind = Kind::done;
  std::int32_t gpu = -1;
  std::uint32_t number = 0;
  std::uint64_t count = 0;
  double value[7] = {};
  char name[64] = {};
  char text[320] = {};
};

template <std::size_t N>
void put(char (&field)[N], std::string_view text) {
  const std::size_t n = std::min(text.size(), N - 1);
  std::memcpy(field, text.data(), n);
  field[n] = '\0';
}

// Whatever is in it, as text that a terminal and JSON can carry.
template <std::size_t N>
std::string get(const char (&field)[N]) {
  return printable(clipped({field, strnlen(field, N)}, N));
}

}  // namespace muster::bench
