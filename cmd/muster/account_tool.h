// The account of a cluster from its journal: read by the command line from a file, and by a running Muster from its own.
#pragma once
#include <optional>
#include <string>

#include "ports/tool.h"
#include "ports/view.h"
#include "report/flow_account.h"

namespace muster::cmd {

struct FlowQuestion {
  std::optional<Time> from, to;  // utc; none: as far as is known
  double since_s = 0;            // back from the end; 0: from `from`
  bool faults = false;           // what was put down to which cause is wanted too
};

// Reads a whole journal; `view` says how late it is since the last event, null: the record is all there is.
Result<report::FlowAccount> read_flow(const std::string& journal, const View* view, const FlowQuestion& q);

// {"from": "2026-11-15T00:00:00Z", "to": ..., "since_s": 86400, "by": "account|partition|user|gpu_type|job|day|fault",
// "price": 2.5, "cost_per_year": 1e6, "currency": "USD", "target_pct": 94} -> report::flow_account_json. All may be left out.
class AccountTool final : public Tool {
 public:
  explicit AccountTool(std::string journal, const View* view = nullptr) : journal_(std::move(journal)), view_(view) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  std::string journal_;
  const View* view_;
};

}  // namespace muster::cmd
