#include "trial/checker.h"

#include <fmt/core.h>

#include <numeric>

#include "account/accountant.h"

namespace muster::trial {
namespace {
constexpr std::size_t kViolationsMax = 20;  // the first ones tell the story

std::uint32_t limit_of(double pct, std::uint32_t floor, std::size_t of) {
  return std::max(floor, static_cast<std::uint32_t>(pct / 100.0 * static_cast<double>(of)));
}
}  // namespace

Checker::Checker(const Site& site, Policy policy) : site_(site), policy_(std::move(policy)) {}

void Checker::violation(const Event& e, std::string what) {
  if (violations_.size() < kViolationsMax)
    violations_.push_back(fmt::format("event {} at {}: {}", e.seq, render_utc(e.utc), what));
}

void Checker::on_start(const Event& e, const Order& o) {
  for (NodeId n : o.action.nodes) {
    const auto [it, fresh] = holder_.try_emplace(n, o.action.job);
    if (!fresh && it->second != o.action.job) {
      violation(e, fmt::format("GPU in two jobs: {} is given to job {} while job {} has it", site_.nodes[n.v].name,
                               render(o.action.job), render(it->second)));
    }
    if (out_.count(n) != 0)
      violation(e, fmt::format("job {} is started on drained {}", render(o.action.job), site_.nodes[n.v].name));
  }
  gangs_[o.action.job] = o.action.nodes;
}

void Checker::on_health_act(const Event& e, const Order& o, const State& s) {
  const Action& a = o.action;
  const bool named = std::any_of(o.reason.findings.begin(), o.reason.findings.end(), [&](FindingId f) {
    const auto it = named_.find(f);
    return it != named_.end() && it->second == a.node;
  });
  if (!named) violation(e, fmt::format("{} on {} without evidence that names it", name_of(a.verb), site_.nodes[a.node.v].name));
  if (!harmful(a.verb)) return;
  const bool still =
      std::any_of(o.reason.findings.begin(), o.reason.findings.end(), [&](FindingId f) { return cleared_.count(f) == 0; });
  if (!still && failed_test_.count(a.node) == 0) {
    violation(e, fmt::format("{} on {} for what is no longer there", name_of(a.verb), site_.nodes[a.node.v].name));
  }
  const Limits& l = policy_.limits;
  const Time now = s.mono();
  while (!harms_.empty() && now - harms_.front() >= hours(1)) harms_.pop_front();
  harms_.push_back(now);
  if (harms_.size() > limit_of(l.harm_per_hour_pct, l.harm_per_hour_floor, site_.nodes.size())) {
    violation(e, fmt::format("budget: {} harmful acts within an hour", harms_.size()));
  }
  if (a.verb == Verb::drain_node) out_.insert(a.node);
  const NodeSpec& me = site_.nodes[a.node.v];
  std::size_t rack_out = 0;
  std::size_t rack_all = 0;
  for (NodeId n : out_) rack_out += site_.nodes[n.v].rack == me.rack ? 1 : 0;
  for (const NodeSpec& n : site_.nodes) rack_all += n.rack == me.rack ? 1 : 0;
  if (out_.size() > limit_of(l.out_cluster_pct, l.out_cluster_floor, site_.nodes.size())) {
    violation(e, fmt::format("budget: {} nodes out of service", out_.size()));
  }
  if (rack_out > limit_of(l.out_rack_pct, l.out_rack_floor, rack_all)) {
    violation(e, fmt::format("budget: {} nodes out of service in rack {}", rack_out, site_.racks[me.rack]));
  }
  if (destroys_work(a.verb) && a.verb != Verb::requeue_job && holder_.count(a.node) != 0) {
    violation(e, fmt::format("{} under a live job on {}", name_of(a.verb), me.name));
  }
}

void Checker::on_order(const Event& e, const Order& o, const State& s) {
  if (!keys_.insert(o.key).second) violation(e, fmt::format("order key {} is used twice", o.key));
  open_[o.key] = o.action;
  const bool persons = !o.reason.wish.empty();
  if (paused_ && !persons) violation(e, fmt::format("{} while paused", name_of(o.action.verb)));
  if (o.action.verb == Verb::start_job) on_start(e, o);
  if (!persons && o.reason.incident.some()) on_health_act(e, o, s);
  if (!persons && !o.reason.incident.some() && on_node(o.action.verb)) violation(e, "a health act without an incident");
  if (o.reason.sentence.empty() || o.reason.rule.empty())
    violation(e, fmt::format("{} without a reason", name_of(o.action.verb)));
}

void Checker::on_outcome(const OrderEnded& b) {
  const auto it = open_.find(b.key);
  if (it == open_.end() || b.status == Status::unknown || b.status == Status::pending) return;
  const Action& a = it->second;
  if (a.verb == Verb::drain_node && b.status != Status::done) out_.erase(a.node);
  if (a.verb == Verb::test_node && b.status == Status::failed) failed_test_.insert(a.node);
  if (a.verb == Verb::undrain_node && b.status == Status::done) {
    out_.erase(a.node);
    failed_test_.erase(a.node);
  }
  if (a.verb == Verb::start_job && b.status != Status::done) {
    for (NodeId n : a.nodes) holder_.erase(n);
    gangs_.erase(a.job);
  }
  open_.erase(it);
}

void Checker::on_event(const Event& e, const State& s) {
  if (const auto* f = std::get_if<FindingOpened>(&e.body)) named_[f->finding.id] = f->finding.node;
  if (const auto* f = std::get_if<FindingCleared>(&e.body)) cleared_.insert(f->id);
  if (const auto* o = std::get_if<OrderIntended>(&e.body)) on_order(e, o->order, s);
  if (const auto* o = std::get_if<OrderEnded>(&e.body)) on_outcome(*o);
  const auto left = [&](JobId job) {
    for (NodeId n : gangs_[job]) holder_.erase(n);
    gangs_.erase(job);
  };
  if (const auto* j = std::get_if<JobEnded>(&e.body)) left(j->job);
  if (const auto* j = std::get_if<JobGone>(&e.body)) left(j->job);
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
    violation(e, fmt::format("GPU-hours: classes sum to {} ms, installed are {} ms", sum, g.installed_ms));
  for (std::size_t i = 0; i < g.ms.size(); ++i) {
    if (g.ms[i] < 0) violation(e, fmt::format("GPU-hours: {} is negative", names(Waste{})[i]));
  }
}

}  // namespace muster::trial
