// AgentIntake: from a batch of an agent (docs/health/agent.md) to arrivals of its streams and samples of its node.
#pragma once
#include <map>
#include <mutex>
#include <string>

#include "adapters/mailbox/mailbox.h"
#include "model/state.h"
#include "ports/intake.h"

namespace muster {

constexpr std::size_t kBatchItemsMax = 4096;

class AgentIntake final : public Intake {
 public:
  AgentIntake(Mailbox& mailbox, const Site& site);
  // What was known when the controller started.
  void remember(const State& s);
  void take(const Value& batch, std::function<void(Result<std::uint64_t>)> done) override;

 private:
  bool news(const Body& body);
  void place(Body& body, std::string_view address);

  Mailbox& mailbox_;
  const Site& site_;
  std::map<std::string, NodeId, std::less<>> nodes_;
  std::mutex lock_;                           // batches come from many threads
  std::map<std::uint32_t, NodeFacts> known_;  // by node
};

}  // namespace muster
