// What another policy, more or fewer nodes or spares would do, tried on the twin from where the running controller's journal
// ends.
#pragma once
#include <optional>
#include <string>

#include "ports/tool.h"
#include "ports/view.h"
#include "trial/what_if_desk.h"

namespace muster::cmd {

// trial::WhatIfDesk says what may be asked. Reads only, but takes minutes of a processor: that is for operators to spend. What
// came of it is for all to read.
class WhatIfTool final : public Tool {
 public:
  // `world`: what a simulated cluster is made of, so that the trial goes on in it; none: the work and the faults are assumed.
  WhatIfTool(std::string journal, const View& view, std::optional<twin::Config> world);
  Role role() const override { return Role::operator_; }
  Role role_for(const Value& input) const override { return trial::WhatIfDesk::only_reads(input) ? Role::viewer : role(); }
  Result<std::string> call(const Value& input) override { return desk_.call(input); }

 private:
  trial::WhatIfDesk desk_;
};

}  // namespace muster::cmd
