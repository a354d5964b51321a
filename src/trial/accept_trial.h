// The policy of acceptance, tried on a simulated fleet with the judge that judges real ones: how many healthy GPUs it fails,
// which share of planted faults it finds, beside the rules that other tools go by; and what testing costs against what it saves.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trial/accept_costs.h"
#include "trial/accept_fleet.h"

namespace muster::trial {

struct AcceptTrialOptions {
  std::uint32_t gpus = 1024;    // that limits come from; rounded up to whole nodes of eight
  std::uint32_t runs = 50;      // times as many healthy GPUs are tested, each a card of its own
  std::uint32_t planted = 512;  // GPU runs with each fault
  double bad_share = 0.01;      // of the fleet that limits come from: slow themselves, by 3 to 15 %
  std::uint64_t seed = 1;
  AcceptSpread spread;
  AcceptCosts costs;
  std::function<void(double)> progress;  // share done; may be empty
};

// Of so many tried, so many; and what can be said of the true share with 95 % confidence.
struct FoundShare {
  std::uint64_t tried = 0, found = 0;
  double share() const { return tried == 0 ? 0 : static_cast<double>(found) / static_cast<double>(tried); }
  double at_least() const;
};

// How much slower, as a share.
constexpr std::array<double, 7> kSlowSizes = {0.01, 0.02, 0.03, 0.05, 0.08, 0.15, 0.33};

struct SlowFound {
  SlowPart part = SlowPart::unit;
  std::array<FoundShare, kSlowSizes.size()> by_size{};
};

struct RuleTried {
  std::string name;
  AcceptProfile profile = AcceptProfile::quick;
  std::uint64_t runs = 0, failures = 0;  // of healthy GPUs
  std::uint64_t repeated = 0;            // GPUs of which a test was run once more
  std::vector<SlowFound> slow;
  double per_10000() const { return runs == 0 ? 0 : 1e4 * static_cast<double>(failures) / static_cast<double>(runs); }
  double per_10000_at_most() const;  // with 95 % confidence
};

struct LieTried {
  std::string what;
  Planted planted;
  FoundShare quick, accept;
  std::optional<bool>
      first_result;  // comparing products with the first one, as burn-in tools do, can find it; none: not its matter
};

struct AcceptTrial {
  std::uint64_t seed = 1;
  std::uint32_t gpus = 0;
  std::vector<RuleTried> rules;  // ours, by quick, by accept, with each GPU's own past; then those of others
  std::vector<LieTried> lies;
  AcceptSpread spread;
  AcceptCosts assumed;
  std::vector<PolicyCost> policies;
  std::vector<BestPolicy> best;
};

AcceptTrial try_acceptance(const AcceptTrialOptions& options);

}  // namespace muster::trial
