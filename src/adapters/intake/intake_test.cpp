#include "adapters/intake/intake.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "model/codec.h"
#include "model/story.h"

namespace muster {
namespace {

struct AgentIntakeTest : ::testing::Test {
  AgentIntakeTest() {
    site.gpus_per_node = 2;
    site.gpu_pci = {"0000:1b:00", "0000:2b:00"};
    for (const char* name : {"n1", "n2"}) site.nodes.push_back({name});
    intake = std::make_unique<AgentIntake>(mailbox, site);
  }
  void take(const std::string& json) {
    const auto v = parse_json(json);
    ASSERT_TRUE(v) << v.error().what;
    intake->take(*v, [&](const Result<std::uint64_t>& r) {
      ++answers;
      answer = r;
    });
    mailbox.collect(Time{1'000'000'000'000}, inbox);
  }
  Site site;
  Mailbox mailbox;
  std::unique_ptr<AgentIntake> intake;
  Inbox inbox;
  int answers = 0;
  Result<std::uint64_t> answer;
};

constexpr const char* kLost = R"({"stream":"kernel","boot":"b","seq":5,"age_ms":2000,"trusted":true,)"
                              R"("kmsg":"3,4,99,-;NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus."})";

TEST_F(AgentIntakeTest, ARecordBecomesAnEventOfTheAgentsStreamAndIsAnsweredWhenDurable) {
  take(std::string(R"({"node":"n2","items":[)") + kLost + "]}");
  ASSERT_EQ(inbox.events.size(), 1U);
  const Arrival& a = inbox.events[0];
  EXPECT_EQ(a.source.stream, "agent/n2/kernel");
  EXPECT_EQ(a.source.boot, "b");
  EXPECT_EQ(a.source.seq, 5U);
  const auto& heard = std::get<KernelHeard>(a.body);
  EXPECT_TRUE(heard.trusted);
  EXPECT_EQ(heard.record.node, NodeId{1});
  EXPECT_EQ(heard.record.slot, 1);
  EXPECT_EQ(heard.record.code, 79);
  EXPECT_EQ(heard.record.at, Time{1'000'000'000'000} - seconds(2));
  EXPECT_EQ(answers, 0) << "nothing is promised before it is durable";
  a.ack(17);
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(*answer, 17U);
}

TEST_F(AgentIntakeTest, WhateverTheBootIsCalledTheJournalCanReadItBack) {
  for (int i = 0; i < 20; ++i) {
    take(R"({"node":"n1","items":[{"stream":"kernel","boot":"boot)" + std::to_string(i) +
         R"(","seq":1,"trusted":true,"kmsg":"3,4,99,-;NVRM: Xid (PCI:0000:1b:00): 79, x"}]})");
    const Body& body = inbox.events.back().body;
    const auto json = parse_json(encode_body(body));
    ASSERT_TRUE(json);
    const auto back = decode_body("kernel_heard", *json);
    ASSERT_TRUE(back) << back.error().what;
    EXPECT_EQ(encode_body(*back), encode_body(body));
  }
}

TEST_F(AgentIntakeTest, AUsersRecordAndNonsenseAreLeftOut) {
  take(
      R"({"node":"n1","items":[{"stream":"kernel","boot":"b","seq":5,"trusted":true,
        "kmsg":"11,4,99,-;NVRM: Xid (PCI:0000:2b:00): 79, x"},
        {"stream":"kernel","boot":"b","seq":0,"kmsg":""},{"word":"rubbish"},7]})");
  EXPECT_TRUE(inbox.events.empty());
  EXPECT_EQ(answers, 1) << "the agent must not send it for ever";
  EXPECT_TRUE(answer);
}

TEST_F(AgentIntakeTest, ALogFilesLineIsNeverTrusted) {
  take(R"({"node":"n1","items":[{"stream":"kernel","boot":"f","seq":9,"trusted":true,
        "line":"Nov 1 host kernel: NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."}]})");
  ASSERT_EQ(inbox.events.size(), 1U);
  EXPECT_FALSE(std::get<KernelHeard>(inbox.events[0].body).trusted);
  EXPECT_EQ(std::get<KernelHeard>(inbox.events[0].body).record.slot, 0);
}

