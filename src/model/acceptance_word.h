// What is told to a controller of the acceptance tests of a node: which GPUs passed, and what is wrong with which of the others.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/fields.h"

namespace muster {

// What failed, for runbooks: the code of a finding acceptance_failed.
enum class AcceptFault : std::uint8_t {
  none,
  wrong_results,
  memory,
  link,  // to the host, or between GPUs
  slow,
  power,    // and cooling
  not_run,  // nothing is known of it
  hung,     // a test did not come back
};
constexpr std::array<std::string_view, 8> names(AcceptFault) {
  return {"none", "wrong_results", "memory", "link", "slow", "power", "not_run", "hung"};
}

// As a node says it, where a GPU has a number of the driver's and an address.
struct AcceptanceWord {
  struct Fault {
    AcceptFault kind = AcceptFault::none;
    bool failed = true;  // false: it does its work, and is short of a limit
    std::string part;    // "tensor cores: SM 17"
    std::string text;    // what was seen
    bool operator==(const Fault&) const = default;
  };
  struct Gpu {
    std::int32_t gpu = 0;
    std::string pci, uuid;
    bool passed = false;
    std::vector<Fault> faults;  // the worst first
    bool operator==(const Gpu&) const = default;
  };
  std::string profile;
  std::vector<Gpu> gpus;
  std::vector<Fault> faults;  // of no single GPU
  bool operator==(const AcceptanceWord&) const = default;
};

}  // namespace muster
