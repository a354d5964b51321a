#include "ingest/policy_change.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ingest/policy_file.h"
#include "model/codec.h"

namespace muster {
namespace {

TEST(PolicyChange, ASettingIsChangedAndNothingElse) {
  Policy base = default_policy();
  base.limits.out_rack_pct = 33;  // not what a file would begin with
  base.queues.push_back({});
  base.queues.back().name = "research";
  const auto p =
      change_policy(base, {{"limits.out_cluster_pct", "7.5"}, {"scheduling.backfill", "false"}, {"silent_after", "5m"}});
  ASSERT_TRUE(p) << p.error().what;
  Policy wanted = base;
  wanted.limits.out_cluster_pct = 7.5;
  wanted.scheduling.backfill = false;
  wanted.silent_after = minutes(5);
  EXPECT_EQ(encode_policy(*p), encode_policy(wanted));
}

TEST(PolicyChange, NothingToChangeGivesTheSamePolicyBack) {
  const Policy base = default_policy();
  const auto p = change_policy(base, {});
  ASSERT_TRUE(p);
  EXPECT_EQ(encode_policy(*p), encode_policy(base));
}

TEST(PolicyChange, EverySettingCanBeSetToWhatItIs) {
  const Policy base = default_policy();
  const auto all = settings_of(base);
  EXPECT_GT(all.size(), 30U);
  for (const PolicySetting& s : all) {
    const auto p = change_policy(base, {s});
    ASSERT_TRUE(p) << s.first << "=" << s.second << ": " << p.error().what;
    EXPECT_EQ(encode_policy(*p), encode_policy(base)) << s.first;
  }
}

TEST(PolicyChange, WhatCannotBeIsRefusedWithItsBounds) {
  const auto too_much = change_policy(default_policy(), {{"limits.out_cluster_pct", "400"}});
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().code, Code::bad_input);
  EXPECT_EQ(too_much.error().what, "limits.out_cluster_pct must be 0 to 100, is 400");
  EXPECT_FALSE(change_policy(default_policy(), {{"limits.out_cluster_pct", "many"}}));
  EXPECT_FALSE(change_policy(default_policy(), {{"queues", "[]"}}));
  EXPECT_FALSE(change_policy(default_policy(), {{"limits", "{}"}}));
}

TEST(PolicyChange, AMisspeltNameIsCorrected) {
  const auto p = change_policy(default_policy(), {{"limits.out_cluster_pc", "4"}});
  ASSERT_FALSE(p);
  EXPECT_NE(p.error().next.find("limits.out_cluster_pct"), std::string::npos) << p.error().next;
}

TEST(PolicyChange, AValueThatWouldBreakTheTextStaysAValue) {
  EXPECT_FALSE(change_policy(default_policy(), {{"silent_after", "5m\nshadow: true"}}));
  EXPECT_FALSE(change_policy(default_policy(), {{"silent_after", "\"5m\", shadow: true"}}));
}

}  // namespace
}  // namespace muster
