#include "decide/upgrade/upgrade.h"

#include <fmt/core.h>

#include "decide/upgrade/harm.h"
#include "decide/upgrade/sides.h"
#include "decide/upgrade/vacate.h"
#include "decide/waiting.h"
#include "model/upgrade_limits.h"
#include "model/upgrade_waves.h"

namespace muster::decide {
namespace {

constexpr Duration kRetry = minutes(1);            // after an engine did not do what it was asked
constexpr Duration kAskAgain = minutes(5);         // after a limit held a drain back
constexpr Duration kKeptFor = minutes(40);         // a node waits so long for a gang to reach its checkpoint
constexpr Duration kBeforeEnd = hours(2);          // what will not have ended by so long before the finish moves ...
constexpr double kPatience = 0.4;                  // ... when so much of the time has passed: estimates err, and many end before
constexpr Duration kSoon = minutes(6);             // nodes are kept for a gang whose checkpoint is no farther away
constexpr Duration kPassedOver = seconds(90);      // the queue had no use for a node that was idle for so long
constexpr Duration kLate = hours(5);               // so long before the finish gangs move also where it costs more
constexpr Duration kLast = hours(3);               // and so long before it whatever it costs
constexpr Duration kCanaryPatience = minutes(30);  // for idle nodes to come by, then work makes room
constexpr std::uint32_t kTriesMax = 12;            // orders for one node's turn before it is left alone
constexpr std::uint32_t kCanariesLeast = 3;

struct Campaign {
  const State& s;
  ClusterView& view;
  Decisions& out;
  const Upgrade& u = s.upgrade;
  std::vector<NodeId> targets;
  std::vector<NodeId> upgraded;  // and sound
  std::vector<NodeId> ready;     // of those, wholly free ones
  std::uint32_t busy_turns = 0;  // nodes out of service or kept free for it ...
  std::uint32_t kept = 0;        // ... of those, kept

  bool back() const { return u.phase == UpgradePhase::rolling_back; }
  Time finish() const { return u.began_mono + u.spec.finish_in - kBeforeEnd; }
  const Turn* turn(NodeId n) const {
    const auto it = u.turns.find(n);
    return it == u.turns.end() ? nullptr : &it->second;
  }
  std::uint32_t at_once() const { return away_at_once(s); }
  std::uint32_t canaries() const {
    const auto all = static_cast<std::uint32_t>(targets.size());
    if (!u.spec.canary_nodes.empty() && u.spec.canaries == 0)
      return static_cast<std::uint32_t>(serving() + canaries_to_come(s).size());
    return std::min(all, u.spec.canaries > 0 ? u.spec.canaries : std::max(kCanariesLeast, all / 100));
  }
  std::uint32_t serving() const { return serving_turns(u); }
  // All parts of a turn are one order: the installer takes them in this order, and boots as often as they need. Back in reverse.
  std::string version(bool old) const {
    if (u.spec.parts.empty()) return fmt::format("{} {}", u.spec.what, old ? u.spec.before : u.spec.version);
    std::string all;
    for (std::size_t k = 0; k < u.spec.parts.size(); ++k) {
      const UpgradePart& p = u.spec.parts[old ? u.spec.parts.size() - 1 - k : k];
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", p.what, old ? p.before : p.version);
    }
    return all;
  }

  Reason reason(const char* step, std::string sentence, std::vector<std::string> alternatives) const {
    Reason r;
    r.rule = fmt::format("upgrade/{}/{}", name_of(u.phase), step);
    r.sentence = std::move(sentence);
    r.alternatives = std::move(alternatives);
    r.upgrade = u.id;
    r.actor = "muster";
    return r;
  }
  void want(Verb verb, NodeId n, Reason r) {
    Wanted w;
    w.action.verb = verb;
    w.action.node = n;
    if (verb == Verb::install) w.action.version = version(turn(n)->back);
    w.reason = std::move(r);
    out.push_back(std::move(w));
  }
  void move(NodeId n, TurnStage stage, bool to_old, std::string note) {
    out.push_back(Body(TurnMoved{u.id, n, stage, to_old, std::move(note)}));
  }
  void phase(UpgradePhase p, std::string why) { out.push_back(Body(UpgradePhased{u.id, p, std::move(why)})); }
  const std::string& name(NodeId n) const { return s.site.nodes[n.v].name; }

