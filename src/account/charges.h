// Charging for GPU time: each piece of a run is charged once, at the rate that held then, and what was charged stays as it was,
// whatever the rates say later. Exact in millionths of the currency.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "account/site_runs.h"
#include "model/charge.h"

namespace muster::account {

// What of a run could not be charged, or was not: by whom and why.
enum class NotCharged : std::uint8_t {
  no_rate,       // no row of the rates holds for it then
  gpus_unknown,  // nothing says how many GPUs it had
  runs,          // it had not ended, and no --until says how far it may be charged
  shrank,        // it was charged for longer than its record says now: that stays
  sooner,        // it ends before it begins
  no_start,      // it had GPUs, and nothing says from when on
  no_end,        // it is over, and nothing says since when
};
constexpr std::array<std::string_view, 7> names(NotCharged) {
  return {"no_rate", "gpus_unknown", "runs", "shrank", "sooner", "no_start", "no_end"};
}

struct Uncharged {
  NotCharged why = NotCharged::no_rate;
  std::string job, account, user, partition, gpu_type;
  Time from, to;              // the piece; runs and gpus_unknown: from when it began
  std::int64_t milli_ms = 0;  // of it, where that is known
};

struct Charging {
  std::vector<Charge> charges;  // new ones, to be appended to the ledger
  std::vector<Uncharged> not_charged;
  std::uint64_t runs = 0;         // looked at
  std::uint64_t runs_before = 0;  // of them: all there is of them was in the ledger already
  std::uint64_t runs_without_gpus = 0;
};

// The price that holds for a run at a moment; null: there is none. At `until` it may be another.
struct Priced {
  const Rate* rate = nullptr;
  const Rate* discount = nullptr;
  Time until = kNever;
};
Priced price_of(const std::vector<Rate>& rates, std::string_view account, std::string_view gpu_type, std::string_view partition,
                Time at);

// What so much GPU time costs, in millionths; half of one is rounded up.
std::int64_t amount_of(std::int64_t milli_ms, std::int64_t price_micro, std::int64_t discount_ppm);

// What is to be charged for `runs` beyond what the ledger has. Runs that go on are charged up to `until`, where that is said, and
// no run beyond it. `now` is written into the charges.
Charging charge(const SiteRuns& runs, const std::vector<Rate>& rates, const Ledger& ledger, Time until, Time now);

enum class ChargesBy : std::uint8_t { account, user, partition, gpu_type, month };
constexpr std::array<std::string_view, 5> names(ChargesBy) { return {"account", "user", "partition", "gpu_type", "month"}; }

struct ChargeSum {
  std::string name;
  std::string currency;
  std::int64_t milli_ms = 0;
  std::int64_t amount_micro = 0;
  std::uint64_t jobs = 0;
  std::uint64_t charges = 0;
};
// Of pieces that begin from `from` on and before `to`. Largest amounts first, months in their order, currencies apart. A piece
// over the end of a month counts for the month it begins in.
std::vector<ChargeSum> totals(const std::vector<Charge>& charges, ChargesBy by, Time from, Time to);

}  // namespace muster::account
