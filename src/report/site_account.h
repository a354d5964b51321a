// A site's account from its own files: from what is owned to what was useful, what each part costs, and what cannot be seen.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "account/site_hours.h"
#include "report/describe.h"
#include "report/table.h"

namespace muster::report {

// What a GPU-hour costs: said of one, or of everything for a year.
struct SitePrice {
  std::optional<double> gpu_hour;
  std::optional<double> year;  // of 365 days
  std::string currency = "USD";
};

struct SiteView {
  std::string cluster;  // untrusted; empty: not said
  const account::SiteRuns* runs = nullptr;
  const account::SiteAccount* account = nullptr;
  account::SiteBy by = account::SiteBy::account;
  std::size_t limit = 20;  // rows of the text
  SitePrice price;
  double target = account::kEfficiencyTarget;
  std::string zone = "UTC";
  std::string metric;              // by which activity was measured; empty: it was not
  std::vector<std::string> notes;  // about the files
};

// In GPU-hours, and with the rates where there is a price.
std::string site_account_json(const SiteView& v);
std::string site_account_text(const SiteView& v, const Page& page);
std::string site_account_csv(const SiteView& v);

// What could not be seen, what contradicts itself, and what to do about it: a sentence each.
std::vector<std::string> site_account_notes(const SiteView& v);

struct SiteRates {
  double cost = 0;                                            // of the time looked at
  std::optional<double> owned, delivered, allocated, useful;  // per GPU-hour; none: there were none
};
std::optional<SiteRates> rates_of(const account::SiteSum& sum, const SitePrice& price, Time from, Time to);

}  // namespace muster::report
