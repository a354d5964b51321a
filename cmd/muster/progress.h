// How far a long command has come: a bar with the time left on a terminal, one line per tenth elsewhere; always on stderr.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "options.h"

namespace muster::cmd {

class Progress {
 public:
  Progress(std::string what, ProgressMode mode);
  ~Progress();  // takes the bar away, so that what follows starts on a clean line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` from 0 to 1; cheap enough to call a million times a second. `note` is a few words, e.g. "day 3 of 7".
  void update(double done, std::string_view note = {});

 private:
  using Clock = std::chrono::steady_clock;
  void draw(double done, std::string_view note);

  std::string what_;
  bool bar_ = false;
  bool lines_ = false;
  bool drawn_ = false;
  int tenth_ = 0;
  double shown_ = -1;  // the share at which the clock was last read
  Clock::time_point began_ = Clock::now();
  Clock::time_point drawn_at_{};
};

}  // namespace muster::cmd
