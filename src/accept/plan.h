// The plan of a profile: which tests, in which order, how long each may take.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/acceptance.h"

namespace muster::accept {

// Of the tests' kernels, shapes and data: raised whenever a figure may change because of them.
constexpr std::string_view kSuiteVersion = "1";

struct Step {
  AcceptTest test = AcceptTest::inventory;
  double seconds = 0;     // that it is asked to take; 0: as long as one pass takes
  double deadline_s = 0;  // after which it is hung
  bool required = true;
};

// In the order in which they run. Of burn: one round of what is repeated.
std::vector<Step> plan_of(AcceptProfile profile);
double seconds_of(std::span<const Step> plan);  // with what tests take beside what they are asked to
// Hash over version, profile, tests and their lengths, in 16 hexadecimal digits.
std::string suite_hash(AcceptProfile profile);
accepting::Suite suite_of(AcceptProfile profile);

}  // namespace muster::accept
