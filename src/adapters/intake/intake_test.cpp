#include "adapters/intake/intake.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "model/codec.h"
#include "model/story.h"

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

constexpr const char* kWho = R"({"node":"n2","items":[{"stream":"agent","boot":"i","seq":SEQ,"gpu":{"index":0,
  "pci":"00000000:2B:00.0","uuid":"GPU-a","serial":"SERIAL","vbios":"96"}},
  {"stream":"agent","boot":"i","seq":NEXT,"facts":{"kernel":"6.1","driver_version":"580"}}]})";

std::string who(int seq, const std::string& serial) {
  std::string s = kWho;
  s.replace(s.find("SEQ"), 3, std::to_string(seq));
  s.replace(s.find("NEXT"), 4, std::to_string(seq + 1));
  return s.replace(s.find("SERIAL"), 6, serial);
}

TEST_F(AgentIntakeTest, WhoAGpuIsBecomesAnEventOnlyWhenItChanges) {
  take(who(1, "11"));
  ASSERT_EQ(inbox.events.size(), 2U);
  const auto& b = std::get<GpuIdentified>(inbox.events[0].body);
  EXPECT_EQ(b.node, NodeId{1});
  EXPECT_EQ(b.gpu.slot, 1) << "by its address, not by the driver's number";
  EXPECT_EQ(b.gpu.serial, "11");
  EXPECT_EQ(std::get<NodeDescribed>(inbox.events[1].body).facts[0].first, "driver_version");
  take(who(3, "11"));
  EXPECT_EQ(inbox.events.size(), 2U) << "an agent that starts again tells nothing new";
  EXPECT_EQ(answers, 1) << "and is answered at once";
  take(who(5, "12"));
  ASSERT_EQ(inbox.events.size(), 3U);
  EXPECT_EQ(std::get<GpuIdentified>(inbox.events[2].body).gpu.serial, "12");
}

TEST_F(AgentIntakeTest, AnAddressThatTheClusterFileDoesNotHaveIsPlacedByTheAgentsWord) {
  take(R"({"node":"n1","items":[{"stream":"agent","boot":"i","seq":1,"gpu":{"index":1,"pci":"00000000:C3:00.0","uuid":"GPU-a"}},
        {"stream":"kernel","boot":"b","seq":5,"trusted":true,"kmsg":"3,4,9,-;NVRM: Xid (PCI:0000:c3:00): 31, pid=1, name=x"},
        {"stream":"kernel","boot":"b","seq":6,"trusted":true,"kmsg":"3,5,9,-;NVRM: Xid (PCI:0000:c4:00): 31, pid=1, name=x"},
        {"stream":"agent","boot":"i","seq":2,"xid":31,"pci":"00000000:C3:00.0"}]})");
  ASSERT_EQ(inbox.events.size(), 4U);
  EXPECT_EQ(std::get<GpuIdentified>(inbox.events[0].body).gpu.slot, 1);
  EXPECT_EQ(std::get<KernelHeard>(inbox.events[1].body).record.slot, 1);
  EXPECT_EQ(std::get<KernelHeard>(inbox.events[2].body).record.slot, -1);
  EXPECT_EQ(std::get<KernelHeard>(inbox.events[3].body).record.slot, 1);
}

TEST_F(AgentIntakeTest, WhatWasKnownBeforeARestartIsNoNews) {
  State s;
  s.nodes.resize(2);
  s.nodes[1].known.put(GpuIdentity{1, "GPU-a", "11", "96", "00000000:2B:00.0"});
  s.nodes[1].known.put(Facts{{"driver_version", "580"}, {"kernel", "6.1"}});
  intake->remember(s);
  take(who(1, "11"));
  EXPECT_TRUE(inbox.events.empty());
}

TEST_F(AgentIntakeTest, AnXidFromNvmlIsTheDriversWord) {
  take(R"({"node":"n1","items":[{"stream":"agent","boot":"i","seq":1,"xid":31,"pci":"00000000:2B:00.0"},
        {"stream":"agent","boot":"i","seq":2,"xid":31000},{"stream":"agent","boot":"i","seq":3,"xid":"79"}]})");
  ASSERT_EQ(inbox.events.size(), 1U);
  const auto& heard = std::get<KernelHeard>(inbox.events[0].body);
  EXPECT_TRUE(heard.trusted);
  EXPECT_EQ(heard.record.code, 31);
  EXPECT_EQ(heard.record.slot, 1);
}

