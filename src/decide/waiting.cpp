#include "decide/waiting.h"

#include <fmt/core.h>

#include <set>

#include "base/text.h"
#include "decide/energy/defer.h"
#include "decide/never.h"
#include "decide/schedule/estimate.h"

namespace muster::decide {
namespace {

constexpr std::size_t kQueuesMax = 512;  // accounts that are told apart where the policy names no queues
constexpr double kStartUp_s = 300;       // what a start takes beside the steps, where nobody said
constexpr double kStretch = 1.1;         // checkpoints and hiccups
constexpr double kWorthWaiting = 0.03;   // part of the energy bill that a later start must save
constexpr Duration kHour = hours(1);

std::vector<QueueSpec> queue_specs(const State& s) {
  if (!s.policy.queues.empty()) return s.policy.queues;
  std::vector<QueueSpec> specs;
  for (const auto& [name, use] : s.used) {
    if (name.empty() || specs.size() == kQueuesMax) continue;
    QueueSpec q;
    q.name = name;
    specs.push_back(std::move(q));
  }
  return specs;
}

// What there is to share.
Pool pool_of(const State& s) {
  Pool pool;
  pool.capacity = whole_gpus(s.site.gpus());
  const auto scarce = scarce_models(s.policy);
  pool.first_model = scarce[0];
  pool.second_model = scarce[1];
  if (scarce[0].empty()) return pool;
  for (const NodeSpec& n : s.site.nodes) {
    for (std::size_t k = 0; k < scarce.size(); ++k) {
      if ((n.gpu_model.empty() ? s.site.gpu_model : n.gpu_model) != scarce[k]) continue;
      pool.capacity[static_cast<std::size_t>(Resource::first_model) + k] += std::int64_t{s.site.gpus_per_node} * 1000;
    }
  }
  return pool;
}

// GPUs draw power, for queues that have a limit of it.
Amounts with_power(const State& s, Amounts a) {
  const double watts = static_cast<double>(a[static_cast<std::size_t>(Resource::gpus)]) * s.policy.scheduling.gpu_kw;
  a[static_cast<std::size_t>(Resource::power)] = static_cast<std::int64_t>(watts);
  return a;
}

double share_left(const Job& j) {
  if (j.spec.steps == 0) return 1;
  const double done = static_cast<double>(std::min(j.progress.durable_steps, j.spec.steps)) / static_cast<double>(j.spec.steps);
  return 1 - done;
}

// Who may go ahead of whom is decided by what the engine enforces, not by what runs like it took.
bool bound_by_limit(const JobSpec& spec) { return spec.by_limit && spec.time_limit_s > 0; }

// By its own word: steps and their length, or the limit its owner set.
Duration said(const JobSpec& spec) {
  if (spec.time_limit_s > 0) return from_seconds(spec.time_limit_s);
  const double init = spec.init_s >= 0 ? spec.init_s : kStartUp_s;
  return from_seconds(init + std::min(1e8, static_cast<double>(spec.steps) * spec.step_s) * kStretch);
}

// The price of running from `hour` hours after now on for `run`; nothing where prices are not known so far.
std::optional<double> price_of(const State& s, std::int64_t hour, Duration run) {
  const PriceAnnounced& p = s.prices;
  const std::int64_t first = (s.now.utc - p.from).ns / kHour.ns + hour;
  const std::int64_t count = std::max<std::int64_t>(1, (run.ns + kHour.ns / 2) / kHour.ns);
  double sum = 0;
  for (std::int64_t h = first; h < first + count; ++h) {
    if (h < 0 || h >= static_cast<std::int64_t>(p.price_per_mwh.size())) return std::nullopt;
    const auto i = static_cast<std::size_t>(h);
    sum += p.price_per_mwh[i];
    if (i < p.carbon_g_per_kwh.size()) sum += p.carbon_g_per_kwh[i] / 1000 * s.policy.scheduling.carbon_per_tonne;
  }
  return sum / static_cast<double>(count);
}

// Cheaper hours lie ahead, and there is time to wait for them. The last hour before it must start is not gambled with.
std::string waits_for_price(const State& s, const Job& j) {
  const auto now = price_of(s, 0, seconds(1));
  const double worth = j.spec.value_per_gpu_h;
  if (now && worth > 0 && !worth_running(worth, *now, s.policy.scheduling.gpu_kw)) {
    return fmt::format("power costs {:.0f} per MWh now, more than its value of {} per GPU-hour bears", *now,
                       render_number(worth));
  }
  if (!j.spec.deferrable || j.spec.deadline.ns == 0) return {};
  const Duration run = expected_run(s, j);
  const std::int64_t slack = (j.spec.deadline - s.now.utc - run).ns / kHour.ns - 1;
  const auto cost_now = price_of(s, 0, run);
  if (slack <= 0 || !cost_now) return {};
  for (std::int64_t h = 1; h <= slack; ++h) {
    const auto later = price_of(s, h, run);
    if (!later) break;
    if (*later < *cost_now - kWorthWaiting * std::abs(*cost_now)) {
      return fmt::format("it may wait for cheaper power: {:.1f} per MWh from {} h from now, {:.1f} if it started now", *later, h,
                         *cost_now);
    }
  }
  return {};
}

// Those ordered to stop: what they hold is as good as free, and goes to whom it was promised.
std::set<JobId> being_stopped(const State& s) {
  std::set<JobId> out;
  for (const std::string& key : s.open_orders) {
    const Action& a = s.orders.at(key).order.action;
    if (a.verb == Verb::requeue_job || a.verb == Verb::cancel_job) out.insert(a.job);
  }
  return out;
}

Waiter waiter_of(const State& s, const ClusterView& view, double fairness, const Job& j, double quantile) {
  Waiter w;
  w.id = j.id;
  w.shape = view.wanted_shape(s, j);
  w.gpus = static_cast<std::uint32_t>((milli_gpus(s.site, j.spec) + 999) / 1000);
  w.order = j.order;
  w.priority = j.spec.priority;
  w.fairness = fairness;
  w.value = j.spec.value_per_gpu_h;
  w.queued = j.queued;
  w.waited_before = j.attempt == 0 ? j.waited : Duration{};  // who has run has had his turn
  w.promised = j.promised_until.ns != 0 && s.mono() < j.promised_until;
  if (j.spec.deadline.ns != 0) w.deadline = s.mono() + (j.spec.deadline - s.now.utc);
  const Duration expected = expected_run(s, j, quantile);
  w.expected = bound_by_limit(j.spec) ? from_seconds(j.spec.time_limit_s) : expected;
  w.shape = view.beside_upgrade(w.shape, longest_run(s, j));
  w.ran = j.ran;
  const Scheduling& p = s.policy.scheduling;
  const double patience = std::min(p.compact_wait.seconds(), p.compact_runs * expected.seconds());
  w.compact = j.spec.nodes > 1 && !w.promised && (s.mono() - w.queued + w.waited_before).seconds() < patience;
  if (j.paused_until.ns != 0) w.paused_until = j.paused_until;
  return w;
}

}  // namespace

Quotas quotas_of(const State& s) {
  Quotas q(queue_specs(s), pool_of(s));
  std::vector<Usage> past(q.size());
  for (const auto& [name, use] : s.used) {
    const QueueIndex i = q.find(name);
    q.take(i, with_power(s, use.held));
    // Aged to now, and added to every queue above.
    Usage aged = use.past;
    accrue(aged, use.held, s.mono(), s.policy.scheduling.half_life);
    for (QueueIndex up = i;; up = q.parent(up)) {
      past[up].at = s.mono();
      for (std::size_t r = 0; r < kResources; ++r) past[up].amount[r] += aged.amount[r];
      if (up == kRootQueue) break;
    }
  }
  q.set_past(past, s.policy.scheduling.half_life);
  return q;
}

Amounts ask_of(const State& s, const Quotas&, const JobSpec& spec) {
  return with_power(s, amounts_of(s, spec, milli_gpus(s.site, spec)));
}

std::string why_never(const State& s, const Quotas& quotas, const JobSpec& spec) {
  const std::string why = quotas.never(quotas.find(queue_of(spec)), ask_of(s, quotas, spec));
  if (!why.empty()) return "it can never start: " + why;
  const std::string large = why_too_large(s, spec);
  return large.empty() ? large : "it can never start: " + large;
}

RankPolicy rank_policy(const State& s) {
  RankPolicy p;
  p.wait_limit = s.policy.scheduling.wait_limit;
  p.in_order = s.policy.scheduling.in_order;
  return p;
}

BackfillPolicy backfill_policy(const State& s) {
  BackfillPolicy p;
  p.reserve = std::max(1U, s.policy.scheduling.reserve);
  p.always_reserve = false;
  p.pass_max = s.policy.scheduling.compact_wait;
  return p;
}

Duration expected_run(const State& s, const Job& j, double quantile) {
  EstimatePolicy policy;
  policy.quantile = quantile;
  const Duration whole = estimate_run(s.histories, j.spec.user, j.spec.name, said(j.spec), policy).run;
  return from_seconds(std::max(1.0, whole.seconds() * share_left(j)));
}

Duration longest_run(const State& s, const Job& j) {
  const Duration limit = said(j.spec);
  return limit.ns > 0 ? limit : expected_run(s, j, kLongRun);
}

Time expected_end_of(const State& s, const Job& j, double quantile) {
  const Time now = s.mono();
  if (j.phase != JobPhase::running) return now + expected_run(s, j, quantile);
  const Time safe = now - (s.now.utc - j.checkpointed);  // mono, of its last word
  if (safe > j.began && j.progress.durable_steps > 0 && j.spec.steps > 0) {
    // It has told how far it is: what is left takes as long as its steps do.
    const double left = static_cast<double>(j.spec.steps - std::min(j.progress.durable_steps, j.spec.steps)) * j.spec.step_s;
    return expected_end(safe, from_seconds(std::max(1.0, left * kStretch / part_of(j))), now);
  }
  const Duration run = expected_run(s, j, quantile);
  return expected_end(j.began, part_of(j) == 1 ? run : from_seconds(run.seconds() / part_of(j)), now);
}

std::string held_back(const State& s, const ClusterView& view, const Quotas& quotas, const Job& j) {
  if (j.hopeless) return "a job it was to follow did not complete: it can never start; cancel it";
  if (!j.waits_for.empty()) return fmt::format("it follows job {}, which has not completed", render(j.waits_for.front()));
  if (!j.spec.barred.empty()) return j.spec.barred;
  if (std::string why = waits_for_price(s, j); !why.empty()) return why;
  const Shape shape = view.shape_of(j.spec);
  if (shape.model != kAnyModel && shape.model >= view.layout().models.size()) {
    return fmt::format("no node has GPUs of the model {}: it can never start", j.spec.gpu_model);
  }
  if (shape.pool == kNoPool) return fmt::format("no node is in pool {}: it cannot start", j.spec.pool);
  if (std::string why = why_never(s, quotas, j.spec); !why.empty()) return why;
  const QueueIndex q = quotas.find(queue_of(j.spec));
  const Amounts ask = ask_of(s, quotas, j.spec);
  return may_hope(s, quotas, q, ask) ? std::string() : quotas.may_start(q, ask).why;
}

bool may_hope(const State& s, const Quotas& quotas, QueueIndex q, const Amounts& ask) {
  if (!quotas.allows_but_for_room(q, ask)) return false;
  // The cluster is full: that is no matter of quotas, and the job may wait for room.
  const auto gpus = static_cast<std::size_t>(Resource::gpus);
  return quotas.in_use(kRootQueue)[gpus] + ask[gpus] > whole_gpus(s.site.gpus())[gpus] || quotas.allows(q, ask);
}

Line line_up(const State& s, ClusterView& view, const Quotas& quotas, double quantile) {
  Line line;
  const std::vector<double> factors = quotas.factors();
  const bool guarantees = !s.policy.queues.empty();
  for (const auto& [order, id] : s.queue) {
    const Job& j = s.jobs.at(id);
    if (!ready(j) || !view.tree().ever_fits(view.shape_of(j.spec))) continue;
    const QueueIndex q = quotas.find(queue_of(j.spec));
    const Amounts ask = ask_of(s, quotas, j.spec);
    if (!may_hope(s, quotas, q, ask)) continue;
    if (!waits_for_price(s, j).empty()) continue;
    line.waiting.push_back(waiter_of(s, view, quotas.size() > 1 ? 0.5 + factors[q] : 1, j, quantile));
    line.waiting.back().entitled = guarantees && quotas.within_guarantee(q, ask);
  }
  line.order = rank(line.waiting, s.mono(), rank_policy(s));
  const std::set<JobId> leaving = being_stopped(s);
  for (const JobId id : s.placed) {
    const Job& j = s.jobs.at(id);
    Runner r;
    r.id = id;
    r.expected_end = leaving.count(id) != 0   ? s.mono() + seconds(1)
                     : bound_by_limit(j.spec) ? std::max(j.began + from_seconds(j.spec.time_limit_s), s.mono() + seconds(1))
                                              : expected_end_of(s, j, quantile);
    r.where = &view.where(j);
    r.milli = j.spec.gpu_milli > 0 ? j.spec.gpu_milli : 1000;
    line.running.push_back(r);
  }
  std::sort(line.running.begin(), line.running.end(),
            [](const Runner& a, const Runner& b) { return std::tie(a.expected_end, a.id) < std::tie(b.expected_end, b.id); });
  return line;
}

Gang gang_of(const State& s, ClusterView& view, const Quotas& quotas, const Job& j) {
  Gang g;
  g.id = j.id;
  g.queue = quotas.find(queue_of(j.spec));
  g.priority = j.spec.priority;
  g.shape = view.held_shape(j);
  const Choice& where = view.where(j);
  g.nodes = where.nodes;
  g.slots = where.slots;
  g.since_checkpoint_s = std::max(0.0, (s.now.utc - j.checkpointed).seconds());
  g.restart_s = j.progress.init_ms > 0 ? static_cast<double>(j.progress.init_ms) / 1000 : kStartUp_s;
  g.running_s = std::max(0.0, (s.mono() - j.began).seconds());
  g.remaining_s = std::max(0.0, (expected_end_of(s, j) - s.mono()).seconds());
  g.use = ask_of(s, quotas, j.spec);
  if (part_of(j) < 1) g.use = with_power(s, amounts_of(s, j.spec, static_cast<std::int64_t>(g.milli_gpus())));
  return g;
}

}  // namespace muster::decide
