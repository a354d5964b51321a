#include "report/accept_fleet_page.h"

#include <gtest/gtest.h>

#include <ctime>

#include "accept/sample.h"
#include "ingest/json.h"
#include "report/units.h"

namespace muster::report {
namespace {

using accept::kHostileName;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string section(const std::string& page, std::string_view id) {
  const auto at = page.find("id=\"" + std::string(id) + "\"");
  return at == page.npos ? "" : page.substr(at, page.find("</section>", at) - at);
}

// Twelve nodes: a slow memory at one, a wrong result at another, a test that did not run at a third.
class AcceptFleetPage : public ::testing::Test {
 protected:
  explicit AcceptFleetPage(std::uint32_t nodes = 12) : recordings(accept::sample_fleet(nodes)) {
    for (auto& m : recordings[4].measured) {
      if (m.gpu == 3 && m.metric == "hbm_read") m.value *= 0.66;
    }
    recordings[7].wrong.push_back({2, AcceptTest::march, 0, "address 0x1f00000040", 1, "bit 7"});
    for (auto& r : recordings[2].ran) {
      if (r.gpu == 1 && r.test == AcceptTest::gemm_fp8) r.state = TestState::could_not_run, r.why = "out of memory";
    }
    limits.emplace(recordings);
    fleet = accept::fleet_of(accept::figures_of(recordings), *limits);
  }
  AcceptedFleet shown() const { return {recordings, fleet, &*limits, "cluster-a", {}}; }

