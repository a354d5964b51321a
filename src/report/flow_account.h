// The account of a cluster from its journal: installed down to useful, with money at the prices that held, by owner, job, day or
// fault. One object as JSON, and as text and CSV made from that.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "account/job_books.h"
#include "account/waterfall.h"
#include "base/value.h"
#include "report/describe.h"

namespace muster::report {

enum class FlowBy : std::uint8_t { account, partition, user, gpu_type, job, day, fault };
constexpr std::array<std::string_view, 7> names(FlowBy) {
  return {"account", "partition", "user", "gpu_type", "job", "day", "fault"};
}

// What was put down to which cause while one tariff held.
struct FaultStretch {
  std::uint32_t tariff = 0;  // of the flow
  account::Stretch stretch;
};

// Whose rows are wanted; what is not said may be anybody's.
struct FlowOnly {
  std::optional<std::string> account, partition, user;
  bool any() const { return account || partition || user; }
  bool has(const account::FlowOwner& o) const {
    return o.job && (!account || *account == o.account) && (!partition || *partition == o.partition) &&
           (!user || *user == o.user);
  }
};

struct FlowAccount {
  std::string cluster;     // untrusted
  std::string simulation;  // what it says of itself; empty: a real one, as far as is known
  account::Flow flow;
  std::optional<double> price;  // of a GPU-hour, where the policy named none
  std::string currency;         // of that; empty: USD
  double target = account::kEfficiencyTarget;
  std::vector<FaultStretch> faults;  // where they are asked for
  FlowOnly only;                     // of the rows alone: sums, rates and days stay those of the cluster
};

constexpr std::size_t kFlowRows = 10'000;

std::string flow_account_json(const FlowAccount& a, FlowBy by);
// `limit`: rows of the table.
std::string render_flow_account(const Value& account, std::size_t limit, const Page& page);
std::string render_flow_account_csv(const Value& account);

}  // namespace muster::report
