// Power limits: only for a row known to be hot, never too deep, always lifted; and what the state makes of them.
#include <gtest/gtest.h>

#include "act/guard.h"
#include "model/story.h"

namespace muster::act {
namespace {

Site two_rows() {
  Site site = small_site(16);
  site.rack_row = {0, 0, 1, 1};
  return site;
}

struct HotRow : ::testing::Test {
  Story t{two_rows()};
  FindingId hot = t.find(FindingKind::row_hot, {}, 1, Witness::scrape, Severity::warning);

  Action limit(std::uint32_t pct, std::uint32_t first_node = 8) const {
    Action a;
    a.verb = Verb::limit_power;
    a.limit_pct = pct;
    for (std::uint32_t n = first_node; n < first_node + 8; ++n) a.nodes.push_back(NodeId{n});
    return a;
  }
  Verdict ask(const Action& a, std::vector<FindingId> findings) const {
    Reason r;
    r.findings = std::move(findings);
    return Guard{}.check(t.s, a, r);
  }
  std::string order(std::uint32_t pct) {
    Order o;
    o.key = "j-" + std::to_string(t.s.totals.orders + 1);
    o.action = limit(pct);
    o.reason.findings = {hot};
    t.tell(OrderIntended{o, {}});
    return o.key;
  }
};

TEST_F(HotRow, AFindingAllowsALimitOfItsOwnRowOnly) {
  EXPECT_TRUE(ask(limit(80), {hot}).allowed);
  EXPECT_FALSE(ask(limit(80), {}).allowed);
  EXPECT_FALSE(ask(limit(80, 0), {hot}).allowed) << "the other row is cool";
  EXPECT_FALSE(ask(limit(80, 4), {hot}).allowed) << "half of these are elsewhere";
}

TEST_F(HotRow, NoLimitGoesBelowTheFloorAndLiftingNeedsNoReason) {
  EXPECT_TRUE(ask(limit(60), {hot}).allowed);
  EXPECT_FALSE(ask(limit(59), {hot}).allowed);
  t.tell(FindingCleared{hot, "cool"});
  EXPECT_FALSE(ask(limit(80), {hot}).allowed) << "what is over allows nothing";
  EXPECT_TRUE(ask(limit(100), {}).allowed);
}

TEST_F(HotRow, ALimitThatDidNotComeThroughIsNotBelieved) {
  t.ends(order(80));
  EXPECT_EQ(t.s.hot_rows.at(1).limit_pct, 80U);
  t.ends(order(70), Status::failed);
  EXPECT_EQ(t.s.hot_rows.at(1).limit_pct, 80U);
}

TEST_F(HotRow, TheRowIsForgottenWhenItIsNeitherHotNorLimited) {
  EXPECT_TRUE(in_hot_row(t.s, NodeId{9}));
  EXPECT_FALSE(in_hot_row(t.s, NodeId{2}));
  t.ends(order(80));
  t.tell(FindingCleared{hot, "cool"});
  EXPECT_TRUE(in_hot_row(t.s, NodeId{9})) << "still limited";
  t.ends(order(100));
  EXPECT_TRUE(t.s.hot_rows.empty());
}

TEST_F(HotRow, ANodeThatBootsHasForgottenTheLimit) {
  t.ends(order(80));
  settle(t.s);
  t.tell(NodeChanged{NodeId{9}, NodeCondition::up, "booted"});
  EXPECT_EQ(t.s.dirty_rows.count(1), 1U);
  EXPECT_TRUE(t.s.hot_rows.at(1).again);
  order(80);
  EXPECT_FALSE(t.s.hot_rows.at(1).again);
}

TEST_F(HotRow, MeasurementsAreKeptWhileTheRowIsHot) {
  t.tell(RowMeasured{1, 33, 81, 1.5});
  EXPECT_EQ(t.s.hot_rows.at(1).last.hottest_c, 81);
  t.tell(RowMeasured{0, 33, 81, 1.5});
  EXPECT_EQ(t.s.hot_rows.size(), 1U) << "nobody said that row 0 is hot";
}

}  // namespace
}  // namespace muster::act
