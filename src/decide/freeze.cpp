#include "decide/freeze.h"

#include <fmt/core.h>

#include <set>

#include "base/text.h"

namespace muster::decide {
namespace {

bool acts_on(const State& s, FindingKind k) {
  const Runbook* l = find_runbook(s.policy, k);
  return l != nullptr && l->act;
}

// What open common causes have on their nodes, and which of them it is.
std::map<FindingKind, const Finding*> standing(const State& s) {
  std::map<FindingKind, const Finding*> out;
  for (const auto& [node, ids] : s.explained) {
    for (const FindingId id : ids) {
      const Finding* f = find_finding(s, id);
      if (acts_on(s, f->kind)) out[f->kind] = cause_of(s, *f);
    }
  }
  return out;
}

struct Extent {
  std::set<NodeId> nodes;
  std::set<FindingKind> kinds;  // of those that would be acted on
};
Extent extent_of(const State& s, FindingId cause) {
  Extent x;
  for (const auto& [id, f] : s.findings) {
    if (f.part_of != cause) continue;
    if (f.node.some()) x.nodes.insert(f.node);
    if (acts_on(s, f.kind)) x.kinds.insert(f.kind);
  }
  return x;
}

std::string list(const std::set<FindingKind>& kinds) {
  std::vector<std::string> words;
  for (const FindingKind k : kinds) words.emplace_back(name_of(k));
  return join(words, ", ");
}

}  // namespace

bool concerns_site(const Finding& f) {
  if (f.node.some()) return false;
  return f.kind == FindingKind::storage_stall || f.kind == FindingKind::common_cause || f.kind == FindingKind::row_hot ||
         f.kind == FindingKind::fabric_fault;
}

void decide_freezes(const State& s, Decisions& out) {
  if (s.explained.empty() && s.frozen.empty()) return;
  const auto now = standing(s);
  for (const auto& [kind, cause] : now) {
    const auto it = s.frozen.find(kind);
    if (it != s.frozen.end() && it->second > s.mono()) continue;
    out.push_back(Body(CauseFrozen{kind, s.mono() + s.policy.limits.cause_freeze,
                                   fmt::format("{} {}", cause->subject, it == s.frozen.end() ? "explains it" : "still stands")}));
  }
  for (const auto& [kind, until] : s.frozen) {
    if (now.count(kind) != 0) continue;
    const bool gone = s.open_kinds.count(kind) == 0;
    if (gone || until <= s.mono()) {
      out.push_back(Body(CauseFrozen{kind, s.mono(), gone ? "over: none of it is open any more" : "over: its time is up"}));
    }
  }
}

Time next_freeze(const State& s) {
  Time t = kNever;
  for (const auto& [kind, until] : s.frozen) t = std::min(t, until);
  return t;
}

std::string how_it_began(const State& s, const Incident& i) {
  const Finding* f = find_finding(s, i.findings.front());
  if (f == nullptr || f->kind != FindingKind::common_cause) return "no act by policy: watched";
  std::string text = fmt::format("common cause: {}. {}", f->subject, f->evidence.front().text);
  if (!explains(*f)) return text;
  const Extent x = extent_of(s, f->id);
  text += fmt::format(". {} nodes are left alone while it stands", x.nodes.size());
  if (!x.kinds.empty()) text += fmt::format(", and acts on {} are frozen", list(x.kinds));
  return text + ": look at the cause";
}

void close_of_site(const State& s, const Incident& i, Decisions& out) {
  const Finding* f = find_finding(s, i.findings.front());
  std::string how = "went away by itself";
  if (f != nullptr && f->kind == FindingKind::common_cause) {
    how = fmt::format("{}: over after {}", f->subject, render_duration(s.now.utc - i.opened));
    const Extent x = extent_of(s, f->id);
    if (explains(*f)) how += fmt::format("; its {} nodes are looked at by themselves again", x.nodes.size());
    std::set<FindingKind> freed;
    for (const auto& [kind, cause] : standing(s)) freed.insert(kind);
    std::set<FindingKind> over;
    for (const FindingKind k : x.kinds) {
      if (freed.count(k) != 0 || s.frozen.count(k) == 0) continue;
      over.insert(k);
      out.push_back(Body(CauseFrozen{k, s.mono(), fmt::format("over: {} is", f->subject)}));
    }
    if (!over.empty()) how += fmt::format("; acts on {} are free again", list(over));
  }
  out.push_back(Body(IncidentClosed{i.id, std::move(how)}));
}

}  // namespace muster::decide
