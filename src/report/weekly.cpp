#include "report/weekly.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "decide/words.h"
#include "model/job.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr double kHour_us = 3.6e9;
constexpr double kDay_us = 24 * kHour_us;
constexpr std::size_t kJobsTold = 15, kWordsTold = 60;
constexpr std::int64_t kRounding_us = 1000;  // what doubles of the largest clusters may be off by

std::int64_t us_of(std::optional<double> gpu_h) { return std::llround(gpu_h.value_or(0) * kHour_us); }

Result<Piece> piece_of(const Value& goodput) {
  Piece p;
  const auto from = time_of(goodput, "from_utc"), to = time_of(goodput, "to_utc");
  const Value* classes = goodput.find("classes");
  if (!from || !to || classes == nullptr) return fail(Code::internal, "an answer about goodput has no times or no classes");
  p.from = *from;
  p.to = *to;
  p.installed_us = us_of(number_of(goodput, "installed_gpu_h"));
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < p.classes.size(); ++i) sum += p.classes[i] = us_of(number_of(*classes, names(Waste{})[i]));
  if (std::abs(sum - p.installed_us) > kRounding_us)
    return fail(Code::internal, fmt::format("classes of {} GPU-us do not sum to {} installed", sum, p.installed_us));
  p.classes[static_cast<std::size_t>(Waste::idle)] += p.installed_us - sum;
  for (const Value& row : list_of(goodput, "rows")) {
    CauseShare c{text_of(row, "name"), us_of(number_of(row, "gpu_h")), 0};
    c.losses = static_cast<std::uint64_t>(std::max(0.0, number_of(row, "losses").value_or(0)));
    if (const Value* own = row.find("classes"))
      c.gpu_us -= us_of(number_of(*own, "useful")) + us_of(number_of(*own, "unsettled"));
    if (c.gpu_us > 0 || c.losses > 0) p.causes.push_back(std::move(c));
  }
  return p;
}

void sort_causes(Piece& p) {
  std::stable_sort(p.causes.begin(), p.causes.end(), [](const auto& a, const auto& b) { return a.gpu_us > b.gpu_us; });
}

// What is booked in pieces sums to the whole even where the cluster was declared anew between them.
Piece sum_of(const std::vector<Piece>& pieces) {
  Piece all = pieces.front();
  all.to = pieces.back().to;
  for (std::size_t k = 1; k < pieces.size(); ++k) {
    all.installed_us += pieces[k].installed_us;
    for (std::size_t i = 0; i < all.classes.size(); ++i) all.classes[i] += pieces[k].classes[i];
    for (const CauseShare& c : pieces[k].causes) {
      const auto it = std::find_if(all.causes.begin(), all.causes.end(), [&](const auto& x) { return x.name == c.name; });
      if (it == all.causes.end()) {
        all.causes.push_back(c);
      } else {
        it->gpu_us += c.gpu_us;
        it->losses += c.losses;
      }
    }
  }
  sort_causes(all);
  return all;
}

std::string where_of(const Value& i) {
  const std::string node = text_of(i, "node");
  const double slot = number_of(i, "gpu_slot").value_or(-1);
  if (node.empty()) return "the site";
  return slot >= 0 ? fmt::format("{}, GPU {:.0f}", node, slot) : node;
}

std::string list_words(const Value& list_holder, std::string_view key) {
  std::vector<std::string> out;
  for (const Value& v : list_of(list_holder, key)) {
    if (v.string() != nullptr) out.push_back(*v.string());
  }
  return join(out, ", ");
}

std::string done_by(const Value& i) {
  std::vector<std::string> acts;
  for (const Value& a : list_of(i, "acts")) {
    const double failed = number_of(a, "failed").value_or(0);
    acts.push_back(text_of(a, "verb") + (failed > 0 ? fmt::format(" ({:.0f} failed)", failed) : ""));
  }
  const std::string people = list_words(i, "people");
  if (acts.empty()) return number_of(i, "held_back").value_or(0) > 0 ? "nothing: held back by a limit" : "nothing was done";
  return fmt::format("Muster{}: {}", people.empty() ? "" : " and " + people, join(acts, ", "));
}

