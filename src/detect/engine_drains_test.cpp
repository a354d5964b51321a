#include <gtest/gtest.h>

#include "detect/watch.h"

namespace muster::detect {
namespace {

const Finding* open(const Watch& w) { return w.open(FindingKind::engine_drained); }

TEST(EngineDrains, WhatTheEngineTookOutIsAFindingUntilItIsBack) {
  Watch w;
  w.event(NodeHeld{kN0, true, "slurm", "Epilog error", true});
  w.look();
  ASSERT_NE(open(w), nullptr);
  EXPECT_EQ(open(w)->node, kN0);
  EXPECT_EQ(open(w)->code, 0);
  EXPECT_TRUE(has_witness_beyond_log(*open(w)));
  EXPECT_EQ(w.t.s.nodes[0].hold, Hold::engine);
  w.event(NodeHeld{kN0, false, "somebody", {}});
  w.look();
  EXPECT_EQ(open(w), nullptr);
}

TEST(EngineDrains, ItIsOverWhenMusterHasReturnedTheNode) {
  Watch w;
  w.event(NodeHeld{kN0, true, "slurm", "Kill task failed", true, true});
  w.look();
  ASSERT_NE(open(w), nullptr);
  EXPECT_EQ(open(w)->code, kLeftovers);
  w.event(OrderEnded{w.t.order(Verb::drain_node, kN0), Status::done, {}});
  w.look();
  EXPECT_NE(open(w), nullptr) << "taken over: it still has to be tested";
  EXPECT_EQ(w.t.s.nodes[0].hold, Hold::muster);
  w.event(OrderEnded{w.t.order(Verb::undrain_node, kN0), Status::done, {}});
  w.look();
  EXPECT_EQ(open(w), nullptr);
}

TEST(EngineDrains, APersonsDrainIsNone) {
  Watch w;
  w.event(NodeHeld{kN0, true, "ada", "bad fan"});
  w.look();
  EXPECT_EQ(w.findings(), 0U);
  w.event(NodeHeld{kN0, true, "slurm", "Epilog error", true});
  w.look();
  EXPECT_EQ(w.findings(), 0U) << "a person has it";
  EXPECT_EQ(w.t.s.nodes[0].hold, Hold::person);
}

}  // namespace
}  // namespace muster::detect
