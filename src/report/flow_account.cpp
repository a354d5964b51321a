#include "report/flow_account.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/civil.h"
#include "base/json_writer.h"
#include "report/fault_costs.h"

namespace muster::report {
namespace {

using account::Flow;
using account::gpu_hours;
using account::kSiteClasses;
using account::SiteClass;
using account::SiteSum;

// Amounts by the tariff under which they came about: money is only asked for at the end.
using ByTariff = std::map<std::uint32_t, SiteSum>;

struct Row {
  std::string name;
  std::set<JobId> jobs;
  ByTariff amount;
  SiteSum sum() const {
    SiteSum out;
    for (const auto& [t, x] : amount) out += x;
    return out;
  }
};

struct Money {
  const FlowAccount& a;
  std::string currency;  // of the last price that held: others are not added to it

  explicit Money(const FlowAccount& of) : a(of), currency(of.currency.empty() ? "USD" : of.currency) {
    for (const account::Tariff& t : of.flow.tariffs) {
      if (t.price > 0) currency = t.currency;
    }
  }
  double price(std::uint32_t tariff) const { return price_of(a, tariff, currency); }
  bool known() const {
    for (const auto& [cell, x] : a.flow.cells) {
      if (price(cell.tariff) > 0) return true;
    }
    return false;
  }
  double of(const ByTariff& amount, const auto& take) const {
    double sum = 0;
    for (const auto& [t, x] : amount) sum += gpu_hours(take(x)) * price(t);
    return sum;
  }
};

ByTariff by_tariff(const Flow& f) {
  ByTariff out;
  for (const auto& [cell, x] : f.cells) out[cell.tariff] += x;
  return out;
}

std::string name_of(const account::FlowOwner& o, FlowBy by) {
  switch (by) {
    case FlowBy::partition: return o.partition;
    case FlowBy::user: return o.user;
    case FlowBy::gpu_type: return o.gpu_type;
    default: return o.account;
  }
}

// By owner; what no job had is a row of its own, last, except where every GPU has a name: its type.
std::vector<Row> by_owner(const Flow& f, FlowBy by, const FlowOnly& only, Row& nobody) {
  std::map<std::string, Row> rows;
  for (const auto& [key, x] : f.owners) {
    const auto& [owner, cell] = key;
    if (only.any() && !only.has(owner)) continue;
    Row& r = owner.job || by == FlowBy::gpu_type ? rows[name_of(owner, by)] : nobody;
    r.amount[cell.tariff] += x;
  }
  for (const auto& [id, j] : f.jobs) {
    if (!only.any() || only.has(j.owner)) rows[name_of(j.owner, by)].jobs.insert(id);
  }
  std::vector<Row> out;
  for (auto& [name, r] : rows) {
    r.name = name;
    out.push_back(std::move(r));
  }
  return out;
}

std::vector<Row> by_job(const Flow& f, const FlowOnly& only, Row& nobody) {
  std::vector<Row> out;
  for (const auto& [id, j] : f.jobs) {
    if (!only.any() || only.has(j.owner)) out.push_back({render(id), {id}, j.by_tariff});
  }
  for (const auto& [key, x] : f.owners) {
    if (!only.any() && !key.first.job) nobody.amount[key.second.tariff] += x;
  }
  return out;
}

std::vector<Row> rows_of_days(const Flow& f, const FlowOnly& only) {
  std::map<std::int64_t, Row> rows;
  for (const auto& [key, x] : f.owners) {
    const auto& [owner, cell] = key;
    if (!only.any() || only.has(owner)) rows[cell.day].amount[cell.tariff] += x;
  }
  std::vector<Row> out;
  for (auto& [day, r] : rows) {
    r.name = render_day(day);
    out.push_back(std::move(r));
  }
  return out;
}

void write_sum(JsonWriter& w, const SiteSum& s) {
  w.field("gpu_hours", gpu_hours(s.installed())).key("classes_gpu_hours").object();
  for (std::size_t i = 0; i < kSiteClasses; ++i) w.field(names(SiteClass{})[i], gpu_hours(s.milli_ms[i]));
  w.end_object().key("efficiency");
  if (s.efficiency() < 0) {
    w.null();
  } else {
    w.value(s.efficiency());
  }
}

// `all`: also the classes that cost nothing.
void write_class_costs(JsonWriter& w, const ByTariff& amount, const Money& money, bool all) {
  w.key("classes_cost").object();
  for (std::size_t i = 0; i < kSiteClasses; ++i) {
    const double cost = money.of(amount, [i](const SiteSum& x) { return x.milli_ms[i]; });
    if (all || cost != 0) w.field(names(SiteClass{})[i], cost);
  }
  w.end_object();
}

void write_rates(JsonWriter& w, const SiteSum& s, const std::string& currency, double total) {
  w.key("rates").object().field("currency", currency).field("cost", total);
  const auto rate = [&](std::string_view key, std::int64_t amount) {
    w.key(key);
    if (amount <= 0) {
      w.null();
    } else {
      w.value(total / gpu_hours(amount));
    }
  };
  rate("owned_per_gpu_hour", s.installed());
  rate("delivered_per_gpu_hour", s.delivered());
  rate("allocated_per_gpu_hour", s.allocated());
  rate("useful_per_gpu_hour", s[SiteClass::useful]);
  w.end_object();
}

void write_prices(JsonWriter& w, const FlowAccount& a, const Money& money) {
  const ByTariff all = by_tariff(a.flow);
  std::int64_t unpriced = 0;
  w.key("prices").array();
  for (const auto& [t, x] : all) {
    const account::Tariff& tariff = a.flow.tariffs[t];
    const bool given = tariff.price <= 0 && a.price.has_value();
    unpriced += money.price(t) > 0 ? 0 : x.installed();
    w.object().field("from_utc", render_utc(std::max(tariff.from, a.flow.from)));
    w.field("price_per_gpu_hour", given ? *a.price : tariff.price).field("currency", given ? money.currency : tariff.currency);
    w.field("by", given ? "asked for" : tariff.price <= 0 ? "not said" : tariff.assumed.empty() ? "policy" : "assumed");
    w.field("assumed", tariff.assumed).field("gpu_hours", gpu_hours(x.installed())).end_object();
  }
  w.end_array().field("unpriced_gpu_hours", gpu_hours(unpriced));
}

void write_days(JsonWriter& w, const FlowAccount& a) {
  const account::Streak streak = account::streak_of(a.flow, a.target);
  w.field("efficiency_target", a.target).key("streak").object().field("days", streak.days);
  w.field("longest_days", streak.longest).field("complete_days", streak.complete).field("days_reached", streak.reached);
  w.end_object().key("days").array();
  for (const auto& [day, x] : account::by_day(a.flow)) {
    w.object().field("from_utc", render_utc(std::max(begin_of(day), a.flow.from)));
    w.field("to_utc", render_utc(std::min(begin_of(day + 1), a.flow.to))).field("whole", account::whole_day(a.flow, day));
    write_sum(w, x);
    w.end_object();
  }
  w.end_array();
}

void write_row(JsonWriter& w, const FlowAccount& a, FlowBy by, const Row& r, bool no_job, const Money* money) {
  w.object().field("name", r.name).field("no_job", no_job);
  if (by == FlowBy::job && !no_job) {
    const account::JobFlow& j = a.flow.jobs.at(*r.jobs.begin());
    w.field("job_name", j.name).field("user", j.owner.user).field("account", j.owner.account);
    w.field("partition", j.owner.partition).field("gpu_type", j.owner.gpu_type);
  } else if (by != FlowBy::day && !no_job) {
    w.field("jobs", r.jobs.size());
  }
  write_sum(w, r.sum());
  if (money != nullptr) {
    w.field("cost", money->of(r.amount, [](const SiteSum& x) { return x.installed(); }));
    write_class_costs(w, r.amount, *money, false);
  }
  w.end_object();
}

void write_rows(JsonWriter& w, const FlowAccount& a, FlowBy by, const Money* money) {
  Row nobody;
  std::vector<Row> rows = by == FlowBy::day   ? rows_of_days(a.flow, a.only)
                          : by == FlowBy::job ? by_job(a.flow, a.only, nobody)
                                              : by_owner(a.flow, by, a.only, nobody);
  if (by != FlowBy::day) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& x, const Row& y) { return x.sum().installed() > y.sum().installed(); });
  }
  const std::size_t left_out = rows.size() > kFlowRows ? rows.size() - kFlowRows : 0;
  rows.resize(rows.size() - left_out);
  w.key("rows").array();
  for (const Row& r : rows) write_row(w, a, by, r, false, money);
  if (!nobody.amount.empty()) write_row(w, a, by, nobody, true, money);
  w.end_array().field("rows_left_out", left_out);
}

