// What healthy GPUs give: the median and spread of a fleet of the same kind, of one GPU's own history, or, where there are too
// few, what ships with the program. A limit lies so many spreads from the median that a healthy fleet is as good as never failed.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accept/figures.h"
#include "accept/metrics.h"

namespace muster::accept {

enum class Basis : std::uint8_t { fleet, history, shipped };
constexpr std::array<std::string_view, 3> names(Basis) { return {"fleet", "history", "shipped"}; }

constexpr std::size_t kFleetMin = 32;   // GPUs of a kind: below it what ships is used, and said to be provisional
constexpr std::size_t kHistoryMin = 5;  // earlier runs of the same GPU

struct Spread {
  double median = 0;
  double sigma = 0;  // 1.4826 times the median deviation: of a normal distribution its standard deviation
  std::size_t count = 0;
};
Spread spread_of(std::vector<double> values);

struct Limit {
  Basis basis = Basis::fleet;
  Spread of;
  double value = 0;  // beyond it a GPU is short
  bool provisional = false;
  std::string from;  // "212 GPUs of NVIDIA H200, ...", "7 earlier runs", what ships and its source
};

// Chance of a false failure that a whole run of a healthy GPU is allowed, over all judged metrics together.
constexpr double kFalseFailures = 1e-4 / 8;

class Limits {
 public:
  // `fleet`: earlier recordings, of any kinds and suites; those of other cohorts are left out where they do not fit. A GPU's own
  // earlier runs count as its history; of each GPU of a fleet the newest run counts.
  explicit Limits(std::span<const Acceptance> fleet, std::vector<AcceptReference> shipped = {});
  // That of the fleet, or what ships where the fleet is too small, and that of the GPU's own runs which began before `before`;
  // nothing where nobody knows.
  std::vector<Limit> of(const Cohort& cohort, const std::string& uuid, const Metric& metric, Time before = kNever) const;
  std::size_t gpus(const Cohort& cohort) const;
  // Figures of all GPUs of the kind, sorted, for percentiles.
  const std::vector<double>& values(const Cohort& cohort, std::string_view metric) const;

 private:
  struct Kind {
    std::map<std::string, std::vector<double>, std::less<>> sorted;  // metric
    std::map<std::string, Limit, std::less<>> limits;                // of metrics that are limited, with GPUs enough
    std::size_t gpus = 0;
  };
  struct Run {
    Time begun;
    std::map<std::string, double> value;  // metric
  };
  std::map<Cohort, Kind> kinds_;
  std::map<std::pair<Cohort, std::string>, std::vector<Run>> history_;  // kind and uuid
  std::vector<AcceptReference> shipped_;
};

// Multiples of sigma beyond which a healthy value lies with the probability `chance` on one side, when sigma is known as well as
// `freedom` values would tell.
double multiples(double chance, double freedom);

}  // namespace muster::accept
