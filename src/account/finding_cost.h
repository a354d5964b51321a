// What a finding has cost so far: GPU time that was lost because of it, and what that is in the site's money.
#pragma once
#include "model/state.h"

namespace muster::account {

struct FindingCost {
  std::int64_t gpu_ms = 0;
  double money = 0;  // 0 where the policy names no price
};

// Of a finding that makes GPUs useless: those GPUs, from its beginning to its end or `utc`; the whole node while it is kept from
// work because of it. Of one that slows a job: the job's GPUs, by the part that is lost. Of a common cause: what its findings
// cost, each node once. An estimate from how things stand now, for people: the books of GPU time are the accountant's.
FindingCost cost_of(const State& s, const Finding& f, Time utc);

}  // namespace muster::account
