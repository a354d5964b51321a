// Errors that multiply: corrected memory errors and link errors come before failures. A rate that is several times the part's own
// usual one, three times in a row, is a warning with a probability.
#pragma once
#include <array>
#include <vector>

#include "detect/growth.h"
#include "detect/sign.h"

namespace muster::detect {

class Trend {
 public:
  explicit Trend(const Site& site);
  void on_sample(const Sample& m, Time mono, Signs& out);

 private:
  struct Course {
    float last = -1;           // of the counter; exact enough for differences of errors that are still few
    float count = 0;           // in the bucket that is open
    float usual = 0;           // per bucket, decaying mean
    float known = 0;           // buckets behind that mean
    std::int32_t began_s = 0;  // of the open bucket, mono
    std::uint8_t hot = 0;      // buckets in a row far above it
  };
  std::uint32_t slots_;
  std::vector<std::array<Course, 3>> courses_;
};

}  // namespace muster::detect
