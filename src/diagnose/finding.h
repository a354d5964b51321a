// What was found in a job's traces, logs or settings, and what to do about it: the same words whatever it was read from.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::diagnose {

enum class Confidence : std::uint8_t { low, medium, high };
constexpr std::array<std::string_view, 3> names(Confidence) { return {"low", "medium", "high"}; }

// Of the time of a step, in percent.
struct Gain {
  double low_pct = 0, high_pct = 0;
};

struct Finding {
  std::string title;                  // one line, without a full stop
  std::vector<std::string> evidence;  // what was seen and where: file, line or event; printable
  std::string expected, achieved;     // with their units; empty: there is nothing to compare with
  std::string remedy;                 // the exact setting to change; empty: nothing to change
  std::optional<Gain> gain;           // none: it cannot be told from what was given
  std::string verify;                 // how to see that it helped; may be empty
  Confidence confidence = Confidence::medium;
  double cost_pct = 0;  // of the step, what this is about: findings come in this order, the largest first
  std::string cause;    // a short name of what it is about, the same for ever: "shm_too_small"; empty: it has none
};

}  // namespace muster::diagnose
