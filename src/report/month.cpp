#include "report/month.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/civil.h"
#include "base/text.h"
#include "report/units.h"

namespace muster::report {
namespace {

using account::kMilliMsOfGpuHour;

std::optional<double> over(double money, std::int64_t gpu_us) {
  if (gpu_us <= 0) return std::nullopt;
  return money / (static_cast<double>(gpu_us) / kMilliMsOfGpuHour);
}

// Of the calendar: the month is 1 to 12.
std::pair<std::int64_t, std::int64_t> year_month(Time t) {
  const std::string day = render_day(day_of(t));
  return {parse_int(day.substr(0, 4)).value_or(1970), std::clamp<std::int64_t>(parse_int(day.substr(5, 2)).value_or(1), 1, 12)};
}

std::string whole_hours(std::int64_t us) { return render_decimal(gpu_hours_of(us), 0); }
std::string price_text(double v, std::string_view currency) { return fmt::format("{} {}", render_decimal(v, 2), currency); }

// "3.1 points more than in September 2026".
std::string against(double share, double before, const std::string& month_before) {
  const double d = 100 * (share - before);
  if (std::abs(d) < 0.05) return fmt::format("as in {}", month_before);
  return fmt::format("{:.1f} points {} than in {}", std::abs(d), d > 0 ? "more" : "less", month_before);
}

// The class that took the most, of those that are known to be no use.
std::optional<SiteClass> worst_of(const SiteSum& s) {
  std::optional<SiteClass> worst;
  for (std::size_t i = 0; i < account::kSiteClasses; ++i) {
    const auto c = static_cast<SiteClass>(i);
    if (c == SiteClass::useful || c == SiteClass::unsettled || c == SiteClass::unseen || s[c] <= 0) continue;
    if (!worst || s[c] > s[*worst]) worst = c;
  }
  return worst;
}

std::int64_t not_known(const SiteSum& s) { return s[SiteClass::unseen] + s[SiteClass::unsettled]; }
std::int64_t came_to_nothing(const SiteSum& s) { return s.installed() - s[SiteClass::useful] - not_known(s); }

// Where nothing says what jobs did with their GPUs, that they had them is all there is to tell.
std::string hours_sentence(const Month& m) {
  const SiteSum& s = m.all.sum;
  const bool used = m.all.efficiency().has_value();
  const auto part = [&](const SiteSum& x) -> std::optional<double> {
    if (x.installed() <= 0) return std::nullopt;
    return static_cast<double>(used ? x[SiteClass::useful] : x.allocated()) / static_cast<double>(x.installed());
  };
  const std::string when = month_name(m.wall(m.begin)) + (m.is_whole() ? "" : ", as far as it is known");
  std::string out = fmt::format("In {}, {} of {} GPU-hours owned {}", when, render_percent(part(s)), whole_hours(s.installed()),
                                used ? "came to use" : "were had by jobs");
  if (m.before && part(s) && part(m.before->sum) && used == m.before->efficiency().has_value())
    out += ", " + against(*part(s), *part(m.before->sum), month_name(m.wall(m.before->from)));
  if (!used) return out + "; what they did with them is not known.";
  if (s.installed() > 0 && not_known(s) > 0)
    out += fmt::format("; of {} it is not known",
                       render_percent(static_cast<double>(not_known(s)) / static_cast<double>(s.installed())));
  return out + ".";
}

std::string money_sentence(const Month& m) {
  const SiteSum& s = m.all.sum;
  const std::int64_t lost = came_to_nothing(s);
  std::string out;
  if (m.cost) {
    const MonthRates r = rates_of(m.all, m.cost->total);
    out = fmt::format("All of it cost {}: an hour of a GPU {} to own", render_money(m.cost->total, m.cost->currency),
                      r.owned ? price_text(*r.owned, m.cost->currency) : "-");
    if (r.useful) out += fmt::format(" and {} by the time it was useful", price_text(*r.useful, m.cost->currency));
    out += fmt::format("; {} GPU-hours ({}) came to nothing", whole_hours(lost),
                       render_money(money_of(m, lost).value_or(0), m.cost->currency));
  } else {
    out = fmt::format("{} GPU-hours came to nothing; what they cost is not known", whole_hours(lost));
  }
  if (const auto worst = worst_of(s)) out += fmt::format(", {} of them {}", whole_hours(s[*worst]), class_words(*worst));
  return out + ".";
}

std::string target_sentence(const Month& m) {
  const auto e = m.all.efficiency();
  if (!e) return "How much of the allocated time was useful is not known: nothing says what the jobs' GPUs did.";
  const account::Streak k = streak_of(m);
  return fmt::format(
      "Of the time that jobs had GPUs and it is known what they did, {} was useful, against a target of {}: {} of {} "
      "reached it, the last {} in a row.",
      render_percent(e), render_percent(m.target), k.reached, counted(k.complete, "whole day"), k.days);
}

}  // namespace

std::optional<double> MonthPiece::efficiency() const {
  const double e = sum.efficiency();
  return e < 0 ? std::nullopt : std::optional(e);
}

std::optional<double> MonthPiece::share(SiteClass c) const {
  if (sum.installed() <= 0) return std::nullopt;
  return static_cast<double>(sum[c]) / static_cast<double>(sum.installed());
}

void sort_rows(MonthTable& t) {
  std::stable_sort(t.rows.begin(), t.rows.end(), [](const MonthRow& a, const MonthRow& b) {
    return a.sum.allocated() != b.sum.allocated() ? a.sum.allocated() > b.sum.allocated() : a.name < b.name;
  });
}

account::Streak streak_of(const Month& m) {
  std::vector<account::DaySum> all;
  for (const MonthPiece& d : m.days) all.push_back({d.from, d.to, d.whole, d.sum});
  return account::streak_of(all, m.target);
}

MonthRates rates_of(const MonthPiece& piece, double total) {
  const SiteSum& s = piece.sum;
  return {over(total, s.installed()), over(total, s.delivered()), over(total, s.allocated()), over(total, s[SiteClass::useful])};
}

double cost_before(const Month& m) {
  if (!m.cost || !m.before) return 0;
  if (m.cost->total_before) return *m.cost->total_before;
  const std::int64_t now = m.all.sum.installed();
  return now <= 0 ? 0 : m.cost->total * (static_cast<double>(m.before->sum.installed()) / static_cast<double>(now));
}

std::optional<double> money_of(const Month& m, std::int64_t gpu_us) {
  const std::int64_t installed = m.all.sum.installed();
  if (!m.cost || installed <= 0) return std::nullopt;
  return m.cost->total * (static_cast<double>(gpu_us) / static_cast<double>(installed));
}

Time wall_of(Time utc, const ZoneOffsets& zone) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t s = utc.ns / kSecond;
  return utc + seconds(local_seconds(s, zone) - s);
}