TEST_F(AgentIntakeTest, AnAgentsWordAndAScrapeCountAsLife) {
  take(
      R"({"node":"n1","items":[{"stream":"agent","boot":"i","seq":1,"word":"probe_hung",
        "subject":"nvml","text":"no answer"}],"scrape":""})");
  ASSERT_EQ(inbox.events.size(), 1U);
  EXPECT_EQ(std::get<AgentSaid>(inbox.events[0].body).word, AgentWord::probe_hung);
  ASSERT_EQ(inbox.samples.size(), 1U);
  EXPECT_EQ(inbox.samples[0].field, Field::up);
}

constexpr const char* kWho = R"({"node":"n2","items":[{"stream":"agent","boot":"i","seq":SEQ,"gpu":{"index":0,
  "pci":"00000000:2B:00.0","uuid":"GPU-a","serial":"SERIAL","vbios":"96"}},
  {"stream":"agent","boot":"i","seq":NEXT,"facts":{"kernel":"6.1","driver_version":"580"}}]})";

std::string who(int seq, const std::string& serial) {
  std::string s = kWho;
  s.replace(s.find("SEQ"), 3, std::to_string(seq));
  s.replace(s.find("NEXT"), 4, std::to_string(seq + 1));
  return s.replace(s.find("SERIAL"), 6, serial);
}

TEST_F(AgentIntakeTest, WhoAGpuIsBecomesAnEventOnlyWhenItChanges) {
  take(who(1, "11"));
  ASSERT_EQ(inbox.events.size(), 2U);
  const auto& b = std::get<GpuIdentified>(inbox.events[0].body);
  EXPECT_EQ(b.node, NodeId{1});
  EXPECT_EQ(b.gpu.slot, 1) << "by its address, not by the driver's number";
  EXPECT_EQ(b.gpu.serial, "11");
  EXPECT_EQ(std::get<NodeDescribed>(inbox.events[1].body).facts[0].first, "driver_version");
  take(who(3, "11"));
  EXPECT_EQ(inbox.events.size(), 2U) << "an agent that starts again tells nothing new";
  EXPECT_EQ(answers, 1) << "and is answered at once";
  take(who(5, "12"));
  ASSERT_EQ(inbox.events.size(), 3U);
  EXPECT_EQ(std::get<GpuIdentified>(inbox.events[2].body).gpu.serial, "12");
}

TEST_F(AgentIntakeTest, AnAddressThatTheClusterFileDoesNotHaveIsPlacedByTheAgentsWord) {
  take(R"({"node":"n1","items":[{"stream":"agent","boot":"i","seq":1,"gpu":{"index":1,"pci":"00000000:C3:00.0","uuid":"GPU-a"}},
        {"stream":"kernel","boot":"b","seq":5,"trusted":true,"kmsg":"3,4,9,-;NVRM: Xid (PCI:0000:c3:00): 31, pid=1, name=x"},
        {"stream":"kernel","boot":"b","seq":6,"trusted":true,"kmsg":"3,5,9,-;NVRM: Xid (PCI:0000:c4:00): 31, pid=1, name=x"},
        {"stream":"agent","boot":"i","seq":2,"xid":31,"pci":"00000000:C3:00.0"}]})");
  ASSERT_EQ(inbox.events.size(), 4U);
  EXPECT_EQ(std::get<GpuIdentified>(inbox.events[0].body).gpu.slot, 1);
  EXPECT_EQ(std::get<KernelHeard>(inbox.events[1].body).record.slot, 1);
  EXPECT_EQ(std::get<KernelHeard>(inbox.events[2].body).record.slot, -1);
  EXPECT_EQ(std::get<KernelHeard>(inbox.events[3].body).record.slot, 1);
}

TEST_F(AgentIntakeTest, WhatWasKnownBeforeARestartIsNoNews) {
  State s;
  s.nodes.resize(2);
  s.nodes[1].known.put(GpuIdentity{1, "GPU-a", "11", "96", "00000000:2B:00.0"});
  s.nodes[1].known.put(Facts{{"driver_version", "580"}, {"kernel", "6.1"}});
  intake->remember(s);
  take(who(1, "11"));
  EXPECT_TRUE(inbox.events.empty());
}

