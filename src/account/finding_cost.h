// What a finding has cost so far: GPU time that was lost because of it, and what that is in the site's money.
#pragma once
#include <map>
#include <string>

#include "model/state.h"

namespace muster::account {

struct FindingCost {
  std::int64_t gpu_ms = 0;
  double money = 0;  // 0 where the policy names no price
  std::string currency = "USD";
};

// Whether a finding of this kind makes the whole gang wait for its GPU or node, which goes on.
bool slows_gangs(FindingKind k);
// The part of its work that each running gang loses now because it is slow; gangs that lose none are not in it. By what is found
// of the gang; where nothing is, by what its last checkpoint told of this attempt, while something that slows is found on a node.
std::map<JobId, double> slow_shares(const State& s);

// Of a finding that makes GPUs useless: those GPUs, from its beginning to its end or `utc`; the whole node while it is kept from
// work because of it. Of one that slows a gang: the gang's GPUs, by the part that is lost. Of a common cause: what its findings
// cost, each node once. An estimate from how things stand now, for people: the books of GPU time are the accountant's.
FindingCost cost_of(const State& s, const Finding& f, Time utc);

}  // namespace muster::account
