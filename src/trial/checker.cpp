#include "trial/checker.h"

#include <fmt/core.h>

#include <numeric>
#include <span>

#include "account/accountant.h"
#include "decide/cluster_view.h"
#include "decide/place/certificate.h"

namespace muster::trial {
namespace {
constexpr std::size_t kCheckedNodes = 128;
constexpr std::size_t kViolationsMax = 20;  // the first ones tell the story

std::uint32_t limit_of(double pct, std::uint32_t floor, std::size_t of) {
  return std::max(floor, static_cast<std::uint32_t>(pct / 100.0 * static_cast<double>(of)));
}
}  // namespace

Checker::Checker(const Site& site, Policy policy) : site_(site), layout_(decide::layout_of(site)), policy_(std::move(policy)) {}

// The certificate of a start, against what was free before it. The state is that of the turn's end; who has which GPU at this
// very event is in the checker's own books.
void Checker::keep_certificate(const Event& e, const OrderIntended& o, const State& s) {
  const Action& a = o.order.action;
  const Job* j = find_job(s, a.job);
  const bool sided = s.upgrade.id != 0 && (s.upgrade.spec.wait_for_jobs || !s.upgrade.spec.apart.empty());
  const bool capped = sided || decide::power_capped(site_) || policy_.scheduling.spare_confidence > 0 || !smaller_.empty();
  if (j == nullptr || !only_starts_ || capped || site_.nodes.size() > kCheckedNodes) return;
  Claim c{e, a.job, {}, decide::shape_of(layout_, j->spec), {}};
  c.before.nodes.reserve(site_.nodes.size());
  for (std::uint32_t n = 0; n < site_.nodes.size(); ++n) {
    decide::Occupancy::Node x;
    x.taken.assign(site_.gpus_per_node, 0);
    const auto here = held_.find(NodeId{n});
    const std::span<const Share> shares = here == held_.end() ? std::span<const Share>() : here->second;
    for (std::uint32_t slot = 0; slot < site_.gpus_per_node; ++slot) {
      for (const Share& share : shares) {
        if ((share.slots >> slot & 1) != 0) x.taken[slot] = static_cast<std::uint16_t>(x.taken[slot] + share.milli);
      }
      if (x.taken[slot] == 0) x.free = static_cast<std::uint16_t>(x.free | 1U << slot);
    }
    const auto turn = s.upgrade.turns.find(NodeId{n});
    const bool kept = turn != s.upgrade.turns.end() && turn->second.stage == TurnStage::kept && at_work(s.upgrade.phase);
    x.open = placeable(s, NodeId{n}) && !kept;
    c.before.nodes.push_back(std::move(x));
  }
  const Placement& p = o.placement;
  for (const auto& [n, mask] : p.apart) {
    decide::Occupancy::Node& x = c.before.nodes[n.v];
    for (std::uint32_t slot = 0; slot < site_.gpus_per_node; ++slot) {
      if ((mask >> slot & 1) != 0) x.taken[slot] = 1000;
    }
    x.free = static_cast<std::uint16_t>(x.free & ~mask);
  }
  if (j->spec.prefer < c.shape.required && p.level <= j->spec.prefer) c.shape.required = j->spec.prefer;
  c.choice.nodes = a.nodes;
  c.choice.slots = a.slots;
  if (c.choice.slots.empty()) c.choice.slots.assign(a.nodes.size(), all_slots(site_));
  c.choice.certificate = {p.level, p.group, p.leaves, p.leaves_min, p.leaves_empty, p.best_below};
  claims_.push_back(std::move(c));
}

// By brute force, so only where the cluster is small.
void Checker::check_certificates() {
  for (const Claim& c : claims_) {
    std::string why_not;
    if (only_starts_ && !decide::certificate_holds(layout_, c.before, c.shape, c.choice, &why_not))
      violation(c.event, Rule::placement, fmt::format("the certificate of job {} is wrong: {}", render(c.job), why_not));
  }
  claims_.clear();
}

// No queue beyond its limit, nor beyond its guarantee where it may not borrow.
void Checker::check_quotas(const Event& e, const State& s) {
  // A restart under way holds its old nodes and its new ones for a moment: then the sums say nothing.
  for (const std::string& key : s.open_orders) {
    if (s.orders.at(key).order.action.verb == Verb::restart_job) return;
  }
  const auto gpus = static_cast<std::size_t>(Resource::gpus);
  const auto held = [&](const std::string& name, const auto& self) -> std::int64_t {
    const auto it = s.used.find(name);
    std::int64_t sum = it == s.used.end() ? 0 : it->second.held[gpus];
    for (const QueueSpec& q : policy_.queues) sum += q.parent == name ? self(q.name, self) : 0;
    return sum;
  };
  for (const QueueSpec& q : policy_.queues) {
    const std::int64_t most = !q.borrow ? q.guaranteed_gpus : q.limit_gpus > 0 ? q.limit_gpus : INT32_MAX;
    const std::int64_t has = held(q.name, held);
    if (has > most * 1000)
      violation(e, Rule::placement, fmt::format("queue {} has {} GPUs, its quota is {}", q.name, has / 1000, most));
  }
}

// A start never takes a rack, a row or the site beyond its cap.
void Checker::check_power(const Event& e) {
  if (!decide::power_capped(site_)) return;
  const double busy = policy_.scheduling.gpu_kw * site_.gpus_per_node;
  std::vector<double> rack(site_.racks.size(), 0);
  for (std::uint32_t n = 0; n < site_.nodes.size(); ++n) {
    const auto here = held_.find(NodeId{n});
    rack[site_.nodes[n].rack] += here != held_.end() && !here->second.empty() ? busy : busy * decide::kIdlePower;
  }
  std::map<std::uint32_t, double> row;
  for (std::uint32_t r = 0; r < rack.size(); ++r) row[r < site_.rack_row.size() ? site_.rack_row[r] : 0] += rack[r];
  const auto check = [&](double kw, double cap, std::string_view what) {
    if (cap > 0 && kw > cap + 1e-6)
      violation(e, Rule::placement, fmt::format("{} draws {:.1f} kW, its cap is {:.1f}", what, kw, cap));
  };
  check(std::accumulate(rack.begin(), rack.end(), 0.0), site_.power_limit_kw, "the site");
  for (std::uint32_t r = 0; r < rack.size(); ++r) check(rack[r], site_.rack_kw, "rack " + site_.racks[r]);
  for (const auto& [r, kw] : row) check(kw, site_.rack_row.empty() ? 0 : site_.row_kw, fmt::format("row {}", r));
}

std::string_view words_of(Rule r) {
  switch (r) {
    case Rule::budget: return "budgets exceeded";
    case Rule::live_job: return "resets under a live job";
    case Rule::untested: return "nodes returned without a passed test";
    case Rule::unfinished: return "faults without a terminal state";
    case Rule::evidence: return "acts without evidence";
    case Rule::placement: return "starts that are wrong: a GPU given twice, a drained node, quotas, power, certificates";
    case Rule::books: return "GPU-hours that do not add up";
    case Rule::orders: return "orders without a reason, while paused or sent twice, and errors logged";
  }
  return "";
}

void Checker::violation(const Event& e, Rule rule, std::string what) {
  ++broken_[static_cast<std::size_t>(rule)];
  if (violations_.size() < kViolationsMax)
    violations_.push_back(fmt::format("event {} at {}: {}", e.seq, render_utc(e.utc), what));
}

// Books GPUs for a job, beside what it has; nobody may have more of a GPU than there is.
void Checker::hold(const Event& e, JobId job, const std::vector<NodeId>& nodes, const std::vector<std::uint16_t>& slots,
                   const State& s) {
  const Job* j = find_job(s, job);
  const auto milli = static_cast<std::uint16_t>(j != nullptr && j->spec.gpu_milli > 0 ? j->spec.gpu_milli : 1000);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<Share>& here = held_[nodes[i]];
    std::erase_if(here, [&](const Share& x) { return x.job == job; });
    const std::uint16_t mask = i < slots.size() ? slots[i] : all_slots(site_);
    for (std::uint32_t slot = 0; slot < site_.gpus_per_node; ++slot) {
      std::uint32_t used = (mask >> slot & 1) != 0 ? milli : 0;
      JobId other;
      for (const Share& x : here) {
        if ((x.slots >> slot & 1) == 0) continue;
        used += x.milli;
        other = x.job;
      }
      if (used <= 1000 || !other.some()) continue;
      violation(e, Rule::placement,
                fmt::format("GPU in two jobs: {} is given to job {} while job {} has it", site_.nodes[nodes[i].v].name,
                            render(job), render(other)));
      break;
    }
    here.push_back({job, mask, milli});
    gangs_[job].push_back(nodes[i]);
  }
}

