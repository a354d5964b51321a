// What to buy for a need, for the page and for programs.
#pragma once
#include "errands.h"
#include "ports/tool.h"

namespace muster::cmd {

// {"model","tokens","days","gpus","gpu",...}, as the flags of `muster design cluster` are called -> report::clusters_value;
// "show": a number: that one alone, with the cluster file that the twin runs. Where it takes longer than a moment the answer is
// {"working": true}: the same question asked again gets it. What there is to choose from: the tool "plan" with {"list": true}.
class DesignTool final : public Tool {
 public:
  explicit DesignTool(Errands& errands) : errands_(errands) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  Errands& errands_;
};

}  // namespace muster::cmd
