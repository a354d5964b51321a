#include "detect/fabric_silence.h"

#include <gtest/gtest.h>

#include "detect/watch.h"

namespace muster::detect {
namespace {

class FabricSilenceTest : public ::testing::Test {
 protected:
  void hear(const std::string& name, Duration every, Duration later = seconds(1)) {
    w.heard.push_back({name, every});
    look(later);
  }
  void look(Duration later) {
    w.everybody_reports();
    w.look(later);
  }
  std::vector<const Finding*> open() const {
    std::vector<const Finding*> out;
    for (const auto& [id, f] : w.t.s.findings) {
      if (f.kind == FindingKind::fabric_fault && f.cleared.ns == 0) out.push_back(&f);
    }
    return out;
  }
  Watch w{4};
};

TEST_F(FabricSilenceTest, AWatchThatIsHeardNoMoreIsOneFindingUntilItIsHeard) {
  hear("rail3", seconds(30));
  const Time heard = w.t.s.mono();
  EXPECT_LE(w.detectors.next(w.t.s), heard + minutes(15));
  look(minutes(14));
  EXPECT_TRUE(open().empty());
  look(minutes(1));
  look(minutes(10));
  ASSERT_EQ(open().size(), 1U);
  const Finding& f = *open()[0];
  EXPECT_EQ(f.subject, "rail3: unwatched");
  EXPECT_FALSE(f.node.some());
  EXPECT_EQ(f.slot, -1);
  EXPECT_EQ(f.severity, Severity::warning);
  const std::string& text = f.evidence.front().text;
  EXPECT_NE(text.find("for 15m 00s of the watch of the network rail3, which reads it every 30.0s"), std::string::npos) << text;
  EXPECT_NE(text.find("; do: see that `muster fabric watch` runs"), std::string::npos) << text;
  EXPECT_TRUE(w.t.s.suspect_leaves.empty());
  hear("rail4", seconds(30));
  EXPECT_EQ(open().size(), 1U) << "another network's watch";
  hear("rail3", seconds(30));
  EXPECT_TRUE(open().empty());
}

TEST_F(FabricSilenceTest, AWatchThatReadsSeldomIsAwaitedForFiveReadings) {
  hear("", minutes(10));
  look(minutes(49));
  EXPECT_TRUE(open().empty());
  look(minutes(2));
  ASSERT_EQ(open().size(), 1U);
  EXPECT_EQ(open()[0]->subject, "unwatched");
}

TEST_F(FabricSilenceTest, WhoeverSaysNoIntervalIsNotAwaited) {
  hear("", Duration{});
  look(hours(2));
  EXPECT_TRUE(open().empty());
  hear("", seconds(30));
  look(hours(2));
  EXPECT_EQ(open().size(), 1U);
  hear("", Duration{});
  EXPECT_TRUE(open().empty()) << "somebody looked";
  look(hours(2));
  EXPECT_TRUE(open().empty()) << "and will not look again";
}

TEST_F(FabricSilenceTest, AControllerThatStartsAnewKnowsIt) {
  hear("rail3", seconds(30));
  look(hours(1));
  ASSERT_EQ(open().size(), 1U);
  w.restart();
  w.event(FabricSaid{true, {}, 0, 0, "rail3"});
  look(hours(1));
  EXPECT_EQ(open().size(), 1U) << "told once, and ended by the word that it is heard alone";
  hear("rail3", seconds(30));
  EXPECT_TRUE(open().empty());
}

TEST_F(FabricSilenceTest, NetworksAreBounded) {
  for (int i = 0; i < 100; ++i) w.heard.push_back({"net" + std::to_string(i), seconds(30)});
  look(seconds(1));
  look(hours(1));
  EXPECT_EQ(open().size(), 64U);
}

}  // namespace
}  // namespace muster::detect
