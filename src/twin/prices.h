// What power will cost, as a market tells it: the hours of a day at noon of the day before.
#pragma once
#include <optional>

#include "base/time.h"
#include "model/event.h"
#include "model/price.h"

namespace muster::twin {

// What is known at `utc`, from the hour under way to the end of the day, or of the next one from noon on. Hours that have begun
// have their own value, later ones the forecast, and those without one the value of the last day that has one at this hour.
// Both series begin in utc; nothing where there is no price for the hour under way.
std::optional<PriceAnnounced> announced(const PriceSeries& price, const PriceSeries& carbon, Time utc);

// The next noon after `utc`.
Time next_noon(Time utc);

}  // namespace muster::twin
