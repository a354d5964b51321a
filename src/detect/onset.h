// When a series changed its level: the split at which what came before and what came after lie closest to their own middles.
#pragma once
#include <span>

#include "base/time.h"

namespace muster::detect {

struct Pacepoint {
  Time at;       // utc: end of the stretch that was measured
  double value;  // mean over it
};

// `points` by time, the newest last. A single odd value moves no middle, so it makes no onset. The stretch in which it changed
// has a part of both levels, and so tells how far into it that was. With fewer than three points: the first.
Time onset(std::span<const Pacepoint> points);

}  // namespace muster::detect
