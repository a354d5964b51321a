// A month out of the answers of Muster's tools: of one that runs, or of the same tools over a journal's file.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "account_tool.h"
#include "audit_tool.h"
#include "base/json_writer.h"
#include "client.h"
#include "goodput_tool.h"
#include "ingest/json.h"
#include "month_gather.h"
#include "progress.h"
#include "report/units.h"
#include "report/weekly.h"
#include "say.h"
#include "week_tool.h"
#include "weekly_gather.h"
#include "zones.h"

namespace muster::cmd {
namespace {

using account::SiteClass;
using account::SiteSum;
using report::list_of;
using report::number_of;
using report::text_of;

std::int64_t us_of(std::optional<double> gpu_hours) { return std::llround(gpu_hours.value_or(0) * account::kMilliMsOfGpuHour); }
std::uint64_t count_of(const Value& v, std::string_view key) {
  return static_cast<std::uint64_t>(std::max(0.0, number_of(v, key).value_or(0)));
}

// Where there are whole numbers, those; GPU-hours are as exact as a double is.
SiteSum sum_of(const Value& v) {
  SiteSum s;
  const Value *whole = v.find("classes_milli_gpu_ms"), *hours = v.find("classes_gpu_hours");
  for (std::size_t i = 0; i < account::kSiteClasses; ++i) {
    const std::string_view name = names(SiteClass{})[i];
    if (whole != nullptr) {
      s.milli_ms[i] = static_cast<std::int64_t>(number_of(*whole, name).value_or(0));
    } else if (hours != nullptr) {
      s.milli_ms[i] = us_of(number_of(*hours, name));
    }
  }
  return s;
}

class Answers {
 public:
  Answers(const AskTool& ask, const std::function<void(double)>& told, double all) : ask_(ask), told_(told), all_(all) {}

  Result<Value> account(Time from, Time to, std::string_view by) {
    JsonWriter w;
    w.object().field("from", render_utc(from)).field("to", render_utc(to)).field("by", by).end_object();
    return put("account", w.take());
  }
  Result<Value> stretch(const std::string& tool, Time from, Time to) {
    JsonWriter w;
    w.object().field("from", render_utc(from)).field("to", render_utc(to)).end_object();
    return put(tool, w.take());
  }
  Result<Value> put(const std::string& tool, const std::string& input) {
    auto answer = ask_(tool, input);
    done_ += 1;
    if (told_) told_(std::min(1.0, done_ / all_));
    return answer;
  }

