// The fastest ways to spread a training run, for the page and for programs.
#pragma once
#include "errands.h"
#include "plan_ask.h"
#include "ports/tool.h"

namespace muster::cmd {

// {"model","gpu","gpus","batch",...}, as the flags of `muster plan` are called, or "here": true instead of "gpu": this cluster ->
// report::plan_value, with "parts" in words, and with "launch" its text. {"list": true}: what there is to choose from, and the
// limits. Where it takes longer than a moment the answer is {"working": true}: the same question asked again gets it.
class PlanTool final : public Tool {
 public:
  PlanTool(const Site& site, Errands& errands) : here_(shape_of(site)), errands_(errands) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  std::string list() const;

  ClusterShape here_;
  Errands& errands_;
};

}  // namespace muster::cmd
