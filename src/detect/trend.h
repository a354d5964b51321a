// Errors that multiply: corrected memory errors and link errors come before failures. A rate that is several times the part's own
// usual one, for several spans of time in a row, is a warning with a probability. Fast ones show over an hour, slow ones over
// half a day.
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
  static constexpr std::size_t kKinds = 3, kScales = 2;
  struct Course {
    float count = 0;           // in the span that is open
    float usual = 0;           // per span, decaying mean
    float known = 0;           // spans behind that mean
    std::int32_t began_s = 0;  // of the open span, mono
    std::uint8_t hot = 0;      // spans in a row far above it
  };
  struct Part {
    float last = -1;  // of the counter; exact enough for differences of errors that are still few
    std::array<Course, kScales> courses;
  };
  // How many times its usual rate it has, where that is a warning; else 0.
  float look(Course& c, std::size_t scale, std::int32_t now_s);

  std::uint32_t slots_;
  std::vector<std::array<Part, kKinds>> parts_;
};

}  // namespace muster::detect
