#include "model/codec.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/plain_json.h"
#include "model/story.h"

namespace muster {
namespace {

const std::string kNasty = "a \"quoted\"\\ name,\n\twith \x01 and \xc3\xa9 and </script>";

Value json(const std::string& text) {
  auto v = PlainJson::parse(text);
  EXPECT_TRUE(v) << v.error().what << " in " << text;
  return v ? *v : Value{};
}

JobSpec spec() {
  JobSpec s;
  s.name = kNasty;
  s.user = "ada";
  s.account = "lab";
  s.nodes = 7;
  s.gpus_per_node = 4;
  s.within = Level::pod;
  s.after = {JobId{3, 0}, JobId{4, 2}};
  s.deadline = Time{77};
  s.step_s = 0.1;
  s.steps = 123456789012;
  s.checkpoint_every_s = 1800.25;
  s.checkpoint_gb = 1e-9;
  s.checkpoint_stall_s = 1.5;
  return s;
}
Now some_now() { return {Time{1'767'225'600'123'456'789}, Time{-5}, Time{7}}; }

Finding finding() {
  Finding f;
  f.id = FindingId{9};
  f.kind = FindingKind::nvlink_degraded;
  f.severity = Severity::critical;
  f.node = NodeId{3};
  f.slot = 7;
  f.job = JobId{17, 4};
  f.code = -74;
  f.opened = Time{1};
  f.cleared = Time{2};
  f.since = Time{5};
  f.subject = kNasty;
  f.part_of = FindingId{8};
  f.loss_pct = 30;
  f.evidence = {{Witness::kernel_log, Time{3}, "kmsg:1/2", kNasty}, {Witness::test, Time{4}, "", ""}};
  return f;
}

Reason reason() {
  return {"recover/x/y", kNasty, {FindingId{1}, FindingId{2}}, {"a", "b"}, {{"wait", 2.5, kNasty}}, "gpu_lost/1", "1 of 2",
          IncidentId{5},  7,        "muster", "w1"};
}

Order order() {
  Order o;
  o.key = "j-1";
  o.epoch = 3;
  o.not_after = kNever;
  o.action = {Verb::replace_node,     NodeId{2}, 3,          JobId{17, 4}, 5,
              {NodeId{0}, NodeId{4}}, {15, 240}, seconds(9), JobId{3, 0},  spec()};
  o.reason = reason();
  return o;
}

Cabling some_cables() {
  Cabling c;
  c.set({{"leaf03"}, {35}, {0}, {"1/17"}, {"C-00412"}});
  return c;
}

// One body of every type, with nothing left at its default.
std::vector<Body> one_of_each() {
  const Progress p{10, 9, 8, 7, 6, 5};
  CommandGiven c{CommandVerb::cancel, "ada", "id-1", NodeId{1}, JobId{2, 0}, spec(), kNasty};
  c.upgrade.apart = kNasty;
  c.upgrade.apart_within = ApartWithin::domain;
  return {RunStarted{"0.1.0", 2, 3, "j", some_now(), "weather x1"},
          SiteDeclared{small_site(9)},
          PolicyApplied{default_policy(), "h"},
          TurnBegan{77, some_now()},
          JobSubmitted{JobId{1, 1}, spec()},
          JobStarted{JobId{1, 0}, 2, {NodeId{1}, NodeId{2}}, {3, 255}, Time{5}},
          JobProgressed{JobId{1, 0}, 2, p},
          JobEnded{JobId{1, 0}, 2, JobEnd::node_failed, p, kNasty, Time{6}},
          JobRequeued{JobId{1, 0}},
          JobGone{JobId{1, 0}, JobEnd::app_failed},
          NodeChanged{NodeId{1}, NodeCondition::booting, kNasty},
          GpuSwapped{NodeId{1}, 5, "GPU-1"},
          FindingOpened{finding()},
          FindingGrew{FindingId{9}, Severity::critical, {Witness::job, Time{1}, "r", "t"}, FindingId{4}},
          FindingCleared{FindingId{9}, "gone"},
          OrderEnded{"j-1", Status::not_received, kNasty, 0.75},
          c,
          IncidentOpened{IncidentId{5}, FindingId{9}},
          IncidentJoined{IncidentId{5}, FindingId{10}},
          IncidentMoved{IncidentId{5}, Stage::held, 2, kNever, "n"},
          IncidentClosed{IncidentId{5}, "done"},
          OrderIntended{order(), {Level::pod, 7, 2, 1, 1, {3, 4}, {{NodeId{4}, 3}}, "why"}},
          OrderRefused{order().action, reason(), "limit", Time{9}},
          CauseFrozen{FindingKind::gsp_timeout, Time{9}, "why"},
          UpgradePhased{7, UpgradePhase::rolling_back, kNasty},
          TurnMoved{7, NodeId{3}, TurnStage::bad, true, kNasty},
          JobAmended{JobId{3, 2}, spec()},
          NodeHeld{NodeId{3}, true, "ada", kNasty},
          ApprovalAsked{3, order().action, reason(), kNasty, Time{9}},
          PriceAnnounced{Time{5}, {20.5, 31}, {300}},
          RowMeasured{3, 31.5, 80.25, 0.75},
          KernelHeard{{Time{5}, NodeId{2}, 3, KernelKind::off_bus, 79, 0x9f3c, 120, "NVRM: ..."}, true},
          AgentSaid{NodeId{2}, AgentWord::dropped, "kernel", 17, "the spool is full"},
          GpuIdentified{NodeId{2}, {3, "GPU-5f", "1652", "96.00", "00000000:1B:00.0"}},
          NodeDescribed{NodeId{2}, {{"driver_version", "580.1"}, {"kernel", "6.1"}}},
          CablesDeclared{some_cables()}, PoolsDeclared{{{"batch", {NodeId{1}, NodeId{4}}}}},
          FabricSaid{false,
                     {{FabricFaultKind::dead_switch, {"leaf03", kNasty}, kNasty, 0.5, {NodeId{1}}}},
                     3, 2, "rail3", false, false},
          AcceptanceSaid{NodeId{2}, "quick", {0, 5}, {{AcceptFault::memory, 3, false, kNasty, kNasty}}},
          JobDescribed{JobId{3, 2}, 4, NodeId{2}, {{"nccl", "2.28.3"}, {"image", kNasty}}}};
}

TEST(Codec, EveryBodyComesBackAsItWas) {
  std::set<std::size_t> types;
  for (const Body& b : one_of_each()) {
    types.insert(b.index());
    const std::string bytes = encode_body(b);
    const auto back = decode_body(kBodyNames[b.index()], json(bytes));
    ASSERT_TRUE(back) << kBodyNames[b.index()] << ": " << back.error().what;
    EXPECT_EQ(back->index(), b.index());
    EXPECT_EQ(encode_body(*back), bytes);
  }
  EXPECT_EQ(types.size(), std::variant_size_v<AnyBody>) << "a type of event has no example here";
}

TEST(Codec, NoFieldOfABodyIsForgotten) {
  // A body that lost a field on the way would encode like one that never had it: each must differ from its default.
  for (const Body& b : one_of_each()) {
    const auto bare = decode_body(kBodyNames[b.index()], Value(Value::Object{}));
    ASSERT_TRUE(bare);
    EXPECT_NE(encode_body(*bare), encode_body(b)) << kBodyNames[b.index()];
  }
}

TEST(Codec, AWordOfTheNetworkFromBeforeNetworksHadNamesIsRead) {
  const auto old = decode_body("fabric_said", json(R"({"complete":true,"faults":[],"left_out":0,"unknown_nodes":0})"));
  ASSERT_TRUE(old) << old.error().what;
  const auto& said = std::get<FabricSaid>(*old);
  EXPECT_TRUE(said.name.empty());
  EXPECT_TRUE(said.rates && said.flaps) << "it ended whatever it did not tell of";
}

TEST(Codec, AnUpgradeFromBeforeDomainsWereKeptApartByThemselvesKeepsWholeJobsApart) {
  const auto old = decode_body("command_given", json(R"({"verb":"upgrade","upgrade":{"version":"590","apart":"one NCCL"}})"));
  ASSERT_TRUE(old) << old.error().what;
  EXPECT_EQ(std::get<CommandGiven>(*old).upgrade.apart, "one NCCL");
  EXPECT_EQ(std::get<CommandGiven>(*old).upgrade.apart_within, ApartWithin::job);
}

TEST(Codec, AnEventKeepsItsEnvelope) {
  Event e{1, 12, {"boot", "engine", 34}, Time{56}, JobRequeued{JobId{3, 0}}};
  const std::string bytes = encode_event(e);
  EXPECT_EQ(bytes, R"({"schema":1,"seq":12,"source":{"boot":"boot","stream":"engine","seq":34},"utc":56,)"
                   R"("type":"job_requeued","body":{"job":"3"}})");
  const auto back = decode_event(json(bytes));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(encode_event(*back), bytes);
}

TEST(Codec, WhatANewerMusterWroteIsRefusedWithAdvice) {
  const auto type = decode_body("warp_drive_engaged", Value(Value::Object{}));
  ASSERT_FALSE(type);
  EXPECT_NE(type.error().next.find("newer"), std::string::npos);
  const auto schema = decode_event(json(R"({"schema":2,"seq":1,"source":{},"utc":0,"type":"job_requeued","body":{"job":"1"}})"));
  ASSERT_FALSE(schema);
  EXPECT_NE(schema.error().next.find("newer"), std::string::npos);
}

TEST(Codec, WrongKindsAndRangesAreRefused) {
  for (const char* bad : {R"({"job":17})", R"({"job":""})", R"({"job":"x"})", R"({"job":"17x"})", R"({"job":"17_"})",
                          R"({"job":"-1"})", R"({"job":"17_3_1"})", R"({"job":" 17"})", R"({"job":"99999999999"})", R"([])"}) {
    EXPECT_FALSE(decode_body("job_requeued", json(bad))) << bad;
  }
  EXPECT_FALSE(decode_body("job_started", json(R"({"job":"1","attempt":-1})")));
  EXPECT_FALSE(decode_body("job_started", json(R"({"job":"1","attempt":4294967296})")));
  EXPECT_FALSE(decode_body("job_started", json(R"({"job":"1","nodes":{}})")));
  EXPECT_FALSE(decode_body("gpu_swapped", json(R"({"slot":40000})")));
  EXPECT_FALSE(decode_body("node_changed", json(R"({"condition":"sideways"})")));
  EXPECT_FALSE(decode_body("order_ended", json(R"({"key":3})")));
}

TEST(Codec, ANumberThatIsNoneStaysNone) {
  JobSpec s = spec();
  s.step_s = std::nan("");
  const auto back = decode_spec(json(encode_spec(s)));
  ASSERT_TRUE(back);
  EXPECT_TRUE(std::isnan(back->step_s));
}

TEST(Codec, AStateComesBackByteForByte) {
  Story story(8);
  story.running({NodeId{0}, NodeId{1}});
  story.submit(3, kNasty);
  const IncidentId i = story.open(story.find(FindingKind::gpu_lost, NodeId{1}, 2));
  story.drained(NodeId{1}, i);
  story.order(Verb::reboot_node, NodeId{1}, i);
  story.command(CommandVerb::drain, "c1", NodeId{5});
  story.tell(CauseFrozen{FindingKind::gpu_lost, story.s.mono() + hours(1), "many"});
  const std::string bytes = encode_state(story.s);
  const auto back = decode_state(json(bytes));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(encode_state(*back), bytes);
}

TEST(Codec, TheBooksComeBackByteForByte) {
  Accounts a;
  a.began_ms = 5;
  a.settled[Waste::useful] = 123;
  a.nodes = {{7, Waste::down, {{JobId{3, 0}, 2500}}}};
  a.jobs[JobId{3, 0}] = {9, 16, true, {1, 2, 3, 4, 5}};
  const auto back = decode_accounts(json(encode_accounts(a)));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(encode_accounts(*back), encode_accounts(a));
}

}  // namespace
}  // namespace muster
