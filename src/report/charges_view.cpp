// Charges as JSON, text and CSV.
#include <fmt/core.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/money_views.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

using account::ChargeSum;
using account::Charging;
using account::NotCharged;
using account::Uncharged;

constexpr double kHour = 3.6e9;
constexpr std::size_t kNamed = 5;

double hours_of(std::int64_t milli_ms) { return static_cast<double>(milli_ms) / kHour; }
double money_of(std::int64_t micro) { return static_cast<double>(micro) / 1e6; }
std::string_view name_of(NotCharged why) { return names(NotCharged{})[static_cast<std::size_t>(why)]; }

// All that is in the ledger now, or would be.
std::vector<Charge> all_of(const ChargesView& v) {
  std::vector<Charge> all = v.before->charges;
  if (v.charging != nullptr) all.insert(all.end(), v.charging->charges.begin(), v.charging->charges.end());
  return all;
}

// By currency.
std::vector<ChargeSum> sums_of(const std::vector<Charge>& charges, Time from, Time to) {
  std::map<std::string, ChargeSum> out;
  for (const ChargeSum& s : totals(charges, account::ChargesBy::month, from, to)) {
    ChargeSum& x = out[s.currency];
    x.currency = s.currency;
    x.milli_ms += s.milli_ms;
    x.amount_micro += s.amount_micro;
    x.charges += s.charges;
  }
  std::vector<ChargeSum> list;
  for (auto& [currency, x] : out) list.push_back(std::move(x));
  return list;
}

struct WhySum {
  std::uint64_t runs = 0;
  std::int64_t milli_ms = 0;
  std::vector<const Uncharged*> some;  // most GPU time first
};

std::map<NotCharged, WhySum> why_not(const Charging* c) {
  std::map<NotCharged, WhySum> out;
  if (c == nullptr) return out;
  for (const Uncharged& u : c->not_charged) {
    WhySum& w = out[u.why];
    ++w.runs;
    w.milli_ms += u.milli_ms;
    w.some.push_back(&u);
  }
  for (auto& [why, w] : out)
    std::stable_sort(w.some.begin(), w.some.end(), [](const auto* a, const auto* b) { return a->milli_ms > b->milli_ms; });
  return out;
}

std::string sentence(NotCharged why, const WhySum& w) {
  const auto runs = static_cast<std::int64_t>(w.runs);
  const std::string h = render_decimal(hours_of(w.milli_ms), 1);
  const bool one = runs == 1;
  const std::string_view are = one ? "is" : "are";
  std::string out;
  switch (why) {
    case NotCharged::no_rate:
      out =
          fmt::format("{} with {} GPU-hours {} no rate and {} not charged", counted(runs, "piece"), h, one ? "has" : "have", are);
      break;
    case NotCharged::gpus_unknown:
      out = fmt::format("{} {} not charged: nothing says how many GPUs were used", counted(runs, "run"), are);
      break;
    case NotCharged::runs:
      return fmt::format("{} not ended and {}; --until charges up to a moment.\n",
                         counted(runs, "run") + (one ? " has" : " have"), one ? "waits" : "wait");
    case NotCharged::shrank:
      out = fmt::format("{} {} charged for {} GPU-hours more than the records say now, and that stays", counted(runs, "run"),
                        one ? "was" : "were", h);
      break;
    case NotCharged::sooner:
      out = fmt::format("{} {} before {} and {} not charged", counted(runs, "run"), one ? "ends" : "end",
                        one ? "it begins" : "they begin", are);
      break;
    case NotCharged::no_start:
      out = fmt::format("{} with {} GPU-hours {} not charged: no start that can be read", counted(runs, "run"), h, are);
      break;
    case NotCharged::no_end:
      out = fmt::format("{} {} not charged: over, without an end that can be read", counted(runs, "run"), are);
      break;
  }
  out += ": ";
  for (std::size_t i = 0; i < std::min(kNamed, w.some.size()); ++i) {
    const Uncharged& u = *w.some[i];
    out += fmt::format("{}job {} ({}, {}, {})", i == 0 ? "" : ", ", printable(u.job),
                       u.account.empty() ? "no account" : printable(u.account),
                       u.partition.empty() ? "no partition" : printable(u.partition),
                       u.gpu_type.empty() ? "no GPU type" : printable(u.gpu_type));
  }
  if (w.some.size() > kNamed) out += fmt::format(" and {} more; -o json names all", w.some.size() - kNamed);
  return out + ".\n";
}

std::string amounts(const std::vector<ChargeSum>& sums) {
  std::string out;
  for (const ChargeSum& s : sums)
    out += fmt::format("{}{} {}", out.empty() ? "" : " and ", render_decimal(money_of(s.amount_micro), 2), s.currency);
  return out.empty() ? "nothing" : out;
}