 private:
  const AskTool& ask_;
  const std::function<void(double)>& told_;
  double all_, done_ = 0;
};

void take_days(report::Month& m, const Value& a) {
  for (const Value& d : list_of(a, "days")) {
    const auto from = report::time_of(d, "from_utc"), to = report::time_of(d, "to_utc");
    if (from && to) m.days.push_back({*from, *to, sum_of(d), text_of(d, "whole") == "true"});
  }
}

// The tool tells of days in UTC: those of another calendar are asked for one by one.
Result<void> ask_days(report::Month& m, Answers& q, Time first, Time last) {
  const std::vector<Time> starts = day_starts(m.all.from, m.all.to, m.offsets);
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const Time from = std::max(starts[i], m.all.from), to = std::min(starts[i + 1], m.all.to);
    if (from >= to) continue;
    const auto a = q.account(from, to, "account");
    if (!a) return tl::unexpected(a.error());
    m.days.push_back({from, to, sum_of(*a), starts[i] >= first && starts[i + 1] <= last});
  }
  return {};
}

// At the prices that held.
void take_cost(report::Month& m, const Value& a, const Value* before) {
  const Value* rates = a.find("rates");
  const auto cost = rates == nullptr ? std::nullopt : number_of(*rates, "cost");
  if (!cost || *cost <= 0) return;
  std::string prices, assumed;
  for (const Value& p : list_of(a, "prices")) {
    const double price = number_of(p, "price_per_gpu_hour").value_or(0);
    if (price <= 0) continue;
    prices += fmt::format("{}{} {}", prices.empty() ? "" : ", then ", report::render_decimal(price, 2), text_of(p, "currency"));
    if (!text_of(p, "assumed").empty()) assumed = text_of(p, "assumed");
  }
  m.cost = report::MonthCost{
      *cost, text_of(*rates, "currency"), fmt::format("the policy's price of {} for each GPU-hour owned", prices), {}, {}};
  if (!assumed.empty()) m.cost->basis += "; assumed: " + assumed;
  const Value* then = before == nullptr ? nullptr : before->find("rates");
  if (then != nullptr) m.cost->total_before = number_of(*then, "cost");
}

void take_table(report::Month& m, const Value& a, const std::string& by) {
  report::MonthTable t;
  t.by = by;
  SiteSum told;
  for (const Value& row : list_of(a, "rows")) {
    const SiteSum s = sum_of(row);
    told += s;
    if (text_of(row, "no_job") == "true")
      t.nobody += s;
    else
      t.rows.push_back({text_of(row, "name"), count_of(row, "jobs"), s, {}});
  }
  // What was rounded, and rows that were left out: the table sums to the month.
  for (std::size_t i = 0; i < account::kSiteClasses; ++i) t.nobody.milli_ms[i] += m.all.sum.milli_ms[i] - told.milli_ms[i];
  report::sort_rows(t);
  m.tables.push_back(std::move(t));
}

Result<void> take_failures(report::Month& m, Answers& q) {
  const auto a = q.account(m.begin, m.end, "fault");
  if (!a) return tl::unexpected(a.error());
  const auto story = q.stretch("week", m.all.from, m.all.to);
  if (!story) return tl::unexpected(story.error());
  std::map<std::string, std::uint64_t> incidents;
  for (const Value& i : list_of(*story, "incidents")) {
    if (text_of(i, "carried") != "true") ++incidents[text_of(i, "cause")];
  }
  for (const Value& row : list_of(*a, "rows")) {
    if (text_of(row, "origin") == "wish") continue;
    report::MonthFailure f;
    f.cause = text_of(row, "name");
    f.words = std::string(report::cause_words(f.cause));
    f.attempts_lost = count_of(row, "attempts_lost");
    f.out_us = us_of(number_of(row, "out_gpu_hours"));
    f.lost_us = us_of(number_of(row, "lost_gpu_hours")) + us_of(number_of(row, "vain_gpu_hours")) +
                us_of(number_of(row, "slowed_gpu_hours"));
    f.incidents = incidents[f.cause];
    m.failures.push_back(std::move(f));
  }
  std::stable_sort(m.failures.begin(), m.failures.end(), [](const auto& x, const auto& y) { return x.all_us() > y.all_us(); });
  m.failures_known = true;
  return {};
}

// A simulation says so; a record that is not whole is told nothing from.
Result<void> take_record(report::Month& m, Answers& q) {
  const auto audit = q.put("audit", "{}");
  if (!audit) return tl::unexpected(audit.error());
  const Value* chain = audit->find("chain");
  if (chain != nullptr && text_of(*chain, "ok") != "true")
    return fail(Code::corrupt, fmt::format("the record is not whole: {}", text_of(*chain, "what")),
                "no report is made of it before that is explained; `muster journal verify` says where it breaks");
  if (m.simulation.empty()) m.simulation = text_of(*audit, "simulation");
  if (m.simulation.empty() && chain != nullptr && is_twin(*chain)) m.simulation = "a run of the twin";
  return {};
}

// Of grants that began before the month: what accounts used of them, in stretches that make the paces of 7 and 28 days.
Result<void> take_uses(GatheredMonth& g, Answers& q, Time first) {
  const Time end = g.month.all.to;
  const std::array<Time, 4> cuts = {first, std::max(first, end - days(28)), std::max(first, end - days(7)), end};
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    if (cuts[i] >= cuts[i + 1]) continue;
    const auto a = q.account(cuts[i], cuts[i + 1], "account");
    if (!a) return tl::unexpected(a.error());
    for (const Value& row : list_of(*a, "rows")) {
      if (text_of(row, "no_job") == "true") continue;
      g.uses.push_back({text_of(row, "name"), cuts[i], cuts[i + 1], sum_of(row).allocated(), 0, ""});
    }
  }
  return {};
}

void note_unseen(report::Month& m, const Value& a) {
  for (const Value& note : list_of(a, "notes")) {
    if (note.string() != nullptr) m.unseen.push_back(*note.string());
  }
  const std::int64_t unsettled = m.all.sum[SiteClass::unsettled];
  if (unsettled > 0)
    m.unseen.push_back(fmt::format("{} GPU-hours of jobs that run are since their last checkpoint: useful or lost, not yet known",
                                   report::render_gpu_hours(unsettled)));
}

