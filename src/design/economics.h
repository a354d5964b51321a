// What owning costs against renting, and what power costs.
#pragma once

namespace muster::design {

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

}  // namespace muster::design
