#include "ingest/workload_file.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string error(std::string_view text) {
  const auto w = parse_workload(text, "w.yaml");
  return w ? "accepted" : w.error().what;
}

TEST(WorkloadFile, ReadsListedJobsInOrderOfTime) {
  const auto w = parse_workload(
      "jobs:\n  - {at: 2h, name: late, nodes: 2, steps: 10}\n"
      "  - {at: 10m, name: pretrain, user: ada, account: lab, nodes: 16, step_s: 12.5, steps: 10000, checkpoint_every: "
      "30m, checkpoint_gb: 500, checkpoint_stall: 2.5s}\n"
      "  - {name: sweep, nodes: 1, steps: 100, count: 3, every: 30m}\n",
      "w.yaml");
  ASSERT_TRUE(w) << w.error().what;
  EXPECT_EQ(w->mix, "");
  ASSERT_EQ(w->jobs.size(), 5u);
  EXPECT_EQ(w->jobs[0].spec.name, "sweep-1");
  EXPECT_EQ(w->jobs[1].spec.name, "pretrain");
  EXPECT_EQ(w->jobs[1].at, minutes(10));
  EXPECT_EQ(w->jobs[1].spec.user, "ada");
  EXPECT_EQ(w->jobs[1].spec.checkpoint_every_s, 1800);
  EXPECT_EQ(w->jobs[1].spec.checkpoint_stall_s, 2.5);
  EXPECT_EQ(w->jobs[2].at, minutes(30));
  EXPECT_EQ(w->jobs[4].spec.name, "late");
}

TEST(WorkloadFile, ReadsAMix) {
  const auto w = parse_workload("mix: llm\nload: 0.9\n", "w.yaml");
  ASSERT_TRUE(w) << w.error().what;
  EXPECT_EQ(w->mix, "llm");
  EXPECT_EQ(w->load, 0.9);
  EXPECT_EQ(parse_workload("mix: llm\njobs:\n - {nodes: 1, steps: 1}\n", "w.yaml")->jobs.size(), 1u);
}

TEST(WorkloadFile, MayHaveNoJobsAtAll) {
  for (const char* text : {"mix: none\n", "jobs: []\n"}) {
    const auto w = parse_workload(text, "w.yaml");
    ASSERT_TRUE(w) << text << w.error().what;
    EXPECT_TRUE(w->mix.empty() && w->jobs.empty()) << text;
  }
}

TEST(WorkloadFile, SaysFileLineAndReason) {
  EXPECT_EQ(error("mix: lm\n"), "w.yaml:1: mix must be one of llm, research, mixed, shared, none, is \"lm\"; did you mean llm?");
  EXPECT_EQ(error("jobs:\n  - {steps: 1}\n"), "w.yaml:2: jobs[].nodes is missing");
  EXPECT_EQ(error("jobs:\n  - {nodes: 1, steps: 1, node: 2}\n"), "w.yaml:2: unknown key \"jobs[].node\"; did you mean nodes?");
  EXPECT_EQ(error("jobs:\n  - {nodes: 0, steps: 1}\n"), "w.yaml:2: jobs[].nodes must be 1 to 131072, is 0");
  EXPECT_EQ(
      error("jobs:\n  - {nodes: 1, steps: 1, count: 60000}\n  - {nodes: 1, steps: 1, count: 60000}\n"),
      "w.yaml:3: jobs[] \"job-60001\" makes 60000 jobs (count 60000): with those before it 120000 in all, at most 100000 are "
      "allowed");
  EXPECT_EQ(
      error("jobs:\n  - {name: a, nodes: 1, steps: 1, count: 11, array: 10000}\n"),
      "w.yaml:2: jobs[] \"a\" makes 110000 jobs (count 11 x array 10000): with those before it 110000 in all, at most 100000 "
      "are allowed");
  EXPECT_EQ(error("jobs:\n  - {nodes: 5, steps: 1, nodes_min: 6}\n"),
            "w.yaml:2: jobs[].nodes_min is 6: must be 1 to the 5 nodes asked for");
  EXPECT_EQ(error("jobs:\n  - {nodes: 4, steps: 1, nodes_min: 2, segment: 2}\n"),
            "w.yaml:2: jobs[].nodes_min is for gangs of whole nodes: without gpus_per_node, gpu_milli and segment");
  EXPECT_EQ(error("jobs:\n  - {nodes: 5, steps: 1, segment: 2}\n"),
            "w.yaml:2: jobs[].segment is 2: 5 nodes cannot be cut into segments of that size");
  EXPECT_EQ(
      error("jobs:\n  - {nodes: 5, steps: 1, within: leaf, prefer: pod, prefer_wait: 5m}\n"),
      "w.yaml:2: jobs[].prefer is pod: it must be nearer than within, which is leaf: all of it lies within one leaf anyway");
  EXPECT_EQ(error("load: 0\nmix: llm\n"), "w.yaml:1: load must be 0.01 to 5, is 0");
}

TEST(WorkloadFlag, IsAMixOrAFile) {
  EXPECT_EQ(workload_from_flag("mix:llm")->mix, "llm");
  EXPECT_EQ(workload_from_flag("mix:none")->mix, "");
  EXPECT_NE(workload_from_flag("mix:lln").error().next.find("did you mean mix:llm?"), std::string::npos);
  EXPECT_EQ(workload_from_flag("w.yaml", "mix: research\n")->mix, "research");
  EXPECT_EQ(workload_from_flag("w.yaml", "mix: [\n").error().what.rfind("w.yaml:", 0), 0u);
  EXPECT_TRUE(is_mix_flag("mix:x"));
  EXPECT_FALSE(is_mix_flag("mixed.yaml"));
}

}  // namespace
}  // namespace muster