  void survey();
  bool due(NodeId n) const;
  bool available(NodeId n) const;
  bool must_move(const Job& j) const;
  bool late(Duration before = kLate) const { return s.mono() + u.spec.watch + before > u.began_mono + u.spec.finish_in; }
  std::uint32_t to_keep() const;
  std::vector<NodeId> leaving(const Job& j, bool& stay) const;
  std::uint32_t pace(std::uint32_t left) const;
  bool behind(std::uint32_t left) const;
  void step(NodeId n, const Turn& t);
  void on_outcome(NodeId n, const Turn& t, const OrderRecord& o);
  void go_on(NodeId n, const Turn& t);
  void begin(NodeId n);
  std::uint32_t begin_idle(std::uint32_t room, bool passed_over);
  std::uint32_t begin_shared(std::uint32_t room);
  std::uint32_t begin_some(const std::vector<NodeId>& in_order, std::uint32_t room);
  void move_gangs(std::uint32_t room);
  std::uint32_t away_for_any_reason() const;
  std::uint32_t left_of_wave() const;
  std::set<std::uint32_t> begun_domains() const;
  void begin_more();
  void end_phase();
};

// Its turn is still to come.
bool Campaign::due(NodeId n) const {
  const Turn* t = turn(n);
  if (!std::binary_search(targets.begin(), targets.end(), n)) return false;
  if (back()) return t != nullptr && t->installed && !is_out(t->stage) && t->tries <= kTriesMax;
  if (t == nullptr) return !has_new_version(s, n);
  if (t->stage == TurnStage::skipped) return false;
  return t->stage == TurnStage::bad && !t->installed && t->tries < kTriesMax;
}

// Nothing else is the matter with it. On the way back trouble is what is expected.
bool Campaign::available(NodeId n) const {
  const NodeState& x = s.nodes[n.v];
  if (x.hold == Hold::person || x.hold == Hold::engine || in_shadow(s, n)) return false;
  // One that does not come up with it is installed anew from outside.
  const bool fell = back() && turn(n) != nullptr && turn(n)->stage == TurnStage::bad && x.hold == Hold::muster;
  if (x.condition != NodeCondition::up && !fell) return false;
  if (back()) {
    const Incident* i = find_incident(s, x.incident);
    const bool under_way = i != nullptr && s.open_orders.count(i->pending) != 0;
    return x.hold == Hold::none ? s.out_nodes.count(n) == 0 : !under_way;
  }
  return x.hold == Hold::none && !x.incident.some() && placeable(s, n);
}

// How many more nodes of a rack, and of an NVLink domain, may be away at once: asking for more is asking in vain.
class Away {
 public:
  explicit Away(const State& s) : s_(s) {
    for (const NodeSpec& n : s.site.nodes) {
      ++rack_all_[n.rack];
      ++domain_all_[n.domain];
    }
    for (const NodeId n : s.out_nodes) add(n);
  }
  bool fits(NodeId n) const {
    if (s_.out_nodes.count(n) != 0) return true;  // it is away already
    const Limits& l = s_.policy.limits;
    const NodeSpec& x = s_.site.nodes[n.v];
    const auto count = [](const auto& map, std::uint32_t key) {
      const auto it = map.find(key);
      return it == map.end() ? 0U : it->second;
    };
    const std::uint32_t in_domain = count(domain_all_, x.domain);
    return count(rack_, x.rack) < allowance(l.out_rack_pct, l.out_rack_floor, count(rack_all_, x.rack)) &&
           count(domain_, x.domain) < (in_domain == 1 ? 1 : allowance(l.out_domain_pct, l.out_domain_floor, in_domain));
  }
  void add(NodeId n) {
    ++rack_[s_.site.nodes[n.v].rack];
    ++domain_[s_.site.nodes[n.v].domain];
  }

