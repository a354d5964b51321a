#include "report/shadow_report.h"

#include <fmt/core.h>

#include <set>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/document.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::string_view kShadow = "shadow:";                // how the guard's words begin
constexpr std::string_view kByItself = "went away by itself";  // and the resolution of an incident nobody did anything about
constexpr std::size_t kActsShown = 20;

std::string_view fate_words(std::string_view fate) {
  if (fate == "person") return "a person did it";
  if (fate == "in_vain") return "went away by itself: it would have been in vain";
  if (fate == "open") return "still there";
  return "over, in another way";
}

}  // namespace

void ShadowStory::held_back(const Event& e, const OrderRefused& b) {
  // A person's own wish is no act of Muster's, nor is the upgrade a person asked for.
  if (!b.limit.starts_with(kShadow) || !b.reason.wish.empty() || b.reason.upgrade != 0) return;
  Shadowed x;
  x.at = e.utc;
  x.mono = state_.mono();
  x.action = b.action;
  x.incident = b.reason.incident;
  if (const Incident* i = find_incident(state_, x.incident)) x.cause = i->cause;
  x.rule = b.reason.rule;
  x.sentence = b.reason.sentence;
  const Job* j = find_job(state_, b.action.job);
  if (b.action.verb == Verb::drain_node) {
    x.gpus = state_.site.gpus_per_node;
  } else if (about_broken(b.action.verb) && j != nullptr) {
    x.gpus = static_cast<std::uint32_t>(milli_gpus(state_.site, j->spec) / 1000);
  }
  acts_.push_back(std::move(x));
}

// The same act on the same thing, by somebody else, while its incident was open.
void ShadowStory::person_did(const Event& e, Verb verb, NodeId node, JobId job, const std::string& who) {
  for (Shadowed& x : acts_) {
    const bool on_it = about_broken(x.action.verb) ? job.some() && x.action.job == job : node.some() && x.action.node == node;
    const bool same = x.action.verb == verb || (about_broken(x.action.verb) && about_broken(verb));
    if (!on_it || !same || !x.person.empty() || endings_.count(x.incident) != 0) continue;
    x.person = who;
    x.person_at = e.utc;
  }
}

void ShadowStory::take(const Event& e) {
  placement_.take(state_, e);
  fold(state_, e);
  if (first_.ns == 0) first_ = e.utc;
  last_ = std::max(last_, e.utc);
  if (const auto* no = std::get_if<OrderRefused>(&e.body)) {
    held_back(e, *no);
  } else if (const auto* c = std::get_if<CommandGiven>(&e.body)) {
    if (c->verb == CommandVerb::drain) person_did(e, Verb::drain_node, c->node, {}, c->actor);
    if (c->verb == CommandVerb::cancel) person_did(e, Verb::requeue_job, {}, c->job, c->actor);
  } else if (const auto* o = std::get_if<OrderIntended>(&e.body); o != nullptr && !o->order.reason.wish.empty()) {
    person_did(e, o->order.action.verb, o->order.action.node, o->order.action.job, o->order.reason.actor);
  } else if (const auto* g = std::get_if<GpuSwapped>(&e.body)) {
    person_did(e, Verb::replace_node, g->node, {}, "somebody");
    person_did(e, Verb::drain_node, g->node, {}, "somebody");  // no part is replaced in a node that works
  } else if (const auto* end = std::get_if<IncidentClosed>(&e.body)) {
    const auto ours = [&](const Shadowed& x) { return x.incident == end->id; };
    if (std::any_of(acts_.begin(), acts_.end(), ours)) endings_[end->id] = {e.utc, state_.mono(), end->resolution};
  }
}

std::string ShadowStory::fate(const Shadowed& x) const {
  if (!x.person.empty()) return "person";
  const auto it = endings_.find(x.incident);
  if (it == endings_.end()) return "open";
  return it->second.how.starts_with(kByItself) ? "in_vain" : "other";
}

