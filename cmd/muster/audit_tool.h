// The audit of a running Muster: who did what, and whether the record that says so is whole.
#pragma once
#include <mutex>
#include <optional>
#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "ports/tool.h"
#include "report/audit.h"

namespace muster::cmd {

// {} -> {"chain":{"ok":true,"events","digest","verified_utc",...},"items":[...],"older":N}, the newest item first.
// {"at": "2026-11-15T02:03:04Z"} -> the same as it was known then; the chain is checked to its end all the same.
// A record that was changed is told by {"chain":{"ok":false,"event","what","next"}}, and nothing else is told from it.
//
// Reading a journal checks each hash. Calls go on where the last one ended, which checks the new events and that the last known
// one is unchanged; so that a change to an older one is found too, every event is read again from time to time.
class AuditTool final : public Tool {
 public:
  explicit AuditTool(std::string journal) : journal_(std::move(journal)) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  struct Reading {
    report::AuditStory story;
    report::Chain chain;
    Digest digest{};
  };
  Result<void> read_on(Reading& reading, std::optional<Time> until);
  Result<std::string> broken(const Error& e) const;

  std::string journal_;  // its file
  std::mutex lock_;
  Reading reading_;
  Time whole_again_;  // steady: when every event is read again
};

}  // namespace muster::cmd
