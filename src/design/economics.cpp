#include "design/economics.h"

#include <limits>

namespace muster::design {

double break_even_price(const Ownership& own, double months, double gpu_hours_a_month) {
  return (own.capital_usd - own.residual_usd + own.monthly_usd * months) / (gpu_hours_a_month * months);
}

double break_even_months(const Ownership& own, double usd_per_gpu_hour, double gpu_hours_a_month) {
  const double saved = usd_per_gpu_hour * gpu_hours_a_month - own.monthly_usd;
  return saved > 0 ? own.capital_usd / saved : std::numeric_limits<double>::infinity();
}

double owned_gpu_hour(const Ownership& own, double months, double gpus, double utilisation) {
  return break_even_price(own, months, gpus * kHoursAMonth * utilisation);
}

double break_even_utilisation(const Ownership& own, double months, double gpus, double usd_per_gpu_hour) {
  return owned_gpu_hour(own, months, gpus, 1) / usd_per_gpu_hour;
}

double pue_saving_usd(double it_mw, double pue_before, double pue_after, double usd_per_kwh) {
  return it_mw * 1000 * (pue_before - pue_after) * kHoursAYear * usd_per_kwh;
}

}  // namespace muster::design
