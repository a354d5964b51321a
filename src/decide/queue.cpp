#include "decide/queue.h"

#include <fmt/core.h>

#include <set>

#include "base/text.h"
#include "decide/make_room.h"
#include "decide/place/certificate.h"
#include "decide/waiting.h"

namespace muster::decide {
namespace {

constexpr std::size_t kStartsPerTurn = 2000;  // bounds the work of one turn
constexpr int kQuotaRounds = 4;               // passes in which starts that are too many for a quota are taken back

Wanted start_of(const Site& site, const Job& j, Choice choice, const Shape& shape, std::string rule, std::string sentence) {
  Wanted w;
  w.action.verb = Verb::start_job;
  w.action.job = j.id;
  w.action.attempt = j.attempt + 1;
  w.placement = placement_of(site, choice, shape);
  w.action.nodes = std::move(choice.nodes);
  const bool part = shape.milli < 1000 || (shape.gpus > 0 && shape.gpus < site.gpus_per_node);
  if (part) w.action.slots = std::move(choice.slots);
  w.reason.rule = std::move(rule);
  w.reason.sentence = std::move(sentence);
  w.reason.actor = "muster";
  return w;
}

std::string on_leaves(const Choice& c) {
  return fmt::format("{} node{} on {} leaf switch{}", c.nodes.size(), c.nodes.size() == 1 ? "" : "s", c.certificate.leaves,
                     c.certificate.leaves == 1 ? "" : "es");
}

// Strictly in order: nobody overtakes.
void first_in_first_out(const State& s, ClusterView& view, Decisions& out) {
  const std::size_t mark = view.tree().mark();
  std::size_t started = 0;
  for (const auto& [order, id] : s.queue) {
    const Job& j = s.jobs.at(id);
    const Shape shape = view.beside_upgrade(view.shape_of(j.spec), longest_run(s, j));
    if (!ready(j) || !view.tree().ever_fits(shape)) continue;  // must not block the others
    if (started++ == kStartsPerTurn) break;
    auto choice = view.tree().find(shape);
    if (!choice) break;
    view.tree().take(*choice, shape.milli);
    std::string sentence = "first in the queue; " + on_leaves(*choice);
    out.push_back(start_of(s.site, j, std::move(*choice), shape, "queue/fifo", std::move(sentence)));
  }
  view.tree().rollback(mark);
}

// Whether anything in the queue could go anywhere: most turns on a full cluster end here.
bool anything_fits(const State& s, const ClusterView& view, const Tree& tree) {
  std::set<Shape> seen;
  for (const auto& [order, id] : s.queue) {
    const Job& j = s.jobs.at(id);
    const Shape shape = view.beside_upgrade(view.shape_of(j.spec), longest_run(s, j));
    if (seen.insert(shape).second && tree.may_fit(shape)) return true;
  }
  return false;
}

// Drops starts that together are too many for a quota; true when there were some.
bool over_quota(const State& s, const Pass& pass, Quotas quotas, std::set<JobId>& barred) {
  bool any = false;
  for (const Start& x : pass.starts) {
    const JobSpec& spec = s.jobs.at(x.id).spec;
    const QueueIndex q = quotas.find(queue_of(spec));
    const Amounts ask = ask_of(s, quotas, spec);
    if (quotas.allows(q, ask)) {
      quotas.take(q, ask);
    } else {
      barred.insert(x.id);
      any = true;
    }
  }
  return any;
}

void leave_out(Line& line, const std::set<JobId>& barred, Time now, const RankPolicy& policy) {
  std::erase_if(line.waiting, [&](const Waiter& w) { return barred.count(w.id) != 0; });
  line.order = rank(line.waiting, now, policy);
}

std::string why_now(const State& s, const Line& line, const Pass& pass, const Start& x) {
  const Waiter& w = line.waiting[x.index];
  std::string sentence = on_leaves(x.choice) + "; " + why(w, s.mono(), rank_policy(s));
  if (x.backfilled && !pass.reservations.empty()) {
    const Reservation& r = pass.reservations.front();
    sentence += fmt::format("; ahead of job {}, whose reservation it does not delay", render(r.id));
  }
  return sentence;
}

}  // namespace

Placement placement_of(const Site& site, const Choice& c, const Shape& shape) {
  Placement p;
  p.level = c.certificate.level;
  p.group = c.certificate.group;
  p.leaves = c.certificate.leaves;
  p.leaves_min = c.certificate.leaves_min;
  p.leaves_empty = c.certificate.leaves_empty;
  p.best_below = c.certificate.best_below;
  const bool node = p.level == Level::node && p.group < site.nodes.size();
  p.why = explain(c.certificate, shape, node ? site.nodes[p.group].name : std::string());
  return p;
}

void decide_queue(const State& s, ClusterView& view, Decisions& out) {
  const bool beat = s.mono() - s.queue_looked >= kQueueBeat;
  // A pass looks at so many of a long queue; what it started makes way for the next ones.
  const bool more = !s.dirty_nodes.empty() && s.queue.size() > backfill_policy(s).depth;
  if (s.idle() || s.queue.empty() || !(s.queue_dirty || beat || more)) return;
  if (!s.policy.scheduling.backfill) return s.queue_dirty ? first_in_first_out(s, view, out) : void();
  Tree& tree = view.tree();
  const bool fits = anything_fits(s, view, tree);
  if (!fits && !beat) return;  // who makes room for whom is asked once a beat: it looks at everybody

  const Quotas quotas = quotas_of(s);
  Line line = line_up(s, view, quotas);
  const std::size_t mark = tree.mark();
  Pass pass;
  std::set<JobId> barred;
  for (int round = 0; round < kQuotaRounds; ++round) {
    if (!barred.empty()) leave_out(line, barred, s.mono(), rank_policy(s));
    pass = backfill(tree, line.waiting, line.order, line.running, s.mono(), backfill_policy(s));
    if (!over_quota(s, pass, quotas, barred)) break;
    tree.rollback(mark);
    tree.mark();
    pass.starts.clear();
  }
  for (Start& x : pass.starts) {
    const Job& j = s.jobs.at(x.id);
    std::string sentence = why_now(s, line, pass, x);
    out.push_back(start_of(s.site, j, x.choice, line.waiting[x.index].shape, x.backfilled ? "queue/backfill" : "queue/next",
                           std::move(sentence)));
    Placement& p = std::get<Wanted>(out.back()).placement;
    if (!x.apart.empty()) {
      p.why += fmt::format(" GPUs of {} node{} were kept for reservations and not looked at.", x.apart.size(),
                           x.apart.size() == 1 ? "" : "s");
    }
    p.apart = std::move(x.apart);
  }
  make_room(s, view, quotas, line, pass, out);
  tree.rollback(mark);
}

}  // namespace muster::decide
