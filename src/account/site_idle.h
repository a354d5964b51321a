// Idle GPUs and jobs that wait for some, over time: at each moment as many are idle while wanted as there are of both.
#pragma once
#include "account/site_hours.h"

namespace muster::account {

constexpr std::uint32_t kIdleTypesMax = 64;
constexpr std::uint32_t kAnyType = 127;  // of jobs that name no type, or none that is installed

class IdleTime {
 public:
  explicit IdleTime(std::int64_t from_ms, std::int64_t to_ms) : from_(from_ms), to_(to_ms) {}

  // From `ms` on so many more thousandths of GPUs of a type are idle, or waited for.
  void idle(std::int64_t ms, std::uint32_t type, std::int64_t delta) { put(ms, type, 0, delta); }
  void wanted(std::int64_t ms, std::uint32_t type, std::int64_t delta) { put(ms, type, 1, delta); }
  // Parts the idle time into both its classes: in the sum, by day, and by type.
  void part(std::uint32_t types, SiteAccount& out);

 private:
  struct Change {
    std::uint64_t key = 0;  // time, type, which of both
    std::int64_t delta = 0;
  };
  void put(std::int64_t ms, std::uint32_t type, std::uint32_t which, std::int64_t delta) {
    if (ms < to_ && delta != 0)
      changes_.push_back({static_cast<std::uint64_t>(std::max(ms, from_) - from_) << 8 | type << 1 | which, delta});
  }
  void sort();

  std::int64_t from_, to_;
  std::vector<Change> changes_;
};

// Adds amounts to the days they lie in; stretches come with rising beginnings.
class DayCursor {
 public:
  explicit DayCursor(std::vector<DaySum>& days) : days_(days) {}
  void add(SiteClass c, std::int64_t milli, std::int64_t from_ms, std::int64_t to_ms);
  void rewind() { at_ = 0; }

 private:
  std::vector<DaySum>& days_;
  std::size_t at_ = 0;
};

}  // namespace muster::account
