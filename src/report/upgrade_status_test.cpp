// What an upgrade waits for, in each of its phases.
#include "report/upgrade_status.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "ingest/json.h"
#include "model/story.h"
#include "report/units.h"

namespace muster::report {
namespace {

// Nodes that are said to wait, with why.
std::string waits(const State& s) {
  const auto told = parse_json(upgrade_json(s));
  MUSTER_CHECK(told.has_value());
  std::string out;
  for (const Value& w : list_of(*told, "waits_for")) out += text_of(w, "what") + ": " + text_of(w, "why") + "\n";
  return out;
}

TEST(UpgradeStatus, NamesWhoIsWaitedForInEveryPhase) {
  Story t(4);
  const JobId job = t.running({NodeId{0}, NodeId{1}, NodeId{2}, NodeId{3}});
  Upgrade& u = t.s.upgrade;
  u.id = 1;
  u.phase = UpgradePhase::canary;
  u.spec.wait_for_jobs = true;
  u.spec.finish_in = days(7);
  u.spec.canary_nodes = "n[1-2]";
  const std::string why = ": job " + render(job) + " runs there, until its end\n";
  EXPECT_EQ(waits(t.s), "n1" + why + "n2" + why);
  u.turns[NodeId{1}].stage = TurnStage::watched;
  u.turns[NodeId{1}].installed = true;
  u.phase = UpgradePhase::waves;
  EXPECT_EQ(waits(t.s), "n0" + why + "n2" + why + "n3" + why);
  u.phase = UpgradePhase::rolling_back;
  EXPECT_EQ(waits(t.s), "n1" + why) << "and those that never had it wait for nothing";
}

}  // namespace
}  // namespace muster::report
