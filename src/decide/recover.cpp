#include "decide/recover.h"

#include <fmt/core.h>

#include "decide/broken.h"
#include "decide/choose.h"
#include "decide/dossier.h"
#include "decide/freeze.h"
#include "decide/upgrade/upgrade.h"
#include "decide/words.h"

namespace muster::decide {
namespace {

constexpr Duration kRetry = minutes(1);            // after an engine failed to do what it was asked
constexpr Duration kSilentPatience = minutes(10);  // a crashed host often comes back by itself: power is cut only after this
constexpr Duration kSilentStop = minutes(2);       // a job on a silent node that answers a probe is left alone this long
constexpr Duration kProbeAnswer = seconds(5);      // for what a probe reads to arrive
constexpr Duration kWeighAgain = minutes(30);      // whether a job is to be moved off a node that it can go on with
constexpr std::uint32_t kTriesMax = 40;            // orders for one incident before a person must look

constexpr double kLemonTimes = 4;  // a lemon fails so many times as often as its fleet: in bad weather nobody is one

// A node that fails again and again, by itself and not because everything does.
bool lemon(const State& s, NodeId n) {
  const Lemons& l = s.policy.lemons;
  if (l.score <= 0 || !l.quarantine || lemon_score(s, n) < l.score) return false;
  double all = 0;
  for (std::uint32_t k = 0; k < s.nodes.size(); ++k) all += s.nodes[k].past.empty() ? 0 : lemon_score(s, NodeId{k});
  return lemon_score(s, n) >= kLemonTimes * all / static_cast<double>(s.nodes.size());
}

// What is known about one incident while it is being decided on.
struct Case {
  const State& s;
  ClusterView& view;
  const Incident& i;
  const NodeState& node;
  const Runbook& book;
  Decisions& out;

  Time mono() const { return s.mono(); }
  std::string name() const { return s.site.nodes[i.node.v].name; }

  void move(Stage stage, std::uint32_t rung, Time due, std::string note) {
    out.push_back(Body(IncidentMoved{i.id, stage, rung, due, std::move(note)}));
  }
  void close(std::string how) { out.push_back(Body(IncidentClosed{i.id, std::move(how)})); }

  Reason reason(const char* step, std::string sentence, std::vector<std::string> alternatives) const {
    Reason r;
    r.rule = fmt::format("recover/{}/{}", name_of(i.cause), step);
    r.book = fmt::format("{}/{}", book.name, book.version);
    r.sentence = std::move(sentence);
    r.findings = i.findings;
    r.alternatives = std::move(alternatives);
    r.incident = i.id;
    r.actor = "muster";
    return r;
  }
  void want(Verb verb, Reason r) { want(verb, node.first_job(), std::move(r)); }
  void want(Verb verb, JobId job, Reason r) {
    if (s.idle()) {  // looked at again when Muster is resumed; an engine that is away is tried again after a while
      if (!s.paused) move(i.stage, i.rung, s.engine_asked + kEngineRetry, {});
      return;
    }
    if (said_before(verb)) return;  // looked at again when somebody has answered
    Wanted w;
    w.action.verb = verb;
    w.action.node = i.node;
    w.action.slot = verb == Verb::reset_gpu || verb == Verb::bounce_link ? i.slot : std::int16_t{-1};
    w.action.job = job;
    if (const Job* j = find_job(s, job)) w.action.attempt = j->attempt;
    if (verb == Verb::replace_node) w.action.dossier = dossier(s, i);
    w.reason = std::move(r);
    out.push_back(std::move(w));
  }
  // In shadow mode each thing that would be done is said once; an approval is asked for once.
  bool said_before(Verb verb) const {
    if (in_shadow(s, i.node)) {
      return std::any_of(s.refusals.begin(), s.refusals.end(),
                         [&](const RefusalRecord& x) { return x.incident == i.id && x.action.verb == verb; });
    }
    return std::any_of(s.approvals.begin(), s.approvals.end(), [&](const auto& x) {
      return x.second.incident == i.id && x.second.action.verb == verb && !x.second.granted &&
             (x.second.rejected || x.second.until > s.mono());
    });
  }

