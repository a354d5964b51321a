// The explain tool of a running Muster: answers from the latest snapshot, or, with "record", from its journal.
#pragma once
#include <string>

#include "ports/tool.h"
#include "ports/view.h"

namespace muster::cmd {

class ExplainTool final : public Tool {
 public:
  ExplainTool(const View& view, std::string journal) : view_(view), journal_(std::move(journal)) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  const View& view_;
  std::string journal_;  // its file
};

}  // namespace muster::cmd
