#include "adapters/agent/spool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "adapters/agent/cursor.h"

namespace muster::agent {
namespace {

struct AgentSpool : ::testing::Test {
  void SetUp() override {
    char name[] = "/tmp/muster-spool-XXXXXX";
    folder = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::unique_ptr<Spool> open(SpoolLimits limits = {}) {
    auto s = Spool::open(folder + "/spool", limits);
    EXPECT_TRUE(s) << s.error().what;
    return std::move(*s);
  }
  std::string folder;
};

using Lines = std::vector<std::string>;

TEST_F(AgentSpool, KeepsLinesOverRestartsUntilTheyAreAcknowledged) {
  {
    auto s = open();
    for (const char* line : {"a", "b", "c"}) EXPECT_EQ(s->append(line), Spool::Kept::disk);
    EXPECT_EQ(s->peek(2, 1000), (Lines{"a", "b"}));
    s->acknowledge(2);
  }
  {
    auto s = open();
    EXPECT_EQ(s->peek(10, 1000), Lines{"c"});
    s->append("d");
    s->acknowledge(1);
    EXPECT_EQ(s->peek(10, 1000), Lines{"d"});
    s->acknowledge(1);
    EXPECT_TRUE(s->empty());
  }
  EXPECT_TRUE(open()->peek(10, 1000).empty());
  EXPECT_EQ(std::filesystem::file_size(folder + "/spool"), 16U) << "an empty spool takes no room";
}

TEST_F(AgentSpool, ALineCutByAKillIsLeftOut) {
  open()->append("whole");
  std::ofstream(folder + "/spool", std::ios::app | std::ios::binary) << "torn";
  auto s = open();
  s->append("next");
  EXPECT_EQ(s->peek(10, 1000), (Lines{"whole", "next"}));
}

TEST_F(AgentSpool, WhenFullItKeepsTheOldestAndSaysNo) {
  auto s = open({.disk_bytes = 16 + 10 * 100, .memory_bytes = 3 * 99});
  const std::string line(99, 'x');
  int disk = 0, memory = 0, no = 0;
  for (int i = 0; i < 20; ++i) {
    const auto kept = s->append(line);
    (kept == Spool::Kept::disk ? disk : kept == Spool::Kept::memory ? memory : no) += 1;
  }
  EXPECT_EQ(disk, 10);
  EXPECT_EQ(memory, 3);
  EXPECT_EQ(no, 7);
  // Room made by acknowledging is used again, in order.
  s->acknowledge(10);
  EXPECT_EQ(s->append("last"), Spool::Kept::disk);
  EXPECT_FALSE(s->in_memory());
  EXPECT_EQ(s->peek(10, 10'000), (Lines{line, line, line, "last"}));
}

TEST_F(AgentSpool, AcknowledgedRoomIsUsedAgainWhileLinesWait) {
  auto s = open({.disk_bytes = 4096, .memory_bytes = 0});
  std::uint64_t next = 0, expected = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 7; ++i) ASSERT_EQ(s->append(std::to_string(next++)), Spool::Kept::disk) << next;
    const Lines lines = s->peek(6, 1000);
    for (const std::string& l : lines) ASSERT_EQ(l, std::to_string(expected++));
    s->acknowledge(lines.size());
    if (round % 50 == 49) s = open({.disk_bytes = 4096, .memory_bytes = 0});
  }
}

TEST_F(AgentSpool, RefusesAFileThatIsNoSpool) {
  std::ofstream(folder + "/spool") << "somebody else's file, longer than a head";
  EXPECT_FALSE(Spool::open(folder + "/spool", {}));
}

TEST_F(AgentSpool, TheCursorNeverGivesANumberTwice) {
  std::uint64_t last = 0;
  std::string id;
  for (int run = 0; run < 3; ++run) {
    auto c = Cursor::open(folder + "/cursor");
    ASSERT_TRUE(c);
    if (run > 0) {
      EXPECT_EQ((*c)->id(), id);
    }
    id = (*c)->id();
    for (int i = 0; i < 1500; ++i) {
      const std::uint64_t n = (*c)->next_own();
      ASSERT_GT(n, last);
      last = n;
    }
    (*c)->save({"boot", 7, 8, 9});
  }
  EXPECT_EQ((*Cursor::open(folder + "/cursor"))->position(), (Position{"boot", 7, 8, 9}));
}

}  // namespace
}  // namespace muster::agent
