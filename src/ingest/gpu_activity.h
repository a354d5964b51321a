// What GPUs were measured to do, from answers of Prometheus to query_range: DCGM's share of time in which their multiprocessors
// or engines were at work. By node, since records of jobs do not say which GPUs of a node a job had.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/installed.h"

namespace muster {

// Which to ask for: the first that a site has. On a GPU that is cut into slices (MIG) the last one is 0 whatever happens.
constexpr std::string_view kActivityMetrics[] = {"DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
                                                 "DCGM_FI_DEV_GPU_UTIL"};

struct ActivityCounts {
  std::uint64_t series = 0;
  std::uint64_t without_node = 0;  // no label says of which node
  std::uint64_t blind = 0;         // of slices of a GPU, by a metric that does not see them
  std::uint64_t other = 0;         // of another metric than the one that is used
  std::uint64_t refused = 0;       // too many points or labels
  std::uint64_t impossible = 0;    // readings that are no share: below 0, beyond all, none
  std::uint64_t gpus = 0;
  std::string metric;  // that is used; empty: the answers do not say
  Duration step;       // between points
};

class ActivityReader {
 public:
  // One answer, or several with a line break between them. `metric` is what was asked for, where the answers do not say.
  Result<void> take(std::string text, std::string_view metric = {});
  // A point is of the `step` before it; 0: of as much as lies between most points. `below`: share of activity, 0 to 1.
  std::vector<NodeActivity> finish(Duration step, double below);
  const ActivityCounts& counts() const { return counts_; }

 private:
  struct Gpu {
    std::string node, gpu, slice, profile;
    int rank = 0;                                        // place of its metric; lower is better
    std::vector<std::pair<std::int64_t, float>> points;  // utc ms, as measured
  };
  void infer_step(Duration step);
  double scale(int rank) const;
  void leave_out_beyond(int rank, double factor);

  std::map<std::string, Gpu> gpus_;   // by all that tells them apart
  std::vector<std::string> metrics_;  // by rank
  ActivityCounts counts_;
};

// "avg_over_time(METRIC[300s])".
std::string activity_query(std::string_view metric, Duration step);

}  // namespace muster
