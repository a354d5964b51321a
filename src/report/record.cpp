#include "report/record.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace muster::report {
namespace {

constexpr std::size_t kWishesKept = 4096;
constexpr std::size_t kRefusedKept = 400;

void add_refusal(std::vector<HeldBack>& list, const HeldBack& h) {
  const bool again = !list.empty() && list.back().limit == h.limit && list.back().action.verb == h.action.verb;
  if (!again) return list.push_back(h);
  list.back().last = h.at;
  ++list.back().times;
}

// Takes those of the verb out of the list.
std::vector<HeldBack> take_verb(std::vector<HeldBack>& list, Verb verb) {
  std::vector<HeldBack> out;
  for (const HeldBack& h : list) {
    if (h.action.verb == verb) out.push_back(h);
  }
  std::erase_if(list, [&](const HeldBack& h) { return h.action.verb == verb; });
  return out;
}

// The last repair there is, and a start whose place is proven, name no alternative; what was tried before and the certificate do.
std::vector<std::string> alternatives_beside(const Order& o, const Placement& p, const std::vector<std::string>& tried) {
  std::vector<std::string> out;
  if (!o.reason.alternatives.empty()) return out;
  if (o.reason.incident.some() && on_node(o.action.verb)) {
    out = tried;
    out.push_back("a further step: the policy in force had none after this one");
  }
  if (o.action.verb != Verb::start_job) return out;
  for (std::size_t level = 0; level < p.best_below.size() && level < names(Level{}).size(); ++level) {
    out.push_back(fmt::format("all of it within one {}: the best has room for {} of {} pieces",
                              name_of(static_cast<Level>(level)), p.best_below[level], o.action.nodes.size()));
  }
  if (out.empty()) out.push_back("nearer together: it cannot be");
  return out;
}

}  // namespace

JobId parse_job(std::string_view text) {
  const auto parts = split(text, '_');
  const auto number = parse_uint(parts[0]);
  if (!number || *number == 0 || *number > UINT32_MAX || parts.size() > 2) return {};
  JobId id{static_cast<std::uint32_t>(*number), 0};
  if (parts.size() == 2) {
    const auto index = parse_uint(parts[1]);
    if (!index || *index >= UINT32_MAX) return {};
    id.array_index = static_cast<std::uint32_t>(*index) + 1;
  }
  return id;
}

std::optional<Subject> Subject::parse(std::string_view what) {
  const auto words = split(trim(what), ' ');
  if (words.size() > 2 || words.back().empty() || words[0] == "queue") return std::nullopt;
  Subject out;
  out.name_ = words.back();
  if (words.size() == 2) out.noun_ = words[0];
  const bool known = out.noun_.empty() || out.noun_ == "node" || out.noun_ == "job" || out.noun_ == "incident" ||
                     out.noun_ == "finding" || out.noun_ == "action";
  if (!known) return std::nullopt;
  const auto number = parse_uint(out.name_);
  if (out.noun_.empty() || out.noun_ == "job") out.job_ = parse_job(out.name_);
  if (out.noun_ == "incident" && number) out.incident_ = IncidentId{*number};
  if (out.noun_ == "finding" && number) out.finding_ = FindingId{*number};
  return out;
}

bool Subject::covers(const State& s, const std::string& key, const Action& a, const Reason& r) const {
  if (noun_ == "incident") return incident_.some() && r.incident == incident_;
  if (noun_ == "finding") return finding_.some() && std::find(r.findings.begin(), r.findings.end(), finding_) != r.findings.end();
  if (noun_ != "node" && noun_ != "job" && !key.empty() && key == name_) return true;
  if (noun_ != "job" && noun_ != "action" && a.node.some() && node_name(s, a.node) == name_) return true;
  const bool whole_array = job_.array_index == 0 && a.job.number == job_.number;
  return noun_ != "node" && noun_ != "action" && job_.some() && (a.job == job_ || whole_array);
}

std::string node_name(const State& s, NodeId n) { return n.v < s.site.nodes.size() ? s.site.nodes[n.v].name : "the site"; }

