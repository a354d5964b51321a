// Accountant: keeps the books of GPU time from events. Every GPU-millisecond is in exactly one class, so the classes sum to what
// is installed. A running gang's time since its last checkpoint is unsettled: useful if the next checkpoint comes, lost if not.
#pragma once
#include "model/accounts.h"
#include "model/state.h"

namespace muster::account {

// To be called with every event, after it was folded into `s`.
void keep(Accounts& books, const Event& e, const State& s);
// The books closed at `mono`, which is the time of the state or later.
GpuHours balance(const Accounts& books, const State& s, Time mono);
// useful / (installed - idle - unsettled); -1 while nothing is settled.
double goodput(const GpuHours& g);

}  // namespace muster::account
