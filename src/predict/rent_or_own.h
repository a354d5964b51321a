// The month from which owning a site has cost less than renting the same hours: at one price, and along prices that move as they
// have moved, up as well as down.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cost_site.h"
#include "model/rental.h"
#include "predict/ownership.h"

namespace muster::predict {

// What is left of what was bought, when it is given up in some month.
enum class Resale : std::uint8_t {
  none,      // it is kept
  at_end,    // what it brings at the end of its life, at any time
  straight,  // from its price down to that, in equal steps
};
constexpr std::array<std::string_view, 3> names(Resale) { return {"none", "at_end", "straight"}; }

// Shares of the rented hours, by term; they sum to one, or less by what is taken off list prices.
using TermMix = std::array<double, kRentTerms>;

// Prices of one month after the other, each the last that was asked within it or before.
struct MonthlyPrices {
  std::string_view cloud, instance, flags;  // flags: what is doubtful about the newest
  std::int64_t first_day = 0, last_day = 0;
  std::size_t days = 0;  // on which a price was seen
  std::vector<double> usd_per_gpu_hour;

  double now() const { return usd_per_gpu_hour.back(); }
};
// Of rows that are of one machine of one cloud, in the order of their days; none where a term of the mix has no price. Prices of
// commitments, which few lists have, begin where they are first known.
std::optional<MonthlyPrices> monthly_prices(std::span<const RentalRow> rows, const TermMix& mix);

// Changes from one month to the next, as logarithms, of each series by itself: blocks of them are drawn together.
using PriceMoves = std::vector<std::vector<double>>;
PriceMoves moves_of(std::span<const MonthlyPrices> series);
std::size_t months_of(const PriceMoves& moves);
// The mean taken out of each: prices wander, and go nowhere on average.
PriceMoves without_drift(PriceMoves moves);

struct RentOrOwnAsk {
  CostSite site;
  double usd_per_gpu_hour = 0;   // now
  PriceMoves moves;              // empty: the price stays as it is
  double gpu_hours_a_month = 0;  // 0: those the site says are allocated
  double months = 0;             // looked ahead; 0: the site's years
  Resale resale = Resale::none;
  std::uint64_t seed = 1;
  std::uint32_t draws = 4000;
};

struct RentOrOwn {
  double months = 0;             // looked ahead
  double gpu_hours_a_month = 0;  // that would be rented
  double capital_usd = 0, monthly_usd = 0;
  double at_constant = 0;               // months; infinite: never, however long
  double even_usd_per_gpu_hour = 0;     // the price at which owning costs the same in the end
  double even_utilisation = 0;          // of the hours owned; above 1: at no utilisation
  std::uint32_t draws = 0;              // 0: nothing was drawn
  Band at;                              // months; infinite: never within those looked ahead
  double never = 0;                     // share of draws
  std::vector<double> own_usd;          // spent until each month, 0 first; what it could be sold for taken off
  std::vector<double> rent_steady_usd;  // likewise, if the price stays
  std::vector<Band> rent_usd;           // of the draws
};

// What is bought for less than its list price: GPUs and the rest that is paid at once. Parts, people and power are as they were.
CostSite at_discount(CostSite site, double share);

// Money later is worth less by the site's interest; without any it is a plain sum. Error: numbers that cannot be.
Result<RentOrOwn> rent_or_own(const RentOrOwnAsk& ask);

}  // namespace muster::predict
