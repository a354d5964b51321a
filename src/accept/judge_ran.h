// What must have run, and must have told something: a test that is missing, cut off or silent is never a pass.
#pragma once
#include <vector>

#include "accept/figures.h"
#include "accept/judge.h"

namespace muster::accept {

// Troubles of one GPU, all COULD NOT RUN.
std::vector<Trouble> not_run(const Acceptance& a, const accepting::Gpu& g, const Figures& figures);
// ... and of the recording as a whole.
std::vector<Trouble> not_whole(const Acceptance& a);

}  // namespace muster::accept
