#include "observer.h"

#include <time.h>

#include <algorithm>

namespace muster::cmd {
namespace {

Time read_clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return {static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec};
}

Error only_watching() {
  return {Code::refused, "observe only: no engine is connected, so nothing can be done to this cluster",
          "act in the scheduler itself; muster up --twin shows what acting looks like"};
}

}  // namespace

Now Observer::now() const { return {read_clock(CLOCK_REALTIME), read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_BOOTTIME)}; }

void Observer::wait(Time until) {
  const std::int64_t left = std::clamp<std::int64_t>((until - now().steady).ns, 0, 1'000'000'000);
  mailbox_.wait_for(std::chrono::nanoseconds(left));
}

Result<void> Observer::submit(const Order&) { return tl::unexpected(only_watching()); }

Result<void> Observer::inquire(const std::string&) { return tl::unexpected(only_watching()); }

Policy watching_only(Policy policy) {
  if (policy.shadow) return policy;
  for (Runbook& l : policy.runbooks) {
    l.act = false;
    l.steps.clear();
  }
  policy.groups.clear();
  return policy;
}

}  // namespace muster::cmd
