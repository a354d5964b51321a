#include "report/shadow_report.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "model/story.h"
#include "report/units.h"

namespace muster::report {
namespace {

// A cluster in shadow: what is wanted is refused, and goes on being told.
class Shadow : public ::testing::Test {
 protected:
  Shadow() {
    const Now start = t.now();
    State past;
    for (Body b : {Body(RunStarted{"test", 1, 1, "j", start}), Body(SiteDeclared{small_site(8)}),
                   Body(PolicyApplied{default_policy(), "hash"}), Body(TurnBegan{1, start})}) {
      const Event e = next_event(past, "test", start.utc, std::move(b));
      fold(past, e);
      story.take(e);
    }
    t.heard = [this](const Event& e) { story.take(e); };
  }
  IncidentId would_drain(NodeId n, FindingKind kind = FindingKind::gpu_lost, const char* limit = "shadow: nothing is done") {
    const IncidentId i = t.open(t.find(kind, n, 3));
    OrderRefused no;
    no.action.verb = Verb::drain_node;
    no.action.node = n;
    no.reason.incident = i;
    no.reason.sentence = "why";
    no.limit = limit;
    no.retry = kNever;
    t.tell(no);
    return i;
  }
  Value report() const { return parse_json(story.json({"j", 1, "d"})).value(); }
  std::string fate(std::size_t k) const { return text_of(list_of(report(), "acts").at(k), "fate"); }

  Story t{8};
  ShadowStory story;
};

TEST_F(Shadow, TellsWhatBecameOfWhatWasNotDone) {
  const IncidentId gone = would_drain(NodeId{1}, FindingKind::thermal_throttle);
  would_drain(NodeId{2});
  would_drain(NodeId{3});
  would_drain(NodeId{4}, FindingKind::gpu_lost, "nodes out of service: 2 of 2");
  EXPECT_EQ(list_of(report(), "acts").size(), 3u) << "what a limit held back is no matter of shadow mode";
  EXPECT_EQ(fate(0), "open");
  t.pass(hours(2));
  t.tell(IncidentClosed{gone, "went away by itself before anything was done"});
  t.command(CommandVerb::drain, "c1", NodeId{2});
  t.pass(hours(1));
  EXPECT_EQ(fate(0), "in_vain");
  EXPECT_EQ(fate(1), "person");
  EXPECT_EQ(fate(2), "open");
  const Value r = report();
  EXPECT_EQ(text_of(list_of(r, "acts")[1], "person"), "ada");
  const Value* total = r.find("total");
  EXPECT_EQ(number_of(*total, "times"), 3);
  EXPECT_EQ(number_of(*total, "nodes"), 3);
  EXPECT_EQ(number_of(*total, "done_by_a_person"), 1);
  EXPECT_EQ(number_of(*total, "in_vain"), 1);
  EXPECT_NEAR(number_of(*total, "out_gpu_hours").value_or(0), 8 * (2 + 3 + 3), 1e-6) << "as long as each fault lasted";
  const std::string text = render_shadow_text(r, {});
  EXPECT_NE(text.find("would have acted 3 times, on 3 nodes, and taken 64.0 GPU-hours"), std::string::npos) << text;
  EXPECT_NE(text.find("a person did it: ada"), std::string::npos) << text;
}

TEST_F(Shadow, SaysSoWhereNothingWasHeldBack) {
  EXPECT_NE(render_shadow_text(report(), {}).find("held nothing back"), std::string::npos);
}

TEST_F(Shadow, TellsWhatPlacementWouldHaveGained) {
  const auto placed_by_engine = [&](std::vector<NodeId> nodes) {
    const JobId id = t.submit(static_cast<std::uint32_t>(nodes.size()), "gang");
    t.tell(JobStarted{id, 1, std::move(nodes), {}});
    return id;
  };
  EXPECT_EQ(render_shadow_text(report(), {}).find("Placement"), std::string::npos);
  const JobId wide = placed_by_engine({NodeId{1}, NodeId{5}});
  placed_by_engine({NodeId{2}, NodeId{3}});
  placed_by_engine({NodeId{0}});  // no gang
  t.pass(hours(3));
  t.tell(JobEnded{wide, 1, JobEnd::completed, {}, {}});
  t.pass(hours(3));
  const Value r = report();
  const Value* p = r.find("placement");
  EXPECT_EQ(number_of(*p, "gangs"), 2);
  EXPECT_EQ(number_of(*p, "leaves"), 3);
  EXPECT_EQ(number_of(*p, "leaves_by_muster"), 2);
  EXPECT_EQ(number_of(*p, "wider"), 1);
  EXPECT_NEAR(number_of(*p, "wider_gpu_hours").value_or(0), 48, 1e-6);
  EXPECT_EQ(text_of(list_of(*p, "widest").at(0), "job"), render(wide));
  EXPECT_NE(render_shadow_text(r, {}).find("2 gangs on 3 leaf switches"), std::string::npos) << render_shadow_text(r, {});
}

}  // namespace
}  // namespace muster::report
