// The tables of the report of a month.
#include <fmt/core.h>

#include <algorithm>

#include "report/month.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::size_t kRowsShown = 25;

std::optional<double> share_of(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}
Cell us_cell(std::int64_t us) { return hours_cell(gpu_hours_of(us)); }
Cell amount_cell(std::optional<double> money) {
  if (!money) return Cell("-");
  return Cell(*money == 0 ? "-" : render_decimal(*money, std::abs(*money) < 99.5 ? 2 : 0));
}
Cell percent_cell(std::optional<double> share) { return Cell(render_percent(share)); }
std::string date_of(Time t) { return render_utc(t).substr(0, 10); }

Section classes_section(const Month& m) {
  Section s{"classes", "From owned to useful", {}, ""};
  s.table.columns = {{"CLASS"}, {"WHAT IT IS"}, {"GPU-HOURS", true}, {"OF OWNED", true}};
  if (m.cost) s.table.columns.push_back({m.cost->currency, true, false, true});
  if (m.before) s.table.columns.push_back({"MONTH BEFORE", true});
  const auto add = [&](const std::string& name, std::string_view words, std::int64_t us, std::optional<double> before,
                       bool seen = true) {
    std::vector<Cell> row = {Cell(name), Cell(std::string(words)), seen ? us_cell(us) : Cell("not seen"),
                             seen ? percent_cell(share_of(us, m.all.sum.installed())) : Cell("-")};
    if (m.cost) row.push_back(seen ? amount_cell(money_of(m, us)) : Cell("-"));
    if (m.before) row.push_back(percent_cell(before));
    s.table.rows.push_back(std::move(row));
  };
  const auto level = [&](const char* name, const char* words, auto of) {
    add(fmt::format("= {}", name), words, of(m.all.sum),
        m.before ? share_of(of(m.before->sum), m.before->sum.installed()) : std::nullopt);
  };
  level("owned", "all that is installed, for every hour", [](const SiteSum& x) { return x.installed(); });
  for (std::size_t i = 0; i < account::kSiteClasses; ++i) {
    const auto c = static_cast<SiteClass>(i);
    if (c == SiteClass::idle_no_demand) level("delivered", "in service", [](const SiteSum& x) { return x.delivered(); });
    if (c == account::kFirstAllocated) level("allocated", "jobs had it", [](const SiteSum& x) { return x.allocated(); });
    if (c == SiteClass::useful) {
      level("useful", class_words(c).data(), [](const SiteSum& x) { return x[SiteClass::useful]; });
    } else {
      add(fmt::format("− {}", names(SiteClass{})[i]), class_words(c), m.all.sum[c], m.before ? m.before->share(c) : std::nullopt,
          m.sees(c));
    }
  }
  s.notes.push_back("The classes sum to what is owned, to the GPU-microsecond.");
  if (m.cost)
    s.notes.push_back(fmt::format("Money is GPU-hours at what an hour owned cost. What everything cost: {}.", m.cost->basis));
  return s;
}

Section rates_section(const Month& m) {
  Section s{"rates", "What an hour of a GPU cost", {}, "What everything cost is not known, so no price of an hour is."};
  if (!m.cost) return s;
  const MonthRates now = rates_of(m.all, m.cost->total);
  const MonthRates then = m.before ? rates_of(*m.before, cost_before(m)) : MonthRates{};
  s.table.columns = {{"AN HOUR"}, {"GPU-HOURS", true}, {m.cost->currency + " an hour", true, false, true}};
  if (m.before) s.table.columns.push_back({"MONTH BEFORE", true});
  const auto add = [&](const char* name, std::int64_t us, std::optional<double> rate, std::optional<double> before) {
    const auto price = [](std::optional<double> v) { return Cell(v ? render_decimal(*v, 2) : "-"); };
    s.table.rows.push_back({Cell(name), us_cell(us), price(rate)});
    if (m.before) s.table.rows.back().push_back(price(before));
  };
  const SiteSum& x = m.all.sum;
  add("owned", x.installed(), now.owned, then.owned);
  add("delivered", x.delivered(), now.delivered, then.delivered);
  add("allocated", x.allocated(), now.allocated, then.allocated);
  add("useful", x[SiteClass::useful], now.useful, then.useful);
  s.notes.push_back(
      fmt::format("The same {} in each row, over fewer and fewer hours.", render_money(m.cost->total, m.cost->currency)));
  if (!m.cost->parts.empty()) {
    std::string parts;
    for (const auto& [name, money] : m.cost->parts)
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", name, render_decimal(money, 0));
    s.notes.push_back(fmt::format("It went into: {} ({}).", parts, m.cost->currency));
  }
  return s;
}

