#include "ingest/slurm_json.h"

#include <gtest/gtest.h>

#include "ingest/slurm_file.h"

namespace muster::slurm {
namespace {

using Names = std::vector<std::string>;

// As slurmrestd 22.05 and 24.11 answered of the same node, without what is not read.
const std::string kOld =
    R"({"meta": {"plugin": {"type": "openapi\/v0.0.38"}, "Slurm": {"version": {"major": 22}, "release": "22.05.8"}}, "errors": [],
 "nodes": [{"boot_time": 1794807091, "features": "h200,ib", "gres": "gpu:h200:8", "name": "gpu0004", "state": "idle",
  "state_flags": ["DRAIN", "NOT_RESPONDING"], "owner": null, "partitions": ["batch", "urgent"], "reason": "bad fan",
  "reason_changed_at": 1794807712, "reason_set_by_user": "root", "slurmd_version": "22.05.8"}]})";
const std::string kNew =
    R"({"nodes": [{"boot_time": {"set": true, "infinite": false, "number": 1794807091}, "features": ["h200", "ib"],
  "gres": "gpu:h200:8", "name": "gpu0004", "state": ["IDLE", "DRAIN", "NOT_RESPONDING"], "partitions": ["batch", "urgent"],
  "reason": "bad fan", "reason_changed_at": {"set": true, "infinite": false, "number": 1794807712}, "reason_set_by_user": "root",
  "version": "24.11.5"}], "last_update": {"set": true, "infinite": false, "number": 1794807613},
 "meta": {"slurm": {"version": {"major": "24"}, "release": "24.11.5", "cluster": "lab"}}, "errors": [],
 "warnings": [{"description": "unknown key \"x\"", "source": ""}]})";

TEST(SlurmJson, NodesOfBothGenerationsAreTheSameRows) {
  RestMeta old_meta, new_meta;
  const auto before = parse_nodes_json(kOld, &old_meta);
  const auto after = parse_nodes_json(kNew, &new_meta);
  ASSERT_TRUE(before);
  ASSERT_TRUE(after);
  for (const auto* rows : {&*before, &*after}) {
    ASSERT_EQ(rows->size(), 1U);
    const NodeRow& n = rows->front();
    EXPECT_EQ(n.name, "gpu0004");
    EXPECT_EQ(n.state, (Names{"IDLE", "DRAIN", "NOT_RESPONDING"}));
    EXPECT_EQ(n.reason, "bad fan");
    EXPECT_EQ(n.reason_by, "root");
    EXPECT_EQ(n.reason_at.ns, 1794807712'000'000'000);
    EXPECT_EQ(n.booted.ns, 1794807091'000'000'000);
    EXPECT_EQ(n.gpus, 8U);
    EXPECT_EQ(n.gpu_type, "h200");
    EXPECT_EQ(n.partitions, (Names{"batch", "urgent"}));
    EXPECT_EQ(n.features, (Names{"h200", "ib"}));
  }
  EXPECT_EQ(before->front().version, "22.05.8");
  EXPECT_EQ(after->front().version, "24.11.5");
  EXPECT_EQ(old_meta.slurm, "22.05.8");
  EXPECT_EQ(new_meta.slurm, "24.11.5");
  EXPECT_EQ(new_meta.updated.ns, 1794807613'000'000'000);
  EXPECT_EQ(old_meta.updated.ns, 0);
  EXPECT_EQ(new_meta.warnings, (Names{"unknown key \"x\""}));
}

TEST(SlurmJson, TheBaseStateStandsFirst) {
  const auto rows = parse_nodes_json(R"({"nodes": [{"name": "a", "state": ["DRAIN", "MIXED"]}], "errors": []})");
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->front().state.front(), "MIXED");
}

TEST(SlurmJson, WhatIsCutOffIsNoAnswer) {
  for (const std::string& whole : {kOld, kNew}) {
    for (std::size_t n = 0; n < whole.size(); ++n) {
      const auto r = parse_nodes_json(std::string_view(whole).substr(0, n));
      ASSERT_FALSE(r) << n;
      EXPECT_EQ(r.error().code, Code::unreachable);
    }
  }
  EXPECT_FALSE(parse_nodes_json(R"({"errors": []})")) << "without a list nothing is known of what there is";
  EXPECT_FALSE(parse_nodes_json(R"({"nodes": [{"name": "a"}], "errors": []})"));
  EXPECT_TRUE(parse_nodes_json(R"({"nodes": [], "errors": []})")->empty());
}

TEST(SlurmJson, ErrorsSayWhoIsToBeAsked) {
  const std::string token = R"({"errors": [{"description": "Failure to query nodes", "error_number": 1007,
 "error": "Protocol authentication error", "source": "_dump_nodes"}], "nodes": []})";
  EXPECT_EQ(parse_nodes_json(token).error().code, Code::not_allowed);
  EXPECT_EQ(rest_error(511, token).what, "slurmrestd: Protocol authentication error: Failure to query nodes");
  EXPECT_EQ(rest_error(500, R"({"errors": [{"error": "Unspecified error", "errno": -1}], "nodes": []})").code, Code::not_allowed);
  const std::string silent =
      R"x({"errors": [{"error": "Unable to contact slurm controller (connect failure)", "errno": 1001}]})x";
  EXPECT_EQ(rest_error(500, silent).code, Code::unreachable);
  EXPECT_EQ(rest_error(401, "Authentication failure").code, Code::not_allowed);
  EXPECT_EQ(rest_error(404, "Unable find requested URL.").code, Code::not_found);
  EXPECT_EQ(rest_error(502, "<html>").code, Code::unreachable);
}

