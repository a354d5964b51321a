// The parts of the fold that are about recovery: what an order makes of its incident, what is remembered of past ones, approvals.
#pragma once
#include "model/state.h"

namespace muster {

// The stage an incident is in while this order of it is under way.
Stage stage_during(Verb v, Stage otherwise);
// The command an order was to carry out: one that the engine never got is given again, under a new key.
CommandGiven wish_of(const Order& o);

// The engine never got the order: it did no harm, and counts against no budget.
void never_arrived(State& s, const OrderRecord& r);

// A line of the incident's story; of many, the first and the newest are kept.
void note(Incident& i, Time utc, std::string text);

// An incident on the node is over. Its beginning, in mono, is worked out from its duration.
void remember(NodeState& n, const Incident& i, const State& s);

void ask_approval(State& s, const ApprovalAsked& asked, Time utc);
void answer_approval(State& s, const CommandGiven& answer);
void forget_approvals(State& s, IncidentId of);

}  // namespace muster