Section days_section(const Month& m) {
  Section s{"days", "Efficiency, day by day", {}, "Nothing of this month is known."};
  s.table.columns = {
      {"DAY"},        {"EFFICIENCY", true},     {"REACHED"},        {"GPU-HOURS", true}, {"USED", true}, {"WASTED", true},
      {"IDLE", true}, {"OUT OF SERVICE", true}, {"NOT KNOWN", true}};
  for (const MonthPiece& d : m.days) {
    const SiteSum& x = d.sum;
    const std::int64_t idle = x[SiteClass::idle_no_demand] + x[SiteClass::idle_fragmented];
    const std::int64_t out = x.installed() - x.delivered(), unknown = x[SiteClass::unseen] + x[SiteClass::unsettled];
    const auto part = [&](std::int64_t us) { return percent_cell(share_of(us, x.installed())); };
    const auto e = d.efficiency();
    s.table.rows.push_back({Cell(date_of(m.wall(d.from)) + (d.whole ? "" : " *")), percent_cell(e),
                            Cell(!e               ? "not known"
                                 : *e >= m.target ? "yes"
                                                  : "no"),
                            us_cell(x.installed()), part(x[SiteClass::useful]),
                            part(x.allocated() - x[SiteClass::useful] - unknown), part(idle), part(out), part(unknown)});
  }
  const bool cut = std::any_of(m.days.begin(), m.days.end(), [](const MonthPiece& d) { return !d.whole; });
  if (cut) s.notes.push_back("* not known for the whole day: it does not count for the streak.");
  for (const MonthPiece& d : m.days) {
    const double hours = (d.to - d.from).seconds() / 3600;
    if (d.whole && hours != 24)
      s.notes.push_back(fmt::format("{} has {:g} hours: the clocks change.", date_of(m.wall(d.from)), hours));
  }
  s.notes.push_back("Days are of the calendar in " + m.zone +
                    ". Wasted is held idle, starting, checkpoint, lost_restart and stalled.");
  return s;
}

void add_charged(MonthRow& to, const MonthRow& r) {
  for (const auto& [currency, money] : r.charged) to.charged[currency] += money;
}

// "In all 58,700 EUR were charged, 57.6 % of what everything cost."
std::string charged_note(const Month& m, const MonthRow& all) {
  std::string sums;
  for (const auto& [currency, money] : all.charged) {
    sums += (sums.empty() ? "" : " and ") + render_money(money, currency);
    if (m.cost && m.cost->currency == currency && m.cost->total > 0)
      sums += fmt::format(" ({} of what everything cost)", render_percent(money / m.cost->total));
  }
  return fmt::format("Charged in all: {}; {}.", sums, m.charged_by);
}

Section table_section(const Month& m, const MonthTable& t) {
  const std::string words = t.by == "gpu_type" ? "GPU type" : t.by;
  Section s{"by_" + t.by, "By " + words, {}, "Nobody had a GPU in this month."};
  MonthRow all;
  for (const MonthRow& r : t.rows) add_charged(all, r);
  s.table.columns = {{words},          {"JOBS", true},      {"ALLOCATED", true}, {"USEFUL", true}, {"HELD IDLE", true},
                     {"WASTED", true}, {"NOT KNOWN", true}, {"EFFICIENCY", true}};
  if (m.cost) s.table.columns.push_back({"share of cost, " + m.cost->currency, true, false, true});
  for (const auto& [currency, money] : all.charged) s.table.columns.push_back({"charged, " + currency, true, false, true});
  const auto add = [&](const std::string& name, std::uint64_t jobs, const SiteSum& x, const MonthRow& asked) {
    const std::int64_t unknown = x[SiteClass::unseen] + x[SiteClass::unsettled];
    const double e = x.efficiency();
    std::vector<Cell> row = {Cell(name.empty() ? "(none)" : name),
                             count_cell(jobs),
                             us_cell(x.allocated()),
                             us_cell(x[SiteClass::useful]),
                             us_cell(x[SiteClass::held_idle]),
                             us_cell(x.allocated() - x[SiteClass::useful] - x[SiteClass::held_idle] - unknown),
                             us_cell(unknown),
                             percent_cell(e < 0 ? std::nullopt : std::optional(e))};
    if (m.cost) row.push_back(amount_cell(share_of_cost(m, x)));
    for (const auto& [currency, sum] : all.charged) {
      const auto at = asked.charged.find(currency);
      row.push_back(amount_cell(at == asked.charged.end() ? std::nullopt : std::optional(at->second)));
    }
    s.table.rows.push_back(std::move(row));
  };
  MonthRow rest;
  std::size_t more = 0;
  for (const MonthRow& r : t.rows) {
    if (s.table.rows.size() < kRowsShown) {
      add(r.name, r.jobs, r.sum, r);
      continue;
    }
    ++more;
    rest.jobs += r.jobs;
    rest.sum += r.sum;
    add_charged(rest, r);
  }
  if (more > 0) add(fmt::format("{} more, in the JSON", more), rest.jobs, rest.sum, rest);
  if (t.by == "account" && m.cost)
    s.notes.push_back(
        "The share of the cost is allocated hours at the cost of an hour allocated: together the rows bear everything.");
  if (t.by == "account") s.notes.push_back("Hours are GPU-hours.");
  if (t.by == "account" && !all.charged.empty()) s.notes.push_back(charged_note(m, all));
  return s;
}

