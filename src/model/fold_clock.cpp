#include "model/fold_clock.h"

#include <cstdlib>

namespace muster {

void keep_clock(State& s, const Now& now) {
  constexpr Duration kSlack = minutes(5);  // a clock that is set by less has not jumped
  const bool known = now.boottime.ns != 0 && s.now.boottime.ns != 0;  // it goes on while the machine sleeps
  const Duration passed = known ? now.boottime - s.now.boottime : now.steady - s.now.steady;
  const Duration jump = (now.utc - s.now.utc) - passed;
  if (std::abs(jump.ns) > kSlack.ns) s.utc_jump = s.utc_jump + jump;
  if (std::abs(s.utc_jump.ns) <= kSlack.ns) s.utc_jump = {};
}

}  // namespace muster
