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

enum class Basis : std::uint8_t { fleet, history, shipped, node };
constexpr std::array<std::string_view, 4> names(Basis) { return {"fleet", "history", "shipped", "node"}; }

constexpr std::size_t kFleetMin = 32;    // GPUs of a kind: below it what ships is used, and said to be provisional
constexpr std::size_t kHistoryMin = 5;   // earlier runs of the same GPU
constexpr std::size_t kSiblingsMin = 3;  // other GPUs of the node, where no fleet is known

// A GPU is slow by a limit; by so much below the middle of its kind it fails, by less it is degraded.
constexpr double kFailShare = 0.10;

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
  bool wide = false;  // those it is made of differ more than healthy GPUs of one kind do: some of them may be slow
  std::string from;   // "212 GPUs of NVIDIA H200, ...", "7 earlier runs", what ships and its source
};

// Chance of a false failure that a whole run of a healthy GPU is allowed, over all judged metrics together.
constexpr double kFalseFailures = 1e-4 / 8;

// One run of one GPU, as far as its own past is made of it: a value of each of metrics().
struct PastRun {
  Time begun;
  std::vector<std::optional<double>> value;
};

// What one GPU is held to: looked up once, and asked for each of its figures. The Limits that it is from live longer.
class GpuLimits {
 public:
  // That of the fleet, or what ships where the fleet is too small; nothing where nobody knows.
  std::span<const Limit> of_kind(const Metric& m) const;
  // That of its own earlier runs, where there are enough.
  std::optional<Limit> of_past(const Metric& m) const;

 private:
  friend class Limits;
  const std::vector<std::vector<Limit>>* of_kind_ = nullptr;  // of each of metrics(); nullptr: none of its kind is known
  std::vector<std::vector<Limit>> shipped_;                   // in its place then
  std::span<const PastRun> past_;
};

class Limits {
 public:
  // `fleet`: earlier recordings, of any kinds and suites; those of other cohorts are left out where they do not fit. A GPU's own
  // earlier runs count as its history; of each GPU of a fleet the newest run counts.
  explicit Limits(std::span<const Acceptance> fleet, const std::vector<AcceptReference>& shipped = {});
  static Limits of(std::span<const NodeFigures> fleet, const std::vector<AcceptReference>& shipped = {});
  // What other GPUs of the same node give, where nothing better is known.
  static Limit among(const std::vector<double>& siblings, const Metric& m);
  // Of its own past the runs that began before `before` count; a GPU without a name has none.
  GpuLimits gpu(const Cohort& cohort, const std::string& uuid, Time before = kNever) const;
  std::size_t gpus(const Cohort& cohort) const;
  // GPUs of the newest whole run on a node that began before `before`; nullptr: none is known.
  const std::vector<accepting::Gpu>* earlier_gpus(const std::string& node, Time before) const;
  // Figures of all GPUs of the kind, sorted, for percentiles.
  const std::vector<double>& values(const Cohort& cohort, std::string_view metric) const;

 private:
  using ByMetric = std::vector<std::vector<Limit>>;  // in the order of metrics()
  struct Kind {
    std::map<std::string, std::vector<double>, std::less<>> sorted;  // metric
    ByMetric limits;
    std::map<std::string, std::vector<PastRun>, std::less<>> past;  // by UUID, the oldest first
    std::size_t gpus = 0;
  };
  void learn(std::span<const NodeFigures> fleet);

  struct NodeRun {
    Time begun;
    std::vector<accepting::Gpu> gpus;
  };

  std::map<Cohort, Kind> kinds_;
  std::map<std::string, std::vector<NodeRun>, std::less<>> nodes_;  // by name, the oldest first
  ByMetric shipped_for(const Cohort& cohort) const;

  std::vector<AcceptReference> shipped_;
};

// Multiples of sigma beyond which a healthy value lies with the probability `chance` on one side, when sigma is known as well as
// `freedom` values would tell.
double multiples(double chance, double freedom);

}  // namespace muster::accept