WeeklyIncident incident_of(const Value& v) {
  WeeklyIncident i;
  i.id = static_cast<std::uint64_t>(number_of(v, "id").value_or(0));
  i.where = where_of(v);
  i.cause = text_of(v, "cause");
  i.words = text_of(v, "words");
  i.opened_utc = text_of(v, "opened_utc");
  i.closed_utc = text_of(v, "closed_utc");
  i.carried = text_of(v, "carried") == "true";
  i.detect_s = number_of(v, "detect_s").value_or(0);
  i.recover_s = number_of(v, "recover_s");
  i.restart_s = number_of(v, "restart_s");
  i.attempts_lost = static_cast<std::uint64_t>(number_of(v, "attempts_lost").value_or(0));
  i.gpu_h = number_of(v, "gpu_h").value_or(0);
  i.outcome = i.closed_utc.empty() ? fmt::format("open ({})", text_of(v, "stage")) : text_of(v, "resolution");
  i.done_by = done_by(v);
  return i;
}

std::optional<double> mean(const std::vector<double>& x) {
  if (x.empty()) return std::nullopt;
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

Reliability reliability_of(const Value& story, std::int64_t installed_us) {
  Reliability r;
  std::vector<double> detect, recover, restart;
  std::map<std::string, std::uint64_t> causes;
  for (const Value& i : list_of(story, "incidents")) {
    if (text_of(i, "carried") == "true") continue;
    ++r.incidents;
    r.interruptions += number_of(i, "attempts_lost").value_or(0) > 0 ? 1 : 0;
    ++causes[text_of(i, "cause")];
    detect.push_back(number_of(i, "detect_s").value_or(0));
    if (const auto s = number_of(i, "recover_s")) recover.push_back(*s);
    if (const auto s = number_of(i, "restart_s")) restart.push_back(*s);
  }
  r.incidents += static_cast<std::uint64_t>(number_of(story, "incidents_left_out").value_or(0));
  r.detect_s = mean(detect);
  r.recover_s = mean(recover);
  r.restart_s = mean(restart);
  const double gpu_days = static_cast<double>(installed_us) / kDay_us;
  if (r.incidents > 0) r.gpu_days_between = gpu_days / static_cast<double>(r.incidents);
  if (gpu_days > 0) r.per_1000_gpu_days = 1000 * static_cast<double>(r.incidents) / gpu_days;
  r.causes.assign(causes.begin(), causes.end());
  std::stable_sort(r.causes.begin(), r.causes.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (const Value* ends = story.find("attempts"); ends != nullptr && ends->object() != nullptr) {
    for (const auto& [end, n] : *ends->object()) {
      double d = 0;
      if (n.number(d) && d > 0) r.ends.emplace_back(end, static_cast<std::uint64_t>(d));
    }
  }
  return r;
}

// The classes of a job's waste, the largest first: "lost_restart 12.0, slow 3.1".
std::string why_of(const Value& job) {
  std::vector<std::pair<double, std::string_view>> parts;
  const Value* classes = job.find("classes");
  for (std::size_t i = 0; classes != nullptr && i < kWasteClasses; ++i) {
    const auto w = static_cast<Waste>(i);
    const double h = number_of(*classes, names(Waste{})[i]).value_or(0);
    if (h > 0 && w != Waste::useful && w != Waste::unsettled) parts.emplace_back(h, names(Waste{})[i]);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> out;
  for (const auto& [h, name] : parts) out.push_back(fmt::format("{} {}", name, render_decimal(h, 1)));
  return join(out, ", ");
}

void take_jobs(Weekly& w, const Value& goodput) {
  for (const Value& j : list_of(goodput, "jobs")) {
    if (w.jobs.size() == kJobsTold || number_of(j, "waste_gpu_h").value_or(0) <= 0) break;
    w.jobs.push_back({text_of(j, "id"), text_of(j, "name"), text_of(j, "user"), text_of(j, "account"),
                      number_of(j, "gpu_h").value_or(0), number_of(j, "waste_gpu_h").value_or(0), why_of(j)});
  }
}

std::uint64_t count_of(const Value& v, std::string_view key) {
  return static_cast<std::uint64_t>(std::max(0.0, number_of(v, key).value_or(0)));
}

void take_story(Weekly& w, const Value& story) {
  w.gpus = count_of(story, "gpus");
  w.nodes = count_of(story, "nodes");
  for (const Value& i : list_of(story, "incidents")) w.incidents.push_back(incident_of(i));
  w.incidents_left_out = count_of(story, "incidents_left_out");
  for (const Value& q : list_of(story, "queues")) {
    WeeklyQueue x{text_of(q, "queue"),   count_of(q, "starts"),     number_of(q, "median_s"),
                  number_of(q, "p95_s"), number_of(q, "longest_s"), {}};
    if (number_of(q, "waiting")) x.waiting = count_of(q, "waiting");
    w.queues.push_back(std::move(x));
  }
  w.followers_started = count_of(story, "followers_started");
  for (const Value& a : list_of(story, "acts"))
    w.acts.push_back({text_of(a, "verb"), text_of(a, "who"), count_of(a, "done"), count_of(a, "failed"), count_of(a, "other")});
  for (const Value& r : list_of(story, "held_back"))
    w.held_back.push_back({text_of(r, "verb"), text_of(r, "limit"), count_of(r, "things"), count_of(r, "times")});
  for (const Value& n : list_of(story, "repeated")) {
    std::vector<std::string> causes;
    for (const Value& c : list_of(n, "causes")) {
      const double times = number_of(c, "times").value_or(1);
      causes.push_back(text_of(c, "cause") + (times > 1 ? fmt::format(" x{:.0f}", times) : ""));
    }
    w.lemons.push_back({text_of(n, "node"), join(causes, ", "), text_of(n, "now"), count_of(n, "incidents"),
                        count_of(n, "incidents_28d"), number_of(n, "gpu_h").value_or(0)});
  }
}

void take_audit(Weekly& w, const Value& audit) {
  if (const Value* chain = audit.find("chain")) {
    w.chain.ok = text_of(*chain, "ok") == "true";
    w.chain.events = count_of(*chain, "events");
    w.chain.digest = text_of(*chain, "digest");
    w.chain.journal = text_of(*chain, "journal");
    w.chain.verified_utc = text_of(*chain, "verified_utc");
    w.chain.what = text_of(*chain, "what");
  }
  for (const Value& i : list_of(audit, "items")) {  // the newest first
    const auto at = time_of(i, "at_utc");
    const std::string kind = text_of(i, "kind");
    const bool told = kind == "command" || kind == "approval" || kind == "policy" || kind == "engine";
    // Jobs are submitted and cancelled all day.
    const bool work = text_of(i, "verb") == "submit" || text_of(i, "verb") == "cancel";
    if (!told || work || !at || *at < w.all.from || *at >= w.all.to) continue;
    if (w.words.size() == kWordsTold) {
      ++w.words_left_out;
      continue;
    }
    w.words.push_back({text_of(i, "at_utc"), text_of(i, "who"), text_of(i, "verb"), text_of(i, "on"), text_of(i, "reason"),
                       text_of(i, "came_of")});
  }
}

struct Known {
  std::string_view cause, words, what_to_do;
};
// Causes that are no finding.
constexpr std::array kKnown = {
    Known{"idle", "nodes in service without a job",
          "see `muster get queues` and `muster explain queue`: work that does not fit, quotas that bind, or no work at all"},
    Known{"starting", "jobs that load and initialise",
          "keep images and data near the nodes, restart less often; `muster explain start JOB` shows where a start spends its "
          "time"},
    Known{"checkpoint", "steps that stop for checkpoints",
          "write checkpoints in the background, or as seldom as the failures allow; let Muster pace them"},
    Known{"slow", "steps slower than they should be",
          "`muster get findings` names slow GPUs and links; `muster diagnose job ID` says what bounds a job"},
    Known{"app_failed", "programs that failed by themselves",
          "tell the owners of the jobs named below; steps since the last "
          "checkpoint were lost"},
    Known{"node_failed", "nodes lost under a job, with nothing found on them",
          "look at what the engine said of them (`muster explain job ID`), and that every node has its agent"},
    Known{"requeued", "jobs stopped to run again",
          "see who moves or preempts them (`muster why job ID`); checkpoint before a move"},
    Known{"cancelled", "jobs that were cancelled", "ask their owners to write a checkpoint first"},
    Known{"timed_out", "jobs that reached their time limit", "raise the limit, or write a checkpoint before it"},
    Known{"completed", "steps after the last checkpoint of jobs that ended well", "none: nothing is to be done"},
    Known{"upgrade", "a rolling upgrade", "none where it was planned; `muster upgrade status` says how far it is"},
    Known{"held_by_person", "nodes that people hold",
          "ask who drained them whether they are still needed: `muster get nodes "
          "--only drained`"},
    Known{"held_by_engine", "nodes that the engine drained", "`muster explain NODE` says why; Muster may take them over"},
    Known{"kept_by_engine", "nodes that the engine keeps back on purpose", "see the engine's reservations and power saving"},
    Known{"held_by_muster", "nodes that Muster holds with no incident open", "`muster explain NODE` says what it waits for"},
    Known{"node_down", "nodes down for a reason that nobody found", "read their console; see that every node has its agent"},
    Known{"booting", "nodes that boot", "see why they boot so often, or so slowly"},
    Known{"unknown", "causes that are not known", "`muster goodput --by cause` has what is known"},
    Known{"work", "work", "none"},
};

std::optional<FindingKind> finding_named(std::string_view name) {
  const auto all = names(FindingKind{});
  const auto it = std::find(all.begin(), all.end(), name);
  return it == all.end() ? std::nullopt : std::optional(static_cast<FindingKind>(it - all.begin()));
}

const Known* known(std::string_view cause) {
  const auto it = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return k.cause == cause; });
  return it == kKnown.end() ? nullptr : &*it;
}

std::string points(double share, double before) {
  const double d = 100 * (share - before);
  if (std::abs(d) < 0.05) return "as in the stretch before";
  return fmt::format("{:.1f} points {} than in the stretch before", std::abs(d), d > 0 ? "more" : "less");
}

}  // namespace

