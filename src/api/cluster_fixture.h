// A small cluster in trouble, told in events, for the tests of this room: four nodes of eight GPUs in two racks, a job of two
// nodes, a GPU that fell off the bus, an order and a refusal.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api/api.h"
#include "model/codec.h"
#include "model/state.h"

namespace muster::api {

inline constexpr Time kStart{1'767'225'600'000'000'000};  // 2026-01-01T00:00:00Z

struct Cluster final : View, Feed, Commands {
  State state;
  std::vector<std::pair<std::string, std::string>> events;  // (type, JSON), seq = index + 1
  std::uint64_t dropped = 0;                                // of the oldest
  std::vector<CommandGiven> given;
  mutable std::mutex mutex;
  std::function<void()> hook;
  std::shared_ptr<const Snapshot> snapshot;

  Cluster() {
    Site site;
    site.name = "test";
    site.racks = {"r1", "r2"};
    for (std::uint32_t i = 0; i < 4; ++i) site.nodes.push_back({"node00" + std::to_string(i + 1), i / 2, i / 2, 0, i});
    site.leaves = 2;
    site.pods = 1;
    site.domains = 4;
    tell(SiteDeclared{site});
    tell(PolicyApplied{default_policy(), "abc"});
    tell(TurnBegan{1, {kStart, {}, {}}});
    JobSpec spec;
    spec.name = "<script>alert(1)</script>";
    spec.nodes = 2;
    tell(JobSubmitted{{17, 0}, spec});
    tell(JobStarted{{17, 0}, 1, {{0}, {1}}});
    tell(JobProgressed{{17, 0}, 1, {250, 200, 0, 0, 0}});
  }
  void break_gpu() {
    Finding f;
    f.id = {1};
    f.kind = FindingKind::gpu_lost;
    f.severity = Severity::critical;
    f.node = {1};
    f.slot = 3;
    f.code = 79;
    f.opened = kStart;
    f.evidence = {{Witness::kernel_log, kStart, "kmsg:1/2", "NVRM: Xid (PCI:0000:1b:00): 79"}};
    tell(FindingOpened{f});
    tell(IncidentOpened{{1}, {1}});
    OrderIntended o;
    o.order.key = "i1-1";
    o.order.action.verb = Verb::drain_node;
    o.order.action.node = {1};
    o.order.reason.sentence = "GPU 3 fell off the bus";
    o.order.reason.rule = "recover/gpu_lost/drain";
    o.order.reason.findings = {{1}};
    o.order.reason.incident = {1};
    o.order.reason.actor = "muster";
    tell(o);
    OrderRefused r;
    r.action.verb = Verb::reboot_node;
    r.action.node = {1};
    r.reason.incident = {1};
    r.limit = "out_rack";
    tell(r);
  }
  void tell(Body body) {
    {
      const std::lock_guard lock(mutex);
      Event e;
      e.seq = events.size() + 1;
      e.utc = kStart;
      e.body = std::move(body);
      fold(state, e);
      state.seq = e.seq;
      events.emplace_back(type_of(e), encode_event(e));
      auto s = std::make_shared<Snapshot>();
      s->state = state;
      s->simulation = "weather x1";
      s->digest = "d1";
      s->gpu_hours.installed_ms = 7'200'000;
      s->gpu_hours[Waste::useful] = 3'600'000;
      s->gpu_hours[Waste::idle] = 3'600'000;
      s->readings.assign(32, GpuReading{61.04f, 700, 99, -1});
      snapshot = std::move(s);
    }
    if (hook) hook();
  }

