// Gangs: they load, train in steps, write checkpoints to the shared store, and stop when a member fails. No event per step:
// work is a straight line between two changes of speed.
#include <fmt/core.h>

#include "base/check.h"
#include "base/hash.h"
#include "twin/cluster.h"

namespace muster::twin {
namespace {

constexpr double kLoadInit = 0.12;
constexpr double kLoadTrain = 0.92;
constexpr double kLimitMax_s = 1e8;  // three years: nobody will know

std::int64_t ms(std::int64_t ns) { return ns / 1'000'000; }

// How long a gang takes for work when nothing slows it: with fewer pieces longer, and that is no loss on those it has.
std::int64_t due_for(const Gang& g, std::int64_t work_ns) {
  return g.part == 1 ? work_ns : static_cast<std::int64_t>(static_cast<double>(work_ns) / g.part);
}

// Loading the program, the data and the last checkpoint, and building the communicators: grows with the logarithm of the size.
Duration init_time(std::uint32_t nodes, Prng& prng) {
  double log2 = 0;
  for (std::uint32_t n = nodes; n > 1; n /= 2) log2 += 1;
  return from_seconds((75 + 24 * log2) * (0.8 + 0.5 * prng.unit()));
}

}  // namespace

std::uint32_t Cluster::add_gang(JobId id, const JobSpec& spec) {
  std::uint32_t g;
  if (!free_gangs.empty()) {
    g = free_gangs.back();
    free_gangs.pop_back();
  } else {
    g = static_cast<std::uint32_t>(gangs.size());
    gangs.emplace_back();
  }
  const std::uint32_t turn = gangs[g].turn + 1;
  gangs[g] = Gang{};
  Gang& x = gangs[g];
  x.id = id;
  x.spec = spec;
  x.turn = turn;
  x.step_ns = std::max<std::int64_t>(1'000'000, from_seconds(std::min(std::max(spec.step_s, 0.001), 1e6)).ns);
  constexpr std::int64_t kWorkMax = INT64_MAX / 4;
  const auto steps_max = static_cast<std::uint64_t>(kWorkMax / x.step_ns);
  x.total_ns = static_cast<std::int64_t>(std::min(std::max<std::uint64_t>(spec.steps, 1), steps_max)) * x.step_ns;
  gang_of[id] = g;
  if (truth) truth->arrived(id, spec.after, milli_gpus(config.site, spec), now);
  return g;
}

void Cluster::drop_gang(std::uint32_t g) {
  Gang& x = gangs[g];
  MUSTER_CHECK(x.nodes.empty());
  if (truth) truth->gone(x.id, x.durable_ns >= x.total_ns, now);
  gang_of.erase(x.id);
  x.id = {};
  x.life = 0;
  ++x.turn;
  free_gangs.push_back(g);
}

std::uint32_t Cluster::find_gang(JobId id) const {
  const auto it = gang_of.find(id);
  return it == gang_of.end() ? kNone : it->second;
}

JobId Cluster::submit_job(const JobSpec& spec) {
  const JobId id{next_job++, 0};
  if (spec.array == 0) {
    add_gang(id, spec);
    emit(JobSubmitted{id, spec});
    return id;
  }
  for (std::uint32_t i = 0; i < std::min(spec.array, kArrayMax); ++i) {
    JobSpec member = spec;
    member.array = 0;
    member.name = fmt::format("{}_{}", spec.name, i);
    add_gang({id.number, i + 1}, member);
    emit(JobSubmitted{{id.number, i + 1}, std::move(member)});
  }
  return id;
}

void Cluster::allocated(std::int64_t delta) {
  const Duration since = now - allocated_since;
  allocated_milli_ms += allocated_milli * (since.ns / 1'000'000) + allocated_milli * (since.ns % 1'000'000) / 1'000'000;
  allocated_since = now;
  allocated_milli += delta;
}

void Cluster::launch(std::uint32_t g, const Action& where, std::uint32_t order, Prng& prng) {
  Gang& x = gangs[g];
  x.nodes = where.nodes;
  x.slots = where.slots;
  // Whole nodes are told without their slots, however they were asked for.
  if (std::all_of(x.slots.begin(), x.slots.end(), [&](std::uint16_t s) { return s == all_slots(); })) x.slots.clear();
  x.attempt_before = x.attempt;
  x.attempt = where.attempt != 0 ? where.attempt : x.attempt + 1;
  x.phase = Phase::launching;
  x.again = where.verb == Verb::restart_job;
  x.start_order = order;
  x.life = next_life++;
  x.since = now;
  if (truth) truth->queued(x.id, false, now);
  occupy(g);
  // A start-up that is known exactly includes the engine's own part of it.
  const Duration delay = x.spec.init_s >= 0 ? Duration{} : from_seconds(0.8 + 1.4 * prng.unit());
  queue.push(now + delay, Tick::gang, g, ++x.turn);
}

void Cluster::launched(std::uint32_t g) {
  Gang& x = gangs[g];
  for (const NodeId n : x.nodes) {
    if (node(n).condition != NodeCondition::up) return fail_start(g, fmt::format("node {} went down", name(n)));
  }
  if (truth) truth->launched(x.id, now);
  emit(JobStarted{x.id, x.attempt, x.nodes, x.slots});
  const std::uint32_t order = x.start_order;
  x.start_order = kNone;
  finish_order(order, Status::done, {});
  Prng prng(config.seed, fmt::format("gang/{}/{}", render(x.id), x.attempt));
  const Duration usual = init_time(static_cast<std::uint32_t>(x.nodes.size()), prng);
  begin_init(g, x.spec.init_s >= 0 ? from_seconds(std::min(x.spec.init_s, 1e6)) : usual);
  watch_limit(g, {});
  const double bugs_per_h = kind_rate[static_cast<std::size_t>(FaultKind::app_bug)];
  if (bugs_per_h > 0 && !calmed) {
    const double at_s = 3600 * prng.exponential(1 / bugs_per_h);
    if (at_s < 30 * 86400.0) queue.push(now + from_seconds(at_s), Tick::gang_bug, g, x.life);
  }
  haunt(g);
}

void Cluster::fail_start(std::uint32_t g, const std::string& why) {
  Gang& x = gangs[g];
  const std::uint32_t order = x.start_order;
  x.start_order = kNone;
  release_nodes(g);
  x.phase = x.again ? Phase::broken : Phase::queued;
  if (truth) truth->queued(x.id, x.phase == Phase::queued, now);
  x.attempt = x.attempt_before;
  x.life = 0;
  ++x.turn;
  finish_order(order, Status::failed, why);
}

void Cluster::begin_init(std::uint32_t g, Duration left) {
  Gang& x = gangs[g];
  x.phase = Phase::init;
  x.work_ns = x.durable_ns;
  x.init_ns = x.checkpoint_ns = x.slow_ns = 0;
  x.checkpoints = 0;
  x.paced_every = {};
  x.writing_ns = -1;
  x.told_work_ns = x.work_ns;
  x.told_slow_ns = 0;
  x.since = now;
  x.doom_at = kNever;
  queue.push(now + left, Tick::gang, g, ++x.turn);
  load_nodes(g, kLoadInit);
}

// Work at the next checkpoint: at the end of a step, and never in the last one, for the end is a checkpoint of its own.
std::int64_t Cluster::next_target(Gang& x) const {
  double after_s = x.spec.checkpoint_every_s;
  if (x.paced_every.ns > 0) {
    // On a fixed grid of times, so that what delays one checkpoint does not move the next; also after the clock was set.
    const std::int64_t every = x.paced_every.ns;
    std::int64_t left = (x.paced_next - utc()).ns;
    if (left <= 0 || left > 2 * every) left = (left % every + every) % every;
    if (left < x.step_ns) left += every;
    x.paced_next = utc() + nanoseconds(left);
    after_s = static_cast<double>(left) / 1e9 * (x.speed > 0 ? x.speed : 1);
  }
  if (after_s <= 0) return x.total_ns;
  const double every = after_s * 1e9 / static_cast<double>(x.step_ns);
  const std::int64_t steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(every, 1e12)));
  const std::int64_t left = (x.total_ns - x.work_ns) / x.step_ns;
  return steps < left ? (x.work_ns / x.step_ns + steps) * x.step_ns : x.total_ns;
}

