// The account of a cluster from its journal: read by the command line from a file, and by a running Muster from its own.
#pragma once
#include <deque>
#include <memory>
#include <mutex>
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

class FlowReader;

// {"from": "2026-11-15T00:00:00Z", "to": ..., "since_s": 86400, "by": "account|partition|user|gpu_type|job|day|fault",
// "price": 2.5, "cost_per_year": 1e6, "currency": "USD", "target_pct": 94, "account": "vision", "partition": ..., "user": ...,
// "csv": true} -> report::flow_account_json, or {"csv": ...} with its rows as text. All may be left out.
// {"uses": true} -> {"uses": [{"account", "from_ns", "to_ns", "milli_gpu_ms", "money_micro", "currency"}], "to_ns"}: what
// accounts had, day by day, for their quotas. What was asked for last is read on from where it was: a page asks for the same
// again and again.
class AccountTool final : public Tool {
 public:
  // `view` says how late it is since the last event; null: the record is all there is.
  explicit AccountTool(std::string journal, const View* view = nullptr);
  ~AccountTool() override;
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  Result<report::FlowAccount> read(const FlowQuestion& q);
  FlowReader& reader_of(Time from, Time to, bool faults);

  std::string journal_;
  const View* view_;
  std::mutex lock_;
  std::deque<std::unique_ptr<FlowReader>> kept_;  // asked for last, first
};

}  // namespace muster::cmd
