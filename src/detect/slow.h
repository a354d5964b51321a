// A gang slower than it should be, and the GPU that stands out in it. In synchronous training the slow GPU is the busy one, and
// the one that is in collectives the shortest: its peers wait for it. Only ever a suspicion: the node is tested once its job has
// ended, never drained on slowness alone.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "detect/onset.h"
#include "detect/sign.h"

namespace muster::detect {

class Slow {
 public:
  explicit Slow(const Site& site);
  void on_sample(const Sample& m);
  void on_step(const StepReport& r, const State& s, Signs& out);
  void forget(JobId job) { jobs_.erase(job); }

 private:
  struct Pace {
    std::uint32_t attempt = 0;
    double best_s = 0;       // fastest mean step seen
    std::uint32_t slow = 0;  // reports in a row that were too slow
    bool said = false;
    std::vector<Pacepoint> lately;  // the newest kLately reports
  };
  struct Odd {
    std::size_t gpu = 0;  // node times slots, plus slot
    std::string why;
  };
  using Values = std::vector<std::pair<float, std::size_t>>;  // of the job's own GPUs, with which they are
  Values of_job(const Job& j, const std::vector<float>& all) const;
  std::optional<Odd> busiest(const Job& j) const;
  std::optional<Odd> last_to_come(const Job& j) const;
  void accuse(const StepReport& r, const Job& j, double reference_s, Time since, Signs& out);

  static constexpr std::size_t kLately = 24;

  std::uint32_t slots_;
  std::vector<float> tensor_;      // newest tensor activity per GPU; negative: unknown
  std::vector<float> collective_;  // and time in its job's collectives, in us
  std::map<JobId, Pace> jobs_;
};

}  // namespace muster::detect
