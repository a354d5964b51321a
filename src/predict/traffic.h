// What a fabric gives to patterns of traffic in which every endpoint sends at once: shifts (each to the one k further on, what
// rings and all-to-alls are made of) and random pairs of two halves.
#pragma once
#include <cstdint>

#include "predict/routes.h"

namespace muster::predict {

struct TrafficFigures {
  std::uint32_t patterns = 0;
  // Rates as shares of the endpoints' own.
  double mean = 0;           // of all flows and patterns
  double worst = 1;          // the mean of the worst pattern
  double slowest_mean = 0;   // of the slowest flow of each pattern
  double max_load_mean = 0;  // flows on the fullest link
  double max_load = 0;
};

// What else is there while it is measured.
struct Conditions {
  double beside = 0;    // share of the endpoints that other jobs have, which send to each other in random pairs all the time
  bool paused = false;  // full links pause those before them instead of slowing the senders
  std::uint64_t seed = 1;
};

// Every `step`-th shift.
Result<TrafficFigures> shift_traffic(const Fabric& fabric, Router& router, std::uint32_t step = 1, const Conditions& c = {});
// Of the first `ranks` endpoints, each to the one `apart` further on, at once: one step of a ring whose ranks leave through their
// own cards.
Result<TrafficFigures> ring_traffic(const Fabric& fabric, Router& router, std::uint32_t ranks, std::uint32_t apart);
Result<TrafficFigures> bisection_traffic(const Fabric& fabric, Router& router, std::uint32_t patterns, std::uint64_t seed,
                                         const Conditions& c = {});
// So many cables between switches, by chance, are cut.
Result<void> cut_cables(Fabric& fabric, std::uint32_t cables, std::uint64_t seed);

}  // namespace muster::predict
