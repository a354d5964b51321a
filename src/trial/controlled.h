// A twin under the controller, in pieces that a test can take apart: the journal that is left when the controller dies, the wire
// between the two.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/prng.h"
#include "control/loop.h"
#include "control/restore.h"
#include "model/codec.h"
#include "model/plain_json.h"
#include "twin/first_fit.h"

namespace muster::trial {

// Keeps everything, and can refuse.
class KeptJournal final : public Journal {
 public:
  Result<void> append(std::span<const Event> batch) override {
    // The second batch of a turn holds what was decided: a controller can die between the two.
    if (dies_before_decisions > 0 && decided(batch.front().body) && --dies_before_decisions == 0) {
      return fail(Code::unreachable, "the power went");
    }
    for (const Event& e : batch) {
      if (e.seq != events.size() + 1) return fail(Code::internal, "sequence numbers are not dense");
      head_ = chain(head_, encode_event(e));
      events.push_back(e);
    }
    return {};
  }
  std::uint64_t last_seq() const override { return events.size(); }
  Digest head() const override { return head_; }
  Result<void> read(std::uint64_t from_seq, const std::function<bool(const Event&)>& visit) override {
    for (std::size_t i = from_seq == 0 ? 0 : from_seq - 1; i < events.size(); ++i) {
      if (!visit(events[i])) break;
    }
    return {};
  }
  Result<void> save_snapshot(const StoredSnapshot& s) override {
    snapshot = s;
    return {};
  }
  Result<std::optional<StoredSnapshot>> latest_snapshot() override { return snapshot; }

  std::vector<Event> events;
  std::optional<StoredSnapshot> snapshot;
  int dies_before_decisions = 0;  // n: at the n-th batch of decisions from now

 private:
  Digest head_{};
};

// The wire to the engine: some orders are lost on it, some cannot be sent.
class Wire final : public Actuator {
 public:
  explicit Wire(twin::Twin& twin) : twin_(twin), prng_(1, "wire") {}

  Result<void> submit(const Order& order) override {
    const bool again = !sent.insert(order.key).second;
    sent_twice += again ? 1 : 0;
    const bool is_lost = prng_.chance(loses);
    const bool is_refused = prng_.chance(refuses);
    if (is_lost) {
      ++lost;
      return {};  // the sender cannot know
    }
    if (is_refused) {
      ++refused;
      return fail(Code::unreachable, "no route to the engine");
    }
    return twin_.submit(order);
  }
  Result<void> inquire(const std::string& key) override {
    ++inquiries;
    const bool is_lost = prng_.chance(loses);
    if (is_lost) return fail(Code::unreachable, "no route to the engine");
    return twin_.inquire(key);
  }

  double loses = 0;
  double refuses = 0;
  std::set<std::string> sent;
  std::uint64_t sent_twice = 0;
  std::uint64_t lost = 0;
  std::uint64_t refused = 0;
  std::uint64_t inquiries = 0;

 private:
  twin::Twin& twin_;
  Prng prng_;
};

struct Controlled {
  explicit Controlled(twin::Config config, Policy p = default_policy())
      : site(config.site), policy(std::move(p)), twin(std::move(config)), wire(twin) {
    start();
  }

  // A new controller over the same cluster and journal; the old one is gone without a word.
  void start() {
    loop.reset();
    control::LoopConfig c;
    c.site = site;
    c.policy = policy;
    c.journal_id = "t";
    c.snapshot_every = snapshot_every;
    c.parse_json = PlainJson::parse;
    auto l = control::Loop::start(twin, twin, wire, journal, c);
    error = l ? std::string() : l.error().what;
    if (l) loop = std::move(*l);
  }
  // One turn and the wait until the next. False: the controller stopped.
  bool turn() {
    const auto t = loop->turn();
    if (!t) return false;
    ++turns;
    twin.wait(t->wake_at);
    return true;
  }
  void run(Duration d) {
    const Time end = twin.now().utc + d;
    while (twin.now().utc < end && turn()) {
    }
  }
  void restart_every(int k, Duration d) {
    const Time end = twin.now().utc + d;
    for (int i = 1; twin.now().utc < end; ++i) {
      if (!turn() || i % k == 0) start();
    }
  }
  // No more weather; until every fault is over and every incident closed or with a person.
  bool heals(Duration most) {
    twin.calm();
    const Time end = twin.now().utc + most;
    while (twin.now().utc < end) {
      if (healthy()) return true;
      if (!turn()) return false;
    }
    return false;
  }
  bool healthy() const { return ailing().empty(); }
  // In words: what is not well.
  std::string ailing() const {
    const State& s = loop->state();
    std::string out;
    for (const twin::FaultTruth& f : twin.faults()) {
      const Incident* i = f.node.some() ? find_incident(s, s.nodes[f.node.v].incident) : nullptr;
      if (f.fate != twin::Fate::active || (i != nullptr && i->stage == Stage::held)) continue;
      out += std::string(name_of(f.kind)) + " on node " + std::to_string(f.node.v) + " since " + render_utc(f.began);
      out += i == nullptr ? " without an incident\n" : " in stage " + std::string(name_of(i->stage)) + "\n";
    }
    for (const auto& [id, i] : s.incidents) {
      if (i.stage == Stage::closed || i.stage == Stage::held) continue;
      out += "incident " + std::to_string(id.v) + " on node " + std::to_string(i.node.v) + " (" + std::string(name_of(i.cause));
      out += ") in stage " + std::string(name_of(i.stage)) + " waits for " + i.pending + "\n";
      for (const Note& n : i.notes) out += "    " + render_utc(n.at) + " " + n.text + "\n";
    }
    return out;
  }

  Site site;
  Policy policy;
  twin::Twin twin;
  Wire wire;
  KeptJournal journal;
  std::uint64_t snapshot_every = 0;
  std::unique_ptr<control::Loop> loop;
  std::string error;
  std::uint64_t turns = 0;
};

// So wide that what is broken can be healed in a few days, whatever it is.
inline Policy roomy_policy() {
  Policy p = default_policy();
  p.limits.out_cluster_pct = 60;
  p.limits.out_rack_pct = 100;
  p.limits.harm_per_hour_pct = 1000;
  p.limits.cause_pct = 60;
  return p;
}

// 24 nodes with work to do, and as much trouble in a day as they would meet in years.
inline twin::Config stormy(std::uint64_t seed = 1, double factor = 8'000) {
  twin::Config c = twin::plain_config(24, seed);
  for (NodeSpec& n : c.site.nodes) {
    const auto i = static_cast<std::uint32_t>(&n - c.site.nodes.data());
    n.rack = n.leaf = i / 4;
  }
  c.site.racks = {"r1", "r2", "r3", "r4", "r5", "r6"};
  c.site.leaves = 6;
  c.site.pods = 1;
  for (NodeSpec& n : c.site.nodes) n.pod = 0;
  c.workload.mix = "research";
  for (const std::string_view k : names(twin::FaultKind{})) {
    twin::FaultRate r;
    (void)parse_name(k, r.kind);
    r.per_gpu_hour = r.kind == twin::FaultKind::app_bug ? 1e-6 : 1e-7;
    c.weather.rates.push_back(r);
  }
  c.weather.factor = factor;
  return c;
}

}  // namespace muster::trial