void Checker::leave(JobId job) {
  for (NodeId n : gangs_[job]) {
    const auto it = held_.find(n);
    if (it == held_.end()) continue;
    std::erase_if(it->second, [&](const Share& x) { return x.job == job; });
    if (it->second.empty()) held_.erase(it);
  }
  gangs_.erase(job);
  smaller_.erase(job);
}

void Checker::on_start(const Event& e, const Order& o, const State& s) {
  const Job* j = find_job(s, o.action.job);
  for (NodeId n : o.action.nodes) {
    const bool has_it = j != nullptr && std::find(j->nodes.begin(), j->nodes.end(), n) != j->nodes.end();
    if (out_.count(n) != 0 && !(has_it && o.action.verb == Verb::restart_job))
      violation(e, Rule::placement, fmt::format("job {} is started on drained {}", render(o.action.job), site_.nodes[n.v].name));
  }
  const auto pieces = o.action.nodes.size();
  if (j != nullptr && j->spec.nodes_min > 0 && (pieces < j->spec.nodes_min || pieces > j->spec.nodes)) {
    violation(e, Rule::placement,
              fmt::format("job {} is started on {} nodes: it wants {} to {}", render(o.action.job), pieces, j->spec.nodes_min,
                          j->spec.nodes));
  }
  hold(e, o.action.job, o.action.nodes, o.action.slots, s);
}

