// The parts of the fold that are about jobs of engines which decide for themselves.
#pragma once
#include "model/state.h"

namespace muster {

// Whether this is a job the state does not have: of one that has ended and that the engine put back, the record is forgotten.
// `attempt`: its last one.
bool new_life(State& s, JobId id, std::uint32_t& attempt);
void amend_job(State& s, const JobAmended& b);
// The engine gave its nodes to somebody else: it has none, and gives none back.
void forget_place(State& s, Job& j);
// Run time that counts: all of it for a run that completed, else what reached the last checkpoint, so long ago.
void add_run(State& s, Job& j, JobEnd end, Duration lasted, Duration since_checkpoint);
// Those that wait for it go on, or never can.
void tell_followers(State& s, JobId id, bool completed);

}  // namespace muster