// Where the GPUs were not counted for just as long as the calendar says.
void note_clock(JsonWriter& w, const Flow& f, const SiteSum& s) {
  constexpr std::int64_t kRounding_ms = 2;
  const std::int64_t calendar = f.milli_gpus * ((f.to - f.from).ns / 1'000'000);
  const std::int64_t off = calendar - s.installed();
  if (off > kRounding_ms * f.milli_gpus)
    w.value(
        fmt::format("{:.2f} GPU-hours between these moments were not counted: no controller ran then, or its clock was set "
                    "forward",
                    gpu_hours(off)));
  if (-off > kRounding_ms * f.milli_gpus)
    w.value(fmt::format("{:.2f} GPU-hours more than these moments are apart: the clock of the controller was set back",
                        gpu_hours(-off)));
  if (f.before.ns != 0)
    w.value(fmt::format("the cluster was declared anew at {}: what is recorded from {} to then is not in this account",
                        render_utc(f.from), render_utc(f.before)));
}

void write_notes(JsonWriter& w, const FlowAccount& a, const SiteSum& s) {
  w.key("notes").array();
  note_clock(w, a.flow, s);
  w.value(
      "held_idle is not seen: a journal holds no readings of what GPUs did. GPUs that jobs held idle are in useful, stalled or "
      "unseen; `muster account --sacct FILE --prometheus URL` tells them apart");
  if (s[SiteClass::unseen] > 0) w.value("unseen are jobs that never told how far they were; an agent on their nodes would");
  if (!a.simulation.empty()) w.value("a simulated cluster: " + a.simulation);
  for (const account::Tariff& t : a.flow.tariffs) {
    if (!t.assumed.empty()) w.value("the price is assumed, no policy names one: " + t.assumed);
  }
  if (a.flow.jobs_forgotten > 0)
    w.value(fmt::format("{} jobs that ended long ago are not told one by one", a.flow.jobs_forgotten));
  w.end_array();
}

}  // namespace