 private:
  const State& s_;
  std::map<std::uint32_t, std::uint32_t> rack_all_, domain_all_, rack_, domain_;
};

void Campaign::survey() {
  targets = upgrade_targets(s);
  for (const auto& [n, t] : u.turns) kept += t.stage == TurnStage::kept ? 1 : 0;
  for (const auto& [n, t] : u.turns) busy_turns += is_out(t.stage) || t.stage == TurnStage::kept ? 1 : 0;
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) {
    const bool wanted = back() ? !has_new_version(s, NodeId{n}) : has_new_version(s, NodeId{n});
    if (!wanted || !placeable(s, NodeId{n})) continue;
    upgraded.push_back(NodeId{n});
    if (!s.nodes[n].busy()) ready.push_back(NodeId{n});
  }
}

bool Campaign::must_move(const Job& j) const {
  if (u.spec.wait_for_jobs) return false;
  if (back() || late()) return true;
  const bool patient = s.mono() < u.began_mono + from_seconds(u.spec.finish_in.seconds() * kPatience);
  return u.phase == UpgradePhase::canary || (!patient && expected_end_of(s, j) > finish());
}

// Nodes to be kept for gangs that are to move and of which not all nodes may be away at once: as many as the largest step needs.
std::uint32_t Campaign::to_keep() const {
  std::size_t most = 0;
  for (const JobId id : s.placed) {
    const Job& j = *find_job(s, id);
    if (j.phase != JobPhase::running || j.spec.no_requeue || !checkpoint_known(j) || !must_move(j)) continue;
    const Duration until = j.checkpointed + from_seconds(std::max(0.0, j.spec.checkpoint_every_s)) - s.now.utc;
    if (until > kSoon && s.mono() < finish()) continue;
    bool stay = false;
    const std::size_t leave = leaving(j, stay).size();
    if (stay) most = std::max(most, leave);
  }
  return std::min(static_cast<std::uint32_t>(most), at_once() * 3 / 4);
}

// Of the job's nodes that wait for their turn, as many as may be away at once. `stay`: there are more.
std::vector<NodeId> Campaign::leaving(const Job& j, bool& stay) const {
  std::vector<NodeId> leave;
  Away away(s);
  for (const NodeId n : j.nodes) {
    const Turn* t = turn(n);
    const bool empties = t != nullptr && t->stage == TurnStage::draining;
    const bool waits = due(n) && s.nodes[n.v].shares.size() == 1;
    if (empties || (waits && away.fits(n))) {
      if (!empties) away.add(n);
      leave.push_back(n);
    } else {
      stay = stay || waits;
    }
  }
  std::sort(leave.begin(), leave.end(),
            [&](NodeId a, NodeId b) { return std::tuple(s.site.nodes[a.v].leaf, a) < std::tuple(s.site.nodes[b.v].leaf, b); });
  return leave;
}

// ---- one node

void Campaign::go_on(NodeId n, const Turn& t) {
  const NodeState& x = s.nodes[n.v];
  if (t.tries > kTriesMax) return move(n, TurnStage::bad, t.back, "too many tries: a person must look");
  switch (t.stage) {
    case TurnStage::draining:
    case TurnStage::installing:  // it may have been given back meanwhile
      if (x.hold == Hold::none && s.out_nodes.count(n) == 0)
        return want(Verb::drain_node, n,
                    reason("drain", fmt::format("the turn of {} has come: {}", name(n), version(t.back)),
                           {"wait until all of the cluster is idle: it never is"}));
      if (x.busy() || x.hold != Hold::muster) return;
      if (t.stage == TurnStage::draining && u.spec.measured && !t.back) return move(n, TurnStage::measuring, false, {});
      return want(Verb::install, n,
                  reason("install", fmt::format("{} is empty: install {}", name(n), version(t.back)),
                         {"return it as it is: it would have to be emptied once more"}));
    case TurnStage::measuring:
      return want(Verb::test_node, n,
                  reason("measure", fmt::format("{} is empty: measure it before it gets {}", name(n), version(false)),
                         {"hold it against its kind alone: nodes of a kind differ more than a version makes"}));
    case TurnStage::testing:
      return want(Verb::test_node, n,
                  reason("test", fmt::format("{} has {}: test it before it returns", name(n), version(t.back)),
                         {"return it untested: the next job would be the test"}));
    case TurnStage::returning:
      return want(
          Verb::undrain_node, n,
          reason("return", fmt::format("{} passed its test: back into service", name(n)), {"keep it out: it has proven itself"}));
    default: return;
  }
}

void Campaign::on_outcome(NodeId n, const Turn& t, const OrderRecord& o) {
  const bool done = o.status == Status::done;
  const std::string how =
      fmt::format("{} {}{}{}", name_of(o.order.action.verb), name_of(o.status), o.detail.empty() ? "" : ": ", o.detail);
  // A fault that shows meanwhile is recovery's: it has the node from here on, drained as it is.
  const std::string trouble = trouble_on(s, n);
  if (!trouble.empty() && !back() && o.order.action.verb != Verb::undrain_node) return move(n, TurnStage::bad, t.back, trouble);
  switch (o.order.action.verb) {
    case Verb::drain_node:
      if (!done) return move(n, TurnStage::draining, t.back, how);
      return go_on(n, t);
    case Verb::install:
      if (done) return move(n, TurnStage::testing, t.back, {});
      return move(n, o.status == Status::failed ? TurnStage::bad : TurnStage::installing, t.back, how);
    case Verb::test_node:
      if (t.stage == TurnStage::measuring) {  // one that is not sound before is recovery's, not the version's fault
        if (done) return move(n, TurnStage::installing, false, {});
        return move(n, o.status == Status::failed ? TurnStage::bad : TurnStage::measuring, false, how);
      }
      if (done) return move(n, TurnStage::returning, t.back, {});
      return move(n, o.status == Status::failed ? TurnStage::bad : TurnStage::testing, t.back, how);
    default: break;
  }
  if (!done) return move(n, TurnStage::returning, t.back, how);
  if (t.back) return move(n, TurnStage::done, true, "back to " + version(true));
  const bool keep = u.phase == UpgradePhase::waves && !u.spec.wait_for_jobs && kept < to_keep();
  move(n, keep ? TurnStage::kept : TurnStage::watched, false, keep ? "kept free: a gang is to move here at its checkpoint" : "");
}

void Campaign::step(NodeId n, const Turn& t) {
  const NodeState& x = s.nodes[n.v];
  if (x.hold == Hold::person && t.stage != TurnStage::done && t.stage != TurnStage::skipped)
    return move(n, TurnStage::skipped, t.back, "a person has taken this node");
  if (is_out(t.stage)) {
    const auto o = s.orders.find(t.pending);
    if (back() && !t.back) {  // forward no more: what is under way ends first
      if (o != s.orders.end() && o->second.ended.ns == 0) return;
      return move(n, TurnStage::draining, true, {});
    }
    if (!t.pending.empty() && o != s.orders.end()) {
      if (o->second.ended.ns == 0) return;
      if (o->second.order.action.verb == Verb::drain_node && o->second.status == Status::done && x.busy()) return;  // it empties
      return on_outcome(n, t, o->second);
    }
    // Just moved on, or held back a while ago.
    const Duration pause = t.stage == TurnStage::draining ? kAskAgain : kRetry;
    const bool failed_before = t.since + pause > s.mono() && !t.note.empty();
    if (!failed_before) go_on(n, t);
    return;
  }
  if (t.stage == TurnStage::kept && (x.busy() || s.mono() > t.since + kKeptFor || u.phase != UpgradePhase::waves))
    return move(n, TurnStage::watched, false, {});
  if (t.stage != TurnStage::watched && t.stage != TurnStage::kept) return;
  if (const std::string trouble = trouble_on(s, n); !trouble.empty() && !back()) return move(n, TurnStage::bad, false, trouble);
  if (t.stage == TurnStage::watched && s.mono() - t.returned >= u.spec.watch) move(n, TurnStage::done, false, {});
}

// ---- whose turn is next

void Campaign::begin(NodeId n) {
  move(n, TurnStage::draining, back(), {});
  if (s.nodes[n.v].hold == Hold::muster) return;  // recovery has drained it
  out.push_back(Wanted{});
  Wanted& w = std::get<Wanted>(out.back());
  w.action.verb = Verb::drain_node;
  w.action.node = n;
  w.reason = reason("drain", fmt::format("the turn of {} has come: {}", name(n), version(back())),
                    {"wait until all of the cluster is idle: it never is"});
}

// From leaves with the fewest free nodes first, which gangs have the least use for, and there leaf by leaf; canaries from as many
// leaves as can be.
std::uint32_t Campaign::begin_idle(std::uint32_t room, bool passed_over) {
  std::vector<std::tuple<bool, std::uint32_t, std::uint32_t, NodeId>> idle;
  const std::set<std::uint32_t> begun = begun_domains();
  const std::vector<NodeId> first = canaries_to_come(s);
  std::map<std::uint32_t, std::uint32_t> in_leaf;
  for (std::uint32_t n = 0; n < s.nodes.size() && u.phase != UpgradePhase::canary; ++n) {
    if (!s.nodes[n].busy() && placeable(s, NodeId{n})) ++in_leaf[s.site.nodes[n].leaf];
  }
  for (const NodeId n : targets) {
    const NodeState& x = s.nodes[n.v];
    if (x.busy() || !due(n) || !available(n) || (passed_over && s.now.utc - x.changed < kPassedOver)) continue;
    if (!first.empty() && std::find(first.begin(), first.end(), n) == first.end()) continue;
    const std::uint32_t leaf = s.site.nodes[n.v].leaf;
    // Canaries from as many domains as can be; of the rest, those of domains that have begun come first.
    const bool fresh = u.spec.wait_for_jobs && (begun.count(s.site.nodes[n.v].domain) == 0) != (u.phase == UpgradePhase::canary);
    const std::uint32_t rank = u.phase == UpgradePhase::canary ? in_leaf[leaf]++ : in_leaf[leaf];
    idle.emplace_back(fresh, rank, leaf, n);
  }
  std::sort(idle.begin(), idle.end());
  std::vector<NodeId> in_order;
  in_order.reserve(idle.size());
  for (const auto& [fresh, rank, leaf, n] : idle) in_order.push_back(n);
  return begin_some(in_order, room);
}

// Nodes on which only parts are used, those with the least work first: nothing new comes there, and what is there moves or ends.
std::uint32_t Campaign::begin_shared(std::uint32_t room) {
  std::vector<std::pair<std::uint32_t, NodeId>> shared;
  for (const NodeId n : targets) {
    const auto& shares = s.nodes[n.v].shares;
    const bool whole = shares.size() == 1 && shares.front().slots == all_slots(s.site) && !back();
    if (shares.empty() || whole || !due(n) || !available(n)) continue;
    std::uint32_t used = 0;
    for (const Share& x : shares) used += x.milli * static_cast<std::uint32_t>(std::popcount(x.slots));
    shared.emplace_back(used, n);
  }
  std::sort(shared.begin(), shared.end());
  std::vector<NodeId> in_order;
  in_order.reserve(shared.size());
  for (const auto& [used, n] : shared) in_order.push_back(n);
  return begin_some(in_order, room);
}

// The first of them whose racks and domains have room; how many that were.
std::uint32_t Campaign::begin_some(const std::vector<NodeId>& in_order, std::uint32_t room) {
  std::uint32_t begun = 0;
  Away away(s);
  for (const NodeId n : in_order) {
    if (begun == room) break;
    if (!away.fits(n)) continue;
    away.add(n);
    begin(n);
    ++begun;
  }
  return begun;
}

// Work that is to leave nodes that wait for their turn does so when it has just written its checkpoint. A gang goes back to the
// queue, first in line, while all its nodes have their turn at once: they would be away for that in any case. One with more nodes
// than may be away moves to upgraded ones, as many as there are.
void Campaign::move_gangs(std::uint32_t room) {
  for (const JobId id : s.checkpointed) {
    const Job* j = find_job(s, id);
    if (j == nullptr || j->phase != JobPhase::running || j->spec.no_requeue || !checkpoint_known(*j)) continue;
    bool stay = false;
    const std::vector<NodeId> leave = leaving(*j, stay);
    const bool emptying = std::any_of(leave.begin(), leave.end(), [&](NodeId n) {
      const Turn* t = turn(n);
      return t != nullptr && t->stage == TurnStage::draining;
    });
    if (leave.empty() || (!emptying && !must_move(*j))) continue;
    const std::size_t most = emptying ? leave.size() : std::min<std::size_t>(leave.size(), ready.size());
    std::optional<Wanted> w;
    // What is kept is for those who need several steps. Late, the way that brings most nodes to their turn.
    // A gang that is upgraded for the greater part keeps that part: the queue would start it anywhere.
    const bool in_place =
        emptying || (leave.size() <= room && (!stay || late()) && (2 * leave.size() >= j->nodes.size() || late(kLast)));
    const bool lump = most == leave.size() ? leave.size() >= to_keep() || late() : late() ? !in_place : 2 * most >= at_once();
    if (emptying || (lump && most > 0 && (u.phase != UpgradePhase::canary || most <= room)))
      w = vacate(s, view, *j, std::span(leave).first(most), upgraded);
    const char* how = "moves to upgraded ones";
    if (!w && in_place) {
      // Drained before it stops, or it would be back on them before their turn begins.
      for (const NodeId n : leave) {
        const Turn* t = turn(n);
        if (t == nullptr || !is_out(t->stage)) begin(n);
      }
      w.emplace();
      w->action.verb = Verb::requeue_job;
      w->action.job = w->action.for_job = id;
      w->action.attempt = j->attempt;
      how = "is first in line for the next";
    }
    if (!w) continue;
    w->reason = reason(
        "move",
        fmt::format("job {} has just written its checkpoint: it leaves {} of its {} nodes, which wait for {}, and {}", render(id),
                    w->action.verb == Verb::requeue_job ? j->nodes.size() : most, j->nodes.size(), version(back()), how),
        {emptying ? "leave it: the node waits for it, and nobody else can use what it leaves free"
                  : "leave it until it ends: that is expected after the upgrade is to be finished"});
    out.push_back(std::move(*w));
    return;  // the next one is looked at when this is on record
  }
}

// So many nodes at a time bring it to its end in time, and no more: each takes its work away for a while. Where nobody waits for
// nodes, nothing is taken away, and as many go as may.
std::uint32_t Campaign::pace(std::uint32_t left) const {
  if (s.queue.empty() || back() || u.spec.wait_for_jobs) return at_once();
  const Duration time = u.began_mono + u.spec.finish_in - u.spec.watch - minutes(90) - s.mono();
  const double needed = 2 * left * kTurnTakes.seconds() / std::max(3600.0, time.seconds());
  return std::clamp(static_cast<std::uint32_t>(needed) + 1, 1U, at_once());
}

// Whether more is left to do than there would be at an even pace.
bool Campaign::behind(std::uint32_t left) const {
  if (u.phase != UpgradePhase::waves || s.queue.empty() || u.spec.wait_for_jobs) return true;
  const double all = (u.spec.finish_in - u.spec.watch - kBeforeEnd).seconds();
  const double passed = (s.mono() - u.began_mono).seconds();
  return left > static_cast<double>(targets.size()) * (1 - passed / std::max(all, 1.0));
}

// Nodes that do not serve, whoever's doing it is: those that did not come back count as much as those that are away for it.
std::uint32_t Campaign::away_for_any_reason() const {
  std::uint32_t away = 0;
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) {
    const Turn* t = turn(NodeId{n});
    const bool has_turn = t != nullptr && is_out(t->stage);
    away += has_turn || s.nodes[n].condition != NodeCondition::up || s.nodes[n].hold != Hold::none ? 1 : 0;
  }
  return away;
}

