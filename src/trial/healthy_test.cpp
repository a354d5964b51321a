// A sound cluster under the controller, with the noise that sound clusters make: nothing may be found.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <ctime>

#include "trial/controlled.h"
#include "trial/noise.h"

namespace muster::trial {
namespace {

// Counts, and keeps nothing: a month of a thousand nodes has more events than a test wants to hold.
class NoJournal final : public Journal {
 public:
  Result<void> append(std::span<const Event> batch) override {
    seq_ += batch.size();
    return {};
  }
  std::uint64_t last_seq() const override { return seq_; }
  Digest head() const override { return {}; }
  Result<void> read(std::uint64_t, const std::function<bool(const Event&)>&) override { return {}; }
  Result<void> save_snapshot(const StoredSnapshot&) override { return {}; }
  Result<std::optional<StoredSnapshot>> latest_snapshot() override { return std::optional<StoredSnapshot>(); }

 private:
  std::uint64_t seq_ = 0;
};

struct Outcome {
  std::vector<std::string> findings;
  std::uint64_t samples = 0;
  std::uint64_t drains = 0;       // by Muster
  std::uint64_t maintenance = 0;  // drains by people
  double cpu_s = 0;
};

Outcome play(std::uint32_t nodes, Duration length, std::uint64_t seed, NoiseRates rates = {}) {
  twin::Config config = twin::plain_config(nodes, seed);
  config.workload.mix = "llm";
  const Site site = config.site;
  twin::Twin twin(std::move(config));
  Noise noise(twin, twin, site, seed, rates);
  NoJournal journal;
  control::LoopConfig c;
  c.site = site;
  c.policy = default_policy();
  c.journal_id = "t";
  c.parse_json = PlainJson::parse;
  Outcome out;
  auto loop = control::Loop::start(twin, noise, twin, journal, c);
  EXPECT_TRUE(loop) << loop.error().what;
  noise.empty = [&](NodeId n) {
    const NodeState& x = (*loop)->state().nodes[n.v];
    return x.hold == Hold::person && !x.busy();
  };
  (*loop)->on_event = [&](const Event& e) {
    if (const auto* f = std::get_if<FindingOpened>(&e.body)) {
      out.findings.push_back(fmt::format("{} on node {} slot {}: {}", name_of(f->finding.kind), f->finding.node.v,
                                         f->finding.slot, f->finding.evidence.front().text));
    }
    const auto* o = std::get_if<OrderIntended>(&e.body);
    const bool drain = o != nullptr && o->order.action.verb == Verb::drain_node;
    out.drains += drain && o->order.reason.incident.some() ? 1 : 0;
    out.maintenance += drain && !o->order.reason.incident.some() ? 1 : 0;
  };
  const std::clock_t began = std::clock();
  const Time end = twin.now().utc + length;
  while (twin.now().utc < end) {
    const auto turn = (*loop)->turn();
    EXPECT_TRUE(turn);
    if (!turn) break;
    out.samples += turn->samples;
    twin.wait(turn->wake_at);
  }
  out.cpu_s = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  return out;
}

TEST(Healthy, NothingIsFoundIn30000NodeDays) {
  constexpr std::uint32_t kNodes = 1000;
  const Outcome o = play(kNodes, days(30), 1);
  fmt::print(
      "30,000 simulated healthy node-days: {} false alarms, {} drains, {} nodes taken out by people; {:.0f} M samples in {:.0f} "
      "s of CPU\n",
      o.findings.size(), o.drains, o.maintenance, static_cast<double>(o.samples) / 1e6, o.cpu_s);
  for (std::size_t i = 0; i < std::min<std::size_t>(o.findings.size(), 10); ++i) ADD_FAILURE() << o.findings[i];
  EXPECT_TRUE(o.findings.empty());
  EXPECT_EQ(o.drains, 0U);
  EXPECT_GT(o.maintenance, 100U);
  EXPECT_LT(o.cpu_s, 120);
  EXPECT_GT(o.samples, 30000U * 96 * 8 * 5);
}

TEST(Healthy, TheSameNoiseMagnifiedIsFound) {
  NoiseRates loud;
  loud.pcie_replays = 20000;
  loud.scrape_every = minutes(1);
  EXPECT_FALSE(play(8, hours(6), 1, loud).findings.empty());
}

}  // namespace
}  // namespace muster::trial
