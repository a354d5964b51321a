#include "report/job_diagnosis.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "model/story.h"
#include "report/units.h"

namespace muster::report {
namespace {

TEST(JobDiagnosis, AFaultOnItsNodesExplainsItAndASuspicionDoesNot) {
  Story t{8};
  const JobId id = t.running({NodeId{1}, NodeId{2}, NodeId{3}});
  t.find(FindingKind::slow_gpu, NodeId{2}, 4, Witness::job, Severity::warning);
  t.find(FindingKind::thermal_throttle, NodeId{7});
  JobCase c = case_of(t.s, t.s.jobs.at(id));
  choose_traces(c, {});
  ASSERT_EQ(c.known.size(), 1u) << "node 7 is not its own";
  EXPECT_EQ(c.known[0].node, "n2");
  EXPECT_EQ(c.known[0].evidence, "seen");
  EXPECT_FALSE(c.explained());
  ASSERT_EQ(c.traces.size(), 2u);
  EXPECT_EQ(c.traces[0].node, "n2");
  EXPECT_EQ(c.traces[1].node, "n1");
  const IncidentId incident = t.open(t.find(FindingKind::thermal_throttle, NodeId{3}, 0));
  c = case_of(t.s, t.s.jobs.at(id));
  EXPECT_TRUE(c.explained());
  const Value v = parse_json(case_json(c)).value();
  EXPECT_EQ(text_of(list_of(v, "known").at(0), "where"), "n3 GPU 0") << "the newest first";
  EXPECT_EQ(text_of(list_of(v, "known").at(0), "incident"), std::to_string(incident.v));
  EXPECT_NE(text_of(list_of(v, "known").at(0), "remedy"), "");
}

TEST(JobDiagnosis, IsTheSameFromTheApisAnswers) {
  const Value job =
      parse_json(R"({"id":"17","name":"llm","phase":"running","note":"","nodes":["a.site","b.site","c.site"]})").value();
  const Value findings = parse_json(R"({"items":[
      {"id":1,"kind":"slow_gpu","node":"b.site","gpu_slot":3,"job":"17","evidence":[{"text":"its peers wait"}]},
      {"id":2,"kind":"thermal_throttle","node":"z.site","gpu_slot":null,"evidence":[]},
      {"id":3,"kind":"nccl_hang","node":"","gpu_slot":null,"job":"17","evidence":[]}]})")
                             .value();
  JobCase c = case_of(job, findings);
  const std::vector<JobLead> leads{{"c", "rank 2 comes last"}, {"nobody", "not of this job"}};
  choose_traces(c, leads);
  ASSERT_EQ(c.known.size(), 2u);
  EXPECT_EQ(c.known[0].slot, 3);
  ASSERT_EQ(c.traces.size(), 3u);
  EXPECT_EQ(c.traces[0].node, "c.site") << "what its files say comes first";
  EXPECT_EQ(c.traces[1].node, "b.site");
  EXPECT_EQ(c.traces[2].node, "a.site");
  EXPECT_NE(trace_command(c, "c.site").find("--job-id 17"), std::string::npos);
}

TEST(JobDiagnosis, OfAnEndWhatWasFoundSoonAfterCountsAndWhatBefellTheNodesLaterDoesNot) {
  Story t{4};
  const JobId id = t.running({NodeId{1}, NodeId{2}});
  t.pass(hours(1));
  t.tell(JobEnded{id, 1, JobEnd::node_failed, {}, "a rank is lost"});
  t.tell(JobRequeued{id});
  EXPECT_TRUE(case_of(t.s, t.s.jobs.at(id)).known.empty());
  t.pass(minutes(1));
  const FindingId cut = t.find(FindingKind::link_down, NodeId{2}, 3);
  const IncidentId incident = t.open(cut);
  t.tell(IncidentClosed{incident, "the port was bounced"});
  t.pass(hours(1));
  t.find(FindingKind::thermal_throttle, NodeId{1}, 0);
  const JobCase c = case_of(t.s, t.s.jobs.at(id));
  EXPECT_TRUE(c.explained());
  ASSERT_EQ(c.known.size(), 1u) << "another job may have the node that grew hot";
  EXPECT_EQ(c.known[0].finding, cut.v);
  EXPECT_EQ(c.known[0].incident, incident.v) << "it is closed, and tells the story all the same";
}

TEST(JobDiagnosis, OfAnEndTheApisAnswersTellTheSame) {
  const Value job = parse_json(R"({"id":"17","phase":"queued","ended_utc":"2026-01-01T10:00:00Z","nodes":["a","b"]})").value();
  const Value findings = parse_json(R"({"items":[
      {"id":3,"kind":"link_down","node":"b","opened_utc":"2026-01-01T10:01:00Z","cleared_utc":"2026-01-01T10:05:00Z",
       "since_utc":"2026-01-01T10:00:30Z","evidence":[]},
      {"id":4,"kind":"gpu_lost","node":"a","opened_utc":"2026-01-01T11:00:00Z","cleared_utc":null,"evidence":[]},
      {"id":1,"kind":"gpu_lost","node":"a","opened_utc":"2026-01-01T08:00:00Z","cleared_utc":"2026-01-01T09:00:00Z",
       "evidence":[]}]})")
                             .value();
  const JobCase c = case_of(job, findings);
  ASSERT_EQ(c.known.size(), 1u);
  EXPECT_EQ(c.known[0].finding, 3u);
  EXPECT_TRUE(c.explained());
}

TEST(JobDiagnosis, AJobThatDoesNotRunHasNothingToTakeProfilesOf) {
  Story t{4};
  const JobId id = t.submit(2);
  JobCase c = case_of(t.s, t.s.jobs.at(id));
  choose_traces(c, {});
  EXPECT_TRUE(c.traces.empty());
  EXPECT_FALSE(c.runs());
}

}  // namespace
}  // namespace muster::report