// A planned upgrade comes to the fleet in growing waves: the next begins when the one before has been tested.
std::uint32_t Campaign::left_of_wave() const {
  if (u.spec.canary_nodes.empty() || back() || u.phase == UpgradePhase::canary) return at_once();
  std::uint32_t settled = 0, first = 0;
  for (const auto& [n, t] : u.turns) {
    settled += is_out(t.stage) ? 0 : 1;
    first += t.canary ? 1 : 0;
  }
  const auto all = static_cast<std::uint32_t>(targets.size());
  const auto begun = static_cast<std::uint32_t>(u.turns.size());
  for (const std::uint32_t most : upgrade_waves(all, u.spec.canaries > 0 ? u.spec.canaries : first)) {
    if (settled < most) return most > begun ? most - begun : 0;
  }
  return at_once();
}

// NVLink domains of which a part has had its turn: the rest follows first, or work could not use the whole of them for long.
std::set<std::uint32_t> Campaign::begun_domains() const {
  std::set<std::uint32_t> domains;
  for (const auto& [n, t] : u.turns) domains.insert(s.site.nodes[n.v].domain);
  return domains;
}

void Campaign::begin_more() {
  if (u.phase == UpgradePhase::stopping) return;
  const auto left = static_cast<std::uint32_t>(std::count_if(targets.begin(), targets.end(), [&](NodeId n) { return due(n); }));
  const std::uint32_t away = std::max(busy_turns, u.spec.wait_for_jobs && !back() ? away_for_any_reason() : 0);
  const std::uint32_t burst = std::min({at_once() > away ? at_once() - away : 0, upgrade_slots(s), left_of_wave()});
  std::uint32_t room = std::min(burst, pace(left) > busy_turns ? pace(left) - busy_turns : 0);
  if (u.phase == UpgradePhase::canary) room = std::min(burst, canaries() > serving() ? canaries() - serving() : 0);
  const bool hurries = u.phase != UpgradePhase::canary || s.mono() > u.since + kCanaryPatience;
  std::uint32_t begun = 0;
  for (const NodeId n : targets) {  // on the way back: who is away already takes nothing from anybody
    if (!back() || s.nodes[n.v].hold != Hold::muster || s.nodes[n.v].busy() || !due(n) || !available(n)) continue;
    begin(n);
    ++begun;
  }
  if (begun > 0) return;
  if (s.mono() >= u.due && u.phase == UpgradePhase::waves) begun = begin_idle(burst, true);
  if (s.mono() >= u.due && room > 0 && begun == 0 && behind(left)) {
    begun = begin_idle(room, false);
    if (begun < room && hurries && !u.spec.wait_for_jobs) begun += begin_shared(room - begun);
  }
  if (u.spec.wait_for_jobs) return;
  if (hurries && begun == 0) move_gangs(u.phase == UpgradePhase::canary ? room : burst);
}

