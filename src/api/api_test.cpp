#include "api/api.h"

#include <gtest/gtest.h>

#include "api/cluster_fixture.h"
#include "api/openapi.h"
#include "api/routes.h"
#include "base/text.h"
#include "model/codec.h"
#include "model/plain_json.h"
#include "model/story.h"
#include "report/explain.h"

namespace muster::api {
namespace {

bool has(const std::string& text, std::string_view piece) { return text.find(piece) != std::string::npos; }

Value text(std::string s) { return Value(std::move(s)); }

struct Parrot final : Tool {
  Role needed;
  explicit Parrot(Role r) : needed(r) {}
  Role role() const override { return needed; }
  Result<std::string> call(const Value& input) override {
    const Value* what = input.find(input.find("id") != nullptr ? "id" : "what");
    if (what == nullptr) return fail(Code::bad_input, "nothing to say");
    return "{\"title\":\"" + *what->string() + "\"}";
  }
};

// ---------------------------------------------------------------- the route table

TEST(Routes, EveryRouteHasARoleABodyCapAndAWordAboutIt) {
  std::set<RouteId> ids;
  for (const Route& r : routes()) {
    EXPECT_TRUE(r.id == RouteId::page || ids.insert(r.id).second) << r.pattern;
    EXPECT_FALSE(r.about.empty()) << r.pattern;
    EXPECT_TRUE(r.pattern.starts_with('/'));
    EXPECT_TRUE(r.method == "GET" || r.method == "POST");
    EXPECT_EQ(r.method == "POST", r.body_max > 0) << r.pattern;
    // Nothing that acts is open to readers; a tool asks for its own role besides.
    if (r.method == "POST" && r.id != RouteId::tool) {
      EXPECT_GT(r.role, Role::viewer) << r.pattern;
    }
  }
}

TEST(Routes, EveryRouteAnswers) {
  Parrot explain(Role::viewer);
  Parrot incident_report(Role::viewer);
  Office o({{"explain", &explain}, {"incident_report", &incident_report}});
  o.cluster.break_gpu();
  CommandGiven pause;
  pause.id = "c9";
  o.cluster.tell(pause);
  for (const Route& r : routes()) {
    std::string path(r.pattern);
    const std::map<std::string, std::string> pieces = {{"{name}", "node001"}, {"{id}", "1"}, {"{file}", "index.html"}};
    for (const auto& [piece, value] : pieces) {
      if (const auto at = path.find(piece); at != std::string::npos) path.replace(at, piece.size(), value);
    }
    if (r.id == RouteId::job) path = "/api/v1/jobs/17";
    if (r.id == RouteId::queue) path = "/api/v1/queues/(none)";  // job 17 names no account
    if (r.id == RouteId::command) path = "/api/v1/commands/c9";
    if (r.id == RouteId::tool) path = "/api/v1/tools/explain";
    HttpRequest q = r.method == "POST" ? Office::post(path, {{"verb", text("pause")}}) : Office::get(path);
    if (r.id == RouteId::explain) q.query["what"] = "node001";
    if (r.id == RouteId::map_values) q.query["of"] = "risk";
    if (r.id == RouteId::tool) q.json = Value(Value::Object{{"what", text("x")}});
    if (r.id == RouteId::login) q.query["code"] = o.auth.new_login_code(Role::operator_);
    const HttpResponse answer = o.ask(o.with_token(q));
    EXPECT_EQ(answer.status, r.id == RouteId::login ? 303 : 200) << path << ": " << answer.body;
    EXPECT_EQ(answer.headers.count("Content-Security-Policy"), 1u) << path;
    EXPECT_EQ(answer.headers.at("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(answer.headers.at("Referrer-Policy"), "no-referrer") << path;
  }
}

TEST(Routes, TheOpenApiDocumentListsExactlyTheRoutes) {
  const std::string doc = render_openapi();
  std::size_t operations = 0;
  for (std::size_t at = 0; (at = doc.find("\"x-role\":", at)) != std::string::npos; ++at) ++operations;
  EXPECT_EQ(operations, routes().size());
  for (const Route& r : routes()) {
    const std::string method = r.method == "GET" ? "get" : "post";
    EXPECT_TRUE(has(doc, "\"" + std::string(r.pattern) + "\":{\"" + method + "\":{\"summary\":\"" + std::string(r.about)))
        << r.pattern;
  }
}

TEST(Routes, TheOpenApiDocumentDescribesEachToolByName) {
  static constexpr std::array kFields = {ToolField{"job", ToolField::Kind::text, "its number", true},
                                         ToolField{"max", ToolField::Kind::whole, "at most so many"}};
  Parrot known(Role::viewer), unknown(Role::operator_);
  const auto sheets = [](std::string_view name) { return name == "known" ? ToolSheet{"what it says", kFields} : ToolSheet{}; };
  const std::string doc = render_openapi({{"known", &known}, {"unknown", &unknown}}, sheets);
  EXPECT_TRUE(has(doc, R"("/api/v1/tools/known":{"post":{"summary":"what it says")")) << doc;
  EXPECT_TRUE(has(doc, R"("job":{"type":"string","description":"its number"})"));
  EXPECT_TRUE(has(doc, R"("max":{"type":["integer","string"],"description":"at most so many"})"));
  EXPECT_TRUE(has(doc, R"("required":["job"],"additionalProperties":false)"));
  EXPECT_FALSE(has(doc, "/api/v1/tools/unknown"));
}

TEST(Routes, UnknownPathsMethodsAndParametersAreNamed) {
  Office o;
  EXPECT_EQ(o.ask(Office::get("/api/v1/nothing")).status, 404);
  EXPECT_EQ(o.ask(Office::get("/api/v1/nodes/")).status, 404);
  EXPECT_EQ(o.ask(Office::get("/../etc/passwd")).status, 404);
  EXPECT_EQ(o.ask(Office::get("/assets/../index.html")).status, 404);
  const HttpResponse wrong_method = o.ask(o.with_token(Office::post("/api/v1/nodes", {})));
  EXPECT_EQ(wrong_method.status, 405);
  EXPECT_EQ(wrong_method.headers.at("Allow"), "GET");
  const HttpResponse typo = o.ask(Office::get("/api/v1/nodes", {{"sate", "down"}}));
  EXPECT_EQ(typo.status, 400);
  EXPECT_TRUE(has(typo.body, "did you mean 'state'?")) << typo.body;
}

// ---------------------------------------------------------------- reading

TEST(Reading, TheSummaryCountsEveryGpuOnce) {
  Office o;
  o.cluster.break_gpu();
  const std::string s = o.ask(Office::get("/api/v1/summary")).body;
  EXPECT_TRUE(has(s, "\"cluster\":\"test\",\"simulation\":\"weather x1\",\"now_utc\":\"2026-01-01T00:00:00Z\"")) << s;
  EXPECT_TRUE(has(s, R"("gpus":{"installed":32,"busy":15,"idle":16,"suspect":0,"repairing":0,"drained":0,"down":1})")) << s;
  EXPECT_TRUE(has(s, "\"incidents\":{\"open\":1,\"total\":1}")) << s;
  EXPECT_TRUE(has(s, "\"orders\":{\"total\":1,\"pending\":1,\"refused\":1}")) << s;
  EXPECT_TRUE(has(s, "\"gpu_hours\":{\"installed\":2,\"useful\":1,\"idle\":1,")) << s;
  EXPECT_TRUE(has(s, "\"goodput\":1,\"useful_share\":0.5")) << s;
}

// A past that remembers one moment.
struct OneMoment final : Past {
  std::shared_ptr<const Snapshot> then;
  Time utc;
  int asked = 0;
  Result<std::shared_ptr<const Snapshot>> at(Time when) override {
    ++asked;
    if (when < utc) return fail(Code::not_found, "nothing is known of that", "the record begins later");
    return then;
  }
};

TEST(Reading, ThePastIsToldAsItWas) {
  OneMoment past;
  Office o({}, &past);
  past.then = o.cluster.latest();
  past.utc = kStart - seconds(60);
  o.cluster.break_gpu();
  o.cluster.tell(TurnBegan{2, {kStart + seconds(600), {}, {}}});
  const std::map<std::string, std::string> then = {{"at", "2026-01-01T00:00:00Z"}};
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/summary")).body, "\"incidents\":{\"open\":1"));
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/summary", then)).body, "\"incidents\":{\"open\":0"));
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/map", then)).body, "\"gpu_state\":\"bbbbbbbbbbbbbbbbiiii"));
  EXPECT_EQ(o.ask(Office::get("/api/v1/incidents/1", then)).status, 404) << "it was not there yet";
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/explain", {{"at", then.at("at")}, {"what", "node002"}})).body, "node002"));
  EXPECT_EQ(past.asked, 1) << "of one moment the record is read once";
  EXPECT_EQ(o.ask(Office::get("/api/v1/summary", {{"at", "2025-12-31T00:00:00Z"}})).status, 404);
  const HttpResponse bad = o.ask(Office::get("/api/v1/summary", {{"at", "yesterday"}}));
  EXPECT_EQ(bad.status, 400);
  EXPECT_TRUE(has(bad.body, "2026-11-15T02:03:04Z")) << bad.body;
  EXPECT_EQ(o.ask(Office::get("/api/v1/session", then)).status, 400) << "who asks is always the one who asks now";
  Office without;
  EXPECT_EQ(without.ask(Office::get("/api/v1/summary", then)).status, 503);
}

