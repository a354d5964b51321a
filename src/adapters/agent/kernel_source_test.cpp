#include "adapters/agent/kernel_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "adapters/agent/record_budget.h"

namespace muster::agent {
namespace {

struct AgentKernelLog : ::testing::Test {
  void SetUp() override {
    char name[] = "/tmp/muster-kmsg-XXXXXX";
    folder = mkdtemp(name);
    path = folder + "/log";
    std::ofstream(path) << "old line\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void add(const std::string& text) { std::ofstream(path, std::ios::app) << text; }
  std::vector<std::string> read(KernelSource& s) {
    std::vector<std::string> out;
    s.read(1000, [&](const KernelPiece& p) {
      out.emplace_back(p.bytes);
      missing += p.missing;
      EXPECT_GT(p.seq, seq);
      seq = p.seq;
    });
    return out;
  }
  std::string folder, path;
  std::uint64_t missing = 0;
  std::uint64_t seq = 0;
};

using Lines = std::vector<std::string>;

TEST_F(AgentKernelLog, AFileIsFollowedFromItsEndAndIsNotTrusted) {
  auto s = KernelSource::open(path, {});
  ASSERT_TRUE(s);
  EXPECT_FALSE((*s)->trusted());
  EXPECT_EQ(read(**s), Lines{});
  add("one\ntw");
  EXPECT_EQ(read(**s), Lines{"one"});
  add("o\n");
  EXPECT_EQ(read(**s), Lines{"two"});
}

TEST_F(AgentKernelLog, AFileIsTrustedWhereTheSiteVouchesForIt) {
  auto s = KernelSource::open(path, {}, true);
  ASSERT_TRUE(s);
  EXPECT_TRUE((*s)->trusted());
  add("3,7,99,-;NVRM: Xid\n");
  EXPECT_EQ(read(**s), Lines{"3,7,99,-;NVRM: Xid"});
}

TEST_F(AgentKernelLog, ADeviceThatIsNotTheKernelsIsNotTrusted) {
  EXPECT_FALSE(KernelSource::open("/dev/null", {})) << "anybody may write to a terminal, which is a device as well";
}

TEST_F(AgentKernelLog, GoesOnWhereItWasAfterAKill) {
  auto first = KernelSource::open(path, {});
  add("one\n");
  read(**first);
  const Position kept = (*first)->position();
  add("two\n");
  auto second = KernelSource::open(path, kept);
  EXPECT_EQ((*second)->position().boot, kept.boot);
  EXPECT_EQ(read(**second), Lines{"two"});
}

TEST_F(AgentKernelLog, ARotatedAndACutFileAreReadFromTheirStartUnderANewName) {
  auto s = KernelSource::open(path, {});
  add("one\n");
  read(**s);
  const std::string boot = (*s)->position().boot;
  std::filesystem::rename(path, path + ".1");
  std::ofstream(path) << "two\n";
  (*s)->look_after();
  seq = 0;
  EXPECT_EQ(read(**s), Lines{"two"});
  EXPECT_NE((*s)->position().boot, boot);
  std::ofstream(path, std::ios::trunc) << "3\n";
  (*s)->look_after();
  seq = 0;
  EXPECT_EQ(read(**s), Lines{"3"});
}

TEST_F(AgentKernelLog, AHoleInTheKernelsNumbersIsSeen) {
  auto s = KernelSource::open(path, {});
  add("6,10,5,-;a\n6,11,6,-;b\n6,15,7,-;c\n");
  EXPECT_EQ(read(**s).size(), 3U);
  EXPECT_EQ(missing, 3U);
}

TEST_F(AgentKernelLog, ALineWithoutEndTakesNoRoom) {
  auto s = KernelSource::open(path, {});
  for (int i = 0; i < 100; ++i) add(std::string(10'000, 'x'));
  add("\nnext\n");
  EXPECT_EQ(read(**s), Lines{"next"});
  EXPECT_EQ((*s)->too_long(), 1U);
}

TEST(AgentRecordBudget, AFloodOfOneKindHidesNoOther) {
  RecordBudget b;
  Time t{};
  int passed = 0;
  for (int i = 0; i < 10'000; ++i) passed += b.take(kind_of_record("NVRM: Xid (PCI:0000:1b:00): 31, pid=7, x"), t) ? 1 : 0;
  EXPECT_EQ(passed, 20);
  EXPECT_TRUE(b.take(kind_of_record("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."), t));
  EXPECT_TRUE(b.take(kind_of_record("NVRM: Xid (PCI:0000:2b:00): 31, pid=7, x"), t));
  EXPECT_EQ(b.take_held_back(), 9'980U);
  EXPECT_EQ(b.take_held_back(), 0U);
  t = t + seconds(2);
  EXPECT_TRUE(b.take(kind_of_record("NVRM: Xid (PCI:0000:1b:00): 31, pid=9, y"), t));
}

TEST(AgentRecordBudget, ManyKindsShareWhatIsLeft) {
  RecordBudget b;
  int passed = 0;
  for (int i = 0; i < 100'000; ++i) passed += b.take(std::to_string(i), Time{}) ? 1 : 0;
  EXPECT_LE(passed, 300);
}

}  // namespace
}  // namespace muster::agent
