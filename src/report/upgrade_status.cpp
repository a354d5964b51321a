#include "report/upgrade_status.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/json_writer.h"
#include "base/node_list.h"
#include "base/text.h"
#include "model/window.h"
#include "report/units.h"

namespace muster::report {
namespace {

std::set<std::string> named(const std::string& list) {
  if (list.empty()) return {};
  const auto names = expand_node_list(list);
  return names ? std::set<std::string>(names->begin(), names->end()) : std::set<std::string>{};
}

// Nodes it is for.
std::size_t target_count(const State& s) {
  return s.upgrade.spec.nodes.empty() ? s.nodes.size() : named(s.upgrade.spec.nodes).size();
}

// Why a node that is still to be upgraded is left alone for now; empty: its turn comes.
std::string waits_for(const State& s, NodeId n) {
  const NodeState& x = s.nodes[n.v];
  if (x.hold == Hold::person) return "a person holds it";
  if (x.incident.some()) return fmt::format("incident {} is open on it", x.incident.v);
  if (x.condition != NodeCondition::up) return fmt::format("it is {}", name_of(x.condition));
  for (const Share& share : x.shares) {
    const Job* j = find_job(s, share.job);
    if (j == nullptr) continue;
    if (s.upgrade.spec.wait_for_jobs) return fmt::format("job {} runs there, until its end", render(j->id));
    if (j->spec.no_requeue) return fmt::format("job {} forbids that it is stopped", render(j->id));
    if (!checkpoint_known(*j)) return fmt::format("nobody knows when job {} last wrote a checkpoint", render(j->id));
    return fmt::format("job {} runs there, until its end or a checkpoint", render(j->id));
  }
  return {};
}

// Whose turn is still to come, in the phase that it is in.
std::vector<NodeId> to_come(const State& s) {
  const Upgrade& u = s.upgrade;
  const bool back = u.phase == UpgradePhase::rolling_back, canary = u.phase == UpgradePhase::canary;
  if (!back && !canary && u.phase != UpgradePhase::waves) return {};
  const std::set<std::string> wanted = named(u.spec.nodes), first = canary ? named(u.spec.canary_nodes) : wanted;
  std::vector<NodeId> out;
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) {
    const auto t = u.turns.find(NodeId{n});
    const std::string& name = s.site.nodes[n].name;
    const bool asked = (wanted.empty() || wanted.count(name) != 0) && (first.empty() || first.count(name) != 0);
    const bool has_it = t != u.turns.end() && t->second.installed && !is_out(t->second.stage);
    if (back ? has_it : t == u.turns.end() && asked) out.push_back(NodeId{n});
  }
  return out;
}

void waiting(JsonWriter& w, const State& s) {
  constexpr std::size_t kShown = 8;
  const Upgrade& u = s.upgrade;
  w.key("waits_for").array();
  const auto say = [&](std::string_view what, const std::string& why) {
    w.object().field("what", what).field("why", why).end_object();
  };
  if (s.paused) say("all", "Muster is paused by " + s.paused_by);
  const Duration until = s.policy.windows.empty() ? Duration{} : until_window(s.policy.windows, s.now.utc);
  if (until.ns > 0 && u.phase != UpgradePhase::rolling_back)
    say("all", fmt::format("the next maintenance window, in {}", render_duration(until)));
  if (s.mono() > u.began_mono + u.spec.finish_in)
    say("all", fmt::format("it was to be finished after {}", render_duration(u.spec.finish_in)));
  std::size_t shown = 0;
  for (const NodeId n : to_come(s)) {
    const std::string why = waits_for(s, n);
    if (why.empty()) continue;
    say(s.site.nodes[n.v].name, why);
    if (++shown == kShown) break;
  }
  w.end_array();
}

}  // namespace

