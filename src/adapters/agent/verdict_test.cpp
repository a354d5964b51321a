#include "adapters/agent/verdict.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "adapters/agent/kernel_source.h"

namespace muster::agent {
namespace {

constexpr const char* kLine = "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.";

Picture node(bool xid, bool lost, const char* pci = "00000000:1B:00.0") {
  Picture p;
  p.readings.gpus[0].facts["pci"] = pci;
  p.readings.gpus[0].values["muster_gpu_lost"] = lost ? 1 : 0;
  if (xid) p.figures.fatal["0000:1b:00"] = kLine;
  return p;
}

TEST(NodeVerdict, IsBrokenOnlyWhereKernelAndNvmlSpeakOfTheSameGpu) {
  EXPECT_EQ(judge_node(node(false, false)).fitness, Fitness::fit);
  EXPECT_EQ(judge_node(node(true, false)).fitness, Fitness::trouble);
  EXPECT_EQ(judge_node(node(false, true)).fitness, Fitness::trouble);
  EXPECT_EQ(judge_node(node(true, true, "00000000:2B:00.0")).fitness, Fitness::trouble) << "two GPUs, one witness each";
  const Verdict v = judge_node(node(true, true));
  EXPECT_EQ(v.fitness, Fitness::broken);
  EXPECT_EQ(v.text, std::string("NVML has lost GPU 0; ") + kLine);
  Picture hangs = node(true, false);
  hangs.figures.probes["nvml"].hung = true;
  EXPECT_EQ(judge_node(hangs).fitness, Fitness::broken);
  hangs.figures.fatal.clear();
  EXPECT_EQ(judge_node(hangs).fitness, Fitness::trouble) << "a driver that hangs is one witness";
}

TEST(NodeVerdict, IsALineThatReadsBack) {
  const Verdict v{Fitness::broken, "9f3c", 86400, 2, "NVML has lost GPU 0; and so on"};
  EXPECT_EQ(render_verdict(v), "broken 9f3c 86400 2 NVML has lost GPU 0; and so on\n");
  EXPECT_EQ(parse_verdict(render_verdict(v)), v);
  const Verdict fit{Fitness::fit, "9f3c", 5, {}, ""};
  EXPECT_EQ(parse_verdict(render_verdict(fit)), fit);
  for (const char* bad :
       {"", "\n", "fit", "fit 9f3c 5 -", "fit 9f3c 5\n", "fat 9f3c 5 - \n", "fit 9f3c five - \n", "fit 9f3c 5 x \n"})
    EXPECT_FALSE(parse_verdict(bad)) << bad;
}

TEST(Hook, SaysNoOnlyOnAFreshBrokenVerdictWithinItsBudget) {
  const Verdict broken{Fitness::broken, "boot", 1000, 2, "lost"};
  const HookMoment now{"boot", 1010, {}};
  EXPECT_FALSE(answer_hook(broken, now).pass);
  Verdict other = broken;
  other.fitness = Fitness::trouble;
  EXPECT_TRUE(answer_hook(other, now).pass) << "one witness is not enough";
  EXPECT_TRUE(answer_hook(other, now).finding.empty()) << "the controller has heard of it already";
  EXPECT_TRUE(answer_hook(std::nullopt, now).pass);
  EXPECT_FALSE(answer_hook(std::nullopt, now).finding.empty());
  EXPECT_TRUE(answer_hook(broken, {"boot", 1031, {}}).pass) << "stale";
  EXPECT_FALSE(answer_hook(broken, {"boot", 1031, {}}).finding.empty());
  EXPECT_TRUE(answer_hook(broken, {"next boot", 1010, {}}).pass);
  EXPECT_TRUE(answer_hook(broken, {"boot", 1010, 900}).pass) << "it said no less than an hour ago";
  EXPECT_FALSE(answer_hook(broken, {"boot", 1010, 1010 - kRefusalEvery_s}).pass);
  other = broken;
  other.left.reset();
  EXPECT_TRUE(answer_hook(other, now).pass) << "nobody knows how many others say no";
  EXPECT_FALSE(answer_hook(other, now).finding.empty());
  other.left = 0;
  EXPECT_TRUE(answer_hook(other, now).pass) << "the controller lets no more nodes go";
  other.left = 1;
  EXPECT_FALSE(answer_hook(other, now).pass);
}

struct HookFiles : ::testing::Test {
  void SetUp() override {
    char name[] = "/tmp/muster-hook-XXXXXX";
    folder = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void say(Fitness f, std::int64_t age_s = 0) {
    ASSERT_TRUE(save_verdict(folder, {f, machine_boot(), uptime_s() - age_s, 1, "lost"}));
  }
  std::string folder;
};

TEST_F(HookFiles, OneNoAnHourAndAWordForTheController) {
  say(Fitness::broken);
  EXPECT_FALSE(run_hook(folder, "prolog", "17").pass);
  EXPECT_TRUE(run_hook(folder, "prolog", "18").pass);
  EXPECT_TRUE(run_hook(folder, "epilog", "18").pass) << "prolog and epilog share the budget";
  const auto words = take_hook_words(folder);
  ASSERT_EQ(words.size(), 3U);
  EXPECT_EQ(words[0].hook, "prolog");
  EXPECT_EQ(words[0].text, "job 17: it said no to a job: lost");
  EXPECT_EQ(words[2].hook, "epilog");
  EXPECT_TRUE(take_hook_words(folder).empty()) << "told once";
}

TEST_F(HookFiles, WithoutAgentOrFolderItPasses) {
  EXPECT_TRUE(run_hook(folder, "prolog", "17").pass);
  EXPECT_EQ(take_hook_words(folder).size(), 1U);
  EXPECT_TRUE(run_hook(folder + "/nowhere", "prolog", "17").pass);
  say(Fitness::broken, kVerdictStale_s + 1);
  EXPECT_TRUE(run_hook(folder, "prolog", "17").pass);
  std::ofstream(folder + "/verdict") << "broken";
  EXPECT_TRUE(run_hook(folder, "prolog", "17").pass) << "a torn line says nothing";
}

TEST_F(HookFiles, ABudgetThatCannotBeKeptIsNone) {
  say(Fitness::broken);
  std::filesystem::create_directory(folder + "/refused");
  EXPECT_TRUE(run_hook(folder, "prolog", "17").pass);
}

TEST_F(HookFiles, WordsDoNotPileUpWithoutAnAgent) {
  for (int i = 0; i < 2000; ++i) run_hook(folder, "prolog", "17");
  EXPECT_LT(std::filesystem::file_size(folder + "/hook-words"), 70'000U);
}

}  // namespace
}  // namespace muster::agent
