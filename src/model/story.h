// Story: a state told event by event, for the tests of every room that works on states.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/state.h"

namespace muster {

// `nodes` nodes of eight GPUs called n0, n1 ...: four to a rack, `per_leaf` to a leaf, two leaves to a pod.
inline Site small_site(std::uint32_t nodes, std::uint32_t per_leaf = 4) {
  Site site;
  site.name = "small";
  site.gpu_model = "H200";
  for (int i = 0; i < 8; ++i) site.gpu_pci.push_back("0000:" + std::to_string(10 + i) + ":00");
  for (std::uint32_t i = 0; i < nodes; ++i) {
    site.nodes.push_back({"n" + std::to_string(i), i / 4, i / per_leaf, i / per_leaf / 2, i});
  }
  site.leaves = site.nodes.back().leaf + 1;
  site.pods = site.nodes.back().pod + 1;
  site.domains = nodes;
  for (std::uint32_t r = 0; r <= site.nodes.back().rack; ++r) site.racks.push_back("r" + std::to_string(r));
  return site;
}

class Story {
 public:
  explicit Story(Site site, Policy policy = default_policy()) {
    now_.utc = Time{1'767'225'600'000'000'000};
    now_.steady = Time{5'000'000'000};
    tell(RunStarted{"test", 1, 1, "j", now_});
    tell(SiteDeclared{std::move(site)});
    tell(PolicyApplied{std::move(policy), "hash"});
    pass(seconds(0));
  }
  explicit Story(std::uint32_t nodes = 8, Policy policy = default_policy()) : Story(small_site(nodes), std::move(policy)) {}

  void tell(Body body) {
    const Event e = next_event(s, "test", now_.utc, std::move(body));
    fold(s, e);
    if (heard) heard(e);
  }
  // A turn, that much later.
  void pass(Duration d) {
    now_.utc = now_.utc + d;
    now_.steady = now_.steady + d;
    tell(TurnBegan{s.turn + 1, now_});
  }
  // The clock on the wall is set; the steady one goes on.
  void set_clock(Duration by) { now_.utc = now_.utc + by; }
  void set_steady(Duration by) { now_.steady = now_.steady + by; }
  Now now() const { return now_; }

  JobId submit(std::uint32_t nodes, std::string name = "job") {
    const JobId id{++jobs_, 0};
    JobSpec spec;
    spec.name = std::move(name);
    spec.nodes = nodes;
    tell(JobSubmitted{id, spec});
    return id;
  }
  // Submitted and started on these nodes, past the queue.
  JobId running(const std::vector<NodeId>& nodes) {
    const JobId id = submit(static_cast<std::uint32_t>(nodes.size()));
    tell(JobStarted{id, 1, nodes});
    return id;
  }
  FindingId find(FindingKind kind, NodeId node, std::int16_t slot = -1, Witness witness = Witness::scrape,
                 Severity severity = Severity::critical) {
    Finding f;
    f.id = FindingId{s.next_finding};
    f.kind = kind;
    f.severity = severity;
    f.node = node;
    f.slot = slot;
    f.opened = now_.utc;
    f.evidence = {{witness, now_.utc, {}, "seen"}};
    tell(FindingOpened{f});
    return f.id;
  }
  IncidentId open(FindingId finding) {
    const IncidentId id{s.next_incident};
    tell(IncidentOpened{id, finding});
    return id;
  }
  // An order as the controller would give it; returns its key.
  std::string order(Verb verb, NodeId node, IncidentId incident = {}, std::string wish = {}, JobId job = {}) {
    Order o;
    o.key = "j-" + std::to_string(s.totals.orders + 1);
    o.epoch = s.epoch;
    o.action.verb = verb;
    o.action.node = node;
    o.action.job = job;
    if (const Job* j = find_job(s, job)) o.action.attempt = j->attempt;
    o.reason.rule = "test";
    o.reason.sentence = "for the test";
    o.reason.incident = incident;
    o.reason.wish = std::move(wish);
    if (const Incident* i = find_incident(s, incident)) o.reason.findings = i->findings;
    tell(OrderIntended{o, {}});
    return o.key;
  }
  std::string order_start(JobId job, std::vector<NodeId> nodes) {
    Order o;
    o.key = "j-" + std::to_string(s.totals.orders + 1);
    o.action.verb = Verb::start_job;
    o.action.job = job;
    o.action.attempt = s.jobs.at(job).attempt + 1;
    o.action.nodes = std::move(nodes);
    tell(OrderIntended{o, {}});
    return o.key;
  }
  std::string order_restart(JobId job, std::vector<NodeId> nodes, std::vector<std::uint16_t> slots = {}) {
    Order o;
    o.key = "j-" + std::to_string(s.totals.orders + 1);
    o.action.verb = Verb::restart_job;
    o.action.job = job;
    o.action.attempt = s.jobs.at(job).attempt + 1;
    o.action.nodes = std::move(nodes);
    o.action.slots = std::move(slots);
    tell(OrderIntended{o, {}});
    return o.key;
  }
  void ends(const std::string& key, Status status = Status::done, std::string detail = {}) {
    tell(OrderEnded{key, status, std::move(detail)});
  }
  // A node drained by Muster (for `incident`), or by a person when `wish` names a command.
  void drained(NodeId node, IncidentId incident = {}, std::string wish = {}) {
    ends(order(Verb::drain_node, node, incident, std::move(wish)));
  }
  void command(CommandVerb verb, std::string id, NodeId node = {}, JobId job = {}) {
    CommandGiven c;
    c.verb = verb;
    c.actor = "ada";
    c.id = std::move(id);
    c.node = node;
    c.job = job;
    c.spec.nodes = 1;
    tell(c);
  }

  State s;
  std::function<void(const Event&)> heard;  // each event, once folded

 private:
  Now now_;
  std::uint32_t jobs_ = 0;
};

}  // namespace muster
