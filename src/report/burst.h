// A peak of work: what renting, waiting and buying come to, which wins by how much, and where that turns.
#pragma once
#include <optional>
#include <string>

#include "base/time.h"
#include "predict/burst.h"

namespace muster::report {

struct BurstView {
  predict::BurstAsk ask;
  predict::Burst answer;
  bool own_free = false;     // nobody said what an hour of one's own costs
  std::optional<Time> from;  // when it begins; none: hours are all that is told
};

std::string burst_text(const BurstView& view, bool colour);
std::string burst_json(const BurstView& view);

}  // namespace muster::report
