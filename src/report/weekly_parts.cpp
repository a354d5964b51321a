#include "report/weekly_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr double kHour_us = 3.6e9;
constexpr std::size_t kIncidentsShown = 60, kCausesShown = 15;

double hours_of(std::int64_t us) { return static_cast<double>(us) / kHour_us; }
Cell span_cell(std::optional<double> s) {
  return Cell(!s ? "-" : *s < 1 ? fmt::format("{:.1f}s", *s) : render_span(from_seconds(*s)));
}
Cell number_cell(std::optional<double> v, int decimals) { return Cell(v ? render_decimal(*v, decimals) : "-"); }
Cell money_cell(const Weekly& w, double h) { return Cell(h == 0 ? "-" : render_decimal(h * w.price, 0)); }

// "2026-11-15 02:03".
std::string minute_of(const std::string& utc) {
  if (utc.size() < 16) return utc;
  return utc.substr(0, 10) + " " + utc.substr(11, 5);
}

std::optional<double> share_of(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

Section causes_section(const Weekly& w) {
  Section s{"causes", "What the lost hours were lost to", {}, "No hour was lost."};
  s.table.columns = {{"CAUSE"}, {"WHAT IT IS"}, {"GPU-HOURS", true}, {"OF INSTALLED", true}};
  if (w.price > 0) s.table.columns.push_back({w.currency, true});
  if (w.before) s.table.columns.push_back({"BEFORE", true});
  s.table.columns.push_back({"ATTEMPTS LOST", true});
  std::size_t left_out = 0;
  for (const CauseShare& c : w.all.causes) {
    if (c.gpu_us <= 0) continue;
    if (s.table.rows.size() == kCausesShown) {
      ++left_out;
      continue;
    }
    std::vector<Cell> row = {Cell(c.name), Cell(std::string(cause_words(c.name))), hours_cell(hours_of(c.gpu_us)),
                             Cell(render_percent(share_of(c.gpu_us, w.all.installed_us)))};
    if (w.price > 0) row.push_back(money_cell(w, hours_of(c.gpu_us)));
    if (w.before) row.push_back(hours_cell(hours_of(w.before->of_cause(c.name))));
    row.push_back(count_cell(c.losses));
    s.table.rows.push_back(std::move(row));
  }
  if (left_out > 0) s.notes.push_back(fmt::format("{} more causes are in the JSON (-o json).", left_out));
  return s;
}

Section incidents_section(const Weekly& w) {
  Section s{"incidents", "Incidents", {}, "No incident was open in this time."};
  s.table.columns = {{"OPENED"},        {"ID", true},       {"WHERE"},         {"CAUSE"},          {"DETECT", true},
                     {"RECOVER", true}, {"ATTEMPTS", true}, {"RESTART", true}, {"GPU-HOURS", true}};
  if (w.price > 0) s.table.columns.push_back({w.currency, true});
  s.table.columns.push_back({"OUTCOME"});
  s.table.columns.push_back({"WHO DID WHAT"});
  bool carried = false;
  for (const WeeklyIncident& i : w.incidents) {
    if (s.table.rows.size() == kIncidentsShown) break;
    carried = carried || i.carried;
    std::vector<Cell> row = {Cell(minute_of(i.opened_utc) + (i.carried ? " *" : "")),
                             Cell(std::to_string(i.id)),
                             Cell(i.where),
                             Cell(i.words),
                             span_cell(i.detect_s),
                             span_cell(i.recover_s),
                             count_cell(i.attempts_lost),
                             span_cell(i.restart_s),
                             hours_cell(i.gpu_h)};
    if (w.price > 0) row.push_back(money_cell(w, i.gpu_h));
    row.push_back(Cell(i.outcome));
    row.push_back(Cell(i.done_by));
    s.table.rows.push_back(std::move(row));
  }
  const std::uint64_t more = w.incidents.size() - s.table.rows.size() + w.incidents_left_out;
  if (more > 0)
    s.notes.push_back(
        fmt::format("{} more cost less than these; the JSON (-o json) has them.", render_count(static_cast<std::int64_t>(more))));
  if (carried) s.notes.push_back("* open already when this time began; not counted as a failure of it.");
  s.notes.push_back("`muster incident ID` is the whole report of one, to send on.");
  return s;
}

Section reliability_section(const Weekly& w) {
  Section s{"reliability", "Reliability", {}, ""};
  const Reliability& r = w.reliability;
  const Reliability* b = w.reliability_before ? &*w.reliability_before : nullptr;
  s.table.columns = {{"FIGURE"}, {"NOW", true}};
  if (b != nullptr) s.table.columns.push_back({"BEFORE", true});
  const auto add = [&](const char* name, Cell now, Cell before) {
    std::vector<Cell> row = {Cell(name), std::move(now)};
    if (b != nullptr) row.push_back(std::move(before));
    s.table.rows.push_back(std::move(row));
  };
  const Reliability none;
  const Reliability& o = b != nullptr ? *b : none;
  add("failures (incidents that opened)", count_cell(r.incidents), count_cell(o.incidents));
  add("of those, interruptions of jobs", count_cell(r.interruptions), count_cell(o.interruptions));
  add("failures per 1,000 GPU-days", number_cell(r.per_1000_gpu_days, 2), number_cell(o.per_1000_gpu_days, 2));
  add("GPU-days between failures", number_cell(r.gpu_days_between, 0), number_cell(o.gpu_days_between, 0));
  add("mean time to detect", span_cell(r.detect_s), span_cell(o.detect_s));
  add("mean time to recover", span_cell(r.recover_s), span_cell(o.recover_s));
  add("mean time until work ran again", span_cell(r.restart_s), span_cell(o.restart_s));
  const auto ended = [](const Reliability& x, std::string_view how) {
    const auto it = std::find_if(x.ends.begin(), x.ends.end(), [&](const auto& e) { return e.first == how; });
    return count_cell(it == x.ends.end() ? 0 : it->second);
  };
  add("attempts of jobs that a node ended", ended(r, "node_failed"), ended(o, "node_failed"));
  add("attempts that ended by their own error", ended(r, "app_failed"), ended(o, "app_failed"));
  return s;
}

Section failures_section(const Weekly& w) {
  Section s{"failures", "Failures by cause", {}, "Nothing failed."};
  const bool compared = w.reliability_before.has_value();
  s.table.columns = {{"CAUSE"}, {"WHAT IT IS"}, {"NOW", true}};
  if (compared) s.table.columns.push_back({"BEFORE", true});
  std::map<std::string, std::uint64_t> before;
  if (compared) before = {w.reliability_before->causes.begin(), w.reliability_before->causes.end()};
  auto all = w.reliability.causes;
  for (const auto& [cause, n] : before) {
    if (std::none_of(all.begin(), all.end(), [&](const auto& x) { return x.first == cause; })) all.emplace_back(cause, 0);
  }
  for (const auto& [cause, n] : all) {
    std::vector<Cell> row = {Cell(cause), Cell(std::string(cause_words(cause))), count_cell(n)};
    if (compared) row.push_back(count_cell(before.count(cause) != 0 ? before.at(cause) : 0));
    s.table.rows.push_back(std::move(row));
  }
  return s;
}

Section jobs_section(const Weekly& w) {
  Section s{"jobs", "Jobs that lost most", {}, "No job lost anything."};
  s.table.columns = {{"JOB"}, {"NAME"}, {"USER"}, {"ACCOUNT"}, {"LOST", true}, {"OF GPU-HOURS", true}};
  if (w.price > 0) s.table.columns.push_back({w.currency, true});
  s.table.columns.push_back({"WHY (GPU-HOURS)"});
  for (const WeeklyJob& j : w.jobs) {
    std::vector<Cell> row = {Cell(j.id),         Cell(j.name), Cell(j.user), Cell(j.account), hours_cell(j.waste_gpu_h),
                             hours_cell(j.gpu_h)};
    if (w.price > 0) row.push_back(money_cell(w, j.waste_gpu_h));
    row.push_back(Cell(j.why));
    s.table.rows.push_back(std::move(row));
  }
  if (!w.jobs.empty()) s.notes.push_back("`muster goodput --job ID` and `muster explain job ID` say more of one.");
  return s;
}

Section queues_section(const Weekly& w) {
  Section s{"queues", "How long jobs waited", {}, "No job started, and none waits."};
  s.table.columns = {{"QUEUE"}, {"STARTED", true}, {"MEDIAN", true}, {"95 %", true}, {"LONGEST", true}, {"WAIT NOW", true}};
  for (const WeeklyQueue& q : w.queues) {
    s.table.rows.push_back({Cell(q.name), count_cell(q.starts), span_cell(q.median_s), span_cell(q.p95_s), span_cell(q.longest_s),
                            q.waiting ? count_cell(*q.waiting) : Cell("-")});
  }
  if (w.followers_started > 0)
    s.notes.push_back(fmt::format("{} jobs more had to wait for others to complete and are not counted.",
                                  render_count(static_cast<std::int64_t>(w.followers_started))));
  return s;
}

Section acts_section(const Weekly& w) {
  Section s{"acts", "What was done", {}, "Nothing was done."};
  s.table.columns = {{"ACT"},         {"BY ITSELF", true}, {"APPROVED", true}, {"BY PEOPLE", true}, {"IN UPGRADES", true},
                     {"FAILED", true}};
  struct Sum {
    std::array<std::uint64_t, 4> who{};
    std::uint64_t failed = 0;
  };
  std::map<std::string, Sum> rows;
  for (const WeeklyAct& a : w.acts) {
    Sum& r = rows[a.verb];
    r.who[a.who == "muster" ? 0 : a.who == "approved" ? 1 : a.who == "person" ? 2 : 3] += a.done;
    r.failed += a.failed + a.other;
  }
  for (const auto& [verb, r] : rows) {
    s.table.rows.push_back({Cell(verb), count_cell(r.who[0]), count_cell(r.who[1]), count_cell(r.who[2]), count_cell(r.who[3]),
                            count_cell(r.failed)});
  }
  if (!rows.empty()) s.notes.push_back("Failed are also those that the engine refused or never got; a failed test is one.");
  return s;
}

Section held_back_section(const Weekly& w) {
  Section s{"held_back", "What the guard refused, and why", {}, "The guard refused nothing."};
  s.table.columns = {{"ACT"}, {"LIMIT"}, {"THINGS", true}, {"TIMES ASKED", true}};
  for (const WeeklyRefusal& r : w.held_back)
    s.table.rows.push_back({Cell(r.verb), Cell(r.limit), count_cell(r.things), count_cell(r.times)});
  if (!w.held_back.empty()) s.notes.push_back("N stands for any number: limits that differ in numbers only are in one row.");
  return s;
}

Section people_section(const Weekly& w) {
  Section s{"people", "What people asked for, approved and rejected", {}, "Nobody asked for anything."};
  s.table.columns = {{"TIME"}, {"WHO"}, {"WHAT"}, {"ON"}, {"REASON"}, {"CAME OF IT"}};
  for (const WeeklyWord& x : w.words) {
    s.table.rows.push_back({Cell(minute_of(x.at_utc)), Cell(x.who.empty() ? "-" : x.who), Cell(x.verb), Cell(x.on),
                            Cell(x.reason), Cell(x.came_of)});
  }
  if (w.words_left_out > 0) s.notes.push_back(fmt::format("{} older ones are left out.", w.words_left_out));
  s.notes.push_back("Jobs that people submitted or cancelled are not listed.");
  return s;
}

Section lemons_section(const Weekly& w) {
  Section s{"repeated", "Nodes with repeated trouble", {}, "No node failed again and again."};
  s.table.columns = {{"NODE"}, {"INCIDENTS", true}, {"IN 28 DAYS", true}, {"GPU-HOURS", true}, {"CAUSES"}, {"NOW"}};
  for (const WeeklyLemon& n : w.lemons) {
    s.table.rows.push_back({Cell(n.node), count_cell(n.incidents), count_cell(n.incidents_28d), hours_cell(n.gpu_h),
                            Cell(n.causes), Cell(n.now.empty() ? "-" : n.now)});
  }
  if (!w.lemons.empty()) s.notes.push_back("`muster explain NODE` says what is known of one.");
  return s;
}

Section record_section(const Weekly& w) {
  Section s{"record", "The record", {}, ""};
  const WeeklyChain& c = w.chain;
  s.nothing =
      c.ok ? fmt::format("Each of the {} events was read and its hash checked at {}: the record is whole. Journal {}, digest {}.",
                         render_count(static_cast<std::int64_t>(c.events)), c.verified_utc, c.journal, c.digest)
           : fmt::format("THE RECORD IS NOT WHOLE: {}. Nothing in this report is to be relied upon before that is explained.",
                         c.what.empty() ? "its chain could not be checked" : c.what);
  return s;
}

}  // namespace

