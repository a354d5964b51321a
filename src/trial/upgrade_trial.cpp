#include "trial/upgrade_trial.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "account/accountant.h"
#include "base/node_list.h"
#include "control/loop.h"
#include "decide/upgrade/sides.h"
#include "trial/checker.h"
#include "trial/upgrade_bound.h"

namespace muster::trial {
namespace {

// What an upgrade does to work and to the fleet, told from the events alone.
class Watch {
 public:
  explicit Watch(const UpgradeSpec& spec) : spec_(spec) {}
  void begin(const State& s) {
    began_ = s.mono();
    free_.assign(s.nodes.size(), Duration{});
    for (const JobId id : s.placed) {
      const Job& j = s.jobs.at(id);
      holds_[{id, j.attempt}] = j.nodes;
    }
  }
  void on_event(const Event& e, const State& s) {
    const Upgrade& u = s.upgrade;
    if (const auto* j = std::get_if<JobEnded>(&e.body)) ended(*j, s);
    if (const auto* j = std::get_if<JobStarted>(&e.body)) {
      mixed += !u.spec.apart.empty() && spans(j->nodes, s, u.spec.apart_within) ? 1 : 0;
      of_both += spans(j->nodes, s, ApartWithin::job) ? 1 : 0;
    }
    if (const auto* m = std::get_if<TurnMoved>(&e.body)) moved(*m, s);
    if (std::holds_alternative<TurnMoved>(e.body) || std::holds_alternative<NodeChanged>(e.body)) count_away(s);
    const auto* o = std::get_if<OrderIntended>(&e.body);
    if (o == nullptr || o->order.reason.upgrade == 0) return;
    const Verb verb = o->order.action.verb;
    if (verb == Verb::restart_job || verb == Verb::requeue_job || verb == Verb::cancel_job) ++killed;
    if (verb != Verb::drain_node || u.phase == UpgradePhase::rolling_back) return;
    std::uint32_t out = 0;
    for (std::uint32_t n = 0; n < s.nodes.size(); ++n) {
      const auto t = u.turns.find(NodeId{n});
      const bool turn = t != u.turns.end() && is_out(t->second.stage);
      out += turn || s.nodes[n].condition != NodeCondition::up || s.nodes[n].hold != Hold::none ? 1 : 0;
    }
    beyond += out > decide::away_at_once(s) ? 1 : 0;
  }
  double bound_h(const State& s) const {
    DrainBound b;
    b.free = free_;
    for (const auto& [key, nodes] : holds_) {  // they ran to the end
      for (const NodeId n : nodes) b.free[n.v] = s.mono() - began_;
    }
    b.canaries = spec_.canaries;
    if (const auto names = expand_node_list(spec_.canary_nodes); names && !spec_.canary_nodes.empty()) {
      const std::set<std::string> first(names->begin(), names->end());
      for (std::size_t n = 0; n < s.site.nodes.size(); ++n) {
        if (first.count(s.site.nodes[n].name) != 0) b.first.push_back(n);
      }
      if (b.canaries == 0) b.canaries = b.first.size();
    }
    b.watch = spec_.watch;
    b.at_once = decide::away_at_once(s);
    b.turn = shortest_.value_or(Duration{});
    return drain_bound(std::move(b)).seconds() / 3600;
  }
  double back_h() const { return std::max(Duration{}, last_back_ - began_).seconds() / 3600; }
  double turn_h() const { return turns_ == 0 ? 0 : away_.seconds() / 3600 / turns_; }

  std::uint32_t killed = 0, mixed = 0, of_both = 0, beyond = 0, most_away = 0;

 private:
  static bool spans(const std::vector<NodeId>& nodes, const State& s, ApartWithin within) {
    std::map<std::uint32_t, std::set<bool>> seen;  // by NVLink domain, or all under one key
    for (const NodeId n : nodes) {
      const auto t = s.upgrade.turns.find(n);
      const bool has_it = t != s.upgrade.turns.end() && t->second.installed;
      seen[within == ApartWithin::domain ? s.site.nodes[n.v].domain : 0].insert(has_it);
    }
    return std::any_of(seen.begin(), seen.end(), [](const auto& x) { return x.second.size() > 1; });
  }
  void count_away(const State& s) {
    std::uint32_t away = 0;
    for (const auto& [n, t] : s.upgrade.turns) {
      const NodeState& x = s.nodes[n.v];
      const bool lost = t.stage == TurnStage::bad && (x.hold != Hold::none || x.condition != NodeCondition::up);
      away += is_out(t.stage) || lost ? 1 : 0;
    }
    most_away = std::max(most_away, away);
  }
  void ended(const JobEnded& b, const State& s) {
    const auto held = holds_.find({b.job, b.attempt});
    if (held != holds_.end()) {
      for (const NodeId n : held->second) free_[n.v] = std::max(free_[n.v], s.mono() - began_);
      holds_.erase(held);
    }
    if (b.end != JobEnd::node_failed && b.end != JobEnd::requeued) return;
    const Job* j = find_job(s, b.job);
    const auto in_turn = [&](NodeId n) {
      const auto t = s.upgrade.turns.find(n);
      return t != s.upgrade.turns.end() && is_out(t->second.stage);
    };
    killed += j != nullptr && std::any_of(j->nodes.begin(), j->nodes.end(), in_turn) ? 1 : 0;
  }
  void moved(const TurnMoved& m, const State& s) {
    if (m.stage == TurnStage::draining && !m.back) out_since_.emplace(m.node, s.mono());
    if ((m.stage != TurnStage::watched && m.stage != TurnStage::kept) || m.back) return;
    const auto since = out_since_.find(m.node);
    if (since == out_since_.end()) return;
    const Duration took = s.mono() - since->second;
    away_ = away_ + took;
    shortest_ = std::min(shortest_.value_or(took), took);
    ++turns_;
    out_since_.erase(since);
    last_back_ = s.mono();
  }

