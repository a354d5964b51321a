// Profiles of more than anybody needs: what bounds a job is told from as many of its first steps as fit in memory.
#pragma once
#include <cstddef>

#include "model/trace.h"

namespace muster::diagnose {

constexpr std::size_t kEventsTold = 1'000'000;  // on the GPU: about what its analysis needs half a gigabyte for

// Cuts the profile where a step begins, so that no more than about `most` events of the GPU are left (one step at least). Returns
// whether anything was cut. Where no steps are marked, it is cut in time.
bool keep_first_steps(Trace& trace, std::size_t most = kEventsTold);

}  // namespace muster::diagnose
