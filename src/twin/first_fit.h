// The least controller there can be, for tests and measurements of the twin: starts queued jobs in order on the first free
// nodes, or GPUs of them, requeues what broke, and repairs nothing unless asked.
#pragma once
#include <bit>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/hash.h"
#include "model/codec.h"
#include "model/state.h"
#include "twin/twin.h"

namespace muster::twin {

class FirstFit {
 public:
  explicit FirstFit(Twin& twin, std::size_t nodes, std::uint32_t per_node = 8)
      : twin_(twin), per_node_(per_node), held_(nodes), up_(nodes, true), drained_(nodes, false) {
    for (std::size_t i = 0; i < nodes; ++i) free_.insert(NodeId{static_cast<std::uint32_t>(i)});
  }

  // One turn: wait, poll, look, order.
  void turn(Duration most = minutes(1)) {
    twin_.wait(twin_.now().steady + most);
    inbox.clear();
    twin_.poll(inbox);
    samples += inbox.samples.size();
    for (const Arrival& a : inbox.events) take(a);
    if (heals) heal();
    place();
  }
  void run(Duration d) {
    const Time end = twin_.now().steady + d;
    while (twin_.now().steady < end) turn(std::min(minutes(1), end - twin_.now().steady));
  }
  std::string order(Action a) {
    Order o;
    o.key = "t" + std::to_string(++next_key_);
    o.epoch = 1;
    o.action = std::move(a);
    (void)twin_.submit(o);
    return o.key;
  }
  std::string on_node(Verb v, NodeId n, int slot = -1) {
    Action a;
    a.verb = v;
    a.node = n;
    a.slot = static_cast<std::int16_t>(slot);
    if (v == Verb::drain_node || v == Verb::undrain_node) drained_[n.v] = v == Verb::drain_node;
    refit(n);
    return order(a);
  }
  // Runs until the order has ended, at most a simulated day and a half.
  OrderEnded finish(const std::string& key) {
    for (int i = 0; i < 100000 && !ended.contains(key); ++i) turn();
    return ended[key];
  }

  Inbox inbox;
  std::map<std::string, OrderEnded> ended;
  std::map<JobId, JobSpec> specs;
  std::map<JobId, JobStarted> running;
  std::vector<JobEnded> ends;
  std::vector<std::int64_t> wall_ms;  // of the attempts in `ends`
  std::vector<NodeChanged> changes;
  std::vector<GpuSwapped> swaps;
  std::uint64_t samples = 0;
  std::uint64_t events = 0;
  std::uint64_t last_seq = 0;
  bool dense = true;
  bool keep_digest = false;
  std::uint64_t digest = 0;
  bool requeues = true;
  bool heals = false;  // replaces every faulty node at once, by looking at the truth: no controller could

