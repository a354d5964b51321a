#include "twin/kernel.h"

#include <algorithm>

#include "base/check.h"

namespace muster::twin {
namespace {
// A lambda, not a function: the heap calls it by its type, without a jump.
constexpr auto later = [](const Scheduled& x, const Scheduled& y) { return x.at != y.at ? x.at > y.at : x.seq > y.seq; };
}  // namespace

void EventQueue::push(Time at, Tick tick, std::uint32_t a, std::uint32_t b) {
  heap_.push_back({at, seq_++, tick, a, b});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

Scheduled EventQueue::pop() {
  MUSTER_CHECK(!heap_.empty());
  std::pop_heap(heap_.begin(), heap_.end(), later);
  const Scheduled s = heap_.back();
  heap_.pop_back();
  return s;
}

}  // namespace muster::twin
