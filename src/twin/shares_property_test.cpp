// Whatever is ordered and whatever breaks: no GPU is given twice, every order ends once, and work adds up.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/prng.h"
#include "model/codec.h"
#include "twin/first_fit.h"

namespace muster::twin {
namespace {

constexpr std::uint32_t kNodes = 6;
constexpr std::uint32_t kGpus = 8;

// Sends orders without sense, most of them impossible, and watches what the engine says.
class Monkey {
 public:
  explicit Monkey(std::uint64_t seed) : prng_(seed, "monkey"), twin_(config(seed)) {}

  void run(Duration d) {
    const Time end = twin_.now().steady + d;
    while (twin_.now().steady < end) {
      twin_.wait(twin_.now().steady + seconds(1 + static_cast<std::int64_t>(prng_.below(90))));
      look();
      for (std::uint64_t i = prng_.below(4); i > 0; --i) act();
    }
  }
  // Every order has ended when nothing more happens for longer than the longest repair.
  void settle() {
    twin_.calm();
    twin_.advance_to(twin_.now().steady + days(3));
    look();
    for (const auto& [key, n] : outcomes_) EXPECT_EQ(n, 1) << key;
    EXPECT_EQ(outcomes_.size(), sent_.size());
  }

  std::uint64_t starts = 0;
  std::uint64_t restarts = 0;
  std::uint64_t refused = 0;
  std::uint64_t completed = 0;
  std::uint64_t shared = 0;  // starts on a GPU that has a tenant

 private:
  struct Known {
    JobSpec spec;
    bool queued = true;
    bool runs = false;
    std::uint32_t attempt = 0;
    std::vector<NodeId> nodes;
    std::vector<std::uint16_t> slots;
    std::uint64_t durable = 0;
    Time began;
  };

  static Config config(std::uint64_t seed) {
    Config c = plain_config(kNodes, seed);
    c.workload.mix = "shared";
    c.workload.load = 0.9;
    for (const std::string_view k : names(FaultKind{})) {
      FaultRate r;
      (void)parse_name(k, r.kind);
      r.per_gpu_hour = r.kind == FaultKind::app_bug ? 0.01 : 5e-4;
      c.weather.rates.push_back(r);
    }
    return c;
  }
  void look() {
    Inbox in;
    twin_.poll(in);
    for (const Arrival& a : in.events) hear(a);
  }
  void occupy(const Known& k, int sign) {
    const std::uint32_t milli = k.spec.gpu_milli > 0 ? k.spec.gpu_milli : 1000;
    std::uint32_t gpus = 0;
    for (std::size_t i = 0; i < k.nodes.size(); ++i) {
      const std::uint16_t mask = k.slots.empty() ? std::uint16_t{0xff} : k.slots[i];
      for (std::uint32_t s = 0; s < kGpus; ++s) {
        if ((mask >> s & 1) == 0) continue;
        ++gpus;
        std::uint32_t& used = used_[k.nodes[i].v][s];
        if (sign > 0 && used > 0) ++shared;
        used = sign > 0 ? used + milli : used - milli;
        EXPECT_LE(used, 1000U) << "GPU " << s << " of node " << k.nodes[i].v << " is given twice";
      }
    }
    const std::uint32_t each = k.spec.gpu_milli > 0 ? 1 : k.spec.gpus_per_node > 0 ? k.spec.gpus_per_node : kGpus;
    EXPECT_EQ(gpus, k.spec.nodes * each);
  }
  void hear(const Arrival& a) {
    if (const auto* s = std::get_if<JobSubmitted>(&a.body)) {
      EXPECT_EQ(s->spec.array, 0U);
      EXPECT_TRUE(jobs_.emplace(s->job, Known{s->spec}).second);
    } else if (const auto* st = std::get_if<JobStarted>(&a.body)) {
      Known& k = jobs_.at(st->job);
      EXPECT_FALSE(k.runs);
      EXPECT_GT(st->attempt, k.attempt);
      restarts += k.queued ? 0 : 1;
      k.queued = false;
      k.runs = true;
      k.attempt = st->attempt;
      k.nodes = st->nodes;
      k.slots = st->slots;
      k.began = a.utc;
      ++starts;
      occupy(k, 1);
    } else if (const auto* e = std::get_if<JobEnded>(&a.body)) {
      end(jobs_.at(e->job), *e, a.utc);
    } else if (const auto* q = std::get_if<JobRequeued>(&a.body)) {
      EXPECT_FALSE(jobs_.at(q->job).runs);
      jobs_.at(q->job).queued = true;
    } else if (const auto* g = std::get_if<JobGone>(&a.body)) {
      EXPECT_FALSE(jobs_.at(g->job).runs);
      jobs_.erase(g->job);
    } else if (const auto* o = std::get_if<OrderEnded>(&a.body)) {
      ++outcomes_[o->key];
      EXPECT_EQ(sent_.count(o->key), 1U);
      refused += o->status == Status::refused ? 1 : 0;
    }
  }
  void end(Known& k, const JobEnded& e, Time at) {
    EXPECT_TRUE(k.runs);
    EXPECT_EQ(e.attempt, k.attempt);
    occupy(k, -1);
    k.runs = false;
    const Progress& p = e.progress;
    EXPECT_GE(p.durable_steps, k.durable) << "what is safe stays safe";
    EXPECT_GE(p.steps, p.durable_steps);
    // Whatever is not start, checkpoint or slowness is steps; a gang that hung before it ended has lost time besides.
    const std::int64_t wall_ms = (at - k.began).ns / 1'000'000;
    const auto step_ms = static_cast<std::int64_t>(k.spec.step_s * 1000);
    const std::int64_t rest =
        wall_ms - p.init_ms - p.checkpoint_ms - p.slow_ms - static_cast<std::int64_t>(p.steps - k.durable) * step_ms;
    EXPECT_GE(rest, -10);
    if (e.end == JobEnd::completed) {
      EXPECT_LE(rest, 10);
      EXPECT_EQ(p.steps, k.spec.steps);
      ++completed;
    }
    k.durable = p.durable_steps;
    if (e.end == JobEnd::completed || e.end == JobEnd::cancelled) jobs_.erase(e.job);
  }