std::optional<double> Piece::useful_share() const {
  if (installed_us <= 0) return std::nullopt;
  return static_cast<double>(of(Waste::useful)) / static_cast<double>(installed_us);
}

std::optional<double> Piece::goodput() const {
  const std::int64_t settled = installed_us - of(Waste::idle) - of(Waste::unsettled);
  if (settled <= 0) return std::nullopt;
  return static_cast<double>(of(Waste::useful)) / static_cast<double>(settled);
}

std::int64_t Piece::of_cause(std::string_view name) const {
  const auto it = std::find_if(causes.begin(), causes.end(), [&](const CauseShare& c) { return c.name == name; });
  return it == causes.end() ? 0 : it->gpu_us;
}

Result<Weekly> weekly_of(const WeeklyAnswers& a) {
  Weekly w;
  if (a.pieces.empty()) return fail(Code::internal, "no piece of the stretch was asked for");
  for (const Value& v : a.pieces) {
    auto piece = piece_of(v);
    if (!piece) return tl::unexpected(piece.error());
    sort_causes(*piece);
    w.pieces.push_back(std::move(*piece));
  }
  w.all = sum_of(w.pieces);
  if (a.before) {
    auto before = piece_of(*a.before);
    if (!before) return tl::unexpected(before.error());
    sort_causes(*before);
    w.before = std::move(*before);
  }
  w.cluster = text_of(a.goodput, "cluster");
  w.simulation = a.simulation;
  w.price = a.price > 0 ? a.price : number_of(a.goodput, "price").value_or(0);
  if (const std::string currency = text_of(a.goodput, "currency"); !currency.empty()) w.currency = currency;
  if (a.price <= 0) w.price_assumed = text_of(a.goodput, "price_assumed");
  w.asked = a.asked;
  w.record_from = a.record_from;
  take_jobs(w, a.goodput);
  take_story(w, a.story);
  w.reliability = reliability_of(a.story, w.all.installed_us);
  if (a.story_before && w.before) w.reliability_before = reliability_of(*a.story_before, w.before->installed_us);
  take_audit(w, a.audit);
  return w;
}

