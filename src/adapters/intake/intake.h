// AgentIntake: from a batch of an agent (docs/health/agent.md) to arrivals of its streams and samples of its node; and from what
// a watch of the network tells to an arrival of its own.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "adapters/intake/environment_word.h"
#include "adapters/intake/fabric_word.h"
#include "adapters/intake/reported_jobs.h"
#include "adapters/mailbox/mailbox.h"
#include "model/state.h"
#include "ports/intake.h"
#include "ports/meter.h"
#include "ports/view.h"

namespace muster {

constexpr std::size_t kBatchItemsMax = 4096;

class AgentIntake final : public Intake {
 public:
  // `view`: which jobs run where. Without it no report of a job is believed.
  AgentIntake(Mailbox& mailbox, const Site& site, const View* view = nullptr);
  // What was known when the controller started.
  void remember(const State& s);
  void take(const Value& batch, std::function<void(Result<std::uint64_t>)> done) override;
  // Reports of jobs that were believed and not.
  Meter meter() const;

 private:
  bool news(const Body& body);
  void place(Body& body, std::string_view address);
  void take_fabric(const Value& fabric, std::function<void(Result<std::uint64_t>)> done);

  Mailbox& mailbox_;
  std::optional<Believed> believe(const Value& item, NodeId node);
  std::optional<JobDescribed> described(const Value& item, NodeId node);

  const Site& site_;
  const View* view_;
  NodeNames nodes_;
  mutable std::mutex lock_;                   // batches come from many threads
  std::map<std::uint32_t, NodeFacts> known_;  // by node
  ReportedJobs jobs_;
  // Also held by what is under way.
  std::shared_ptr<JobEnvironments> environments_ = std::make_shared<JobEnvironments>();
  std::shared_ptr<FabricKnown> fabric_ = std::make_shared<FabricKnown>();
  std::uint64_t believed_ = 0, refused_ = 0;  // reports of jobs
};

}  // namespace muster
