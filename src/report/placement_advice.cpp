#include "report/placement_advice.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::size_t kShown = 10;

bool ordered(const State& s, JobId job) {
  return std::any_of(s.open_orders.begin(), s.open_orders.end(), [&](const std::string& key) {
    const Action& a = s.orders.at(key).order.action;
    return a.job == job && (a.verb == Verb::start_job || a.verb == Verb::restart_job);
  });
}

}  // namespace

void PlacementAdvice::starts(State& s, const Event& e, const JobStarted& b) {
  const Job* j = find_job(s, b.job);
  const bool has_gpus = b.slots.empty() || std::any_of(b.slots.begin(), b.slots.end(), [](auto mask) { return mask != 0; });
  if (j == nullptr || b.nodes.size() < 2 || !has_gpus || ordered(s, b.job)) return;
  std::set<std::uint32_t> leaves;
  for (const NodeId n : b.nodes) {
    if (n.v < s.site.nodes.size()) leaves.insert(s.site.nodes[n.v].leaf);
  }
  view_.update(s);
  settle(s);
  view_.open_spares();
  const auto choice = view_.tree().find(view_.shape_of(j->spec));
  view_.close_spares();
  if (!choice) {  // whoever had its nodes before has not been seen to leave them
    ++unjudged_;
    return;
  }
  Gang g{b.job,
         j->spec.name,
         b.nodes.size(),
         leaves.size(),
         std::min<std::size_t>(choice->certificate.leaves, leaves.size()),
         static_cast<double>(milli_gpus(s.site, j->spec)) / 1000,
         e.utc,
         {}};
  running_[b.job] = gangs_.size();
  gangs_.push_back(std::move(g));
}

void PlacementAdvice::take(State& s, const Event& e) {
  if (const auto* b = std::get_if<JobStarted>(&e.body)) {
    starts(s, e, *b);
  } else if (const auto* end = std::get_if<JobEnded>(&e.body)) {
    const auto it = running_.find(end->job);
    if (it == running_.end()) return;
    gangs_[it->second].ended = e.utc;
    running_.erase(it);
  }
}

void PlacementAdvice::write(JsonWriter& w, Time now) const {
  std::size_t leaves = 0, ours = 0;
  std::vector<const Gang*> wide;
  double wide_h = 0;
  for (const Gang& g : gangs_) {
    leaves += g.leaves;
    ours += g.ours;
    if (g.leaves == g.ours) continue;
    wide.push_back(&g);
    wide_h += g.gpu_h(now);
  }
  std::stable_sort(wide.begin(), wide.end(), [&](const Gang* a, const Gang* b) { return a->gpu_h(now) > b->gpu_h(now); });
  w.object().field("gangs", gangs_.size()).field("leaves", leaves).field("leaves_by_muster", ours);
  w.field("not_judged", unjudged_).field("wider", wide.size()).field("wider_gpu_hours", wide_h).key("widest").array();
  for (std::size_t k = 0; k < std::min(wide.size(), kShown); ++k) {
    const Gang& g = *wide[k];
    w.object().field("job", render(g.job)).field("name", g.name).field("nodes", g.nodes).field("leaves", g.leaves);
    w.field("leaves_by_muster", g.ours).field("gpu_hours", g.gpu_h(now)).end_object();
  }
  w.end_array().end_object();
}

std::string render_placement_advice(const Value& advice, bool colour) {
  const double gangs = number_of(advice, "gangs").value_or(0);
  if (gangs == 0) return {};
  const double leaves = number_of(advice, "leaves").value_or(0), ours = number_of(advice, "leaves_by_muster").value_or(1);
  std::string out = fmt::format(
      "Placement: the engine put {:.0f} gangs on {:.0f} leaf switches in all, {:.3f} times the {:.0f} that Muster would have "
      "needed at the same moments.\n",
      gangs, leaves, leaves / std::max(ours, 1.0), ours);
  const auto& widest = list_of(advice, "widest");
  if (widest.empty()) return out;
  out += fmt::format("{} of them lay on more than they had to, for {:.1f} GPU-hours:\n\n", text_of(advice, "wider"),
                     number_of(advice, "wider_gpu_hours").value_or(0));
  Table t;
  t.columns = {{"JOB"}, {"NAME"}, {"NODES", true}, {"LEAVES", true}, {"BY MUSTER", true}, {"GPU-HOURS", true}};
  for (const Value& g : widest) {
    t.rows.push_back({Cell(text_of(g, "job")), Cell(text_of(g, "name")), Cell(text_of(g, "nodes")), Cell(text_of(g, "leaves")),
                      Cell(text_of(g, "leaves_by_muster")), Cell(fmt::format("{:.1f}", number_of(g, "gpu_hours").value_or(0)))});
  }
  return out + render_table(t, {true, false, colour});
}

}  // namespace muster::report