// Told how often to write, and when the next time. It takes effect at once.
void Cluster::pace(std::uint32_t g, Duration every, Time next) {
  Gang& x = gangs[g];
  x.paced_every = every;
  x.paced_next = next;
  if (x.phase != Phase::compute) return;
  settle(x);
  x.target_ns = next_target(x);
  aim(g);
}

void Cluster::begin_compute(std::uint32_t g) {
  Gang& x = gangs[g];
  x.phase = Phase::compute;
  x.since = now;
  x.speed = speed_of(x);
  x.target_ns = next_target(x);
  aim(g);
  load_nodes(g, kLoadTrain);
}

void Cluster::aim(std::uint32_t g) {
  Gang& x = gangs[g];
  ++x.turn;
  if (x.speed <= 0) return;  // a change of speed will aim again
  const std::int64_t left = x.target_ns - x.work_ns;
  const std::int64_t wait = x.speed == 1 ? left : static_cast<std::int64_t>(static_cast<double>(left) / x.speed) + 1;
  queue.push(now + nanoseconds(std::max<std::int64_t>(wait, 0)), Tick::gang, g, x.turn);
}

std::int64_t Cluster::work_now(const Gang& g) const {
  if (g.phase != Phase::compute) return g.work_ns;
  const std::int64_t elapsed = (now - g.since).ns;
  const std::int64_t done = g.speed == 1 ? elapsed : static_cast<std::int64_t>(static_cast<double>(elapsed) * g.speed);
  return std::min(g.work_ns + done, g.target_ns);
}