  bool over() const {  // every finding has been seen to be gone
    return std::all_of(i.findings.begin(), i.findings.end(), [&](FindingId f) {
      const Finding* x = find_finding(s, f);
      return x == nullptr || x->cleared.ns != 0;
    });
  }
  bool stale() const {  // the newest evidence is older than the policy trusts
    Time newest;
    for (FindingId id : i.findings) {
      const Finding* f = find_finding(s, id);
      if (f == nullptr || f->cleared.ns != 0) continue;
      for (const Evidence& x : f->evidence) newest = std::max(newest, x.at);
    }
    return evidence_age(s, newest) > s.policy.limits.evidence_max_age;
  }
  bool was_explained() const {  // by a common cause, which is over
    return std::any_of(i.findings.begin(), i.findings.end(), [&](FindingId f) {
      const Finding* x = find_finding(s, f);
      return x != nullptr && x->part_of.some();
    });
  }
  const Finding* came_up_since(Time utc) const {  // grave, still there and not what the last test was about
    for (FindingId id : i.findings) {
      const Finding* f = find_finding(s, id);
      if (f != nullptr && f->cleared.ns == 0 && f->opened >= utc && f->severity == Severity::critical) return f;
    }
    return nullptr;
  }
  bool second_witness() const {
    return std::any_of(i.findings.begin(), i.findings.end(), [&](FindingId f) {
      const Finding* x = find_finding(s, f);
      return x != nullptr && has_witness_beyond_log(*x);
    });
  }
  // Where to begin: further up for a node that had the same before, at the top for one that fails again and again.
  std::uint32_t first_step(std::string* why = nullptr) const {
    if (book.steps.empty()) return 0;
    const auto last = static_cast<std::uint32_t>(book.steps.size() - 1);
    const std::uint32_t week = repeats(s, i.node, i.cause, days(7));
    const std::uint32_t month = repeats(s, i.node, i.cause, days(28));
    std::uint32_t first = book.skip_7d > 0 ? std::min(last, week / book.skip_7d) : 0;
    std::string said = first > 0 ? fmt::format("it had the same {} times in 7 days", week) : std::string();
    if (book.last_28d > 0 && month >= book.last_28d) {
      first = last;
      said = fmt::format("it had the same {} times in 28 days", month);
    }
    if (lemon(s, i.node)) {
      first = last;
      said = fmt::format("it is a lemon: score {:.1f} in 28 days", lemon_score(s, i.node));
    }
    if (why != nullptr && first > 0) *why = std::move(said);
    return first;
  }
  std::uint32_t rung() const { return std::max(i.rung, first_step()); }
  const OrderRecord* last_order() const {
    const auto it = s.orders.find(i.pending);
    return i.pending.empty() || it == s.orders.end() ? nullptr : &it->second;
  }
};

// One that runs there and is touched by the fault: a job on other GPUs of the node goes on.
const Job* job_to_care_for(const Case& c) {
  for (const Share& x : c.node.shares) {
    const Job* j = find_job(c.s, x.job);
    const bool touched = c.i.slot < 0 || (x.slots >> c.i.slot & 1) != 0;
    if (j != nullptr && j->phase == JobPhase::running && touched) return j;
  }
  return nullptr;
}

// Where a job could go on, and what each way would lose.
struct Ways {
  std::optional<Wanted> spare;
  std::optional<Wanted> smaller;
  Weighed weighed;
};

Ways ways_of(Case& c, const Job& j) {
  Ways out;
  out.spare = mend(c.s, c.view, j);
  if (!out.spare) out.smaller = mend_smaller(c.s, c.view, j);
  Stakes k = stakes_of(c.s, c.i, j, c.book, out.spare.has_value());
  if (out.smaller) k.smaller = static_cast<double>(out.smaller->action.nodes.size()) / j.spec.nodes;
  out.weighed = weigh(k);
  return out;
}

// The job is moved to other nodes where there are any near it, goes on with fewer where it can, else it is sent back to the
// queue.
void move_job(Case& c, const Job& j, Ways ways, const char* says) {
  const Weighed& weighed = ways.weighed;
  const bool smaller = !ways.spare && ways.smaller && weighed.smaller;
  std::optional<Wanted> mended = std::move(smaller ? ways.smaller : ways.spare);
  if (c.s.idle()) return;
  std::vector<std::string> others;
  for (std::size_t k = 1; k < weighed.options.size(); ++k) {
    const Option& o = weighed.options[k];
    others.push_back(o.cost_gpu_h < 0 ? fmt::format("{}: {}", o.what, o.why)
                                      : fmt::format("{}: {:.1f} GPU-hours instead of {:.1f}; {}", o.what, o.cost_gpu_h,
                                                    weighed.options.front().cost_gpu_h, o.why));
  }
  if (mended) {
    others.insert(others.begin(), "requeue it: it would wait in the queue, and others would take its nodes");
    Reason r = c.reason(smaller ? "smaller" : "mend",
                        fmt::format("job {} {} {} ({}): {}", render(j.id), says, c.name(), say(c.i.cause), mended->placement.why),
                        std::move(others));
    r.options = weighed.options;
    if (c.said_before(Verb::restart_job)) return;
    mended->action.node = c.i.node;
    mended->reason = std::move(r);
    c.out.push_back(std::move(*mended));
    return;
  }
  others.insert(others.begin(), "swap in a spare: none is free where the gang could use it");
  Reason r =
      c.reason("requeue", fmt::format("job {} {} {} ({})", render(j.id), says, c.name(), say(c.i.cause)), std::move(others));
  r.options = weighed.options;
  c.want(Verb::requeue_job, j.id, std::move(r));
}

// Weighs what it would lose, and moves it.
void stop_job(Case& c, const Job& j) {
  if (j.spec.no_requeue) return;
  move_job(c, j, ways_of(c, j), "hangs on");
}

// The job on a failing node, by what the runbook says: it ends by itself, it is stopped because it hangs there, or it is moved
// when that costs least; but only on the word of a second witness. Returns when to look again, mono.
Time care_for_job(Case& c) {
  const Job* j = job_to_care_for(c);
  if (c.book.job == JobCare::wait || j == nullptr || c.over()) return kNever;
  // Silence may be the exporter's alone: a node that does not answer when it is asked is a second witness.
  const bool silent = c.i.cause == FindingKind::node_silent;
  if (!c.i.probed && (silent || !c.second_witness())) {
    c.want(Verb::probe_node,
           silent ? c.reason("probe", fmt::format("nothing is heard of {}: ask the node itself", c.name()),
                             {"stop the job now: it may be that only the exporter is silent"})
                  : c.reason("probe", fmt::format("only the kernel log of {} speaks so far: ask the node itself", c.name()),
                             {"stop the job now: a log line can be forged and is not enough to stop work"}));
    return kNever;
  }
  if (!c.second_witness()) return kNever;  // nobody else confirms it: the job may end by itself
  const Time when = c.i.since + (silent ? std::max(kSilentStop, c.s.policy.requeue_after) : c.s.policy.requeue_after);
  if (c.book.job == JobCare::requeue && c.mono() < when) return when;
  if (c.book.job == JobCare::requeue) {
    stop_job(c, *j);
    return kNever;
  }
  Ways ways = ways_of(c, *j);
  // A checkpoint that is waited for wakes the incident, and then "now" costs least.
  if (ways.weighed.when == When::now) {
    move_job(c, *j, std::move(ways), "is moved off");
    return kNever;
  }
  return c.mono() + kWeighAgain;  // a checkpoint wakes it before
}

// Nothing was done to it since it was last asked for everything it knows.
bool probed_last(const Case& c) {
  const OrderRecord* last = nullptr;
  for (const auto& [key, o] : c.s.orders) {
    if (o.order.reason.incident == c.i.id && (last == nullptr || o.intended >= last->intended)) last = &o;
  }
  return last != nullptr && last->order.action.verb == Verb::probe_node;
}

// The node is drained and empty: prove the fault where there is doubt, else try the next repair.
void try_rung(Case& c) {
  if (c.i.rung >= c.book.steps.size()) {
    return c.move(Stage::held, c.i.rung, kNever, "every step of the runbook was tried: a person must look");
  }
  std::string skips;
  const std::uint32_t rung = std::max(c.i.rung, c.first_step(&skips));
  const Verb verb = c.book.steps[rung];
  std::vector<std::string> others;
  for (std::size_t k = c.i.rung; k < rung; ++k)
    others.push_back(fmt::format("{}: milder, but {}", name_of(c.book.steps[k]), skips));
  for (std::size_t k = rung + 1; k < c.book.steps.size(); ++k)
    others.push_back(fmt::format("{}: kept for later, if this does not help", name_of(c.book.steps[k])));
  const bool doubt = c.book.test_first || c.over() || c.stale() || c.was_explained() || !c.second_witness();
  if (!c.second_witness() && !c.i.probed && c.node.condition == NodeCondition::up) {
    return c.want(Verb::probe_node, c.reason("probe", fmt::format("there is one witness only: ask {} itself", c.name()),
                                             {"test it at once: takes minutes, where the node's own word takes seconds"}));
  }
  if (doubt && !c.i.disproved && !c.i.repaired && c.node.condition == NodeCondition::up) {
    const char* why = c.over()            ? "the fault is no longer seen"
                      : c.book.test_first ? "this is a suspicion only"
                      : c.was_explained() ? "what it was part of is over"
                      : c.stale()         ? "the evidence is old by now"
                                          : "there is one witness only";
    return c.want(Verb::test_node,
                  c.reason("test", fmt::format("{}: test {} before anything is repaired", why, c.name()), std::move(others)));
  }
  const Time patient_until = c.i.since + kSilentPatience;
  // A suspicion is no reason to repair what cannot be tested yet.
  const bool untested = c.book.test_first && !c.i.disproved && !c.i.repaired && c.node.condition != NodeCondition::up;
  if (untested && c.mono() < patient_until) return c.move(Stage::emptying, c.i.rung, patient_until, {});
  if (others.empty()) others = {"return it untested and unrepaired: the next job would meet the same fault"};
  if (verb == Verb::power_cycle_node && rung == 0 && c.mono() < patient_until) {
    return c.move(Stage::emptying, c.i.rung, patient_until, {});
  }
  if (verb == Verb::replace_node && c.node.condition == NodeCondition::up && !probed_last(c)) {
    return c.want(Verb::probe_node,
                  c.reason("probe", fmt::format("a person is to replace a part of {}: read its counters first", c.name()),
                           {"send the ticket without: whoever swaps the part could not compare"}));
  }
  c.want(verb, c.reason(name_of(verb).data(),
                        fmt::format("step {} of {} against {} on {}", rung + 1, c.book.steps.size(), say(c.i.cause), c.name()),
                        std::move(others)));
}

void test_repaired(Case& c) {
  c.want(Verb::test_node, c.reason("test", fmt::format("after a repair of {}: test before it returns", c.name()),
                                   {"return it untested: a repair is not proof"}));
}

void put_back(Case& c) {
  c.want(Verb::undrain_node, c.reason("return", fmt::format("{} passed its test: back into service", c.name()),
                                      {"keep it out: it has proven itself"}));
}

void on_opened(Case& c) {
  if (c.node.hold == Hold::person) return c.move(Stage::held, 0, kNever, "a person has drained this node: left alone");
  if (c.node.hold == Hold::muster) return c.move(Stage::emptying, 0, c.mono(), "drained already");
  if (c.i.tries > kTriesMax) return c.move(Stage::held, c.i.rung, kNever, "too many tries: a person must look");
  if (c.over()) return c.close("went away by itself before anything was done");
  const bool held_back = c.i.due.ns != 0 && c.i.due != kNever && c.i.due > c.mono();
  const bool old = c.i.due.ns != 0 && c.stale() && !c.i.probed && c.node.condition == NodeCondition::up;
  if (!held_back && old && job_to_care_for(c) == nullptr) {
    return c.want(Verb::probe_node, c.reason("probe", fmt::format("what was held back is old by now: ask {} itself", c.name()),
                                             {"drain it on the old word: it may be sound by now"}));
  }
  const bool take_over = c.node.hold == Hold::engine;
  const std::string why = take_over ? fmt::format("the scheduler itself took {} out: {}", c.name(), c.node.hold_reason)
                                    : fmt::format("{} on {}: no new work there", say(c.i.cause), c.name());
  const char* other = take_over ? "leave it to a person: it may be sound, and would wait for one"
                                : "leave it in service: the next job would meet the same fault";
  if (!held_back) c.want(Verb::drain_node, c.reason("drain", why, {other}));
  // A drain can be held back by a limit for long; a job that hangs on the node must not wait for that.
  if (c.i.due.ns != 0) care_for_job(c);
}

std::string put_back_by(const Case& c) {
  const auto t = c.s.upgrade.turns.find(c.i.node);
  const bool rolled_back = t != c.s.upgrade.turns.end() && t->second.back && t->second.stage == TurnStage::done;
  return rolled_back ? fmt::format("back in service: {} {} was taken back", c.s.upgrade.spec.what, c.s.upgrade.spec.version)
                     : std::string("put back into service by a person");
}

void on_emptying(Case& c) {
  if (c.node.hold == Hold::none) return c.close(put_back_by(c));
  if (c.node.hold == Hold::person) return c.move(Stage::held, c.i.rung, kNever, "a person has taken over this node");
  if (c.node.hold == Hold::engine) return c.move(Stage::opened, c.i.rung, c.mono(), "the engine drained it: to be taken over");
  if (!c.node.busy()) {
    if (c.i.tries > kTriesMax) return c.move(Stage::held, c.i.rung, kNever, "too many tries: a person must look");
    // A test or a return that the engine did not get is asked for again, not the repair before it.
    if (c.i.stage == Stage::returning) return put_back(c);
    if (c.i.stage == Stage::testing && c.i.repaired) return test_repaired(c);
    return try_rung(c);
  }
  const Time again = care_for_job(c);
  if (again != kNever && again != c.i.due) c.move(c.i.stage, c.i.rung, again, {});
}

// An order for this incident has come to its end.
void on_outcome(Case& c, const OrderRecord& o) {
  if (c.node.hold == Hold::person) return c.move(Stage::held, c.i.rung, kNever, "a person has taken over this node");
  const Verb verb = o.order.action.verb;
  const bool done = o.status == Status::done;
  const std::string how = o.detail.empty() ? std::string(name_of(o.status)) : fmt::format("{}: {}", name_of(o.status), o.detail);
  switch (verb) {
    case Verb::drain_node:
      if (done) return c.move(Stage::emptying, c.i.rung, c.mono(), "drained");
      return c.move(Stage::opened, c.i.rung, c.mono() + kRetry, "drain " + how);
    case Verb::probe_node:
    case Verb::requeue_job:
    case Verb::restart_job: {
      const Job* j = job_to_care_for(c);
      const bool mute = verb == Verb::probe_node && o.status == Status::failed && c.i.cause == FindingKind::node_silent;
      // It has hung since the node was last heard.
      const bool in_time = c.s.policy.silent_after + (c.mono() - c.i.since) >= c.s.policy.requeue_after;
      if (mute && in_time && c.book.job == JobCare::requeue && j != nullptr && !c.over()) return stop_job(c, *j);
      const Duration pause = verb == Verb::probe_node && done ? kProbeAnswer : kRetry;
      return c.move(c.node.hold == Hold::muster ? Stage::emptying : Stage::opened, c.i.rung, c.mono() + pause, {});
    }
    case Verb::test_node: {
      const std::uint32_t next = c.i.repaired ? c.rung() + 1 : c.i.rung;
      if (const Finding* f = c.came_up_since(o.intended); f != nullptr && done)
        return c.move(Stage::emptying, next, c.mono(), fmt::format("passed, but {} came up meanwhile", name_of(f->kind)));
      if (done) return put_back(c);
      if (o.status == Status::failed) return c.move(Stage::emptying, next, c.mono(), "test " + how);
      return c.move(Stage::testing, c.i.rung, c.mono() + kRetry, "test " + how);
    }
    case Verb::undrain_node:
      if (const Finding* f = c.came_up_since(o.intended); f != nullptr)
        return c.move(done ? Stage::opened : Stage::emptying, c.i.rung, c.mono(),
                      fmt::format("{} came up as it was put back", name_of(f->kind)));
      if (done) return c.close(fmt::format("back in service after {}", render_duration(c.s.now.utc - c.i.opened)));
      return c.move(Stage::returning, c.i.rung, c.mono() + kRetry, "undrain " + how);
    default:  // a repair
      if (done) return test_repaired(c);
      if (o.status == Status::failed)
        return c.move(Stage::emptying, c.rung() + 1, c.mono(), fmt::format("{} {}", name_of(verb), how));
      return c.move(Stage::emptying, c.i.rung, c.mono() + kRetry, fmt::format("{} {}", name_of(verb), how));
  }
}

// A common cause explains all that is wrong there: nothing is done to the node for as long as it stands. Who was drained before
// that was known waits, and is tested when it is over.
void leave_to(Case& c, const Finding& cause) {
  if (c.node.hold == Hold::none && !c.s.out_nodes.count(c.i.node)) {
    return c.close(fmt::format("part of a common cause: {}", cause.subject));
  }
  if (c.i.stage == Stage::emptying && c.i.due == kNever) return;
  c.move(Stage::emptying, c.i.rung, kNever, fmt::format("{} explains it: nothing is repaired while that stands", cause.subject));
}

// A rolling upgrade has the node, or is to take back what does harm there. What hangs on it is not left to that.
bool left_to_upgrade(const Case& c) {
  return !c.node.busy() && c.node.hold == Hold::muster && to_be_taken_back(c.s, c.i.node);
}

void step(const State& s, ClusterView& view, const Incident& i, Decisions& out) {
  const Runbook* book = runbook_for(s, i);
  const bool acts = book != nullptr && book->act && i.node.some();
  if (!acts) {
    static const NodeState nowhere;
    static const Runbook none;
    Case c{s, view, i, nowhere, none, out};
    if (c.over()) return close_of_site(s, i, out);
    if (i.stage == Stage::opened) c.move(Stage::watching, 0, kNever, how_it_began(s, i));
    return;
  }
  Case c{s, view, i, s.nodes[i.node.v], *book, out};
  if (const OrderRecord* o = c.last_order()) {
    if (o->status == Status::pending || o->status == Status::unknown) return;
    if (left_to_upgrade(c)) return c.move(Stage::emptying, i.rung, kNever, "what was installed on it is taken back first");
    return on_outcome(c, *o);
  }
  for (const auto& [id, a] : s.approvals) {
    if (a.incident == i.id && a.rejected && i.stage != Stage::held)
      return c.move(Stage::held, i.rung, kNever, fmt::format("{} said no to {}: a person has it", a.by, name_of(a.action.verb)));
  }
  if (in_turn(s, i.node) && !c.node.busy()) return;
  if (left_to_upgrade(c)) return;
  const bool in_hands = c.node.hold == Hold::person || i.stage == Stage::held;
  if (const Finding* cause = cause_of(s, i); cause != nullptr && !in_hands && i.stage != Stage::returning) {
    return leave_to(c, *cause);
  }
  switch (i.stage) {
    case Stage::opened:
    case Stage::draining:
    case Stage::watching: return on_opened(c);
    case Stage::held:
      if (c.node.hold == Hold::none) c.close(put_back_by(c));
      return;
    case Stage::emptying:
    case Stage::repairing:
    case Stage::testing:
    case Stage::returning: return on_emptying(c);
    case Stage::closed: return;
  }
}

void open_incidents(const State& s, Decisions& out) {
  std::uint64_t next = s.next_incident;
  std::map<NodeId, IncidentId> opened;  // in this turn
  for (FindingId id : s.new_findings) {
    const Finding* f = find_finding(s, id);
    if (f == nullptr || f->cleared.ns != 0) continue;
    const Runbook* book = runbook_for(s, f->node, f->kind, f->code);
    const bool acts = book != nullptr && book->act;
    if (!acts && !concerns_site(*f)) continue;
    if (cause_of(s, *f) != nullptr) continue;  // its common cause has the incident
    Time newest;
    for (const Evidence& e : f->evidence) newest = std::max(newest, e.at);
    if (evidence_age(s, newest) > s.policy.limits.evidence_max_age) continue;  // stale: starts nothing
    IncidentId on_node = f->node.some() ? s.nodes[f->node.v].incident : IncidentId{};
    if (const auto it = opened.find(f->node); f->node.some() && it != opened.end()) on_node = it->second;
    if (on_node.some()) {
      out.push_back(Body(IncidentJoined{on_node, id}));
      continue;
    }
    const IncidentId fresh{next++};
    opened[f->node] = fresh;
    out.push_back(Body(IncidentOpened{fresh, id}));
  }
}

}  // namespace

void decide_recovery(const State& s, ClusterView& view, Decisions& out) {
  decide_freezes(s, out);
  open_incidents(s, out);
  std::set<IncidentId> due = s.dirty_incidents;
  for (const auto& [at, id] : s.timers) {
    if (at > s.mono()) break;
    due.insert(id);
  }
  for (IncidentId id : due) {
    const Incident* i = find_incident(s, id);
    if (i == nullptr || i->stage == Stage::closed) continue;
    const std::size_t before = out.size();
    step(s, view, *i, out);
    // Nothing to do although its time has come: not looked at again before something changes.
    const bool timed = i->due.ns != 0 && i->due <= s.mono();
    if (timed && out.size() == before && i->pending.empty() && !s.idle()) {
      out.push_back(Body(IncidentMoved{i->id, i->stage, i->rung, kNever, {}}));
    }
  }
}

}  // namespace muster::decide
