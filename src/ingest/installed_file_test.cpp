#include "ingest/installed_file.h"

#include <gtest/gtest.h>

#include "ingest/gpu_activity.h"

namespace muster {
namespace {

TEST(InstalledFile, nodes_are_read_as_slurm_prints_them) {
  const std::string texts[] = {
      "NodeName=n1 Arch=x86_64 CPUTot=64 Gres=gpu:h200:8(S:0-1) OS=Linux 6.1 State=IDLE Reason=Gres=gpu:1 NodeName=x\n"
      "NodeName=n2 Gres=gpu:h200:8\nNodeName=login Gres=(null)\n",
      "NodeName=n1 Arch=x86_64\n   Gres=gpu:h200:8\n   State=IDLE\n\nNodeName=n2 Arch=x86_64\n   "
      "Gres=gpu:h200:8\n\nNodeName=login\n   Gres=(null)\n",
      "# nodes\nNodeName=DEFAULT CPUs=64\nNodeName=n[1-2] Gres=gpu:h200:8 Feature=x # two of them\nNodeName=login "
      "CPUs=4\nPartitionName=p Nodes=ALL\n",
      "n1 gpu:h200:8\nn1 gpu:h200:8\nn2 gpu:h200:8(S:0-1)\nlogin (null)\n", "n1|gpu:h200:8\nn2|gpu:h200:8\nlogin|(null)\n"};
  for (const std::string& text : texts) {
    const auto f = parse_installed(text, "nodes.txt");
    ASSERT_TRUE(f) << f.error().what;
    EXPECT_EQ(f->nodes, (std::vector<InstalledNode>{{"n1", "h200", 8000}, {"n2", "h200", 8000}})) << text;
    EXPECT_EQ(f->without_gpus, 1U) << text;
  }
}

TEST(InstalledFile, what_is_none_is_refused) {
  for (const char* text :
       {"", "n1\n", "n1 cpu:4\n", "NodeName=n1 Gres=gpu:x:y=z\n", "NodeName=n[1- Gres=gpu:8\n", "NodeName=n1 CPUs=4\n"})
    EXPECT_FALSE(parse_installed(text, "nodes.txt")) << text;
}

TEST(OutageFile, what_takes_nodes_out_of_service_is_down_or_drained) {
  const auto f = parse_outages(
      "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
      "c||1782900000|1782910000||Cluster Registered TRES|\n"
      "c|n1|2026-07-01T12:00:00|2026-07-01T13:00:00|DOWN*|Not responding|slurm\n"
      "c|n2|1782907200|Unknown|IDLE+DRAIN|fan|root\n"
      "c|n3|1782907200|1782910000|DOWN+DRAIN|both|root\n"
      "c|n4|1782907200|1782910000|IDLE+POWERED_DOWN|sleeps|slurm\n"
      "c|n5|1782907200|1782900000|DOWN|backwards|slurm\n"
      "c|n6|1782907200|1782910000|MIXED+MAINT|planned|root\n",
      "events.txt");
  ASSERT_TRUE(f) << f.error().what;
  ASSERT_EQ(f->outages.size(), 4U);
  EXPECT_TRUE(f->outages[0].down);
  EXPECT_EQ(f->outages[0].to - f->outages[0].from, hours(1));
  EXPECT_FALSE(f->outages[1].down);
  EXPECT_EQ(f->outages[1].to.ns, 0) << "it is not over";
  EXPECT_TRUE(f->outages[2].down);
  EXPECT_FALSE(f->outages[3].down);
  EXPECT_EQ(f->of_cluster, 1U);
  EXPECT_EQ(f->other_states, 1U) << "a node that saves power is idle";
  EXPECT_EQ(f->wrong, 1U);
  EXPECT_FALSE(parse_outages("NodeName|State\nn1|DOWN\n", "events.txt"));
  EXPECT_FALSE(parse_outages("", "events.txt"));
}

// {"metric": labels, "values": points}.
std::string series(const std::string& labels, const std::string& points) {
  return "{\"metric\":{" + labels + "},\"values\":[" + points + "]}";
}
std::string matrix(const std::string& all) {
  return R"({"status":"success","data":{"resultType":"matrix","result":[)" + all + "]}}";
}

std::vector<NodeActivity> activity(const std::string& text, ActivityCounts* counts = nullptr, std::string_view metric = {}) {
  ActivityReader r;
  const auto ok = r.take(text, metric);
  EXPECT_TRUE(ok) << (ok ? "" : ok.error().what);
  auto out = r.finish({}, 0.05);
  if (counts != nullptr) *counts = r.counts();
  return out;
}

TEST(GpuActivity, a_point_is_of_the_step_before_it_and_what_is_missing_is_missing) {
  const auto a = activity(matrix(
      series(R"("__name__":"DCGM_FI_PROF_SM_ACTIVE","Hostname":"n1","gpu":"0")",
             R"([300,"0.5"],[600,"0.04"],[900,"0.9"],[1500,"NaN"])") +
      "," + series(R"("__name__":"DCGM_FI_PROF_SM_ACTIVE","Hostname":"n1","gpu":"1")", R"([300,"0"],[600,"0"],[1200,"0"])")));
  ASSERT_EQ(a.size(), 1U);
  ASSERT_EQ(a[0].slices.size(), 4U);
  EXPECT_EQ(a[0].slices[0].from.ns, 0);
  EXPECT_EQ(a[0].slices[0].to, Time{} + seconds(300));
  EXPECT_EQ(a[0].slices[0].idle_milli, 1000);
  EXPECT_EQ(a[0].slices[1].idle_milli, 2000);
  EXPECT_EQ(a[0].slices[2].measured_milli, 1000) << "nobody measured the other one then";
  EXPECT_EQ(a[0].slices[3].idle_milli, 1000);
}

TEST(GpuActivity, a_metric_that_sees_no_slices_is_not_believed_of_them) {
  ActivityCounts c;
  auto a = activity(
      matrix(series(R"("__name__":"DCGM_FI_DEV_GPU_UTIL","Hostname":"n1","gpu":"0","GPU_I_ID":"1","GPU_I_PROFILE":"3g.40gb")",
                    R"([300,"0"],[600,"0"])")),
      &c);
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(c.blind, 1U);
  a = activity(
      matrix(
          series(
              R"("__name__":"DCGM_FI_PROF_GR_ENGINE_ACTIVE","Hostname":"n1","gpu":"0","GPU_I_ID":"1","GPU_I_PROFILE":"3g.40gb")",
              R"([300,"0.7"],[600,"0.7"])") +
          "," +
          series(
              R"("__name__":"DCGM_FI_PROF_GR_ENGINE_ACTIVE","Hostname":"n1","gpu":"0","GPU_I_ID":"2","GPU_I_PROFILE":"4g.40gb")",
              R"([300,"0"],[600,"0"])") +
          "," + series(R"("__name__":"DCGM_FI_PROF_GR_ENGINE_ACTIVE","Hostname":"n1","gpu":"0")", R"([300,"0.3"],[600,"0.3"])")),
      &c);
  ASSERT_EQ(a.size(), 1U);
  ASSERT_EQ(a[0].slices.size(), 1U) << "equal ones are one";
  EXPECT_EQ(a[0].slices[0].measured_milli, 428 + 571) << "the GPU itself does not count once more";
  EXPECT_EQ(a[0].slices[0].idle_milli, 571);
}

TEST(GpuActivity, percent_is_told_from_shares_and_the_better_metric_counts) {
  ActivityCounts c;
  auto a = activity(
      matrix(series(R"("__name__":"DCGM_FI_DEV_GPU_UTIL","instance":"n1:9400","gpu":"0")", R"([300,"4"],[600,"6"])")), &c);
  ASSERT_EQ(a.size(), 1U);
  EXPECT_EQ(a[0].node, "n1");
  EXPECT_EQ(a[0].slices[0].idle_milli, 1000);
  EXPECT_EQ(a[0].slices[1].idle_milli, 0);
  a = activity(matrix(series(R"("__name__":"DCGM_FI_DEV_GPU_UTIL","Hostname":"n1","gpu":"0")", R"([300,"4"],[600,"6"])") + "," +
                      series(R"("Hostname":"n1","gpu":"0")", R"([300,"0.4"],[600,"0.6"])")),
               &c, "DCGM_FI_PROF_SM_ACTIVE");
  EXPECT_EQ(c.metric, "DCGM_FI_PROF_SM_ACTIVE");
  EXPECT_EQ(c.other, 1U);
  EXPECT_EQ(a[0].slices[0].idle_milli, 0);
  EXPECT_TRUE(activity(matrix(series(R"("gpu":"0")", R"([300,"4"])")), &c).empty());
  EXPECT_EQ(c.without_node, 1U);
}

TEST(GpuActivity, one_reading_that_cannot_be_does_not_make_hundredths_of_all_others) {
  ActivityCounts c;
  const auto gpu = [](int n, const std::string& points) {
    return series("\"__name__\":\"DCGM_FI_PROF_SM_ACTIVE\",\"Hostname\":\"n1\",\"gpu\":\"" + std::to_string(n) + "\"", points);
  };
  auto a = activity(matrix(gpu(0, R"([300,"0.9"],[600,"0.9"])") + "," + gpu(1, R"([300,"90"],[600,"0.8"])") + "," +
                           gpu(2, R"([300,"-1"],[600,"NaN"])")),
                    &c);
  ASSERT_EQ(a.size(), 1U);
  ASSERT_EQ(a[0].slices.size(), 2U);
  EXPECT_EQ(a[0].slices[0].measured_milli, 1000) << "the one that cannot be says nothing";
  EXPECT_EQ(a[0].slices[0].idle_milli, 0);
  EXPECT_EQ(a[0].slices[1].measured_milli, 2000);
  EXPECT_EQ(a[0].slices[1].idle_milli, 0);
  EXPECT_EQ(c.impossible, 3U);
  a = activity(matrix(gpu(0, R"([300,"90"],[600,"4"])") + "," + gpu(1, R"([300,"0"],[600,"0.5"])")), &c);
  EXPECT_EQ(a[0].slices[0].idle_milli, 1000) << "in percent";
  EXPECT_EQ(a[0].slices[1].idle_milli, 2000);
  EXPECT_EQ(c.impossible, 0U);
}

TEST(GpuActivity, what_is_no_answer_is_refused) {
  ActivityReader r;
  EXPECT_FALSE(r.take("not this"));
  EXPECT_FALSE(r.take(R"({"status":"error","error":"too many points"})"));
  ActivityReader two;
  EXPECT_TRUE(two.take(matrix("") + "\n" + matrix("") + "\n")) << "answers below each other";
}

}  // namespace
}  // namespace muster
