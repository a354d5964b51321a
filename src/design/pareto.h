// Which of several choices no other beats.
#pragma once
#include <span>
#include <vector>

namespace muster::design {

// One choice by what counts, in each of which less is better: {cost, days}; what should be large is given with a minus. All have
// as many numbers.
using Merits = std::vector<double>;

// One is beaten by another that is no worse in anything and better in something; of two alike neither is. `slack`: differences up
// to this are none, one for each number; empty: any difference counts.
std::vector<bool> pareto_front(std::span<const Merits> choices, std::span<const double> slack = {});

}  // namespace muster::design