TEST(Reading, TheMapHasOneLetterPerGpu) {
  Office o;
  o.cluster.break_gpu();
  o.cluster.tell(NodeChanged{{3}, NodeCondition::down, ""});
  const std::string s = o.ask(Office::get("/api/v1/map")).body;
  EXPECT_TRUE(has(s, "\"gpu_state\":\"bbbbbbbbbbblbbbbiiiiiiiixxxxxxxx\"")) << s;
  EXPECT_TRUE(has(s, "\"racks\":[{\"name\":\"r1\",\"nodes\":[0,1]},{\"name\":\"r2\",\"nodes\":[2,3]}]")) << s;
  EXPECT_TRUE(has(s, "\"node_job\":[\"17\",\"17\",\"\",\"\"],\"node_incident\":[0,1,0,0]")) << s;
}

TEST(Reading, TheMapSaysInWhichRowARackStandsWhereThatIsKnown) {
  Office o;
  o.cluster.state.site.rack_row = {0, 1};
  o.cluster.tell(NodeChanged{{3}, NodeCondition::down, ""});
  const std::string s = o.ask(Office::get("/api/v1/map")).body;
  EXPECT_TRUE(has(s, R"("racks":[{"name":"r1","row":1,"nodes":[0,1]},{"name":"r2","row":2,"nodes":[2,3]}])")) << s;
}

