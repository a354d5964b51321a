// The weekly report as Markdown, for a wiki or a mail, and as JSON, for programs.
#include <fmt/core.h>

#include <algorithm>

#include "base/json_writer.h"
#include "report/maybe.h"
#include "report/units.h"
#include "report/weekly_parts.h"

namespace muster::report {
namespace {

constexpr double kHour_us = 3.6e9;

void write_piece(JsonWriter& w, const Piece& p, double price) {
  w.object().field("from_utc", render_utc(p.from)).field("to_utc", render_utc(p.to));
  w.field("installed_gpu_us", p.installed_us).key("classes_gpu_us").object();
  for (std::size_t i = 0; i < p.classes.size(); ++i) w.field(names(Waste{})[i], p.classes[i]);
  w.end_object().field("installed_gpu_h", static_cast<double>(p.installed_us) / kHour_us);
  w.field("useful_gpu_h", static_cast<double>(p.of(Waste::useful)) / kHour_us);
  w.field("lost_gpu_h", static_cast<double>(p.lost_us()) / kHour_us);
  write_maybe(w, "lost_money", price > 0 ? std::optional(static_cast<double>(p.lost_us()) / kHour_us * price) : std::nullopt);
  write_maybe(w, "useful_share", p.useful_share());
  write_maybe(w, "goodput", p.goodput());
  w.key("causes").array();
  for (const CauseShare& c : p.causes) {
    w.object().field("cause", c.name).field("words", cause_words(c.name)).field("gpu_us", c.gpu_us);
    w.field("gpu_h", static_cast<double>(c.gpu_us) / kHour_us).field("attempts_lost", c.losses).end_object();
  }
  w.end_array().end_object();
}

void write_counts(JsonWriter& w, std::string_view key, const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  w.key(key).object();
  for (const auto& [name, n] : counts) w.field(name, n);
  w.end_object();
}

void write_reliability(JsonWriter& w, const Reliability& r) {
  w.object().field("failures", r.incidents).field("interruptions", r.interruptions);
  write_maybe(w, "failures_per_1000_gpu_days", r.per_1000_gpu_days);
  write_maybe(w, "gpu_days_between_failures", r.gpu_days_between);
  write_maybe(w, "mean_detect_s", r.detect_s);
  write_maybe(w, "mean_recover_s", r.recover_s);
  write_maybe(w, "mean_restart_s", r.restart_s);
  write_counts(w, "failures_by_cause", r.causes);
  write_counts(w, "attempts_by_end", r.ends);
  w.end_object();
}

void write_incidents(JsonWriter& w, const Weekly& x) {
  w.key("incidents").array();
  for (const WeeklyIncident& i : x.incidents) {
    w.object().field("id", i.id).field("where", i.where).field("cause", i.cause).field("words", i.words);
    w.field("opened_utc", i.opened_utc).key("closed_utc");
    if (i.closed_utc.empty())
      w.null();
    else
      w.value(i.closed_utc);
    w.field("carried", i.carried).field("detect_s", i.detect_s);
    write_maybe(w, "recover_s", i.recover_s);
    write_maybe(w, "restart_s", i.restart_s);
    w.field("attempts_lost", i.attempts_lost).field("gpu_h", i.gpu_h);
    write_maybe(w, "money", x.price > 0 ? std::optional(i.gpu_h * x.price) : std::nullopt);
    w.field("outcome", i.outcome).field("done_by", i.done_by).end_object();
  }
  w.end_array().field("incidents_left_out", x.incidents_left_out);
}

void write_work(JsonWriter& w, const Weekly& x) {
  w.key("jobs").array();
  for (const WeeklyJob& j : x.jobs) {
    w.object().field("id", j.id).field("name", j.name).field("user", j.user).field("account", j.account);
    w.field("gpu_h", j.gpu_h).field("waste_gpu_h", j.waste_gpu_h).field("why", j.why).end_object();
  }
  w.end_array().key("queues").array();
  for (const WeeklyQueue& q : x.queues) {
    w.object().field("queue", q.name).field("starts", q.starts);
    write_maybe(w, "median_s", q.median_s);
    write_maybe(w, "p95_s", q.p95_s);
    write_maybe(w, "longest_s", q.longest_s);
    write_maybe(w, "waiting", q.waiting);
    w.end_object();
  }
  w.end_array().field("followers_started", x.followers_started);
}

void write_deeds(JsonWriter& w, const Weekly& x) {
  w.key("acts").array();
  for (const WeeklyAct& a : x.acts) {
    w.object().field("verb", a.verb).field("who", a.who).field("done", a.done).field("failed", a.failed);
    w.field("other", a.other).end_object();
  }
  w.end_array().key("held_back").array();
  for (const WeeklyRefusal& r : x.held_back) {
    w.object().field("verb", r.verb).field("limit", r.limit).field("things", r.things).field("times", r.times).end_object();
  }
  w.end_array().key("people").array();
  for (const WeeklyWord& p : x.words) {
    w.object().field("at_utc", p.at_utc).field("who", p.who).field("verb", p.verb).field("on", p.on);
    w.field("reason", p.reason).field("came_of", p.came_of).end_object();
  }
  w.end_array().field("people_left_out", x.words_left_out).key("repeated").array();
  for (const WeeklyLemon& n : x.lemons) {
    w.object().field("node", n.node).field("incidents", n.incidents).field("incidents_28d", n.incidents_28d);
    w.field("gpu_h", n.gpu_h).field("causes", n.causes).field("now", n.now).end_object();
  }
  w.end_array();
}

}  // namespace

std::string weekly_markdown(const Weekly& w) {
  std::string out = fmt::format("# {}: {} to {} UTC\n\n", escape_markdown(w.cluster), render_utc(w.all.from).substr(0, 16),
                                render_utc(w.all.to).substr(0, 16));
  if (!w.simulation.empty()) out += "SIMULATED: " + escape_markdown(w.simulation) + "\n\n";
  for (const std::string& line : headline_of(w)) out += markdown_prose(line) + "\n";
  const auto advice = advice_of(w);
  if (!advice.empty()) out += "\nWhat cost most, and what to do about it:\n\n";
  for (std::size_t i = 0; i < advice.size(); ++i) {
    out +=
        fmt::format("{}. {} ({}): {} GPU-hours. {}\n", i + 1, escape_markdown(advice[i].words), escape_markdown(advice[i].cause),
                    render_gpu_hours(w.all.of_cause(advice[i].cause)), markdown_prose(advice[i].what_to_do));
  }
  out += markdown_section(classes_section(w));
  out += markdown_section(days_section(w));
  for (const Section& s : further_sections(w)) out += markdown_section(s);
  return out + markdown_definitions(definitions_of(w));
}

std::string weekly_json(const Weekly& x) {
  JsonWriter w;
  w.object()
      .field("apiVersion", "v1")
      .field("kind", "WeeklyReport")
      .field("cluster", x.cluster)
      .field("simulation", x.simulation);
  w.field("gpus", x.gpus).field("nodes", x.nodes).field("from_utc", render_utc(x.all.from)).field("to_utc", render_utc(x.all.to));
  w.field("asked_s", x.asked.seconds()).field("short", x.is_short()).field("record_from_utc", render_utc(x.record_from));
  write_maybe(w, "price_per_gpu_hour", x.price > 0 ? std::optional(x.price) : std::nullopt);
  w.field("currency", x.currency).field("price_assumed", x.price_assumed);
  w.key("headline").array();
  for (const std::string& line : headline_of(x)) w.value(line);
  w.end_array().key("advice").array();
  for (const Advice& a : advice_of(x)) {
    w.object().field("cause", a.cause).field("words", a.words).field("what_to_do", a.what_to_do).end_object();
  }
  w.end_array().key("all");
  write_piece(w, x.all, x.price);
  w.key("before");
  if (x.before)
    write_piece(w, *x.before, x.price);
  else
    w.null();
  w.key("pieces").array();
  for (const Piece& p : x.pieces) write_piece(w, p, x.price);
  w.end_array();
  write_incidents(w, x);
  w.key("reliability");
  write_reliability(w, x.reliability);
  w.key("reliability_before");
  if (x.reliability_before)
    write_reliability(w, *x.reliability_before);
  else
    w.null();
  write_work(w, x);
  write_deeds(w, x);
  w.key("chain").object().field("ok", x.chain.ok).field("events", x.chain.events).field("digest", x.chain.digest);
  w.field("journal", x.chain.journal).field("verified_utc", x.chain.verified_utc).field("what", x.chain.what).end_object();
  w.end_object();
  return w.take();
}

}  // namespace muster::report