  const UpgradeSpec& spec_;
  Time began_, last_back_;
  std::map<std::pair<JobId, std::uint32_t>, std::vector<NodeId>> holds_;  // of those that ran when it began
  std::vector<Duration> free_;
  std::map<NodeId, Time> out_since_;
  Duration away_;
  std::optional<Duration> shortest_;  // turn
  std::uint32_t turns_ = 0;
};

// Passes on what the twin says, and one command of an operator.
class Operator final : public Observatory {
 public:
  explicit Operator(twin::Twin& twin) : twin_(twin) {}
  void give(CommandGiven c) { command_ = std::move(c); }
  void poll(Inbox& out) override {
    twin_.poll(out);
    if (!command_) return;
    out.events.push_back({{"", "operator", 0}, twin_.now().utc, std::move(*command_), {}});
    command_.reset();
  }
  void wait(Time until) override { twin_.wait(until); }

 private:
  twin::Twin& twin_;
  std::optional<CommandGiven> command_;
};

class Run {
 public:
  Run(const UpgradeTrialOptions& o, std::uint64_t seed)
      : o_(o),
        config_(config_of(o, seed)),
        twin_(config_),
        operator_(twin_),
        journal_(o.make_journal()),
        checker_(config_.site, o.policy),
        watch(o.spec) {}

  Result<void> start() {
    control::LoopConfig c;
    c.site = config_.site;
    c.policy = o_.policy;
    c.journal_id = fmt::format("u{:x}", config_.seed);
    c.snapshot_every = 0;
    auto loop = control::Loop::start(twin_, operator_, twin_, *journal_, c);
    if (!loop) return tl::unexpected(loop.error());
    loop_ = std::move(*loop);
    loop_->on_event = [this](const Event& e) { on_event(e); };
    return {};
  }
  template <class Enough>
  Result<void> until(Time utc, Enough enough) {
    while (twin_.now().utc < utc && !enough()) {
      const auto turn = loop_->turn();
      if (!turn) return tl::unexpected(turn.error());
      operator_.wait(std::min(turn->wake_at, turn->now.steady + (utc - turn->now.utc)));
    }
    return {};
  }
  void begin_upgrade() {
    CommandGiven c;
    c.verb = CommandVerb::upgrade;
    c.actor = "trial";
    c.id = "upgrade-1";
    c.upgrade = o_.spec;
    operator_.give(std::move(c));
    watch.begin(state());
  }
  GpuHours hours() const { return account::balance(loop_->accounts(), state(), twin_.now().steady + state().mono_offset); }
  const State& state() const { return loop_->state(); }
  Time now() const { return twin_.now().utc; }
  std::uint64_t faults() const { return twin_.faults().size(); }
  std::vector<std::string> violations() {
    checker_.on_books(loop_->accounts(), state());
    return checker_.violations();
  }

  std::uint32_t moves = 0, installs = 0, most_out = 0;
  std::set<NodeId> reached, bad;

 private:
  static twin::Config config_of(const UpgradeTrialOptions& o, std::uint64_t seed) {
    twin::Config c = o.twin;
    c.seed = seed;
    c.luck_by_place = true;
    return c;
  }
  void on_event(const Event& e) {
    checker_.on_event(e, state());
    if (!at_work(state().upgrade.phase)) return;
    watch.on_event(e, state());
    most_out = std::max(most_out, static_cast<std::uint32_t>(state().out_nodes.size()));
    if (const auto* m = std::get_if<TurnMoved>(&e.body); m != nullptr && m->stage == TurnStage::bad && !m->back)
      bad.insert(m->node);
    const auto* x = std::get_if<OrderIntended>(&e.body);
    if (x == nullptr || x->order.reason.upgrade == 0) return;
    moves += x->order.action.verb == Verb::restart_job || x->order.action.verb == Verb::requeue_job ? 1 : 0;
    if (x->order.action.verb != Verb::install) return;
    ++installs;
    if (x->order.action.version.find(o_.spec.version) != std::string::npos) reached.insert(x->order.action.node);
  }