void Cluster::settle(Gang& g) {
  const std::int64_t elapsed = (now - g.since).ns;
  if (truth) {
    if (g.phase == Phase::compute) {
      const std::int64_t work = work_now(g);
      truth->worked(g.id, due_for(g, work - g.work_ns), work, now);
    } else {
      const bool writes = g.phase == Phase::writing, hung = g.phase == Phase::hung;
      truth->did(g.id, writes ? Doing::checkpoint : hung ? Doing::lost : Doing::starting, now);
    }
  }
  if (g.phase == Phase::compute) {
    const std::int64_t work = work_now(g);
    g.slow_ns += elapsed - due_for(g, work - g.work_ns);
    g.work_ns = work;
  } else if (g.phase == Phase::writing) {
    g.checkpoint_ns += elapsed;
  } else if (g.phase == Phase::init) {
    g.init_ns += elapsed;
  }
  g.since = now;
}

void Cluster::speed_changed(std::uint32_t g) {
  Gang& x = gangs[g];
  if (x.phase != Phase::compute) return;
  const double speed = speed_of(x);
  if (speed == x.speed) return;
  settle(x);
  const bool stall = speed == 0 || x.speed == 0;
  x.speed = speed;
  aim(g);
  // Members that wait for a slow one do less: their activity falls. A stall of seconds is over before anybody looks.
  if (!stall) {
    for (const NodeId n : x.nodes) tell(n, -1, kLoad);
  }
}

void Cluster::begin_write(std::uint32_t g) {
  Gang& x = gangs[g];
  x.phase = Phase::writing;
  ++x.turn;
  if (x.spec.checkpoint_stall_s >= 0) {
    // Copied to the hosts' memory while the steps stop; from there it goes to the store beside them.
    queue.push(now + from_seconds(std::min(x.spec.checkpoint_stall_s, 1e6)), Tick::gang, g, x.turn);
    return;
  }
  store.begin(now, g, static_cast<std::uint32_t>(x.nodes.size()), x.spec.checkpoint_gb);
  reschedule_store();
}

void Cluster::give_up_write(std::uint32_t g) {
  store.end(now, g);
  gangs[g].writing_ns = -1;
  reschedule_store();
}

void Cluster::reschedule_store() {
  if (const auto f = store.next(now)) queue.push(f->at, Tick::storage, 0, store.turn());
}

void Cluster::store_done(std::uint32_t turn) {
  if (turn != store.turn()) return;
  const auto f = store.next(now);
  if (!f) return;
  if (f->at > now + nanoseconds(1)) return reschedule_store();  // rounding: a moment too early
  store.end(now, f->writer);
  Gang& x = gangs[f->writer];
  settle(x);
  const bool beside = x.writing_ns >= 0;
  x.durable_ns = beside ? x.writing_ns : x.work_ns;
  x.writing_ns = -1;
  if (truth) truth->safe(x.id, x.durable_ns);
  ++x.checkpoints;
  emit(JobProgressed{x.id, x.attempt, progress_of(x)}, false);
  if (!beside) begin_compute(f->writer);
  reschedule_store();
}

