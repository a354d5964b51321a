// Profiles of several ranks of one job, against each other: no clock of theirs need agree. An exchange ends on all at once, so
// the rank that is in it the shortest came last, and what the others are in it longer they waited for that one.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnose/finding.h"
#include "diagnose/profile.h"

namespace muster::diagnose {

struct RankWaits {
  std::vector<std::vector<std::int64_t>> by_event;  // by trace, then by its GPU event: how long that only waited
  struct Step {
    std::string name;                     // the mark's; printable
    std::vector<std::int64_t> ns;         // by trace, waited in it
    std::vector<std::uint32_t> last;      // by trace, exchanges that it came to last
    std::vector<std::int64_t> blamed_ns;  // by trace, what the others on average waited for it
  };
  std::vector<Step> steps;    // in their order
  std::uint64_t matched = 0;  // exchanges found on all of the ranks that are there
  std::uint64_t alone = 0;    // others
};

// An exchange is the same on two ranks if it is the n-th of its kind in its group within the step of one name, or has the same
// number in its group.
RankWaits match_ranks(std::span<const Trace* const> traces);

enum class LateCause : std::uint8_t { gpu, work, host, input, network };
constexpr std::array<std::string_view, 5> names(LateCause) { return {"gpu", "work", "host", "input", "network"}; }

struct LateRank {
  std::size_t trace = 0;
  LateCause cause = LateCause::network;
  std::string since;            // the first step in which it was late; printable
  double lost_pct = 0;          // of the others' step, waiting for it
  double blamed_share = 0;      // of all that was waited, for it
  std::uint64_t came_last = 0;  // exchanges
  std::vector<std::string> evidence;
};

// The rank that the others wait for, if it is one and it is so most of the time.
std::optional<LateRank> late_rank(std::span<const Profile> ranks, const RankWaits& waits);
Finding late_finding(const LateRank& late, std::span<const Profile> ranks);
std::string rank_words(const Profile& p, std::size_t at);  // "rank 2", or where it is not told "file 3"
// "rank 2, whose host is slower"
std::string late_words(const LateRank& late, std::span<const Profile> ranks);
// Where ranks wait much, and no one of them is to blame.
std::optional<Finding> spread_finding(std::span<const Profile> ranks, const RankWaits& waits);

// Two profiles of one rank: their number; none: there are no such.
std::optional<std::uint32_t> rank_twice(std::span<const Trace* const> traces);
// What says that profiles are not of one job: "their GPUs differ: A100, H100".
std::vector<std::string> strangers(std::span<const Trace* const> traces);

}  // namespace muster::diagnose
