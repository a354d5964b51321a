// The report of a month for those who pay and those who run a cluster: where its GPU-hours went from installed to useful, what an
// hour cost by the time it was owned, delivered, allocated and useful, who used them, and what is not known. One object as a page
// of one file, as JSON and as a tidy table.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "account/quota.h"
#include "account/site_class.h"
#include "account/site_hours.h"
#include "base/time.h"
#include "ingest/record_time.h"
#include "report/sections.h"

namespace muster::report {

using account::SiteClass;
using account::SiteSum;

// A piece of time and what became of its GPU-hours.
struct MonthPiece {
  Time from, to;                             // utc
  SiteSum sum;                               // thousandths of GPU-milliseconds are GPU-microseconds
  bool whole = true;                         // all of it is known
  std::optional<double> efficiency() const;  // none: nothing of it is settled
  std::optional<double> share(SiteClass c) const;
};

struct MonthRow {
  std::string name;  // untrusted
  std::uint64_t jobs = 0;
  SiteSum sum;
  std::map<std::string, double> charged;  // what the ledger or the rates ask of it, by currency: two are never added
};
// Rows and what no job had sum to the month.
struct MonthTable {
  std::string by;  // "account", "partition", "user", "gpu_type"
  std::vector<MonthRow> rows;
  SiteSum nobody;
};

// What everything cost in the month, and from where that is known.
struct MonthCost {
  double total = 0;
  std::string currency = "USD";
  std::string basis;                                  // "the policy's gpu_hour_price of 3.00 USD"; "site.yaml"
  std::vector<std::pair<std::string, double>> parts;  // "energy": they sum to it; empty: not told apart
  std::optional<double> total_before;                 // of the month before; none: at the same price an hour
};
// Money an hour: what everything cost over the hours that are left at each level.
struct MonthRates {
  std::optional<double> owned, delivered, allocated, useful;
};

struct MonthFailure {
  std::string cause, words;
  std::uint64_t incidents = 0, attempts_lost = 0;
  std::int64_t out_us = 0, lost_us = 0;  // GPUs out of service; steps, starts in vain, gangs slowed
  std::int64_t all_us() const { return out_us + lost_us; }
};
struct MonthEnergy {
  double it_kwh = 0;
  std::optional<double> facility_kwh;  // with cooling and losses
  std::optional<double> money;
  std::string currency = "USD";
  std::optional<double> co2_kg;
  std::string basis;                                      // measured or estimated, of what
  std::vector<std::pair<std::string, double>> owner_kwh;  // by account; empty: not told apart
};
// When capacity ends, by the bands of a forecast.
struct MonthCapacity {
  struct End {
    std::string what, limit;    // "GPUs", "90 % of 1,024 GPUs"
    std::string p10, p50, p90;  // dates; empty: not within the forecast
  };
  std::vector<End> ends;
  std::string verdict;   // what the forecast is worth
  std::string last_day;  // of the forecast
};
// What is not in the report, and what brings it in.
struct MonthGap {
  std::string part, why, how;
};
struct MonthCommand {
  std::string part, command;
};

struct Month {
  std::string cluster;     // untrusted
  std::string simulation;  // what it says of itself; empty: a real cluster, as far as is known
  std::string source;      // "the journal muster.db", "2 files of sacct"
  std::uint64_t gpus = 0;  // 0: not known
  Time begin, end;         // of the calendar month in `zone`, as utc; what is known of it may be less
  std::string zone = "UTC";  // whose calendar it is
  ZoneOffsets offsets;       // of that zone; empty: UTC
  double target = account::kEfficiencyTarget;
  MonthPiece all;                    // the sum of `days`
  std::vector<MonthPiece> days;      // of the calendar, in their order
  std::optional<MonthPiece> before;  // the month before; none: not wholly known
  std::optional<MonthCost> cost;
  std::vector<MonthTable> tables;
  std::string charged_by;             // where `charged` is from; empty: nobody is charged
  std::vector<account::Burn> quotas;  // as they stood at its end
  std::vector<MonthFailure> failures;
  bool failures_known = false;  // files of a site tell of none
  bool activity_known = true;   // false: nothing measured what GPUs did, so nobody can say what jobs held idle
  std::optional<MonthEnergy> energy;
  std::optional<MonthCapacity> capacity;
  std::vector<std::string> unseen;  // what was not seen, in sentences
  std::vector<MonthGap> gaps;
  std::vector<MonthCommand> commands;  // that give each table again

  bool is_whole() const { return all.from <= begin && all.to >= end; }
  bool sees(SiteClass c) const { return c != SiteClass::held_idle || activity_known; }
  Time wall(Time utc) const;  // what the zone's clocks show then, written as if it were utc
};

account::Streak streak_of(const Month& m);
// Of `piece`, at what everything cost in it.
MonthRates rates_of(const MonthPiece& piece, double total);
double cost_before(const Month& m);  // of `before`
// Money of so many GPU-hours as they were owned; none: no cost is known.
std::optional<double> money_of(const Month& m, std::int64_t gpu_us);
void sort_rows(MonthTable& t);  // those that were allocated most first
// Of everything, by allocated hours; none: no cost is known, or nobody had a GPU.
std::optional<double> share_of_cost(const Month& m, const SiteSum& owners);

// The calendar month of a zone that holds `t`: [begin, end). It is an hour shorter or longer where the clocks change.
struct MonthBounds {
  Time begin, end;
};
MonthBounds month_of(Time t, const ZoneOffsets& zone = {});
Time wall_of(Time utc, const ZoneOffsets& zone);
std::string month_name(Time wall);  // "October 2026"

std::string_view class_words(SiteClass c);  // "broken or booting"
// Three sentences: what came of the hours, what they cost, and how that is against the target.
std::vector<std::string> headline_of(const Month& m);
Definitions definitions_of(const Month& m);
// All that is told of it below the first screen.
std::vector<Section> month_sections(const Month& m);

std::string month_page(const Month& m);
std::string month_json(const Month& m);
std::string month_csv(const Month& m);  // one tidy table

}  // namespace muster::report
