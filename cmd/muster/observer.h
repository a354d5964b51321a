// Observer: the edges of a cluster that is only watched. What comes in comes from agents; every order is refused.
#pragma once
#include "adapters/mailbox/mailbox.h"
#include "model/policy.h"
#include "ports/actuator.h"
#include "ports/clock.h"

namespace muster::cmd {

class Observer final : public Clock, public Observatory, public Actuator {
 public:
  explicit Observer(Mailbox& mailbox) : mailbox_(mailbox) {}

  Now now() const override;
  void poll(Inbox& out) override { mailbox_.collect(now().utc, out); }
  void wait(Time until) override;
  Result<void> submit(const Order& order) override;
  Result<void> inquire(const std::string& key) override;

 private:
  Mailbox& mailbox_;
};

// The same policy with no runbook that acts: findings are made and shown, and nothing follows from them. One in shadow mode stays
// as it is: nothing is done under it either, and it is said what would be.
Policy watching_only(Policy policy);

}  // namespace muster::cmd
