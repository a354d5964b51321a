#include "act/ledger.h"

#include <fmt/core.h>

namespace muster::act {

Order make_order(const State& s, Action a, Reason r, std::string budget) {
  Order o;
  o.key = fmt::format("{}-{}", s.journal, s.totals.orders + 1);
  o.epoch = s.epoch;
  // By the clock that the engine most likely has: ours may have been set back meanwhile.
  o.not_after = s.now.utc + minutes(5) + Duration{std::max<std::int64_t>(0, -s.utc_jump.ns)};
  o.action = std::move(a);
  o.reason = std::move(r);
  o.reason.budget = std::move(budget);
  return o;
}

Duration patience(Verb v) {
  switch (v) {
    case Verb::test_node: return minutes(15);
    case Verb::reload_driver:
    case Verb::bounce_link:
    case Verb::reset_gpu: return minutes(10);
    case Verb::install:
    case Verb::reboot_node:
    case Verb::power_cycle_node: return minutes(40);
    case Verb::replace_node: return hours(1);  // takes a day, but whether it was received is known at once
    default: return minutes(2);
  }
}

std::vector<std::string> overdue(const State& s) {
  std::vector<std::string> keys;
  for (const std::string& key : s.open_orders) {
    const OrderRecord& r = s.orders.at(key);
    if (s.mono() - r.intended_mono > patience(r.order.action.verb)) keys.push_back(key);
  }
  return keys;
}

}  // namespace muster::act
