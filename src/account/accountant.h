// Accountant: keeps the books of GPU time from events. Every GPU-millisecond is in exactly one class, so the classes sum to what
// is installed. A running gang's time since its last checkpoint is unsettled: useful if the next checkpoint comes, lost if not.
#pragma once
#include <functional>

#include "model/accounts.h"
#include "model/state.h"

namespace muster::account {

// An amount as it is put into the books, in thousandths of GPU-milliseconds; for readers who want to know whose it is. May be 0.
struct Entry {
  JobId job;    // none: no job had it
  NodeId node;  // of what no job had; none: a job's, on all its nodes
  Waste waste = Waste::idle;
  std::int64_t amount = 0;
};
using Reader = std::function<void(const Entry&)>;

// To be called with every event, after it was folded into `s`. A reader is told of all that is booked, in its order.
void keep(Accounts& books, const Event& e, const State& s, const Reader& reader = {});
// The books closed at `mono`, which is the time of the state or later. A reader is told of what closing adds to what was booked.
GpuHours balance(const Accounts& books, const State& s, Time mono, const Reader& reader = {});
// What no job has had of a node since that was last booked, in thousandths of GPU-milliseconds.
std::int64_t unbooked(const Accounts& books, const State& s, NodeId n);
// The classes from thousandths to whole GPU-milliseconds. What rounding leaves over is less than one per class, and is called
// idle.
GpuHours whole(GpuHours thousandths);
// useful / (installed - idle - unsettled); -1 while nothing is settled.
double goodput(const GpuHours& g);

}  // namespace muster::account
