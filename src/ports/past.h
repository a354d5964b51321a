#pragma once
#include <memory>

#include "base/result.h"
#include "base/time.h"
#include "ports/view.h"

namespace muster {

// The cluster as it was, at any moment that the record remembers.
struct Past {
  virtual ~Past() = default;
  // After the last event at or before `utc`. Readings are in no record: there are none in it. not_found before the first event.
  // From any thread; takes as long as it takes to read the record up to there.
  virtual Result<std::shared_ptr<const Snapshot>> at(Time utc) = 0;
};

}  // namespace muster
