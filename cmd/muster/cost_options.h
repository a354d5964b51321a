// What muster cost and its commands are asked for.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ingest/price_catalogue.h"
#include "predict/burst.h"
#include "predict/rent_or_own.h"
#include "report/format.h"

namespace muster::cmd {

// Which site, and what of it is other than its file says.
struct SiteChoice {
  std::string site;  // one that ships, or a file
  std::vector<std::pair<std::string, std::string>> set;
};

struct CostOptions {
  SiteChoice site;
  std::uint64_t seed = 1;
  std::uint32_t draws = 10'000;
  report::Format format = report::Format::table;  // table, wide, json or csv
};

struct CostImportOptions {
  std::string from, out;  // out: empty: stdout
  CatalogueAsk ask;
  report::Format format = report::Format::table;  // of what is flagged
};

struct CostCompareOptions {
  SiteChoice site;
  std::vector<std::string> prices;  // files
  CatalogueAsk ask;
  std::optional<double> price;  // USD a GPU-hour that stays
  std::string gpu, cloud;       // empty: the site's; all
  std::string term = "ondemand";
  predict::TermMix mix{1, 0, 0, 0};
  predict::TermMix off{};                    // shares off the list prices of each term
  std::string discounts;                     // as they were asked for
  double own_off = 0;                        // off what is bought
  double gpu_hours_a_month = 0, months = 0;  // 0: the site's
  predict::Resale resale = predict::Resale::none;
  bool drift = true;
  std::uint64_t seed = 1;
  std::uint32_t draws = 4000;
  std::string svg;
  report::Format format = report::Format::table;  // table, json or csv
};

struct CostBurstOptions {
  SiteChoice site;  // empty: nothing is bought, and own GPU-hours cost what --own-price says
  predict::BurstAsk ask;
  std::string from;                               // "2026-11-20": from when on it is counted; empty: in hours alone
  report::Format format = report::Format::table;  // table or json
};

using CostCommand = std::variant<CostOptions, CostImportOptions, CostCompareOptions, CostBurstOptions>;

int run_cost_table(const CostOptions& options);
int run_cost_import(const CostImportOptions& options);
int run_cost_compare(const CostCompareOptions& options);
int run_cost_burst(const CostBurstOptions& options);

}  // namespace muster::cmd
