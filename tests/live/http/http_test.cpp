#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "adapters/http/client.h"
#include "adapters/http/server.h"
#include "api/cluster_fixture.h"

namespace muster {
namespace {

struct Site {
  api::Office office;
  std::string socket_path = testing::TempDir() + "muster_live_" + std::to_string(getpid()) + ".sock";
  std::unique_ptr<http::Server> server;

  Site() {
    auto s = http::Server::start({"127.0.0.1", 0, socket_path, office.handler, {}});
    if (!s) ADD_FAILURE() << s.error().what;
    server = std::move(*s);
  }
  http::Request to(std::string_view path) const {
    http::Request r;
    r.url = "http://127.0.0.1:" + std::to_string(server->port()) + std::string(path);
    return r;
  }
  http::Request post(std::string_view path, std::string body) const {
    http::Request r = to(path);
    r.method = "POST";
    r.headers["Content-Type"] = "application/json";
    r.body = std::move(body);
    return r;
  }
};

constexpr const char* kPause = R"({"verb":"pause","reason":"test"})";

TEST(LiveHttp, ReadingIsOpenAndActingNeedsATokenOrTheSocket) {
  Site s;
  const auto read = http::request(s.to("/api/v1/nodes"));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->status, 200);
  auto act = s.post("/api/v1/commands", kPause);
  EXPECT_EQ(http::request(act)->status, 401);
  act.headers["Authorization"] = "Bearer " + s.office.token;
  EXPECT_EQ(http::request(act)->status, 200);
  // The fixture's server uid is 1000: whoever runs this test is that user, root, or nobody in particular.
  auto over_socket = s.post("/api/v1/commands", kPause);
  over_socket.url = "http://localhost/api/v1/commands";
  over_socket.unix_socket = s.socket_path;
  EXPECT_EQ(http::request(over_socket)->status, getuid() == 0 || getuid() == 1000 ? 200 : 403);
}

TEST(LiveHttp, ARebindingHostAndAForeignOriginAreTurnedAway) {
  Site s;
  auto rebound = s.to("/api/v1/nodes");
  rebound.headers["Host"] = "evil.example";
  EXPECT_EQ(http::request(rebound)->status, 403);
  auto foreign = s.post("/api/v1/commands", kPause);
  foreign.headers["Authorization"] = "Bearer " + s.office.token;
  foreign.headers["Origin"] = "http://evil.example";
  EXPECT_EQ(http::request(foreign)->status, 403);
}

TEST(LiveHttp, AOneTimeLinkLogsABrowserIn) {
  Site s;
  const auto in = http::request(s.to("/login?code=" + s.office.auth.new_login_code(Role::operator_)));
  ASSERT_TRUE(in);
  EXPECT_EQ(in->status, 303);
  const std::string cookie = in->headers.at("set-cookie");
  auto act = s.post("/api/v1/commands", kPause);
  act.headers["Cookie"] = cookie.substr(0, cookie.find(';'));
  EXPECT_EQ(http::request(act)->status, 401);
  act.headers["X-Muster"] = "1";
  act.headers["Origin"] = "http://127.0.0.1:" + std::to_string(s.server->port());
  EXPECT_EQ(http::request(act)->status, 200);
}

TEST(LiveHttp, ThePageComesCompressedWithItsPolicy) {
  Site s;
  const auto page = http::request(s.to("/"));  // the client decompresses
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->headers.at("content-encoding"), "gzip");
  EXPECT_NE(page->body.find("<title>Muster</title>"), std::string::npos);
  EXPECT_TRUE(page->headers.at("content-security-policy").starts_with("default-src 'none'; script-src 'self'"));
  EXPECT_EQ(page->headers.at("content-security-policy").find("unsafe"), std::string::npos);
}

TEST(LiveHttp, BadBodiesGetClearErrors) {
  Site s;
  const auto ask = [&](std::string body) {
    auto r = s.post("/api/v1/commands", std::move(body));
    r.headers["Authorization"] = "Bearer " + s.office.token;
    return *http::request(r);
  };
  for (const std::string body : {"", "{", "[]", "null", R"({"verb":"drain","verb":"pause"})", R"({"verb":"\ud800"})", "\xff\xfe",
                                 R"({"verb":"drain","node":"../../etc"})", R"({"verb":1e999})"}) {
    const auto r = ask(body);
    EXPECT_GE(r.status, 400) << body;
    EXPECT_LT(r.status, 500) << body;
    EXPECT_TRUE(r.body.starts_with("{\"error\":{\"code\":\"")) << body << " -> " << r.body;
  }
  EXPECT_EQ(ask(std::string(200, '[') + std::string(200, ']')).status, 400);
  EXPECT_EQ(ask(std::string(2 << 20, ' ')).status, 413);
  EXPECT_TRUE(s.office.cluster.given.empty());
}

TEST(LiveHttp, AnEventStreamResumesWhereItBroke) {
  Site s;
  std::vector<std::string> ids;
  auto events = s.to("/api/v1/events?from=1");
  const auto visit = [&](const http::ServerSentEvent& e) {
    if (e.type != "summary") ids.push_back(e.id);
    return ids.size() < 4;  // breaks off in the middle
  };
  ASSERT_TRUE(http::read_events(events, visit));
  events.headers["Last-Event-ID"] = ids.back();
  std::thread later([&] {
    for (int i = 0; i < 2; ++i) s.office.cluster.tell(NodeChanged{{3}, NodeCondition::down, ""});
  });
  const auto end = http::read_events(events, [&](const http::ServerSentEvent& e) {
    if (e.type != "summary") ids.push_back(e.id);
    return ids.size() < 8;
  });
  later.join();
  ASSERT_TRUE(end) << end.error().what;
  EXPECT_EQ(ids, (std::vector<std::string>{"1", "2", "3", "4", "5", "6", "7", "8"}));
}

TEST(LiveHttp, ManyPagesWatchAtOnce) {
  Site s;
  constexpr int kPages = 100;
  std::atomic<int> saw{0};
  std::vector<std::thread> pages;
  for (int i = 0; i < kPages; ++i) {
    pages.emplace_back([&] {
      const auto end = http::read_events(s.to("/api/v1/events?from=1"),
                                         [&](const http::ServerSentEvent& e) { return e.id != "26"; });
      if (end && end->status == 200) ++saw;
    });
  }
  for (int i = 0; i < 20; ++i) s.office.cluster.tell(NodeChanged{{3}, NodeCondition::down, ""});
  for (std::thread& t : pages) t.join();
  EXPECT_EQ(saw, kPages);
}

}  // namespace
}  // namespace muster