  std::shared_ptr<const Snapshot> latest() const override {
    const std::lock_guard lock(mutex);
    return snapshot;
  }
  std::uint64_t oldest() const override {
    const std::lock_guard lock(mutex);
    return dropped + 1;
  }
  void read(std::uint64_t from, std::size_t max,
            const std::function<void(std::uint64_t, std::string_view, std::string_view)>& visit) const override {
    const std::lock_guard lock(mutex);
    for (std::uint64_t seq = std::max(from, dropped + 1); seq <= events.size() && max > 0; ++seq, --max) {
      visit(seq, events[seq - 1].first, events[seq - 1].second);
    }
  }
  void on_change(std::function<void()> h) override { hook = std::move(h); }
  void submit(CommandGiven command, std::function<void(Result<std::uint64_t>)> done) override {
    given.push_back(std::move(command));
    done(given.size() + 1000);
  }
};

// The other end of a stream, which reads as fast or as slowly as the test wants.
struct TestStream final : HttpStream {
  mutable std::mutex mutex;
  std::string text;
  std::size_t unread = 0;
  bool gone = false;
  bool send(std::string bytes) override {
    const std::lock_guard lock(mutex);
    text += bytes;
    return !gone;
  }
  std::size_t pending() const override {
    const std::lock_guard lock(mutex);
    return unread;
  }
};

struct TestExchange final : HttpExchange {
  HttpRequest q;
  std::optional<HttpResponse> r;
  std::shared_ptr<TestStream> opened;
  const HttpRequest& request() const override { return q; }
  void respond(HttpResponse response) override { r = std::move(response); }
  std::shared_ptr<HttpStream> stream(HttpResponse head) override {
    r = std::move(head);
    return opened = std::make_shared<TestStream>();
  }
};

// Takes everything, and keeps the node's name.
struct TestIntake final : Intake {
  std::vector<std::string> nodes;
  void take(const Value& batch, std::function<void(Result<std::uint64_t>)> done) override {
    const Value* node = batch.find("node");
    nodes.push_back(node == nullptr || node->string() == nullptr ? "" : *node->string());
    done(5);
  }
};

// An Api over that cluster, asked without sockets.
struct Office {
  std::int64_t now_s = 100;
  std::uint8_t next_random = 0;
  Cluster cluster;
  TestIntake intake;
  Auth auth{config()};
  std::unique_ptr<Api> api;
  HttpHandler handler;
  std::string token = "mstr_secret";

  explicit Office(Tools tools = {}, Past* past = nullptr) {
    auth.accept_token(token, "admin", Role::admin);
    auth.accept_token("mstr_view", "view", Role::viewer);
    auth.accept_token("mstr_agent", "agent", Role::agent);
    api = std::make_unique<Api>(Deps{cluster, cluster, cluster, std::move(tools), auth, random(), {}, &intake, {}, past});
    handler = api->handler();
  }
  Random random() {
    return [this](std::span<std::uint8_t> out) {
      for (std::uint8_t& b : out) b = ++next_random;
    };
  }
  AuthConfig config() {
    AuthConfig c;
    c.random = random();
    c.steady = [this] { return Time{now_s * 1'000'000'000}; };
    c.server_uid = 1000;
    return c;
  }
  static HttpRequest get(std::string path, std::map<std::string, std::string> query = {}) {
    HttpRequest q;
    q.method = "GET";
    q.path = std::move(path);
    q.query = std::move(query);
    q.headers["host"] = "127.0.0.1:7070";
    q.peer.address = "127.0.0.1";
    return q;
  }
  static HttpRequest post(std::string path, Value::Object body) {
    HttpRequest q = get(std::move(path));
    q.method = "POST";
    q.body = "{}";
    q.json = Value(std::move(body));
    return q;
  }
  HttpRequest with_token(HttpRequest q) const {
    q.headers["authorization"] = "Bearer " + token;
    return q;
  }
  std::shared_ptr<TestExchange> ask_for_exchange(HttpRequest q) {
    auto e = std::make_shared<TestExchange>();
    e->q = std::move(q);
    handler(e);
    return e;
  }
  HttpResponse ask(HttpRequest q) { return ask_for_exchange(std::move(q))->r.value_or(HttpResponse{.status = 0}); }
};

}  // namespace muster::api
