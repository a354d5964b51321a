#include "adapters/intake/intake.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "model/codec.h"

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

}  // namespace
}  // namespace muster