TEST_F(AgentIntakeTest, AnAcceptanceIsAnEventWithSlotsInPlaceOfAddresses) {
  take(R"({"node":"n2","items":[{"stream":"agent","boot":"i","seq":4,"age_ms":3000,
        "acceptance":{"profile":"quick","gpus":[
        {"index":0,"pci":"00000000:2B:00.0","uuid":"GPU-b","passed":false,"faults":[
          {"kind":"wrong_results","failed":true,"part":"SMs: SM 17","text":"3 results\u001b[31m"}]},
        {"index":1,"pci":"00000000:1B:00.0","uuid":"GPU-a","passed":true,"faults":[]},
        {"index":9,"pci":"00000000:C3:00.0","uuid":"GPU-c","passed":false,"faults":[
          {"kind":"slow","failed":false,"part":"memory"}]}],
        "faults":[{"kind":"not_run","part":"GPU","text":"stopped"}]}}]})");
  ASSERT_EQ(inbox.events.size(), 1U);
  EXPECT_EQ(inbox.events[0].source.stream, "agent/n2");
  EXPECT_EQ(inbox.events[0].source.seq, 4U);
  const auto& said = std::get<AcceptanceSaid>(inbox.events[0].body);
  EXPECT_EQ(said.node, NodeId{1});
  EXPECT_EQ(said.profile, "quick");
  EXPECT_EQ(said.passed, std::vector<std::int16_t>{0}) << "by its address, not by the driver's number";
  ASSERT_EQ(said.faults.size(), 3U);
  EXPECT_EQ(said.faults[0].slot, 1);
  EXPECT_EQ(said.faults[0].kind, AcceptFault::wrong_results);
  EXPECT_EQ(said.faults[0].text.find('\x1b'), std::string::npos);
  EXPECT_EQ(said.faults[1].slot, -1) << "the cluster file has no such GPU";
  EXPECT_EQ(said.faults[1].part, "GPU at 00000000:C3:00.0: memory");
  EXPECT_FALSE(said.faults[1].failed);
  EXPECT_EQ(said.faults[2].slot, -1);
  EXPECT_EQ(answers, 0) << "nothing is promised before it is durable";
}

TEST_F(AgentIntakeTest, AnAcceptanceThatMakesNoSenseIsNone) {
  const auto word = [](const std::string& of) {
    return R"({"node":"n1","items":[{"stream":"agent","boot":"i","seq":1,"acceptance":)" + of + "}]}";
  };
  for (const char* bad : {R"({})", R"(7)", R"({"profile":"quick"})", R"({"profile":"","gpus":[]})",
                          R"({"profile":"quick","gpus":[{"index":0}]})",
                          R"({"profile":"quick","gpus":[],"faults":[{"kind":"none","part":"x"}]})",
                          R"({"profile":"quick","gpus":[],"faults":[{"kind":"bad","part":"x"}]})",
                          R"({"profile":"quick","gpus":[],"faults":[{"kind":"slow","part":""}]})"})
    take(word(bad));
  EXPECT_TRUE(inbox.events.empty());
  take(word(R"({"profile":"quick","gpus":[{"index":0,"passed":true,"faults":[{"kind":"slow","part":"memory"}]}]})"));
  ASSERT_EQ(inbox.events.size(), 1U);
  EXPECT_TRUE(std::get<AcceptanceSaid>(inbox.events[0].body).passed.empty()) << "a pass with a fault is none";
}

TEST_F(AgentIntakeTest, AnUnknownNodeIsRefused) {
  take(R"({"node":"n9","items":[]})");
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(answer.error().code, Code::not_found);
}

std::string fabric(const std::string& faults, const std::string& more = R"("complete":true)") {
  return R"({"fabric":{)" + more + R"(,"faults":[)" + faults + "]}}";
}
constexpr const char* kUplink = R"({"kind":"missing_cable","ends":["leaf03[17]","spine02[4]"],"detail":"both ports are empty",)"
                                R"("confidence":0.95,"nodes":["n2","n1","n2","storage9"],"fix":"plug it in"})";
constexpr const char* kErrors = R"({"kind":"error_rate","ends":["spine02[4]","leaf03[17]"],"detail":"12 a second","nodes":[]})";

