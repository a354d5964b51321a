// Quota: what accounts were granted against what they use, and when that will be gone if they go on as they did. Exact sums; what
// is said of the days to come is a range from two rates, no forecast.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "account/site_runs.h"
#include "account/waterfall.h"
#include "model/charge.h"

namespace muster::account {

// What an account used between two moments, spread evenly over that time.
struct Use {
  std::string account;
  Time from, to;
  std::int64_t milli_ms = 0;
  std::int64_t money_micro = 0;
  std::string currency;  // empty: nothing was charged
};
// Of runs, up to `at`; those of which nothing says how many GPUs they had, or that did not begin, are left out.
std::vector<Use> use_of(const SiteRuns& runs, Time at);
// Those runs: in no account's use, though they had GPUs or may have.
struct UseUnknown {
  std::uint64_t gpus = 0, start = 0, end = 0, backwards = 0;
};
UseUnknown unknown_use(const SiteRuns& runs);
std::vector<Use> use_of(const std::vector<Charge>& charges);
// Of a journal: what jobs had, day by day, at the prices that held.
std::vector<Use> use_of(const Flow& flow);

enum class Standing : std::uint8_t {
  not_begun,
  within,       // it lasts to its end, at either rate
  may_run_out,  // at one of the two rates it is gone before its end
  runs_out,     // at both
  overspent,    // more was used than granted
  over,         // its time is over, and it was kept
};
constexpr std::array<std::string_view, 6> names(Standing) {
  return {"not_begun", "within", "may_run_out", "runs_out", "overspent", "over"};
}

// In thousandths of GPU-milliseconds, or in millionths of the allocation's currency.
struct Burn {
  Allocation granted;
  std::int64_t grant = 0;
  std::int64_t used = 0;
  double period_gone = 0;  // share of its time, 0 to 1
  double per_day_7 = 0;    // over the last 7 days, and 28; or as many as are known
  double per_day_28 = 0;
  std::optional<Time> out_first, out_last;  // when it is gone, by the faster and the slower rate; none: never, at that rate
  Standing standing = Standing::within;

  std::int64_t left() const { return grant - used; }
};

struct Ungranted {  // use that no allocation of the account covers
  std::string account;
  std::int64_t milli_ms = 0;
  bool has_others = false;  // the account has an allocation, of another time
};

struct Quotas {
  Time at;
  Time known_from;                   // the first use that is known
  std::vector<Burn> burns;           // by account, then by when they begin
  std::vector<Ungranted> ungranted;  // most first
};
// As things stand at `at`; what is used after it is not known yet.
Quotas burn_down(const std::vector<Allocation>& allocations, std::span<const Use> uses, Time at);

}  // namespace muster::account
