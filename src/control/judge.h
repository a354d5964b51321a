// Judge: the pure middle of a turn. Decides, lets the guard look at every action, and folds what came of it, until nothing
// changes.
#pragma once
#include <vector>

#include "act/guard.h"
#include "control/books.h"
#include "decide/decide.h"

namespace muster::control {

class Judge {
 public:
  // Returns the decided events, numbered on from the state's seq and folded into `b` already. Afterwards no change is left
  // undecided.
  std::vector<Event> decide(Books& b);

 private:
  void judge(Books& b, decide::Decision&& d, std::vector<Event>& out);
  decide::Decider decider_;
  act::Guard guard_;
};

}  // namespace muster::control
