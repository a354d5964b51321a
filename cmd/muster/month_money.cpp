// What a month cost, what was charged for it, and what is left of what accounts were granted.
#include <fmt/core.h>

#include <algorithm>

#include "account/charges.h"
#include "cost_site.h"
#include "files.h"
#include "ingest/charge_files.h"
#include "ingest/sacct_file.h"
#include "input.h"
#include "month_gather.h"
#include "predict/ownership.h"
#include "report/units.h"
#include "zones.h"

namespace muster::cmd {
namespace {

__extension__ using Wide = __int128;

constexpr double kDifferent = 0.01;  // of GPUs, from which on it is said

double hours_of(const report::MonthPiece& p) { return (p.to - p.from).seconds() / 3600; }

Result<report::MonthCost> cost_of_site(const report::Month& m, const std::string& file) {
  const auto site = named_site(file);
  if (!site) return tl::unexpected(site.error());
  const predict::YearlyCost year = predict::yearly_cost(*site);
  // In the money of the file: what was converted when it was read is converted back at the same rate.
  const ExchangeRate& money = site->file;
  const double a_year = year.usd_a_year / money.usd;
  const double part = hours_of(m.all) / predict::kHoursAYear;
  report::MonthCost c;
  c.currency = money.currency;
  c.total = a_year * part;
  if (m.before) c.total_before = a_year * hours_of(*m.before) / predict::kHoursAYear;
  c.basis = fmt::format("{}: {} a year{}, {} of it", site->name.empty() ? file : site->name,
                        report::render_money(a_year, money.currency),
                        site->as_of.empty() ? "" : ", with prices of " + site->as_of, report::render_span(m.all.to - m.all.from));
  for (std::size_t i = 0; i < kCostClasses; ++i) {
    const auto of = static_cast<CostClass>(i);
    if (year.of(of) > 0) c.parts.emplace_back(std::string(names(CostClass{})[i]), year.of(of) / money.usd * part);
  }
  std::stable_sort(c.parts.begin(), c.parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  const double gpus = site->gpus.likely, here = report::gpu_hours_of(m.all.sum.installed()) / std::max(1e-9, hours_of(m.all));
  if (std::abs(gpus - here) > kDifferent * gpus)
    c.basis += fmt::format(". It is of {} GPUs; {} were installed on average, and bear all of it",
                           report::render_decimal(gpus, 0), report::render_decimal(here, 0));
  return c;
}

std::string ways_to_a_cost() {
  return "--site COST.yaml (docs/cost.md), --price MONEY of a GPU-hour owned, or --cost-per-year MONEY";
}

// What of charges lies in the month. A piece over one of its ends counts by its part, rounded so that the parts of all months sum
// to the piece.
std::vector<Charge> charges_in(const report::Month& m, const std::vector<Charge>& charges) {
  std::vector<Charge> out;
  for (const Charge& c : charges) {
    if (c.from >= m.end || c.to <= m.begin || c.to <= c.from) continue;
    const auto until = [&](Time at) {
      return static_cast<std::int64_t>(static_cast<Wide>(c.amount_micro) * (at - c.from).ns / (c.to - c.from).ns);
    };
    Charge part = c;
    part.from = std::max(c.from, m.begin);
    part.to = std::min(c.to, m.end);
    part.amount_micro = until(part.to) - until(part.from);
    out.push_back(std::move(part));
  }
  return out;
}

// Those who are charged and had nothing in the month's records get a row too: money is not dropped.
void put_charges(report::Month& m, const std::vector<Charge>& charges) {
  for (report::MonthTable& t : m.tables) {
    const auto ways = account::names(account::ChargesBy{});
    const auto by = std::find(ways.begin(), ways.end(), t.by);
    if (by == ways.end()) continue;
    const auto way = static_cast<account::ChargesBy>(by - ways.begin());
    for (const account::ChargeSum& s : account::totals(charges, way, m.begin, m.end)) {
      auto row = std::find_if(t.rows.begin(), t.rows.end(), [&](const report::MonthRow& r) { return r.name == s.name; });
      if (row == t.rows.end()) row = t.rows.insert(t.rows.end(), {s.name, 0, {}, {}});
      row->charged[s.currency] += static_cast<double>(s.amount_micro) / static_cast<double>(kMicro);
    }
  }
}

// What the ledger has of the time that jobs had GPUs: what is missing was not charged yet, or is another cluster's.
void compare_hours(report::Month& m, const std::vector<Charge>& charges) {
  std::int64_t charged = 0;
  for (const Charge& c : charges) charged += c.milli_ms();
  const std::int64_t had = m.all.sum.allocated();
  if (std::abs(charged - had) <= had / 1000) return;
  m.unseen.push_back(fmt::format("The ledger has {} GPU-hours of the month, and jobs had {}: {}.",
                                 report::render_gpu_hours(charged), report::render_gpu_hours(had),
                                 charged < had ? "the others are not charged yet (muster account charge), or by nobody's rate"
                                               : "is it another cluster's too, or of another month?"));
}

// "EUR", "EUR and USD".
std::string currencies_of(const std::vector<Charge>& charges) {
  std::string out;
  for (const account::ChargeSum& s : account::totals(charges, account::ChargesBy::month, Time{INT64_MIN}, kNever)) {
    if (out.find(s.currency) == std::string::npos) out += (out.empty() ? "" : " and ") + s.currency;
  }
  return out;
}

// Runs that had GPUs in the month, cut to it: what came before or comes after is for another month.
Result<account::SiteRuns> runs_in(const MonthOptions& o, const report::Month& m) {
  const auto zone = zone_offsets("--zone", o.files.zone);
  if (!zone) return tl::unexpected(zone.error());
  account::SiteRuns out;
  for (const std::string& path : o.files.sacct) {
    SacctReader reader(path, *zone, [&](const JobRecord& r) {
      const bool touches = r.started.ns != 0 && r.started < m.end && (r.ended.ns == 0 || r.ended > m.begin);
      if (!touches || r.gpus_milli.value_or(0) <= 0) return;
      JobRecord cut = r;
      cut.started = std::max(r.started, m.begin);
      if (r.ended.ns != 0) cut.ended = std::min(r.ended, m.end);
      out.take(cut);
    });
    if (const auto ok = read_unpacked(path, [&](std::string_view piece) { return reader.feed(piece); }); !ok)
      return tl::unexpected(ok.error());
    if (const auto counts = reader.finish(); !counts) return tl::unexpected(counts.error());
  }
  return out;
}

}  // namespace

Result<void> add_month_cost(report::Month& m, const MonthOptions& o) {
  const double hours = report::gpu_hours_of(m.all.sum.installed());
  const std::string currency = o.currency.empty() ? (m.cost ? m.cost->currency : "USD") : o.currency;
  if (!o.site.empty()) {
    auto c = cost_of_site(m, o.site);
    if (!c) return tl::unexpected(c.error());
    m.cost = std::move(*c);
  } else if (o.price) {
    m.cost =
        report::MonthCost{*o.price * hours,
                          currency,
                          fmt::format("a price of {} {} for each GPU-hour owned", report::render_decimal(*o.price, 2), currency),
                          {},
                          {}};
  } else if (o.cost_per_year) {
    const double year = *o.cost_per_year / predict::kHoursAYear;
    m.cost = report::MonthCost{year * hours_of(m.all),
                               currency,
                               fmt::format("{} a year, {} of it", report::render_money(*o.cost_per_year, currency),
                                           report::render_span(m.all.to - m.all.from)),
                               {},
                               {}};
    if (m.before) m.cost->total_before = year * hours_of(*m.before);
  }
  if (!m.cost) m.gaps.push_back({"money", "nothing says what a GPU-hour costs", ways_to_a_cost()});
  return {};
}

Result<void> add_month_charges(GatheredMonth& g, const MonthOptions& o) {
  report::Month& m = g.month;
  if (!o.ledger.empty()) {
    const auto text = read_file(o.ledger);
    if (!text) return tl::unexpected(text.error());
    const auto ledger = parse_ledger(*text, o.ledger);
    if (!ledger) return tl::unexpected(ledger.error());
    const std::vector<Charge> now = charges_in(m, ledger->charges);
    put_charges(m, now);
    m.charged_by = now.empty() ? fmt::format("the ledger {} has nothing of the month", o.ledger)
                               : fmt::format(
                                     "what the ledger {} has of the month, in {}; pieces over its ends by their part, where "
                                     "muster account charge --by month tells them with the month they begin in",
                                     o.ledger, currencies_of(now));
    compare_hours(m, now);
    if (ledger->torn)
      m.unseen.push_back(
          fmt::format("What stands behind the last whole line of {} was not written to its end: it is not counted.", o.ledger));
    g.uses = account::use_of(ledger->charges);
  } else if (!o.rates.empty()) {
    const auto text = read_file(o.rates);
    if (!text) return tl::unexpected(text.error());
    const auto rates = parse_rates(*text, o.rates);
    if (!rates) return tl::unexpected(rates.error());
    const auto runs = runs_in(o, m);
    if (!runs) return tl::unexpected(runs.error());
    const account::Charging done = account::charge(*runs, *rates, {}, m.all.to, m.all.to);
    put_charges(m, done.charges);
    m.charged_by = fmt::format("allocated time at the rates of {}, in {}", o.rates, currencies_of(done.charges));
    std::int64_t without = 0;
    for (const account::Uncharged& u : done.not_charged) without += u.milli_ms;
    if (without > 0)
      m.unseen.push_back(
          fmt::format("{} GPU-hours could not be charged: no row of the rates holds for them. `muster account charge` "
                      "names them.",
                      report::render_gpu_hours(without)));
  } else {
    m.gaps.push_back(
        {"chargeback", "no rates and no ledger were given",
         o.files.sacct.empty() ? "--ledger LEDGER, of `muster account charge`" : "--rates RATES.csv, or --ledger LEDGER"});
  }
  return {};
}

Result<void> add_month_quotas(GatheredMonth& g, const MonthOptions& o) {
  if (o.allocations.empty()) {
    g.month.gaps.push_back(
        {"grants and their burn-down", "no allocations were given", "--allocations GRANTS.csv: account,from,to,gpu_hours"});
    return {};
  }
  const auto text = read_file(o.allocations);
  if (!text) return tl::unexpected(text.error());
  const auto granted = parse_allocations(*text, o.allocations);
  if (!granted) return tl::unexpected(granted.error());
  const account::Quotas q = account::burn_down(*granted, g.uses, g.month.all.to);
  for (const account::Burn& b : q.burns) {
    if (b.granted.from < g.month.end && b.granted.to > g.month.begin) g.month.quotas.push_back(b);
  }
  if (!q.burns.empty() && q.known_from.ns != 0) {
    const auto first =
        std::min_element(granted->begin(), granted->end(), [](const auto& a, const auto& b) { return a.from < b.from; });
    if (first->from < q.known_from)
      g.month.unseen.push_back(fmt::format("Grants begin on {}; what was used of them before {} is not known.",
                                           render_utc(first->from).substr(0, 10), render_utc(q.known_from).substr(0, 16)));
  }
  return {};
}

}  // namespace muster::cmd
