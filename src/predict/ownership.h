// What owning GPUs costs: a year of a site, by item, with the price of an hour in four denominators, and what is not certain in
// that; owning against renting at one price; what cooling costs.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/cost_site.h"

namespace muster::predict {

constexpr double kHoursAYear = 8760;
constexpr double kHoursAMonth = kHoursAYear / 12;

// What is bought once and what it takes to keep it running.
struct Ownership {
  double capital_usd = 0;
  double residual_usd = 0;  // what it is sold for at the end
  double monthly_usd = 0;   // power, cooling, space, people
};

// The price of a rented GPU-hour at which owning for so long costs the same, with so many hours used a month.
double break_even_price(const Ownership& own, double months, double gpu_hours_a_month);
// Until owning has cost less than renting, without selling it; infinite: never.
double break_even_months(const Ownership& own, double usd_per_gpu_hour, double gpu_hours_a_month);
// Of one GPU-hour that was used.
double owned_gpu_hour(const Ownership& own, double months, double gpus, double utilisation);
// Below this, renting at that price is cheaper; above 1: always.
double break_even_utilisation(const Ownership& own, double months, double gpus, double usd_per_gpu_hour);

// A year of what cooling and feeding takes beyond the machines' own power.
double pue_saving_usd(double it_mw, double pue_before, double pue_after, double usd_per_kwh);
// Facility power over IT power, by cooling: between the American average of all halls (1.43 in 2023) and of those built for this
// (1.14).
double usual_pue(Cooling cooling);
// What servers' fans still draw of what they draw in air. Assumed: cold plates take four fifths of the heat.
double fans_left(Cooling cooling);
// A hall's rent for a year.
double hall_usd_a_year(double kw, double usd_per_kw_month);

// What a year of a loan costs that is paid back in equal parts: of each dollar, at that interest.
double annuity(double interest, double years);

// GPU-hours of a year, each part of the one before.
enum class GpuHour : std::uint8_t { owned, delivered, allocated, useful };
constexpr std::size_t kGpuHourKinds = 4;
constexpr std::array<std::string_view, kGpuHourKinds> names(GpuHour) { return {"owned", "delivered", "allocated", "useful"}; }

struct CostLine {
  CostClass of = CostClass::gpus;
  std::string name;
  double usd_a_year = 0;
  double capital_usd = 0;  // paid at once, in the beginning; 0: it is paid year by year
};

struct YearlyCost {
  std::vector<CostLine> lines;  // in the order of CostClass
  double usd_a_year = 0, operating_usd_a_year = 0, capital_usd = 0;
  double residual_usd = 0;                                            // what all of it is sold for at the end
  double pue = 0, it_kw = 0, nameplate_kw = 0, peak_kw = 0, kwh = 0;  // peak with cooling
  double down_gpu_hours = 0;                                          // by repairs alone
  std::array<double, kGpuHourKinds> gpu_hours{};

  double of(CostClass c) const;
  double rate(GpuHour h) const { return usd_a_year / gpu_hours[static_cast<std::size_t>(h)]; }
};
// Of the likeliest numbers.
YearlyCost yearly_cost(const CostSite& site);
// What is paid at once, what is left in the end, and what is paid month by month.
Ownership ownership(const YearlyCost& cost);

struct Band {
  double p10 = 0, p50 = 0, p90 = 0;
};
// By nearest rank; sorts what it is given. Infinities are the last.
Band band_of(std::vector<double>& values);

// How far one uncertain number alone moves the price of a useful GPU-hour.
struct Swing {
  std::string key;
  double at_low = 0, at_high = 0;
};

struct UncertainCost {
  std::uint32_t draws = 0;  // 0: every number is certain
  Band usd_a_year;
  std::array<Band, kGpuHourKinds> rates;
  std::vector<Swing> swings;  // the widest first
};
// Every uncertain number drawn from its triangle, each from its own stream, so that one more of them leaves the others' draws
// alone.
UncertainCost uncertain_cost(const CostSite& site, std::uint64_t seed, std::uint32_t draws);
// A site whose numbers are all certain: draw number `draw`.
CostSite drawn(const CostSite& site, std::uint64_t seed, std::uint32_t draw);
bool all_certain(const CostSite& site);

}  // namespace muster::predict
