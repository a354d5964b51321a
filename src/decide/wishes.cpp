#include "decide/wishes.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/job_check.h"

namespace muster::decide {
namespace {

// Empty: it can be done. Otherwise why there is nothing to do.
std::string pointless(const State& s, const CommandGiven& c) {
  switch (c.verb) {
    case CommandVerb::drain:
      if (c.node.v >= s.nodes.size()) return "there is no such node";
      return s.nodes[c.node.v].hold == Hold::person ? "the node is drained already" : "";
    case CommandVerb::undrain:
      if (c.node.v >= s.nodes.size()) return "there is no such node";
      return s.nodes[c.node.v].hold == Hold::none ? "the node is not drained" : "";
    case CommandVerb::cancel: {
      const auto members = members_of(s, c.job);
      if (members.empty()) return "there is no such job";
      const bool over = std::all_of(members.begin(), members.end(), [&](JobId id) { return ended(s.jobs.at(id).phase); });
      return over ? "the job has ended already" : "";
    }
    case CommandVerb::submit: return problem_with(c.spec, &s.site);
    case CommandVerb::pause:
    case CommandVerb::resume:
    case CommandVerb::approve:
    case CommandVerb::reject:
    case CommandVerb::upgrade:
    case CommandVerb::upgrade_stop:
    case CommandVerb::upgrade_back: return "";
  }
  return "";
}

Verb verb_for(CommandVerb v) {
  switch (v) {
    case CommandVerb::drain: return Verb::drain_node;
    case CommandVerb::undrain: return Verb::undrain_node;
    case CommandVerb::cancel: return Verb::cancel_job;
    default: return Verb::submit_job;
  }
}

// One order for each job that the command is about: an array, named whole, is cancelled member by member.
void want(const State& s, const CommandGiven& c, const Wanted& w, Decisions& out) {
  const bool whole_array = c.verb == CommandVerb::cancel && find_job(s, c.job) == nullptr;
  if (!whole_array) {
    out.push_back(w);
    return;
  }
  for (const JobId id : members_of(s, c.job)) {
    const Job& j = s.jobs.at(id);
    if (ended(j.phase)) continue;
    Wanted one = w;
    one.action.job = id;
    one.action.attempt = j.attempt;
    out.push_back(std::move(one));
  }
}

}  // namespace

void decide_wishes(const State& s, Decisions& out) {
  for (const CommandGiven& c : s.wishes) {
    Wanted w;
    w.action.verb = verb_for(c.verb);
    w.action.node = c.node;
    w.action.job = c.job;
    w.action.spec = c.spec;
    if (const Job* j = find_job(s, c.job)) w.action.attempt = j->attempt;
    w.reason.rule = "operator";
    w.reason.sentence = c.reason.empty() ? fmt::format("{} asked for it", c.actor) : fmt::format("{}: {}", c.actor, c.reason);
    w.reason.actor = c.actor;
    w.reason.wish = c.id;
    if (std::string why = pointless(s, c); !why.empty()) {
      out.push_back(Body(OrderRefused{w.action, w.reason, why, {}}));
    } else {
      want(s, c, w, out);
    }
  }
}

}  // namespace muster::decide
