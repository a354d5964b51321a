// The event queue: what happens next, in order of time, ties in the order they were scheduled.
#pragma once
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace muster::twin {

enum class Tick : std::uint8_t {
  report,        // the nodes of one slot of the minute report, and the jobs of that slot
  ambient,       // the room has become warmer or colder: who has to say so?
  arrival,       // a job of the mix is submitted
  listed,        // a listed job is submitted
  price,         // noon: what power will cost tomorrow
  weather,       // a: node. A fault strikes
  site_weather,  // a fault strikes the site
  fault,         // a: fault, b: its stage
  gang,          // a: gang, b: its turn. A phase of it is over
  gang_doom,     // a: gang, b: its life. It ends badly
  gang_limit,    // a: gang, b: its life. Its time is up
  gang_bug,      // a: gang, b: its life. Its own program misbehaves
  storage,       // b: turn of the store. A checkpoint is written
  order,         // a: order. It ends
  unheard,       // a: node, b: its turn. The engine has not heard of it for too long
  booted,        // a: node, b: its turn. Its boot is over
  cooling,       // a: row. Its air has moved
};

struct Scheduled {
  Time at;  // steady
  std::uint64_t seq = 0;
  Tick tick = Tick::report;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

class EventQueue {
 public:
  void push(Time at, Tick tick, std::uint32_t a = 0, std::uint32_t b = 0);
  Scheduled pop();
  bool empty() const { return heap_.empty(); }
  Time next() const { return heap_.empty() ? kNever : heap_.front().at; }

 private:
  std::vector<Scheduled> heap_;
  std::uint64_t seq_ = 0;
};

}  // namespace muster::twin
