// What bounds a job, from its profile: shares of the step, and what would make it faster, by how much, each tried on a replay of
// the profile.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "diagnose/physics.h"
#include "diagnose/replay.h"
#include "diagnose/timeline.h"

namespace muster::diagnose {

enum class Bound : std::uint8_t { compute, memory, communication, input, launch, sync, copy, pipeline, dependency, other };
constexpr std::size_t kBounds = 10;
constexpr std::array<std::string_view, kBounds> names(Bound) {
  return {"compute", "memory", "communication", "input", "launch", "sync", "copy", "pipeline", "dependency", "other"};
}
using Shares = std::array<double, kBounds>;  // percent of the steps; they sum to 100

struct Verdict {
  Bound bound = Bound::other;  // one of the first eight, but where nothing is known
  std::string sentence;
  Confidence confidence = Confidence::low;
  bool nameless = false;  // more of the step than that is idle for a reason that has no name
};

// One rank's profile, taken apart.
struct Profile {
  const Trace* trace = nullptr;
  std::string file;
  Timeline line;
  Physics kernels;
  Shares shares{};
  double replay_error = 1;  // of the step, with nothing changed; known once it has been played again
};

std::string ms_words(double ms);  // "40.1 ms", "12.9 s"

// The profile must stay where it is as long as its replay is used.
Replay play_again(Profile& p);
Profile take_apart(const Trace& trace, std::string file, const Peaks& peaks, std::span<const std::int64_t> waits = {});
Shares shares_of(const PartTimes& parts, const Physics& kernels);
Verdict verdict_of(std::span<const Profile> ranks);

// Those that come of one rank's profile, what costs most first.
std::vector<Finding> profile_findings(const Profile& p, const Replay& replay, const Peaks& peaks, const Verdict& verdict);

// What the profile cannot say, and what would let it: "no shapes: record_shapes=True".
std::vector<std::string> shortcomings(std::span<const Profile> ranks, const Peaks& peaks);

}  // namespace muster::diagnose