TEST(Reading, ABriefListOfJobsHasNoNodesAndTakesSeveralPhases) {
  Office o;
  const std::string brief = o.ask(Office::get("/api/v1/jobs", {{"brief", "1"}, {"phase", "running,queued"}})).body;
  EXPECT_TRUE(has(brief, "\"id\":\"17\"")) << brief;
  EXPECT_FALSE(has(brief, "\"nodes\":"));
  EXPECT_FALSE(has(o.ask(Office::get("/api/v1/jobs", {{"phase", "failed,queued"}})).body, "\"17\""));
  EXPECT_EQ(o.ask(Office::get("/api/v1/jobs", {{"phase", "running,lost"}})).status, 400);
  EXPECT_EQ(o.ask(Office::get("/api/v1/jobs", {{"brief", "yes"}})).status, 400);
}

TEST(Reading, OfTheMapOnlyWhatChangedIsTold) {
  Office o;
  const std::string whole = o.ask(Office::get("/api/v1/map")).body;
  const std::string seq = std::to_string(o.cluster.state.seq);
  ASSERT_TRUE(has(whole, "\"seq\":" + seq + "}"));
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/map", {{"since", seq}})).body, "\"since\":" + seq + ",\"nodes\":[]}"));
  o.cluster.break_gpu();
  o.cluster.tell(NodeChanged{{3}, NodeCondition::down, ""});
  const std::string changes = o.ask(Office::get("/api/v1/map", {{"since", seq}})).body;
  EXPECT_TRUE(has(changes, R"("nodes":[[1,"bbblbbbb","17",1],[3,"xxxxxxxx","",0]])")) << changes;
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/map", {{"since", "1"}})).body, "\"names\":")) << "not known any more: all of it";
  EXPECT_EQ(o.ask(Office::get("/api/v1/map", {{"since", "x"}})).status, 400);
}

TEST(Reading, ANodeGoesThroughItsStatesAsItIsRepaired) {
  Office o;
  const auto state = [&] {
    const std::string s = o.ask(Office::get("/api/v1/nodes/node002")).body;
    const auto at = s.find("\"state\":\"") + 9;
    return s.substr(at, s.find('"', at) - at);
  };
  EXPECT_EQ(state(), "busy");
  o.cluster.break_gpu();
  EXPECT_EQ(state(), "suspect");
  o.cluster.tell(OrderEnded{"i1-1", Status::done, ""});
  o.cluster.tell(JobEnded{{17, 0}, 1, JobEnd::node_failed, {}, "rank 11 lost"});
  EXPECT_EQ(state(), "drained");
  o.cluster.tell(IncidentMoved{{1}, Stage::repairing, 0, {}, "reset"});
  EXPECT_EQ(state(), "repairing");
  o.cluster.tell(NodeChanged{{1}, NodeCondition::booting, ""});
  EXPECT_EQ(state(), "repairing");
  o.cluster.tell(IncidentClosed{{1}, "reset worked"});
  EXPECT_EQ(state(), "booting");
}

TEST(Reading, NodesAreChosenByStateRackAndName) {
  Office o;
  const auto ids = [&](std::map<std::string, std::string> q) {
    std::string out;
    const std::string s = o.ask(Office::get("/api/v1/nodes", std::move(q))).body;
    for (std::size_t at = 0; (at = s.find("{\"id\":", at)) != std::string::npos; ++at) out += s[at + 6];
    return out;
  };
  EXPECT_EQ(ids({}), "0123");
  EXPECT_EQ(ids({{"state", "busy"}}), "01");
  EXPECT_EQ(ids({{"rack", "r2"}}), "23");
  EXPECT_EQ(ids({{"name", "node[002-003]"}}), "12");
  EXPECT_EQ(ids({{"limit", "2"}}), "01");
  EXPECT_EQ(ids({{"limit", "2"}, {"after", "node002"}}), "23");
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/nodes", {{"limit", "2"}})).body, "\"next\":\"node002\""));
  EXPECT_EQ(o.ask(Office::get("/api/v1/nodes", {{"state", "sick"}})).status, 400);
  EXPECT_EQ(o.ask(Office::get("/api/v1/nodes", {{"rack", "r9"}})).status, 404);
  EXPECT_EQ(o.ask(Office::get("/api/v1/nodes", {{"name", "node[2-"}})).status, 400);
  EXPECT_EQ(o.ask(Office::get("/api/v1/nodes", {{"limit", "-1"}})).status, 400);
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/nodes/node00")).body, "did you mean"));
}

