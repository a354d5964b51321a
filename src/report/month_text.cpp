// The report of a month as JSON, for programs, and as one tidy table, for spreadsheets.
#include <fmt/core.h>

#include "base/json_writer.h"
#include "report/maybe.h"
#include "report/month.h"
#include "report/units.h"

namespace muster::report {
namespace {

void write_sum(JsonWriter& w, const SiteSum& s) {
  w.field("installed_gpu_us", s.installed()).key("classes_gpu_us").object();
  for (std::size_t i = 0; i < account::kSiteClasses; ++i) w.field(names(SiteClass{})[i], s.milli_ms[i]);
  w.end_object().field("owned_gpu_hours", gpu_hours_of(s.installed())).field("delivered_gpu_hours", gpu_hours_of(s.delivered()));
  w.field("allocated_gpu_hours", gpu_hours_of(s.allocated())).field("useful_gpu_hours", gpu_hours_of(s[SiteClass::useful]));
  const double e = s.efficiency();
  write_maybe(w, "efficiency", e < 0 ? std::nullopt : std::optional(e));
}

void write_piece(JsonWriter& w, const MonthPiece& p, const std::string& date = {}) {
  w.object();
  if (!date.empty()) w.field("date", date);
  w.field("from_utc", render_utc(p.from)).field("to_utc", render_utc(p.to));
  write_sum(w, p.sum);
  w.end_object();
}

void write_rates(JsonWriter& w, std::string_view key, const std::optional<MonthRates>& r) {
  w.key(key);
  if (!r) {
    w.null();
    return;
  }
  w.object();
  write_maybe(w, "owned", r->owned);
  write_maybe(w, "delivered", r->delivered);
  write_maybe(w, "allocated", r->allocated);
  write_maybe(w, "useful", r->useful);
  w.end_object();
}

void write_cost(JsonWriter& w, const Month& m) {
  w.field("currency", m.cost ? m.cost->currency : std::string());
  w.key("cost");
  if (m.cost) {
    w.object().field("money", m.cost->total).field("basis", m.cost->basis).key("parts").object();
    for (const auto& [name, money] : m.cost->parts) w.field(name, money);
    w.end_object().end_object();
  } else {
    w.null();
  }
  write_rates(w, "money_per_gpu_hour", m.cost ? std::optional(rates_of(m.all, m.cost->total)) : std::nullopt);
  write_rates(w, "money_per_gpu_hour_before",
              m.cost && m.before ? std::optional(rates_of(*m.before, cost_before(m))) : std::nullopt);
  w.key("class_money");
  if (!m.cost) {
    w.null();
    return;
  }
  w.object();
  for (std::size_t i = 0; i < account::kSiteClasses; ++i)
    write_maybe(w, names(SiteClass{})[i], money_of(m, m.all.sum.milli_ms[i]));
  w.end_object();
}

void write_tables(JsonWriter& w, const Month& m) {
  w.key("tables").array();
  for (const MonthTable& t : m.tables) {
    w.object().field("by", t.by).key("rows").array();
    for (const MonthRow& r : t.rows) {
      w.object().field("name", r.name).field("jobs", r.jobs);
      write_sum(w, r.sum);
      write_maybe(w, "share_of_cost_money", share_of_cost(m, r.sum));
      write_maybe(w, "charged_money", r.charged.size() == 1 ? std::optional(r.charged.begin()->second) : std::nullopt);
      w.key("charged").object();
      for (const auto& [currency, money] : r.charged) w.field(currency, money);
      w.end_object();
      w.end_object();
    }
    w.end_array().key("nobody").object();
    write_sum(w, t.nobody);
    w.end_object().end_object();
  }
  w.end_array().field("charged_by", m.charged_by);
}

void write_further(JsonWriter& w, const Month& m) {
  w.key("quotas").array();
  for (const account::Burn& q : m.quotas) {
    const double unit = q.granted.money_micro ? static_cast<double>(kMicro) : account::kMilliMsOfGpuHour;
    w.object()
        .field("account", q.granted.account)
        .field("from_utc", render_utc(q.granted.from))
        .field("to_utc", render_utc(q.granted.to));
    w.field("unit", q.granted.money_micro ? q.granted.currency : std::string("gpu_hours"));
    w.field("granted", static_cast<double>(q.grant) / unit).field("used", static_cast<double>(q.used) / unit);
    w.field("left", static_cast<double>(q.left()) / unit).field("period_gone", q.period_gone);
    const auto day = [](std::optional<Time> t) { return t ? std::optional(render_utc(*t)) : std::nullopt; };
    write_maybe(w, "out_first_utc", day(q.out_first));
    write_maybe(w, "out_last_utc", day(q.out_last));
    w.field("standing", account::names(account::Standing{})[static_cast<std::size_t>(q.standing)]).end_object();
  }
  w.end_array().key("failures");
  if (m.failures_known) {
    w.array();
    for (const MonthFailure& f : m.failures) {
      w.object().field("cause", f.cause).field("words", f.words).field("incidents", f.incidents);
      w.field("attempts_lost", f.attempts_lost).field("out_gpu_us", f.out_us).field("lost_gpu_us", f.lost_us);
      w.field("gpu_hours", gpu_hours_of(f.all_us()));
      write_maybe(w, "money", money_of(m, f.all_us()));
      w.end_object();
    }
    w.end_array();
  } else {
    w.null();
  }
  w.key("energy");
  if (m.energy) {
    w.object().field("it_kwh", m.energy->it_kwh);
    write_maybe(w, "facility_kwh", m.energy->facility_kwh);
    write_maybe(w, "money", m.energy->money);
    w.field("currency", m.energy->currency);
    write_maybe(w, "co2_kg", m.energy->co2_kg);
    w.field("basis", m.energy->basis).key("owner_kwh").object();
    for (const auto& [owner, kwh] : m.energy->owner_kwh) w.field(owner, kwh);
    w.end_object().end_object();
  } else {
    w.null();
  }
  w.key("capacity");
  if (m.capacity) {
    w.object().field("verdict", m.capacity->verdict).field("last_day", m.capacity->last_day).key("ends").array();
    for (const MonthCapacity::End& e : m.capacity->ends) {
      const auto date = [](const std::string& day) { return day.empty() ? std::nullopt : std::optional(day); };
      w.object().field("what", e.what).field("limit", e.limit);
      write_maybe(w, "p10_date", date(e.p10));
      write_maybe(w, "p50_date", date(e.p50));
      write_maybe(w, "p90_date", date(e.p90));
      w.end_object();
    }
    w.end_array().end_object();
  } else {
    w.null();
  }
}

void write_notes(JsonWriter& w, const Month& m) {
  w.key("unseen").array();
  for (const std::string& line : m.unseen) w.value(line);
  w.end_array().key("missing").array();
  for (const MonthGap& g : m.gaps) w.object().field("part", g.part).field("why", g.why).field("how", g.how).end_object();
  w.end_array().key("commands").array();
  for (const MonthCommand& c : m.commands) w.object().field("part", c.part).field("command", c.command).end_object();
  w.end_array().key("definitions").array();
  for (const auto& [name, words] : definitions_of(m)) w.object().field("name", name).field("words", words).end_object();
  w.end_array();
}

// One row of the tidy table; what a row has nothing to say of stays empty.
class Tidy {
 public:
  explicit Tidy(std::string currency) : currency_(std::move(currency)) {
    table_.columns = {{"SECTION"},     {"NAME"},     {"CLASS"},       {"GPU_US", true}, {"GPU_HOURS", true},
                      {"MONEY", true}, {"CURRENCY"}, {"VALUE", true}, {"UNIT"}};
  }
  void hours(std::string_view section, std::string name, std::string_view of, std::int64_t us, std::optional<double> money) {
    put(section, std::move(name), of, std::to_string(us), number(gpu_hours_of(us)), money, "", "");
  }
  void value(std::string_view section, std::string name, std::string_view of, std::optional<double> v, std::string_view unit) {
    if (v) put(section, std::move(name), of, "", "", std::nullopt, number(*v), unit);
  }
  void money(std::string_view section, std::string name, std::string_view of, std::optional<double> amount) {
    if (amount) put(section, std::move(name), of, "", "", amount, "", "");
  }
  void money_in(std::string_view section, std::string name, std::string_view of, double amount, const std::string& currency) {
    put(section, std::move(name), of, "", "", amount, "", "");
    table_.rows.back()[6] = Cell(currency);
  }
  void date(std::string_view section, std::string name, std::string_view of, const std::string& day) {
    if (!day.empty()) put(section, std::move(name), of, "", "", std::nullopt, day, "date");
  }
  std::string csv() const { return render_csv(table_, true); }

