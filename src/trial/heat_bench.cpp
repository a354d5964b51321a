#include "trial/heat_bench.h"

#include <algorithm>

#include "account/accountant.h"
#include "base/prng.h"
#include "control/loop.h"
#include "twin/twin.h"

namespace muster::trial {
namespace {

// What both runs are told alike: nothing is drained or tested because it is slow or hot. Otherwise a blind controller would add
// its own harm to that of the fault, and the comparison would flatter the other.
Policy told(Policy p, bool aware) {
  p.heat_aware = aware;
  for (Runbook& l : p.runbooks) {
    if (l.kind == FindingKind::thermal_throttle || l.kind == FindingKind::slow_gpu) l.act = false;
  }
  return p;
}

struct Watch {
  HeatOutcome out;
  Time struck;
  void on_event(const Event& e) {
    if (const auto* m = std::get_if<RowMeasured>(&e.body)) out.hottest_inlet_c = std::max(out.hottest_inlet_c, m->inlet_c);
    if (const auto* f = std::get_if<FindingOpened>(&e.body)) {
      if (f->finding.kind == FindingKind::row_hot && out.warned_min == 0) out.warned_min = (e.utc - struck).seconds() / 60;
    }
    if (const auto* o = std::get_if<OrderIntended>(&e.body); o != nullptr && o->order.action.verb == Verb::limit_power) {
      ++out.limits;
      out.least_limit_pct = std::min(out.least_limit_pct, o->order.action.limit_pct);
    }
  }
};

struct Play {
  twin::Twin twin;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<control::Loop> loop;

  Result<void> run_until(Time until, const std::function<void(double)>& progress, double from, double to) {
    const Time began = twin.now().utc;
    while (twin.now().utc < until) {
      auto turn = loop->turn();
      if (!turn) return tl::unexpected(turn.error());
      twin.wait(std::min(turn->wake_at, turn->now.steady + (until - turn->now.utc)));
      const double share = (twin.now().utc - began).seconds() / std::max(1e-9, (until - began).seconds());
      if (progress) progress(from + (to - from) * std::min(1.0, share));
    }
    return {};
  }
};

NodeId victim(const HeatBenchOptions& o) {
  Prng prng(o.seed, "bench/heat/row");
  return NodeId{static_cast<std::uint32_t>(prng.below(o.site.nodes.size()))};
}

Result<HeatOutcome> play(const HeatBenchOptions& o, bool aware, HeatReport& report) {
  twin::Config config;
  config.site = o.site;
  config.seed = o.seed;
  config.workload.load = 1.3;  // a queue at all times: no GPU is idle for want of work
  Play p{twin::Twin(config), o.make_journal(), nullptr};
  control::LoopConfig lc;
  lc.site = o.site;
  lc.policy = told(o.policy, aware);
  lc.journal_id = aware ? "heat-aware" : "heat-blind";
  auto loop = control::Loop::start(p.twin, p.twin, p.twin, *p.journal, lc);
  if (!loop) return tl::unexpected(loop.error());
  p.loop = std::move(*loop);
  Watch watch;
  p.loop->on_event = [&](const Event& e) { watch.on_event(e); };
  const Time began = p.twin.now().utc;
  const Time strike = began + from_seconds(o.calm_h * 3600);
  const Time end = began + from_seconds(o.length_h * 3600);
  const double base = aware ? 0.5 : 0.0;
  if (auto r = p.run_until(strike, o.progress, base, base + 0.1); !r) return tl::unexpected(r.error());
  watch.struck = p.twin.now().utc;
  auto id = p.twin.inject(twin::FaultKind::cooling_fault, victim(o), -1);
  if (!id) return tl::unexpected(id.error());
  if (auto r = p.run_until(end, o.progress, base + 0.1, base + 0.5); !r) return tl::unexpected(r.error());
  const State& s = p.loop->state();
  const twin::FaultTruth& truth = p.twin.faults()[*id - 1];
  report.fault_h = ((truth.ended.ns != 0 ? truth.ended : p.twin.now().utc) - truth.began).seconds() / 3600;
  HeatOutcome& out = watch.out;
  const GpuHours hours = account::balance(p.loop->accounts(), s, p.twin.now().steady + s.mono_offset);
  out.useful_gpu_h = static_cast<double>(hours.ms[static_cast<std::size_t>(Waste::useful)]) / 3.6e6;
  out.throttled_gpu_h = static_cast<double>(p.twin.counters().throttled_gpu_ms) / 3.6e6;
  out.jobs_completed = s.totals.jobs_completed;
  out.lifted = std::all_of(s.hot_rows.begin(), s.hot_rows.end(), [](const auto& r) { return r.second.limit_pct == 100; });
  return out;
}

}  // namespace

Result<HeatReport> bench_heat(const HeatBenchOptions& o) {
  HeatReport r;
  r.seed = o.seed;
  r.gpus = o.site.gpus();
  const std::uint32_t row = row_of(o.site, victim(o));
  for (std::uint32_t n = 0; n < o.site.nodes.size(); ++n) {
    r.row_gpus += row_of(o.site, NodeId{n}) == row ? o.site.gpus_per_node : 0;
  }
  auto blind = play(o, false, r);
  if (!blind) return tl::unexpected(blind.error());
  auto aware = play(o, true, r);
  if (!aware) return tl::unexpected(aware.error());
  r.blind = *blind;
  r.aware = *aware;
  if (blind->throttled_gpu_h > 0) r.throttled_less_pct = 100 * (1 - aware->throttled_gpu_h / blind->throttled_gpu_h);
  if (blind->useful_gpu_h > 0) r.useful_ratio = aware->useful_gpu_h / blind->useful_gpu_h;
  return r;
}

}  // namespace muster::trial