TEST(SlurmJson, JobsOfBothGenerations) {
  const auto old = parse_jobs_json(R"({"errors": [], "jobs": [{"account": "", "array_job_id": 2, "array_task_id": null,
 "array_task_string": "2-3", "eligible_time": 1794807713, "end_time": 0, "job_id": 2, "job_state": "PENDING",
 "name": "wrap", "nodes": "",
 "node_count": 1, "het_job_id": 0, "partition": "batch", "priority": 326, "requeue": true, "restart_cnt": 0, "required_nodes": "",
 "start_time": 0, "state_reason": "Resources", "submit_time": 1794807712, "time_limit": 10, "tres_per_node": "gres:gpu:8",
 "tres_alloc_str": "", "user_name": "nobody"}, {"job_id": 5, "array_job_id": 2, "array_task_id": 1, "array_task_string": "",
 "job_state": "RUNNING"}]})");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->at(0).id.number, 2U);
  EXPECT_EQ(old->at(0).pending, "2-3");
  EXPECT_EQ(old->at(0).gpus_per_node, 8U);
  EXPECT_EQ(old->at(0).time_limit_s, 600);
  EXPECT_EQ(old->at(0).reason, "Resources");
  EXPECT_EQ(old->at(1).id.number, 2U);
  EXPECT_EQ(old->at(1).id.array_index, 2U);
  const auto now = parse_jobs_json(R"({"errors": [], "jobs": [{"job_id": 9,
 "array_job_id": {"set": true, "infinite": false, "number": 0}, "array_task_id": {"set": false, "infinite": false, "number": 0},
 "job_state": ["COMPLETED", "COMPLETING"], "state_reason": "None",
 "nodes": "gpu[0001-0002]", "node_count": {"set": true, "infinite": false, "number": 2}, "tres_per_node": "gres/gpu:8",
 "tres_alloc_str": "cpu=2,mem=2000M,node=2,gres/gpu=16", "priority": {"set": true, "infinite": false, "number": 452},
 "time_limit": {"set": false, "infinite": true, "number": 0}, "requeue": true, "restart_cnt": 1, "required_switches": 2,
 "het_job_id": {"set": true, "infinite": false, "number": 0}}]})");
  ASSERT_TRUE(now);
  const JobRow& j = now->front();
  EXPECT_EQ(j.id.number, 9U);
  EXPECT_EQ(j.id.array_index, 0U);
  EXPECT_EQ(j.state, "COMPLETING");
  EXPECT_EQ(j.nodes, 2U);
  EXPECT_EQ(j.gpus, 16U);
  EXPECT_EQ(j.priority, 452U);
  EXPECT_EQ(j.time_limit_s, 0) << "no limit";
  EXPECT_EQ(j.switches, 2U);
  EXPECT_TRUE(j.requeue && !j.het && j.reason.empty());
}

