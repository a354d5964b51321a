// Replay: runs a journal's decisions again. With the policy it was recorded with, every decision must come out the same, bit for
// bit; with another, the first that differs is found, and the state at that point is handed back to go on from.
#pragma once
#include <optional>
#include <string>

#include "control/books.h"
#include "ports/journal.h"

namespace muster::control {

struct Difference {
  std::uint64_t turn = 0;
  Time utc;
  std::string recorded;  // body of the journaled decision; empty: there was none
  std::string decided;   // what comes out now; empty: nothing
};

struct ReplayResult {
  std::uint64_t events = 0;
  std::uint64_t turns = 0;
  std::uint64_t decisions = 0;  // compared
  std::optional<Difference> difference;
  Books books;  // at the end, or just before the turn's decisions that differ
};

Result<ReplayResult> replay(Journal& journal, const std::optional<Policy>& other);

}  // namespace muster::control
