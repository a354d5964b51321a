// Times of a collective done in several ways: tables of a sweep, what nccl-tests printed with settings that its environment or
// NCCL's log tells, and what NCCL itself chose. docs/formats/sweep.md has the columns.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/nccl_bench.h"
#include "model/nccl_run.h"
#include "model/nccl_way.h"

namespace muster {

constexpr std::size_t kSweepRowsMax = 1'000'000;

// Where the texts do not tell, or told wrong: 0 is as they say.
struct TuneHint {
  std::uint32_t nodes = 0, ranks_per_node = 0, nvlink_domain = 0;
  std::optional<bool> registered;
  std::optional<Collective> op;
};

struct TuneInput {
  std::vector<SweepRun> runs;
  std::vector<TunePick> picks;
  std::vector<NcclBelief> beliefs;
  std::vector<std::string> notes;  // what was left out or assumed, and why

  void add(TuneInput&& more);
};

bool looks_like_sweep(std::string_view text);
// The last line of comment that says which command a sweep is of, as it stands there; empty: none does.
std::string sweep_command(std::string_view text);
// Errors begin with `file` and the line.
Result<TuneInput> parse_sweep(std::string_view text, std::string_view file);

// `log`: what NCCL said in the same file, or nothing of note.
TuneInput tune_input(const NcclTestLog& tests, const NcclLog& log, const TuneHint& hint);

// NCCL's log alone: what it chose and what it reckons with, of its first communicator.
TuneInput tune_input(const NcclLog& log, const TuneHint& hint);

// A launch that comes again with the same shape, way, number and times is the same one, from a copy of a file: it is counted
// once, and a note says so. To be done before launches are numbered.
void count_once(TuneInput& input);

// Repetitions of a way in the order they come, from 0: what several files give.
void number_runs(std::vector<SweepRun>& runs);
std::vector<TuneTime> times_of(const std::vector<SweepRun>& runs);

}  // namespace muster
