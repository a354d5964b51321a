#include "adapters/accept/kernel_words.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace muster::bench {
namespace {

struct AcceptKernelWords : ::testing::Test {
  void SetUp() override {
    char name[] = "/tmp/muster-words-XXXXXX";
    folder = mkdtemp(name);
    path = folder + "/kmsg";
    add("3,1,1,-;NVRM: Xid (PCI:0000:1b:00): 79, pid=1, name=x, GPU has fallen off the bus.");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void add(const std::string& record) { std::ofstream(path, std::ios::app) << record << "\n"; }
  std::vector<accepting::KernelWord> read(KernelWords& k, double at_s = 7) {
    std::vector<accepting::KernelWord> out;
    k.read(at_s, [&](accepting::KernelWord w) { out.push_back(std::move(w)); });
    return out;
  }
  KernelWords open() { return KernelWords(path, {{*read_pci("0000:1b:00"), 0}, {*read_pci("0000:2b:00"), 1}}, {0}); }
  std::string folder, path;
};

TEST_F(AcceptKernelWords, WhatWasSaidBeforeIsNotOfThisRecording) {
  KernelWords k = open();
  EXPECT_EQ(k.unreadable(), "");
  EXPECT_TRUE(read(k).empty());
}

TEST_F(AcceptKernelWords, XidsLossesAndErrorsOfTheLinkAreOfTheirGpu) {
  KernelWords k = open();
  add("3,2,2,-;NVRM: Xid (PCI:0000:1b:00): 48, pid=12, name=python3, An uncorrectable double bit error (DBE) has been detected");
  add("3,3,3,-;NVRM: GPU at PCI:0000:1b:00: GPU-abc");
  add("4,4,4,-;nvidia 0000:1b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)");
  add("4,5,5,-;nvme 0000:05:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)");
  add("3,6,6,-;nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error");
  const auto words = read(k);
  ASSERT_EQ(words.size(), 3u);
  EXPECT_EQ(words[0].gpu, 0);
  EXPECT_EQ(words[0].code, 48);
  EXPECT_EQ(words[0].at_s, 7);
  EXPECT_NE(words[0].text.find("double bit"), std::string::npos);
  EXPECT_EQ(words[1].gpu, 0);
  EXPECT_EQ(words[1].code, 0) << "no Xid";
  EXPECT_EQ(words[2].gpu, -1) << "a switch is of all of them";
  EXPECT_EQ(words[2].code, 0);
}

TEST_F(AcceptKernelWords, GpusThatOthersUseAndUsersWordsDoNotCount) {
  KernelWords k = open();
  add("3,2,2,-;NVRM: Xid (PCI:0000:2b:00): 48, pid=12, name=python3, An uncorrectable double bit error (DBE) has been detected");
  add("12,3,3,-;NVRM: Xid (PCI:0000:1b:00): 48, pid=12, name=forged");
  add("NVRM: Xid (PCI:0000:1b:00): 48, pid=12, name=a line without its head");
  EXPECT_TRUE(read(k).empty());
}

TEST_F(AcceptKernelWords, AFloodIsBoundedAndCounted) {
  KernelWords k = open();
  for (int i = 0; i < 1500; ++i) add("3,9,9,-;NVRM: Xid (PCI:0000:1b:00): 31, pid=12, name=python3, Ch 00000008");
  std::size_t n = 0;
  for (int i = 0; i < 10; ++i) n += read(k).size();
  EXPECT_EQ(n, KernelWords::kWordsMax);
  EXPECT_EQ(k.left_out(), 500u);
}

TEST_F(AcceptKernelWords, ALogThatMayNotBeReadIsSaid) {
  path = folder + "/nowhere/kmsg";
  KernelWords k = open();
  EXPECT_NE(k.unreadable().find("nowhere/kmsg"), std::string::npos);
  EXPECT_EQ(k.fd(), -1);
  EXPECT_TRUE(read(k).empty());
}

}  // namespace
}  // namespace muster::bench
