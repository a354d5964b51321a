// Books: the state with everything that is folded beside it.
#pragma once
#include "model/accounts.h"
#include "model/state.h"

namespace muster::control {

struct Books {
  State state;
  Accounts accounts;
};

void fold_event(Books& b, const Event& e);

}  // namespace muster::control