TEST(Reading, ReadingsThatAreMissingAreNull) {
  Office o;
  const std::string wide = o.ask(Office::get("/api/v1/gpus", {{"name", "node001"}, {"figures", "1"}})).body;
  EXPECT_TRUE(has(wide, "\"peers_mad\":") && has(wide, "\"risk\":") && has(wide, "\"losing_unit\":\"GPU-h/h\"")) << wide;
  const std::string s = o.ask(Office::get("/api/v1/gpus", {{"name", "node001"}})).body;
  EXPECT_FALSE(has(s, "peers_mad")) << s;
  EXPECT_TRUE(has(s, R"({"node":"node001","slot":0,"state":"busy","job":"17",)"
                     R"("temp_c":61,"power_w":700,"util_pct":99,"sm_clock_mhz":null})"))
      << s;
}

TEST(Reading, JobsAndTheirUntrustedNames) {
  Office o;
  const std::string s = o.ask(Office::get("/api/v1/jobs", {{"phase", "running"}})).body;
  EXPECT_TRUE(has(s, "\"id\":\"17\"")) << s;
  EXPECT_TRUE(has(s, "\"nodes\":[\"node001\",\"node002\"]")) << s;
  EXPECT_TRUE(has(s, "\"steps\":250,\"steps_total\":1000,\"durable_steps\":200,\"progress\":0.25")) << s;
  EXPECT_TRUE(has(s, "\"ended_utc\":null")) << s;
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/jobs", {{"phase", "failed"}})).body, "\"items\":[]"));
  EXPECT_EQ(o.ask(Office::get("/api/v1/jobs/99")).status, 404);
  EXPECT_EQ(o.ask(Office::get("/api/v1/jobs/abc")).status, 404);
}

TEST(Reading, ThePolicyInForceIsToldAsTheRecordHasIt) {
  Office o;
  const HttpResponse answer = o.ask(Office::get("/api/v1/policy"));
  const auto value = PlainJson::parse(answer.body);
  ASSERT_TRUE(value) << answer.body;
  const auto body = decode_body("policy_applied", *value);
  ASSERT_TRUE(body) << body.error().what;
  EXPECT_EQ(encode_policy(std::get<PolicyApplied>(*body).policy), encode_policy(o.cluster.state.policy));
}

TEST(Reading, AnIncidentTellsItsWholeStory) {
  Office o;
  o.cluster.break_gpu();
  const std::string s = o.ask(Office::get("/api/v1/incidents", {{"open", "1"}})).body;
  EXPECT_TRUE(has(s, "\"id\":1,\"node\":\"node002\",\"gpu_slot\":3,\"cause\":\"gpu_lost\",\"code\":79")) << s;
  EXPECT_TRUE(has(s, "\"text\":\"NVRM: Xid (PCI:0000:1b:00): 79\"")) << s;
  EXPECT_TRUE(has(s, "\"sentence\":\"GPU 3 fell off the bus\",\"rule\":\"recover/gpu_lost/drain\",\"findings\":[1]")) << s;
  EXPECT_TRUE(has(s, "\"status\":\"refused_by_guard\"")) << s;
  EXPECT_TRUE(has(s, "\"limit\":\"out_rack\"")) << s;
  EXPECT_EQ(o.ask(Office::get("/api/v1/incidents/7")).status, 404);
  const std::string actions = o.ask(Office::get("/api/v1/actions", {{"limit", "1"}})).body;
  EXPECT_EQ(actions.find("\"verb\""), actions.rfind("\"verb\"")) << actions;
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/findings", {{"open", "1"}, {"node", "node001"}})).body, "\"items\":[]"));
}

