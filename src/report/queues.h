// Queues: what each may have, has, had lately and waits for; and why it stands where it stands.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/state.h"

namespace muster::report {

constexpr std::string_view kNoQueue = "(none)";  // jobs whose account has no queue: they share what the queues leave

struct ModelUse {
  std::string model;
  double guaranteed = 0;
  std::optional<double> limit;
  double held = 0;
};

// Counts are of the queue with all queues below it; in GPUs, of which a shared one counts in part.
struct QueueUseRow {
  std::string name;
  std::string parent;  // empty: directly under the cluster
  double weight = 1;
  double guaranteed = 0;
  std::optional<double> limit;  // it never has more: its limit, or its guarantee where it may not borrow; none: no bound
  std::optional<double> limit_kw;
  bool borrow = true;
  bool lend = true;
  double held = 0;
  double borrowed = 0;        // of those, beyond the guarantee
  std::uint64_t running = 0;  // jobs, starting ones too
  std::uint64_t waiting = 0;
  double waiting_gpus = 0;
  double due = 0;   // part of the cluster that is its fair share
  double used = 0;  // part of it counted as used: half what it holds, half the mean of the past
  double past = 0;  // mean of the past in GPUs, older times counting less
  std::vector<ModelUse> models;
};

// The queues of the policy, or the accounts where it names none, in the policy's order; last, if anybody is there, kNoQueue.
std::vector<QueueUseRow> queue_rows(const State& s);
// Whether a job of queue `of` counts for the queue `name`: it is that one, or below it.
bool counts_for(const State& s, const std::string& of, const std::string& name);
// The queue in sentences.
std::vector<std::string> queue_words(const State& s, const QueueUseRow& q);

}  // namespace muster::report