 private:
  void heal() {
    for (; healed_ < twin_.faults().size(); ++healed_) {
      const FaultTruth t = twin_.faults()[healed_];
      if (t.fate != Fate::active || !t.node.some() || t.kind == FaultKind::nic_flap || t.kind == FaultKind::host_crash) continue;
      on_node(Verb::drain_node, t.node);
      replacing_[on_node(Verb::replace_node, t.node)] = t.node;
    }
  }
  void refit(NodeId n) {
    if (up_[n.v] && !drained_[n.v] && held_[n.v].empty()) {
      free_.insert(n);
    } else {
      free_.erase(n);
    }
  }
  void take(const Arrival& a) {
    ++events;
    dense = dense && a.source.seq == last_seq + 1;
    last_seq = a.source.seq;
    if (keep_digest) digest = xxh64(encode_body(a.body), digest + static_cast<std::uint64_t>(a.utc.ns));
    if (const auto* s = std::get_if<JobSubmitted>(&a.body)) {
      specs[s->job] = s->spec;
      queue_.push_back(s->job);
    } else if (const auto* q = std::get_if<JobRequeued>(&a.body)) {
      queue_.push_front(q->job);
    } else if (const auto* st = std::get_if<JobStarted>(&a.body)) {
      running[st->job] = *st;
      started_[st->job] = a.utc;
    } else if (const auto* g = std::get_if<JobGone>(&a.body)) {
      std::erase(queue_, g->job);
    } else if (const auto* e = std::get_if<JobEnded>(&a.body)) {
      ends.push_back(*e);
      wall_ms.push_back((a.utc - started_[e->job]).ns / 1'000'000);
      leave(e->job, running[e->job].nodes);
      running.erase(e->job);
      if (requeues && (e->end == JobEnd::node_failed || e->end == JobEnd::app_failed)) {
        Action r;
        r.verb = Verb::requeue_job;
        r.job = e->job;
        r.attempt = e->attempt;
        order(r);
      }
    } else if (const auto* c = std::get_if<NodeChanged>(&a.body)) {
      changes.push_back(*c);
      up_[c->node.v] = c->condition == NodeCondition::up;
      refit(c->node);
    } else if (const auto* w = std::get_if<GpuSwapped>(&a.body)) {
      swaps.push_back(*w);
    } else if (const auto* o = std::get_if<OrderEnded>(&a.body)) {
      ended[o->key] = *o;
      if (const auto r = replacing_.find(o->key); r != replacing_.end()) {
        on_node(Verb::undrain_node, r->second);
        replacing_.erase(r);
      }
      const auto it = starting_.find(o->key);
      if (it != starting_.end()) {
        if (o->status != Status::done) {
          leave(it->second.job, it->second.nodes);
          queue_.push_front(it->second.job);
        }
        starting_.erase(it);
      }
    }
  }
  void place() {
    while (!queue_.empty()) {
      const JobId j = queue_.front();
      Action a;
      a.verb = Verb::start_job;
      a.job = j;
      if (!choose(specs[j], a)) return;
      const auto milli = static_cast<std::uint16_t>(specs[j].gpu_milli > 0 ? specs[j].gpu_milli : 1000);
      for (std::size_t i = 0; i < a.nodes.size(); ++i) {
        held_[a.nodes[i].v].push_back({j, a.slots.empty() ? std::uint16_t{0xffff} : a.slots[i], milli});
        free_.erase(a.nodes[i]);
      }
      queue_.pop_front();
      starting_[order(a)] = a;
    }
  }
  bool choose(const JobSpec& spec, Action& a) const {
    if (spec.gpus_per_node == 0 && spec.gpu_milli == 0) {
      if (spec.nodes > free_.size()) return false;
      for (auto it = free_.begin(); a.nodes.size() < spec.nodes; ++it) a.nodes.push_back(*it);
      return true;
    }
    const std::uint32_t each = spec.gpu_milli > 0 ? 1 : spec.gpus_per_node;
    const std::uint32_t milli = spec.gpu_milli > 0 ? spec.gpu_milli : 1000;
    std::uint32_t left = spec.nodes * each;
    for (std::uint32_t n = 0; n < held_.size() && left > 0; ++n) {
      if (!up_[n] || drained_[n]) continue;
      std::uint16_t open = 0;
      for (std::uint32_t s = 0; s < per_node_; ++s) {
        std::uint32_t used = milli;
        for (const Share& h : held_[n]) used += (h.slots >> s & 1) != 0 ? h.milli : 0;
        if (used <= 1000) open = static_cast<std::uint16_t>(open | 1u << s);
      }
      std::uint32_t take = std::min(left, static_cast<std::uint32_t>(std::popcount(open)) / each * each);
      if (take == 0) continue;
      left -= take;
      std::uint16_t mine = 0;
      for (; take > 0; --take, open = static_cast<std::uint16_t>(open & (open - 1))) {
        mine = static_cast<std::uint16_t>(mine | (open & -open));
      }
      a.nodes.push_back(NodeId{n});
      a.slots.push_back(mine);
    }
    return left == 0;
  }
  void leave(JobId j, const std::vector<NodeId>& nodes) {
    for (const NodeId n : nodes) {
      std::erase_if(held_[n.v], [&](const Share& h) { return h.job == j; });
      refit(n);
    }
  }

  Twin& twin_;
  std::uint32_t per_node_;
  std::vector<std::vector<Share>> held_;
  std::vector<bool> up_;
  std::vector<bool> drained_;
  std::set<NodeId> free_;
  std::deque<JobId> queue_;
  std::map<std::string, Action> starting_;
  std::map<std::string, NodeId> replacing_;
  std::map<JobId, Time> started_;
  std::size_t healed_ = 0;
  std::uint64_t next_key_ = 0;
};

// A plain cluster for tests: 16 nodes a rack and leaf.
inline Config plain_config(std::uint32_t nodes, std::uint64_t seed = 1) {
  Config c;
  c.seed = seed;
  c.site.name = "plain";
  c.site.gpu_model = "H200";
  c.site.storage_write_gbs = 2.0 * nodes;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    NodeSpec n;
    n.name = "node" + std::to_string(i + 1);
    n.rack = n.leaf = i / 16;
    n.domain = i;
    c.site.nodes.push_back(n);
    if (i % 16 == 0) c.site.racks.push_back("r" + std::to_string(i / 16 + 1));
  }
  c.site.leaves = c.site.pods = static_cast<std::uint32_t>(c.site.racks.size());
  c.site.domains = nodes;
  return c;
}

}  // namespace muster::twin
