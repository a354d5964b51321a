// When a job that can wait should run: the hours in which it would cost or emit least by what can be known now, beside running at
// once and beside who knows the future.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "decide/energy/curve.h"
#include "model/price.h"

namespace muster::decide {

struct Wait {
  std::size_t now = 0;        // hour of the series that begins
  std::uint32_t hours = 6;    // the job takes
  std::uint32_t within = 24;  // it must be done so many hours from now
  bool pausable = false;      // at checkpoints between two hours; else it runs in one piece
  Knowledge known;
};

struct Choice {
  std::vector<std::uint32_t> hours;  // from now on; as many as the job takes
  double mean = 0;                   // of what these hours turned out to be
  double expected = 0;               // and of what was expected
};

struct Choices {
  Choice at_once, forecast, foresight;
};
// The series must reach `within` hours beyond `now`; `within` is at least `hours`. Of equal hours the earliest.
Choices choose_hours(const PriceSeries& series, const Wait& wait);

// The same decision taken every `every` hours of the whole series: what waiting saved on average, as a share of running at once.
struct WaitReplay {
  std::uint64_t times = 0;
  double at_once = 0;  // means per hour of work
  double forecast = 0;
  double foresight = 0;
  std::uint64_t worse = 0;  // times the forecast's choice cost more than running at once
};
WaitReplay replay_waits(const PriceSeries& series, const Wait& wait, std::uint32_t every);

}  // namespace muster::decide
