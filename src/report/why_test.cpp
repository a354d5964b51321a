#include "report/why.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "ingest/json.h"
#include "model/story.h"
#include "report/units.h"

namespace muster::report {
namespace {

// A story whose every event is kept, so that any question can be asked of it afterwards.
class Kept : public Story {
 public:
  explicit Kept(Policy policy = default_policy()) : Story(8, policy) {
    // What the story told before anybody listened.
    const Now start = now();
    State past;
    for (Body b : {Body(RunStarted{"test", 1, 1, "j", start}), Body(SiteDeclared{small_site(8)}),
                   Body(PolicyApplied{policy, "hash"}), Body(TurnBegan{1, start})}) {
      events.push_back(next_event(past, "test", start.utc, std::move(b)));
      fold(past, events.back());
    }
    heard = [this](const Event& e) { events.push_back(e); };
  }
  Value why(const std::string& what) const { return answer(what, &Inquiry::why); }
  Value report(const std::string& id) const { return answer("incident " + id, &Inquiry::incident_report); }
  Result<std::string> ask(const std::string& what) const {
    Inquiry q(what);
    for (const Event& e : events) q.take(e);
    return q.why({"j", events.back().seq, "d"});
  }
  std::vector<Event> events;

 private:
  Value answer(const std::string& what, Result<std::string> (Inquiry::*question)(const Provenance&) const) const {
    Inquiry q(what);
    for (const Event& e : events) q.take(e);
    const auto text = (q.*question)({"j", events.back().seq, "0123456789abcdef0123"});
    EXPECT_TRUE(text) << text.error().what;
    return text ? parse_json(*text).value() : Value(Value::Object{});
  }
};

Order drain_order(const Story& t, IncidentId incident, NodeId node, std::string key) {
  Order o;
  o.key = std::move(key);
  o.action.verb = Verb::drain_node;
  o.action.node = node;
  o.reason = {"recover/gpu_lost/drain",
              "a lost GPU on n2: no new work there",
              find_incident(t.s, incident)->findings,
              {"leave it in service: the next job would meet the same fault"},
              {},
              "gpu_lost/1",
              "nodes out: 1 of 2",
              incident,
              0,
              "muster",
              ""};
  return o;
}

// One incident on n2: a job of two nodes breaks, a drain is held back twice, then done; reset, test, return.
struct OneIncident : Kept {
  explicit OneIncident(Policy p = default_policy()) : Kept(std::move(p)) {
    job = running({NodeId{2}, NodeId{3}});
    pass(hours(1));
    Finding f;
    f.id = FindingId{s.next_finding};
    f.node = NodeId{2};
    f.slot = 5;
    f.severity = Severity::critical;
    f.opened = now().utc;
    f.evidence = {{Witness::kernel_log, now().utc - seconds(30), "kmsg:1/2", "Xid 79 `<b>` \x1b[2J # fell off"}};
    tell(FindingOpened{f});
    incident = open(f.id);
    OrderRefused no;
    no.action.verb = Verb::drain_node;
    no.action.node = NodeId{2};
    no.reason.incident = incident;
    no.limit = "nodes out of service in the rack: 2 of 2 are";
    tell(no);
    pass(minutes(5));
    tell(no);
    pass(minutes(5));
    tell(OrderIntended{drain_order(*this, incident, NodeId{2}, "d-9"), {}});
    pass(seconds(10));
    ends("d-9", Status::done, "drained by the engine");
    tell(IncidentMoved{incident, Stage::emptying, 0, kNever, "drained"});
    pass(minutes(2));
    tell(JobEnded{job, 1, JobEnd::node_failed, {100, 40, 0, 0, 0}, "NCCL WARN"});
    pass(minutes(10));
    const std::string reset = order(Verb::reset_gpu, NodeId{2}, incident);
    pass(minutes(3));
    tell(JobStarted{job, 2, {NodeId{3}, NodeId{4}}});
    ends(reset);
    const std::string test = order(Verb::test_node, NodeId{2}, incident);
    pass(minutes(4));
    ends(test);
    const std::string undrain = order(Verb::undrain_node, NodeId{2}, incident);
    pass(seconds(1));
    ends(undrain);
    tell(IncidentClosed{incident, "back in service after 29m"});
  }
  JobId job;
  IncidentId incident;
};

TEST(Why, AnActionIsToldWithEvidenceRulePolicyAlternativesBudgetRefusalsAndOutcome) {
  const OneIncident t;
  const Value answer = t.why("action d-9");
  ASSERT_EQ(list_of(answer, "decisions").size(), 1u);
  const Value& d = list_of(answer, "decisions")[0];
  EXPECT_EQ(text_of(d, "rule"), "recover/gpu_lost/drain");
  EXPECT_EQ(text_of(d, "rules_version"), "1");
  EXPECT_EQ(text_of(*d.find("policy"), "hash"), "hash");
  EXPECT_EQ(text_of(*d.find("policy"), "name"), "default");
  EXPECT_EQ(text_of(list_of(d, "evidence")[0], "ref"), "kmsg:1/2");
  EXPECT_EQ(*list_of(d, "alternatives")[0].string(), "leave it in service: the next job would meet the same fault");
  EXPECT_EQ(text_of(d, "budget"), "nodes out: 1 of 2");
  ASSERT_EQ(list_of(d, "held_back_before").size(), 1u);
  EXPECT_EQ(text_of(list_of(d, "held_back_before")[0], "times"), "2");
  EXPECT_EQ(text_of(*d.find("outcome"), "status"), "done");
  EXPECT_EQ(text_of(*d.find("outcome"), "took_s"), "10");
  const std::string page = render_explanation(answer, {});
  for (const char* wanted : {"recover/gpu_lost/drain", "policy      default, hash", "not done    leave it in service",
                             "budget      nodes out: 1 of 2", "2 times: nodes out of service in the", "drained by the engine"})
    EXPECT_NE(page.find(wanted), std::string::npos) << wanted << "\n" << page;
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
}

TEST(Why, ANodeAJobAndAFindingAreToldWithTheDecisionsAboutThem) {
  const OneIncident t;
  EXPECT_EQ(list_of(t.why("n2"), "decisions").size(), 4u);
  EXPECT_EQ(list_of(t.why("incident 1"), "decisions").size(), 4u);
  EXPECT_EQ(list_of(t.why("finding 1"), "decisions").size(), 4u);
  EXPECT_EQ(list_of(t.why("n3"), "decisions").size(), 0u);
  EXPECT_EQ(text_of(t.why("job 1"), "kind"), "job");
  EXPECT_FALSE(t.ask("action nobody"));
  EXPECT_EQ(t.ask("incident 99").error().code, Code::not_found);
}

TEST(Why, AJobsStepsAreTheNewestKnownOrSaidToBeTheRecords) {
  Kept t;
  const JobId job = t.running({NodeId{1}});
  t.tell(JobProgressed{job, 1, {104, 104, 0, 0, 0}});
  State now = t.s;  // a running controller hears of steps that it does not write down
  now.jobs.at(job).progress.steps = 191;
  Inquiry live("job 1", &now);
  for (const Event& e : t.events) live.take(e);
  const auto told = live.why({"j", t.events.back().seq, "d"});
  ASSERT_TRUE(told) << told.error().what;
  EXPECT_NE(told->find("191 of 1000 steps, 104 of them safe"), std::string::npos) << *told;
  EXPECT_EQ(told->find("as of its last checkpoint"), std::string::npos) << *told;
  const auto recorded = t.ask("job 1");
  ASSERT_TRUE(recorded) << recorded.error().what;
  EXPECT_NE(recorded->find("104 of 1000 steps"), std::string::npos) << *recorded;
  EXPECT_NE(recorded->find("as of its last checkpoint"), std::string::npos) << *recorded;
}

TEST(Why, AnActThatAPersonAskedForNamesThePerson) {
  Kept t;
  CommandGiven c;
  c.verb = CommandVerb::drain;
  c.actor = "ada";
  c.id = "c1";
  c.node = NodeId{1};
  c.reason = "new firmware";
  t.tell(c);
  const std::string key = t.order(Verb::drain_node, NodeId{1}, {}, "c1");
  const Value answer = t.why(key);
  const Value& d = list_of(answer, "decisions").at(0);
  EXPECT_EQ(text_of(*d.find("wish"), "actor"), "ada");
  EXPECT_EQ(text_of(*d.find("outcome"), "status"), "pending");
  EXPECT_NE(render_explanation(answer, {}).find("ada, who asked to drain"), std::string::npos);
}

TEST(Why, ThePolicyAndTheRulesAreThoseOfThatMoment) {
  OneIncident t;
  Policy other = default_policy();
  other.name = "later";
  t.tell(PolicyApplied{other, "hash2"});
  t.tell(RunStarted{"test2", 2, 7, "j", t.now()});
  const std::string key = t.order(Verb::drain_node, NodeId{1});
  EXPECT_EQ(text_of(*list_of(t.why("d-9"), "decisions")[0].find("policy"), "hash"), "hash");
  const Value answer = t.why(key);
  const Value& d = list_of(answer, "decisions")[0];
  EXPECT_EQ(text_of(*d.find("policy"), "hash"), "hash2");
  EXPECT_EQ(text_of(d, "rules_version"), "7");
}

TEST(IncidentReport, PhasesSumToTheWholeAndWorkLostIsCounted) {
  Policy p = default_policy();
  p.gpu_hour_price = 2;
  const OneIncident t(p);
  const Value r = t.report("1");
  double sum = 0, share = 0;
  std::map<std::string, double> phase;
  for (const auto& x : list_of(r, "phases")) {
    phase[text_of(x, "phase")] = *number_of(x, "seconds");
    sum += *number_of(x, "seconds");
    share += *number_of(x, "share");
  }
  EXPECT_DOUBLE_EQ(sum, *number_of(r, "total_s"));
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_EQ(phase["detect"], 30);
  EXPECT_EQ(phase["held_back"], 600);
  EXPECT_EQ(phase["drain"], 10);
  EXPECT_EQ(phase["empty"], 120);
  EXPECT_EQ(phase["prepare"], 600);
  EXPECT_EQ(phase["repair"], 180);
  EXPECT_EQ(phase["test"], 240);
  EXPECT_EQ(phase["return"], 1);
  const Value& a = *r.find("affected");
  ASSERT_EQ(list_of(a, "jobs").size(), 1u);
  const Value& job = list_of(a, "jobs")[0];
  EXPECT_EQ(text_of(job, "lost_steps"), "60");
  // 16 GPUs for 1 h, 10 min 10 s and 2 min, since it began: it had no checkpoint.
  EXPECT_NEAR(*number_of(job, "lost_gpu_hours"), 16 * (3600 + 610 + 120) / 3600.0, 1e-6);
  EXPECT_EQ(text_of(job, "waited_s"), "780");
  // Eight GPUs, empty and drained for 10 min, 3 min, 4 min and 1 s.
  EXPECT_NEAR(*number_of(a, "out_of_service_gpu_hours"), 8 * 1021 / 3600.0, 1e-6);
  EXPECT_NEAR(*number_of(a, "money"), 2 * *number_of(a, "total_gpu_hours"), 1e-9);
  EXPECT_EQ(text_of(r, "what_now"), "");
  EXPECT_EQ(list_of(r, "decisions").size(), 4u);
}

TEST(IncidentReport, AStartInVainAndASlowGangAreToldApartFromLostWork) {
  Policy p = default_policy();
  p.gpu_hour_price = 2;
  p.currency = "EUR";
  p.price_assumed = "H200 2.00 EUR, a test";
  Kept t(p);
  const JobId job = t.running({NodeId{2}, NodeId{3}});
  t.pass(minutes(10));
  t.tell(JobProgressed{job, 1, {50, 50, 60'000, 0, 0, 1}});
  const IncidentId id = t.open(t.find(FindingKind::thermal_throttle, NodeId{2}, 1));
  t.pass(minutes(20));
  t.tell(JobProgressed{job, 1, {90, 90, 60'000, 0, 300'000, 2}});
  t.pass(minutes(6));
  // Of the six minutes since its checkpoint one was a start again, two were slow, and three were steps that are lost.
  t.tell(JobEnded{job, 1, JobEnd::node_failed, {95, 90, 120'000, 0, 420'000, 2}, "too hot"});
  t.tell(IncidentClosed{id, "cool again"});
  const Value r = t.report("1");
  const Value& a = *r.find("affected");
  EXPECT_NEAR(*number_of(a, "lost_gpu_hours"), 16 * 3 / 60.0, 1e-6);
  EXPECT_NEAR(*number_of(a, "starting_gpu_hours"), 16 * 1 / 60.0, 1e-6);
  EXPECT_NEAR(*number_of(a, "slow_gpu_hours"), 16 * 7 / 60.0, 1e-6) << "of the whole gang, not of the hot GPU";
  EXPECT_NEAR(*number_of(a, "total_gpu_hours"), 16 * 11 / 60.0, 1e-6);
  EXPECT_EQ(list_of(a, "jobs_slowed").size(), 1u);
  const std::string text = render_incident_text(r, {});
  EXPECT_NE(text.find("5.87 EUR"), std::string::npos) << text;
  EXPECT_NE(text.find("assumed: H200 2.00 EUR"), std::string::npos) << text;
}

TEST(IncidentReport, UntrustedTextSteersNeitherATerminalNorATicket) {
  const OneIncident t;
  const Value r = t.report("1");
  const std::string text = render_incident_text(r, {});
  const std::string page = render_incident_markdown(r);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  for (const auto line : split(page, '\n')) {
    const bool code = line.starts_with("    ");
    if (!code) {
      EXPECT_EQ(line.find(" <b>"), std::string_view::npos) << line;
    }
  }
  EXPECT_NE(page.find("    2026-"), std::string::npos) << "the evidence stands in a block of code";
  EXPECT_NE(text.find("Xid 79 `<b>`"), std::string::npos) << "verbatim where it cannot do harm";
}

TEST(IncidentReport, WhatAPersonMustDoIsSaid) {
  Kept t;
  const IncidentId i = t.open(t.find(FindingKind::pcie_degraded, NodeId{4}, 2));
  EXPECT_NE(text_of(t.report("1"), "what_now").find("Muster is at work"), std::string::npos);
  t.drained(NodeId{4}, i);
  t.order(Verb::replace_node, NodeId{4}, i);
  EXPECT_NE(text_of(t.report("1"), "what_now").find("swap the part"), std::string::npos);
  t.tell(IncidentMoved{i, Stage::held, 3, kNever, "every step was tried"});
  const std::string now = text_of(t.report("1"), "what_now");
  EXPECT_NE(now.find("A person must act: every step was tried"), std::string::npos) << now;
  EXPECT_NE(now.find("muster undrain n4"), std::string::npos) << now;
}

TEST(IncidentReport, AnIncidentThatTheStateHasForgottenIsStillToldInFull) {
  OneIncident t;
  for (std::size_t k = 0; k < kEndedKept + 10; ++k) {
    const IncidentId i = t.open(t.find(FindingKind::link_flap, NodeId{6}));
    t.ends(t.order(Verb::drain_node, NodeId{6}, i));
    t.tell(IncidentClosed{i, "gone"});
  }
  ASSERT_EQ(find_incident(t.s, t.incident), nullptr);
  ASSERT_FALSE(explain(t.s, "incident 1"));
  const Value r = t.report("1");
  EXPECT_EQ(list_of(r, "decisions").size(), 4u);
  EXPECT_FALSE(list_of(r, "evidence").empty());
  EXPECT_EQ(text_of(list_of(t.why("action d-9"), "decisions").at(0), "rule"), "recover/gpu_lost/drain");
  EXPECT_EQ(list_of(t.why("incident 1"), "decisions").size(), 4u);
}

TEST(Why, TheLastRepairNamesWhatWasTriedBefore) {
  Kept t;
  const IncidentId i = t.open(t.find(FindingKind::pcie_degraded, NodeId{4}));
  t.ends(t.order(Verb::reboot_node, NodeId{4}, i));
  const std::string key = t.order(Verb::replace_node, NodeId{4}, i);
  const Value answer = t.why(key);
  const auto& beside = list_of(list_of(answer, "decisions").at(0), "alternatives_beside");
  ASSERT_EQ(beside.size(), 2u);
  EXPECT_EQ(*beside[0].string(), "reboot_node: tried before (done), and it was not enough");
}

}  // namespace
}  // namespace muster::report