 private:
  static std::string number(double v) { return fmt::format("{}", v); }
  void put(std::string_view section, std::string name, std::string_view of, std::string us, std::string h,
           std::optional<double> money, std::string value, std::string_view unit) {
    table_.rows.push_back({Cell(std::string(section)), Cell(std::move(name)), Cell(std::string(of)), Cell(std::move(us)),
                           Cell(std::move(h)), Cell(money ? number(*money) : ""), Cell(money ? currency_ : ""),
                           Cell(std::move(value)), Cell(std::string(unit))});
  }
  std::string currency_;
  Table table_;
};

void tidy_classes(Tidy& t, const Month& m, std::string_view section, const std::string& name, const SiteSum& s, bool with_money) {
  for (std::size_t i = 0; i < account::kSiteClasses; ++i)
    t.hours(section, name, names(SiteClass{})[i], s.milli_ms[i], with_money ? money_of(m, s.milli_ms[i]) : std::nullopt);
}

void tidy_rates(Tidy& t, const std::string& month, const MonthRates& r) {
  t.money("rate", month, "owned", r.owned);
  t.money("rate", month, "delivered", r.delivered);
  t.money("rate", month, "allocated", r.allocated);
  t.money("rate", month, "useful", r.useful);
}

}  // namespace

std::string month_json(const Month& m) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "MonthReport").field("cluster", m.cluster).field("simulation", m.simulation);
  w.field("month", render_utc(m.wall(m.begin)).substr(0, 7))
      .field("zone", m.zone)
      .field("from_utc", render_utc(m.all.from))
      .field("to_utc", render_utc(m.all.to));
  w.field("whole", m.is_whole()).field("source", m.source).field("gpus", m.gpus);
  w.key("headline").array();
  for (const std::string& line : headline_of(m)) w.value(line);
  w.end_array();
  write_cost(w, m);
  const account::Streak k = streak_of(m);
  w.field("target", m.target)
      .field("streak_days", k.days)
      .field("longest_streak_days", k.longest)
      .field("days_at_target", k.reached);
  w.field("days_complete", k.complete).key("all");
  write_piece(w, m.all);
  w.key("before");
  if (m.before)
    write_piece(w, *m.before);
  else
    w.null();
  w.key("days").array();
  for (const MonthPiece& d : m.days) write_piece(w, d, render_utc(m.wall(d.from)).substr(0, 10));
  w.end_array();
  write_tables(w, m);
  write_further(w, m);
  write_notes(w, m);
  w.end_object();
  return w.take();
}