void Cluster::phase_over(std::uint32_t g) {
  Gang& x = gangs[g];
  switch (x.phase) {
    case Phase::launching: launched(g); break;
    case Phase::init:
      settle(x);
      describe_gang(g);
      begin_compute(g);
      break;
    case Phase::compute: {
      settle(x);
      x.slow_ns -= due_for(x, x.target_ns - x.work_ns);  // the last nanosecond of rounding
      x.work_ns = x.target_ns;
      if (x.work_ns >= x.total_ns) {
        x.durable_ns = x.total_ns;
        if (truth) truth->safe(x.id, x.total_ns);
        end_gang(g, JobEnd::completed, {});
      } else if (x.writing_ns >= 0) {
        begin_compute(g);  // the hosts' memory holds one checkpoint at a time: this one is left out
      } else {
        begin_write(g);
      }
      break;
    }
    case Phase::writing:  // the stall of a checkpoint that is written beside the steps
      settle(x);
      x.writing_ns = x.work_ns;
      store.begin(now, g, static_cast<std::uint32_t>(x.nodes.size()), x.spec.checkpoint_gb);
      reschedule_store();
      begin_compute(g);
      break;
    case Phase::queued:
    case Phase::hung:
    case Phase::broken: break;
  }
}

Progress Cluster::progress_of(const Gang& g) const {
  Progress p;
  p.steps = static_cast<std::uint64_t>(g.work_ns / g.step_ns);
  p.durable_steps = static_cast<std::uint64_t>(g.durable_ns / g.step_ns);
  p.init_ms = ms(g.init_ns);
  p.checkpoint_ms = ms(g.checkpoint_ns);
  p.slow_ms = ms(std::max<std::int64_t>(g.slow_ns, 0));
  p.checkpoints = g.checkpoints;
  return p;
}

// The collective that lacks a member stops everybody at once; how long until the gang is told so depends on the fault.
void Cluster::doom(std::uint32_t g, Duration after, JobEnd end, std::string detail) {
  Gang& x = gangs[g];
  if (x.phase == Phase::launching || x.phase == Phase::queued || x.phase == Phase::broken) return;
  if (x.doom_at <= now + after) return;  // something quicker is on its way
  settle(x);
  if (x.phase == Phase::writing || x.writing_ns >= 0) give_up_write(g);
  x.phase = Phase::hung;
  ++x.turn;
  x.doom_at = now + after;
  x.doom_end = end;
  x.doom_detail = std::move(detail);
  queue.push(x.doom_at, Tick::gang_doom, g, x.life);
}

void Cluster::watch_limit(std::uint32_t g, Duration ran) {
  const Gang& x = gangs[g];
  if (x.spec.time_limit_s <= 0 || x.spec.time_limit_s > kLimitMax_s) return;
  const Duration left = from_seconds(x.spec.time_limit_s) - ran;
  queue.push(now + std::max(left, Duration{}), Tick::gang_limit, g, x.life);
}

// As a batch system does: whatever it is doing, its time is up. What it has not written down is lost.
void Cluster::over_limit(std::uint32_t g) {
  const Duration limit = from_seconds(gangs[g].spec.time_limit_s);
  end_gang(g, JobEnd::timed_out, fmt::format("time limit of {} reached", render_duration(limit)));
}

void Cluster::end_gang(std::uint32_t g, JobEnd end, const std::string& detail) {
  Gang& x = gangs[g];
  if (x.phase == Phase::launching) return fail_start(g, detail);
  settle(x);
  if (x.phase == Phase::writing || x.writing_ns >= 0) give_up_write(g);
  emit(JobEnded{x.id, x.attempt, end, progress_of(x), detail});
  release_nodes(g);
  x.phase = Phase::broken;
  x.work_ns = x.durable_ns;
  x.doom_at = kNever;
  x.life = 0;
  ++x.turn;
  if (end == JobEnd::completed || end == JobEnd::cancelled || end == JobEnd::timed_out) drop_gang(g);
}

// A job's own word: once a minute, if a step was finished since the last one.
void Cluster::step_report(Gang& g) {
  if (g.phase != Phase::compute) return;
  const std::int64_t work = work_now(g);
  const std::int64_t slow = g.slow_ns + (now - g.since).ns - due_for(g, work - g.work_ns);
  const std::int64_t done = work - g.told_work_ns;
  if (done <= 0 || work / g.step_ns == g.told_work_ns / g.step_ns) return;
  const double stretch = static_cast<double>(due_for(g, done) + slow - g.told_slow_ns) / static_cast<double>(done);
  const std::uint64_t dice =
      xxh64({reinterpret_cast<const char*>(&work), sizeof work}, g.id.number + (std::uint64_t{g.id.array_index} << 32));
  const double noise = 1 + 0.006 * (static_cast<double>(dice >> 40) / 16777216.0 - 0.5);
  inbox.steps.push_back({utc(), g.id, g.attempt, static_cast<std::uint64_t>(work / g.step_ns),
                         static_cast<double>(g.step_ns) / 1e9 * stretch * noise});
  g.told_work_ns = work;
  g.told_slow_ns = slow;
}

}  // namespace muster::twin