std::string upgrade_json(const State& s) {
  const Upgrade& u = s.upgrade;
  JsonWriter w;
  w.object().field("id", u.id).field("phase", name_of(u.phase));
  if (u.id == 0) return w.end_object().take();
  w.field("what", u.spec.what).field("version", u.spec.version).field("before", u.spec.before).field("nodes", u.spec.nodes);
  w.field("by", u.by).field("why", u.why).field("began", render_utc(u.began));
  w.field("ended", u.ended.ns == 0 ? std::string() : render_utc(u.ended));
  w.field("watch_s", u.spec.watch.seconds()).field("at_once_pct", u.spec.at_once_pct);
  w.field("finish_in_s", u.spec.finish_in.seconds()).field("targets", target_count(s)).key("parts").array();
  for (const UpgradePart& p : u.spec.parts)
    w.object().field("what", p.what).field("version", p.version).field("before", p.before).end_object();
  w.end_array().field("apart", u.spec.apart).field("apart_within", name_of(u.spec.apart_within));
  w.field("wait_for_jobs", u.spec.wait_for_jobs).field("measured", u.spec.measured);
  std::array<std::vector<std::string>, names(TurnStage{}).size()> by_stage;
  std::size_t has_it = 0;
  std::size_t canaries = 0;
  for (const auto& [n, t] : u.turns) {
    by_stage[static_cast<std::size_t>(t.stage)].push_back(s.site.nodes[n.v].name);
    has_it += t.installed ? 1 : 0;
    canaries += t.canary ? 1 : 0;
  }
  w.field("installed", has_it).field("canaries", canaries).key("stages").array();
  for (std::size_t k = 0; k < by_stage.size(); ++k) {
    if (by_stage[k].empty()) continue;
    w.object().field("stage", names(TurnStage{})[k]).field("count", by_stage[k].size());
    w.field("nodes", compress_node_list(by_stage[k])).end_object();
  }
  w.end_array().key("bad").array();
  for (const auto& [n, t] : u.turns) {
    if (t.stage != TurnStage::bad) continue;
    w.object().field("node", s.site.nodes[n.v].name).field("note", t.note).field("installed", t.installed).end_object();
  }
  w.end_array();
  if (at_work(u.phase)) waiting(w, s);
  w.key("held_back").array();  // the newest, each limit once
  std::set<std::string> said;
  for (auto r = s.refusals.rbegin(); r != s.refusals.rend() && said.size() < 3; ++r) {
    const bool of_it = !r->incident.some() && s.now.utc - r->at < minutes(30) && at_work(u.phase) &&
                       (r->action.verb == Verb::drain_node || r->action.verb == Verb::restart_job);
    if (of_it && said.insert(r->limit).second) w.object().field("at", render_utc(r->at)).field("limit", r->limit).end_object();
  }
  return w.end_array().end_object().take();
}

namespace {

// "driver 580.159.04 (before: 580.105.08)", of all parts in the order in which a node gets them.
std::string parts_words(const Value& u) {
  const auto one = [](const Value& x) {
    return fmt::format("{} {} (before: {})", printable(text_of(x, "what")), printable(text_of(x, "version")),
                       text_of(x, "before").empty() ? "not known" : printable(text_of(x, "before")));
  };
  std::string s;
  for (const Value& x : list_of(u, "parts")) s += (s.empty() ? "" : ", ") + one(x);
  return s.empty() ? one(u) : s;
}

}  // namespace

std::string upgrade_words(const Value& u) {
  if (text_of(u, "phase") == "none") return "no upgrade has been asked for; `muster upgrade start --help` tells how\n";
  std::string s =
      fmt::format("upgrade    {}, asked for by {} at {}\n", parts_words(u), printable(text_of(u, "by")), text_of(u, "began"));
  s += fmt::format("phase      {}{}{}{}\n", text_of(u, "phase"),
                   text_of(u, "ended").empty() ? "" : " since " + text_of(u, "ended"), text_of(u, "why").empty() ? "" : ": ",
                   printable(text_of(u, "why")));
  s += fmt::format("installed  {} of {} nodes, {} canaries\n", text_of(u, "installed"), text_of(u, "targets"),
                   text_of(u, "canaries"));
  for (const Value& x : list_of(u, "stages")) {
    s += fmt::format("{:<10} {} {}\n", text_of(x, "stage"), text_of(x, "count"), printable(text_of(x, "nodes")));
  }
  for (const Value& x : list_of(u, "bad")) {
    s += fmt::format("BAD        {}{}: {}\n", printable(text_of(x, "node")),
                     text_of(x, "installed") == "true" ? "" : " (before anything was installed)", printable(text_of(x, "note")));
  }
  for (const Value& x : list_of(u, "waits_for"))
    s += fmt::format("waits for  {}: {}\n", printable(text_of(x, "what")), printable(text_of(x, "why")));
  for (const Value& x : list_of(u, "held_back"))
    s += fmt::format("held back  {} {}\n", text_of(x, "at"), printable(text_of(x, "limit")));
  return s;
}

}  // namespace muster::report
