#pragma once
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/event.h"
#include "model/sample.h"

namespace muster {

// Something that happened, on its way into the journal.
struct Arrival {
  Source source;
  Time utc;
  Body body;
  // Called once the event is durable (with its seq), or with the reason why it never will be. May be empty.
  std::function<void(Result<std::uint64_t>)> ack;
};

// What came in since the last poll. Buffers are reused from turn to turn.
struct Inbox {
  std::vector<Sample> samples;
  std::vector<KernelRecord> kernel;
  std::vector<StepReport> steps;
  std::vector<JobLogRecord> logs;
  std::vector<FabricHeard> heard;
  std::vector<Arrival> events;

  void clear() {
    samples.clear();
    kernel.clear();
    steps.clear();
    logs.clear();
    heard.clear();
    events.clear();
  }
};

struct Observatory {
  virtual ~Observatory() = default;
  // Adds what came in since the last poll. Never blocks.
  virtual void poll(Inbox& out) = 0;
  // Returns at `until` (steady) or as soon as there is something to poll, whichever is first.
  virtual void wait(Time until) = 0;
};

}  // namespace muster