TEST_F(AgentIntakeTest, WhatAWatchOfTheNetworkTellsIsAnEventOnlyWhenItDiffers) {
  take(fabric(kUplink));
  ASSERT_EQ(inbox.events.size(), 1U);
  EXPECT_EQ(inbox.events[0].source.stream, "fabric");
  EXPECT_EQ(inbox.events[0].source.seq, 0U);
  const auto said = std::get<FabricSaid>(inbox.events[0].body);
  EXPECT_TRUE(said.complete);
  EXPECT_EQ(said.unknown_nodes, 1U);
  ASSERT_EQ(said.faults.size(), 1U);
  EXPECT_EQ(said.faults[0].kind, FabricFaultKind::missing_cable);
  EXPECT_EQ(said.faults[0].ends, (std::vector<std::string>{"leaf03[17]", "spine02[4]"}));
  EXPECT_EQ(said.faults[0].detail, "both ports are empty");
  EXPECT_EQ(said.faults[0].fix, "plug it in");
  EXPECT_EQ(said.faults[0].confidence, 0.95);
  EXPECT_EQ(said.faults[0].nodes, (std::vector<NodeId>{NodeId{0}, NodeId{1}})) << "those of the cluster, each once";
  EXPECT_EQ(answers, 0) << "nothing is promised before it is durable";
  inbox.events[0].ack(17);
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(*answer, 17U);
  std::string again = kUplink;
  again.replace(again.find("empty"), 5, "bare!");
  take(fabric(again));
  EXPECT_EQ(inbox.events.size(), 1U) << "the same fault in other words is no news";
  EXPECT_EQ(answers, 2) << "and is answered at once";
  take(fabric(std::string(kUplink) + "," + kErrors));
  ASSERT_EQ(inbox.events.size(), 2U);
  inbox.events[1].ack(18);
  take(fabric(std::string(kErrors) + "," + kUplink));
  EXPECT_EQ(inbox.events.size(), 2U) << "nor is another order";
  take(fabric(""));
  ASSERT_EQ(inbox.events.size(), 3U);
  EXPECT_TRUE(std::get<FabricSaid>(inbox.events[2].body).faults.empty());
}

TEST_F(AgentIntakeTest, AWordOfTheNetworkThatWasNotTakenIsNewsStill) {
  take(fabric(kUplink));
  inbox.events[0].ack(fail(Code::internal, "the disk is full"));
  EXPECT_FALSE(answer);
  take(fabric(kUplink));
  EXPECT_EQ(inbox.events.size(), 2U);
}

TEST_F(AgentIntakeTest, AReadingThatIsWholeAgainIsNewsThoughItTellsTheSame) {
  take(fabric(kUplink, R"("complete":false)"));
  inbox.events[0].ack(1);
  take(fabric(kUplink, R"("complete":false)"));
  EXPECT_EQ(inbox.events.size(), 1U);
  take(fabric(kUplink));
  ASSERT_EQ(inbox.events.size(), 2U) << "what it does not tell of is over now";
  inbox.events[1].ack(2);
  take(fabric(kUplink, R"("complete":true,"left_out":7)"));
  EXPECT_EQ(inbox.events.size(), 2U);
  take(fabric(kErrors, R"("complete":true,"left_out":7)"));
  ASSERT_EQ(inbox.events.size(), 3U);
  EXPECT_FALSE(std::get<FabricSaid>(inbox.events[2].body).complete) << "what was left out is not over";
}

TEST_F(AgentIntakeTest, WhatStoodInTheNetworkBeforeARestartIsNoNews) {
  State s;
  Finding f;
  f.id = FindingId{3};
  f.kind = FindingKind::fabric_fault;
  f.subject = "missing_cable leaf03[17] - spine02[4]";
  s.findings[f.id] = f;
  f.id = FindingId{4};
  f.subject = "dead_switch leaf07";
  f.cleared = Time{5};
  s.findings[f.id] = f;
  intake->remember(s);
  take(fabric(kUplink));
  EXPECT_TRUE(inbox.events.empty());
  EXPECT_TRUE(answer);
  take(fabric(""));
  EXPECT_EQ(inbox.events.size(), 1U);
}

std::string of_network(const std::string& name, const std::string& faults) {
  return fabric(faults, R"("complete":true,"name":")" + name + '"');
}

