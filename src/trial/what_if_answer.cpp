#include "trial/what_if_answer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/json_writer.h"
#include "base/text.h"

namespace muster::trial {
namespace {

constexpr std::string_view kMethod =
    "each seed is run twice, without and with the change; 95 % intervals of the paired differences by Student's t; p by flipping "
    "the signs of the pairs, all metrics together (Westfall and Young's step-down maxT)";

// What a person asks first.
constexpr std::array<std::string_view, 6> kFirst = {"goodput_pct",  "useful_gpu_hours", "queue_wait_h",
                                                    "mttr_p50_min", "jobs_lost",        "left_open"};

bool is_first(const Row& row) { return std::find(kFirst.begin(), kFirst.end(), row.metric.name) != kFirst.end(); }

std::string joined(const std::vector<std::string>& all) {
  if (all.size() < 2) return all.empty() ? std::string() : all[0];
  return join({all.begin(), all.end() - 1}, ", ") + " and " + all.back();
}

std::string number(double v, int decimals) {
  const std::string s = fmt::format("{:.{}f}", v, decimals);
  return s.find_first_not_of("-0.") == std::string::npos && s[0] == '-' ? s.substr(1) : s;
}

// "goodput rises by 1.20 points (0.40 to 2.00)".
std::string movement(const Row& row) {
  const Metric& m = row.metric;
  const Estimate& d = row.contrasts[0].difference;
  const double sign = d.mean < 0 ? -1 : 1;
  const double a = sign * d.low, b = sign * d.high;
  return fmt::format("{} {} by {} {} ({} to {})", m.title.substr(m.title.find_first_not_of(' ')), d.mean < 0 ? "falls" : "rises",
                     number(sign * d.mean, m.decimals), m.difference_unit, number(std::min(a, b), m.decimals),
                     number(std::max(a, b), m.decimals));
}

const Row* find_row(const CompareReport& r, std::string_view name) {
  for (const Row& row : r.rows) {
    if (row.metric.name == name) return &row;
  }
  return nullptr;
}

std::string cost_sentence(const WhatIfPlan& plan, const CompareReport& report) {
  const double gpus = static_cast<double>(plan.changed.gpus) - plan.base.gpus;
  if (gpus == 0) return {};
  const std::string_view way = gpus > 0 ? "more" : "fewer";
  const double size = gpus < 0 ? -gpus : gpus;
  if (plan.price <= 0)
    return fmt::format("What {:.0f} GPUs {} cost or save is not said: the policy names no gpu_hour_price.", size, way);
  const double days = report.runs[0][0].days;
  const std::string& currency = (plan.base.policy.gpu_hour_price > 0 ? plan.base : plan.changed).policy.currency;
  std::string s = fmt::format("{:.0f} GPUs {} {} {:.0f} {} a day at {} {} for a GPU-hour", size, way,
                              gpus > 0 ? "cost" : "save", size * 24 * plan.price, currency, render_number(plan.price), currency);
  const Row* useful = find_row(report, "useful_gpu_hours");
  if (useful != nullptr && useful->contrasts[0].difference.n > 1 && days > 0) {
    const Estimate& d = useful->contrasts[0].difference;
    const auto a_day = [&](double hours) { return number(hours * plan.price / days, 0); };
    s += fmt::format("; useful work is worth {} {} a day more ({} to {})", a_day(d.mean), currency, a_day(d.low), a_day(d.high));
  }
  return s + ".";
}

void write_estimate(JsonWriter& w, std::string_view key, const Estimate& e) {
  w.key(key).object().field("n", static_cast<std::uint64_t>(e.n));
  const auto put = [&](std::string_view name, bool known, double v) {
    w.key(name);
    known ? w.value(v) : w.null();
  };
  put("mean", e.n > 0, e.mean);
  put("low", e.n > 1, e.low);
  put("high", e.n > 1, e.high);
  w.end_object();
}

void write_row(JsonWriter& w, const Row& row) {
  const Metric& m = row.metric;
  const Contrast& c = row.contrasts[0];
  w.object().field("name", m.name).field("title", m.title.substr(m.title.find_first_not_of(' '))).field("unit", m.unit);
  w.field("part", m.title.starts_with(' '));  // of the nearest row above that is none
  w.field("difference_unit", m.difference_unit).field("decimals", m.decimals).field("better", name_of(m.wish));
  w.field("first", is_first(row));
  write_estimate(w, "base", row.values[0]);
  write_estimate(w, "changed", row.values[1]);
  write_estimate(w, "difference", c.difference);
  w.field("outcome", name_of(c.outcome)).field("p", c.p).field("seeds_needed", c.seeds_needed).field("verdict", c.verdict);
  w.end_object();
}

void write_side(JsonWriter& w, std::string_view key, const Side& side, std::string_view name) {
  w.key(key).object().field("name", name).field("policy", side.policy.name);
  w.field("nodes", side.nodes).field("gpus", side.gpus).field("spares", side.spares).end_object();
}

void write_list(JsonWriter& w, std::string_view key, const std::vector<std::string>& all) {
  w.key(key).array();
  for (const std::string& s : all) w.value(s);
  w.end_array();
}

}  // namespace

std::vector<std::string> sentences_of(const WhatIfPlan& plan, const CompareReport& report) {
  std::vector<std::string> shown, not_shown, out;
  for (const Row& row : report.rows) {
    const Outcome o = row.contrasts[0].outcome;
    if (o == Outcome::better || o == Outcome::worse) shown.push_back(movement(row));
    if (o == Outcome::not_shown && is_first(row)) not_shown.push_back(row.metric.title);
  }
  const RunReport& run = report.runs[0][0];
  const std::string with = "With " + joined(plan.changes);
  const std::string_view seed = report.runs[0].size() == 1 ? "seed" : "seeds";
  if (shown.empty())
    out.push_back(fmt::format("{} nothing gets better or worse that {} {} of {} days could show.", with, report.runs[0].size(),
                              seed, render_number(run.days)));
  else
    out.push_back(fmt::format("{}: {}.", with, join(shown, "; ")));
  if (!not_shown.empty())
    out.push_back(fmt::format("No difference that {} {} could show: {}.", report.runs[0].size(), seed, joined(not_shown)));
  if (const std::string cost = cost_sentence(plan, report); !cost.empty()) out.push_back(cost);
  return out;
}

std::string answer_members(const WhatIf& ask, const WhatIfPlan& plan, const CompareReport& report, const State& from) {
  JsonWriter w;
  w.object().field("cluster", from.site.name).field("from_utc", render_utc(from.now.utc)).field("from_seq", from.seq);
  w.field("days", ask.days).field("seeds", ask.seeds).field("weather", plan.compare.run.twin.weather.factor).key("price");
  plan.price > 0 ? w.value(plan.price) : w.null();
  write_side(w, "base", plan.base, "as it is");
  write_side(w, "changed", plan.changed, "the change");
  write_list(w, "changes", plan.changes);
  write_list(w, "sentences", sentences_of(plan, report));
  write_list(w, "assumptions", plan.assumptions);
  w.field("method", kMethod).field("tests", static_cast<std::uint64_t>(report.tests)).field("exact", report.exact);
  w.key("metrics").array();
  for (const Row& row : report.rows) write_row(w, row);
  w.end_array().end_object();
  return w.take_members();
}

}  // namespace muster::trial