Result<GatheredMonth> gather(const MonthOptions& o, const AskTool& ask, const std::string& simulation, const std::string& source,
                             const std::function<void(double)>& told) {
  const auto zone = zone_offsets("--tz", o.zone);
  if (!zone) return tl::unexpected(zone.error());
  constexpr double kQuestions = 9, kDays = 31, kOfGrants = 3;
  Answers q(ask, told, kQuestions + (zone->empty() ? 0 : kDays) + (o.allocations.empty() ? 0 : kOfGrants));
  const auto whole = q.put("goodput", "{}");
  if (!whole) return tl::unexpected(whole.error());
  const auto first = report::time_of(*whole, "from_utc"), last = report::time_of(*whole, "to_utc");
  if (!first || !last) return fail(Code::internal, "the answer about goodput has no times");
  const report::MonthBounds b = month_asked(o, *zone, *first, *last);
  if (*last <= b.begin || *first >= b.end)
    return fail(Code::not_found, fmt::format("nothing is recorded of {}", report::month_name(report::wall_of(b.begin, *zone))),
                fmt::format("the record reaches from {} to {}", render_utc(*first), render_utc(*last)));
  GatheredMonth g;
  report::Month& m = g.month;
  m.begin = b.begin;
  m.end = b.end;
  m.zone = o.zone;
  m.offsets = *zone;
  m.simulation = simulation;
  m.source = source;
  m.activity_known = false;  // a journal holds no readings of what GPUs did
  const auto a = q.account(b.begin, b.end, "account");
  if (!a) return tl::unexpected(a.error());
  m.cluster = text_of(*a, "cluster");
  m.gpus = count_of(*a, "gpus");
  m.all = {std::max(b.begin, report::time_of(*a, "from_utc").value_or(b.begin)),
           std::min(b.end, report::time_of(*a, "to_utc").value_or(b.end)), sum_of(*a), true};
  if (zone->empty()) {
    take_days(m, *a);
  } else if (auto ok = ask_days(m, q, *first, *last); !ok) {
    return tl::unexpected(ok.error());
  }
  const report::MonthBounds then = report::month_of(b.begin - nanoseconds(1), *zone);
  std::optional<Value> before;
  if (*first <= then.begin) {
    auto x = q.account(then.begin, then.end, "account");
    if (!x) return tl::unexpected(x.error());
    before = std::move(*x);
    m.before = report::MonthPiece{then.begin, then.end, sum_of(*before), true};
  } else {
    m.unseen.push_back(fmt::format("{} is not compared with: the record begins at {}", report::month_name(m.wall(then.begin)),
                                   render_utc(*first)));
  }
  take_cost(m, *a, before ? &*before : nullptr);
  take_table(m, *a, "account");
  for (const char* by : {"partition", "user", "gpu_type"}) {
    const auto rows = q.account(b.begin, b.end, by);
    if (!rows) return tl::unexpected(rows.error());
    take_table(m, *rows, by);
  }
  if (auto ok = take_failures(m, q); !ok) return tl::unexpected(ok.error());
  if (!o.allocations.empty()) {
    if (auto ok = take_uses(g, q, *first); !ok) return tl::unexpected(ok.error());
  }
  if (auto ok = take_record(m, q); !ok) return tl::unexpected(ok.error());
  note_unseen(m, *a);
  return g;
}

}  // namespace

Result<GatheredMonth> gather_month_journal(const MonthOptions& o, const std::function<void(double)>& told) {
  AccountTool account(o.journal);
  GoodputTool goodput(o.journal);
  WeekTool week(o.journal);
  AuditTool audit(o.journal);
  const auto ask = [&](const std::string& name, const std::string& input) -> Result<Value> {
    Tool& tool = name == "account"   ? static_cast<Tool&>(account)
                 : name == "goodput" ? static_cast<Tool&>(goodput)
                 : name == "week"    ? static_cast<Tool&>(week)
                                     : audit;
    const auto text = tool.call(parse_json(input).value());
    if (!text) return tl::unexpected(text.error());
    return parse_json(*text);
  };
  return gather(o, ask, "", "the journal " + o.journal, told);
}

Result<GatheredMonth> gather_month_server(const MonthOptions& o, const std::function<void(double)>& told) {
  const auto client = Client::open(o.connection);
  if (!client) return tl::unexpected(client.error());
  const auto summary = client->get("/api/v1/summary");
  if (!summary) return tl::unexpected(summary.error());
  return gather(
      o, [&](const std::string& tool, const std::string& input) { return client->post("/api/v1/tools/" + tool, input); },
      text_of(*summary, "simulation"), "the Muster that runs", told);
}

}  // namespace muster::cmd