TEST_F(AgentIntakeTest, EachNetworkHasItsOwnLastWord) {
  const auto taken = [&](const std::string& batch) {
    const std::size_t before = inbox.events.size();
    take(batch);
    const bool event = inbox.events.size() > before;
    if (event) inbox.events.back().ack(inbox.events.size());
    return event;
  };
  EXPECT_FALSE(taken(of_network("rail4", ""))) << "a network that was sound and is";
  EXPECT_TRUE(taken(of_network("rail3", kUplink)));
  EXPECT_EQ(std::get<FabricSaid>(inbox.events.back().body).name, "rail3");
  EXPECT_FALSE(taken(fabric("")));
  EXPECT_TRUE(taken(fabric(kUplink)));
  EXPECT_FALSE(taken(of_network("rail3", kUplink)));
  EXPECT_TRUE(taken(of_network("rail3", "")));
  EXPECT_FALSE(taken(fabric(kUplink)));

  State s;
  Finding f;
  f.id = FindingId{3};
  f.kind = FindingKind::fabric_fault;
  f.subject = "rail3: missing_cable leaf03[17] - spine02[4]";
  s.findings[f.id] = f;
  intake->remember(s);
  EXPECT_FALSE(taken(of_network("rail3", kUplink)));
  EXPECT_FALSE(taken(fabric("")));
  EXPECT_TRUE(taken(fabric(kUplink)));
  EXPECT_TRUE(taken(of_network("rail3", "")));
}

TEST_F(AgentIntakeTest, AWordThatJudgesMoreThanTheLastIsNews) {
  const auto judged = [](const std::string& list) { return R"("complete":true,"judged":[)" + list + "]"; };
  take(fabric(kUplink, judged("")));
  ASSERT_EQ(inbox.events.size(), 1U);
  const auto& said = std::get<FabricSaid>(inbox.events[0].body);
  EXPECT_FALSE(said.rates);
  EXPECT_FALSE(said.flaps);
  inbox.events[0].ack(1);
  take(fabric(kUplink, judged("")));
  EXPECT_EQ(inbox.events.size(), 1U);
  take(fabric(kUplink, judged(R"("rates")")));
  ASSERT_EQ(inbox.events.size(), 2U) << "errors that it does not tell of are over now";
  inbox.events[1].ack(2);
  take(fabric(kUplink, judged(R"("flaps","rates")")));
  ASSERT_EQ(inbox.events.size(), 3U);
  inbox.events[2].ack(3);
  take(fabric(kUplink, judged("")));
  EXPECT_EQ(inbox.events.size(), 3U) << "a watch that starts anew tells nothing new";
  take(fabric(kUplink));
  EXPECT_EQ(inbox.events.size(), 3U) << "all is judged where nothing is said";
}

TEST_F(AgentIntakeTest, ThatAWatchOfTheNetworkSpokeIsHeardWhateverItSaid) {
  take(fabric("", R"("complete":true,"name":"rail3","every_s":30)"));
  EXPECT_TRUE(inbox.events.empty());
  EXPECT_EQ(answers, 1);
  ASSERT_EQ(inbox.heard.size(), 1U);
  EXPECT_EQ(inbox.heard[0].name, "rail3");
  EXPECT_EQ(inbox.heard[0].every, seconds(30));
  take(fabric(kUplink, R"("complete":true,"every_s":1e300)"));
  EXPECT_EQ(inbox.events.size(), 1U);
  ASSERT_EQ(inbox.heard.size(), 2U);
  EXPECT_EQ(inbox.heard[1].name, "");
  EXPECT_EQ(inbox.heard[1].every, hours(7 * 24));
  inbox.events[0].ack(17);
  take(fabric(kUplink));
  ASSERT_EQ(inbox.heard.size(), 3U);
  EXPECT_EQ(inbox.heard[2].every, Duration{}) << "it is not to be waited for";

  State s;
  Finding f;
  f.id = FindingId{3};
  f.kind = FindingKind::fabric_fault;
  f.subject = "rail3: unwatched";
  s.findings[f.id] = f;
  intake->remember(s);
  take(fabric("", R"("complete":true,"name":"rail3","every_s":30)"));
  EXPECT_EQ(inbox.events.size(), 1U) << "that it was not heard is no fault it told of";
}

