#pragma once
#include <functional>

#include "base/result.h"
#include "model/event.h"

namespace muster {

// An operator's wish enters the inbox like any event.
struct Commands {
  virtual ~Commands() = default;
  // `done` is called once, from any thread, when the command is durable (with its event's seq) or will never be.
  virtual void submit(CommandGiven command, std::function<void(Result<std::uint64_t>)> done) = 0;
};

}  // namespace muster
