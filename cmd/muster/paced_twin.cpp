#include "paced_twin.h"

#include <algorithm>

namespace muster::cmd {
namespace {
using SteadyClock = std::chrono::steady_clock;
constexpr auto kTick = std::chrono::milliseconds(50);  // how far behind the wall clock the twin may be
}  // namespace

PacedTwin::PacedTwin(twin::Twin& twin, Mailbox& mailbox, double speed)
    : twin_(twin), mailbox_(mailbox), speed_(speed), began_(SteadyClock::now()), began_sim_(twin.now().steady) {}

Time PacedTwin::due() const {
  const std::chrono::duration<double> wall = SteadyClock::now() - began_;
  return began_sim_ + from_seconds(wall.count() * speed_);
}

void PacedTwin::poll(Inbox& out) {
  twin_.advance_to(due());
  mailbox_.collect(twin_.now().utc, out);
  twin_.poll(out);
}

void PacedTwin::wait(Time until) {
  for (;;) {
    const bool urgent = twin_.advance_to(std::min(due(), std::max(until, twin_.now().steady)));
    const Time now = twin_.now().steady;
    if (urgent || now >= until) return;
    const auto left = std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>((until - now).ns) / speed_));
    if (mailbox_.wait_for(std::clamp<std::chrono::nanoseconds>(left, std::chrono::milliseconds(1), kTick))) return;
  }
}

}  // namespace muster::cmd
