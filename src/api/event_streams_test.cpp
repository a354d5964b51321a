#include "api/event_streams.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "api/cluster_fixture.h"

namespace muster::api {
namespace {

// The pump is a thread: waits until its reader has seen `piece`.
bool sees(const TestStream& s, std::string_view piece) {
  for (int i = 0; i < 2000; ++i) {
    {
      const std::lock_guard lock(s.mutex);
      if (s.text.find(piece) != std::string::npos) return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

std::size_t count(const TestStream& s, std::string_view piece) {
  const std::lock_guard lock(s.mutex);
  std::size_t n = 0;
  for (std::size_t at = 0; (at = s.text.find(piece, at)) != std::string::npos; ++at) ++n;
  return n;
}

std::shared_ptr<TestStream> open(Office& o, std::map<std::string, std::string> query, std::string last_id = {}) {
  HttpRequest q = Office::get("/api/v1/events", std::move(query));
  if (!last_id.empty()) q.headers["last-event-id"] = last_id;
  auto e = o.ask_for_exchange(std::move(q));
  EXPECT_EQ(e->r.value_or(HttpResponse{}).content_type, "text/event-stream");
  return e->opened;
}

TEST(EventStreams, BeginWithASummaryAndGoOnWithWhatHappens) {
  Office o;
  const auto s = open(o, {});
  ASSERT_TRUE(s);
  EXPECT_TRUE(sees(*s, "event: summary\ndata: {\"cluster\":\"test\""));
  o.cluster.tell(NodeChanged{{3}, NodeCondition::down, ""});
  EXPECT_TRUE(sees(*s, "id: 7\nevent: node_changed\ndata: {\"schema\":1,\"seq\":7,"));
  EXPECT_EQ(count(*s, "id: "), 1u);
}

TEST(EventStreams, ResumeAfterTheLastEventSeen) {
  Office o;
  const auto s = open(o, {{"from", "1"}}, "4");
  EXPECT_TRUE(sees(*s, "id: 6\n"));
  EXPECT_EQ(count(*s, "id: "), 2u);
  EXPECT_EQ(count(*s, "id: 5\n"), 1u);
  EXPECT_EQ(count(*s, "reset"), 0u);
  const auto all = open(o, {{"from", "1"}});
  EXPECT_TRUE(sees(*all, "id: 6\n"));
  EXPECT_EQ(count(*all, "id: "), 6u);
  EXPECT_EQ(o.ask(Office::get("/api/v1/events", {{"from", "x"}})).status, 400);
}

TEST(EventStreams, SayWhereTheFeedNowBeginsToWhoAsksForOlder) {
  Office o;
  o.cluster.dropped = 3;
  const auto s = open(o, {}, "1");
  EXPECT_TRUE(sees(*s, "event: reset\ndata: {\"oldest\":4}\n\n"));
  EXPECT_TRUE(sees(*s, "id: 6\n"));
  EXPECT_EQ(count(*s, "id: "), 3u);
}

TEST(EventStreams, TreatAPositionFromAnotherJournalAsTooOld) {
  Office o;
  const auto s = open(o, {}, "5000");
  EXPECT_TRUE(sees(*s, "event: reset\ndata: {\"oldest\":1}\n\n"));
  const auto newest = open(o, {}, "6");
  EXPECT_TRUE(sees(*newest, "event: summary"));
  EXPECT_EQ(count(*newest, "reset"), 0u);
}

TEST(EventStreams, ASlowReaderFallsBehindAloneAndCatchesUp) {
  Office o;
  const auto slow = open(o, {}), quick = open(o, {});
  ASSERT_TRUE(sees(*slow, "event: summary"));
  {
    const std::lock_guard lock(slow->mutex);
    slow->unread = 10 << 20;
  }
  o.cluster.tell(NodeChanged{{3}, NodeCondition::down, ""});
  EXPECT_TRUE(sees(*quick, "id: 7\n"));
  EXPECT_EQ(count(*slow, "id: 7\n"), 0u);
  {
    const std::lock_guard lock(slow->mutex);
    slow->unread = 0;
  }
  EXPECT_TRUE(sees(*slow, "id: 7\n"));
}

TEST(EventStreams, SummariesAreFewHoweverMuchHappensAndReadersThatLeftAreForgotten) {
  Office o;
  const auto s = open(o, {});
  ASSERT_TRUE(sees(*s, "event: summary"));
  for (int i = 0; i < 200; ++i) o.cluster.tell(NodeChanged{{3}, i % 2 ? NodeCondition::up : NodeCondition::down, ""});
  EXPECT_TRUE(sees(*s, "id: 206\n"));
  EXPECT_LE(count(*s, "event: summary"), 3u);
  {
    const std::lock_guard lock(s->mutex);
    s->gone = true;
  }
  o.cluster.tell(NodeChanged{{3}, NodeCondition::down, ""});
  bool forgotten = false;
  for (int i = 0; i < 2000 && !forgotten; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    forgotten = s.use_count() == 1;
  }
  EXPECT_TRUE(forgotten);
}

TEST(EventStreams, SendHeartbeatsWhenNothingHappens) {
  Cluster cluster;
  EventStreams streams(cluster, [] { return std::string("{}"); }, [] { return std::uint64_t{6}; }, {250, 20, 50});
  auto s = std::make_shared<TestStream>();
  streams.add(s, std::nullopt);
  EXPECT_TRUE(sees(*s, ": still here\n\n"));
}

}  // namespace
}  // namespace muster::api
