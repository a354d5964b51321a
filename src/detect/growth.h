// How much a counter grew lately. Counters fall when a driver is reloaded, wrap at 32 bits, come late after a gap: none of that
// is growth, and what grew over an hour's gap is not a burst.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/time.h"

namespace muster::detect {

struct Growth {
  double step = 0;       // since the last sample
  double in_window = 0;  // since half a window ago at least, and about a window at most, unless there was a gap
  Duration over;         // how long that is
};

// `count` within `window`: reached at once when it comes in a burst, and as a rate when samples are further apart.
inline bool beyond(const Growth& g, double count, Duration window) {
  return g.in_window >= count && g.in_window / std::max(g.over, window).seconds() >= count / window.seconds();
}

class Counter {
 public:
  // The first sample only sets the baseline. `restarts`: a counter that fell counts from zero again, so that its whole value is
  // growth; else a fall is only a new baseline.
  Growth add(double value, Time at, Duration window, bool restarts = false) {
    if (std::isnan(last_)) {
      last_ = value;
      anchor_at_ = mark_at_ = at_ = at;
      return {};
    }
    double step = value - last_;
    if (step < 0) step = wrapped(value) ? step + kWrap : restarts ? value : 0;
    if (at - mark_at_ >= Duration{window.ns / 2}) {
      anchor_ = mark_;
      anchor_at_ = mark_at_;
      mark_ = total_;
      mark_at_ = at_;
    }
    total_ += step;
    last_ = value;
    at_ = std::max(at_, at);
    return {step, total_ - anchor_, at_ - anchor_at_};
  }

 private:
  static constexpr double kWrap = 4294967296.0;
  bool wrapped(double value) const { return last_ > 0.99 * kWrap && last_ < kWrap && value < 0.01 * kWrap; }

  double last_ = std::numeric_limits<double>::quiet_NaN();
  double total_ = 0, anchor_ = 0, mark_ = 0;
  Time at_, anchor_at_, mark_at_;
};

}  // namespace muster::detect
