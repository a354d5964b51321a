// The parts of the fold that are about rolling upgrades.
#pragma once
#include "model/state.h"

namespace muster {

// Begins one, unless one is at work: who asks then is told so before it comes to this.
void begin_upgrade(State& s, const CommandGiven& c, const Event& e);
// A person stops it, or has it taken back.
void turn_upgrade(State& s, const CommandGiven& c, Time utc);
void phase_upgrade(State& s, const UpgradePhased& p, Time utc);
void move_turn(State& s, const TurnMoved& m);
// An order of the upgrade is on its way, and has ended.
void turn_ordered(State& s, const Order& o);
void turn_answered(State& s, const OrderRecord& r);
// A limit holds it back: a node that has not begun loses its turn for now.
void turn_refused(State& s, const OrderRefused& r);

}  // namespace muster
