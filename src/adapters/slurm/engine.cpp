#include "adapters/slurm/engine.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>

#include "adapters/slurm/heartbeat.h"
#include "base/log.h"
#include "base/text.h"

namespace muster::slurm {
namespace {

constexpr std::size_t kWorkers = 12;
constexpr std::size_t kSlowMost = 8;            // of them, at most: acts that take minutes must not keep drains waiting
constexpr Duration kStartWithin = seconds(15);  // a job that has its nodes runs by then, or Slurm does not want it to
constexpr Duration kRebootWithin = minutes(30);
constexpr Duration kBarred = minutes(1);  // a job that Slurm did not let start
constexpr Duration kNodesEvery = seconds(1);
constexpr Duration kNodesAtLeast = seconds(10);  // however much it costs: people drain nodes, and nobody else tells
constexpr Duration kPartitionsEvery = seconds(30);
constexpr Duration kVouchEvery = seconds(15);  // well below the time after which a node counts as silent
constexpr double kNodesShare = 0.4;            // of the share that looking at jobs may take
constexpr double kCheapLook_s = 0.02;          // CPU: all jobs are asked about while a start is awaited, not only that one
constexpr std::size_t kAwaitedMost = 16;       // asked about one by one at a time
constexpr Duration kBeatEvery = seconds(2);
constexpr Duration kLoopAlive = seconds(20);  // no turn for so long: nobody would place what the gate holds
constexpr Duration kSilent = seconds(5);
constexpr auto kLetGoWithin = std::chrono::seconds(20);
constexpr std::size_t kAskOneByOne = 16;  // jobs; more are read with one list

Time read_clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return {static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec};
}

bool takes_minutes(Verb v) { return on_node(v) && v != Verb::drain_node && v != Verb::undrain_node; }

std::chrono::nanoseconds chrono_of(Duration d) { return std::chrono::nanoseconds(std::max<std::int64_t>(d.ns, 0)); }

}  // namespace

Engine::Engine(Settings settings, const Site& site, std::string boot, Mailbox& mailbox)
    : settings_(std::move(settings)),
      site_(site),
      boot_(std::move(boot)),
      mailbox_(mailbox),
      eyes_(settings_.conf, settings_.tools),
      tools_(settings_.conf, settings_.tools),
      node_reader_(eyes_, settings_.rest),
      hands_(tools_, settings_, site_, reasons_),
      picture_(site_, settings_.partitions, settings_.otherwise, reasons_) {}

Engine::~Engine() {
  {
    const std::lock_guard hold(lock_);
    stop_ = true;
  }
  changed_.notify_all();
  if (looker_.joinable()) looker_.join();
  if (heart_.joinable()) heart_.join();
  for (std::thread& t : workers_) t.join();
}

// What ended while no Muster looked: squeue has forgotten it, Slurm's accounting has not.
void Engine::catch_up(const State& known) {
  if (known.now.utc.ns == 0 || !accounting_) return;
  const auto rows = tools_.history(known.now.utc);
  if (!rows) {
    log(LogLevel::warning,
        fmt::format("what ended since {} is not read from Slurm's accounting: {}", render_utc(known.now.utc), rows.error().what));
    return;
  }
  emit_all(picture_.see_history(*rows, known.now.utc, now().utc));
}

// A Slurm that is away when Muster starts is asked again later.
void Engine::read_config() {
  const auto config = tools_.config();
  if (!config) return;
  const auto value = [&](const char* key) {
    const auto it = config->find(key);
    return it == config->end() ? std::string() : it->second;
  };
  const std::lock_guard hold(lock_);
  configured_ = true;
  reasons_.slurm_user(value("SlurmUser"));
  picture_.preempt_by_partition(value("PreemptType").find("partition_prio") != std::string::npos);
  // Without a database Slurm itself does not let jobs age.
  accounting_ = value("AccountingStorageType").find("slurmdbd") != std::string::npos;
  if (accounting_) picture_.age_by({parse_double(value("PriorityWeightAge")).value_or(0), parse_span_s(value("PriorityMaxAge"))});
}