  std::vector<Acceptance> recordings;
  std::optional<accept::Limits> limits;
  accept::Fleet fleet;
};

TEST_F(AcceptFleetPage, CountsAndWhatIsWrongStandFirst) {
  const std::string page = accept_fleet_page(shown());
  EXPECT_EQ(accept_fleet_sentence(shown()), "FAIL 2, COULD NOT RUN 1, PASS 9 of 12 nodes (96 GPUs)");
  EXPECT_TRUE(has(section(page, "verdicts"), "FAIL 2, COULD NOT RUN 1, PASS 9"));
  EXPECT_TRUE(has(page, "<title>FAIL 2, COULD NOT RUN 1, PASS 9 of 12 nodes (96 GPUs): cluster-a</title>"));
  const std::string bad = section(page, "bad");
  for (const char* node : {"gpu0005", "gpu0008", "gpu0003"}) EXPECT_TRUE(has(bad, node)) << node;
  EXPECT_FALSE(has(bad, "gpu0001"));
  EXPECT_LT(bad.find("gpu0008"), bad.find("gpu0003")) << "a failure stands before what could not run";
  EXPECT_TRUE(has(bad, "address 0x1f00000040"));
  EXPECT_TRUE(has(bad, "out of memory"));
  EXPECT_LT(page.find("id=\"bad\""), page.find("id=\"kind1\""));
}

TEST_F(AcceptFleetPage, EachFigureOfAKindIsDrawnWithItsLimitAndTheOnesBeyondByName) {
  const std::string kind = section(accept_fleet_page(shown()), "kind1");
  EXPECT_TRUE(has(kind, "NVIDIA H200 (692-2G520-0280-001), 700 W, driver 580.159.04"));
  EXPECT_TRUE(has(kind, "id=\"kind1_hbm_read\""));
  EXPECT_TRUE(has(kind, "id=\"kind1_hbm_read_narrow\""));
  EXPECT_TRUE(has(kind, "id=\"kind1_mhz_at_cap\""));
  EXPECT_TRUE(has(kind, "1 beyond it:</b> gpu0005 GPU 3 ("));
  EXPECT_TRUE(has(kind, "The same on all that told it: SMs 132"));
}

TEST_F(AcceptFleetPage, EveryGpuStandsInTheTableWithItsPercentiles) {
  const std::string all = section(accept_fleet_page(shown()), "all");
  for (int n = 1; n <= 12; ++n) EXPECT_TRUE(has(all, "gpu00" + std::string(n < 10 ? "0" : "") + std::to_string(n))) << n;
  EXPECT_TRUE(has(all, "<u>▾1</u>")) << "beyond a limit it has a mark, not only a colour";
  EXPECT_TRUE(has(all, "1650000000503"));
}

TEST_F(AcceptFleetPage, RawFiguresAreThereAndItIsSaidWhereTheSamplesAre) {
  const std::string raw = section(accept_fleet_page(shown()), "raw");
  EXPECT_TRUE(has(raw, "node,gpu,uuid,verdict"));
  EXPECT_TRUE(has(raw, "recordings/gpu0005.jsonl"));
  EXPECT_TRUE(has(raw, "Samples of power, clock and heat are in the recordings"));
}

TEST_F(AcceptFleetPage, NamesStayTextAndNothingIsAskedOfAnyNetwork) {
  const std::string name(kHostileName);
  for (Acceptance& a : recordings) {
    a.host.name = a.file = a.host.driver = name;
    for (auto& g : a.gpus) g.serial = g.model = name, g.uuid += name;
    for (auto& r : a.ran) r.why = name;
    for (auto& w : a.wrong) w.place = w.detail = name;
  }
  limits.emplace(recordings);
  fleet = accept::fleet_of(accept::figures_of(recordings), *limits);
  AcceptedFleet f = shown();
  f.name = name;
  const std::string page = accept_fleet_page(f);
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_TRUE(has(page, "&lt;script&gt;"));
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  for (const char* request : {"http://", "https://", "src=", "@import", "url("}) EXPECT_FALSE(has(page, request)) << request;
  EXPECT_EQ(render_accept_fleet(f, false).find('\x1b'), std::string::npos);
  EXPECT_TRUE(parse_json(accept_fleet_json(f)));
}

TEST_F(AcceptFleetPage, ProgramsGetEveryNodeAndEveryGpu) {
  const auto json = parse_json(accept_fleet_json(shown()));
  ASSERT_TRUE(json);
  EXPECT_EQ(number_of(*json->find("counts"), "fail"), 2);
  const auto& nodes = list_of(*json, "nodes");
  ASSERT_EQ(nodes.size(), 12U);
  EXPECT_EQ(text_of(nodes[4], "verdict"), "FAIL");
  EXPECT_EQ(text_of(list_of(nodes[4], "troubles")[0], "metric"), "hbm_read");
  const auto& kinds = list_of(*json, "kinds");
  ASSERT_EQ(kinds.size(), 1U);
  const auto& gpus = list_of(kinds[0], "gpus");
  ASSERT_EQ(gpus.size(), 96U);
  EXPECT_EQ(list_of(gpus[0], "values").size(), list_of(kinds[0], "metrics").size());
  EXPECT_EQ(list_of(gpus[0], "percentiles").size(), list_of(kinds[0], "metrics").size());
}

TEST_F(AcceptFleetPage, ATerminalGetsTheCountsAndTheNodesThatAreNotPass) {
  const std::string text = render_accept_fleet(shown(), false);
  EXPECT_TRUE(text.starts_with(accept_fleet_sentence(shown()) + "\n"));
  EXPECT_TRUE(has(text, "gpu0008"));
  EXPECT_FALSE(has(text, "gpu0001"));
}

TEST_F(AcceptFleetPage, AFleetWithoutTroubleSaysSo) {
  recordings = accept::sample_fleet(5);
  limits.emplace(recordings);
  fleet = accept::fleet_of(accept::figures_of(recordings), *limits);
  EXPECT_EQ(accept_fleet_sentence(shown()), "PASS 5 of 5 nodes (40 GPUs)");
  EXPECT_TRUE(has(section(accept_fleet_page(shown()), "bad"), "None."));
}

TEST_F(AcceptFleetPage, NoRecordingIsAPageThatSaysSo) {
  recordings.clear();
  limits.emplace(recordings);
  fleet = accept::fleet_of(accept::figures_of(recordings), *limits);
  const std::string page = accept_fleet_page(shown());
  EXPECT_TRUE(has(page, "Nothing was measured"));
  EXPECT_EQ(accept_fleet_sentence(shown()), "no recording was given");
  EXPECT_FALSE(has(page, "id=\"kind1\""));
}

class AcceptFleetOfThousands : public AcceptFleetPage {
 protected:
  AcceptFleetOfThousands() : AcceptFleetPage(1000) {}
};

TEST_F(AcceptFleetOfThousands, AThousandNodesAreAPageOfAFewMegabytesInLittleTime) {
  const std::clock_t from = std::clock();
  const std::string page = accept_fleet_page(shown());
  const double took_s = static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
  // A fifth of a second as it is released; tests are compiled for other things than speed, and sanitizers take their time.
  EXPECT_LT(took_s, 8);
  EXPECT_LT(page.size(), 8'000'000U);
  EXPECT_TRUE(has(page, "PASS 997 of 1,000 nodes (8,000 GPUs)"));
  EXPECT_TRUE(has(page, "gpu1000"));
}

}  // namespace
}  // namespace muster::report
