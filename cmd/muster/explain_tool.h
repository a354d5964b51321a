// The explain tool of a running Muster: answers from the latest snapshot.
#pragma once
#include "ports/tool.h"
#include "ports/view.h"

namespace muster::cmd {

class ExplainTool final : public Tool {
 public:
  explicit ExplainTool(const View& view) : view_(view) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  const View& view_;
};

}  // namespace muster::cmd
