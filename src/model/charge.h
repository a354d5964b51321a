// Money for GPU time: what a GPU-hour costs whom from when on, what was charged for, and what accounts were granted. All money is
// in millionths of a currency's unit, all GPU time in thousandths of GPU-milliseconds: sums are exact.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/time.h"

namespace muster {

constexpr std::int64_t kMicro = 1'000'000;                    // of a unit of money
constexpr std::int64_t kMilliMsOfHour = 3'600'000'000;        // thousandths of GPU-milliseconds in a GPU-hour
constexpr std::int64_t kPriceMax_micro = 1'000'000 * kMicro;  // of a GPU-hour

// A row of the rates. Where several hold, the one that names most holds: the account, then the GPU type, then the partition; of
// equals the one that began last. A row has a price, or a discount on whatever price holds.
struct Rate {
  std::string id;  // unique in its file; stored with every charge
  Time from;       // utc
  Time to = kNever;
  std::string gpu_type;  // these three: empty: any
  std::string partition;
  std::string account;
  std::optional<std::int64_t> price_micro;  // of a GPU-hour; none: a discount
  std::int64_t discount_ppm = 0;            // millionths of the price
  std::string currency;                     // of a price: three letters
  int line = 0;
};

// A piece of a run that has been charged: at one rate, once.
struct Charge {
  std::uint64_t seq = 0;  // in its ledger, from 1
  std::string cluster;
  std::string job;  // "1234_7"
  Time started;     // of the run: with the two above it says which
  Time from, to;    // the piece of it
  std::string account, user, partition, gpu_type;
  std::int64_t gpus_milli = 0;
  std::string rate;  // its id, and what it said then
  std::int64_t price_micro = 0;
  std::string discount;  // id of the row; empty: none
  std::int64_t discount_ppm = 0;
  std::string currency;
  std::int64_t amount_micro = 0;
  Time charged;  // when this was written

  std::int64_t milli_ms() const { return gpus_milli * ((to.ns - from.ns) / 1'000'000); }
};

struct Ledger {
  std::vector<Charge> charges;
  Digest head{};            // of its last line
  std::uint64_t bytes = 0;  // of whole lines: what is behind them was not written to its end
  bool torn = false;        // there is something behind them
};

// What an account may use within a time: GPU-hours, or money.
struct Allocation {
  std::string account;
  Time from, to;  // utc
  std::optional<std::int64_t> gpu_milli_ms;
  std::optional<std::int64_t> money_micro;
  std::string currency;  // of the money
  int line = 0;
};

}  // namespace muster
