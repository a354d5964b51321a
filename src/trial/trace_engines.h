// The engines behind replay_jobs(): on counts, and on the placement tree.
#pragma once
#include "trial/trace_course.h"

namespace muster::trial {

Replay replay_counts(Course& course, ReplayPolicy policy, const std::function<void(double)>& told);
Replay replay_least_attained(Course& course, const std::function<void(double)>& told);
Replay replay_on_tree(Course& course, const ReplaySpec& spec, const std::function<void(double)>& told);

}  // namespace muster::trial
