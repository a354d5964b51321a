// The figures of one GPU: one value a metric, from its repetitions and from the stretches over which rates were held.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/acceptance.h"

namespace muster::accept {

// Which figures can be held against each other: those of GPUs of one model and board, at the same power limit, with the same
// driver, library and algorithms, cooled alike, tested by the same suite.
struct Cohort {
  std::string model;
  std::string part;   // number of the board: of one model some read memory 2 % slower than others
  std::string power;  // "700 W"
  std::string driver, cublas, cooling;
  std::string algorithms;  // that cuBLASLt chose, as a hash; empty: none was told
  std::string suite;       // version and hash of what was asked

  auto operator<=>(const Cohort&) const = default;
};
Cohort cohort_of(const Acceptance& a, const accepting::Gpu& g);
std::string render(
    const Cohort& c);  // "NVIDIA H200 (692-2G520-0282-000), 700 W, driver 580.159.04, cuBLASLt 13.1.0, algorithms 3f2a, air"

// Values by the names of their metrics, in the order of the names.
class MetricValues {
 public:
  struct Entry {
    std::string metric;
    double value = 0;
  };
  void set(std::string_view metric, double value);
  const double* find(std::string_view metric) const;  // nullptr: nothing told it
  double at(std::string_view metric) const;           // something must have
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::size_t place_of(std::string_view metric) const;  // where it is, or would be

  std::vector<Entry> entries_;
};

// Of one test round: the better of two where a test was repeated. Among them what is derived: rates per MHz of the SM clock
// ("bf16_per_mhz"), the clock held at the power limit ("mhz_at_cap"), the spread of held rates ("bf16_spread").
struct Figures {
  std::int32_t gpu = 0;
  Cohort kind;
  MetricValues value;
};
Figures figures_of(const Acceptance& a, std::int32_t gpu);
std::vector<Figures> figures_of(const Acceptance& a);  // one of each of its GPUs, in their order

// A recording with the figures of its GPUs: reckoned once for all who ask, which are limits, verdicts and a fleet's report.
struct NodeFigures {
  explicit NodeFigures(const Acceptance& a) : recording(a), gpus(figures_of(a)) {}
  const Acceptance& recording;  // lives longer than this
  std::vector<Figures> gpus;
};
std::vector<NodeFigures> figures_of(std::span<const Acceptance> recordings);

// What readings of power, clock and heat say, as rows to be kept beside them: whoever looks at a fleet need not read them all.
std::vector<accepting::Measured> from_readings(const Acceptance& a);

}  // namespace muster::accept