TEST_F(AgentIntakeTest, NetworksAreBoundedAndOneThatIsSoundCountsForNone) {
  const auto tell = [&](const std::string& name, const std::string& faults, bool durable = true) {
    const std::size_t before = inbox.events.size();
    take(of_network(name, faults));
    if (inbox.events.size() == before) return false;
    inbox.events.back().ack(durable ? Result<std::uint64_t>(7) : Result<std::uint64_t>(fail(Code::internal, "the disk is full")));
    return true;
  };
  for (int i = 0; i < 63; ++i) EXPECT_TRUE(tell("rail" + std::to_string(i), kUplink));
  EXPECT_TRUE(tell("not-written", kUplink, false));
  EXPECT_TRUE(tell("rail63", kUplink)) << "one that was not taken keeps nobody out";
  EXPECT_FALSE(tell("rail64", kUplink));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::bad_input);
  EXPECT_NE(answer.error().what.find("64 networks"), std::string::npos) << answer.error().what;
  EXPECT_TRUE(tell("rail5", kErrors)) << "those that are known go on";
  EXPECT_TRUE(tell("rail5", ""));
  EXPECT_TRUE(tell("rail64", kUplink));
}

TEST_F(AgentIntakeTest, NonsenseAboutTheNetworkIsRefusedWithTheReason) {
  const std::string end(129, 'x');
  std::string many;
  for (int i = 0; i < 1001; ++i) many += (i > 0 ? "," : "") + std::string(R"({"kind":"dead_switch","ends":["s"]})");
  const std::pair<std::string, const char*> wrong[] = {
      {R"({"fabric":7})", "fabric.complete"},
      {R"({"fabric":{"faults":[]}})", "fabric.complete"},
      {R"({"fabric":{"complete":true}})", "fabric.faults"},
      {R"({"node":"n1","fabric":{"complete":true,"faults":[]}})", "of a node or of the network"},
      {fabric("7"), "faults[0].kind"},
      {fabric(R"({"kind":"gremlins","ends":["a"]})"), "must be one of missing_cable"},
      {fabric(std::string(kErrors) + R"(,{"kind":"dead_switch"})"), "faults[1].ends"},
      {fabric(R"({"kind":"dead_switch","ends":["a"],"fix":7})"), "faults[0].fix must be text"},
      {fabric(R"({"kind":"dead_switch","ends":[]})"), "ends must be a list of 1 to 8"},
      {fabric(R"({"kind":"dead_switch","ends":["1","2","3","4","5","6","7","8","9"]})"), "ends must be a list of 1 to 8"},
      {fabric(R"({"kind":"dead_switch","ends":[")" + end + R"("]})"), "1 to 128 bytes"},
      {fabric(R"({"kind":"dead_switch","ends":[""]})"), "1 to 128 bytes"},
      {fabric(R"({"kind":"dead_switch","ends":["a\u001b[31m"]})"), "can be printed"},
      {fabric(R"({"kind":"dead_switch","ends":["a"],"confidence":1.5})"), "confidence"},
      {fabric(R"({"kind":"dead_switch","ends":["a"],"confidence":"sure"})"), "confidence"},
      {fabric(R"({"kind":"dead_switch","ends":["a"],"detail":7})"), "detail"},
      {fabric(R"({"kind":"dead_switch","ends":["a"],"nodes":"n1"})"), "nodes"},
      {fabric(R"({"kind":"dead_switch","ends":["a"],"nodes":[1]})"), "nodes"},
      {fabric("", R"("complete":true,"left_out":-1)"), "left_out"},
      {fabric(many), "at most 1000"},
      {fabric("", R"("complete":true,"name":7)"), "fabric.name"},
      {of_network("rail 3", ""), "letters, digits"},
      {of_network("rail3:", ""), "letters, digits"},
      {of_network("a\\u0000b", ""), "letters, digits"},
      {of_network(std::string(65, 'x'), ""), "at most 64"},
      {fabric("", R"("complete":true,"every_s":0)"), "fabric.every_s"},
      {fabric("", R"("complete":true,"every_s":-30)"), "fabric.every_s"},
      {fabric("", R"("complete":true,"every_s":"30s")"), "fabric.every_s"},
      {fabric("", R"("complete":true,"judged":true)"), "fabric.judged"},
      {fabric("", R"("complete":true,"judged":["rates","moods"])"), "fabric.judged"},
      {fabric("", R"("complete":true,"judged":[1])"), "fabric.judged"},
  };
  for (const auto& [batch, part] : wrong) {
    answers = 0;
    take(batch);
    EXPECT_EQ(answers, 1) << part;
    ASSERT_FALSE(answer) << part;
    EXPECT_EQ(answer.error().code, Code::bad_input) << part;
    EXPECT_NE(answer.error().what.find(part), std::string::npos) << answer.error().what << ", not " << part;
  }
  EXPECT_TRUE(inbox.events.empty());
  take(fabric(R"({"kind":"incomplete_discovery","ends":[],"detail":")" + std::string(900, 'y') + R"("})"));
  ASSERT_EQ(inbox.events.size(), 1U) << "who did not answer may be nameless";
  EXPECT_EQ(std::get<FabricSaid>(inbox.events[0].body).faults[0].detail.size(), 400U);
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

TEST_F(AgentIntakeTest, LinesOfJobLogsAreNoEventsAndAreAnsweredWhenTaken) {
  take(
      R"({"node":"n1","items":[)"
      R"({"stream":"agent","boot":"b","seq":1,"age_ms":3000,"job":"17_3","log":"[rank3]:[E1115 15:27:03 P.cpp:689] )"
      R"([Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=401, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, )"
      R"(Timeout(ms)=25000) ran for 25023 milliseconds before timing out."},)"
      R"({"stream":"agent","boot":"b","seq":2,"job":"pod-x","ras":{"kind":"rank_behind","rank":2,"text":"as it says"}},)"
      R"({"stream":"agent","boot":"b","seq":3,"job":"1","log":"nothing of the kind"},)"
      R"({"stream":"agent","boot":"b","seq":4,"job":"1","ras":{"kind":"nonsense"}}]})");
  EXPECT_TRUE(inbox.events.empty());
  ASSERT_EQ(inbox.logs.size(), 2U);
  EXPECT_EQ(inbox.logs[0].kind, JobLogKind::timed_out);
  EXPECT_EQ(inbox.logs[0].rank, 3);
  EXPECT_EQ(inbox.logs[0].job, (JobId{17, 4}));
  EXPECT_EQ(inbox.logs[0].label, "job 17_3");
  EXPECT_EQ(inbox.logs[0].at, Time{1'000'000'000'000} - seconds(3));
  EXPECT_EQ(inbox.logs[1].kind, JobLogKind::rank_behind);
  EXPECT_EQ(inbox.logs[1].rank, 2);
  EXPECT_EQ(inbox.logs[1].job, JobId{});
  EXPECT_EQ(inbox.logs[1].label, "job pod-x");
  EXPECT_EQ(answers, 1);
  EXPECT_TRUE(answer);
}

