// Forged kernel records through the whole path, record to order: what users can put into the kernel's log, or write to a log
// file, must start nothing.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ingest/kernel_log.h"
#include "trial/controlled.h"

namespace muster::trial {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(std::string(SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(in) << path;
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') out.push_back(line);
  }
  return out;
}

// Stands between a twin and the loop, and says what an agent on a node would say.
class Agent final : public Observatory {
 public:
  explicit Agent(twin::Twin& twin) : twin_(twin) {}
  void poll(Inbox& out) override {
    twin_.poll(out);
    for (Body& b : say) out.events.push_back({{{}, "agent", 0}, twin_.now().utc, std::move(b), {}});
    say.clear();
  }
  void wait(Time until) override { twin_.wait(until); }
  std::vector<Body> say;

 private:
  twin::Twin& twin_;
};

struct Outcome {
  std::uint64_t heard = 0;  // records that passed the grammar
  std::vector<std::string> orders, findings;
};

// Every record comes on a cluster that is at work, a few seconds apart. `bytes` are read as an agent reads them.
Outcome play(const std::vector<std::string>& records, bool trusted) {
  twin::Config config = twin::plain_config(16, 1);
  config.workload.mix = "llm";
  // Those of the fixtures.
  for (const char* bus : {"1b", "43", "52", "61", "9d", "c3", "d1", "df"})
    config.site.gpu_pci.push_back(fmt::format("0000:{}:00", bus));
  const Site site = config.site;
  twin::Twin twin(std::move(config));
  Agent agent(twin);
  KeptJournal journal;
  control::LoopConfig c;
  c.site = site;
  c.policy = default_policy();
  c.journal_id = "t";
  c.parse_json = PlainJson::parse;
  auto loop = control::Loop::start(twin, agent, twin, journal, c);
  EXPECT_TRUE(loop);
  Outcome out;
  std::uint64_t seq = 0;
  const auto turn = [&] {
    const auto t = (*loop)->turn();
    ASSERT_TRUE(t);
    twin.wait(std::min(t->wake_at, twin.now().steady + seconds(3)));
  };
  for (int i = 0; i < 400; ++i) turn();  // jobs start
  for (const std::string& bytes : records) {
    const NodeId node{static_cast<std::uint32_t>(seq++ % site.nodes.size())};
    if (auto r = parse_kmsg(bytes, node, 0x9f3c, twin.now().utc, site)) {
      ++out.heard;
      agent.say.push_back(KernelHeard{std::move(*r), trusted});
    }
    turn();
  }
  for (int i = 0; i < 400; ++i) turn();
  for (const Event& e : journal.events) {
    if (const auto* o = std::get_if<OrderIntended>(&e.body)) {
      if (o->order.reason.incident.some()) out.orders.push_back(o->order.reason.sentence);
    }
    if (const auto* f = std::get_if<FindingOpened>(&e.body)) {
      const Runbook* l = find_runbook(c.policy, f->finding.kind, f->finding.code);
      if (l != nullptr && l->act)
        out.findings.push_back(fmt::format("{}: {}", name_of(f->finding.kind), f->finding.evidence.front().text));
    }
  }
  return out;
}

void expect_nothing(const Outcome& o) {
  for (const std::string& x : o.orders) ADD_FAILURE() << "order: " << x;
  for (const std::string& x : o.findings) ADD_FAILURE() << "finding: " << x;
}

TEST(Forged, RecordsOfTheKernelsLogStartNothing) {
  const auto records = lines_of("tests/fixtures/kmsg_forged.txt");
  ASSERT_GE(records.size(), 200U);
  const Outcome o = play(records, true);
  fmt::print("{} forged kernel records: {} orders, {} findings that could lead to one\n", records.size(), o.orders.size(),
             o.findings.size());
  expect_nothing(o);
}

TEST(Forged, EvenPerfectRecordsFromAFileStartNothing) {
  std::vector<std::string> records;
  for (const std::string& line : lines_of("tests/fixtures/kmsg_genuine.txt")) {  // "kind code slot record"
    std::size_t at = 0;
    for (int i = 0; i < 3; ++i) at = line.find(' ', at) + 1;
    records.push_back(line.substr(at));
  }
  while (records.size() < 200) records.push_back(records[records.size() % 23]);
  const Outcome o = play(records, false);
  EXPECT_GT(o.heard, 100U) << "they are read, and still nothing is done";
  fmt::print("{} perfect records in a log file: {} orders, {} findings that could lead to one\n", records.size(), o.orders.size(),
             o.findings.size());
  expect_nothing(o);
}

// That the two above can fail.
TEST(Forged, AGenuineRecordOfTheKernelIsActedOn) {
  const Outcome o = play({"2,922,90000003,-;NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off "
                          "the bus."},
                         true);
  EXPECT_EQ(o.heard, 1U);
  EXPECT_EQ(o.findings.size(), 1U);
  EXPECT_FALSE(o.orders.empty());
}

}  // namespace
}  // namespace muster::trial
