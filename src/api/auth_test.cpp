#include "api/auth.h"

#include <gtest/gtest.h>

#include "api/cluster_fixture.h"

namespace muster::api {
namespace {

HttpRequest pause() { return Office::post("/api/v1/commands", {{"verb", Value(std::string("pause"))}}); }

TEST(Auth, TokensAreLongPrefixedAndDifferent) {
  Office o;
  const std::string a = new_token(o.random()), b = new_token(o.random());
  EXPECT_TRUE(a.starts_with("mstr_"));
  EXPECT_EQ(a.size(), 5u + 64u);
  EXPECT_NE(a, b);
}

TEST(Auth, ActingWithoutATokenIsRefusedOnLoopbackTooAndReadingIsNot) {
  Office o;
  const HttpResponse r = o.ask(pause());
  EXPECT_EQ(r.status, 401);
  EXPECT_EQ(r.headers.at("WWW-Authenticate"), "Bearer");
  EXPECT_NE(r.body.find("\"code\":\"not_allowed\""), std::string::npos);
  EXPECT_TRUE(o.cluster.given.empty());
  EXPECT_EQ(o.ask(Office::get("/api/v1/nodes")).status, 200);
}

TEST(Auth, TheRightTokenActsAndWrongOnesDoNotEvenRead) {
  Office o;
  EXPECT_EQ(o.ask(o.with_token(pause())).status, 200);
  for (const char* wrong : {"Bearer mstr_secres", "Bearer mstr_secret2", "Bearer ", "Basic bXN0cl9zZWNyZXQ=", "mstr_secret"}) {
    HttpRequest q = pause();
    q.headers["authorization"] = wrong;
    EXPECT_EQ(o.ask(q).status, 401) << wrong;
    HttpRequest read = Office::get("/api/v1/nodes");
    read.headers["authorization"] = wrong;
    EXPECT_EQ(o.ask(read).status, 401) << wrong;
  }
}

TEST(Auth, AViewersTokenReadsOnly) {
  Office o;
  HttpRequest q = pause();
  q.headers["authorization"] = "Bearer mstr_view";
  EXPECT_EQ(o.ask(q).status, 403);
}

TEST(Auth, OnlyTheServersUserAndRootActThroughTheUnixSocket) {
  Office o;
  HttpRequest q = pause();
  q.peer.unix_socket = true;
  q.headers.erase("host");
  for (const auto& [uid, status] : {std::pair{1000, 200}, {0, 200}, {1001, 403}, {-1, 401}}) {
    q.peer.uid = uid;
    EXPECT_EQ(o.ask(q).status, status) << uid;
  }
  EXPECT_EQ(o.cluster.given.at(0).actor, "uid 1000");
}

TEST(Auth, OtherHostNamesAreNotAnswered) {
  Office o;
  for (const char* host : {"evil.example:7070", "127.0.0.1.evil.example", "", "localhost.", "0.0.0.0:7070"}) {
    HttpRequest q = Office::get("/api/v1/nodes");
    q.headers["host"] = host;
    EXPECT_EQ(o.ask(q).status, 403) << host;
    EXPECT_EQ(o.ask(o.with_token(q)).status, 403) << host;
  }
  for (const char* host : {"localhost:7070", "127.0.0.1", "[::1]:7070", "[::1]", "LocalHost:9000"}) {
    HttpRequest q = Office::get("/api/v1/nodes");
    q.headers["host"] = host;
    EXPECT_EQ(o.ask(q).status, 200) << host;
  }
}

TEST(Auth, OtherMachinesNeedATokenToRead) {
  Office o;
  HttpRequest q = Office::get("/api/v1/nodes");
  q.peer.address = "10.0.0.7";
  EXPECT_EQ(o.ask(q).status, 401);
  EXPECT_EQ(o.ask(o.with_token(q)).status, 200);
}

TEST(Auth, ALoginCodeWorksOnceAndNotForLong) {
  Office o;
  const std::string code = o.auth.new_login_code(Role::operator_);
  const HttpResponse in = o.ask(Office::get("/login", {{"code", code}}));
  EXPECT_EQ(in.status, 303);
  EXPECT_EQ(in.headers.at("Location"), "/");
  const std::string cookie = in.headers.at("Set-Cookie");
  EXPECT_TRUE(cookie.starts_with("muster_session_7070="));
  EXPECT_NE(cookie.find("HttpOnly"), std::string::npos);
  EXPECT_NE(cookie.find("SameSite=Strict"), std::string::npos);
  EXPECT_EQ(o.ask(Office::get("/login", {{"code", code}})).status, 403);
  EXPECT_EQ(o.ask(Office::get("/login", {{"code", ""}})).status, 403);
  EXPECT_EQ(o.ask(Office::get("/login")).status, 403);
  const std::string late = o.auth.new_login_code(Role::operator_);
  o.now_s += 16 * 60;
  EXPECT_EQ(o.ask(Office::get("/login", {{"code", late}})).status, 403);
}

struct LoggedIn : Office {
  std::string cookie;
  LoggedIn() {
    const HttpResponse in = ask(get("/login", {{"code", auth.new_login_code(Role::operator_)}}));
    cookie = in.headers.at("Set-Cookie").substr(0, in.headers.at("Set-Cookie").find(';'));
  }
  HttpRequest from_page() const {
    HttpRequest q = pause();
    q.headers["cookie"] = "other=1; " + cookie;
    q.headers["x-muster"] = "1";
    q.headers["origin"] = "http://127.0.0.1:7070";
    return q;
  }
};

TEST(Auth, OurOwnPageActsWithItsCookie) {
  LoggedIn o;
  EXPECT_EQ(o.ask(o.from_page()).status, 200);
  EXPECT_EQ(o.cluster.given.at(0).actor, "browser");
  HttpRequest who = Office::get("/api/v1/session");
  who.headers["cookie"] = o.cookie;
  EXPECT_EQ(o.ask(who).body, R"({"name":"browser","role":"operator","can_act":true})");
}

TEST(Auth, PagesOfOtherOriginsCannotActWithIt) {
  LoggedIn o;
  for (const char* origin : {"http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1:7070"}) {
    HttpRequest q = o.from_page();
    q.headers["origin"] = origin;
    EXPECT_EQ(o.ask(q).status, 403) << origin;
    EXPECT_EQ(o.ask(o.with_token(q)).status, 403) << origin;
  }
  HttpRequest form = o.from_page();
  form.headers.erase("x-muster");
  EXPECT_EQ(o.ask(form).status, 401);
  HttpRequest no_origin = o.from_page();
  no_origin.headers.erase("origin");
  EXPECT_EQ(o.ask(no_origin).status, 401);
  HttpRequest cross_site = o.from_page();
  cross_site.headers["sec-fetch-site"] = "cross-site";
  EXPECT_EQ(o.ask(cross_site).status, 403);
  EXPECT_TRUE(o.cluster.given.empty());
}

TEST(Auth, SessionsEnd) {
  LoggedIn o;
  o.now_s += 13 * 3600;
  EXPECT_EQ(o.ask(o.from_page()).status, 401);
}

TEST(Auth, OnlyAnAdminHandsOutLogins) {
  LoggedIn o;
  HttpRequest q = o.from_page();
  q.path = "/api/v1/logins";
  EXPECT_EQ(o.ask(q).status, 403);
  const HttpResponse r = o.ask(o.with_token(Office::post("/api/v1/logins", {})));
  EXPECT_EQ(r.status, 200);
  EXPECT_NE(r.body.find("/login?code="), std::string::npos);
}

}  // namespace
}  // namespace muster::api
