// What a policy of testing costs, and what it saves: GPU-hours spent on tests against those that slow and lying GPUs cost until
// somebody finds them.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/acceptance.h"

namespace muster::trial {

// What nobody publishes is assumed; each is said where a result is.
struct AcceptCosts {
  double slow_per_gpu_h = 1.6e-7;     // GPUs that become slow: ByteRobust, MFU decline is 0.8 % of incidents
  double lying_per_gpu_h = 2.83e-7;   // ... that begin to compute wrongly: Llama 3 report, 6 silent corruptions
  double returns_per_gpu_h = 1.7e-5;  // faults of all kinds: after each its node is repaired, and tested before it returns
  double gang_gpus = 256;             // that wait for the slowest of them
  double bound_share = 0.7;           // of their time that is bound by what is slow
  double lying_share = 0.1;           // of a gang's work beside a lying GPU that is done once more when it comes out
  double slow_known_h = 24;           // a GPU that is 15 % slow, or more, stands out in its job after so long without any test
  double lying_known_h = 720;         // and a lying one by what becomes of jobs
  double horizon_h = 8760;            // what nobody finds goes on for so long
  double around_s = 60;               // of a node for each test beside the test itself: to begin it and to return
  std::uint64_t seed = 1;
  std::uint32_t drawn = 20'000;  // faults
};

// One kind of fault and what a test does with it.
struct FaultClass {
  bool lying = false;
  double size = 0;                // how much slower, as a share
  std::array<double, 2> found{};  // that one test finds it: quick, accept
};

struct TestPolicy {
  std::string name;
  bool at_return = false;  // quick, whenever a node comes back from a repair
  AcceptProfile profile = AcceptProfile::quick;
  double every_h = 0;  // of each node; 0: never
};

// A year of 1,024 GPUs.
struct PolicyCost {
  TestPolicy policy;
  double tests = 0;         // of a GPU
  double tested_gpu_h = 0;  // spent on them
  double caught = 0;        // share of faults that a test finds before anything else does
  double slow_gpu_h = 0;    // lost to slow GPUs, and to lying ones, until they are found
  double lying_gpu_h = 0;
  double total() const { return tested_gpu_h + slow_gpu_h + lying_gpu_h; }
};

// The cheapest way to test, if what undetected faults cost were so many times what is assumed.
struct BestPolicy {
  double times = 1;
  PolicyCost cost;
};

// Faults of the classes are taken to be equally likely, slow ones and lying ones each among themselves.
PolicyCost cost_of(const TestPolicy& policy, const std::vector<FaultClass>& classes, const AcceptCosts& assumed);
std::vector<TestPolicy> usual_policies();
// Over both profiles and intervals from a day to a year, all with a test at each return.
BestPolicy best_policy(const std::vector<FaultClass>& classes, const AcceptCosts& assumed, double times);

}  // namespace muster::trial
