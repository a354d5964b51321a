#include "decide/decide.h"

#include "decide/energy/heat.h"
#include "decide/queue.h"
#include "decide/recover.h"
#include "decide/wishes.h"

namespace muster::decide {

Decisions Decider::decide(const State& s) {
  Decisions out;
  decide_wishes(s, out);
  decide_recovery(s, out);
  decide_heat(s, out);
  decide_broken(s, out);
  decide_queue(s, placer_, out);
  return out;
}

}  // namespace muster::decide
