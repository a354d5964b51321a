// A twin in step with the wall clock, with a mailbox beside it: what `muster demo` runs on.
#pragma once
#include <chrono>

#include "adapters/mailbox/mailbox.h"
#include "twin/twin.h"

namespace muster::cmd {

class PacedTwin final : public Clock, public Observatory, public Actuator {
 public:
  // `speed`: simulated seconds per second.
  PacedTwin(twin::Twin& twin, Mailbox& mailbox, double speed);

  Now now() const override { return twin_.now(); }
  void poll(Inbox& out) override;
  void wait(Time until) override;
  Result<void> submit(const Order& order) override { return twin_.submit(order); }
  Result<void> inquire(const std::string& key) override { return twin_.inquire(key); }

  twin::Twin& twin() { return twin_; }  // from the loop's thread only

 private:
  Time due() const;  // the simulated time it should be by the wall clock

  twin::Twin& twin_;
  Mailbox& mailbox_;
  double speed_;
  std::chrono::steady_clock::time_point began_;
  Time began_sim_;
};

}  // namespace muster::cmd
