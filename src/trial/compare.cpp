#include "trial/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "base/check.h"

namespace muster::trial {
namespace {

constexpr double kHourMs = 3.6e6;
constexpr double kWorthShare = 0.001;  // of the installed GPU-hours: a tenth of a point

double hours_of(const RunReport& r, Waste w) { return static_cast<double>(r.hours[w]) / kHourMs; }

// What keeps goodput from being 1.
double lost_hours(const RunReport& r) {
  const std::int64_t kept = r.hours[Waste::useful] + r.hours[Waste::idle] + r.hours[Waste::unsettled];
  return static_cast<double>(r.hours.installed_ms - kept) / kHourMs;
}

std::optional<double> when(bool known, double value) { return known ? std::optional(value) : std::nullopt; }

std::vector<Metric> safety_metrics() {
  using R = RunReport;
  return {
      {"goodput_pct", "goodput", "%", "points", 2, Wish::more, 0.1,
       [](const R& r) { return when(r.goodput >= 0, 100 * r.goodput); }},
      {"mttr_p50_min", "MTTR p50", "min", "min", 1, Wish::less, 1,
       [](const R& r) { return when(r.marks.on_nodes > 0, r.marks.outage_p50_s / 60); }},
      {"mttr_p99_h", "MTTR p99", "h", "h", 2, Wish::less, 0.25,
       [](const R& r) { return when(r.marks.on_nodes > 0, r.marks.outage_p99_s / 3600); }},
      {"recall_pct", "detection recall", "%", "points", 2, Wish::more, 0.1,
       [](const R& r) {
         const auto all = static_cast<double>(r.marks.detected + r.marks.missed);
         return when(all > 0, 100 * static_cast<double>(r.marks.detected) / all);
       }},
      {"left_open", "faults left open", "", "faults", 2, Wish::less, 1,
       [](const R& r) { return std::optional(static_cast<double>(r.marks.unfinished + r.marks.left_to_people)); }},
      {"false_drains_per_10k_node_days", "false drains", "per 10,000 node-days", "per 10,000 node-days", 2, Wish::less, 1,
       [](const R& r) {
         const double node_days = static_cast<double>(r.nodes) * r.days;
         return when(node_days > 0, 1e4 * static_cast<double>(r.marks.false_alarms) / node_days);
       }},
      {"largest_drain_nodes", "largest drain", "nodes", "nodes", 2, Wish::less, 1,
       [](const R& r) { return std::optional(static_cast<double>(r.marks.most_out)); }},
      {"violations", "violations", "", "violations", 2, Wish::less, 1,
       [](const R& r) { return when(r.rules_checked, static_cast<double>(r.violations.size())); }},
      {"jobs_lost", "jobs lost", "", "jobs", 2, Wish::less, 1,
       [](const R& r) { return std::optional(static_cast<double>(r.jobs_lost)); }},
  };
}

std::vector<Metric> work_metrics(double worth) {
  using R = RunReport;
  return {
      {"useful_gpu_hours", "useful GPU-hours", "", "GPU-hours", 1, Wish::more, worth,
       [](const R& r) { return std::optional(hours_of(r, Waste::useful)); }},
      {"queue_wait_h", "wait in the queue", "h", "h", 2, Wish::less, 0.25,
       [](const R& r) { return when(r.waited.jobs > 0, r.waited.mean_s / 3600); }},
      {"jobs_completed", "jobs completed", "", "jobs", 1, Wish::more, 1,
       [](const R& r) { return std::optional(static_cast<double>(r.totals.jobs_completed)); }},
      // Of what is installed: a larger cluster loses more hours, and need not be worse for it.
      {"lost_pct", "GPU-hours lost, of those installed", "%", "points", 2, Wish::less, 0.1,
       [](const R& r) {
         const auto installed = static_cast<double>(r.hours.installed_ms) / kHourMs;
         return when(installed > 0, 100 * lost_hours(r) / installed);
       }},
      {"occupied_pct", "GPUs with a job", "%", "points", 2, Wish::neither, 0.5,
       [](const R& r) { return std::optional(100 * r.allocated_share); }},
  };
}

std::vector<Metric> metrics_for(double installed_hours, double price, Judged judged) {
  std::vector<Metric> out = safety_metrics();
  const double worth = std::max(1.0, installed_hours * kWorthShare);
  if (judged == Judged::work) {
    std::vector<Metric> more = work_metrics(worth);
    out.insert(out.begin() + 1, std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  out.push_back({"gpu_hours_lost", "GPU-hours lost", "", "GPU-hours", 1, Wish::less, worth,
                 [](const RunReport& r) { return std::optional(lost_hours(r)); }});
  for (const Waste w :
       {Waste::starting, Waste::checkpoint, Waste::slow, Waste::lost_restart, Waste::drained, Waste::down, Waste::idle}) {
    const std::string name(names(w)[static_cast<std::size_t>(w)]);
    out.push_back({"gpu_hours_" + name, (w == Waste::idle ? "  beside them " : "  of them ") + name, "", "GPU-hours", 1,
                   Wish::neither, worth, [w](const RunReport& r) { return std::optional(hours_of(r, w)); }});
  }
  if (price > 0) {
    out.push_back({"money_lost", "money lost", "", "of money", 0, Wish::less, worth * price,
                   [price](const RunReport& r) { return std::optional(price * lost_hours(r)); }});
  }
  return out;
}

std::vector<double> known_values(const Metric& m, const std::vector<RunReport>& runs) {
  std::vector<double> out;
  for (const RunReport& r : runs) {
    if (const auto v = m.of(r)) out.push_back(*v);
  }
  return out;
}

// Of every seed; none where one of the two has no value.
std::vector<std::optional<double>> paired(const Metric& m, const std::vector<RunReport>& first,
                                          const std::vector<RunReport>& other) {
  std::vector<std::optional<double>> out;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto a = m.of(first[i]);
    const auto b = m.of(other[i]);
    out.push_back(a && b ? std::optional(*b - *a) : std::nullopt);
  }
  return out;
}

std::string render_p(double p) { return p < 0.0001 ? "p<0.0001" : fmt::format("p={:.2g}", p); }

Outcome outcome_of(const Metric& m, const Contrast& c) {
  const Estimate& d = c.difference;
  if (d.n < 2) return Outcome::unmeasured;
  if (d.sd <= 0 && d.mean == 0) return Outcome::same;
  // Both must say so: the test that needs no normality, and the interval that is printed beside it.
  if (c.p > kAlpha || (d.low <= 0 && d.high >= 0)) return Outcome::not_shown;
  if (m.wish == Wish::neither) return Outcome::differs;
  return (d.mean > 0) == (m.wish == Wish::more) ? Outcome::better : Outcome::worse;
}

std::string say(const Metric& m, const Contrast& c, const std::string& name) {
  const Estimate& d = c.difference;
  const auto number = [&](double v) {
    const std::string s = fmt::format("{:.{}f}", v, m.decimals);
    return s.find_first_not_of("-0.") == std::string::npos && s[0] == '-' ? s.substr(1) : s;
  };
  const double sign = d.mean < 0 ? -1 : 1;
  const std::string by = fmt::format("{} {}", number(sign * d.mean), m.difference_unit);
  const std::string range =
      fmt::format("({} to {})", number(std::min(sign * d.low, sign * d.high)), number(std::max(sign * d.low, sign * d.high)));
  switch (c.outcome) {
    case Outcome::better:
    case Outcome::worse:
      return fmt::format("{} is {} by {} {}, {}", name, c.outcome == Outcome::better ? "better" : "worse", by, range,
                         render_p(c.p));
    case Outcome::differs:
      return fmt::format("{} has {} {} {}, {}", name, by, d.mean < 0 ? "less" : "more", range, render_p(c.p));
    case Outcome::same: return "the same in every seed";
    case Outcome::unmeasured:
      return d.n == 1 ? fmt::format("{}{} {} in the one seed that both have it in: more are needed", d.mean > 0 ? "+" : "",
                                    number(d.mean), m.difference_unit)
                      : "not measured in any seed";
    case Outcome::not_shown: break;
  }
  const bool singular = m.worth == 1 && m.difference_unit.ends_with('s') && m.name != "false_drains_per_10k_node_days";
  const std::string worth =
      fmt::format("{:.3g} {}", m.worth, m.difference_unit.substr(0, m.difference_unit.size() - (singular ? 1 : 0)));
  std::string s = fmt::format("no difference that {} seeds could show ({} to {} {}, {}); ", d.n, number(d.low), number(d.high),
                              m.difference_unit, render_p(c.p));
  if (c.seeds_needed <= d.n) return s + "they would have shown one of " + worth;
  return s + fmt::format("{}{} seeds would be needed to see {}", c.seeds_needed >= kPairsMax ? "more than " : "", c.seeds_needed,
                         worth);
}

// Adds one policy's column of contrasts. All metrics are tested together; the policies beside each other by Bonferroni.
void contrast(CompareReport& out, const std::vector<RunReport>& first, const std::vector<RunReport>& other, double policies) {
  std::vector<std::vector<double>> series;
  for (Row& row : out.rows) {
    std::vector<double> known;
    series.emplace_back();
    for (const auto& d : paired(row.metric, first, other)) {
      series.back().push_back(d.value_or(0));
      if (d) known.push_back(*d);
    }
    Contrast c;
    c.difference = estimate(known);
    c.student_p = student_p(c.difference);
    out.tests += std::any_of(known.begin(), known.end(), [](double x) { return x != 0; }) ? 1 : 0;
    row.contrasts.push_back(std::move(c));
  }
  const FlipTests t = sign_flips(series);
  out.exact = out.exact && t.exact;
  for (std::size_t m = 0; m < out.rows.size(); ++m) {
    out.rows[m].contrasts.back().flip_p = t.p[m];
    out.rows[m].contrasts.back().p = std::min(1.0, policies * t.adjusted[m]);
  }
}

// Where a contender begins, if its cluster is another one.
struct Ground {
  Site site;
  std::optional<control::Books> from;
};

struct Shared {
  std::vector<std::optional<Ground>> grounds;  // by contender
  std::mutex lock;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  double done = 0;  // runs, with the share done of those under way
  std::vector<std::vector<RunReport>> runs;
  std::optional<Error> error;
};

void work(const CompareOptions& options, Shared& shared) {
  const std::uint64_t all = options.seeds * options.contenders.size();
  for (;;) {
    const std::uint64_t k = shared.next++;
    if (k >= all || shared.failed) return;
    const std::size_t who = k % options.contenders.size();
    const std::uint64_t seed = k / options.contenders.size();
    RunOptions one = options.run;
    one.policy = one.must_hold = options.contenders[who].policy;
    one.twin.seed = options.first_seed + seed;
    one.twin.luck_by_place = true;
    one.stopped = options.stopped;
    const std::optional<Ground>& ground = shared.grounds[who];
    if (ground) {
      twin::keep_work_of(one.twin, options.run.twin.site);
      one.twin.site = ground->site;
    }
    const std::optional<control::Books>& from = ground ? ground->from : options.from;
    double told = 0;
    const auto tell = [&](double share) {
      const std::lock_guard hold(shared.lock);
      shared.done += share - told;
      told = share;
      if (options.progress) options.progress(shared.done / static_cast<double>(all));
    };
    one.progress = tell;
    const std::unique_ptr<Journal> journal = options.make_journal();
    Result<RunReport> r = from ? run_fork(one, *journal, *from) : run(one, *journal);
    if (!r) {
      const std::lock_guard hold(shared.lock);
      shared.error = r.error();
      shared.failed = true;
      return;
    }
    tell(1);
    shared.runs[who][seed] = std::move(*r);  // each run has a place of its own
  }
}

}  // namespace

CompareReport judge(std::vector<std::string> names, std::vector<std::vector<RunReport>> runs, double price, Judged judged) {
  MUSTER_CHECK(!runs.empty() && !runs[0].empty() && names.size() == runs.size());
  CompareReport out;
  // Of a larger cluster more is lost, and that says nothing of it.
  const auto other_size = [&](const std::vector<RunReport>& r) { return r[0].gpus != runs[0][0].gpus; };
  const bool resized = std::any_of(runs.begin(), runs.end(), other_size);
  for (Metric& m : metrics_for(static_cast<double>(runs[0][0].hours.installed_ms) / kHourMs, price, judged)) {
    if (resized && (m.name == "gpu_hours_lost" || m.name == "money_lost")) m.wish = Wish::neither;
    Row row;
    for (const auto& of_one : runs) row.values.push_back(estimate(known_values(m, of_one)));
    row.metric = std::move(m);
    out.rows.push_back(std::move(row));
  }
  for (std::size_t i = 1; i < runs.size(); ++i) contrast(out, runs[0], runs[i], static_cast<double>(runs.size() - 1));
  for (Row& row : out.rows) {
    for (std::size_t i = 0; i < row.contrasts.size(); ++i) {
      Contrast& c = row.contrasts[i];
      c.outcome = outcome_of(row.metric, c);
      if (c.outcome != Outcome::unmeasured && c.difference.sd > 0)
        c.seeds_needed = std::max(pairs_least(kAlpha / static_cast<double>(runs.size() - 1)),
                                  pairs_needed(c.difference.sd, row.metric.worth, kAlpha / static_cast<double>(out.tests)));
      c.verdict = say(row.metric, c, names[i + 1]);
    }
  }
  out.names = std::move(names);
  out.runs = std::move(runs);
  return out;
}

Result<CompareReport> compare(const CompareOptions& options) {
  MUSTER_CHECK(!options.contenders.empty() && options.seeds > 0);
  Shared shared;
  for (const Contender& c : options.contenders) {
    shared.grounds.emplace_back();
    if (c.site.none()) continue;
    const auto changed = change_site(options.run.twin.site, c.site);
    if (!changed) return tl::unexpected(changed.error());
    shared.grounds.back() = Ground{changed->site, std::nullopt};
    if (options.from) shared.grounds.back()->from = change_books(*options.from, *changed);
  }
  shared.runs.assign(options.contenders.size(), std::vector<RunReport>(options.seeds));
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.threads; ++i) threads.emplace_back([&] { work(options, shared); });
  work(options, shared);
  for (std::thread& t : threads) t.join();
  if (shared.error) return tl::unexpected(*shared.error);
  std::vector<std::string> names;
  for (const Contender& c : options.contenders) names.push_back(c.name);
  return judge(std::move(names), std::move(shared.runs), options.price, options.judged);
}

}  // namespace muster::trial
