#include "adapters/agent/accept_word.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "adapters/agent/word_file.h"
#include "ingest/json.h"

namespace muster::agent {
namespace {

struct AcceptWords : ::testing::Test {
  void SetUp() override {
    char name[] = "/tmp/muster-accept-XXXXXX";
    folder = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::vector<std::string> taken() {
    std::vector<std::string> out;
    take_accept_words(folder, [&](const std::string& members) {
      out.push_back(members);
      return true;
    });
    return out;
  }
  static AcceptanceWord word(const std::string& part = "SMs: SM 17") {
    AcceptanceWord w;
    w.profile = "quick";
    w.gpus = {{0, "00000000:1B:00.0", "GPU-a", true, {}},
              {1, "00000000:2B:00.0", "GPU-b", false, {{AcceptFault::wrong_results, true, part, "3 results"}}}};
    w.faults = {{AcceptFault::not_run, true, "GPU", "no NCCL"}};
    return w;
  }
  std::string folder;
};

TEST_F(AcceptWords, AWordIsTakenOnceAndSaysWhichGpuHasWhat) {
  ASSERT_TRUE(save_accept_word(folder, word()));
  const auto all = taken();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(
      all[0],
      R"("acceptance":{"profile":"quick","gpus":[{"index":0,"pci":"00000000:1B:00.0","uuid":"GPU-a","passed":true,"faults":[]},)"
      R"({"index":1,"pci":"00000000:2B:00.0","uuid":"GPU-b","passed":false,"faults":[{"kind":"wrong_results","failed":true,)"
      R"("part":"SMs: SM 17","text":"3 results"}]}],"faults":[{"kind":"not_run","failed":true,"part":"GPU","text":"no NCCL"}]})");
  EXPECT_TRUE(taken().empty());
}

TEST_F(AcceptWords, WhatThereIsNoRoomForStaysForTheNextTime) {
  for (const char* part : {"a", "b", "c"}) ASSERT_TRUE(save_accept_word(folder, word(part)));
  int room = 1;
  take_accept_words(folder, [&](const std::string&) { return room-- > 0; });
  ASSERT_TRUE(save_accept_word(folder, word("d")));
  EXPECT_EQ(taken().size(), 2U) << "those that were being taken come first";
  const auto rest = taken();
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_NE(rest[0].find(R"("part":"d")"), std::string::npos);
}

TEST_F(AcceptWords, WhatIsNoWordIsLeftOutAndSpoilsNoOther) {
  ASSERT_TRUE(save_accept_word(folder, word()));
  for (const char* line :
       {R"("word":"probe_hung")", R"("acceptance":{},"word":"x")", R"("acceptance":{)", "", "}, {", "\"acceptance\":\t{}"})
    ASSERT_TRUE(leave_word(folder, "accept-words", line, 1 << 20));
  ASSERT_TRUE(save_accept_word(folder, word()));
  EXPECT_EQ(taken().size(), 2U);
}

TEST_F(AcceptWords, LinesOfHostileTextStayOneLine) {
  ASSERT_TRUE(save_accept_word(folder, word("SM\n\t\x1b[31m" + std::string(5000, 'x'))));
  const auto all = taken();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].find('\t'), std::string::npos);
  EXPECT_LT(all[0].size(), 1000U);
}

TEST_F(AcceptWords, WithoutAnAgentTheyDoNotPileUpAndItIsSaid) {
  Result<void> r;
  for (int i = 0; i < 10'000 && r; ++i) r = save_accept_word(folder, word());
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::refused);
  EXPECT_LE(std::filesystem::file_size(folder + "/accept-words"), 1U << 20);
  EXPECT_FALSE(save_accept_word(folder + "/nowhere", word()));
}

TEST_F(AcceptWords, ALinkInPlaceOfTheFileIsNotFollowed) {
  std::ofstream(folder + "/other") << "precious";
  std::filesystem::create_symlink(folder + "/other", folder + "/accept-words");
  EXPECT_FALSE(save_accept_word(folder, word()));
  EXPECT_EQ(std::filesystem::file_size(folder + "/other"), 8U);
}

}  // namespace
}  // namespace muster::agent
