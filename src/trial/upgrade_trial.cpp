#include "trial/upgrade_trial.h"

#include <fmt/core.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "account/accountant.h"
#include "control/loop.h"
#include "trial/checker.h"

namespace muster::trial {
namespace {

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
        checker_(config_.site, o.policy) {}

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
    most_out = std::max(most_out, static_cast<std::uint32_t>(state().out_nodes.size()));
    if (const auto* m = std::get_if<TurnMoved>(&e.body); m != nullptr && m->stage == TurnStage::bad && !m->back)
      bad.insert(m->node);
    const auto* x = std::get_if<OrderIntended>(&e.body);
    if (x == nullptr || x->order.reason.upgrade == 0) return;
    moves += x->order.action.verb == Verb::restart_job || x->order.action.verb == Verb::requeue_job ? 1 : 0;
    if (x->order.action.verb != Verb::install) return;
    ++installs;
    if (x->order.action.version.ends_with(o_.spec.version)) reached.insert(x->order.action.node);
  }

  const UpgradeTrialOptions& o_;
  twin::Config config_;
  twin::Twin twin_;
  Operator operator_;
  std::unique_ptr<Journal> journal_;
  Checker checker_;
  std::unique_ptr<control::Loop> loop_;
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
  for (Run* x : {&with, &without}) {
    if (auto ok = x->start(); !ok) return tl::unexpected(ok.error());
    if (auto ok = x->until(x->now() + o.warm_up, [] { return false; }); !ok) return tl::unexpected(ok.error());
  }
  const GpuHours before = with.hours();
  const GpuHours before_without = without.hours();
  const Time began = with.now();
  const std::uint64_t faults = with.faults();
  with.begin_upgrade();
  const auto over = [&] { return with.state().upgrade.id != 0 && !at_work(with.state().upgrade.phase); };
  if (auto ok = with.until(began + o.most, over); !ok) return tl::unexpected(ok.error());
  if (auto ok = without.until(with.now(), [] { return false; }); !ok) return tl::unexpected(ok.error());
  const Upgrade& u = with.state().upgrade;
  const GpuHours after = with.hours();
  const GpuHours after_without = without.hours();
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
