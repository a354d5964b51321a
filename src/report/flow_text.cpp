// The account of a cluster as text for people, and as CSV for programs.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/flow_account.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

using account::kFirstAllocated;
using account::kSiteClasses;
using account::SiteClass;

Cell number(double d, int decimals = 1) {
  Cell c(render_decimal(d, decimals));
  c.raw = render_number(d);
  c.key = d;
  return c;
}

Cell money_cell(const Value& v, std::string_view key) {
  const auto m = number_of(v, key);
  return m ? number(*m, std::fabs(*m) < 100 ? 2 : 0) : Cell("-");
}

Cell percent(std::optional<double> share) {
  Cell c(share && *share >= 0 ? render_percent(share) : std::string("not known"));
  c.raw = share ? render_number(*share) : "";
  c.key = share.value_or(-1);
  return c;
}

double member(const Value& of, std::string_view object, std::string_view key) {
  const Value* o = of.find(object);
  return o == nullptr ? 0 : number_of(*o, key).value_or(0);
}
double hours_in(const Value& of, std::string_view cls) { return member(of, "classes_gpu_hours", cls); }

const Value* rates_of(const Value& a) {
  const Value* r = a.find("rates");
  return r == nullptr || r->is_null() ? nullptr : r;
}
std::string currency_of(const Value& a) { return rates_of(a) == nullptr ? "" : text_of(*rates_of(a), "currency"); }

Table class_table(const Value& a) {
  const double installed = number_of(a, "gpu_hours").value_or(0);
  const bool priced = rates_of(a) != nullptr;
  Table t;
  t.columns = {{.name = "CLASS"}, {.name = "GPU-HOURS", .right = true}, {.name = "SHARE", .right = true}};
  if (priced) t.columns.push_back({.name = "COST " + currency_of(a), .right = true});
  const auto add = [&](std::string name, double h, double cost) {
    const auto share = installed > 0 ? std::optional(h / installed) : std::nullopt;
    std::vector<Cell> row = {Cell(std::move(name)), number(h), percent(share)};
    if (priced) row.push_back(number(cost, 0));
    t.rows.push_back(std::move(row));
  };
  add("installed", installed, member(a, "rates", "cost"));
  for (std::size_t i = 0; i < kSiteClasses; ++i) {
    const std::string name(names(SiteClass{})[i]);
    if (static_cast<SiteClass>(i) != SiteClass::held_idle) {
      add("  " + name, hours_in(a, name), member(a, "classes_cost", name));
      continue;
    }
    t.rows.push_back({Cell("  " + name), Cell("not seen"), Cell("-")});
    if (priced) t.rows.back().emplace_back("-");
  }
  return t;
}

Table fault_table(const Value& a) {
  Table t;
  t.columns = {{.name = "CAUSE"},
               {.name = "OF"},
               {.name = "ATTEMPTS LOST", .right = true, .csv = "attempts_lost"},
               {.name = "STEPS LOST", .right = true, .csv = "lost_gpu_hours"},
               {.name = "STARTS IN VAIN", .right = true, .csv = "starts_in_vain"},
               {.name = "OF THEM", .right = true, .csv = "vain_gpu_hours"},
               {.name = "SLOWED", .right = true, .csv = "slowed_gpu_hours"},
               {.name = "OUT OF SERVICE", .right = true, .csv = "out_gpu_hours"},
               {.name = "GPU-HOURS", .right = true, .csv = "gpu_hours"}};
  if (rates_of(a) != nullptr) t.columns.push_back({.name = "COST " + currency_of(a), .right = true, .csv = "cost"});
  const auto add = [&](std::string name, std::string of, const Value& v) {
    std::vector<Cell> row = {Cell(std::move(name)), Cell(std::move(of)), number(number_of(v, "attempts_lost").value_or(0), 0),
                             number(number_of(v, "lost_gpu_hours").value_or(0))};
    row.push_back(number(number_of(v, "starts_in_vain").value_or(0), 0));
    for (const char* key : {"vain_gpu_hours", "slowed_gpu_hours", "out_gpu_hours", "gpu_hours"})
      row.push_back(number(number_of(v, key).value_or(0)));
    if (rates_of(a) != nullptr) row.push_back(money_cell(v, "cost"));
    t.rows.push_back(std::move(row));
  };
  for (const Value& v : list_of(a, "rows")) add(text_of(v, "name"), text_of(v, "origin"), v);
  const Value* origins = a.find("origins");
  const Value* all = origins == nullptr ? nullptr : origins->find("fault");
  if (all != nullptr) add("(all faults)", "fault", *all);
  return t;
}

