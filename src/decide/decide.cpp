#include "decide/decide.h"

#include "decide/broken.h"
#include "decide/freeze.h"
#include "decide/energy/heat.h"
#include "decide/pace/pace.h"
#include "decide/queue.h"
#include "decide/recover.h"
#include "decide/upgrade/upgrade.h"
#include "decide/wishes.h"

namespace muster::decide {

Time Decider::next(const State& s) {
  if (s.paused) return kNever;
  if (s.idle()) return s.engine_asked + kEngineRetry;
  Time timer = std::min(s.timers.empty() ? kNever : s.timers.begin()->first, next_freeze(s));
  if (at_work(s.upgrade.phase)) timer = std::min(timer, s.queue_looked + kUpgradeBeat);
  return s.queue.empty() ? timer : std::min(timer, s.queue_looked + kQueueBeat);
}

Decisions Decider::decide(const State& s) {
  Decisions out;
  view_.update(s);
  if (s.paused || !s.idle()) decide_wishes(s, out);
  decide_recovery(s, view_, out);
  if (s.policy.shadow) return out;  // the engine schedules as if nobody were there
  decide_heat(s, out);
  decide_broken(s, view_, out);
  decide_pace(s, out);
  decide_growth(s, view_, out);
  decide_upgrade(s, view_, out);
  decide_queue(s, view_, out);
  return out;
}

}  // namespace muster::decide
