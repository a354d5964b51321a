// The checker itself: what is planted must be found, and what is right must pass.
#include "trial/checker.h"

#include <gtest/gtest.h>

#include "decide/decide.h"
#include "model/story.h"

namespace muster::trial {
namespace {

struct Watched {
  explicit Watched(Policy p = default_policy()) : t(8, p), checker(t.s.site, p) {
    t.heard = [this](const Event& e) { checker.on_event(e, t.s); };
  }
  Watched(const Watched&) = delete;

  // What the deciders want for the queue becomes orders, as `change` has them.
  void decide(const std::function<void(OrderIntended&)>& change = {}) {
    decide::Decider decider;
    for (decide::Decision& d : decider.decide(t.s)) {
      auto* w = std::get_if<decide::Wanted>(&d);
      if (w == nullptr) continue;
      Order o;
      o.key = "k" + std::to_string(++keys);
      o.action = w->action;
      o.reason = w->reason;
      OrderIntended intended{o, w->placement};
      if (change) change(intended);
      t.tell(intended);
    }
    settle(t.s);
    t.pass(seconds(1));  // a turn is over: now it is looked at
  }
  std::string found() const { return checker.violations().empty() ? std::string() : checker.violations().front(); }

  Story t;
  Checker checker;
  int keys = 0;
};

TEST(Checker, ATrueCertificatePasses) {
  Watched w;
  w.t.submit(3);
  w.t.submit(6);
  w.decide();
  EXPECT_EQ(w.found(), "");
}

TEST(Checker, ALowerBoundThatIsNoneIsFound) {
  Watched w;
  w.t.submit(6);  // two leaves of four
  w.decide([](OrderIntended& o) { o.placement.leaves_min = 3; });
  EXPECT_NE(w.found().find("certificate"), std::string::npos) << w.found();
}

TEST(Checker, APlacementOnMoreLeavesThanItSaysIsFound) {
  Watched w;
  w.t.submit(2);
  w.decide([](OrderIntended& o) { o.order.action.nodes = {NodeId{0}, NodeId{7}}; });
  EXPECT_NE(w.found().find("certificate"), std::string::npos) << w.found();
}

TEST(Checker, AGpuGivenTwiceIsFound) {
  Watched w;
  w.t.submit(1);
  w.t.submit(1);
  w.decide([](OrderIntended& o) { o.order.action.nodes = {NodeId{3}}; });
  EXPECT_NE(w.found().find("GPU in two jobs"), std::string::npos) << w.found();
}

TEST(Checker, AQueueBeyondItsLimitIsFound) {
  Policy p = default_policy();
  QueueSpec q;
  q.name = "lab";
  q.limit_gpus = 8;
  p.queues = {q};
  Watched w(p);
  w.t.s.policy.queues.clear();  // the controller knows nothing of it
  JobSpec spec;
  spec.account = "lab";
  spec.nodes = 2;
  w.t.tell(JobSubmitted{JobId{1, 0}, spec});
  w.decide();
  EXPECT_NE(w.found().find("quota"), std::string::npos) << w.found();
}

// An act of recovery that nobody held against the policy.
struct Acts : Watched {
  explicit Acts(Policy p = default_policy()) : Watched(std::move(p)) {}
  void order(Verb verb, NodeId n, JobId job = {}) {
    const FindingId f{static_cast<std::uint64_t>(++findings)};
    FindingOpened opened;
    opened.finding.id = f;
    opened.finding.node = n;
    checker.on_event(event(opened), t.s);
    OrderIntended o;
    o.order.key = "a" + std::to_string(++keys);
    o.order.action.verb = verb;
    o.order.action.node = n;
    o.order.action.job = job;
    o.order.reason.rule = "test";
    o.order.reason.sentence = "because";
    o.order.reason.incident = IncidentId{1};
    o.order.reason.findings = {f};
    checker.on_event(event(o), t.s);
  }
  std::uint64_t broken(Rule r) const { return checker.broken()[static_cast<std::size_t>(r)]; }
  Event event(Body body) {
    Event e;
    e.body = std::move(body);
    return e;
  }
  int findings = 0;
};

Policy wide() {
  Policy p = default_policy();
  p.limits.out_cluster_pct = p.limits.out_rack_pct = p.limits.out_domain_pct = 100;
  p.limits.harm_per_hour_floor = 1000;
  return p;
}

TEST(Checker, AJobStoppedOnceTooOftenWithinADayIsFound) {
  Policy p = wide();
  p.limits.job_requeues_per_day = 3;
  Acts w(p);
  const JobId job{1, 0};
  for (int i = 0; i < 3; ++i) w.order(Verb::requeue_job, NodeId{0}, job);
  EXPECT_EQ(w.broken(Rule::budget), 0U) << w.found();
  w.order(Verb::requeue_job, NodeId{0}, JobId{2, 0});
  EXPECT_EQ(w.broken(Rule::budget), 0U) << "another job's";
  w.order(Verb::requeue_job, NodeId{0}, job);
  EXPECT_EQ(w.broken(Rule::budget), 1U);
  EXPECT_NE(w.found().find("4 times within a day"), std::string::npos) << w.found();
}

TEST(Checker, TooManyNodesOutOfAnNvlinkDomainAreFound) {
  Policy p = wide();
  p.limits.out_domain_pct = 25;
  p.limits.out_domain_floor = 1;
  Acts w(p);
  for (NodeSpec& n : w.t.s.site.nodes) n.domain = 0;  // the site that the checker looks at
  w.order(Verb::drain_node, NodeId{0});
  w.order(Verb::drain_node, NodeId{1});
  EXPECT_EQ(w.broken(Rule::budget), 0U) << w.found();
  w.order(Verb::drain_node, NodeId{2});
  EXPECT_EQ(w.broken(Rule::budget), 1U);
  EXPECT_NE(w.found().find("3 nodes out of service in the NVLink domain"), std::string::npos) << w.found();
}

TEST(Checker, AReturnWithoutAPassedTestIsCountedAsThat) {
  Acts w(wide());
  w.order(Verb::drain_node, NodeId{0});
  w.order(Verb::undrain_node, NodeId{0});
  EXPECT_EQ(w.broken(Rule::untested), 1U);
  EXPECT_EQ(w.broken(Rule::budget) + w.broken(Rule::live_job) + w.broken(Rule::evidence), 0U) << w.found();
}

TEST(Checker, AResetUnderALiveJobIsCountedAsThat) {
  Acts w(wide());
  w.checker.on_event(w.event(JobStarted{JobId{1, 0}, 1, {NodeId{4}}}), w.t.s);
  w.order(Verb::reset_gpu, NodeId{3});
  EXPECT_EQ(w.broken(Rule::live_job), 0U) << w.found();
  w.order(Verb::reset_gpu, NodeId{4});
  EXPECT_EQ(w.broken(Rule::live_job), 1U);
}

}  // namespace
}  // namespace muster::trial
