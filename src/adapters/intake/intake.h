// AgentIntake: from a batch of an agent (docs/health/agent.md) to arrivals of its streams and samples of its node.
#pragma once
#include <map>
#include <string>

#include "adapters/mailbox/mailbox.h"
#include "model/site.h"
#include "ports/intake.h"

namespace muster {

constexpr std::size_t kBatchItemsMax = 4096;

class AgentIntake final : public Intake {
 public:
  AgentIntake(Mailbox& mailbox, const Site& site);
  void take(const Value& batch, std::function<void(Result<std::uint64_t>)> done) override;

 private:
  Mailbox& mailbox_;
  const Site& site_;
  std::map<std::string, NodeId, std::less<>> nodes_;
};

}  // namespace muster