std::string say_action(const std::string& node, const Action& a) {
  std::string out(name_of(a.verb));
  if (a.node.some()) out += " " + node;
  if (a.slot >= 0) out += fmt::format(" GPU {}", a.slot);
  if (a.job.some())
    out += on_node(a.verb) && a.node.some() ? fmt::format(" (job {} on it)", render(a.job)) : " job " + render(a.job);
  return out;
}

void Deeds::intend(const Event& e, const State& s, const OrderIntended& b) {
  const Order& o = b.order;
  auto& list = o.reason.incident.some() ? of_incident_[o.reason.incident] : of_job_[o.action.job];
  std::vector<HeldBack> before = take_verb(list, o.action.verb);
  if (o.reason.incident.some() && is_repair(o.action.verb)) repairs_[o.key] = {o.reason.incident, o.action.verb};
  if (!subject_.covers(s, o.key, o.action, o.reason)) return;
  Deed d;
  d.seq = e.seq;
  d.at = e.utc;
  d.order = o;
  d.node = o.action.node.some() ? node_name(s, o.action.node) : "";
  d.placement = b.placement;
  d.in_force = {version_, s.rules, s.policy.name, s.policy_hash};
  d.held_back = std::move(before);
  d.beside = alternatives_beside(o, b.placement, tried_[o.reason.incident]);
  for (const FindingId id : o.reason.findings) {
    if (const Finding* f = find_finding(s, id)) d.findings.push_back(*f);
  }
  if (const Job* j = find_job(s, o.action.job);
      j != nullptr && about_broken(o.action.verb) && d.findings.empty() && j->restarts > 0 &&
      j->phase == JobPhase::broken)
    d.word_of_engine.push_back(
        {Witness::engine,
         j->ended,
         {},
         fmt::format("attempt {} of job {} ended as {}: {}", j->attempt, render(j->id), name_of(j->last_end), j->last_detail)});
  auto w = o.reason.wish.empty() ? wishes_.end() : wishes_.find(o.reason.wish);
  if (o.reason.upgrade != 0) {
    w = std::find_if(wishes_.begin(), wishes_.end(), [&](const auto& x) {
      return x.second.first.verb == CommandVerb::upgrade && x.second.second == s.upgrade.began;
    });
  }
  if (w != wishes_.end()) {
    d.wish = w->second.first;
    d.wished = w->second.second;
  }
  done.push_back(std::move(d));
  if (done.size() <= kDeedsKept) return;
  done.pop_front();
  ++left_out;
}

void Deeds::refuse(const Event& e, const State& s, const OrderRefused& b) {
  const HeldBack h{e.seq, e.utc, e.utc, 1, b.action, b.reason.rule, b.limit};
  add_refusal(b.reason.incident.some() ? of_incident_[b.reason.incident] : of_job_[b.action.job], h);
  if (!subject_.covers(s, {}, b.action, b.reason)) return;
  const bool again = !refused.empty() && refused.back().limit == h.limit && refused.back().action.verb == h.action.verb &&
                     refused.back().action.node == h.action.node;
  if (again) {
    refused.back().last = h.at;
    ++refused.back().times;
    return;
  }
  refused.push_back(h);
  if (refused.size() > kRefusedKept) refused.pop_front();
}

void Deeds::take(const Event& e, const State& s) {
  if (const auto* run = std::get_if<RunStarted>(&e.body)) {
    version_ = run->version;
  } else if (const auto* order = std::get_if<OrderIntended>(&e.body)) {
    intend(e, s, *order);
  } else if (const auto* no = std::get_if<OrderRefused>(&e.body)) {
    refuse(e, s, *no);
  } else if (const auto* end = std::get_if<OrderEnded>(&e.body)) {
    if (const auto r = repairs_.find(end->key); r != repairs_.end() && end->status != Status::unknown) {
      tried_[r->second.first].push_back(
          fmt::format("{}: tried before ({}), and it was not enough", name_of(r->second.second), name_of(end->status)));
      repairs_.erase(r);
    }
    const auto d = std::find_if(done.rbegin(), done.rend(), [&](const Deed& x) { return x.order.key == end->key; });
    if (d == done.rend()) return;
    const bool final = d->outcome.at.ns != 0 && d->outcome.status != Status::unknown && d->outcome.status != Status::pending;
    if (!final) d->outcome = {end->status, end->detail, e.utc, e.seq};
  } else if (const auto* closed = std::get_if<IncidentClosed>(&e.body)) {
    of_incident_.erase(closed->id);
    tried_.erase(closed->id);
  } else if (const auto* gone = std::get_if<JobGone>(&e.body)) {
    of_job_.erase(gone->job);
  } else if (const auto* ended = std::get_if<JobEnded>(&e.body); ended != nullptr && ended->end == JobEnd::completed) {
    of_job_.erase(ended->job);
  } else if (const auto* wish = std::get_if<CommandGiven>(&e.body); wish != nullptr && !wish->id.empty()) {
    if (!wishes_.try_emplace(wish->id, *wish, e.utc).second) return;
    wish_order_.push_back(wish->id);
    if (wish_order_.size() <= kWishesKept) return;
    wishes_.erase(wish_order_.front());
    wish_order_.pop_front();
  }
}

