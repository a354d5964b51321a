#include "adapters/accept/choose.h"

#include <gtest/gtest.h>

namespace muster::bench {
namespace {

std::vector<accepting::Gpu> three() {
  std::vector<accepting::Gpu> out(3);
  for (int i = 0; i < 3; ++i) {
    out[static_cast<std::size_t>(i)].gpu = i;
    out[static_cast<std::size_t>(i)].uuid = "GPU-abc-" + std::to_string(i);
    out[static_cast<std::size_t>(i)].pci = "00000000:" + std::to_string(i + 1) + "B:00.0";
  }
  return out;
}

std::vector<int> chosen(std::vector<std::string> wanted) {
  const auto r = choose_gpus(wanted, three());
  EXPECT_TRUE(r.has_value()) << r.error().what;
  return r.value_or(std::vector<int>{});
}

TEST(ChooseGpus, NothingWantedIsAll) { EXPECT_EQ(chosen({}), (std::vector<int>{0, 1, 2})); }

TEST(ChooseGpus, NumbersUuidsAndAddressesInAnySpellingNameTheSame) {
  EXPECT_EQ(chosen({"2", "0"}), (std::vector<int>{0, 2})) << "in the node's order";
  EXPECT_EQ(chosen({"gpu-ABC-1"}), std::vector<int>{1});
  EXPECT_EQ(chosen({"0000:2b:00"}), std::vector<int>{1});
  EXPECT_EQ(chosen({"0000:2B:00.0", "1", "GPU-abc-1"}), std::vector<int>{1}) << "each once";
}

TEST(ChooseGpus, WhatIsNotThereIsAnErrorThatSaysWhatIs) {
  for (const std::string word : {"3", "GPU-abc", "0000:9b:00.0", "", "-1", "\x1b[2J"}) {
    const auto r = choose_gpus(std::vector<std::string>{word}, three());
    ASSERT_FALSE(r.has_value()) << word;
    EXPECT_EQ(r.error().code, Code::not_found);
    EXPECT_NE(r.error().next.find("1 (GPU-abc-1)"), std::string::npos);
    EXPECT_EQ(r.error().what.find('\x1b'), std::string::npos);
  }
}

}  // namespace
}  // namespace muster::bench
