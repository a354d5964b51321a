// What Muster itself stands on: the engine that takes its orders, and the wall clock. Told as common causes of the site.
#pragma once
#include "detect/sign.h"
#include "model/event.h"

namespace muster::detect {

class Surroundings {
 public:
  void on_event(const Body& b, Time mono);
  void on_turn(const State& s, Time utc, Time mono, Signs& out);
  Time next() const;

 private:
  std::uint32_t unheard_ = 0;  // orders in a row that the engine did not get
  Time first_;                 // mono, of the first of them
  bool engine_said_ = false;   // anything, since the last look
  Duration jump_;              // of the clock, as last told
  Time jumped_ = kNever;       // mono
};

}  // namespace muster::detect
