#include "adapters/alertmanager/alerts.h"

#include <gtest/gtest.h>

#include "ingest/json.h"

namespace muster {
namespace {

class AlertsTest : public testing::Test {
 protected:
  AlertsTest() {
    s.site.name = "town";
    s.site.nodes = {{"node0001"}, {"node0002"}};
    Finding f;
    f.id = FindingId{7};
    f.kind = FindingKind::gpu_lost;
    f.severity = Severity::critical;
    f.node = NodeId{1};
    f.slot = 3;
    f.code = 79;
    f.opened = Time{} + seconds(1000);
    f.evidence = {{Witness::kernel_log, Time{} + seconds(1000), "kmsg:1/2", "GPU has fallen \x1b[31moff the bus"}};
    s.findings[f.id] = f;
    Incident i;
    i.id = IncidentId{5};
    i.node = NodeId{1};
    i.cause = FindingKind::gpu_lost;
    i.slot = 3;
    i.job = JobId{42, 0};
    i.findings = {FindingId{7}};
    i.stage = Stage::watching;
    i.opened = Time{} + seconds(1000);
    s.incidents[i.id] = i;
  }
  std::vector<Alert> wanted() const { return alerts_of(s, "http://m"); }
  std::vector<Posting> due(int at_s) { return book.due(wanted(), Time{} + seconds(at_s), Time{} + seconds(at_s)); }
  void take(const std::vector<Posting>& p, int at_s) { book.settled(p, Time{} + seconds(at_s)); }

