// Judge: the pure middle of a turn. Decides, lets the guard look at every action, and folds what came of it, until nothing changes.
#pragma once
#include <vector>

#include "account/accountant.h"
#include "act/guard.h"
#include "decide/decide.h"
#include "model/state.h"

namespace muster::control {

// The state with everything that is folded beside it.
struct Books {
  State state;
  Accounts accounts;
};

void fold_event(Books& b, const Event& e);

class Judge {
 public:
  // Returns the decided events, numbered on from the state's seq and folded into `b` already. Afterwards no change is left undecided.
  std::vector<Event> decide(Books& b);

 private:
  void judge(Books& b, decide::Decision&& d, std::vector<Event>& out);
  decide::Decider decider_;
  act::Guard guard_;
};

}  // namespace muster::control