void Checker::on_health_act(const Event& e, const Order& o, const State& s) {
  const Action& a = o.action;
  const bool named = std::any_of(o.reason.findings.begin(), o.reason.findings.end(), [&](FindingId f) {
    const auto it = named_.find(f);
    return it != named_.end() && it->second == a.node;
  });
  if (a.verb == Verb::undrain_node && passed_test_.erase(a.node) == 0)
    violation(e, Rule::untested, fmt::format("{} is returned without a passed test", site_.nodes[a.node.v].name));
  if (harmful(a.verb) || a.verb == Verb::test_node) passed_test_.erase(a.node);
  if (!named)
    violation(e, Rule::evidence,
              fmt::format("{} on {} without evidence that names it", name_of(a.verb), site_.nodes[a.node.v].name));
  if (!harmful(a.verb)) return;
  const bool still =
      std::any_of(o.reason.findings.begin(), o.reason.findings.end(), [&](FindingId f) { return cleared_.count(f) == 0; });
  if (!still && failed_test_.count(a.node) == 0) {
    violation(e, Rule::evidence,
              fmt::format("{} on {} for what is no longer there", name_of(a.verb), site_.nodes[a.node.v].name));
  }
  check_budgets(e, o, s);
  if (destroys_work(a.verb) && a.verb != Verb::requeue_job && a.verb != Verb::restart_job && held_.count(a.node) != 0) {
    violation(e, Rule::live_job, fmt::format("{} under a live job on {}", name_of(a.verb), site_.nodes[a.node.v].name));
  }
}

void Checker::check_budgets(const Event& e, const Order& o, const State& s) {
  const Limits& l = policy_.limits;
  const Action& a = o.action;
  const Time now = s.mono();
  counted_[o.key] = now;
  while (!harms_.empty() && now - harms_.front() >= hours(1)) harms_.pop_front();
  harms_.push_back(now);
  if (harms_.size() > limit_of(l.harm_per_hour_pct, l.harm_per_hour_floor, site_.nodes.size())) {
    violation(e, Rule::budget, fmt::format("budget: {} harmful acts within an hour", harms_.size()));
  }
  if (a.verb == Verb::drain_node) out_.insert(a.node);
  check_out(e, a.node);
  if (a.verb == Verb::requeue_job || a.verb == Verb::restart_job) {
    std::deque<Time>& stops = stops_[a.job];
    while (!stops.empty() && now - stops.front() >= days(1)) stops.pop_front();
    stops.push_back(now);
    if (stops.size() > l.job_requeues_per_day)
      violation(e, Rule::budget, fmt::format("budget: job {} is stopped {} times within a day", render(a.job), stops.size()));
  }
}