void Engine::begin(const State& known) {
  for (std::uint32_t n = 0; n < known.nodes.size() && n < site_.nodes.size(); ++n) {
    if (known.nodes[n].hold == Hold::muster)
      reasons_.wrote(NodeId{n}, reason_text(known.nodes[n].incident, known.nodes[n].hold_reason));
  }
  for (const auto& [key, r] : known.orders) {
    const Reason& why = r.order.reason;
    if (r.order.action.node.some()) reasons_.wrote(r.order.action.node, reason_text(why.incident, why.sentence));
  }
  picture_.know(known);
  read_config();
  for (const std::string& key : known.open_orders) known_orders_[key] = known.orders.at(key).order;
  catch_up(known);
  turned_ = heard_ = now().steady;
  looker_ = std::thread([this] { look(); });
  heart_ = std::thread([this] { keep_beating(); });
  for (std::size_t i = 0; i < kWorkers; ++i) workers_.emplace_back([this] { work(); });
}

Now Engine::now() const { return {read_clock(CLOCK_REALTIME), read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_BOOTTIME)}; }

void Engine::emit(Body body) { ready_.push_back({{boot_, "engine", ++seq_}, now().utc, std::move(body), {}}); }

void Engine::emit_all(std::vector<Body> bodies) {
  for (Body& b : bodies) emit(std::move(b));
  if (!bodies.empty()) mailbox_.wake();
}

// ---- looking

double Engine::looking_cpu() const { return eyes_.cpu_s() + static_cast<double>(read_clock(CLOCK_THREAD_CPUTIME_ID).ns) / 1e9; }

// Looking takes no more than its share of a core, however long the queue.
void Engine::look() {
  Time jobs_at{}, nodes_at{}, partitions_at{};
  const auto rest = [](double cost_s, double share) { return Duration{static_cast<std::int64_t>(cost_s / share * 1e9)}; };
  for (;;) {
    const Time t = now().steady;
    if (t >= partitions_at) {
      look_at_partitions();
      partitions_at = t + kPartitionsEvery;
    }
    if (t >= nodes_at) {
      look_at_nodes();
      nodes_at = t + std::clamp(rest(node_look_cost_s_, settings_.poll_share * kNodesShare), kNodesEvery, kNodesAtLeast);
    }
    if (t >= jobs_at) {
      look_at_jobs();
      jobs_at = t + std::max(settings_.poll, rest(job_look_cost_s_, settings_.poll_share));
    } else {
      look_at_waiting();
    }
    settle_waiting();
    answer_inquiries();
    std::unique_lock hold(lock_);
    if (closing_) {
      hold.unlock();
      let_all_go(std::chrono::steady_clock::now() + kLetGoWithin);
      hold.lock();
    }
    const Time next = std::min(jobs_at, nodes_at);
    const bool busy = !waiting_.empty();
    const Duration most = busy ? std::min(next - now().steady, milliseconds(200)) : next - now().steady;
    changed_.wait_for(hold, chrono_of(most), [&] { return stop_; });
    if (stop_) return;
    if (busy && job_look_cost_s_ < kCheapLook_s) jobs_at = std::min(jobs_at, now().steady + milliseconds(100));
  }
}

void Engine::look_begins() {
  const std::lock_guard hold(lock_);
  picture_.look_begins();
}

void Engine::look_at_jobs() {
  const double before = looking_cpu();
  look_begins();
  auto rows = eyes_.jobs();
  if (!rows) {
    const std::lock_guard hold(lock_);
    wrong_ = rows.error().what;
    return;
  }
  {
    const std::lock_guard hold(lock_);
    emit_all(picture_.see_jobs(*rows, now().utc));
    last_jobs_ = std::move(*rows);
    heard_ = now().steady;
    wrong_.clear();
    looked_ = true;
  }
  job_look_cost_s_ = looking_cpu() - before;
  gate_strays();
  give_away();
  ask_about_slots();
}

// Where the queue is long: only those whose start is awaited.
void Engine::look_at_waiting() {
  std::vector<JobId> ids;
  {
    const std::lock_guard hold(lock_);
    for (const Waiting& w : waiting_) {
      if (w.order.action.job.some() && ids.size() < kAwaitedMost) ids.push_back(w.order.action.job);
    }
  }
  for (const JobId id : ids) {
    look_begins();
    const auto rows = eyes_.job_row(id);
    if (!rows) return;
    const std::lock_guard hold(lock_);
    emit_all(picture_.see_some(*rows, now().utc));
  }
}

