#include "trial/run.h"

#include <fmt/core.h>

#include "account/accountant.h"
#include "base/log.h"

namespace muster::trial {
namespace {

constexpr Duration kAfterCalm = days(6);    // longest a healing may take once the weather is calm
constexpr std::uint64_t kBooksEvery = 500;  // turns between two looks at the sums

struct History {
  const RunOptions& options;
  twin::Twin& twin;
  control::Loop& loop;
  Checker& checker;
  Score& score;
  RunReport report;

  // Runs until `until` (utc), or until `enough` says so. The state's view of every event is what the loop had after folding it.
  template <class Enough>
  Result<void> run_until(Time until, Enough enough) {
    const Time began = twin.now().utc;
    double next_progress = 0;
    while (twin.now().utc < until && !enough()) {
      auto turn = loop.turn();
      if (!turn) return tl::unexpected(turn.error());
      ++report.turns;
      report.samples += turn->samples;
      if (report.turns % kBooksEvery == 0) checker.on_books(loop.accounts(), loop.state());
      const Duration left = until - turn->now.utc;
      twin.wait(std::min(turn->wake_at, turn->now.steady + left));
      const double share = (twin.now().utc - began).seconds() / std::max(1e-9, (until - began).seconds());
      if (share >= next_progress) {
        if (options.progress) options.progress(std::min(share, 1.0));
        if (options.stopped && options.stopped()) return fail(Code::conflict, "it was stopped");
        next_progress = share + 0.005;
      }
    }
    return {};
  }
  bool quiet() const {
    const auto& faults = twin.faults();
    const bool over =
        std::all_of(faults.begin(), faults.end(), [](const twin::FaultTruth& f) { return f.fate != twin::Fate::active; });
    if (!over) return false;
    return std::all_of(loop.state().incidents.begin(), loop.state().incidents.end(),
                       [](const auto& i) { return i.second.stage == Stage::closed || i.second.stage == Stage::held; });
  }
};

// ": thermal on node0012 since ..., incident 34 is draining and waits for the guard", for each fault that is nobody's.
std::string unfinished(const twin::Twin& twin, const Score& score, const State& s) {
  std::string out;
  for (const twin::FaultTruth& f : twin.faults()) {
    if (f.fate != twin::Fate::active || f.kind == twin::FaultKind::app_bug) continue;
    if (score.hands_of(f, s) != Score::Hands::nobody) continue;
    out += out.empty() ? ": " : "; ";
    out += fmt::format("{} on {} since {}", name_of(f.kind), f.node.some() ? s.site.nodes[f.node.v].name : "the site",
                       render_utc(f.began));
    const Incident* i = f.node.some() ? find_incident(s, s.nodes[f.node.v].incident) : nullptr;
    if (i == nullptr) {
      out += ", no incident";
    } else {
      out += fmt::format(", incident {} ({}) is {}", i->id.v, name_of(i->cause), name_of(i->stage));
      if (!i->pending.empty()) out += " and waits for " + i->pending;
    }
  }
  return out;
}

Result<RunReport> play(const RunOptions& options, Journal& journal, twin::Twin& twin, std::unique_ptr<control::Loop> loop,
                       Checker& checker, Score& score, const Waits& waits) {
  const std::uint64_t errors_before = log_errors_of_this_thread();
  const Time began = twin.now().utc;
  const Time end = began + options.length;
  History h{options, twin, *loop, checker, score, {}};
  if (auto r = h.run_until(end, [] { return false; }); !r) return tl::unexpected(r.error());
  if (options.to_the_end) {
    twin.calm();
    if (auto r = h.run_until(end + kAfterCalm, [&] { return h.quiet(); }); !r) return tl::unexpected(r.error());
  }
  if (options.snapshots) {
    if (auto r = loop->stop(); !r) return tl::unexpected(r.error());
  }
  RunReport& out = h.report;
  const State& s = loop->state();
  checker.on_books(loop->accounts(), s);
  out.seed = options.twin.seed;
  out.gpus = s.site.gpus();
  out.nodes = static_cast<std::uint32_t>(s.nodes.size());
  out.days = options.length.seconds() / 86400.0;
  out.weather = options.twin.weather.factor;
  out.events = journal.last_seq();
  out.digest = render_hex(journal.head());
  out.hours = account::balance(loop->accounts(), s, twin.now().steady + s.mono_offset);
  out.goodput = account::goodput(out.hours);
  out.node_days = (twin.now().utc - began).seconds() / 86400.0 * static_cast<double>(s.nodes.size());
  out.allocated_share = twin.allocated_share();
  out.waited = waits.at_end(s, twin.now().steady + s.mono_offset);
  out.totals = s.totals;
  out.jobs_lost = s.totals.jobs_failed - s.totals.jobs_timed_out;
  out.marks = score.marks(twin.faults(), s, twin.now().utc, options.to_the_end ? Duration{} : hours(1));
  out.violations = checker.violations();
  out.broken = checker.broken();
  if (options.to_the_end && out.marks.unfinished > 0) {
    out.broken[static_cast<std::size_t>(Rule::unfinished)] += out.marks.unfinished;
    out.violations.push_back(fmt::format("{} faults neither over nor in a person's hands {} after the weather calmed{}",
                                         out.marks.unfinished, render_duration(kAfterCalm), unfinished(twin, score, s)));
  }
  out.broken[static_cast<std::size_t>(Rule::orders)] += twin.counters().duplicate_orders;
  if (twin.counters().duplicate_orders > 0)
    out.violations.push_back(fmt::format("{} orders were sent twice", twin.counters().duplicate_orders));
  const std::uint64_t errors = log_errors_of_this_thread() - errors_before;
  out.broken[static_cast<std::size_t>(Rule::orders)] += errors;
  if (errors > 0) out.violations.push_back(fmt::format("{} error-level log lines", errors));
  return std::move(out);
}

// What a fork has counted itself. The state goes on counting from where it was: order keys are made of that.
void subtract(Totals& t, const Totals& before) {
  t.jobs_submitted -= before.jobs_submitted;
  t.jobs_completed -= before.jobs_completed;
  t.jobs_failed -= before.jobs_failed;
  t.jobs_cancelled -= before.jobs_cancelled;
  t.requeues -= before.requeues;
  t.incidents -= before.incidents;
  t.orders -= before.orders;
  t.refusals -= before.refusals;
  t.jobs_timed_out -= before.jobs_timed_out;
}

control::LoopConfig loop_config(const RunOptions& o) {
  control::LoopConfig c;
  c.site = o.twin.site;
  c.policy = o.policy;
  c.journal_id = fmt::format("t{:x}", o.twin.seed);
  c.snapshot_every = o.snapshots ? 20'000 : 0;
  return c;
}

}  // namespace

Result<RunReport> run(const RunOptions& options, Journal& journal) {
  twin::Twin twin(options.twin);
  Checker checker(options.twin.site, options.must_hold);
  Score score;
  Waits waits;
  auto loop = control::Loop::start(twin, twin, twin, journal, loop_config(options));
  if (!loop) return tl::unexpected(loop.error());
  control::Loop& l = **loop;
  l.on_event = [&](const Event& e) {
    checker.on_event(e, l.state());
    score.on_event(e, l.state());
    waits.on_event(e, l.state());
  };
  return play(options, journal, twin, std::move(*loop), checker, score, waits);
}

Result<RunReport> run_fork(const RunOptions& options, Journal& journal, control::Books books) {
  twin::Config config = options.twin;
  config.start_utc = books.state.now.utc;
  const std::int64_t now_ms = books.state.mono().ms();
  books.accounts.began_ms = now_ms;  // the fork's own time only
  books.accounts.settled = {};
  for (NodeClock& n : books.accounts.nodes) n.since_ms = now_ms;
  for (auto& [id, j] : books.accounts.jobs) j.settled_ms = now_ms;
  twin::Twin twin(config, books.state);
  Checker checker(options.twin.site, options.must_hold);
  Score score;
  score.begin(books.state);
  Waits waits;
  waits.begin(books.state);
  const Totals before = books.state.totals;
  auto loop = control::Loop::fork(twin, twin, twin, journal, loop_config(options), std::move(books));
  if (!loop) return tl::unexpected(loop.error());
  control::Loop& l = **loop;
  l.on_event = [&](const Event& e) {
    score.on_event(e, l.state());
    waits.on_event(e, l.state());
  };
  auto report = play(options, journal, twin, std::move(*loop), checker, score, waits);
  if (!report) return report;
  report->rules_checked = false;
  subtract(report->totals, before);
  report->jobs_lost = report->totals.jobs_failed - report->totals.jobs_timed_out;
  return report;
}

}  // namespace muster::trial