// How many are out of service at once: of the cluster, the node's rack, its NVLink domain.
void Checker::check_out(const Event& e, NodeId node) {
  const Limits& l = policy_.limits;
  const NodeSpec& me = site_.nodes[node.v];
  std::size_t rack_out = 0;
  std::size_t rack_all = 0;
  std::size_t domain_out = 0;
  std::size_t domain_all = 0;
  for (NodeId n : out_) {
    rack_out += site_.nodes[n.v].rack == me.rack ? 1 : 0;
    domain_out += site_.nodes[n.v].domain == me.domain ? 1 : 0;
  }
  for (const NodeSpec& n : site_.nodes) {
    rack_all += n.rack == me.rack ? 1 : 0;
    domain_all += n.domain == me.domain ? 1 : 0;
  }
  if (out_.size() > limit_of(l.out_cluster_pct, l.out_cluster_floor, site_.nodes.size())) {
    violation(e, Rule::budget, fmt::format("budget: {} nodes out of service", out_.size()));
  }
  if (rack_out > limit_of(l.out_rack_pct, l.out_rack_floor, rack_all)) {
    violation(e, Rule::budget, fmt::format("budget: {} nodes out of service in rack {}", rack_out, site_.racks[me.rack]));
  }
  if (domain_out > (domain_all == 1 ? 1 : limit_of(l.out_domain_pct, l.out_domain_floor, domain_all))) {
    violation(e, Rule::budget, fmt::format("budget: {} nodes out of service in the NVLink domain of {}", domain_out, me.name));
  }
}

// A step of a rolling upgrade: within the budgets, on nodes that are drained and empty, and nobody returns untested.
void Checker::on_upgrade_act(const Event& e, const Order& o, const State& s) {
  const Action& a = o.action;
  if (!on_node(a.verb)) return;
  const std::string& name = site_.nodes[a.node.v].name;
  if (a.verb == Verb::undrain_node && passed_test_.erase(a.node) == 0)
    violation(e, Rule::untested, name + " is returned without a passed test");
  if (a.verb != Verb::undrain_node) passed_test_.erase(a.node);
  if (a.verb == Verb::install && (held_.count(a.node) != 0 || out_.count(a.node) == 0))
    violation(e, Rule::live_job, fmt::format("{} is installed on {}, which is not drained and empty", a.version, name));
  if (a.verb == Verb::drain_node) check_budgets(e, o, s);
}

void Checker::on_order(const Event& e, const Order& o, const State& s) {
  if (!keys_.insert(o.key).second) violation(e, Rule::orders, fmt::format("order key {} is used twice", o.key));
  open_[o.key] = o.action;
  const bool persons = !o.reason.wish.empty();
  if (paused_ && !persons) violation(e, Rule::orders, fmt::format("{} while paused", name_of(o.action.verb)));
  if (o.action.verb == Verb::start_job || o.action.verb == Verb::restart_job) on_start(e, o, s);
  if (!persons && o.reason.incident.some()) on_health_act(e, o, s);
  const bool upgrade = o.reason.upgrade != 0;
  if (!persons && upgrade) on_upgrade_act(e, o, s);
  if (!persons && !upgrade && !o.reason.incident.some() && on_node(o.action.verb))
    violation(e, Rule::evidence, "a health act without an incident");
  if (o.reason.sentence.empty() || o.reason.rule.empty())
    violation(e, Rule::orders, fmt::format("{} without a reason", name_of(o.action.verb)));
}