std::string_view cause_words(std::string_view cause) {
  if (const auto kind = finding_named(cause)) return decide::say(*kind);
  const Known* k = known(cause);
  return k == nullptr ? cause : k->words;
}

std::vector<Advice> advice_of(const Weekly& w, std::size_t most) {
  std::vector<Advice> out;
  for (const CauseShare& c : w.all.causes) {
    if (out.size() == most) break;
    if (c.name == "idle" || c.gpu_us <= 0) continue;
    const auto kind = finding_named(c.name);
    const Known* k = known(c.name);
    out.push_back({c.name, std::string(cause_words(c.name)),
                   std::string(kind           ? suggestion(*kind)
                               : k != nullptr ? k->what_to_do
                                              : std::string_view("look at it with `muster goodput --by cause`"))});
  }
  return out;
}

std::vector<std::string> headline_of(const Weekly& w) {
  const auto hours = [](std::int64_t us) { return render_decimal(static_cast<double>(us) / kHour_us, 0); };
  const auto share = w.all.useful_share();
  std::vector<std::string> out;
  std::string first = fmt::format("{} of {} GPU-hours were useful", render_percent(share), hours(w.all.installed_us));
  if (w.before && share && w.before->useful_share()) first += ", " + points(*share, *w.before->useful_share());
  out.push_back(first + ".");
  std::string lost = fmt::format("{} GPU-hours were lost", hours(w.all.lost_us()));
  if (w.price > 0) lost += fmt::format(" ({})", money_of(w, static_cast<double>(w.all.lost_us()) / kHour_us));
  if (w.before) lost += fmt::format("; {} in the stretch before", hours(w.before->lost_us()));
  lost += fmt::format(". {} had no work.", hours(w.all.of(Waste::idle)));
  out.push_back(std::move(lost));
  if (w.is_short())
    out.push_back(fmt::format("The record begins at {}: this is about {} and not about the {} that were asked for.",
                              render_utc(w.record_from), render_span(w.all.to - w.all.from), render_span(w.asked)));
  else if (!w.before)
    out.push_back("The record does not reach back far enough to compare with the stretch before.");
  return out;
}