TEST(SlurmJson, PartitionsReservationsPingsAndCounts) {
  const auto old = parse_partitions_json(R"({"errors": [], "partitions": [{"preemption_mode": ["disabled"], "name": "debug",
 "nodes": "gpu[0001-0004]", "priority_tier": 10, "state": "UP"}]})");
  const auto now =
      parse_partitions_json(R"({"errors": [], "partitions": [{"nodes": {"configured": "gpu[0001-0004]"}, "name": "debug",
 "maximums": {"oversubscribe": {"jobs": 1, "flags": []}}, "priority": {"tier": 10}, "partition": {"state": ["UP"]}}]})");
  ASSERT_TRUE(old && now);
  for (const PartitionRow& p : {old->front(), now->front()}) {
    EXPECT_EQ(p.name, "debug");
    EXPECT_EQ(p.nodes, "gpu[0001-0004]");
    EXPECT_EQ(p.tier, 10U);
    EXPECT_TRUE(p.up && !p.stoppable);
  }
  EXPECT_EQ(now->front().sharing, "NO");
  const auto r = parse_reservations_json(R"({"errors": [], "reservations": [{"name": "maint", "node_list": "gpu0003",
 "flags": ["MAINT", "SPEC_NODES"], "start_time": {"set": true, "infinite": false, "number": 1794811210},
 "end_time": 1794814810}]})");
  ASSERT_TRUE(r);
  EXPECT_EQ(r->front().flags.front(), "MAINT");
  EXPECT_EQ((r->front().until - r->front().from).seconds(), 3600);
  EXPECT_TRUE(parse_ping_json(R"({"pings": [{"hostname": "a", "ping": "UP"}]})")->front().up);
  EXPECT_TRUE(parse_ping_json(R"({"pings": [{"hostname": "a", "responding": true}]})")->front().up);
  EXPECT_FALSE(parse_ping_json(R"({"pings": [{"hostname": "a", "pinged": "DOWN", "responding": false}]})")->front().up);
  EXPECT_EQ(parse_diag_json(R"({"statistics": {"jobs_pending": 3, "jobs_running": 1, "server_thread_count": 2}})")->jobs_pending,
            3U);
}

TEST(SlurmJson, VersionsAreThoseWithAListOfNodes) {
  const auto v =
      parse_rest_versions(R"({"paths": {"/slurm/v0.0.40/nodes/": {}, "/slurm/v0.0.42/nodes/": {}, "/slurm/v0.0.9/nodes": {},
 "/slurm/v0.0.43/node/{node_name}": {}, "/slurmdb/v0.0.44/jobs/": {}, "/slurm/v0.0.42/ping/": {}}})");
  ASSERT_TRUE(v);
  EXPECT_EQ(*v, (Names{"v0.0.42", "v0.0.40", "v0.0.9"}));
  EXPECT_FALSE(parse_rest_versions("{}"));
}

TEST(SlurmJson, ATokenTellsWhoseItIsAndHowLong) {
  const auto t = parse_token(
      "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjE3OTQ4MDc2MTEsImlhdCI6MTc5NDgwNzYxMCwic3VuIjoicm9vdCJ9.c2lnbmF0dXJl\n");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->user, "root");
  EXPECT_EQ(t->expires.ns, 1794807611'000'000'000);
  for (const char* none : {"", "aaa.bbb.ccc", "a.b", "x", "eyJ9.!!.x"}) EXPECT_FALSE(parse_token(none)) << none;
}

TEST(SlurmFile, NamesAWayToSlurmrestd) {
  const auto s = parse_settings("tools: /opt/slurm/bin\nrest: {url: \"unix:/run/slurmrestd.socket\"}\n", "s.yaml");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->tools, "/opt/slurm/bin");
  EXPECT_EQ(s->rest.url, "unix:/run/slurmrestd.socket");
  const auto t =
      parse_settings("rest: {url: \"http://host:6820\", user: muster, token_file: /etc/muster/token, version: v0.0.42}\n", "s");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->rest.version, "v0.0.42");
  for (const char* wrong : {"rest: {}\n", "rest: {url: host:6820}\n", "rest: {url: \"http://host:6820/slurm\"}\n", "tools: bin\n",
                            "rest: {url: \"http://a@b:1\"}\n", "rest: {url: \"http://host:1\", version: v0.0.39}\n",
                            "rest: {url: \"http://host:1\", password: x}\n"}) {
    EXPECT_FALSE(parse_settings(wrong, "s.yaml")) << wrong;
  }
}

TEST(SlurmFile, AWordInBracesThatNothingReplacesIsRefused) {
  EXPECT_TRUE(parse_settings("hands: {reset_gpu: [/sbin/reset, \"--node={node}\", \"{slot}\", \"${HOME}\"]}\n", "s.yaml"));
  const auto wrong = parse_settings("hands:\n  test_node: [/bin/true, \"{nod}\"]\n", "s.yaml");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().what.find("s.yaml:2: hands.test_node: \"{nod}\" is nothing that is replaced"), std::string::npos)
      << wrong.error().what;
}

}  // namespace
}  // namespace muster::slurm