void Checker::on_outcome(const OrderEnded& b) {
  const auto it = open_.find(b.key);
  if (it == open_.end() || b.status == Status::unknown || b.status == Status::pending) return;
  const Action& a = it->second;
  // What the engine never got did no harm.
  if (const auto at = counted_.find(b.key); at != counted_.end()) {
    const auto forget = [&](std::deque<Time>& of) {
      if (const auto x = std::find(of.begin(), of.end(), at->second); x != of.end()) of.erase(x);
    };
    if (b.status == Status::not_received) {
      forget(harms_);
      if (const auto stops = stops_.find(a.job); stops != stops_.end()) forget(stops->second);
    }
    counted_.erase(at);
  }
  if (a.verb == Verb::drain_node && b.status != Status::done) out_.erase(a.node);
  if (a.verb == Verb::test_node && b.status == Status::failed) failed_test_.insert(a.node);
  if (a.verb == Verb::test_node && b.status == Status::done) passed_test_.insert(a.node);
  if (a.verb == Verb::undrain_node && b.status == Status::done) {
    out_.erase(a.node);
    failed_test_.erase(a.node);
  }
  if (a.verb == Verb::start_job && b.status != Status::done) {
    leave(a.job);
  }
  open_.erase(it);
}

void Checker::on_event(const Event& e, const State& s) {
  if (const auto* f = std::get_if<FindingOpened>(&e.body)) named_[f->finding.id] = f->finding.node;
  if (const auto* f = std::get_if<FindingCleared>(&e.body)) cleared_.insert(f->id);
  if (std::holds_alternative<TurnBegan>(e.body)) {
    check_certificates();
    only_starts_ = true;
  }
  if (const auto* o = std::get_if<OrderIntended>(&e.body)) {
    if (o->order.action.verb == Verb::start_job) keep_certificate(e, *o, s);
    on_order(e, o->order, s);
    // A restart holds its old nodes and its new ones for a moment; what is started must fit beside even that.
    if (o->order.action.verb == Verb::start_job) {
      check_quotas(e, s);
      check_power(e);
    }
  }
  const auto* order = std::get_if<OrderIntended>(&e.body);
  if (decided(e.body) && (order == nullptr || order->order.action.verb != Verb::start_job)) only_starts_ = false;
  if (const auto* o = std::get_if<OrderEnded>(&e.body)) on_outcome(*o);
  if (const auto* j = std::get_if<JobEnded>(&e.body)) {
    leave(j->job);
    for (const auto& [key, a] : open_) {  // what is kept for its restart stays kept
      const bool over = j->end == JobEnd::completed || j->end == JobEnd::cancelled || j->end == JobEnd::timed_out;
      const bool goes_on = !over && a.attempt > j->attempt;
      if (a.verb == Verb::restart_job && a.job == j->job && goes_on) hold(e, a.job, a.nodes, a.slots, s);
    }
  }
  if (const auto* j = std::get_if<JobGone>(&e.body)) leave(j->job);
  if (const auto* j = std::get_if<JobStarted>(&e.body)) {
    leave(j->job);
    hold(e, j->job, j->nodes, j->slots, s);
    const Job* known = find_job(s, j->job);
    if (known != nullptr && known->spec.nodes_min > 0 && j->nodes.size() < known->spec.nodes) smaller_.insert(j->job);
  }
  if (const auto* c = std::get_if<CommandGiven>(&e.body)) {
    if (c->verb == CommandVerb::pause) paused_ = true;
    if (c->verb == CommandVerb::resume) paused_ = false;
  }
}

void Checker::on_books(const Accounts& a, const State& s) {
  const GpuHours g = account::balance(a, s, s.mono());
  const std::int64_t sum = std::accumulate(g.ms.begin(), g.ms.end(), std::int64_t{0});
  Event e;
  e.seq = s.seq;
  e.utc = s.now.utc;
  if (sum != g.installed_ms)
    violation(e, Rule::books, fmt::format("GPU-hours: classes sum to {} ms, installed are {} ms", sum, g.installed_ms));
  for (std::size_t i = 0; i < g.ms.size(); ++i) {
    if (g.ms[i] < 0) violation(e, Rule::books, fmt::format("GPU-hours: {} is negative", names(Waste{})[i]));
  }
}

}  // namespace muster::trial