TEST(Reading, MetricsAreWellFormedAndSumUp) {
  Office o;
  o.cluster.break_gpu();
  const HttpResponse r = o.ask(Office::get("/metrics"));
  EXPECT_TRUE(r.content_type.starts_with("text/plain; version=0.0.4"));
  double gpus = 0;
  for (const std::string_view line : split(r.body, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    EXPECT_TRUE(line.starts_with("muster_")) << line;
    const auto value = parse_double(line.substr(line.rfind(' ') + 1));
    EXPECT_TRUE(value) << line;
    if (line.starts_with("muster_gpus{")) gpus += value.value_or(0);
  }
  EXPECT_EQ(gpus, 32);
  for (const char* name : {"muster_jobs{phase=\"running\"} 1\n", "muster_incidents_open 1\n", "muster_orders_total 1\n",
                           "muster_gpu_seconds_total{class=\"useful\"} 3600\n", "muster_turns_total 1\n", "muster_paused 0\n",
                           "muster_trouble 0\n", "muster_gpus_wanted 0\n", "muster_gpus_idle_wanted 0\n",
                           "muster_gpu_hour_efficiency "}) {
    EXPECT_TRUE(has(r.body, name)) << name;
  }
}

TEST(Reading, SaysThatThereIsNoStateYet) {
  Office o;
  o.cluster.snapshot = nullptr;
  EXPECT_EQ(o.ask(Office::get("/api/v1/summary")).status, 503);
  EXPECT_EQ(o.ask(Office::get("/healthz")).status, 503);
}

TEST(Reading, PagesAreRevalidated) {
  Office o;
  const HttpResponse first = o.ask(Office::get("/"));
  EXPECT_EQ(first.headers.at("Content-Encoding"), "gzip");
  EXPECT_TRUE(first.body.starts_with("\x1f\x8b"));
  HttpRequest again = Office::get("/");
  again.headers["if-none-match"] = first.headers.at("ETag");
  EXPECT_EQ(o.ask(again).status, 304);
}

// ---------------------------------------------------------------- acting

TEST(Commands, AreHandedOnWithWhoGaveThem) {
  Office o;
  const HttpResponse r = o.ask(o.with_token(Office::post(
      "/api/v1/commands", {{"verb", text("drain")}, {"node", text("node003")}, {"reason", text("fans")}, {"id", text("c1")}})));
  EXPECT_EQ(r.status, 200) << r.body;
  EXPECT_EQ(r.body, "{\"seq\":1001,\"id\":\"c1\"}");
  ASSERT_EQ(o.cluster.given.size(), 1u);
  EXPECT_EQ(o.cluster.given[0].verb, CommandVerb::drain);
  EXPECT_EQ(o.cluster.given[0].node.v, 2u);
  EXPECT_EQ(o.cluster.given[0].id, "c1");
  EXPECT_EQ(o.cluster.given[0].actor, "admin");
}

TEST(Commands, GetAnIdWhereTheyHaveNone) {
  Office o;
  for (int i = 0; i < 2; ++i) o.ask(o.with_token(Office::post("/api/v1/commands", {{"verb", text("pause")}})));
  ASSERT_EQ(o.cluster.given.size(), 2u);
  EXPECT_FALSE(o.cluster.given[0].id.empty());
  EXPECT_NE(o.cluster.given[0].id, o.cluster.given[1].id);
}

TEST(Commands, SubmitTakesASpec) {
  Office o;
  Value::Object spec{{"name", text("train")}, {"nodes", Value(std::int64_t{2})}, {"steps", Value(std::int64_t{10})}};
  EXPECT_EQ(o.ask(o.with_token(Office::post("/api/v1/commands", {{"verb", text("submit")}, {"spec", Value(spec)}}))).status, 200);
  EXPECT_EQ(o.cluster.given.at(0).spec.nodes, 2u);
  EXPECT_EQ(o.cluster.given.at(0).spec.name, "train");
}

TEST(Commands, ASubmitTellsTheJobsItMade) {
  Office o;
  CommandGiven c;
  c.verb = CommandVerb::submit;
  c.id = "c7";
  c.spec.name = "sweep";
  c.spec.array = 3;
  o.cluster.tell(c);
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/commands/c7")).body, R"("status":"pending")"));
  OrderIntended order;
  order.order.key = "k1";
  order.order.action.verb = Verb::submit_job;
  order.order.action.spec = c.spec;
  order.order.reason.wish = "c7";
  o.cluster.tell(order);
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/commands/c7")).body, R"("status":"pending")"));
  JobSpec member = c.spec;
  member.array = 0;
  o.cluster.tell(JobSubmitted{{18, 1}, member});
  o.cluster.tell(OrderEnded{"k1", Status::done, "18"});
  const std::string body = o.ask(Office::get("/api/v1/commands/c7")).body;
  EXPECT_TRUE(has(body, R"("status":"done")") && has(body, R"("job":"18","array":3,"phase":"queued")")) << body;
  EXPECT_EQ(o.ask(Office::get("/api/v1/commands/c8")).status, 404);
}

TEST(Commands, ForgottenAndUnknownJobsAreToldApart) {
  Office o;
  const auto after = [&](std::int64_t job) {
    Value::Object spec{{"name", text("next")}, {"after", Value(Value::Array{Value(std::to_string(job))})}};
    return o.ask(o.with_token(Office::post("/api/v1/commands", {{"verb", text("submit")}, {"spec", Value(spec)}})));
  };
  EXPECT_EQ(after(17).status, 200);
  EXPECT_TRUE(has(after(3).body, "spec.after: job 3 is not known any more: it ended before the last 1000 jobs")) << after(3).body;
  EXPECT_TRUE(has(after(3).body, "if it has completed, leave it out")) << after(3).body;
  EXPECT_TRUE(has(after(99).body, "there is no job 99: none of that number was submitted")) << after(99).body;
}

TEST(Commands, AnArrayIsNamedWhole) {
  Office o;
  JobSpec spec;
  for (std::uint32_t k = 1; k <= 3; ++k) {
    spec.name = "sweep_" + std::to_string(k - 1);
    o.cluster.tell(JobSubmitted{{30, k}, spec});
  }
  const auto end = [&](std::uint32_t k) {
    o.cluster.tell(JobStarted{{30, k}, 1, {{2}}});
    o.cluster.tell(JobEnded{{30, k}, 1, JobEnd::cancelled, {}, "by hand"});
  };
  end(2);
  const auto cancel = [&](std::string job) {
    return o.ask(o.with_token(Office::post("/api/v1/commands", {{"verb", text("cancel")}, {"job", text(std::move(job))}})));
  };
  EXPECT_EQ(cancel("30").status, 200);
  EXPECT_EQ(o.cluster.given.back().job, (JobId{30, 0}));
  const std::string body = o.ask(Office::get("/api/v1/jobs/30")).body;
  EXPECT_TRUE(has(body, R"("phases":{"queued":2,"cancelled":1},"members":["30_0","30_1","30_2"])")) << body;
  EXPECT_TRUE(has(cancel("30_7").body, "job 30_7 is not known: of array 30, 3 members are, 30_0 to 30_2"));
  EXPECT_TRUE(has(cancel("17_2").body, "job 17_2 is not known: job 17 is no array"));
  EXPECT_TRUE(has(cancel("30_1").body, "job 30_1 has ended as cancelled: there is nothing to cancel"));
  end(1);
  end(3);
  EXPECT_EQ(cancel("30").status, 409);
  EXPECT_TRUE(has(cancel("30").body, "job 30 has ended, every member of it: there is nothing to cancel"));
}

TEST(Reading, AJobIsToldThatItsTimeLimitIsTooShortAndThatItHasNoQueue) {
  Office o;
  Policy p = default_policy();
  QueueSpec lab;
  lab.name = "lab";
  lab.limit_kw = 20;
  p.queues = {lab};
  o.cluster.tell(PolicyApplied{p, "q"});
  JobSpec spec;
  spec.name = "x";
  spec.account = "nosuch";
  spec.steps = 1000;
  spec.step_s = 10;
  spec.time_limit_s = 300;
  o.cluster.tell(JobSubmitted{{30, 0}, spec});
  spec.account = "lab";
  spec.time_limit_s = 10'000;
  o.cluster.tell(JobSubmitted{{31, 0}, spec});
  const std::string body = o.ask(Office::get("/api/v1/jobs/30")).body;
  EXPECT_TRUE(has(body, "is too short for its work: 1000 steps of 10 s are left, 2h 46m")) << body;
  EXPECT_TRUE(has(body, "there is no queue 'nosuch': it shares what the queues leave; there are lab")) << body;
  const std::string good = o.ask(Office::get("/api/v1/jobs/31")).body;
  EXPECT_TRUE(has(good, R"("note":"")")) << good;
}

// A story's site has the switches that the outlook looks at.
TEST(Reading, ArraysAndQueuesAreExplained) {
  Story t(4);
  Policy p = default_policy();
  QueueSpec lab;
  lab.name = "lab";
  lab.limit_kw = 20;
  p.queues = {lab};
  t.tell(PolicyApplied{p, "q"});
  JobSpec spec;
  spec.account = "lab";
  for (std::uint32_t k = 1; k <= 3; ++k) {
    spec.name = "sweep_" + std::to_string(k - 1);
    t.tell(JobSubmitted{{30, k}, spec});
  }
  t.tell(JobStarted{{30, 2}, 1, {{0}}});
  const auto array = report::explain(t.s, "job 30");
  ASSERT_TRUE(array);
  EXPECT_EQ(array->title, "job 30: sweep, an array");
  EXPECT_EQ(array->sentences.at(1), "queued: 2 (30_0, 30_2)");
  EXPECT_EQ(array->sentences.at(2), "running: 1 (30_1)");
  const auto queue = report::explain(t.s, "queue lab");
  ASSERT_TRUE(queue);
  EXPECT_TRUE(has(queue->sentences.at(0), "it has no limit of GPUs; it may draw 20 kW")) << queue->sentences.at(0);
}

TEST(Commands, WhatItsQueueNeverAllowsIsRefusedAtOnce) {
  Office o;
  Policy p = default_policy();
  QueueSpec lab;
  lab.name = "lab";
  lab.limit_gpus = 8;
  p.queues = {lab};
  o.cluster.tell(PolicyApplied{p, "q"});
  const auto submit = [&](std::int64_t nodes, std::string queue) {
    Value::Object spec{{"name", text("x")}, {"nodes", Value(nodes)}, {"queue", text(std::move(queue))}};
    return o.ask(o.with_token(Office::post("/api/v1/commands", {{"verb", text("submit")}, {"spec", Value(spec)}})));
  };
  EXPECT_EQ(submit(1, "lab").status, 200);
  const HttpResponse no = submit(2, "lab");
  EXPECT_EQ(no.status, 400);
  EXPECT_TRUE(has(no.body, "it can never start: its queue lab has a limit of 8 GPUs, and it asks for 16")) << no.body;
  EXPECT_TRUE(has(submit(1, "lob").body, "did you mean 'lab'?"));
  // One that came another way is told so in the list.
  JobSpec big;
  big.name = "big";
  big.nodes = 2;
  big.queue = "lab";
  o.cluster.tell(JobSubmitted{{30, 0}, big});
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/jobs/30")).body, R"("note":"it can never start: its queue lab)"));
}

