#include "model/fold_parts.h"

namespace muster {

Stage stage_during(Verb v, Stage otherwise) {
  switch (v) {
    case Verb::drain_node: return Stage::draining;
    case Verb::test_node: return Stage::testing;
    case Verb::undrain_node: return Stage::returning;
    case Verb::reset_gpu:
    case Verb::reboot_node:
    case Verb::power_cycle_node:
    case Verb::replace_node: return Stage::repairing;
    default: return otherwise;
  }
}

CommandGiven wish_of(const Order& o) {
  CommandGiven c;
  switch (o.action.verb) {
    case Verb::drain_node: c.verb = CommandVerb::drain; break;
    case Verb::undrain_node: c.verb = CommandVerb::undrain; break;
    case Verb::cancel_job: c.verb = CommandVerb::cancel; break;
    default: c.verb = CommandVerb::submit; break;
  }
  c.actor = o.reason.actor;
  c.id = o.reason.wish;
  c.node = o.action.node;
  c.job = o.action.job;
  c.spec = o.action.spec;
  c.reason = "given again: the engine had not received it";
  return c;
}

void keep_clock(State& s, const Now& now) {
  constexpr Duration kSlack = minutes(5);  // a clock that is set by less has not jumped
  const bool known = now.boottime.ns != 0 && s.now.boottime.ns != 0;  // it goes on while the machine sleeps
  const Duration passed = known ? now.boottime - s.now.boottime : now.steady - s.now.steady;
  const Duration jump = (now.utc - s.now.utc) - passed;
  if (std::abs(jump.ns) > kSlack.ns) s.utc_jump = s.utc_jump + jump;
  if (std::abs(s.utc_jump.ns) <= kSlack.ns) s.utc_jump = {};
}

}  // namespace muster
