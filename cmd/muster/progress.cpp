#include "progress.h"

#include <cstdio>

#include <fmt/format.h>

#include "base/text.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr auto kRedrawEvery = std::chrono::milliseconds(100);
constexpr double kLookEvery = 1e-4;  // of the whole: how often the clock is read

std::string time_left(double done, double elapsed_s) {
  // The first moments say nothing about the rest.
  if (done < 0.005 || elapsed_s < 0.5) return "";
  return report::render_span(seconds(static_cast<std::int64_t>(elapsed_s * (1 - done) / done) + 1)) + " left";
}

}  // namespace

Progress::Progress(std::string what, ProgressMode mode) : what_(printable(what)) {
  const bool terminal = stderr_is_terminal();
  bar_ = mode == ProgressMode::bar || (mode == ProgressMode::automatic && terminal);
  lines_ = mode == ProgressMode::lines || (mode == ProgressMode::automatic && !terminal);
}

Progress::~Progress() {
  if (bar_ && drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::update(double done, std::string_view note) {
  done = std::clamp(done, 0.0, 1.0);
  if (lines_) {
    const int tenth = static_cast<int>(done * 10 + 1e-9);
    if (tenth <= tenth_) return;
    tenth_ = tenth;
    draw(done, note);
  } else if (bar_ && (done - shown_ >= kLookEvery || done >= 1)) {
    shown_ = done;
    const auto now = Clock::now();
    if (now - drawn_at_ < kRedrawEvery) return;
    drawn_at_ = now;
    draw(done, note);
  }
}

void Progress::draw(double done, std::string_view note) {
  const double elapsed_s = std::chrono::duration<double>(Clock::now() - began_).count();
  const auto left = done >= 1 ? std::string() : time_left(done, elapsed_s);
  const std::string shown_note = note.empty() ? "" : "  " + printable(note);
  if (bar_) {
    constexpr int kWidth = 30;
    const int full = static_cast<int>(done * kWidth);
    fmt::print(stderr, "\r\x1b[K{} [{:=<{}}{: <{}}] {:3.0f} %  {}{}", what_, "", full, "", kWidth - full, done * 100,
               left, shown_note);
    std::fflush(stderr);
    drawn_ = true;
  } else {
    fmt::print(stderr, "{}: {:.0f} %, {:.1f} s so far{}{}{}\n", what_, done * 100, elapsed_s, left.empty() ? "" : ", ",
               left, shown_note);
  }
}

}  // namespace muster::cmd
