// Guard: the limits every action must pass. Pure: it reads the state, where all that was done before is folded in.
#pragma once
#include <optional>
#include <string>

#include "model/state.h"

namespace muster::act {

struct Verdict {
  bool allowed = false;
  std::string budget;  // allowed: the tightest limit and how much of it is used
  std::string limit;   // refused: which limit, in words
  Time retry;          // refused: not worth asking before then, mono
  bool freeze = false; // refused, and the cause is to be frozen until `retry`
  bool ask = false;    // refused until a person approves it; `limit` says why
};

class Guard {
 public:
  Verdict check(const State& s, const Action& a, const Reason& r) const;
};

}  // namespace muster::act
