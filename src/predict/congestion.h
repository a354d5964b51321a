// What becomes of many senders that meet at one port of a lossless Ethernet: DCQCN as its authors describe it (marks, notices,
// the senders' rates and their three ways up), and pauses where the queue grows past it. Every microsecond, every sender.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace muster::predict {

// Named as cards and switches name them.
struct Dcqcn {
  bool on = true;
  double kmin_kb = 150, kmax_kb = 450;  // of the queue: from where packets are marked, and from where all are
  double pmax = 0.2;                    // share that is marked just below kmax
  double g = 1.0 / 256;                 // how fast a sender's notion of congestion follows
  double alpha_us = 55, rate_us = 300;  // its timers: for that notion, and for going faster again
  double byte_counter_mb = 10;          // as the second of the two
  double ai_gb_s = 0.005, hai_gb_s = 0.05;
  double cnp_us = 50;  // a flow has at most one notice in this time
};

struct IncastAsk {
  std::uint32_t senders = 8;
  double line_gb_s = 50;  // of each sender and of the port
  double mb = 16;         // that each sends
  double rtt_us = 8;      // until what a port marks is felt
  double xoff_kb = 2000;  // of the queue, from where senders are paused
  std::uint64_t seed = 1;
  Dcqcn control;
};

struct IncastFigures {
  double ideal_s = 0;              // the port busy throughout
  double first_s = 0, last_s = 0;  // senders done
  double mean_queue_kb = 0, most_queue_kb = 0;
  double paused = 0;    // share of the time that senders stand still
  double fairness = 1;  // Jain's index of what they had sent when the first was done

  double port_used() const { return last_s > 0 ? ideal_s / last_s : 0; }
};
// An error says which setting cannot be.
Result<IncastFigures> incast(const IncastAsk& ask);

// The settings near `from` with which the last of them is done soonest, in the mean over 2, 4, ... up to the senders asked for,
// with no pause where any does without.
Result<Dcqcn> tuned(const IncastAsk& from);

}  // namespace muster::predict