bool of_days(const Weekly& w) { return w.pieces.empty() || (w.pieces.back().to - w.pieces.back().from).ns >= days(1).ns; }

std::string piece_label(const Weekly& w, const Piece& p) {
  const std::string utc = render_utc(p.from);
  const std::string day = day_label(p.from);
  const auto same_day = [&](const Piece& o) { return render_utc(o.from).substr(0, 10) == utc.substr(0, 10); };
  const bool alone = std::count_if(w.pieces.begin(), w.pieces.end(), same_day) < 2;
  return alone && (w.pieces.size() < 2 || of_days(w)) ? day : fmt::format("{} {}", day, utc.substr(11, 5));
}

std::string piece_note(const Weekly& w) {
  const Piece& last = w.pieces.back();
  std::string out =
      fmt::format("Each bar is {}, the last up to {} UTC.", render_span(last.to - last.from), render_utc(last.to).substr(11, 5));
  const Piece& first = w.pieces.front();
  if ((last.to - last.from).ns - (first.to - first.from).ns > seconds(1).ns)
    out += fmt::format(" The first is {} only.", render_span(first.to - first.from));
  return out;
}

Section classes_section(const Weekly& w) {
  Section s{"classes", "From installed to useful", {}, ""};
  s.table.columns = {{"CLASS"}, {"GPU-HOURS", true}, {"SHARE", true}};
  if (w.price > 0) s.table.columns.push_back({w.currency, true});
  if (w.before) s.table.columns.push_back({"SHARE BEFORE", true});
  const auto add = [&](std::string_view name, std::int64_t now, std::optional<double> before) {
    std::vector<Cell> row = {Cell(std::string(name)), hours_cell(hours_of(now)),
                             Cell(render_percent(share_of(now, w.all.installed_us)))};
    if (w.price > 0) row.push_back(money_cell(w, hours_of(now)));
    if (w.before) row.push_back(Cell(render_percent(before)));
    s.table.rows.push_back(std::move(row));
  };
  add("installed", w.all.installed_us, w.before ? std::optional(1.0) : std::nullopt);
  for (const Waste c : kWasteDown)
    add(names(Waste{})[static_cast<std::size_t>(c)], w.all.of(c),
        w.before ? share_of(w.before->of(c), w.before->installed_us) : std::nullopt);
  s.notes.push_back(fmt::format("Goodput, of what was neither idle nor unsettled: {}{}.", render_percent(w.all.goodput()),
                                w.before ? fmt::format(" ({} before)", render_percent(w.before->goodput())) : ""));
  return s;
}

