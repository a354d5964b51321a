#include "decide/wishes.h"

#include <fmt/core.h>

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
      const Job* j = find_job(s, c.job);
      if (j == nullptr) return "there is no such job";
      return ended(j->phase) ? "the job has ended already" : "";
    }
    case CommandVerb::submit: return problem_with(c.spec, &s.site);
    case CommandVerb::pause:
    case CommandVerb::resume: return "";
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
      out.push_back(std::move(w));
    }
  }
}

}  // namespace muster::decide