TEST(Commands, AModelIsMatchedWhateverTheCase) {
  Office o;
  Site site = o.cluster.state.site;
  site.gpu_model = "H200";
  o.cluster.tell(SiteDeclared{site});
  const auto submit = [&](std::string model) {
    Value::Object spec{{"name", text("x")}, {"gpu_model", text(std::move(model))}};
    return o.ask(o.with_token(Office::post("/api/v1/commands", {{"verb", text("submit")}, {"spec", Value(spec)}})));
  };
  EXPECT_EQ(submit("h200").status, 200);
  EXPECT_EQ(o.cluster.given.at(0).spec.gpu_model, "H200");
  EXPECT_TRUE(has(submit("B200").body, "gpu_model is B200: no node has GPUs of that model; the cluster has H200"));
}

TEST(Reading, QueuesTellWhatEachHasAndWaitsFor) {
  Office o;
  Policy p = default_policy();
  QueueSpec lab;
  lab.name = "lab";
  lab.guaranteed_gpus = 8;
  lab.limit_gpus = 24;
  QueueSpec other;
  other.name = "other";
  other.weight = 3;
  p.queues = {lab, other};
  o.cluster.tell(PolicyApplied{p, "q"});
  JobSpec spec;
  spec.queue = "lab";
  spec.nodes = 2;
  o.cluster.tell(JobSubmitted{{30, 0}, spec});
  o.cluster.tell(JobStarted{{30, 0}, 1, {{2}, {3}}});
  spec.nodes = 1;
  o.cluster.tell(JobSubmitted{{31, 0}, spec});
  const std::string body = o.ask(Office::get("/api/v1/queues/lab")).body;
  EXPECT_TRUE(has(body, R"("guaranteed_gpus":8,"limit_gpus":24)")) << body;
  EXPECT_TRUE(has(body, R"("held_gpus":16,"borrowed_gpus":8,"running_jobs":1,"waiting_jobs":1,"waiting_gpus":8)")) << body;
  EXPECT_TRUE(has(body, R"("share_due":0.25)")) << body;
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/queues")).body, R"x("name":"(none)")x"));
  EXPECT_EQ(o.ask(Office::get("/api/v1/queues/lap")).status, 404);
}

