// What a weekly meeting asks of the record of a running Muster, beside where GPU-hours went.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>

#include "ports/tool.h"
#include "report/week_story.h"

namespace muster::cmd {

// {"from": "2026-11-08T00:00:00Z", "to": "2026-11-15T00:00:00Z"} -> report::WeekStory of that stretch; what is left out is the
// begin and the end of the record. The first call reads the whole journal, later ones what was written since.
class WeekTool final : public Tool {
 public:
  explicit WeekTool(std::string journal) : journal_(std::move(journal)) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  Result<void> read_on();

  std::string journal_;  // its file
  std::mutex lock_;
  std::string id_;  // of the journal that was read
  std::uint64_t seq_ = 0;
  report::WeekStory story_;
};

}  // namespace muster::cmd
