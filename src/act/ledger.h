// Ledger: orders with keys that are never used twice, and what is overdue.
#pragma once
#include <string>
#include <vector>

#include "model/state.h"

namespace muster::act {

// The order for an allowed action. Its key is the journal's id and the number of the order: as many as the state has seen, plus
// one, so the order must be folded before the next is made.
Order make_order(const State& s, Action a, Reason r, std::string budget);

// How long an order of this kind is waited for before it is first asked about. Asking about one that is under way does nothing.
Duration patience(Verb v);

// Keys of orders whose outcome should be there by now: to be inquired about, never sent again.
std::vector<std::string> overdue(const State& s);

}  // namespace muster::act