TEST_F(AgentIntakeTest, AnXidFromNvmlIsTheDriversWord) {
  take(R"({"node":"n1","items":[{"stream":"agent","boot":"i","seq":1,"xid":31,"pci":"00000000:2B:00.0"},
        {"stream":"agent","boot":"i","seq":2,"xid":31000},{"stream":"agent","boot":"i","seq":3,"xid":"79"}]})");
  ASSERT_EQ(inbox.events.size(), 1U);
  const auto& heard = std::get<KernelHeard>(inbox.events[0].body);
  EXPECT_TRUE(heard.trusted);
  EXPECT_EQ(heard.record.code, 31);
  EXPECT_EQ(heard.record.slot, 1);
}

TEST_F(AgentIntakeTest, AnUnknownNodeIsRefused) {
  take(R"({"node":"n9","items":[]})");
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(answer.error().code, Code::not_found);
}

TEST_F(AgentIntakeTest, AtTheEndWhoeverWaitsIsTold) {
  const auto v = parse_json(std::string(R"({"node":"n2","items":[)") + kLost + "]}");
  intake->take(*v, [&](const Result<std::uint64_t>& r) {
    answer = r;
    ++answers;
  });
  mailbox.close({Code::unreachable, "shutting down", ""});
  EXPECT_EQ(answers, 1);
  EXPECT_FALSE(answer);
}

TEST_F(AgentIntakeTest, LinesOfJobLogsAreNoEventsAndAreAnsweredWhenTaken) {
  take(
      R"({"node":"n1","items":[)"
      R"({"stream":"agent","boot":"b","seq":1,"age_ms":3000,"job":"17_3","log":"[rank3]:[E1115 15:27:03 P.cpp:689] )"
      R"([Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=401, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, )"
      R"(Timeout(ms)=25000) ran for 25023 milliseconds before timing out."},)"
      R"({"stream":"agent","boot":"b","seq":2,"job":"pod-x","ras":{"kind":"rank_behind","rank":2,"text":"as it says"}},)"
      R"({"stream":"agent","boot":"b","seq":3,"job":"1","log":"nothing of the kind"},)"
      R"({"stream":"agent","boot":"b","seq":4,"job":"1","ras":{"kind":"nonsense"}}]})");
  EXPECT_TRUE(inbox.events.empty());
  ASSERT_EQ(inbox.logs.size(), 2U);
  EXPECT_EQ(inbox.logs[0].kind, JobLogKind::timed_out);
  EXPECT_EQ(inbox.logs[0].rank, 3);
  EXPECT_EQ(inbox.logs[0].job, (JobId{17, 4}));
  EXPECT_EQ(inbox.logs[0].label, "job 17_3");
  EXPECT_EQ(inbox.logs[0].at, Time{1'000'000'000'000} - seconds(3));
  EXPECT_EQ(inbox.logs[1].kind, JobLogKind::rank_behind);
  EXPECT_EQ(inbox.logs[1].rank, 2);
  EXPECT_EQ(inbox.logs[1].job, JobId{});
  EXPECT_EQ(inbox.logs[1].label, "job pod-x");
  EXPECT_EQ(answers, 1);
  EXPECT_TRUE(answer);
}

// A cluster with one job of two nodes, n0 and n1, as the controller last published it.
struct JobReports : ::testing::Test, View {
  JobReports() : t(4) {
    site = t.s.site;
    intake = std::make_unique<AgentIntake>(mailbox, site, this);
    job = t.running({NodeId{0}, NodeId{1}});
    t.pass(hours(1));
  }
  std::shared_ptr<const Snapshot> latest() const override {
    auto s = std::make_shared<Snapshot>();
    s->state = t.s;
    return s;
  }
  // What reaches the loop.
  Inbox& say(const std::string& node, const std::string& members) {
    inbox.clear();
    const auto v = parse_json(R"({"node":")" + node + R"(","items":[{"stream":"agent","boot":"b","seq":)" +
                              std::to_string(++seq) + "," + members + "}]}");
    EXPECT_TRUE(v) << v.error().what;
    intake->take(*v, [](const Result<std::uint64_t>&) {});
    mailbox.collect(t.now().utc, inbox);
    return inbox;
  }
  const Progress* saved() const {
    return inbox.events.size() == 1 ? &std::get<JobProgressed>(inbox.events[0].body).progress : nullptr;
  }
  double count(std::size_t which) const { return intake->meter().readings[which].second; }
  Story t;
  Site site;
  Mailbox mailbox;
  std::unique_ptr<AgentIntake> intake;
  Inbox inbox;
  JobId job;
  int seq = 0;
};

