// Flips single bits of a journal file and asks verify to name the event that changed.
#pragma once
#include <cstdint>
#include <string>

namespace muster::powercut {

struct FlipTally {
  std::uint64_t flips = 0;
  std::uint64_t changed = 0;   // flips after which some event reads differently, or not at all
  std::uint64_t named = 0;     // ... and verify names the first such event
  std::uint64_t misnamed = 0;  // ... and verify names another
  std::uint64_t missed = 0;    // ... and verify sees nothing
  std::uint64_t refused = 0;   // the file is not recognised any more
  std::uint64_t harmless = 0;  // no event differs
  std::string first;           // the first failure, in words
};

FlipTally flip_bits(std::uint64_t flips, std::uint64_t seed);

}  // namespace muster::powercut