void write_evidence(JsonWriter& w, const Finding& f, const Evidence& x) {
  w.object().field("finding", f.id.v).field("kind", name_of(f.kind)).field("severity", name_of(f.severity));
  w.field("witness", name_of(x.witness)).field("at_utc", render_utc(x.at)).field("text", x.text).field("ref", x.ref);
  w.end_object();
}

void write_held_back(JsonWriter& w, const HeldBack& h) {
  w.object().field("event", h.seq).field("at_utc", render_utc(h.at)).field("last_utc", render_utc(h.last));
  w.field("times", h.times).field("verb", name_of(h.action.verb)).field("rule", h.rule).field("limit", h.limit).end_object();
}

namespace {

void write_outcome(JsonWriter& w, const Deed& d) {
  const Outcome& o = d.outcome;
  w.key("outcome").object().field("status", name_of(o.status)).field("detail", o.detail);
  if (o.at.ns == 0) {
    w.key("at_utc").null().key("took_s").null().key("event").null();
  } else {
    w.field("at_utc", render_utc(o.at)).field("took_s", (o.at - d.at).seconds()).field("event", o.seq);
  }
  w.end_object();
}

void write_wish(JsonWriter& w, const Deed& d) {
  w.key("wish");
  if (!d.wish) {
    w.null();
    return;
  }
  w.object().field("id", d.wish->id).field("actor", d.wish->actor).field("command", name_of(d.wish->verb));
  w.field("reason", d.wish->reason).field("at_utc", render_utc(d.wished)).end_object();
}

}  // namespace

void write_deed(JsonWriter& w, const Deed& d) {
  const Action& a = d.order.action;
  const Reason& why = d.order.reason;
  w.object().field("key", d.order.key).field("event", d.seq).field("at_utc", render_utc(d.at));
  w.field("what", say_action(d.node, a)).field("verb", name_of(a.verb)).field("node", d.node);
  w.field("gpu_slot", int{a.slot}).field("job", a.job.some() ? render(a.job) : std::string());
  w.field("sentence", why.sentence).field("rule", why.rule).field("rules_version", d.in_force.rules);
  w.field("muster_version", d.in_force.version);
  w.key("policy").object().field("name", d.in_force.policy).field("hash", d.in_force.policy_hash).end_object();
  w.field("actor", why.actor);
  write_wish(w, d);
  w.key("evidence").array();
  for (const Finding& f : d.findings) {
    for (const Evidence& x : f.evidence) write_evidence(w, f, x);
  }
  for (const Evidence& x : d.word_of_engine) {
    w.object().field("witness", name_of(x.witness)).field("at_utc", render_utc(x.at)).field("text", x.text).end_object();
  }
  w.end_array().key("alternatives").array();
  for (const std::string& x : why.alternatives) w.value(x);
  w.end_array().key("alternatives_beside").array();
  for (const std::string& x : d.beside) w.value(x);
  w.end_array().field("placement", d.placement.why).field("budget", why.budget).key("held_back_before").array();
  for (const HeldBack& h : d.held_back) write_held_back(w, h);
  w.end_array();
  if (why.incident.some()) w.field("incident", why.incident.v);
  write_outcome(w, d);
  w.end_object();
}

}  // namespace muster::report
