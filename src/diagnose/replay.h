// Plays a rank's profile again: the host issues its calls one after the other, streams work them off in order, what waits for
// something waits for it. With nothing changed it must take what the profile took; with something changed, it tells what that
// would bring.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "diagnose/timeline.h"

namespace muster::diagnose {

struct Change {
  std::vector<std::int64_t> lengths_ns;  // by Timeline::events; empty: as they were; -1: neither it nor its launch is there
  bool no_waits = false;                 // the host never waits for the GPU
  bool no_input = false;                 // batches are there when they are wanted
  bool free_copies = false;              // copies from and to the host do not keep the host
  bool graph = false;                    // a step is issued as one graph
  double host_slower = 1;                // so many times longer the host takes for its own work
  std::int64_t host_event_ns = 0;        // what the profiler itself took on the host for each event it wrote down
};

class Replay {
 public:
  // Both must outlive it.
  Replay(const Trace& trace, const Timeline& line);

  // Nanoseconds of a step, on average.
  std::int64_t step_ns(const Change& change = {}) const;
  // How far off it is with nothing changed, as a share of what was measured.
  double error() const;

 private:
  class Run;
  struct Call {
    std::int64_t think_ns = 0;           // since the one before
    std::int64_t input_ns = 0;           // of that, fetching a batch
    std::int64_t silent_ns = 0;          // of that, with something that the profile does not show
    std::int64_t cost_ns = 0;            // of the call itself, when it waits for nothing
    double events = 0;                   // that the profiler wrote down meanwhile
    std::uint32_t waits_for = kNone;     // event
    std::int64_t after_ns = 0;           // between its end and that of the call
    std::uint32_t first = 0, count = 0;  // of launched_
    std::int64_t step = -1;
    bool copies = false;  // waits because memory is not pinned
    bool launches = false;
  };
  void gather(const Trace& t);
  void learn_latencies();
  void learn_dependencies();
  void learn_start();
  void learn_waits(const Trace& t);
  void count_events(const Trace& t);

  const Timeline& line_;
  std::vector<Call> calls_;
  std::vector<const RuntimeCall*> order_;  // of calls_
  std::vector<std::uint32_t> launched_;    // events, by call
  std::vector<std::uint32_t> by_;          // by event: its call, or none
  std::vector<std::uint32_t> needs_;       // by event: one of another stream that must have ended, or none
  std::vector<std::uint32_t> before_;      // by event: the one before it on its stream, or none
  std::vector<std::uint32_t> stream_;      // by event: its stream, numbered as they come
  std::size_t streams_ = 0;
  std::vector<std::uint32_t> late_;  // the first of their streams that waited for what ran before the profile
  std::pair<std::int64_t, std::int64_t> first_and_last_;  // steps that launched anything
  std::vector<bool> earlier_;                             // by event: launched before the profile began
  std::vector<std::uint32_t> orphans_;                    // events that nobody is known to have launched
  std::int64_t origin_ = 0;                               // of the host's time
  std::int64_t tail_ns_ = 0;                              // of the last step, after the last call
  std::int64_t kernel_latency_ns_ = 5'000, copy_latency_ns_ = 8'000, gap_ns_ = 1'500;
};

}  // namespace muster::diagnose
