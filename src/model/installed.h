// What a site has, what of it was out of service when, and what its GPUs were measured to do: as files and other programs tell.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace muster {

struct InstalledNode {
  std::string name;             // untrusted
  std::string gpu_type;         // in small letters; empty: not said
  std::int64_t gpus_milli = 0;  // thousandths of GPUs; a slice of one (MIG) is a part of it
  bool operator==(const InstalledNode&) const = default;
};

struct NodeOutage {
  std::string node;
  Time from;
  Time to;             // 0: it is not over
  bool down = false;   // broken or not answering; else held out of service
  std::string reason;  // untrusted
};

// Of one node: times that do not overlap, in their order. What is between them nobody measured.
struct ActivitySlice {
  Time from, to;
  std::int64_t measured_milli = 0;  // thousandths of GPUs of which there is a sample
  std::int64_t idle_milli = 0;      // of these: below the threshold
};
struct NodeActivity {
  std::string node;
  std::vector<ActivitySlice> slices;
};

}  // namespace muster