  const UpgradeTrialOptions& o_;
  twin::Config config_;
  twin::Twin twin_;
  Operator operator_;
  std::unique_ptr<Journal> journal_;
  Checker checker_;
  std::unique_ptr<control::Loop> loop_;

 public:
  Watch watch;
};

double gpu_h(std::int64_t ms) { return static_cast<double>(ms) / 3'600'000; }
// Work since the last checkpoint counts too: whoever looks at another moment would find it kept.
double useful_h(const GpuHours& a, const GpuHours& b) {
  return gpu_h(b[Waste::useful] + b[Waste::unsettled] - a[Waste::useful] - a[Waste::unsettled]);
}

Result<UpgradeRun> run_one(const UpgradeTrialOptions& o, std::uint64_t seed) {
  UpgradeRun r;
  r.seed = seed;
  Run with(o, seed);
  Run without(o, seed);
  std::vector<Run*> both = {&with};
  if (o.beside) both.push_back(&without);
  for (Run* x : both) {
    if (auto ok = x->start(); !ok) return tl::unexpected(ok.error());
    if (auto ok = x->until(x->now() + o.warm_up, [] { return false; }); !ok) return tl::unexpected(ok.error());
  }
  const GpuHours before = with.hours();
  const GpuHours before_without = o.beside ? without.hours() : GpuHours{};
  const Time began = with.now();
  const std::uint64_t faults = with.faults();
  with.begin_upgrade();
  const auto over = [&] { return with.state().upgrade.id != 0 && !at_work(with.state().upgrade.phase); };
  if (auto ok = with.until(began + o.most, over); !ok) return tl::unexpected(ok.error());
  if (auto ok = o.beside ? without.until(with.now(), [] { return false; }) : Result<void>{}; !ok)
    return tl::unexpected(ok.error());
  const Upgrade& u = with.state().upgrade;
  const GpuHours after = with.hours();
  const GpuHours after_without = o.beside ? without.hours() : GpuHours{};
  r.phase = u.phase;
  r.why = u.why;
  r.took_h = (with.now() - began).seconds() / 3600;
  r.useful_h = useful_h(before, after);
  r.useful_without_h = useful_h(before_without, after_without);
  r.loss_pct = r.useful_without_h > 0 ? 100 * (1 - r.useful_h / r.useful_without_h) : 0;
  for (std::size_t k = 0; k < kWasteClasses; ++k)
    r.more_h[k] = gpu_h(after.ms[k] - before.ms[k] - after_without.ms[k] + before_without.ms[k]);
  const double idle = gpu_h(after_without[Waste::idle] - before_without[Waste::idle]);
  const double all = gpu_h(after_without.installed_ms - before_without.installed_ms);
  r.allocated_pct = all > 0 ? 100 * (1 - idle / all) : 0;
  for (const auto& [n, t] : u.turns) {
    r.nodes += t.installed ? 1 : 0;
    r.skipped += t.stage == TurnStage::skipped ? 1 : 0;
  }
  r.installs = with.installs;
  r.bad = static_cast<std::uint32_t>(with.bad.size());
  r.reached = static_cast<std::uint32_t>(with.reached.size());
  r.moves = with.moves;
  r.most_out = with.most_out;
  r.faults = static_cast<std::uint32_t>(with.faults() - faults);
  r.violations = with.violations();
  r.killed = with.watch.killed;
  r.mixed = with.watch.mixed;
  r.of_both = with.watch.of_both;
  r.budget = decide::away_at_once(with.state());
  r.most_away = with.watch.most_away;
  r.beyond_budget = with.watch.beyond;
  r.back_h = with.watch.back_h();
  r.turn_h = with.watch.turn_h();
  r.bound_h = with.watch.bound_h(with.state());
  return r;
}

}  // namespace

Result<std::vector<UpgradeRun>> upgrade_trial(const UpgradeTrialOptions& options) {
  std::vector<UpgradeRun> runs(options.seeds);
  std::atomic<std::uint64_t> next{0};
  std::uint64_t done = 0;
  std::mutex lock;
  std::optional<Error> error;
  const auto work = [&] {
    for (std::uint64_t k = next++; k < options.seeds; k = next++) {
      auto r = run_one(options, options.first_seed + k);
      const std::lock_guard hold(lock);
      if (!r) {
        error = r.error();
        return;
      }
      runs[k] = std::move(*r);
      if (options.progress) options.progress(static_cast<double>(++done) / static_cast<double>(options.seeds));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1U, options.threads); ++t) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  if (error) return tl::unexpected(*error);
  return runs;
}

}  // namespace muster::trial