Section days_section(const Weekly& w) {
  Section s{"days", of_days(w) ? "Day by day" : "Hour by hour", {}, ""};
  s.table.columns = {{"FROM"},       {"INSTALLED", true}, {"USEFUL", true}, {"GOODPUT", true},
                     {"IDLE", true}, {"LOST", true},      {"MOST OF IT TO"}};
  for (const Piece& p : w.pieces) {
    const auto most = std::find_if(p.causes.begin(), p.causes.end(), [](const auto& c) { return c.name != "idle"; });
    s.table.rows.push_back(
        {Cell(minute_of(render_utc(p.from))), hours_cell(hours_of(p.installed_us)), Cell(render_percent(p.useful_share())),
         Cell(render_percent(p.goodput())), Cell(render_percent(share_of(p.of(Waste::idle), p.installed_us))),
         hours_cell(hours_of(p.lost_us())),
         Cell(most == p.causes.end() || most->gpu_us <= 0 ? "-"
                                                          : fmt::format("{} ({})", most->name, render_gpu_hours(most->gpu_us)))});
  }
  s.notes.push_back(piece_note(w));
  return s;
}

std::vector<Section> further_sections(const Weekly& w) {
  return {causes_section(w), incidents_section(w), reliability_section(w), failures_section(w),
          jobs_section(w),   queues_section(w),    acts_section(w),        held_back_section(w),
          people_section(w), lemons_section(w),    record_section(w)};
}

}  // namespace muster::report
