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
