// `muster plan` as a question with an answer: what the command line prints and what the page draws are the same.
#pragma once
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "base/value.h"
#include "design/search.h"
#include "model/site.h"
#include "options.h"
#include "report/plan_report.h"

namespace muster::cmd {

// A cluster as far as a plan is concerned.
struct ClusterShape {
  std::string name;
  std::string gpu;
  std::uint32_t gpus = 0;
  std::uint32_t gpus_per_node = 8;
  std::uint32_t gpus_per_leaf = 0;  // 0: all are under one
  double link_gb_s = 0;             // of a GPU's card
  double oversubscription = 1;      // beyond a leaf
  double storage_gb_s = 0;          // 0: not told
};
ClusterShape shape_of(const Site& site);
// As documents have it, there and back.
Value shape_value(const ClusterShape& shape);
Result<ClusterShape> parse_shape(const Value& value);

struct PlanAround {
  Time now;                          // that the run would begin
  std::optional<ClusterShape> here;  // the cluster; none: what the options name
  design::GiveUp give_up;
};

struct PlanAnswer {
  design::SearchAsk ask;
  report::PlanReport report;
  std::string launch;  // arguments or configuration of the best, where options ask for it
};

// Reads no configuration: what one settles is in the options by then. What neither says is usual. Only an answer without
// `explain` and `launch` says how long the run takes.
Result<PlanAnswer> ask_plan(const PlanOptions& options, const PlanAround& around);

}  // namespace muster::cmd