std::string month_csv(const Month& m) {
  const std::string month = render_utc(m.wall(m.begin)).substr(0, 7);
  const std::string before = m.before ? render_utc(m.wall(m.before->from)).substr(0, 7) : "";
  Tidy t(m.cost ? m.cost->currency : "");
  tidy_classes(t, m, "month", month, m.all.sum, true);
  if (m.before) tidy_classes(t, m, "month_before", before, m.before->sum, false);
  if (m.cost) tidy_rates(t, month, rates_of(m.all, m.cost->total));
  if (m.cost && m.before) tidy_rates(t, before, rates_of(*m.before, cost_before(m)));
  if (m.cost)
    for (const auto& [name, money] : m.cost->parts) t.money("cost", month, name, money);
  t.value("efficiency", month, "", m.all.efficiency(), "share");
  t.value("efficiency", month, "target", m.target, "share");
  t.value("efficiency", month, "streak", static_cast<double>(streak_of(m).days), "days");
  for (const MonthPiece& d : m.days) {
    const std::string day = render_utc(m.wall(d.from)).substr(0, 10);
    tidy_classes(t, m, "day", day, d.sum, true);
    t.value("efficiency", day, "", d.efficiency(), "share");
  }
  for (const MonthTable& table : m.tables) {
    for (const MonthRow& r : table.rows) {
      tidy_classes(t, m, table.by, r.name, r.sum, true);
      t.money(table.by, r.name, "share_of_cost", share_of_cost(m, r.sum));
      for (const auto& [currency, money] : r.charged) t.money_in(table.by, r.name, "charged", money, currency);
    }
    tidy_classes(t, m, table.by, "(no job)", table.nobody, true);
  }
  for (const account::Burn& q : m.quotas) {
    const double unit = q.granted.money_micro ? static_cast<double>(kMicro) : account::kMilliMsOfGpuHour;
    const std::string word = q.granted.money_micro ? q.granted.currency : "gpu_hours";
    t.value("quota", q.granted.account, "granted", static_cast<double>(q.grant) / unit, word);
    t.value("quota", q.granted.account, "used", static_cast<double>(q.used) / unit, word);
  }
  for (const MonthFailure& f : m.failures) t.hours("failure", f.cause, "", f.all_us(), money_of(m, f.all_us()));
  if (m.energy) {
    t.value("energy", month, "it", m.energy->it_kwh, "kwh");
    t.value("energy", month, "facility", m.energy->facility_kwh, "kwh");
    t.value("energy", month, "co2", m.energy->co2_kg, "kg");
    t.value("energy", month, "electricity", m.energy->money, m.energy->currency);
  }
  if (m.capacity) {
    for (const MonthCapacity::End& e : m.capacity->ends) {
      t.date("capacity", e.what, "1_in_10_by", e.p10);
      t.date("capacity", e.what, "even_odds_by", e.p50);
      t.date("capacity", e.what, "9_in_10_by", e.p90);
    }
  }
  return t.csv();
}

}  // namespace muster::report
