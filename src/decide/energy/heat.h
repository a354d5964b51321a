// Hot rows: power is limited before GPUs throttle, by as little as keeps the hottest one below that point, and lifted step by
// step as the row cools. New work goes elsewhere where there is a choice.
#pragma once
#include "decide/decision.h"
#include "model/state.h"

namespace muster::decide {

constexpr std::uint32_t kLimitFloorPct = 60;  // never below: there a GPU loses more speed than heat (see the curve)

// What is left of a GPU's speed under a power limit, in percent of what it may draw: a matrix product measured on an H200
// (665 TFLOP/s at 693 W, 621 at 594, 555 at 495, 429 at 399, 293 at 300). Memory-bound work loses less.
double speed_at_limit(std::uint32_t limit_pct);

// The limit a row should have, given what it measures now and the one it has.
std::uint32_t wanted_limit(const RowHeat& row, double throttle_c, Time now_mono);

void decide_heat(const State& s, Decisions& out);

// How unwelcome new work is on the node by heat alone, 0 (not at all) to 255: for the placement's costs.
std::uint8_t heat_cost(const State& s, NodeId n);

}  // namespace muster::decide