std::string ShadowStory::json(const Provenance& source) const {
  struct Sum {
    std::uint64_t times = 0, person = 0, in_vain = 0;
    std::set<NodeId> nodes;
    double gpu_h = 0;
  };
  std::map<std::pair<Verb, FindingKind>, Sum> sums;
  Sum all;
  const auto out_h = [&](const Shadowed& x) {  // only a drain takes capacity out for as long as the fault lasts
    if (x.action.verb != Verb::drain_node) return 0.0;
    const auto it = endings_.find(x.incident);
    return x.gpus * std::max(0.0, ((it == endings_.end() ? state_.mono() : it->second.mono) - x.mono).seconds()) / 3600;
  };
  for (const Shadowed& x : acts_) {
    for (Sum* sum : {&sums[{x.action.verb, x.cause}], &all}) {
      ++sum->times;
      if (x.action.node.some()) sum->nodes.insert(x.action.node);
      sum->gpu_h += out_h(x);
      sum->person += fate(x) == "person" ? 1 : 0;
      sum->in_vain += fate(x) == "in_vain" ? 1 : 0;
    }
  }
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "ShadowReport").field("cluster", state_.site.name);
  w.field("from_utc", render_utc(first_)).field("to_utc", render_utc(last_)).field("in_shadow_now", state_.policy.shadow);
  const auto put = [&](const Sum& s) {
    w.field("times", s.times).field("nodes", s.nodes.size()).field("out_gpu_hours", s.gpu_h);
    w.field("done_by_a_person", s.person).field("in_vain", s.in_vain);
  };
  w.key("total").object();
  put(all);
  w.end_object().key("by_act").array();
  for (const auto& [what, s] : sums) {
    w.object().field("verb", name_of(what.first)).field("cause", name_of(what.second));
    put(s);
    w.end_object();
  }
  w.end_array().key("acts").array();
  for (const Shadowed& x : acts_) {
    w.object().field("at_utc", render_utc(x.at)).field("verb", name_of(x.action.verb)).field("cause", name_of(x.cause));
    w.field("node", x.action.node.some() ? node_name(state_, x.action.node) : std::string());
    w.field("job", x.action.job.some() ? render(x.action.job) : std::string()).field("gpus", x.gpus);
    w.field("out_gpu_hours", out_h(x)).field("incident", x.incident.v).field("rule", x.rule).field("why", x.sentence);
    w.field("fate", fate(x)).field("person", x.person);
    w.field("person_utc", x.person.empty() ? std::string() : render_utc(x.person_at));
    const auto it = endings_.find(x.incident);
    w.field("over_utc", it == endings_.end() ? std::string() : render_utc(it->second.at));
    w.field("resolution", it == endings_.end() ? std::string() : it->second.how).end_object();
  }
  w.end_array().key("placement");
  placement_.write(w, last_);
  w.key("record").object().field("journal", source.journal).field("events", source.events);
  w.field("digest", source.digest).end_object().end_object();
  return w.take();
}

std::string render_shadow_text(const Value& report, const Page& page) {
  const Value* total = report.find("total");
  const std::string span = fmt::format("from {} to {}", text_of(report, "from_utc"), text_of(report, "to_utc"));
  const Value* placement = report.find("placement");
  const std::string placed = placement == nullptr ? std::string() : render_placement_advice(*placement, page.colour);
  if (total == nullptr || number_of(*total, "times").value_or(0) == 0) {
    return fmt::format("Shadow mode held nothing back {}.\n", span) + (placed.empty() ? "" : "\n" + placed);
  }
  std::string out = fmt::format(
      "In shadow, {}: Muster would have acted {} times, on {} nodes, and taken {:.1f} GPU-hours out of service.\n"
      "A person did the same {} times; {} times the fault went away by itself, and the act would have been in vain.\n\n",
      span, text_of(*total, "times"), text_of(*total, "nodes"), number_of(*total, "out_gpu_hours").value_or(0),
      text_of(*total, "done_by_a_person"), text_of(*total, "in_vain"));
  Table sums;
  sums.columns = {{"ACT"},          {"CAUSE"}, {"TIMES", true}, {"NODES", true}, {"GPU-HOURS OUT", true}, {"BY A PERSON", true},
                  {"IN VAIN", true}};
  for (const auto& a : list_of(report, "by_act")) {
    sums.rows.push_back({Cell(text_of(a, "verb")), Cell(text_of(a, "cause")), Cell(text_of(a, "times")),
                         Cell(text_of(a, "nodes")), Cell(fmt::format("{:.1f}", number_of(a, "out_gpu_hours").value_or(0))),
                         Cell(text_of(a, "done_by_a_person")), Cell(text_of(a, "in_vain"))});
  }
  out += render_table(sums, {true, false, page.colour}) + "\n";
  const auto& acts = list_of(report, "acts");
  Table rows;
  rows.columns = {{"TIME (UTC)"}, {"ACT"}, {"NODE"}, {"JOB"}, {"CAUSE"}, {"INCIDENT", true}, {"WHAT BECAME OF IT"}};
  for (std::size_t k = acts.size() > kActsShown ? acts.size() - kActsShown : 0; k < acts.size(); ++k) {
    const Value& a = acts[k];
    std::string became(fate_words(text_of(a, "fate")));
    if (text_of(a, "fate") == "person") became += fmt::format(": {}, {}", text_of(a, "person"), text_of(a, "person_utc"));
    rows.rows.push_back({Cell(text_of(a, "at_utc")), Cell(text_of(a, "verb")), Cell(text_of(a, "node")), Cell(text_of(a, "job")),
                         Cell(text_of(a, "cause")), Cell(text_of(a, "incident")), Cell(std::move(became))});
  }
  out += render_table(rows, {true, false, page.colour});
  if (acts.size() > kActsShown)
    out += fmt::format("The newest {} of {}; `-o json` has all of them, with why.\n", kActsShown, acts.size());
  if (!placed.empty()) out += "\n" + placed;
  return out;
}

}  // namespace muster::report