// A cluster with one job of two nodes, n0 and n1, as the controller last published it.
struct JobReports : ::testing::Test, View {
  JobReports() : t(4) {
    site = t.s.site;
    intake = std::make_unique<AgentIntake>(mailbox, site, this);
    job = t.running({NodeId{0}, NodeId{1}});
    t.pass(hours(1));
  }
  std::shared_ptr<const Snapshot> latest() const override {
    auto s = std::make_shared<Snapshot>();
    s->state = t.s;
    return s;
  }
  // What reaches the loop.
  Inbox& say(const std::string& node, const std::string& members) {
    inbox.clear();
    const auto v = parse_json(R"({"node":")" + node + R"(","items":[{"stream":"agent","boot":"b","seq":)" +
                              std::to_string(++seq) + "," + members + "}]}");
    EXPECT_TRUE(v) << v.error().what;
    intake->take(*v, [](const Result<std::uint64_t>&) {});
    mailbox.collect(t.now().utc, inbox);
    return inbox;
  }
  const Progress* saved() const {
    return inbox.events.size() == 1 ? &std::get<JobProgressed>(inbox.events[0].body).progress : nullptr;
  }
  double count(std::size_t which) const { return intake->meter().readings[which].second; }
  Story t;
  Site site;
  Mailbox mailbox;
  std::unique_ptr<AgentIntake> intake;
  Inbox inbox;
  JobId job;
  int seq = 0;
};

