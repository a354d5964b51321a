#include "report/guard_status.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/json_writer.h"
#include "base/text.h"
#include "model/window.h"
#include "report/units.h"

namespace muster::report {
namespace {

void budget(JsonWriter& w, std::string_view what, std::string_view where, std::uint64_t used, std::uint32_t limit) {
  w.object().field("what", what).field("where", where).field("used", used).field("limit", limit).end_object();
}

// The group with the least left: racks and NVLink domains have limits of their own, and the fullest is the one that counts.
template <class GroupOf, class NameOf>
void fullest(JsonWriter& w, std::string_view what, const State& s, double pct, std::uint32_t floor, GroupOf group, NameOf name) {
  std::map<std::uint32_t, std::uint32_t> all;
  std::map<std::uint32_t, std::uint32_t> out;
  for (const NodeSpec& n : s.site.nodes) ++all[group(n)];
  for (const NodeId n : s.out_nodes) ++out[group(s.site.nodes[n.v])];
  std::uint32_t at = all.begin()->first;
  double share = -1;
  for (const auto& [g, size] : all) {
    const std::uint32_t limit = size == 1 ? 1 : allowance(pct, floor, size);
    const double used = static_cast<double>(out[g]) / std::max(1U, limit);
    if (used > share) at = g;
    share = std::max(share, used);
  }
  budget(w, what, name(at), out[at], all[at] == 1 ? 1 : allowance(pct, floor, all[at]));
}

void budgets(JsonWriter& w, const State& s) {
  const Limits& l = s.policy.limits;
  const auto nodes = static_cast<std::uint32_t>(s.nodes.size());
  w.key("budgets").array();
  budget(w, "nodes out of service", "the cluster", s.out_nodes.size(), allowance(l.out_cluster_pct, l.out_cluster_floor, nodes));
  fullest(
      w, "nodes out of service", s, l.out_rack_pct, l.out_rack_floor, [](const NodeSpec& n) { return n.rack; },
      [&](std::uint32_t r) { return "rack " + s.site.racks[r]; });
  if (s.site.domains < nodes) {
    fullest(
        w, "nodes out of service", s, l.out_domain_pct, l.out_domain_floor, [](const NodeSpec& n) { return n.domain; },
        [](std::uint32_t d) { return fmt::format("NVLink domain {}", d); });
  }
  std::uint64_t in_hour = 0;
  std::map<JobId, std::uint64_t> stops;
  for (const Harm& h : s.harms) {
    if (h.node.some() && s.mono() - h.at < hours(1)) ++in_hour;
    if (h.verb == Verb::requeue_job || h.verb == Verb::restart_job) ++stops[h.job];
  }
  budget(w, "harmful acts in the last hour", "the cluster", in_hour,
         allowance(l.harm_per_hour_pct, l.harm_per_hour_floor, nodes));
  const auto most =
      std::max_element(stops.begin(), stops.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != stops.end()) budget(w, "stops in a day", "job " + render(most->first), most->second, l.job_requeues_per_day);
  w.end_array();
}

void approvals(JsonWriter& w, const State& s) {
  w.key("approvals").array();
  for (const auto& [id, a] : s.approvals) {
    w.object().field("id", id).field("verb", name_of(a.action.verb));
    w.field("node", a.action.node.v < s.site.nodes.size() ? s.site.nodes[a.action.node.v].name : std::string());
    w.field("job", a.action.job.some() ? render(a.action.job) : std::string()).field("incident", a.incident.v);
    w.field("why", a.why).field("sentence", a.sentence).field("asked", render_utc(a.asked));
    w.field("state", a.granted ? "granted" : a.rejected ? "rejected" : a.until <= s.mono() ? "expired" : "waiting");
    w.field("by", a.by).field("answer", a.answer).end_object();
  }
  w.end_array();
}

}  // namespace

std::string guard_json(const State& s) {
  JsonWriter w;
  w.object().field("paused", s.paused).field("paused_by", s.paused_by).field("shadow", s.policy.shadow);
  const Finding* away = find_finding(s, s.engine_away);
  w.key("engine_away");
  if (away != nullptr) {
    w.object().field("since", render_utc(away->began())).field("finding", away->id.v).end_object();
  } else {
    w.null();
  }
  w.key("policy").object().field("name", s.policy.name).field("hash", s.policy_hash).end_object();
  budgets(w, s);
  w.key("frozen").array();
  for (const auto& [cause, until] : s.frozen)
    w.object().field("cause", name_of(cause)).field("for_s", std::max(0.0, (until - s.mono()).seconds())).end_object();
  w.end_array();
  approvals(w, s);
  w.key("held_back").array();  // the newest ones, each once
  std::map<std::pair<std::uint64_t, std::string>, bool> said;
  int left = 10;
  for (auto r = s.refusals.rbegin(); r != s.refusals.rend() && left > 0; ++r) {
    if (!r->incident.some() || !said.emplace(std::pair(r->incident.v, r->limit), true).second) continue;
    --left;
    w.object().field("at", render_utc(r->at)).field("verb", name_of(r->action.verb)).field("incident", r->incident.v);
    w.field("node", r->action.node.v < s.site.nodes.size() ? s.site.nodes[r->action.node.v].name : std::string());
    w.field("limit", r->limit).end_object();
  }
  w.end_array().key("windows").object().field("count", s.policy.windows.size());
  if (!s.policy.windows.empty()) w.field("opens_in_s", until_window(s.policy.windows, s.now.utc).seconds());
  w.end_object().key("groups").array();
  for (const NodeGroup& g : s.policy.groups)
    w.object()
        .field("name", g.name)
        .field("nodes", g.nodes)
        .field("shadow", g.shadow)
        .field("runbooks", !g.runbooks.empty())
        .end_object();
  w.end_array().end_object();
  return w.take();
}

std::string guard_words(const Value& g) {
  const auto flag = [](const Value& v, std::string_view key) {
    const Value* x = v.find(key);
    return x != nullptr && x->boolean() != nullptr && *x->boolean();
  };
  const Value* away = g.find("engine_away");
  const bool unheard = away != nullptr && away->object() != nullptr;
  std::string s = fmt::format("acting     {}\n", flag(g, "shadow")   ? "no: shadow mode, everything is only said"
                                                 : flag(g, "paused") ? "no: paused by " + printable(text_of(g, "paused_by"))
                                                 : unheard           ? "no: the scheduler engine does not answer"
                                                                     : "yes, within these limits");
  if (unheard) {
    s += fmt::format("engine     does not answer since {} (finding {}): nothing is ordered but a try now and then\n",
                     text_of(*away, "since"), text_of(*away, "finding"));
  }
  for (const Value& b : list_of(g, "budgets")) {
    const double used = number_of(b, "used").value_or(0);
    const double limit = number_of(b, "limit").value_or(0);
    s += fmt::format("{:<10} {:.0f} of {:.0f} {} in {}\n", used >= limit ? "FULL" : "limit", used, limit, text_of(b, "what"),
                     printable(text_of(b, "where")));
  }
  for (const Value& f : list_of(g, "frozen")) {
    s += fmt::format("frozen     {}: it struck many nodes at once; for {} more, or until the cause has cleared\n",
                     text_of(f, "cause"), render_duration(from_seconds(number_of(f, "for_s").value_or(0))));
  }
  for (const Value& a : list_of(g, "approvals")) {
    s += fmt::format("approval   {} {}: {} on {} (incident {}): {}; {}\n", text_of(a, "id"), text_of(a, "state"),
                     text_of(a, "verb"), printable(text_of(a, "node")), text_of(a, "incident"), printable(text_of(a, "sentence")),
                     printable(text_of(a, "why")));
  }
  for (const Value& r : list_of(g, "held_back")) {
    s += fmt::format("held back  {} {} on {} (incident {}): {}\n", text_of(r, "at"), text_of(r, "verb"),
                     printable(text_of(r, "node")), text_of(r, "incident"), printable(text_of(r, "limit")));
  }
  const Value* windows = g.find("windows");
  if (const auto opens = windows != nullptr ? number_of(*windows, "opens_in_s") : std::nullopt) {
    s += *opens > 0 ? fmt::format("window     the next opens in {}\n", render_duration(from_seconds(*opens)))
                    : std::string("window     open now\n");
  }
  for (const Value& x : list_of(g, "groups")) {
    s += fmt::format("group      {} ({}): {}{}\n", printable(text_of(x, "name")), printable(text_of(x, "nodes")),
                     flag(x, "shadow") ? "in shadow" : "acted on", flag(x, "runbooks") ? ", with runbooks of its own" : "");
  }
  return s;
}

}  // namespace muster::report