std::string standing_words(const account::Burn& q) {
  const auto day = [](std::optional<Time> t) { return t ? date_of(*t) : std::string("never"); };
  switch (q.standing) {
    case account::Standing::not_begun: return "has not begun";
    case account::Standing::within: return "lasts to its end";
    case account::Standing::may_run_out: return fmt::format("{}, or not before its end", day(q.out_first));
    case account::Standing::runs_out:
      return q.out_first == q.out_last ? day(q.out_last) : fmt::format("{} to {}", day(q.out_first), day(q.out_last));
    case account::Standing::overspent: return "overspent";
    case account::Standing::over: return "its time is over";
  }
  return "";
}

Section quotas_section(const Month& m) {
  Section s{"quotas", "Grants, and when they run out", {}, ""};
  s.table.columns = {{"ACCOUNT"},
                     {"FOR"},
                     {"UNIT"},
                     {"GRANTED", true},
                     {"USED", true},
                     {"LEFT", true},
                     {"OF IT USED", true},
                     {"OF ITS TIME OVER", true},
                     {"RUNS OUT"}};
  for (const account::Burn& q : m.quotas) {
    const double unit = q.granted.money_micro ? static_cast<double>(kMicro) : account::kMilliMsOfGpuHour;
    const auto cell = [&](std::int64_t v) { return hours_cell(static_cast<double>(v) / unit); };
    s.table.rows.push_back({Cell(q.granted.account), Cell(date_of(q.granted.from) + " to " + date_of(q.granted.to)),
                            Cell(q.granted.money_micro ? q.granted.currency : "GPU-hours"), cell(q.grant), cell(q.used),
                            cell(q.left()), percent_cell(share_of(q.used, q.grant)), percent_cell(q.period_gone),
                            Cell(standing_words(q))});
  }
  s.notes.push_back(
      "As it stood at the end of the month. Bars are what is used; the upright line is how much of its time is over. Runs out: "
      "at the pace of the last 7 and of the last 28 days, if they go on so; no forecast.");
  return s;
}

Section failures_section(const Month& m) {
  Section s{"failures", "What failures cost", {}, "Nothing was lost to a failure."};
  s.table.columns = {{"CLASS OF FAULT"},       {"WHAT IT IS"}, {"INCIDENTS", true}, {"ATTEMPTS LOST", true},
                     {"OUT OF SERVICE", true}, {"LOST", true}, {"OF OWNED", true}};
  if (m.cost) s.table.columns.push_back({m.cost->currency, true, false, true});
  for (const MonthFailure& f : m.failures) {
    std::vector<Cell> row = {Cell(f.cause),
                             Cell(f.words),
                             count_cell(f.incidents),
                             count_cell(f.attempts_lost),
                             us_cell(f.out_us),
                             us_cell(f.lost_us),
                             percent_cell(share_of(f.all_us(), m.all.sum.installed()))};
    if (m.cost) row.push_back(amount_cell(money_of(m, f.all_us())));
    s.table.rows.push_back(std::move(row));
  }
  if (!m.failures.empty())
    s.notes.push_back(
        "GPU-hours out of service because of it, and lost to it: steps since a checkpoint, starts in vain, and what gangs were "
        "slower for it. They are among the classes above, told here by cause. Drains, upgrades and cancellations that people "
        "wished are not among them.");
  return s;
}

