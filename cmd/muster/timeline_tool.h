// The timeline of a running Muster: what happened on its nodes in any stretch of time, from the journal that it writes.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>

#include "ports/tool.h"
#include "report/history.h"

namespace muster::cmd {

// {"from": "2026-11-15T00:00:00Z", "to": "...", "max_bars": 20000}, each may be left out: the last six hours of the record.
// Answers with report::History's window. The first call reads the whole journal, later ones what was written since.
class TimelineTool final : public Tool {
 public:
  explicit TimelineTool(std::string journal) : journal_(std::move(journal)) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  Result<void> read_on();

  std::string journal_;  // its file
  std::mutex lock_;
  std::string id_;  // of the journal that was read
  std::uint64_t seq_ = 0;
  report::History history_;
};

}  // namespace muster::cmd
