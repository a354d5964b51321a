// Versions that must not be mixed within an NVLink domain: what placement and repair make of it, in random clusters half-way
// through an upgrade.
#include "decide/upgrade/sides.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "base/prng.h"
#include "decide/cluster_view.h"
#include "decide/moves/repair.h"
#include "decide/place/random_cluster.h"
#include "model/story.h"

namespace muster::decide {
namespace {

// Nodes of eight GPUs, four to a leaf, `per_domain` to an NVLink domain.
Story half_way(std::uint32_t nodes, std::uint32_t per_domain, ApartWithin within) {
  Site site = small_site(nodes);
  for (std::uint32_t n = 0; n < nodes; ++n) site.nodes[n].domain = n / per_domain;
  Story t(std::move(site));
  Upgrade& u = t.s.upgrade;
  u.id = 1;
  u.phase = UpgradePhase::waves;
  u.spec.version = "590";
  u.spec.apart = "an NVLink domain runs one version of IMEX";
  u.spec.apart_within = within;
  return t;
}

void install(Story& t, std::uint32_t node) {
  Turn& turn = t.s.upgrade.turns[NodeId{node}];
  turn.stage = TurnStage::done;
  turn.installed = true;
}

bool mixes_a_domain(const State& s, const std::vector<NodeId>& nodes) {
  std::map<std::uint32_t, std::set<bool>> seen;
  for (const NodeId n : nodes) seen[s.site.nodes[n.v].domain].insert(has_new_version(s, n));
  return std::any_of(seen.begin(), seen.end(), [](const auto& x) { return x.second.size() > 1; });
}

TEST(Sides, AGangMaySpanDomainsOfBothVersionsWhereOnlyDomainsMustBeOfOne) {
  for (const ApartWithin within : {ApartWithin::job, ApartWithin::domain}) {
    Story t = half_way(16, 4, within);
    for (std::uint32_t n = 0; n < 8; ++n) install(t, n);
    ClusterView view;
    view.update(t.s);
    Shape shape;
    shape.pieces = 16;
    EXPECT_EQ(view.tree().find(shape).has_value(), within == ApartWithin::domain);
    EXPECT_EQ(view.tree().may_fit(shape), within == ApartWithin::domain);
  }
}

TEST(Sides, OfADomainThatIsHalfWayAGangHasOnePart) {
  Story t = half_way(16, 4, ApartWithin::domain);
  for (const std::uint32_t n : {0U, 1U, 2U, 4U}) install(t, n);  // three of the first, one of the second
  ClusterView view;
  view.update(t.s);
  Shape shape;
  shape.pieces = 14;
  const auto most = view.tree().find(shape);
  ASSERT_TRUE(most);
  EXPECT_FALSE(mixes_a_domain(t.s, most->nodes));
  shape.pieces = 15;
  EXPECT_FALSE(view.tree().find(shape));
  EXPECT_TRUE(view.tree().ever_fits(shape));
  shape.pieces = 4;
  shape.required = Level::domain;
  const auto whole = view.tree().find(shape);
  ASSERT_TRUE(whole);
  EXPECT_GE(whole->nodes.front().v, 8U) << "only whole domains hold four";
}

TEST(Sides, WorkThatLastsUsesAllUpgradedNodesAlsoTheFewOfADomainThatHasBegun) {
  Story t = half_way(16, 4, ApartWithin::domain);
  t.s.upgrade.spec.wait_for_jobs = true;
  for (const std::uint32_t n : {0U, 1U, 2U, 3U, 4U}) install(t, n);
  ClusterView view;
  view.update(t.s);
  Shape shape;
  shape.pieces = 5;
  const auto found = view.tree().find(view.beside_upgrade(shape, days(2)));
  ASSERT_TRUE(found);
  for (const NodeId n : found->nodes) EXPECT_LE(n.v, 4U);
}

TEST(Sides, AFailedNodeIsReplacedByOneThatGoesWithTheRestOfItsDomain) {
  Story t = half_way(12, 4, ApartWithin::domain);
  for (const std::uint32_t n : {0U, 1U, 4U, 5U, 6U}) install(t, n);
  ClusterView view;
  view.update(t.s);
  Gang g;
  g.id = {1, 0};
  g.shape.pieces = 2;
  g.shape.required = Level::leaf;  // a leaf is a domain here
  g.nodes = {NodeId{4}, NodeId{5}};
  g.slots = {0xff, 0xff};
  take(view.tree(), g);
  const Repair r = plan_repair(view.tree(), view.layout(), g, std::vector<NodeId>{NodeId{4}});
  ASSERT_TRUE(r.possible) << r.why;
  ASSERT_EQ(r.in.size(), 1U);
  EXPECT_EQ(r.in[0].node, NodeId{6}) << "7 has the other version";
  view.tree().close(NodeId{6});
  EXPECT_FALSE(plan_repair(view.tree(), view.layout(), g, std::vector<NodeId>{NodeId{4}}).possible);
}

// A site with the leaves and domains of a random layout, some of its nodes upgraded, some waiting, some done with otherwise.
Story random_half_way(Prng& r) {
  const Layout layout = random_layout(r);
  Site site = small_site(static_cast<std::uint32_t>(layout.nodes.size()));
  for (std::size_t n = 0; n < site.nodes.size(); ++n) {
    site.nodes[n].leaf = layout.nodes[n].leaf;
    site.nodes[n].pod = layout.nodes[n].pod;
    site.nodes[n].domain = layout.nodes[n].domain;
    site.leaves = std::max(site.leaves, site.nodes[n].leaf + 1);
    site.pods = std::max(site.pods, site.nodes[n].pod + 1);
    site.domains = std::max(site.domains, site.nodes[n].domain + 1);
  }
  Story t(std::move(site));
  Upgrade& u = t.s.upgrade;
  u.id = 1;
  const UpgradePhase phases[] = {UpgradePhase::canary, UpgradePhase::waves, UpgradePhase::stopped, UpgradePhase::rolling_back};
  u.phase = phases[r.below(4)];
  u.spec.version = "590";
  u.spec.apart = "an NVLink domain runs one version of IMEX";
  u.spec.apart_within = ApartWithin::domain;
  u.spec.wait_for_jobs = r.chance(0.7);
  const double share = r.unit();
  for (std::uint32_t n = 0; n < t.s.nodes.size(); ++n) {
    if (r.chance(share))
      install(t, n);
    else if (r.chance(0.1))
      u.turns[NodeId{n}].stage = TurnStage::skipped;
  }
  return t;
}

RC_GTEST_PROP(SidesProperty, NoGangHasBothVersionsInOneDomainNeitherPlacedNorRepaired, (std::uint32_t seed)) {
  Prng r(seed, "sides");
  const Story t = random_half_way(r);
  ClusterView view;
  view.update(t.s);
  Tree& tree = view.tree();
  std::vector<Running> running;
  for (int step = 0; step < 30; ++step) {
    churn(tree, running, r, r.chance(0.3));
    Shape shape = random_shape(r);
    shape.model = kAnyModel;
    shape.pool = kAnyPool;
    if (r.chance(0.5)) shape = view.beside_upgrade(shape, days(30));
    const auto found = tree.find(shape);
    RC_ASSERT(tree.may_fit(shape) == found.has_value());
    if (!found) continue;
    RC_ASSERT(!mixes_a_domain(t.s, found->nodes));
    if (shape.milli < 1000 || found->nodes.size() < 2) continue;
    Gang g;
    g.id = {99, 0};
    g.shape = shape;
    g.nodes = found->nodes;
    g.slots = found->slots;
    take(tree, g);
    std::vector<NodeId> failed;
    for (const NodeId n : g.nodes) {
      if (r.chance(0.3)) failed.push_back(n);
    }
    const Repair repair = plan_repair(tree, view.layout(), g, failed);
    RC_ASSERT(!repair.possible || !mixes_a_domain(t.s, repair.nodes));
    give(tree, g);
  }
}

RC_GTEST_PROP(SidesProperty, WhereNoDomainIsHalfWayNothingIsKeptApart, (std::uint32_t seed)) {
  Prng r(seed, "sides");
  Story t = random_half_way(r);
  for (std::uint32_t n = 0; n < t.s.nodes.size(); ++n) {
    t.s.upgrade.turns.erase(NodeId{n});
    if (t.s.site.nodes[n].domain % 2 == 0) install(t, n);
  }
  t.s.upgrade.phase = UpgradePhase::stopped;
  ClusterView view;
  view.update(t.s);
  Tree plain(view.layout());
  for (int step = 0; step < 20; ++step) {
    Shape shape = random_shape(r);
    shape.model = kAnyModel;
    shape.pool = kAnyPool;
    const auto with = view.tree().find(shape), without = plain.find(shape);
    RC_ASSERT(with.has_value() == without.has_value());
    if (with) RC_ASSERT(with->nodes == without->nodes);
  }
}

}  // namespace
}  // namespace muster::decide
