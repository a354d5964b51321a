// A year of owning a site as people and programs read it: by item, for an hour in four denominators, beside a changed one.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/cost_site.h"
#include "predict/ownership.h"
#include "report/table.h"

namespace muster::report {

struct CostSide {
  CostSite site;
  predict::YearlyCost cost;
  predict::UncertainCost uncertain;
};
struct CostView {
  CostSide base;
  std::optional<CostSide> changed;
  std::vector<std::pair<std::string, std::string>> settings;  // what was changed, as asked
  std::uint64_t seed = 1;
};

struct CostStyle {
  bool wide = false;  // each line instead of each class
  bool colour = false;
  bool unicode = true;
};
std::string cost_text(const CostView& view, const CostStyle& style);
std::string cost_json(const CostView& view);
// Lines, their total and the four rates in one table; `part` tells which.
std::string cost_csv(const CostView& view);

// What a class of costs is called: "hall", "energy".
std::string_view cost_word(CostClass c);
// What a site has no cost of at all, since nobody wrote it down or it was set to nothing.
std::vector<CostClass> not_counted(const CostSite& site, const predict::YearlyCost& cost);
// A line each for what a reader would take to be counted, and is not; and for money that was in another currency.
std::string money_notes(const CostSite& site, const predict::YearlyCost& cost);

}  // namespace muster::report
