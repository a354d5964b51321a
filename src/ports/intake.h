#pragma once
#include <cstdint>
#include <functional>

#include "base/result.h"
#include "base/value.h"

namespace muster {

// What the agents on the nodes, and a watch of the network, hand in, a batch at a time.
struct Intake {
  virtual ~Intake() = default;
  // `batch` is the body of POST /api/v1/intake (docs/health/agent.md). `done` is called once, from any thread: when everything
  // in it that must not be lost is durable, or with the reason why it was not taken.
  virtual void take(const Value& batch, std::function<void(Result<std::uint64_t>)> done) = 0;
};

}  // namespace muster