std::string money_of(const Weekly& w, double gpu_h) { return render_money(gpu_h * w.price, w.currency); }

std::vector<std::pair<std::string, std::string>> definitions_of(const Weekly& w) {
  std::vector<std::pair<std::string, std::string>> out = {
      {"GPU-hours", "from the journal's books, exact to the GPU-millisecond: the classes sum to what was installed"},
      {"useful",
       "steps whose result a checkpoint holds, or that ended with their job; a step counts when it is settled, which may be "
       "in the stretch after the one it was computed in"},
      {"useful share", "useful / installed"},
      {"goodput", "useful / (installed - idle - unsettled)"},
      {"lost", "installed less useful, idle and unsettled: starting, checkpoint, slow, lost_restart, drained, down"},
      {"unsettled",
       "of jobs that run, since their last checkpoint: useful or lost, not yet known. Below 0 where more was settled "
       "than came"},
      {"lost_restart", "steps after the last checkpoint, lost with their attempt"},
      {"cause", "what an amount is put down to: the incident on the node, by its final name, or how the attempt ended"},
      {"an incident's GPU-hours",
       "steps lost and starts in vain of attempts that it ended, what gangs with its node were slower, and GPUs of its node out "
       "of service that no job had; of the whole incident, also what is outside of the stretch"},
      {"time to detect", "from the first sign that any record has of it to the incident"},
      {"time to recover",
       "from the first sign to the end of the incident: tested and back in service, or with nothing left to do"},
      {"time to restart", "from the end of the attempt until the job ran again; the longest of an incident"},
      {"failures",
       "incidents that opened in the stretch, whatever they cost; interruptions are those that ended an attempt of a job"},
      {"GPU-days between failures", "installed GPU-days / failures; the rate is failures per 1,000 installed GPU-days"},
      {"waiting time",
       "from submission to the first start; of jobs that wait for no other. Median and 95th percentile are of jobs, by "
       "nearest rank"},
      {"held back",
       "orders that a limit of the guard refused: how many things they were about, and how often they were asked for"},
      {"repeated trouble", "nodes with two incidents in the stretch, or with one and three within 28 days"},
  };
  std::string money = "not told: the policy names no gpu_hour_price; --price gives one";
  if (w.price > 0) money = fmt::format("GPU-hours at {} {} each", render_decimal(w.price, 2), w.currency);
  if (w.price > 0 && !w.price_assumed.empty()) money += "; assumed: " + w.price_assumed;
  out.emplace_back("money", std::move(money));
  out.emplace_back("times", "UTC; each day ends at the hour at which the report ends");
  return out;
}

}  // namespace muster::report