  void send(Action a) {
    Order o;
    o.key = "m" + std::to_string(sent_.size());
    o.action = std::move(a);
    sent_.insert(o.key);
    EXPECT_TRUE(twin_.submit(o));
  }
  // Somewhere with room, as far as is known, or anywhere.
  void choose(const Known& k, Action& a) {
    const bool sensible = prng_.chance(0.8);
    const std::uint32_t each = k.spec.gpu_milli > 0 ? 1 : k.spec.gpus_per_node > 0 ? k.spec.gpus_per_node : kGpus;
    const std::uint32_t milli = k.spec.gpu_milli > 0 ? k.spec.gpu_milli : 1000;
    std::uint32_t left = k.spec.nodes;
    const auto first = static_cast<std::uint32_t>(prng_.below(kNodes));
    for (std::uint32_t i = 0; i < kNodes && left > 0; ++i) {
      const std::uint32_t n = (first + i) % kNodes;
      std::uint16_t mask = 0;
      std::uint32_t got = 0;
      for (std::uint32_t s = 0; s < kGpus; ++s) {
        const bool fits = used_[n][s] + milli <= 1000;
        if (got == left * each || (sensible ? !fits : prng_.chance(0.4))) continue;
        mask = static_cast<std::uint16_t>(mask | 1u << s);
        ++got;
      }
      while (sensible && got % each != 0) {
        mask = static_cast<std::uint16_t>(mask & (mask - 1));
        --got;
      }
      if (got == 0) continue;
      left -= std::min(left, got / each);
      a.nodes.push_back(NodeId{n});
      a.slots.push_back(mask);
    }
    if (each == kGpus && prng_.chance(0.5)) a.slots.clear();
  }
  void act() {
    constexpr std::array<Verb, 12> kVerbs = {Verb::start_job,    Verb::start_job,   Verb::start_job,    Verb::start_job,
                                             Verb::restart_job,  Verb::requeue_job, Verb::requeue_job,  Verb::cancel_job,
                                             Verb::undrain_node, Verb::drain_node,  Verb::undrain_node, Verb::reset_gpu};
    Action a;
    a.verb = prng_.chance(0.005) ? Verb::power_cycle_node : kVerbs[prng_.below(kVerbs.size())];
    if (a.verb == Verb::cancel_job && !prng_.chance(0.02)) return;
    a.node = NodeId{static_cast<std::uint32_t>(prng_.below(kNodes))};
    a.slot = static_cast<std::int16_t>(static_cast<int>(prng_.below(kGpus + 1)) - 1);
    if (a.verb == Verb::reset_gpu && !prng_.chance(0.05)) return;
    if (on_node(a.verb) || jobs_.empty()) return jobs_.empty() ? void() : send(a);
    auto it = jobs_.begin();
    std::advance(it, prng_.below(std::min<std::size_t>(jobs_.size(), 40)));
    a.job = it->first;
    if (a.verb == Verb::requeue_job && it->second.runs && !prng_.chance(0.02)) return;
    if (a.verb == Verb::restart_job && it->second.runs && !prng_.chance(0.1)) return;
    if (prng_.chance(0.5)) a.attempt = it->second.attempt + (a.verb == Verb::requeue_job ? 0 : 1);
    if (a.verb == Verb::start_job || a.verb == Verb::restart_job) choose(it->second, a);
    send(a);
  }

  Prng prng_;
  Twin twin_;
  std::map<JobId, Known> jobs_;
  std::array<std::array<std::uint32_t, kGpus>, kNodes> used_{};
  std::set<std::string> sent_;
  std::map<std::string, int> outcomes_;
};

TEST(SharesProperty, NoGpuIsGivenTwiceAndEveryOrderEndsOnce) {
  std::uint64_t starts = 0;
  std::uint64_t restarts = 0;
  std::uint64_t completed = 0;
  std::uint64_t refused = 0;
  std::uint64_t shared = 0;
  for (std::uint64_t seed = 1; seed <= 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Monkey m(seed);
    m.run(days(3));
    m.settle();
    starts += m.starts;
    restarts += m.restarts;
    completed += m.completed;
    refused += m.refused;
    shared += m.shared;
  }
  // Or else nothing was tried.
  EXPECT_GT(starts, 1000U);
  EXPECT_GT(restarts, 50U);
  EXPECT_GT(completed, 300U);
  EXPECT_GT(refused, 1000U);
  EXPECT_GT(shared, 50U);
}

}  // namespace
}  // namespace muster::twin