// ---- the whole

void Campaign::end_phase() {
  const auto any = [&](auto what) {
    return std::any_of(u.turns.begin(), u.turns.end(), [&](const auto& t) { return what(t.second); });
  };
  const bool out_now = any([](const Turn& t) { return is_out(t.stage); });
  const bool watching = any([](const Turn& t) { return t.stage == TurnStage::watched || t.stage == TurnStage::kept; });
  const std::uint32_t bad = bad_nodes(u);
  if (u.phase == UpgradePhase::stopping) {
    if (!out_now) phase(UpgradePhase::stopped, u.why);
    return;
  }
  // A node that a person holds, or that is being repaired, may be away for days: it is not waited for.
  const auto in_other_hands = [&](NodeId n) {
    const NodeState& x = s.nodes[n.v];
    return x.hold == Hold::person || (x.hold == Hold::muster && x.incident.some() && late() && !back());
  };
  const bool left = std::any_of(targets.begin(), targets.end(), [&](NodeId n) { return due(n) && !in_other_hands(n); });
  if (back()) {
    if (!out_now && !left) phase(UpgradePhase::rolled_back, u.why);
    return;
  }
  if (const std::string why = verdict(s); !why.empty()) {
    return phase(u.spec.before.empty() ? UpgradePhase::stopping : UpgradePhase::rolling_back, why);
  }
  if (u.phase == UpgradePhase::canary) {
    const auto worked = static_cast<std::uint32_t>(
        std::count_if(u.turns.begin(), u.turns.end(), [](const auto& t) { return t.second.stage == TurnStage::done; }));
    const bool all = serving() >= canaries() || !left;
    if (all && !out_now && !watching && worked > 0)
      phase(UpgradePhase::waves,
            fmt::format("{} canaries worked for {} with it, {} went bad", worked, render_duration(u.spec.watch), bad));
    return;
  }
  if (left || out_now || watching) return;
  bool skips = false;
  for (const NodeId n : targets) {
    if (!due(n)) continue;
    skips = true;
    move(n, TurnStage::skipped, false, "it was in repair, or in a person's hands");
  }
  if (!skips)
    phase(UpgradePhase::done, bad == 0 ? "every node has it" : fmt::format("every node has it but for {} that went bad", bad));
}

}  // namespace

bool to_be_taken_back(const State& s, NodeId n) {
  const auto t = s.upgrade.turns.find(n);
  return s.upgrade.phase == UpgradePhase::rolling_back && t != s.upgrade.turns.end() && t->second.installed;
}

void decide_upgrade(const State& s, ClusterView& view, Decisions& out) {
  if (!at_work(s.upgrade.phase) || s.idle()) return;
  Campaign c{s, view, out};
  c.survey();
  const std::size_t before = out.size();
  for (const auto& [n, t] : s.upgrade.turns) c.step(n, t);
  if (out.size() != before) return;  // first what is under way; the rest is looked at when this is on record
  c.end_phase();
  if (out.size() == before) c.begin_more();
}

}  // namespace muster::decide
