// Plans of training runs: which are fastest and why, and how to start them.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "design/search.h"
#include "report/table.h"

namespace muster::report {

// A candidate with what its step goes into.
struct PlanRow {
  design::Candidate candidate;
  predict::StepTime time;
  predict::MemoryUse memory;
  double mfu = 0;
  double low = 0.8, high = 1.25;  // eight of ten runs take this share of the predicted time
};

// What a step's time goes into.
struct StepPart {
  const char* key;
  const char* words;
  double predict::StepTime::*value;
};
std::span<const StepPart> step_parts();

Table plan_table(const std::vector<PlanRow>& rows);
// "TP 8, PP 12 (interleaved 8), DP 16, micro-batch 1, ...".
std::string say_plan(const TrainingPlan& plan);
// What the best one's time goes into, and what makes the next one slower.
std::vector<std::string> say_why(const std::vector<PlanRow>& rows);

// One step down to its operators: how long each takes for one micro-batch of one layer, how fast that is, and its share of the
// step; then what is no operator.
Table operator_table(const design::SearchAsk& ask, const design::Candidate& candidate);

enum class Launcher { megatron, deepspeed, torchtitan };
constexpr std::array<std::string_view, 3> names(Launcher) { return {"megatron", "deepspeed", "torchtitan"}; }
// Arguments for Megatron-LM, a configuration for DeepSpeed (JSON) or torchtitan (TOML).
Result<std::string> launch_text(Launcher launcher, const Transformer& model, const TrainingPlan& plan);

}  // namespace muster::report