void Engine::look_at_partitions() {
  const auto rows = eyes_.partitions();
  if (!rows) return;  // the looks at nodes and jobs say so
  const std::lock_guard hold(lock_);
  for (const std::string& news : picture_.see_partitions(*rows)) log(LogLevel::warning, news);
}

// What Muster cannot place is Slurm's, and its comment says why.
void Engine::give_away() {
  std::map<JobId, std::string> ids;
  std::vector<JobId> theirs;
  {
    const std::lock_guard hold(lock_);
    const bool ours = open_ && alone();
    if (ours) ids = picture_.not_ours();
    if (ours) theirs = picture_.owners_starts();
  }
  for (const JobId id : theirs) {
    if (auto ok = hands_.leave_start(id, "somebody set its start time"); !ok)
      log(LogLevel::warning, fmt::format("job {} could not be left to Slurm: {}", render(id), ok.error().what));
  }
  std::size_t done = 0;
  for (const auto& [id, why] : ids) {
    if (++done > kAskOneByOne) return;  // the rest at the next look
    if (auto ok = hands_.hand_over(id, why); !ok)
      log(LogLevel::warning, fmt::format("job {} could not be left to Slurm: {}", render(id), ok.error().what));
  }
}

void Engine::gate_strays() {
  std::set<JobId> ids;
  {
    const std::lock_guard hold(lock_);
    if (open_ && alone()) ids = picture_.strays();
  }
  std::size_t done = 0;
  for (const JobId id : ids) {
    if (++done > kAskOneByOne) return;  // the rest at the next look
    if (auto ok = hands_.gate_again(id); !ok)
      log(LogLevel::warning, fmt::format("job {} could not be put behind the gate again: {}", render(id), ok.error().what));
  }
}

// Jobs on parts of nodes: which GPUs they have is not in squeue's list.
void Engine::ask_about_slots() {
  std::set<JobId> ids;
  {
    const std::lock_guard hold(lock_);
    ids = picture_.without_slots();
  }
  std::size_t asked = 0;
  for (const JobId id : ids) {
    if (++asked > kAskOneByOne) break;  // the rest at the next look
    const auto line = tools_.job(render(id));
    if (!line) return;
    const std::lock_guard hold(lock_);
    picture_.told_slots(id, parse_slots(*line));
  }
  if (ids.empty()) return;
  const std::lock_guard hold(lock_);
  emit_all(picture_.see_jobs(last_jobs_, now().utc));
}

void Engine::look_at_nodes() {
  const double before = looking_cpu();
  if (!configured_) read_config();  // before it: whose a drain is depends on SlurmUser's name
  look_begins();
  const Time began = now().steady;
  const auto look = node_reader_.look(began);
  const std::lock_guard hold(lock_);
  if (!look) {
    wrong_ = look.error().what;
    return;
  }
  const std::vector<NodeRow>& nodes = look->nodes;
  emit_all(picture_.see_nodes(nodes, look->reservations, now().utc));
  node_look_cost_s_ = looking_cpu() - before;
  heard_ = now().steady;
  if (heard_ - vouched_ >= kVouchEvery) {
    vouched_ = heard_;
    for (const NodeId n : picture_.heard()) samples_.push_back({now().utc, n, -1, Field::up, 1});
  }
  std::vector<Order> up;
  for (const Waiting& w : waiting_) {
    if (w.order.action.verb != Verb::reboot_node || w.since >= began) continue;  // an older answer knows nothing of it
    const auto row = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const NodeRow& n) { return n.name == picture_.name_of_node(w.order.action.node); });
    const auto sent = known_orders_.find(w.order.key);
    const bool back = row != nodes.end() && sent != known_orders_.end() && !row->has("REBOOT_ISSUED") &&
                      !row->has("REBOOT_REQUESTED") && !row->has("NOT_RESPONDING") && row->booted.ns > 0;
    if (back) up.push_back(w.order);
  }
  for (const Order& o : up) finish(o, {Status::done, "it has booted"});
}

// With lock_ held.
void Engine::finish(const Order& o, const Outcome& x) {
  std::erase_if(waiting_, [&](const Waiting& w) { return w.order.key == o.key; });
  if (x.status == Status::pending) {
    waiting_.push_back({o, now().steady, now().steady + (o.action.verb == Verb::reboot_node ? kRebootWithin : kStartWithin)});
    return;
  }
  picture_.let_go(o.action, x.status == Status::done);
  emit(OrderEnded{o.key, x.status, x.detail});
  mailbox_.wake();
}

