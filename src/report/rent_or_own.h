// From when on owning has cost less than renting, cloud by cloud, and the course of both.
#pragma once
#include <string>
#include <vector>

#include "model/cost_site.h"
#include "predict/rent_or_own.h"
#include "report/chart.h"

namespace muster::report {

struct RentCase {
  std::string cloud, instance;
  std::string priced_on;  // day; empty: a price that somebody named
  double usd_per_gpu_hour = 0;
  bool stale = false;
  predict::RentOrOwn answer;
  std::string flags;  // what is doubtful about the price
};
struct RentOrOwnView {
  CostSite site;
  std::string gpu, term;
  std::vector<RentCase> cases;
  std::size_t series = 0, months = 0;  // that changes of price were drawn from; 0: prices stay as they are
  bool drift = true;
  predict::Resale resale = predict::Resale::none;
  std::uint64_t seed = 1;
  double asked_gpu_hours = 0;  // a month; 0: the site's own
  std::string discounts;       // what was taken off list prices, in words; empty: nothing
};

// With the chart, where there is one case only.
std::string rent_or_own_text(const RentOrOwnView& view, bool colour, bool unicode);
std::string rent_or_own_json(const RentOrOwnView& view);
std::string rent_or_own_csv(const RentOrOwnView& view);
Chart rent_or_own_chart(const RentOrOwnView& view, const RentCase& one);

}  // namespace muster::report