TEST_F(JobReports, ACheckpointIsAnEventAndAStepIsNone) {
  say("n0", R"("job":"1","report":{"step":50,"step_s":9.5})");
  EXPECT_TRUE(inbox.events.empty());
  ASSERT_EQ(inbox.steps.size(), 1U);
  EXPECT_EQ(inbox.steps[0].step, 50U);
  EXPECT_EQ(inbox.steps[0].step_s, 9.5);
  say("n1", R"("job":"1","age_ms":2000,"report":{"step":60,"saved_step":58,"saving_s":31})");
  ASSERT_NE(saved(), nullptr);
  EXPECT_EQ(*saved(), (Progress{60, 58, 0, 31'000, 0, 1}));
  EXPECT_EQ(inbox.events[0].source.stream, "agent/n1");
  EXPECT_EQ(inbox.events[0].utc, t.now().utc - seconds(2));
  // Before the state knows of the first, the second counts on from it.
  say("n0", R"("job":"1","report":{"saved_step":90,"saving_s":29})");
  ASSERT_NE(saved(), nullptr);
  EXPECT_EQ(*saved(), (Progress{90, 90, 0, 60'000, 0, 2}));
  t.tell(inbox.events[0].body);
  EXPECT_TRUE(checkpoint_known(t.s.jobs.at(job)));
  EXPECT_EQ(t.s.jobs.at(job).progress.durable_steps, 90U);
}

TEST_F(JobReports, HowLongItTookMayComeInASecondWord) {
  say("n0", R"("job":"1","report":{"saved_step":58})");
  ASSERT_NE(saved(), nullptr);
  EXPECT_EQ(saved()->checkpoints, 0U);
  say("n0", R"("job":"1","report":{"saved_step":58,"saving_s":30})");
  ASSERT_NE(saved(), nullptr);
  EXPECT_EQ(*saved(), (Progress{58, 58, 0, 30'000, 0, 1}));
  say("n0", R"("job":"1","report":{"saved_step":58,"saving_s":30})");
  EXPECT_EQ(saved(), nullptr) << "but not twice: all nodes of a job may read one log";
}

TEST_F(JobReports, WhatCannotBeIsNotBelievedAndCounted) {
  for (const char* node : {"n2", "n3"}) {
    say(node, R"("job":"1","report":{"step":70,"saved_step":70})");
    EXPECT_TRUE(inbox.events.empty() && inbox.steps.empty()) << "it does not run there";
  }
  for (const char* what :
       {R"("job":"2","report":{"saved_step":70})", R"("job":"train","report":{"saved_step":70})", R"("report":{"saved_step":70})",
        R"("job":"1","report":{"saved_step":-70})", R"("job":"1","report":"x")",
        R"("job":"1","report":{"attempt":2,"saved_step":70})", R"("job":"1","age_ms":7200000,"report":{"saved_step":70})"}) {
    say("n0", what);
    EXPECT_TRUE(inbox.events.empty() && inbox.steps.empty()) << what;
  }
  EXPECT_EQ(count(0), 0);
  EXPECT_EQ(count(1), 9);
  say("n0", R"("job":"1","report":{"attempt":1,"saved_step":70})");
  EXPECT_NE(saved(), nullptr);
  say("n0", R"("job":"1","report":{"saved_step":69})");
  EXPECT_EQ(saved(), nullptr) << "never backwards";
  say("n0", R"("job":"1","report":{"saved_step":71,"saving_s":900000})");
  ASSERT_NE(saved(), nullptr);
  EXPECT_EQ(saved()->checkpoint_ms, 3'600'000) << "it cannot have stood still for longer than it has run";
  t.tell(JobEnded{job, 1, JobEnd::node_failed, {80, 71, 0, 0, 0}, ""});
  say("n0", R"("job":"1","report":{"saved_step":99})");
  EXPECT_EQ(saved(), nullptr) << "it does not run";
}

TEST_F(JobReports, WithoutAViewNothingIsBelieved) {
  AgentIntake blind(mailbox, site);
  const auto v =
      parse_json(R"({"node":"n0","items":[{"stream":"agent","boot":"b","seq":1,"job":"1","report":{"saved_step":1}}]})");
  blind.take(*v, [](const Result<std::uint64_t>& r) { EXPECT_TRUE(r) << "or the agent would send it for ever"; });
  mailbox.collect(t.now().utc, inbox);
  EXPECT_TRUE(inbox.events.empty());
}

}  // namespace
}  // namespace muster