// Starts that Slurm has carried out, and those it never will.
void Engine::settle_waiting() {
  std::vector<Order> late;
  {
    const std::lock_guard hold(lock_);
    std::vector<Order> done;
    for (const Waiting& w : waiting_) {
      const Action& a = w.order.action;
      const bool of_job = a.verb == Verb::start_job || a.verb == Verb::restart_job;
      if (of_job && (picture_.running(a.job) >= std::max<std::uint32_t>(a.attempt, 1) || !picture_.knows(a.job))) {
        done.push_back(w.order);
      } else if (now().steady >= w.until) {
        late.push_back(w.order);
      }
    }
    for (const Order& o : done) finish(o, {Status::done, {}});
  }
  for (const Order& o : late) {
    const Action& a = o.action;
    if (a.verb == Verb::reboot_node) {
      const std::lock_guard hold(lock_);
      finish(o, {Status::failed, "it did not come back from its reboot"});
      continue;
    }
    std::string why = "Slurm gives no reason";
    if (const auto line = tools_.job(render(a.job))) {
      const std::string_view reason = value_of(*line, "Reason");
      if (!reason.empty()) why = "Slurm: " + std::string(reason.substr(0, reason.find(' ')));
    }
    if (const auto ok = hands_.gate_again(a.job); !ok) log(LogLevel::warning, ok.error().what);
    const std::lock_guard hold(lock_);
    const bool closed = why.rfind("Slurm: Partition", 0) == 0;  // nobody could start there
    emit_all(picture_.bar(a.job, fmt::format("it could not start on the nodes chosen for it ({})", why), now().utc + kBarred,
                          closed ? 0 : 1));
    finish(o, {Status::failed, fmt::format("it did not start: {}", why)});
  }
}

void Engine::answer_inquiries() {
  std::vector<Order> asked;
  std::vector<std::string> strange;
  std::vector<JobRow> jobs;
  {
    const std::lock_guard hold(lock_);
    if (!looked_) return;
    for (const std::string& key : inquiries_) {
      const auto it = known_orders_.find(key);
      if (it == known_orders_.end()) {
        strange.push_back(key);
      } else {
        asked.push_back(it->second);
      }
    }
    inquiries_.clear();
    jobs = last_jobs_;
    for (const std::string& key : strange) emit(OrderEnded{key, Status::not_received, "this Slurm never saw it"});
    if (!strange.empty()) mailbox_.wake();
  }
  for (const Order& o : asked) {
    const Outcome x = hands_.look_back(o, jobs);
    const std::lock_guard hold(lock_);
    if (x.status != Status::unknown) finish(o, x);
  }
}

// ---- the gate

// Two that were started together, or one that was paused while the other came, must not act side by side: whose heart beats first
// goes on, and the other is paused, as a person would pause it, so that it neither decides nor asks again and again.
bool Engine::alone() {
  if (settings_.heartbeat.empty()) return true;
  const auto ok = check_alone(settings_);
  if (!ok && !anothers_) {
    log(LogLevel::warning, fmt::format("paused: {}; `muster resume` when it is gone", ok.error().what));
    CommandGiven pause;
    pause.verb = CommandVerb::pause;
    pause.actor = "another Muster on this Slurm";
    pause.id = fmt::format("engine-{}-{}", boot_, seq_);
    pause.reason = ok.error().what;
    emit(std::move(pause));
    mailbox_.wake();
  }
  anothers_ = !ok;
  return ok.has_value();
}

// Its age is what job_submit.lua and the release timer go by.
void Engine::beat() {
  if (settings_.heartbeat.empty()) return;
  const std::lock_guard hold(lock_);  // to the end: nobody leaves between the question and the beat
  const Time t = now().steady;
  if (!open_ || !looked_ || t - heard_ > kLoopAlive || t - turned_ > kLoopAlive || !alone()) return;
  const auto written = write_heartbeat(settings_);
  if (!written && !beat_failed_) log(LogLevel::warning, written.error().what);
  beat_failed_ = !written;
}

// Apart from the looks: on a busy machine one of those may take longer than a heartbeat stays fresh.
void Engine::keep_beating() {
  std::unique_lock hold(lock_);
  while (!stop_) {
    hold.unlock();
    beat();
    hold.lock();
    changed_.wait_for(hold, chrono_of(kBeatEvery), [&] { return stop_; });
  }
}