Time Month::wall(Time utc) const { return wall_of(utc, offsets); }

MonthBounds month_of(Time t, const ZoneOffsets& zone) {
  const auto [year, month] = year_month(wall_of(t, zone));
  // No clock is more than 14 hours from UTC; where midnight is leapt over, the day begins later.
  const auto first = [&](std::int64_t y, std::int64_t m) {
    const Time midnight = begin_of(day_of(y, m, 1).value_or(0));
    for (const Time at : day_starts(midnight - hours(15), midnight + hours(15), zone)) {
      if (day_of(wall_of(at, zone)) == day_of(midnight)) return at;
    }
    return midnight;
  };
  return {first(year, month), month == 12 ? first(year + 1, 1) : first(year, month + 1)};
}

std::string month_name(Time t) {
  constexpr std::array<std::string_view, 12> kNames = {"January", "February", "March",     "April",   "May",      "June",
                                                       "July",    "August",   "September", "October", "November", "December"};
  const auto [year, month] = year_month(t);
  return fmt::format("{} {}", kNames[static_cast<std::size_t>(month - 1)], year);
}

std::string_view class_words(SiteClass c) {
  switch (c) {
    case SiteClass::down: return "broken or booting";
    case SiteClass::drained: return "held out of service";
    case SiteClass::idle_no_demand: return "idle with nobody waiting";
    case SiteClass::idle_fragmented: return "idle while jobs waited that did not fit";
    case SiteClass::held_idle: return "held by jobs whose GPUs did next to nothing";
    case SiteClass::starting: return "jobs loading and initialising";
    case SiteClass::checkpoint: return "steps stopped while a checkpoint was written";
    case SiteClass::lost_restart: return "steps lost since the last checkpoint";
    case SiteClass::stalled: return "jobs slower than they should be, or waiting";
    case SiteClass::unseen: return "had by jobs, and nothing says what was done";
    case SiteClass::unsettled: return "since the last checkpoint: useful or lost, not yet known";
    case SiteClass::useful: return "useful work";
  }
  return "";
}

std::vector<std::string> headline_of(const Month& m) { return {hours_sentence(m), money_sentence(m), target_sentence(m)}; }

Definitions definitions_of(const Month& m) {
  Definitions out = {
      {"GPU-hour", "one GPU for one hour. The classes are exact to the GPU-microsecond, and sum to what was installed"},
      {"owned", "all GPUs installed, for every hour of the month"},
      {"delivered", "owned, without what was down or drained"},
      {"allocated", "had by a job: delivered, without what was idle"},
  };
  for (std::size_t i = 0; i < account::kSiteClasses; ++i) {
    const auto c = static_cast<SiteClass>(i);
    out.emplace_back(std::string(names(SiteClass{})[i]), std::string(class_words(c)));
  }
  const Definitions more = {
      {"cost of an hour",
       "what everything cost in the month, over the hours that were owned, delivered, allocated and useful: the "
       "same money on fewer and fewer hours"},
      {"money of a class", "its GPU-hours at the cost of an hour owned: classes sum to what everything cost"},
      {"share of the cost",
       "of an account, a user, a partition: its allocated hours at the cost of an hour allocated, so that all rows "
       "together bear everything, what was idle too"},
      {"efficiency", "useful / (allocated - unsettled - unseen): of the time that jobs had GPUs and it is known what they did"},
      {"streak",
       "whole days in a row, up to the last, whose efficiency is at the target or above; a day of which nothing is known is not"},
      {"month", fmt::format("of the calendar, in {}; the month before is compared with only where all of it is known", m.zone)},
  };
  out.insert(out.end(), more.begin(), more.end());
  std::string money = "not told: no cost is known";
  if (m.cost) money = m.cost->basis;
  out.emplace_back("what everything cost", std::move(money));
  if (!m.charged_by.empty()) out.emplace_back("charged", m.charged_by);
  if (m.energy) out.emplace_back("energy", m.energy->basis);
  return out;
}

}  // namespace muster::report
