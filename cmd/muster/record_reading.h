// Questions to the record: reads a journal from its first event to its last, checking every hash on the way, and answers from
// what it read. Reads only; also beside the controller that writes it.
#pragma once
#include <functional>
#include <string>

#include "base/result.h"
#include "model/state.h"
#include "ports/tool.h"

namespace muster::cmd {

// `what` as for `muster explain`. Answers are JSON. A journal that is not whole is refused with Code::corrupt and the number of
// the event at which its chain breaks. `newest`: how it stands now, where a controller runs; none: as the record ends.
Result<std::string> why_from_journal(const std::string& path, const std::string& what,
                                     const std::function<void(double)>& progress = {}, const State* newest = nullptr);
Result<std::string> incident_from_journal(const std::string& path, const std::string& id,
                                          const std::function<void(double)>& progress = {});

// What shadow mode held back, and what became of it.
Result<std::string> shadow_from_journal(const std::string& path, const std::function<void(double)>& progress = {});

// {} -> the same, from the journal of a running Muster.
class ShadowReportTool final : public Tool {
 public:
  explicit ShadowReportTool(std::string journal) : journal_(std::move(journal)) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  std::string journal_;
};

// {"id": "7"} -> the report of incident 7, from the journal of a running Muster.
class IncidentReportTool final : public Tool {
 public:
  explicit IncidentReportTool(std::string journal) : journal_(std::move(journal)) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  std::string journal_;
};

}  // namespace muster::cmd
