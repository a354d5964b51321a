// What many nodes have in common: the freeze of acts on a kind of trouble while its common cause stands, its end when that is
// over, and the story that the one incident of the cause tells.
#pragma once
#include "decide/decision.h"
#include "model/state.h"

namespace muster::decide {

// Nothing is done about it, but it is somebody's trouble: it has an incident of its own, which is watched.
bool concerns_site(const Finding& f);
// Freezes what an open common cause has on its nodes, for as long as it stands, and ends freezes whose evidence is gone.
void decide_freezes(const State& s, Decisions& out);
// When a freeze is to be looked at again, mono.
Time next_freeze(const State& s);
// What the incident of the site says when it opens and when it is over. The end of a common cause frees what it had frozen.
std::string how_it_began(const State& s, const Incident& i);
void close_of_site(const State& s, const Incident& i, Decisions& out);

}  // namespace muster::decide
