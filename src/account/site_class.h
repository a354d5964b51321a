// The classes of a site's account, from installed down to useful: every GPU-millisecond is in exactly one.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster::account {

enum class SiteClass : std::uint8_t {
  down,             // broken or booting
  drained,          // held out of service, and no job was on it any more
  idle_no_demand,   // healthy, in service, and nobody waited for it
  idle_fragmented,  // healthy, in service, no job, while jobs that could have begun waited for GPUs
  held_idle,        // a job had it, and it was measured to do less than kHeldIdleBelow of what it can
  starting,         // a job's gang loading and initialising
  checkpoint,       // a job's steps stopped for writing one
  lost_restart,     // steps done after the last checkpoint and lost with the attempt
  stalled,          // a job's time beyond its nominal step time: slow, waiting
  unseen,           // a job had it, and nothing says what it did with it
  unsettled,        // since the last checkpoint of what runs: useful or lost, not yet known (of journals only)
  useful,           // of journals: steps whose result is kept; of files: measured to be at work
};
constexpr std::array<std::string_view, 12> names(SiteClass) {
  return {"down",       "drained",      "idle_no_demand", "idle_fragmented", "held_idle", "starting",
          "checkpoint", "lost_restart", "stalled",        "unseen",          "unsettled", "useful"};
}
constexpr std::size_t kSiteClasses = names(SiteClass{}).size();
constexpr SiteClass kFirstAllocated = SiteClass::held_idle;  // from here on a job had it
constexpr double kHeldIdleBelow = 0.05;                      // of a GPU's activity
constexpr double kEfficiencyTarget = 0.94;

// Amounts in thousandths of GPU-milliseconds: shares of a GPU are exact too. They sum to what was installed.
struct SiteSum {
  std::array<std::int64_t, kSiteClasses> milli_ms{};

  std::int64_t& operator[](SiteClass c) { return milli_ms[static_cast<std::size_t>(c)]; }
  std::int64_t operator[](SiteClass c) const { return milli_ms[static_cast<std::size_t>(c)]; }
  SiteSum& operator+=(const SiteSum& o) {
    for (std::size_t i = 0; i < kSiteClasses; ++i) milli_ms[i] += o.milli_ms[i];
    return *this;
  }
  bool operator==(const SiteSum&) const = default;

  std::int64_t installed() const { return from(SiteClass::down); }
  std::int64_t delivered() const { return from(SiteClass::idle_no_demand); }
  std::int64_t allocated() const { return from(kFirstAllocated); }
  // useful / (allocated - unsettled - unseen); -1 where nothing is settled.
  double efficiency() const {
    const std::int64_t known = allocated() - (*this)[SiteClass::unsettled] - (*this)[SiteClass::unseen];
    return known <= 0 ? -1 : static_cast<double>((*this)[SiteClass::useful]) / static_cast<double>(known);
  }

 private:
  std::int64_t from(SiteClass first) const {
    std::int64_t sum = 0;
    for (std::size_t i = static_cast<std::size_t>(first); i < kSiteClasses; ++i) sum += milli_ms[i];
    return sum;
  }
};
constexpr double kMilliMsOfGpuHour = 3.6e9;
constexpr double gpu_hours(std::int64_t milli_ms) { return static_cast<double>(milli_ms) / kMilliMsOfGpuHour; }

}  // namespace muster::account
