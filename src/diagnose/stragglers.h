// How much slower a job is than if no worker were slower than the others, and why: its operations are played again with what they
// took, and with what they take on average, whole or in part.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/op_trace.h"

namespace muster::diagnose {

enum class StragglerCause : std::uint8_t {
  none,     // it is as fast as its average
  worker,   // one of them, or a few
  stage,    // a stage that has more to do
  network,  // exchanges
  spread,   // many, now these, now those: data of unequal length, collected garbage
};
constexpr std::array<std::string_view, 5> names(StragglerCause) { return {"none", "worker", "stage", "network", "spread"}; }

struct Share {
  std::uint32_t dp = 0, stage = 0;  // of a stage, only that
  double recovered = 0;             // of what is lost, if its operations took what they take on average
};

struct Stragglers {
  double measured_s = 0;  // a step, mean
  double replayed_s = 0;  // the same without gaps between operations
  double ideal_s = 0;     // with every operation as long as its kind is on average
  StragglerCause cause = StragglerCause::none;
  std::vector<Share> workers, stages;                 // most first
  std::vector<std::pair<std::string, double>> types;  // what each kind alone costs: its slowdown

  double slowdown() const { return ideal_s > 0 ? replayed_s / ideal_s : 1; }
  double off() const { return measured_s > 0 ? replayed_s / measured_s - 1 : 0; }  // of the replay
};

// An error: operations that wait for each other in a circle, as no job's do.
Result<Stragglers> find_stragglers(const OpTrace& trace);

}  // namespace muster::diagnose
