// Compare: several policies, or clusters of several sizes, on the same seeds, so that they meet the same work and the same
// weather, and what the seeds can say about the differences between them.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ports/journal.h"
#include "trial/changed_site.h"
#include "trial/run.h"
#include "trial/statistics.h"

namespace muster::trial {

struct Contender {
  std::string name;  // unique
  Policy policy;
  SiteChange site{};  // what its cluster has more or fewer of; the work that comes stays that of the cluster without the change
};

// Which way is better. Classes of GPU time have none of their own: less drained time may be more broken time.
enum class Wish : std::uint8_t { more, less, neither };
constexpr std::array<std::string_view, 3> names(Wish) { return {"more", "less", "neither"}; }

struct Metric {
  std::string name;             // "goodput_pct": the unit last
  std::string title;            // "goodput"
  std::string unit;             // of a value: "%"
  std::string difference_unit;  // "points"
  int decimals = 2;
  Wish wish = Wish::less;
  double worth = 1;  // a difference of this size is worth seeing
  // None where the run cannot say: no fault to heal, nothing settled.
  std::function<std::optional<double>(const RunReport&)> of;
};

enum class Outcome : std::uint8_t {
  better,
  worse,
  differs,     // of a metric without a wish
  not_shown,   // chance could have made it
  same,        // in every seed
  unmeasured,  // fewer than two seeds in which both have it
};
constexpr std::array<std::string_view, 6> names(Outcome) {
  return {"better", "worse", "differs", "not_shown", "same", "unmeasured"};
}

// One policy less the first, paired by seed.
struct Contrast {
  Estimate difference;  // its interval by Student's t
  double student_p = 1;
  double flip_p = 1;  // by sign flips, of this metric alone
  double p = 1;       // and as one of all metrics and policies of the report: what counts
  Outcome outcome = Outcome::unmeasured;
  std::uint64_t seeds_needed = 0;  // to see `worth`, 80 times in 100; 0: nothing varies
  std::string verdict;             // "b is better by 0.80 points (0.50 to 1.10), p=0.018"
};

struct Row {
  Metric metric;
  std::vector<Estimate> values;     // one a contender
  std::vector<Contrast> contrasts;  // one a contender after the first
};

struct CompareReport {
  std::vector<std::string> names;
  std::vector<std::vector<RunReport>> runs;  // by contender, then by seed
  std::vector<Row> rows;
  std::size_t tests = 0;  // contrasts whose differences are not zero in every seed
  bool exact = true;      // all patterns of signs were tried, not a sample of them
};

constexpr double kAlpha = 0.05;  // of all tests together: how often a difference is claimed where there is none

// With `work` it is also asked how much was done and how long jobs waited, which is what clusters of several sizes differ by.
enum class Judged : std::uint8_t { health, work };

// What the runs say. `price` of a lost GPU-hour; 0: not said.
CompareReport judge(std::vector<std::string> names, std::vector<std::vector<RunReport>> runs, double price,
                    Judged judged = Judged::health);

struct CompareOptions {
  RunOptions run;  // its policies and its seed are replaced by each of ...
  std::vector<Contender> contenders;
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 20;
  double price = 0;
  Judged judged = Judged::health;
  unsigned threads = 1;
  std::optional<control::Books> from;                      // where every run begins; none: a new cluster
  std::function<std::unique_ptr<Journal>()> make_journal;  // safe to call from any thread
  std::function<void(double)> progress;                    // share done; called from one thread at a time
  std::function<bool()> stopped;                           // true ends it with Code::conflict; from any thread
};

Result<CompareReport> compare(const CompareOptions& options);

}  // namespace muster::trial