Table row_table(const Value& a, std::size_t limit, bool wide) {
  const std::string by = text_of(a, "by");
  const auto& rows = list_of(a, "rows");
  const bool jobs = !rows.empty() && by != "day" && by != "job";
  Table t;
  t.columns = {{.name = upper(by)}};
  if (by == "job") t.columns.insert(t.columns.end(), {{.name = "NAME"}, {.name = "USER"}, {.name = "ACCOUNT"}});
  if (jobs) t.columns.push_back({.name = "JOBS", .right = true});
  t.columns.push_back({.name = "GPU-HOURS", .right = true, .csv = "gpu_hours"});
  t.columns.push_back({.name = "EFFICIENCY", .right = true, .csv = "efficiency"});
  if (rates_of(a) != nullptr) t.columns.push_back({.name = "COST " + currency_of(a), .right = true, .csv = "cost"});
  for (const std::string_view c : names(SiteClass{}))
    t.columns.push_back({.name = upper(c), .right = true, .csv = std::string(c) + "_gpu_hours"});
  for (const Value& r : rows) {
    const Value* flag = r.find("no_job");
    const bool no_job = flag != nullptr && flag->boolean() != nullptr && *flag->boolean();
    if (t.rows.size() >= limit && !no_job) continue;
    Cell name(no_job ? "(no job)" : text_of(r, "name").empty() ? "(none)" : text_of(r, "name"));
    std::vector<Cell> row = {std::move(name)};
    if (by == "job") {
      for (const char* key : {"job_name", "user", "account"}) row.emplace_back(text_of(r, key));
    }
    if (jobs) row.emplace_back(text_of(r, "jobs"));
    row.push_back(number(number_of(r, "gpu_hours").value_or(0)));
    row.push_back(percent(number_of(r, "efficiency")));
    if (rates_of(a) != nullptr) row.push_back(money_cell(r, "cost"));
    for (const std::string_view c : names(SiteClass{})) {
      const double h = hours_in(r, c);
      row.push_back(h == 0 && !wide ? Cell("-") : number(h));
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

// What no row has is left out: twelve classes are wider than a terminal.
Table without_empty(Table t, std::size_t keep) {
  for (std::size_t c = t.columns.size(); c-- > keep;) {
    const bool empty = std::all_of(t.rows.begin(), t.rows.end(), [&](const auto& r) { return r[c].text == "-"; });
    if (!empty) continue;
    t.columns.erase(t.columns.begin() + static_cast<std::ptrdiff_t>(c));
    for (auto& r : t.rows) r.erase(r.begin() + static_cast<std::ptrdiff_t>(c));
  }
  return t;
}

std::string efficiency_text(const Value& a) {
  const auto e = number_of(a, "efficiency");
  const std::string target = render_percent(number_of(a, "efficiency_target"));
  std::string out = fmt::format("GPU-hour efficiency: {} (target {})", e ? render_percent(e) : "not known", target);
  const auto days = static_cast<std::int64_t>(member(a, "streak", "complete_days"));
  if (days == 0) return out + "; no day of it is complete.\n";
  return out + fmt::format("; {} of {} at or above it, the last {} in a row.\n", member(a, "streak", "days_reached"),
                           counted(days, "complete day"), member(a, "streak", "days"));
}

std::string rates_text(const Value& a) {
  const Value* r = rates_of(a);
  if (r == nullptr) return "No price is known: set gpu_hour_price in the policy, or give --price.\n";
  const std::string currency = currency_of(a);
  const auto rate = [&](std::string_view key) {
    const auto d = number_of(*r, key);
    return d ? render_decimal(*d, 3) : std::string("-");
  };
  std::string out =
      fmt::format("Cost of this time: {}. Per GPU-hour owned {}, delivered {}, allocated {}, useful {} {}.\n",
                  render_money(number_of(*r, "cost").value_or(0), currency), rate("owned_per_gpu_hour"),
                  rate("delivered_per_gpu_hour"), rate("allocated_per_gpu_hour"), rate("useful_per_gpu_hour"), currency);
  for (const Value& p : list_of(a, "prices")) {
    out += fmt::format("  {} {} from {} ({}): {} GPU-hours\n", render_decimal(number_of(p, "price_per_gpu_hour").value_or(0), 2),
                       printable(text_of(p, "currency")), text_of(p, "from_utc"), text_of(p, "by"),
                       render_decimal(number_of(p, "gpu_hours").value_or(0), 1));
  }
  const double none = number_of(a, "unpriced_gpu_hours").value_or(0);
  if (none > 0)
    out += fmt::format("  {} GPU-hours have no price in {}, and are in no sum of money.\n", render_decimal(none, 1), currency);
  return out;
}

}  // namespace

std::string render_flow_account(const Value& a, std::size_t limit, const Page& page) {
  const TableStyle style{true, false, page.colour};
  const bool by_fault = text_of(a, "by") == "fault";
  std::string out = fmt::format("{} from {} to {}: {} GPUs, {} GPU-hours installed.\n", printable(text_of(a, "cluster")),
                                text_of(a, "from_utc"), text_of(a, "to_utc"), render_decimal(number_of(a, "gpus").value_or(0), 0),
                                render_decimal(number_of(a, "gpu_hours").value_or(0), 1));
  out += efficiency_text(a) + rates_text(a) + "\n" + render_table(class_table(a), style) + "\n";
  const auto& rows = list_of(a, "rows");
  if (by_fault) {
    out += render_table(fault_table(a), style);
    out += fmt::format(
        "\nSteps lost, starts in vain, gangs slowed and GPUs out of service. Of the class stalled {} GPU-hours are in no row: "
        "nothing "
        "was found on those gangs' nodes then.\n",
        render_decimal(number_of(a, "slow_unexplained_gpu_hours").value_or(0), 1));
  } else {
    const std::size_t fixed = text_of(a, "by") == "job" ? 6 : 4;
    out += render_table(without_empty(row_table(a, limit, false), fixed), style);
    if (rows.size() > limit) out += fmt::format("The first {} of {}; -o json and csv have all.\n", limit, rows.size());
  }
  for (const Value& n : list_of(a, "notes")) {
    if (n.string() != nullptr) out += fmt::format("Note: {}.\n", printable(*n.string()));
  }
  return out;
}

std::string render_flow_account_csv(const Value& a) {
  return render_csv(text_of(a, "by") == "fault" ? fault_table(a) : row_table(a, list_of(a, "rows").size(), true), true);
}

}  // namespace muster::report
