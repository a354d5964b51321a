#include <gtest/gtest.h>

#include <chrono>

#include "api/cluster_fixture.h"
#include "api/render.h"

namespace muster::api {
namespace {

Result<std::string> ask(const Snapshot& s, const Query& q) {
  const Faces faces = look(s.state);
  return render_map_values(Frame{s, faces}, q);
}

std::string answer(const Snapshot& s, const std::string& of) { return ask(s, {{"of", of}}).value_or("refused"); }

std::string field(const std::string& json, const std::string& name) {
  const std::string key = "\"" + name + "\":\"";
  const std::size_t at = json.find(key);
  if (at == std::string::npos) return "no such field";
  return json.substr(at + key.size(), json.find('"', at + key.size()) - at - key.size());
}

std::string letters(const Snapshot& s, const std::string& of) { return field(answer(s, of), "values"); }

bool has(const std::string& text, std::string_view piece) { return text.find(piece) != std::string::npos; }

// Nodes 1 and 2 of four have job 17.
struct MapValues : ::testing::Test {
  Cluster cluster;
  Snapshot now() const { return *cluster.latest(); }
  Snapshot with_readings(GpuReading all) const {
    Snapshot s = now();
    s.readings.assign(32, all);
    return s;
  }
};

TEST_F(MapValues, TellWhatTheyAreAndHaveOneLetterForEachGpu) {
  Snapshot s = with_readings({60, -1, -1, -1});
  s.readings[0].temp_c = 30;
  s.readings[1].temp_c = 90.6f;
  s.readings[2].temp_c = -1;
  EXPECT_EQ(answer(s, "temp"),
            "{\"seq\":6,\"of\":\"temp\",\"unit\":\"°C\",\"low\":30,\"high\":91,"
            "\"words\":\"temperature of the GPU, as last read\","
            "\"values\":\"0~-VVVVVVVVVVVVVVVVVVVVVVVVVVVVV\"}");
}

TEST_F(MapValues, ReadTemperaturesFrom30To90AndBeyondWhereThereAreSuch) {
  EXPECT_TRUE(has(answer(with_readings({61, 0, 0, 0}), "temp"), "\"low\":30,\"high\":90"));
  EXPECT_TRUE(has(answer(with_readings({21.5f, 0, 0, 0}), "temp"), "\"low\":21,\"high\":90"));
}

TEST_F(MapValues, ReadPowerFromZeroToTheHighestAndUtilisationAlwaysInPercent) {
  Snapshot s = with_readings({-1, 350, 50, -1});
  s.readings[31].power_w = 700;
  EXPECT_TRUE(has(answer(s, "power"), "\"unit\":\"W\",\"low\":0,\"high\":700"));
  EXPECT_EQ(letters(s, "power"), std::string(31, 'W') + "~");
  EXPECT_TRUE(has(answer(s, "util"), "\"unit\":\"%\",\"low\":0,\"high\":100"));
  EXPECT_EQ(letters(s, "util"), std::string(32, 'W'));
}

TEST_F(MapValues, SayThatReadingsAreUnknown) {
  Snapshot s = now();
  s.readings.clear();
  for (const std::string of : {"temp", "power", "util", "peers"}) EXPECT_EQ(letters(s, of), std::string(32, '-')) << of;
  s.readings.assign(1, {30, 100, 0, -1});
  EXPECT_EQ(letters(s, "temp"), "0" + std::string(31, '-'));
}

TEST_F(MapValues, NameAJobByItsNumber) {
  const std::string before = letters(now(), "job");
  EXPECT_EQ(before.substr(0, 16), std::string(16, before[0]));
  EXPECT_NE(before[0], '-');
  EXPECT_EQ(before.substr(16), std::string(16, '-'));
  cluster.tell(JobSubmitted{{18, 0}, {}});
  cluster.tell(JobStarted{{18, 0}, 1, {{2}}});
  const std::string after = letters(now(), "job");
  EXPECT_EQ(after.substr(0, 16), before.substr(0, 16));
  EXPECT_NE(after[16], after[0]) << "the next job's colour is another one";
}

TEST_F(MapValues, LetOneSlowOrHotGpuOfAJobStandOut) {
  Snapshot s = with_readings({60, -1, -1, 1950});
  s.readings[3].sm_clock_mhz = 1905;  // three steps of the clock
  s.readings[5].temp_c = 72;
  s.readings[6].temp_c = 40;  // cooler is not worse
  s.readings[7].sm_clock_mhz = 1980;
  EXPECT_EQ(letters(s, "peers"), "000W0~00" + std::string(8, '0') + std::string(16, '-'));
}

TEST_F(MapValues, MeasureADeviationInTheSpreadOfTheJob) {
  Snapshot s = with_readings({-1, -1, -1, -1});
  for (std::size_t g = 0; g < 16; ++g) s.readings[g].temp_c = g % 2 == 0 ? 56.0f : 64.0f;
  s.readings[0].temp_c = 76;
  const std::string spread = letters(s, "peers");
  EXPECT_EQ(spread[2], '0');
  EXPECT_LT(spread[0], '~') << "8 °C between neighbours are usual here, so 12 more are not beyond all measure";
  EXPECT_GT(spread[0], 'A');
}

TEST_F(MapValues, CompareNoGpuWithFewerThanEight) {
  Snapshot s = with_readings({-1, -1, -1, -1});
  for (std::size_t g = 0; g < 7; ++g) s.readings[g].temp_c = 60;
  EXPECT_EQ(letters(s, "peers"), std::string(32, '-'));
  s.readings[7].temp_c = 60;
  EXPECT_EQ(letters(s, "peers"), std::string(8, '0') + std::string(24, '-'));
}

TEST_F(MapValues, WeighFindingsAndHistoryAsRisk) {
  EXPECT_EQ(letters(now(), "risk"), std::string(32, '0'));
  cluster.break_gpu();  // GPU 3 of the second node, and the incident of it is no past one
  EXPECT_EQ(letters(now(), "risk"), std::string(8, '0') + "WWW~WWWW" + std::string(16, '0'));
  EXPECT_TRUE(has(answer(now(), "risk"), "not a probability"));
  Snapshot s = now();
  s.state.nodes[2].incidents = 2;
  s.state.nodes[3].incidents = 100;
  EXPECT_EQ(letters(s, "risk").substr(16), std::string(8, '6') + std::string(8, 'J'));
  s.state.findings.begin()->second.kind = FindingKind::app_error;
  EXPECT_EQ(letters(s, "risk")[11], '0') << "the job's own error says nothing about its GPU";
}

TEST_F(MapValues, CountWhatIsLostNow) {
  EXPECT_EQ(letters(now(), "money"), std::string(32, '0')) << "idle GPUs that nobody waits for lose nothing";
  EXPECT_TRUE(has(answer(now(), "money"), "\"unit\":\"GPU-h/h\",\"low\":0,\"high\":1,"));
  Snapshot s = now();
  s.state.policy.gpu_hour_price = 2.5;
  EXPECT_TRUE(has(answer(s, "money"), "\"unit\":\"USD/h\",\"low\":0,\"high\":2.5,"));
  s.state.jobs.begin()->second.phase = JobPhase::broken;
  EXPECT_EQ(letters(s, "money"), std::string(16, '~') + std::string(16, '0'));
  cluster.break_gpu();
  EXPECT_EQ(letters(now(), "money"), std::string(11, '0') + "~" + std::string(20, '0'));
  cluster.tell(JobSubmitted{{18, 0}, {}});
  EXPECT_EQ(letters(now(), "money").substr(16), std::string(16, '~')) << "a job waits for them";
}

TEST_F(MapValues, RefuseAnUnknownNameAndListTheKnownOnes) {
  for (const Query& q : {Query{}, Query{{"of", "colour\x1b"}}, Query{{"of", ""}}}) {
    const auto refused = ask(now(), q);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::bad_input);
    EXPECT_TRUE(has(refused.error().next, "job, temp, power, util, peers, risk, money")) << refused.error().next;
    EXPECT_FALSE(has(refused.error().what, "\x1b"));
  }
}

TEST(MapValuesOfALargeSite, TakeLessThanASecond) {
  constexpr std::uint32_t kNodes = 12'500;
  Snapshot s;
  s.state.site.gpus_per_node = 8;
  s.state.site.nodes.resize(kNodes);
  s.state.nodes.resize(kNodes);
  for (std::uint32_t n = 0; n < kNodes; ++n) s.state.nodes[n].shares = {{{n / 100 + 1, 0}, 0xff, 1000}};
  for (std::uint32_t g = 0; g < kNodes * 8; ++g) {
    s.readings.push_back({static_cast<float>(60 + g % 7), 700, 99, static_cast<float>(1950 - g % 5 * 15)});
  }
  const Faces faces = look(s.state);
  for (const std::string of : {"job", "temp", "power", "util", "peers", "risk", "money"}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto json = render_map_values(Frame{s, faces}, {{"of", of}});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    ASSERT_TRUE(json.has_value());
    EXPECT_EQ(field(*json, "values").size(), 100'000u);
    EXPECT_LT(json->size(), 101'000u);
    EXPECT_LT(took.count(), 1) << of;
  }
}

}  // namespace
}  // namespace muster::api