Section energy_section(const Month& m) {
  Section s{"energy", "Energy and carbon", {}, ""};
  const MonthEnergy& e = *m.energy;
  // Where nothing says what was useful, what jobs had is the next best.
  const bool useful = m.all.sum[SiteClass::useful] > 0;
  s.table.columns = {{"FIGURE"}, {"IN THE MONTH", true}, {useful ? "PER USEFUL GPU-HOUR" : "PER ALLOCATED GPU-HOUR", true}};
  const double over_h = gpu_hours_of(useful ? m.all.sum[SiteClass::useful] : m.all.sum.allocated());
  const auto add = [&](const std::string& name, double v, int decimals) {
    s.table.rows.push_back(
        {Cell(name), Cell(render_decimal(v, decimals)), Cell(over_h > 0 ? render_decimal(v / over_h, 3) : "-")});
  };
  add("machines, kWh", e.it_kwh, 0);
  if (e.facility_kwh) add("with cooling and losses, kWh", *e.facility_kwh, 0);
  for (const auto& [owner, kwh] : e.owner_kwh)
    s.table.rows.push_back(
        {Cell("of these, " + (owner.empty() ? std::string("(none)") : owner)), Cell(render_decimal(kwh, 0)), Cell("")});
  if (e.money) add("electricity, " + e.currency, *e.money, 0);
  if (e.co2_kg) add("carbon, kg CO2", *e.co2_kg, 0);
  s.notes.push_back(fmt::format("{}.", e.basis));
  if (e.money && m.cost)
    s.notes.push_back(
        fmt::format("Electricity is told for itself, in {}: it is not added to what everything cost, of which it is a "
                    "part where the cost file or the price says so.",
                    e.currency));
  return s;
}

Section capacity_section(const Month& m) {
  Section s{"capacity",
            "Capacity outlook",
            {},
            "The forecast names no limit: `muster capacity forecast --gpus N` and its other limits do."};
  const MonthCapacity& c = *m.capacity;
  s.table.columns = {{"WHAT ENDS"}, {"LIMIT"}, {"1 IN 10 BY"}, {"EVEN ODDS BY"}, {"9 IN 10 BY"}};
  const auto date = [&](const std::string& day) {
    return Cell(!day.empty() ? day : c.last_day.empty() ? "not within it" : "not by " + c.last_day);
  };
  for (const MonthCapacity::End& e : c.ends)
    s.table.rows.push_back({Cell(e.what), Cell(e.limit), date(e.p10), date(e.p50), date(e.p90)});
  if (!c.last_day.empty()) s.notes.push_back(fmt::format("The forecast reaches to {}.", c.last_day));
  if (!c.verdict.empty()) s.notes.push_back(c.verdict);
  return s;
}

// A cell is plain text.
std::string without_ticks(std::string s) {
  std::erase(s, '`');
  return s;
}

Section unseen_section(const Month& m) {
  Section s{
      "unseen", "What was not seen", {}, "All of the time that jobs had GPUs is accounted for, and all of the month is known."};
  s.table.columns = {{"NOT SEEN, OR NOT SURE"}};
  for (const std::string& line : m.unseen) s.table.rows.push_back({Cell(without_ticks(line))});
  return s;
}

Section gaps_section(const Month& m) {
  Section s{"gaps", "What is not in this report, and how to bring it in", {}, "Nothing is missing."};
  s.table.columns = {{"PART"}, {"WHY IT IS NOT HERE"}, {"WHAT BRINGS IT IN"}};
  for (const MonthGap& g : m.gaps) s.table.rows.push_back({Cell(g.part), Cell(g.why), Cell(without_ticks(g.how))});
  return s;
}

Section commands_section(const Month& m) {
  Section s{"commands", "Each table again, as a command", {}, ""};
  s.table.columns = {{"PART"}, {"COMMAND"}};
  for (const MonthCommand& c : m.commands) s.table.rows.push_back({Cell(c.part), Cell(c.command)});
  s.notes.push_back("With `-o csv` each gives the table for a spreadsheet, with `-o json` for a program.");
  return s;
}

}  // namespace

std::optional<double> share_of_cost(const Month& m, const SiteSum& x) {
  const std::int64_t allocated = m.all.sum.allocated();
  if (!m.cost || allocated <= 0) return std::nullopt;
  return m.cost->total * (static_cast<double>(x.allocated()) / static_cast<double>(allocated));
}

std::vector<Section> month_sections(const Month& m) {
  std::vector<Section> out = {classes_section(m), days_section(m), rates_section(m)};
  for (const MonthTable& t : m.tables) out.push_back(table_section(m, t));
  if (!m.quotas.empty()) out.push_back(quotas_section(m));
  if (m.failures_known) out.push_back(failures_section(m));
  if (m.energy) out.push_back(energy_section(m));
  if (m.capacity) out.push_back(capacity_section(m));
  out.push_back(unseen_section(m));
  out.push_back(gaps_section(m));
  out.push_back(commands_section(m));
  return out;
}

}  // namespace muster::report
