// What a plan says of jobs: numbers where they are known, and that they are not where they are not.
#include "report/upgrade_plan_view.h"

#include <gtest/gtest.h>

namespace muster::report {
namespace {

fleet::UpgradePlan plan() {
  fleet::UpgradePlan p;
  p.nodes = {"n1", "n2", "n3", "n4"};
  p.looked_at = 4;
  p.canaries = {"n1"};
  p.canaries_wanted = 1;
  p.waves = {{100, 3}};
  p.apart.push_back({"all ranks need one", "C036", "init.cc", {}, {}, {}});
  return p;
}

bool has(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

TEST(UpgradePlanView, JobsThatNobodyToldOfAreNotKnownAndNotNone) {
  fleet::Exposure e;
  e.why_not = "no Muster is running here\x1b[2J";
  const std::string words = upgrade_plan_words(plan(), {}, e);
  EXPECT_TRUE(has(words, "not known without the running Muster: no Muster is running here"));
  EXPECT_FALSE(has(words, "\x1b"));
  EXPECT_TRUE(has(upgrade_plan_json(plan(), {}, e), R"("jobs":{"known":false,"why":"no Muster)"));
}

TEST(UpgradePlanView, JobsThatAreKnownAreNumbers) {
  fleet::Exposure e;
  e.from = "by the running Muster";
  e.running = 7;
  e.several = 2;
  e.steps = {{1, 1}, {4, 0}};
  e.waiting = 3;
  e.too_large = 1;
  e.side_nodes = 2;
  const std::string words = upgrade_plan_words(plan(), {}, e);
  EXPECT_TRUE(has(words, "7 jobs run (by the running Muster), 2 of them on several nodes")) << words;
  EXPECT_TRUE(has(words, "1 with the canaries (1), 0 with 4 nodes")) << words;
  EXPECT_TRUE(has(words, "3 jobs wait; 1 of them for more than 2 nodes")) << words;
  const std::string json = upgrade_plan_json(plan(), {}, e);
  EXPECT_TRUE(has(json, R"("steps":[{"with_it":1,"on_both_most":1},{"with_it":4,"on_both_most":0}],"waiting":3,"too_large":1)"))
      << json;
  e.waiting.reset();
  EXPECT_TRUE(has(upgrade_plan_words(plan(), {}, e), "waiting jobs: not known without the running Muster"));
  EXPECT_TRUE(has(upgrade_plan_json(plan(), {}, e), R"("waiting":null,"too_large":null)"));
}

TEST(UpgradePlanView, WhatIsKeptApartWithinDomainsAloneIsSaidToBe) {
  fleet::UpgradePlan p = plan();
  EXPECT_FALSE(has(upgrade_plan_words(p, {}, {}), "within one NVLink domain"));
  p.apart_within = ApartWithin::domain;
  UpgradeSpec spec;
  fleet::put_plan(p, spec);
  EXPECT_TRUE(has(upgrade_plan_words(p, spec, {}), "within one NVLink domain"));
  EXPECT_TRUE(has(upgrade_request_json(spec), R"("apart_within":"domain")"));
}

}  // namespace
}  // namespace muster::report
