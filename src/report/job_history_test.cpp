#include "report/job_history.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "model/story.h"
#include "report/units.h"

namespace muster::report {
namespace {

class JobStory : public ::testing::Test {
 protected:
  JobStory() {
    t.heard = [this](const Event& e) { history.take(e, t.s); };
  }
  Value told(JobId job, Time to = kNever) const {
    const auto text = history.timeline_json(job, to);
    EXPECT_TRUE(text) << text.error().what;
    return parse_json(text.value()).value();
  }
  std::vector<std::string> phases(const Value& v) const {
    std::vector<std::string> out;
    for (const Value& p : list_of(v, "phases")) out.push_back(text_of(p, "phase"));
    return out;
  }

  Story t{8};
  JobHistory history;
};

using Words = std::vector<std::string>;

TEST_F(JobStory, HasAStretchForEachPhaseAndAttempt) {
  const JobId job = t.submit(2, "llama");
  t.pass(minutes(5));
  const std::string key = t.order_start(job, {NodeId{1}, NodeId{2}});
  t.pass(minutes(1));
  t.tell(JobStarted{job, 1, {NodeId{1}, NodeId{2}}});
  t.ends(key);
  t.pass(hours(1));
  t.tell(JobProgressed{job, 1, {100, 90, 60'000, 5000, 0, 1}});
  t.pass(hours(1));
  t.tell(JobEnded{job, 1, JobEnd::node_failed, {150, 90, 60'000, 5000, 0, 1}, "n2 <gone>"});
  t.tell(JobRequeued{job});
  t.pass(minutes(10));
  t.tell(JobStarted{job, 2, {NodeId{1}, NodeId{3}}});
  const Value v = told(job);
  EXPECT_EQ(phases(v), (Words{"queued", "starting", "running", "broken", "queued", "running"}));
  EXPECT_EQ(text_of(v, "name"), "llama");
  const auto& list = list_of(v, "phases");
  EXPECT_EQ(text_of(list[2], "nodes"), "n[1-2]");
  EXPECT_EQ(text_of(list[2], "node_count"), "2");
  EXPECT_EQ(text_of(list[3], "end"), "node_failed");
  EXPECT_EQ(text_of(list[3], "detail"), "n2 <gone>");
  EXPECT_EQ(text_of(list[5], "attempt"), "2");
  EXPECT_TRUE(list[5].find("to_utc")->is_null());
  EXPECT_EQ(text_of(list[0], "to_utc"), text_of(list[1], "from_utc"));
  ASSERT_EQ(list_of(v, "checkpoints").size(), 1u);
  EXPECT_EQ(text_of(list_of(v, "checkpoints")[0], "step"), "90");
}

TEST_F(JobStory, NamesTheIncidentsThatHitItAndWhatWasDone) {
  const JobId job = t.running({NodeId{1}, NodeId{2}});
  const JobId other = t.running({NodeId{5}});
  t.pass(minutes(10));
  const IncidentId incident = t.open(t.find(FindingKind::gpu_lost, NodeId{2}, 3));
  t.pass(minutes(1));
  t.drained(NodeId{2}, incident);
  const std::string stop = t.order(Verb::requeue_job, {}, incident, {}, job);
  const Time before_end = t.now().utc;
  t.pass(minutes(1));
  t.ends(stop);
  t.tell(IncidentClosed{incident, "swapped"});
  Value v = told(job);
  ASSERT_EQ(list_of(v, "incidents").size(), 1u);
  EXPECT_EQ(text_of(list_of(v, "incidents")[0], "cause"), "gpu_lost");
  EXPECT_EQ(text_of(list_of(v, "incidents")[0], "node"), "n2");
  EXPECT_EQ(text_of(list_of(v, "incidents")[0], "resolution"), "swapped");
  ASSERT_EQ(list_of(v, "actions").size(), 2u);
  EXPECT_EQ(text_of(list_of(v, "actions")[0], "verb"), "drain_node");
  EXPECT_EQ(text_of(list_of(v, "actions")[0], "status"), "done");
  EXPECT_EQ(text_of(list_of(v, "actions")[1], "verb"), "requeue_job");
  EXPECT_EQ(text_of(list_of(v, "actions")[1], "status"), "done");
  EXPECT_TRUE(list_of(told(other), "incidents").empty());
  v = told(job, before_end);
  EXPECT_TRUE(list_of(v, "incidents")[0].find("closed_utc")->is_null()) << "it was not over then";
  EXPECT_EQ(text_of(list_of(v, "actions")[1], "status"), "pending");
}

TEST_F(JobStory, AFaultFoundAMomentAfterItBrokeTheAttemptIsItsOwn) {
  const JobId job = t.running({NodeId{1}, NodeId{2}});
  t.pass(minutes(30));
  t.tell(JobEnded{job, 1, JobEnd::node_failed, {}, "lost"});
  t.tell(JobRequeued{job});
  t.pass(minutes(2));
  t.open(t.find(FindingKind::node_silent, NodeId{2}));
  EXPECT_EQ(list_of(told(job), "incidents").size(), 1u);
}

TEST_F(JobStory, WhatCameLaterIsNotToldOfAnEarlierMoment) {
  const JobId job = t.submit(1);
  const Time queued = t.now().utc;
  t.pass(minutes(5));
  t.tell(JobStarted{job, 1, {NodeId{0}}});
  t.pass(minutes(5));
  EXPECT_EQ(phases(told(job, queued)), Words{"queued"});
  EXPECT_FALSE(history.timeline_json(job, queued - minutes(1)));
  EXPECT_EQ(history.timeline_json({999, 0}).error().code, Code::not_found);
}

TEST_F(JobStory, ALongRunKeepsABoundedNumberOfPoints) {
  const JobId job = t.running({NodeId{0}});
  for (std::uint64_t i = 1; i <= 5000; ++i) {
    t.pass(minutes(1));
    t.tell(JobProgressed{job, 1, {i * 6, i * 6, 60'000, 0, 0, static_cast<std::uint32_t>(i)}});
  }
  const auto points = history.points(job, {}, kNever);
  ASSERT_TRUE(points);
  EXPECT_LE(points->size(), JobHistory::kPointsMax);
  EXPECT_GE(points->size(), JobHistory::kPointsMax / 3);
  EXPECT_TRUE(points->front().begins);
  EXPECT_EQ(points->back().progress.steps, 30'000u);
  EXPECT_LE(list_of(told(job), "checkpoints").size(), 300u);
}

}  // namespace
}  // namespace muster::report