double price_of(const FlowAccount& a, std::uint32_t tariff, std::string_view currency) {
  const account::Tariff& t = a.flow.tariffs[tariff];
  if (t.price <= 0) return a.price.value_or(0);
  return t.currency == currency ? t.price : 0;
}

std::string flow_account_json(const FlowAccount& a, FlowBy by) {
  const Money money(a);
  const bool priced = money.known();
  const ByTariff all = by_tariff(a.flow);
  const SiteSum s = a.flow.sum();
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "SiteAccount").field("source", "journal").field("cluster", a.cluster);
  w.field("simulation", a.simulation).field("from_utc", render_utc(a.flow.from)).field("to_utc", render_utc(a.flow.to));
  w.field("gpus", static_cast<double>(a.flow.milli_gpus) / 1000).field("held_idle_seen", false);
  w.field("installed_milli_gpu_ms", s.installed()).key("classes_milli_gpu_ms").object();
  for (std::size_t i = 0; i < kSiteClasses; ++i) w.field(names(SiteClass{})[i], s.milli_ms[i]);
  w.end_object();
  write_sum(w, s);
  if (priced) {
    write_class_costs(w, all, money, true);
    write_rates(w, s, money.currency, money.of(all, [](const SiteSum& x) { return x.installed(); }));
  } else {
    w.key("rates").null();
  }
  write_prices(w, a, money);
  write_days(w, a);
  w.field("by", names(by)[static_cast<std::size_t>(by)]);
  if (a.only.any()) {
    w.key("only").object();
    if (a.only.account) w.field("account", *a.only.account);
    if (a.only.partition) w.field("partition", *a.only.partition);
    if (a.only.user) w.field("user", *a.only.user);
    w.end_object();
  }
  if (by == FlowBy::fault) {
    write_fault_rows(w, a, money.currency, priced);
  } else {
    write_rows(w, a, by, priced ? &money : nullptr);
  }
  write_notes(w, a, s);
  w.end_object();
  return w.take();
}

}  // namespace muster::report