Table table_of(const std::vector<ChargeSum>& rows, account::ChargesBy by, std::size_t limit) {
  Table t;
  t.columns = {{.name = upper(names(account::ChargesBy{})[static_cast<std::size_t>(by)])},
               {.name = "JOBS", .right = true},
               {.name = "CHARGES", .right = true},
               {.name = "GPU-HOURS", .right = true, .csv = "gpu_hours"},
               {.name = "AMOUNT", .right = true},
               {.name = "CURRENCY"}};
  for (const ChargeSum& s : rows) {
    if (t.rows.size() >= limit) break;
    Cell hours(render_decimal(hours_of(s.milli_ms), 1)), amount(render_decimal(money_of(s.amount_micro), 2));
    hours.raw = render_number(hours_of(s.milli_ms));
    amount.raw = fmt::format("{}.{:06}", s.amount_micro / kMicro, s.amount_micro % kMicro);
    t.rows.push_back({Cell(s.name.empty() ? "(none)" : s.name), Cell(std::to_string(s.jobs)), Cell(std::to_string(s.charges)),
                      std::move(hours), std::move(amount), Cell(s.currency)});
  }
  return t;
}

void write_sums(JsonWriter& w, std::string_view key, const std::vector<ChargeSum>& sums, bool named) {
  w.key(key).array();
  for (const ChargeSum& s : sums) {
    w.object();
    if (named) w.field("name", s.name).field("jobs", s.jobs);
    w.field("currency", s.currency).field("charges", s.charges).field("gpu_hours", hours_of(s.milli_ms));
    w.field("amount", money_of(s.amount_micro)).field("amount_micro", s.amount_micro).end_object();
  }
  w.end_array();
}

}  // namespace

std::string charges_json(const ChargesView& v) {
  const std::vector<Charge> all = all_of(v);
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "Charges").field("ledger", v.ledger).field("dry_run", v.dry_run);
  w.field("charges", all.size()).field("by", names(account::ChargesBy{})[static_cast<std::size_t>(v.by)]);
  w.field("head", render_hex(v.head));
  write_sums(w, "rows", totals(all, v.by, v.from, v.to), true);
  write_sums(w, "sums", sums_of(all, v.from, v.to), false);
  if (v.charging != nullptr) {
    const Charging& c = *v.charging;
    w.key("now").object().field("runs", c.runs).field("runs_charged_before", c.runs_before);
    w.field("runs_without_gpus", c.runs_without_gpus).field("charges", c.charges.size());
    write_sums(w, "sums", sums_of(c.charges, Time{INT64_MIN}, kNever), false);
    w.key("not_charged").array();
    for (const Uncharged& u : c.not_charged) {
      w.object().field("why", name_of(u.why)).field("job", u.job).field("account", u.account).field("user", u.user);
      w.field("partition", u.partition).field("gpu_type", u.gpu_type).field("from_utc", render_utc(u.from));
      w.field("to_utc", render_utc(u.to)).field("gpu_hours", hours_of(u.milli_ms)).end_object();
    }
    w.end_array().end_object();
  }
  w.end_object();
  return w.take();
}

std::string charges_text(const ChargesView& v, const Page& page) {
  const std::vector<Charge> all = all_of(v);
  std::string out;
  if (v.charging != nullptr) {
    const Charging& c = *v.charging;
    const auto sums = sums_of(c.charges, Time{INT64_MIN}, kNever);
    out += fmt::format("{}: {} for {}; {} were in the ledger already.\n", v.dry_run ? "Would be charged" : "Charged now",
                       amounts(sums), counted(static_cast<std::int64_t>(c.charges.size()), "piece") + " of runs",
                       counted(static_cast<std::int64_t>(c.runs_before), "run"));
    for (const auto& [why, w] : why_not(v.charging)) out += sentence(why, w);
    out += "\n";
  }
  const auto rows = totals(all, v.by, v.from, v.to);
  out += render_table(table_of(rows, v.by, v.limit), {true, false, page.colour});
  if (rows.size() > v.limit)
    out += fmt::format("The first {} of {}; --limit, -o csv and -o json show more.\n", v.limit, rows.size());
  out += fmt::format("\nIn the ledger{}: {}, {}.\n", v.from.ns > 0 || v.to != kNever ? ", of that time" : "",
                     counted(static_cast<std::int64_t>(all.size()), "charge"), amounts(sums_of(all, v.from, v.to)));
  if (!v.dry_run)
    out +=
        fmt::format("Its head is {}: a ledger that lost lines at its end has another one.\n", render_hex(v.head).substr(0, 16));
  return out;
}

std::string charges_csv(const ChargesView& v) {
  const auto rows = totals(all_of(v), v.by, v.from, v.to);
  return render_csv(table_of(rows, v.by, rows.size()), true);
}

}  // namespace muster::report