void Engine::open_for_business(bool yes) {
  const std::lock_guard hold(lock_);
  closing_ = (closing_ || open_) && !yes;
  if (yes && !open_) anothers_ = false;  // somebody says that it may act: whether it is alone is asked anew
  open_ = yes;
}

void Engine::leave(std::chrono::seconds most) {
  {
    const std::lock_guard hold(lock_);
    open_ = false;
  }
  let_all_go(std::chrono::steady_clock::now() + most);
}

void Engine::let_all_go(std::chrono::steady_clock::time_point until) {
  std::vector<JobId> ids;
  {
    const std::lock_guard hold(lock_);
    closing_ = false;
    if (!check_alone(settings_)) return;  // they wait for the other one
    ids = picture_.gated_waiting();
    remove_heartbeat(settings_);
  }
  // Many with one call: a queue of thousands must not take minutes.
  constexpr std::size_t kAtOnce = 200;
  for (std::size_t i = 0; i < ids.size() && std::chrono::steady_clock::now() < until; i += kAtOnce) {
    std::string list;
    for (std::size_t k = i; k < std::min(ids.size(), i + kAtOnce); ++k) list += (list.empty() ? "" : ",") + render(ids[k]);
    const std::string comment = fmt::format("AdminComment={}Muster is switched off", kLeft);
    if (auto ok = tools_.scontrol({"update", "JobId=" + list, "StartTime=now", comment}); !ok)
      log(LogLevel::warning, fmt::format("jobs could not be handed to Slurm, its release timer will: {}", ok.error().what));
  }
}

// ---- orders

Result<void> Engine::submit(const Order& order) {
  const std::lock_guard hold(lock_);
  if (known_orders_.count(order.key) != 0) return {};
  if (order.not_after < now().utc) return fail(Code::refused, "the order came too late");
  if (!alone()) return fail(Code::refused, "another Muster acts on this Slurm");
  known_orders_[order.key] = order;
  picture_.take_in_hand(order.action);
  orders_.push_back(order);
  changed_.notify_all();
  return {};
}

Result<void> Engine::inquire(const std::string& key) {
  const std::lock_guard hold(lock_);
  inquiries_.push_back(key);
  changed_.notify_all();
  return {};
}

void Engine::work() {
  for (;;) {
    Order o;
    bool gated = false;
    bool slow = false;
    {
      std::unique_lock hold(lock_);
      const auto next = [&] {
        return std::find_if(orders_.begin(), orders_.end(),
                            [&](const Order& x) { return !takes_minutes(x.action.verb) || slow_at_work_ < kSlowMost; });
      };
      changed_.wait(hold, [&] { return stop_ || next() != orders_.end(); });
      if (stop_) return;
      const auto it = next();
      o = std::move(*it);
      orders_.erase(it);
      slow = takes_minutes(o.action.verb);
      slow_at_work_ += slow ? 1 : 0;
      gated = picture_.gated(o.action.job);
    }
    const Outcome x = hands_.act(o, gated);
    const std::lock_guard hold(lock_);
    slow_at_work_ -= slow ? 1 : 0;
    finish(o, x);
    changed_.notify_all();
  }
}

// ---- the loop's side

void Engine::poll(Inbox& out) {
  {
    const std::lock_guard hold(lock_);
    turned_ = now().steady;
    out.events.insert(out.events.end(), std::make_move_iterator(ready_.begin()), std::make_move_iterator(ready_.end()));
    ready_.clear();
    out.samples.insert(out.samples.end(), samples_.begin(), samples_.end());
    samples_.clear();
  }
  mailbox_.collect(now().utc, out);
}

void Engine::wait(Time until) {
  {
    const std::lock_guard hold(lock_);
    turned_ = now().steady;
    if (!ready_.empty()) return;
  }
  mailbox_.wait_for(chrono_of(std::min(until - now().steady, seconds(1))));
}

std::string Engine::trouble() const {
  const std::lock_guard hold(lock_);
  if (now().steady - heard_ < kSilent) return node_reader_.trouble();
  // A tool that waits for slurmctld says nothing for half a minute: silence is trouble as much as an error.
  return "Slurm does not answer: what is shown is what was last known, and nothing can be done" +
         (wrong_.empty() ? std::string() : " (" + wrong_ + ")");
}

}  // namespace muster::slurm