TEST_F(JobReports, ACheckpointIsAnEventAndAStepIsNone) {
  say("n0", R"("job":"1","report":{"step":50,"step_s":9.5})");
  EXPECT_TRUE(inbox.events.empty());
  ASSERT_EQ(inbox.steps.size(), 1U);
  EXPECT_EQ(inbox.steps[0].step, 50U);
  EXPECT_EQ(inbox.steps[0].step_s, 9.5);
  say("n1", R"("job":"1","age_ms":2000,"report":{"step":60,"saved_step":58,"saving_s":31})");
  ASSERT_NE(saved(), nullptr);
  EXPECT_EQ(*saved(), (Progress{60, 58, 0, 31'000, 0, 1}));
  EXPECT_EQ(inbox.events[0].source.stream, "agent/n1");
  EXPECT_EQ(inbox.events[0].utc, t.now().utc - seconds(2));
  // Before the state knows of the first, the second counts on from it.
  say("n0", R"("job":"1","report":{"saved_step":90,"saving_s":29})");
  ASSERT_NE(saved(), nullptr);
  EXPECT_EQ(*saved(), (Progress{90, 90, 0, 60'000, 0, 2}));
  t.tell(inbox.events[0].body);
  EXPECT_TRUE(checkpoint_known(t.s.jobs.at(job)));
  EXPECT_EQ(t.s.jobs.at(job).progress.durable_steps, 90U);
}

TEST_F(JobReports, HowLongItTookMayComeInASecondWord) {
  say("n0", R"("job":"1","report":{"saved_step":58})");
  ASSERT_NE(saved(), nullptr);
  EXPECT_EQ(saved()->checkpoints, 0U);
  say("n0", R"("job":"1","report":{"saved_step":58,"saving_s":30})");
  ASSERT_NE(saved(), nullptr);
  EXPECT_EQ(*saved(), (Progress{58, 58, 0, 30'000, 0, 1}));
  say("n0", R"("job":"1","report":{"saved_step":58,"saving_s":30})");
  EXPECT_EQ(saved(), nullptr) << "but not twice: all nodes of a job may read one log";
}

TEST_F(JobReports, WhatCannotBeIsNotBelievedAndCounted) {
  for (const char* node : {"n2", "n3"}) {
    say(node, R"("job":"1","report":{"step":70,"saved_step":70})");
    EXPECT_TRUE(inbox.events.empty() && inbox.steps.empty()) << "it does not run there";
  }
  for (const char* what :
       {R"("job":"2","report":{"saved_step":70})", R"("job":"train","report":{"saved_step":70})", R"("report":{"saved_step":70})",
        R"("job":"1","report":{"saved_step":-70})", R"("job":"1","report":"x")",
        R"("job":"1","report":{"attempt":2,"saved_step":70})", R"("job":"1","age_ms":7200000,"report":{"saved_step":70})"}) {
    say("n0", what);
    EXPECT_TRUE(inbox.events.empty() && inbox.steps.empty()) << what;
  }
  EXPECT_EQ(count(0), 0);
  EXPECT_EQ(count(1), 9);
  say("n0", R"("job":"1","report":{"attempt":1,"saved_step":70})");
  EXPECT_NE(saved(), nullptr);
  say("n0", R"("job":"1","report":{"saved_step":69})");
  EXPECT_EQ(saved(), nullptr) << "never backwards";
  say("n0", R"("job":"1","report":{"saved_step":71,"saving_s":900000})");
  ASSERT_NE(saved(), nullptr);
  EXPECT_EQ(saved()->checkpoint_ms, 3'600'000) << "it cannot have stood still for longer than it has run";
  t.tell(JobEnded{job, 1, JobEnd::node_failed, {80, 71, 0, 0, 0}, ""});
  say("n0", R"("job":"1","report":{"saved_step":99})");
  EXPECT_EQ(saved(), nullptr) << "it does not run";
}

TEST_F(JobReports, WithoutAViewNothingIsBelieved) {
  AgentIntake blind(mailbox, site);
  const auto v =
      parse_json(R"({"node":"n0","items":[{"stream":"agent","boot":"b","seq":1,"job":"1","report":{"saved_step":1}}]})");
  blind.take(*v, [](const Result<std::uint64_t>& r) { EXPECT_TRUE(r) << "or the agent would send it for ever"; });
  mailbox.collect(t.now().utc, inbox);
  EXPECT_TRUE(inbox.events.empty());
}

}  // namespace
}  // namespace muster
