#include "report/nccl.h"

#include <gtest/gtest.h>

#include "ingest/json.h"

namespace muster::report {
namespace {

diagnose::JudgedRun run() {
  diagnose::JudgedRun r;
  r.what = "all_reduce";
  r.file = "a.log";
  r.line = 3;
  r.ranks = 8;
  r.nodes = 1;
  r.gpu = "h100";
  r.verdict = diagnose::BusVerdict::slow_large;
  r.large_share = 0.5;
  predict::CollectivePrediction p;
  p.s = 1e-3;
  p.low_s = 9e-4;
  p.high_s = 1.1e-3;
  p.bus_gb_s = 400;
  p.by = "nvls";
  r.sizes = {{1048576, 2000, 200, p, true}, {0, 30, 0, {}, false}};
  return r;
}

TEST(NcclReport, RunsInWords) {
  const auto r = run();
  const auto lines = say_nccl_runs({&r, 1}, true);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], "a.log:3: all_reduce, 8 GPUs, h100");
  EXPECT_EQ(lines[1], "slow at large sizes: links; 50 % of the expected bandwidth at large sizes");
  EXPECT_EQ(lines[3], "  1 MiB   2 ms    200.00      1 ms         400.00   50 %  slow");
}

TEST(NcclReport, LongTimesAreInMilliseconds) {
  auto r = run();
  r.sizes[0].time_us = 900000;
  EXPECT_NE(say_nccl_runs({&r, 1}, true)[3].find(" 900 ms "), std::string::npos);
}

TEST(NcclReport, ARoughExpectationIsAnIntervalAndNoShare) {
  auto r = run();
  r.verdict = diagnose::BusVerdict::as_expected;
  r.large_share = 1;
  r.sizes[0].slow = false;
  r.sizes[0].slow_above_us = 8000;
  const auto lines = say_nccl_runs({&r, 1}, true);
  EXPECT_EQ(lines[1], "as expected; 100 % of the expected bandwidth at large sizes; what is expected is rough: to a factor of 8");
  EXPECT_NE(lines[3].find("900 us to 8 ms  50.00 to 444.44  in range"), std::string::npos) << lines[3];
  EXPECT_EQ(lines[3].find('%'), std::string::npos);
}

TEST(NcclReport, SizesThatAreSlowAreInTheVerdict) {
  auto r = run();
  r.verdict = diagnose::BusVerdict::as_expected;
  r.large_share = 1;
  EXPECT_EQ(say_nccl_runs({&r, 1}, true)[1],
            "as expected, but for 1 of 1 sizes (1 MiB); 100 % of the expected bandwidth at large sizes");
}

TEST(NcclReport, RunsAsJson) {
  const auto r = run();
  JsonWriter w;
  write_nccl_runs(w, {&r, 1});
  const auto v = parse_json(w.view());
  ASSERT_TRUE(v);
  EXPECT_EQ(*v->array()->at(0).find("verdict")->string(), "slow at large sizes: links");
  EXPECT_EQ(v->array()->at(0).find("sizes")->array()->size(), 2u);
}

TEST(NcclReport, ManySizesAreThinned) {
  auto r = run();
  r.sizes.assign(34, r.sizes[0]);
  r.sizes.back().bytes = 8589934592;
  const auto lines = say_nccl_runs({&r, 1}, false);
  EXPECT_LE(lines.size(), 2u + 1 + 16);
  EXPECT_NE(lines.back().find("8 GiB"), std::string::npos);
}

TEST(NcclReport, ALogInWordsAndAsJson) {
  NcclLog log;
  log.files = {"a"};
  log.lines = 10;
  log.nccl_lines = 5;
  log.versions["2.21.5"] = 1;
  NcclHost h;
  h.name = "n1";
  h.networks = {"IB"};
  h.devices = {{0, "mlx5_0:1", "IB", true}};
  h.paths = {{NcclTransport::net, "IB", 0, true, false, 4, {}}};
  log.hosts = {h};
  NcclComm c;
  c.id = 0x1f;
  c.ranks = 2;
  c.nodes = 1;
  c.channels = 16;
  c.complete = true;
  log.comms = {c};
  const auto lines = say_nccl_log(log);
  EXPECT_EQ(lines[0], "NCCL 2.21.5: 5 of 10 lines are its own, from 1 node");
  EXPECT_EQ(lines[1], "network: IB (mlx5_0:1/IB)");
  EXPECT_EQ(lines[2], "connections: 4 NET/IB/GDRDMA");
  EXPECT_EQ(lines[3], "communicator 1f: 2 ranks on 1 node, 16 channels, 1 of 1 seen complete");
  JsonWriter w;
  write_nccl_log(w, log);
  EXPECT_TRUE(parse_json(w.view()));
}

TEST(NcclReport, AnInspectorInWordsAndAsJson) {
  diagnose::JudgedSeries s;
  s.run = run();
  s.comm = "0x7";
  s.operations = 100;
  s.ranks_seen = 8;
  s.odd.push_back({3, "n1", true, 2, 5, false});
  InspectorLog log;
  log.version = "v4.0";
  log.records = 800;
  EXPECT_EQ(say_nccl_inspector(log, {&s, 1}, true)[2],
            "all_reduce, 8 GPUs, h100 in communicator 0x7: 100 operations, 8 of 8 ranks seen");
  diagnose::Waiting waiting;
  waiting.share = 0.6;
  waiting.last = {{3, "n1", 90, 0.9}};
  s.waiting = waiting;
  s.peers.push_back({5, "n1", {0, 2}, 7, 4, 1, true});
  JsonWriter w;
  write_nccl_inspector(w, {&s, 1});
  const auto v = parse_json(w.view());
  ASSERT_TRUE(v);
  EXPECT_EQ(v->array()->at(0).find("slow_peers")->array()->at(0).find("by")->array()->size(), 2u);
  ASSERT_NE(v->array()->at(0).find("waiting")->find("last"), nullptr);
}

TEST(NcclReport, DamagedLinesAreCounted) {
  InspectorLog log;
  log.version = "v4.0";
  log.records = 50;
  log.not_understood = 3;
  log.damaged = 1;
  EXPECT_EQ(say_nccl_inspector(log, {}, true)[0],
            "Inspector v4.0: 50 records, 1 line damaged and left out (a record that is cut off, or is no JSON), 2 lines of "
            "another form");
  diagnose::JudgedSeries s;
  s.run = run();
  s.damaged_lines = 1;
  JsonWriter w;
  write_nccl_inspector(w, {&s, 1});
  double n = 0;
  ASSERT_TRUE(parse_json(w.view())->array()->at(0).find("damaged_lines_in_files")->number(n));
  EXPECT_EQ(n, 1);
}

}  // namespace
}  // namespace muster::report
