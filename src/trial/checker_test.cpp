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

}  // namespace
}  // namespace muster::trial
