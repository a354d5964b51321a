#include "adapters/intake/environment_word.h"

#include <gtest/gtest.h>

#include "adapters/intake/intake.h"
#include "ingest/json.h"
#include "model/job_environment.h"
#include "model/story.h"

namespace muster {
namespace {

struct Shown final : View {
  explicit Shown(const State& s) : state(s) {}
  std::shared_ptr<const Snapshot> latest() const override {
    auto s = std::make_shared<Snapshot>();
    s->state = state;
    return s;
  }
  const State& state;
};

struct Environments : ::testing::Test {
  Environments() : t(4), site(t.s.site), shown(t.s), intake(mailbox, site, &shown) {
    job = t.running({NodeId{0}, NodeId{1}, NodeId{2}});
    t.pass(minutes(10));
  }
  // What it makes of a word; `durable`: whether that is stored.
  const JobDescribed* say(const std::string& node, const std::string& members, bool durable = true) {
    inbox.clear();
    answered = false;
    const auto v = parse_json(R"({"node":")" + node + R"(","items":[{"stream":"agent","boot":"b","seq":)" +
                              std::to_string(++seq) + "," + members + "}]}");
    EXPECT_TRUE(v) << v.error().what;
    intake.take(*v, [&](const Result<std::uint64_t>&) { answered = true; });
    mailbox.collect(t.now().utc, inbox);
    if (inbox.events.empty()) return nullptr;
    inbox.events[0].ack(durable ? Result<std::uint64_t>(7) : Result<std::uint64_t>(fail(Code::internal, "no disk")));
    return std::get_if<JobDescribed>(&inbox.events[0].body);
  }
  Story t;
  Site site;
  Shown shown;
  Mailbox mailbox;
  AgentIntake intake;
  Inbox inbox;
  JobId job;
  int seq = 0;
  bool answered = false;
};

constexpr const char* kTold = R"("job":"1","environment":{"nccl.version":"2.27.5","driver.loaded":"580"})";

TEST_F(Environments, WhatANodeTellsIsAnEventOnceAndAgainWhenItChanges) {
  const JobDescribed* d = say("n0", kTold);
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->job, job);
  EXPECT_EQ(d->attempt, 1U);
  EXPECT_EQ(d->node, NodeId{0});
  EXPECT_EQ(d->facts, (Facts{{"driver.loaded", "580"}, {"nccl.version", "2.27.5"}}));
  EXPECT_EQ(say("n0", kTold), nullptr);
  EXPECT_TRUE(answered) << "or the agent would send it for ever";
  EXPECT_NE(say("n0", R"("job":"1","environment":{"nccl.version":"2.28.3"})"), nullptr);
}

TEST_F(Environments, ANodeThatIsLikeAnotherIsSaidToBe) {
  say("n0", kTold);
  const JobDescribed* d = say("n1", kTold);
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->facts, (Facts{{std::string(kSameAsNode), "n0"}}));
  say("n0", R"("job":"1","environment":{"nccl.version":"2.28.3"})");
  d = say("n2", kTold);
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->facts.size(), 2U) << "n0 is another one by now";
}

TEST_F(Environments, WhatWasNotStoredIsToldAgainAndNobodyIsSaidToBeLikeIt) {
  say("n0", kTold, false);
  const JobDescribed* d = say("n1", kTold);
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->facts.size(), 2U);
  EXPECT_NE(say("n0", kTold), nullptr);
}

TEST_F(Environments, TheNextAttemptIsToldAnew) {
  say("n0", kTold);
  t.tell(JobEnded{job, 1, JobEnd::node_failed, {}, ""});
  t.tell(JobStarted{job, 2, {NodeId{0}, NodeId{1}}});
  t.pass(minutes(1));
  EXPECT_EQ(say("n0", R"("age_ms":300000,)" + std::string(kTold)), nullptr) << "seen before it began";
  const JobDescribed* d = say("n0", kTold);
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->attempt, 2U);
}

TEST_F(Environments, WhatCannotBeIsLeftOut) {
  EXPECT_EQ(say("n3", kTold), nullptr) << "it does not run there";
  std::string many;
  for (int i = 0; i < 200; ++i) many += (i > 0 ? "," : "") + ("\"k" + std::to_string(i) + "\":\"v\"");
  for (const std::string& bad : {std::string(R"("job":"2","environment":{"a":"b"})"), std::string(R"("environment":{"a":"b"})"),
                                 std::string(R"("job":"1","environment":{})"), std::string(R"("job":"1","environment":["a"])"),
                                 std::string(R"("job":"1","environment":{"a":1})"),
                                 std::string(R"("job":"1","environment":{"same_as_node":"n1"})"),
                                 R"("job":"1","environment":{)" + many + "}"}) {
    EXPECT_EQ(say("n0", bad), nullptr) << bad;
    EXPECT_TRUE(answered);
  }
}

TEST_F(Environments, HostileTextIsCutAndCleaned) {
  const JobDescribed* d =
      say("n0", R"("job":"1","environment":{"env.NCCL_X\n\u001b":")" + std::string(5000, 'x') + R"(","b":"\u001b[2J\n"})");
  ASSERT_NE(d, nullptr);
  for (const auto& [name, value] : d->facts) {
    EXPECT_EQ((name + value).find_first_of("\n\x1b"), std::string::npos);
    EXPECT_LE(value.size(), 400U);
  }
}

}  // namespace
}  // namespace muster
