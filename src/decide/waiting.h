// Waiting: the queue as the engine of decide/schedule sees it. Who may start now, who may not and why, and when those who run are
// expected to end.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "decide/cluster_view.h"
#include "decide/quota/quota.h"

namespace muster::decide {

// The queues of the policy, or one for each account known where it names none; with what is held and was used.
Quotas quotas_of(const State& s);
// Why a job of this kind can never start under the queues of the policy, or on this cluster; empty: it can.
std::string why_never(const State& s, const Quotas& quotas, const JobSpec& spec);
Amounts ask_of(const State& s, const Quotas& quotas, const JobSpec& spec);

RankPolicy rank_policy(const State& s);
BackfillPolicy backfill_policy(const State& s);

// How long a queued job will run from its next start, and when a running one will end (mono): so much of runs like it were no
// longer.
constexpr double kMedianRun = 0.5;
constexpr double kLongRun = 0.9;
Duration expected_run(const State& s, const Job& j, double quantile = kMedianRun);
// What it is held to: its limit where it has one. Run times have long tails, and where much hangs on an end an estimate is no
// word.
Duration longest_run(const State& s, const Job& j);
Time expected_end_of(const State& s, const Job& j, double quantile = kMedianRun);

// Why a queued job may not start now, however much is free: it waits for another, for cheap power, for its quota. Empty: it may.
std::string held_back(const State& s, const ClusterView& view, const Quotas& quotas, const Job& j);

struct Line {
  std::vector<Waiter> waiting;
  std::vector<Ranked> order;
  std::vector<Runner> running;  // by expected end
};
// Those who may start now, ranked, and those who run.
Line line_up(const State& s, ClusterView& view, const Quotas& quotas, double quantile = kMedianRun);
// Whether a job's quota lets it hope for a start: it may start now, or will when there is room.
bool may_hope(const State& s, const Quotas& quotas, QueueIndex q, const Amounts& ask);

// For preemption, repair and moves: a job that holds nodes.
Gang gang_of(const State& s, ClusterView& view, const Quotas& quotas, const Job& j);

}  // namespace muster::decide
