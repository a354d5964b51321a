#include "adapters/slurm/rest.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "adapters/http/server.h"
#include "adapters/slurm/node_reader.h"

namespace muster::slurm {
namespace {

// As long as 2286: {"exp":9000000000,"sun":"muster"}
constexpr const char* kToken = "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjkwMDAwMDAwMDAsInN1biI6Im11c3RlciJ9.c2ln";
// {"exp":1500000000,"sun":"muster"}
constexpr const char* kExpired = "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjE1MDAwMDAwMDAsInN1biI6Im11c3RlciJ9.c2ln";

// A slurmrestd of the test, and a scontrol that knows one node.
class RestTest : public ::testing::Test {
 protected:
  RestTest() {
    char path[] = "/tmp/muster-rest-XXXXXX";
    dir = mkdtemp(path);
    http::Options o;
    o.port = 0;
    o.handler = [this](std::shared_ptr<HttpExchange> e) { e->respond(answer(e->request())); };
    server = std::move(*http::Server::start(std::move(o)));
    write("scontrol", "#!/bin/sh\ncase \"$*\" in *nodes) echo 'NodeName=by-scontrol State=IDLE ThreadsPerCore=1';; esac\n");
    chmod((dir + "/scontrol").c_str(), 0755);
  }
  ~RestTest() override {
    server->stop();
    std::filesystem::remove_all(dir);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(dir + "/" + name) << text; }
  HttpResponse answer(const HttpRequest& q) {
    const std::lock_guard hold(lock);
    HttpResponse r;
    asked.push_back(q.path + (q.query.count("update_time") != 0 ? "?" + q.query.at("update_time") : ""));
    if (!token.empty() && (q.headers.count("x-slurm-user-token") == 0 || q.headers.at("x-slurm-user-token") != token ||
                           q.headers.at("x-slurm-user-name") != "muster")) {
      r.status = 500;
      r.body = R"({"errors": [{"error": "Unspecified error", "errno": -1}], "nodes": []})";
    } else if (q.path == "/openapi/v3") {
      r.body = "{\"paths\": {";
      for (const std::string& v : versions)
        r.body += fmt::format("{}\"/slurm/{}/nodes/\": {{}}", &v == &versions[0] ? "" : ",", v);
      r.body += "}}";
    } else if (q.query.count("update_time") != 0) {
      r.status = 304;
    } else if (q.path.find("/nodes") != std::string::npos) {
      r.body = nodes;
    } else {
      r.body = R"({"reservations": [], "errors": []})";
    }
    return r;
  }
  RestSettings settings(const std::string& token_file = {}) const {
    return {fmt::format("http://127.0.0.1:{}", server->port()), {}, token_file.empty() ? "" : dir + "/" + token_file, {}};
  }

  std::string dir;
  std::mutex lock;
  std::unique_ptr<http::Server> server;
  std::vector<std::string> versions = {"v0.0.42", "v0.0.99", "v0.0.40"};
  std::vector<std::string> asked;
  std::string token;
  std::string nodes = R"({"nodes": [{"name": "by-rest", "state": ["IDLE"]}], "errors": [],
 "last_update": {"set": true, "infinite": false, "number": 1794807613}})";
};

TEST_F(RestTest, TheNewestVersionThatIsKnownIsUsed) {
  Rest rest(settings());
  ASSERT_TRUE(rest.nodes());
  EXPECT_EQ(rest.version(), "v0.0.42");
  EXPECT_EQ(asked, (std::vector<std::string>{"/openapi/v3", "/slurm/v0.0.42/nodes"}));
  versions = {"v0.0.99"};
  Rest unknown(settings());
  EXPECT_EQ(unknown.nodes().error().code, Code::not_found);
}

TEST_F(RestTest, WhatHasNotChangedIsNotSentAgain) {
  Rest rest(settings());
  ASSERT_EQ(rest.nodes()->front().name, "by-rest");
  ASSERT_EQ(rest.nodes()->front().name, "by-rest");
  EXPECT_EQ(asked.back(), "/slurm/v0.0.42/nodes?1794807613");
}

TEST_F(RestTest, ATokenIsReadAgainWhenItsFileChanges) {
  token = kToken;
  write("token", fmt::format("SLURM_JWT={}\n", kToken));
  Rest rest(settings("token"));
  EXPECT_TRUE(rest.nodes());
  write("token.new", fmt::format("{}\n", kExpired));
  std::filesystem::rename(dir + "/token.new", dir + "/token");
  const auto late = rest.nodes();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::not_allowed);
  EXPECT_NE(late.error().what.find("expired at 2017-07-14T02:40:00Z"), std::string::npos) << late.error().what;
  EXPECT_EQ(late.error().what.find(kExpired), std::string::npos) << "no token in any message";
  std::filesystem::remove(dir + "/token");
  EXPECT_NE(rest.nodes().error().what.find("cannot be read"), std::string::npos);
  write("token", kToken);
  EXPECT_TRUE(rest.nodes());
}

TEST_F(RestTest, FactsSayWhatWorksAndWhatToDo) {
  auto good = discover_rest(settings());
  ASSERT_TRUE(good);
  EXPECT_TRUE(good->nodes && good->reservations && good->problem.empty());
  EXPECT_EQ(good->auth, "none");
  EXPECT_EQ(good->offered.front(), "v0.0.99");
  token = kToken;
  auto closed = discover_rest(settings());
  ASSERT_TRUE(closed);
  EXPECT_FALSE(closed->nodes);
  EXPECT_NE(closed->next.find("token_file"), std::string::npos) << closed->next;
  server->stop();
  EXPECT_EQ(discover_rest(settings()).error().code, Code::unreachable);
}

TEST_F(RestTest, NodesAreReadWithScontrolWhileSlurmrestdFails) {
  Tools tools({}, dir);
  NodeReader reader(tools, settings());
  Time t{1};
  const auto seen = [&] {
    const auto look = reader.look(t);
    return look && look->nodes.size() == 1 ? look->nodes.front().name : "nothing";
  };
  EXPECT_EQ(seen(), "by-rest");
  EXPECT_TRUE(reader.trouble().empty());
  const std::string whole = nodes;
  for (const std::string& wrong : {whole.substr(0, whole.size() / 2), std::string(R"({"nodes": [], "errors": []})")}) {
    nodes = wrong;
    t = t + minutes(1);
    NodeReader other(tools, settings());
    const auto look = other.look(t);
    ASSERT_TRUE(look);
    EXPECT_EQ(look->nodes.front().name, "by-scontrol");
    EXPECT_NE(other.trouble().find("nodes are read with scontrol meanwhile"), std::string::npos) << other.trouble();
    nodes = whole;
    ASSERT_TRUE(other.look(t + seconds(1)));
    EXPECT_FALSE(other.trouble().empty()) << "left alone for some seconds";
    EXPECT_EQ(other.look(t + seconds(6))->nodes.front().name, "by-rest");
    EXPECT_TRUE(other.trouble().empty());
  }
  server->stop();
  t = t + minutes(1);
  EXPECT_EQ(seen(), "by-scontrol");
  const std::string told = reader.trouble();
  EXPECT_NE(told.find("slurmrestd"), std::string::npos);
  t = t + minutes(1);
  EXPECT_EQ(seen(), "by-scontrol");
  EXPECT_EQ(reader.trouble(), told) << "the same trouble is told once";
}

}  // namespace
}  // namespace muster::slurm
