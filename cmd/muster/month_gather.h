// What the report of a month is put together from: the GPU-hours of a journal, of a running Muster or of a site's files; and what
// they cost, what was charged, granted and drawn.
#pragma once
#include <functional>
#include <vector>

#include "account/quota.h"
#include "base/result.h"
#include "month_options.h"
#include "report/month.h"

namespace muster::cmd {

struct GatheredMonth {
  report::Month month;
  std::vector<account::Use> uses;  // of accounts, as far as any is known, also outside of the month
};

Result<GatheredMonth> gather_month_files(const MonthOptions& options);
// `told` how much is done, from 0 to 1.
Result<GatheredMonth> gather_month_journal(const MonthOptions& options, const std::function<void(double)>& told);
Result<GatheredMonth> gather_month_server(const MonthOptions& options, const std::function<void(double)>& told);

// Each adds its part, or why it is not there and what would bring it in.
Result<void> add_month_cost(report::Month& m, const MonthOptions& options);
Result<void> add_month_charges(GatheredMonth& g, const MonthOptions& options);
Result<void> add_month_quotas(GatheredMonth& g, const MonthOptions& options);
Result<void> add_month_energy(report::Month& m, const MonthOptions& options);
Result<void> add_month_capacity(report::Month& m, const MonthOptions& options);
void add_month_commands(report::Month& m, const MonthOptions& options);

// The bounds of the month that is asked for, or of the last whole one of what is known from `first` to `last`; else of the one
// that `last` is in.
report::MonthBounds month_asked(const MonthOptions& options, const ZoneOffsets& zone, Time first, Time last);

}  // namespace muster::cmd