  State s;
  AlertBook book;
};

TEST_F(AlertsTest, ALinkIsNamedByItsNicAndByWhatThatIsWiredTo) {
  Finding& f = s.findings.at(FindingId{7});
  f.kind = FindingKind::link_down;
  f.code = 0;
  Alert a = wanted().at(0);
  EXPECT_EQ(a.labels.at("nic"), "mlx5_3");
  EXPECT_EQ(a.annotations.at("summary"), "link_down on node0002 NIC mlx5_3");
  for (const char* key : {"switch", "port", "cable"}) EXPECT_EQ(a.labels.count(key) + a.annotations.count(key), 0U) << key;
  s.site.cables.set({{"leaf03"}, {1 * 16 + 3}, {0}, {"17"}, {"C-00412"}});
  a = wanted().at(0);
  EXPECT_EQ(a.labels.at("switch"), "leaf03");
  EXPECT_EQ(a.labels.at("gpu"), "3");
  EXPECT_EQ(a.annotations.at("port"), "17");
  EXPECT_EQ(a.annotations.at("cable"), "C-00412");
  EXPECT_EQ(a.annotations.at("summary"), "link_down on node0002 NIC mlx5_3, cable C-00412 to port 17 of leaf03");
  Incident& i = s.incidents.at(IncidentId{5});
  i.stage = Stage::held;
  i.cause = FindingKind::link_down;
  a = wanted().at(1);
  EXPECT_EQ(a.labels.at("switch"), "leaf03");
  EXPECT_EQ(a.annotations.at("summary"),
            "incident 5 on node0002 NIC mlx5_3, cable C-00412 to port 17 of leaf03 waits for a person");
  f.kind = FindingKind::nvlink_degraded;
  EXPECT_EQ(wanted().at(0).labels.count("nic"), 0U) << "a GPU's";
}

TEST_F(AlertsTest, AFaultOfTheNetworkIsNamedByItsEndsAndItsLeaf) {
  Finding& f = s.findings.at(FindingId{7});
  f.kind = FindingKind::fabric_fault;
  f.node = {};
  f.code = 95;
  f.subject = "missing_cable leaf03[17] - spine02[4]";
  const Alert a = wanted().at(0);
  EXPECT_EQ(a.labels.at("leaf"), "3");
  EXPECT_EQ(a.labels.count("gpu"), 0U);
  EXPECT_EQ(a.labels.at("fault"), f.subject);
  EXPECT_EQ(a.annotations.at("summary"), "fabric_fault on missing_cable leaf03[17] - spine02[4] (95 %)");
}

TEST_F(AlertsTest, AFailedAcceptanceNamesThePartOfTheGpu) {
  Finding& f = s.findings.at(FindingId{7});
  f.kind = FindingKind::acceptance_failed;
  f.code = 1;
  f.subject = "tensor cores: SM 17";
  const Alert a = wanted().at(0);
  EXPECT_EQ(a.labels.at("gpu"), "3");
  EXPECT_EQ(a.labels.at("fault"), f.subject) << "the GPU may have another fault, and an alert of its own";
  EXPECT_EQ(a.annotations.at("summary"), "acceptance_failed on node0002 GPU 3 (tensor cores: SM 17)");
}

TEST_F(AlertsTest, AFindingIsAnAlertWithStableLabels) {
  const auto a = wanted();
  ASSERT_EQ(a.size(), 1U);
  const std::map<std::string, std::string> labels = {{"alertname", "MusterGpuLost"},
                                                     {"cluster", "town"},
                                                     {"gpu", "3"},
                                                     {"incident", "5"},
                                                     {"job", "42"},
                                                     {"kind", "gpu_lost"},
                                                     {"node", "node0002"},
                                                     {"severity", "critical"}};
  EXPECT_EQ(a[0].labels, labels);
  EXPECT_EQ(a[0].link, "http://m/?incident=5");
  EXPECT_EQ(a[0].annotations.at("summary"), "gpu_lost on node0002 GPU 3 (code 79)");
  EXPECT_EQ(a[0].annotations.at("evidence").find('\x1b'), std::string::npos) << "untrusted text is made printable";
  s.findings.at(FindingId{7}).evidence.push_back({Witness::scrape, {}, "", "gone"});
  s.incidents.at(IncidentId{5}).stage = Stage::draining;
  EXPECT_EQ(wanted()[0].labels, labels) << "what grows and moves on is still the same alert";
}

TEST_F(AlertsTest, WithoutAnIncidentTroubleIsGroupedByItsNode) {
  s.incidents.clear();
  s.site.nodes[1].name = "node 2/\xff";
  const auto a = wanted();
  EXPECT_EQ(a[0].labels.at("incident"), a[0].labels.at("node"));
  EXPECT_EQ(a[0].labels.count("job"), 0U);
  EXPECT_EQ(a[0].link.rfind("http://m/?node=node%202%2F%EF", 0), 0U) << a[0].link;
}

TEST_F(AlertsTest, AHeldIncidentIsAnAlertOfItsOwn) {
  s.incidents.at(IncidentId{5}).stage = Stage::held;
  const auto a = wanted();
  ASSERT_EQ(a.size(), 2U);
  EXPECT_EQ(a[1].labels.at("alertname"), "MusterIncidentHeld");
  EXPECT_EQ(a[1].labels.at("incident"), "5");
}

TEST_F(AlertsTest, TheBodyIsJsonThatAlertmanagerReads) {
  const auto json = parse_json(render_alerts({{wanted()[0], true, Time{} + seconds(2000)}}));
  ASSERT_TRUE(json);
  const Value& first = json->array()->at(0);
  EXPECT_EQ(*first.find("startsAt")->string(), "1970-01-01T00:16:40Z");
  EXPECT_EQ(*first.find("endsAt")->string(), "1970-01-01T00:33:20Z");
  EXPECT_EQ(*first.find("generatorURL")->string(), "http://m/?incident=5");
}

TEST_F(AlertsTest, ItIsToldAtOnceAndAgainBeforeItExpires) {
  const auto p = due(2000);
  ASSERT_EQ(p.size(), 1U);
  EXPECT_TRUE(p[0].firing);
  EXPECT_EQ(p[0].ends, Time{} + seconds(2000) + kAlertExpiry);
  take(p, 2000);
  EXPECT_TRUE(due(2001).empty()) << "not with every turn";
  EXPECT_EQ(book.next(), Time{} + seconds(2000) + kAlertResend);
  EXPECT_EQ(due(2060).size(), 1U);
}

TEST_F(AlertsTest, WhatWasNotTakenIsDueAgain) {
  EXPECT_EQ(due(2000).size(), 1U);
  EXPECT_EQ(due(2001).size(), 1U);
}

TEST_F(AlertsTest, ClearedIsResolvedUntilThatIsTakenAndThenForgotten) {
  take(due(2000), 2000);
  s.findings.at(FindingId{7}).cleared = Time{} + seconds(2005);
  for (int again = 0; again < 2; ++again) {
    const auto p = due(2006 + again);
    ASSERT_EQ(p.size(), 1U);
    EXPECT_FALSE(p[0].firing);
    EXPECT_EQ(p[0].ends, Time{} + seconds(2006)) << "the end does not move while it is not taken";
    EXPECT_FALSE(p[0].alert.annotations.empty()) << "a resolved alert still says what it was";
    if (again == 1) take(p, 2007);
  }
  EXPECT_TRUE(due(2010).empty());
  EXPECT_EQ(book.known(), 0U);
}

TEST_F(AlertsTest, BackBeforeItsEndWasTakenItSimplyFires) {
  take(due(2000), 2000);
  s.findings.at(FindingId{7}).cleared = Time{} + seconds(2005);
  EXPECT_FALSE(due(2006).at(0).firing);
  s.findings.at(FindingId{7}).cleared = {};
  const auto p = due(2007);
  ASSERT_EQ(p.size(), 1U);
  EXPECT_TRUE(p[0].firing);
}

TEST_F(AlertsTest, AfterARestartOnlyWhatIsOpenIsTold) {
  s.findings.at(FindingId{7}).cleared = Time{} + seconds(1500);
  EXPECT_TRUE(due(2000).empty()) << "what ended before is not sent as resolved: it has expired";
}

TEST_F(AlertsTest, AnotherSeverityIsAnotherAlertAndTheOldOneEnds) {
  take(due(2000), 2000);
  s.findings.at(FindingId{7}).severity = Severity::warning;
  const auto p = due(2001);
  ASSERT_EQ(p.size(), 2U);
  EXPECT_TRUE(p[0].firing);
  EXPECT_FALSE(p[1].firing);
}

}  // namespace
}  // namespace muster