TEST(Commands, AnUpgradeSaysWithinWhatVersionsAreKeptApart) {
  Office o;
  const auto ask = [&](const char* within) {
    Value::Object upgrade = {
        {"what", text("driver")}, {"version", text("590.1")}, {"before", text("580.1")}, {"apart", text("one IMEX")}};
    if (*within != '\0') upgrade.push_back({"apart_within", text(within)});
    Value::Object body = {{"verb", text("upgrade")}, {"upgrade", Value(std::move(upgrade))}};
    return o.ask(o.with_token(Office::post("/api/v1/commands", std::move(body))));
  };
  const auto refused = ask("rack");
  EXPECT_EQ(refused.status, 400);
  EXPECT_TRUE(has(refused.body, "job or domain")) << refused.body;
  EXPECT_TRUE(o.cluster.given.empty());
  ask("domain");
  ask("");
  ASSERT_EQ(o.cluster.given.size(), 2U);
  EXPECT_EQ(o.cluster.given[0].upgrade.apart_within, ApartWithin::domain);
  EXPECT_EQ(o.cluster.given[1].upgrade.apart_within, ApartWithin::job);
}

TEST(Commands, BadBodiesAreRefusedInWords) {
  Office o;
  const auto ask = [&](Value::Object body) { return o.ask(o.with_token(Office::post("/api/v1/commands", std::move(body)))); };
  const auto spec = [](std::string key, Value v) {
    return Value::Object{{"verb", Value(std::string("submit"))}, {"spec", Value(Value::Object{{std::move(key), std::move(v)}})}};
  };
  EXPECT_EQ(ask({}).status, 400);
  EXPECT_EQ(ask({{"verb", text("explode")}}).status, 400);
  EXPECT_EQ(ask({{"verb", Value(std::int64_t{1})}}).status, 400);
  EXPECT_EQ(ask({{"verb", text("drain")}}).status, 400);
  EXPECT_EQ(ask({{"verb", text("drain")}, {"node", text("node999")}}).status, 404);
  EXPECT_EQ(ask({{"verb", text("drain")}, {"nod", text("node001")}}).status, 400);
  EXPECT_EQ(ask({{"verb", text("drain")}, {"node", text("node001")}, {"reason", text(std::string(5000, 'x'))}}).status, 400);
  EXPECT_EQ(ask({{"verb", text("cancel")}, {"job", text("99")}}).status, 404);
  EXPECT_EQ(ask({{"verb", text("submit")}}).status, 400);
  EXPECT_EQ(ask(spec("nodes", Value(std::int64_t{5000}))).status, 400);
  EXPECT_EQ(ask(spec("nodes", Value(std::int64_t{-1}))).status, 400);
  EXPECT_EQ(ask(spec("nodes", text("two"))).status, 400);
  EXPECT_EQ(ask(spec("step_s", Value(-1.0))).status, 400);
  EXPECT_EQ(ask(spec("gpus", Value(std::int64_t{8}))).status, 400);
  HttpRequest array = o.with_token(Office::post("/api/v1/commands", {}));
  array.json = Value(Value::Array{});
  EXPECT_EQ(o.ask(array).status, 400);
  HttpRequest broken = array;
  broken.json.reset();
  broken.json_error = "byte 3: bad";
  EXPECT_TRUE(has(o.ask(broken).body, "byte 3"));
  HttpRequest large = o.with_token(Office::post("/api/v1/commands", {{"verb", text("pause")}}));
  large.body = std::string(100'000, ' ');
  EXPECT_EQ(o.ask(large).status, 413);
  EXPECT_TRUE(o.cluster.given.empty());
  o.cluster.tell(JobGone{{17, 0}, JobEnd::cancelled});
  EXPECT_EQ(ask({{"verb", text("cancel")}, {"job", text("17")}}).status, 409);
}

TEST(Intake, AnAgentsTokenHandsInAndDoesNothingElse) {
  Office o;
  const auto as_agent = [](HttpRequest q) {
    q.headers["authorization"] = "Bearer mstr_agent";
    return q;
  };
  const HttpRequest batch = Office::post("/api/v1/intake", {{"node", text("node001")}});
  EXPECT_EQ(o.ask(batch).status, 401);
  EXPECT_EQ(o.ask(as_agent(batch)).body, "{\"seq\":5,\"refusals_left\":2}") << "and hears how many nodes may still go";
  EXPECT_EQ(o.intake.nodes, std::vector<std::string>{"node001"});
  EXPECT_EQ(o.ask(as_agent(Office::post("/api/v1/commands", {{"verb", text("pause")}}))).status, 403);
  EXPECT_EQ(o.ask(as_agent(Office::post("/api/v1/logins", {}))).status, 403);
  for (const char* path : {"/api/v1/nodes", "/api/v1/jobs", "/api/v1/findings", "/api/v1/events", "/api/v1/tools", "/"})
    EXPECT_EQ(o.ask(as_agent(Office::get(path, {}))).status, 403) << path;
  EXPECT_TRUE(o.cluster.given.empty());
}

TEST(Tools, AskForTheirOwnRole) {
  Parrot open(Role::viewer), closed(Role::operator_);
  Office o({{"explain", &open}, {"inject", &closed}});
  EXPECT_EQ(o.ask(Office::get("/api/v1/explain", {{"what", "node001"}})).body, "{\"title\":\"node001\"}");
  EXPECT_EQ(o.ask(Office::get("/api/v1/explain")).status, 400);
  EXPECT_EQ(o.ask(Office::post("/api/v1/tools/explain", {{"what", text("x")}})).status, 200);
  EXPECT_EQ(o.ask(Office::post("/api/v1/tools/inject", {{"what", text("x")}})).status, 401);
  EXPECT_EQ(o.ask(o.with_token(Office::post("/api/v1/tools/inject", {{"what", text("x")}}))).status, 200);
  EXPECT_EQ(o.ask(o.with_token(Office::post("/api/v1/tools/inject", {}))).status, 400);
  EXPECT_EQ(o.ask(o.with_token(Office::post("/api/v1/tools/nothing", {}))).status, 404);
  EXPECT_TRUE(has(o.ask(Office::get("/api/v1/tools")).body, R"({"name":"inject","role":"operator"})"));
}

// Looking is open to all, doing is not.
struct Shelf final : Tool {
  Role role() const override { return Role::operator_; }
  Role role_for(const Value& input) const override { return input.find("id") != nullptr ? Role::viewer : role(); }
  Result<std::string> call(const Value&) override { return std::string("{}"); }
};

TEST(Tools, MayLetMorePeopleReadThanStart) {
  Shelf shelf;
  Office o({{"whatif", &shelf}});
  EXPECT_EQ(o.ask(Office::post("/api/v1/tools/whatif", {{"id", text("a1")}})).status, 200);
  EXPECT_EQ(o.ask(Office::post("/api/v1/tools/whatif", {{"cancel", text("a1")}})).status, 401);
  EXPECT_EQ(o.ask(o.with_token(Office::post("/api/v1/tools/whatif", {{"cancel", text("a1")}}))).status, 200);
}

}  // namespace
}  // namespace muster::api
