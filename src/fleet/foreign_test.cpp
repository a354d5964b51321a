#include "fleet/foreign.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fleet/lockstep.h"

namespace muster::fleet {
namespace {

// Sixteen nodes of one kind: a machine, two GPUs and a card each.
FactTable sixteen() {
  FactTable t;
  for (int i = 0; i < 16; ++i) {
    const std::size_t n = t.node("n" + std::to_string(i));
    t.put(n, "", "node.product", "DGXH200");
    t.put(n, "", "cpu.model", "8480C");
    t.put(n, "", "gpu.count", "2");
    t.put(n, "", "nic.count", "1");
    t.put(n, "", "bios.version", "1.6.7");
    for (const char* gpu : {"gpu0", "gpu1"}) {
      t.put(n, gpu, "gpu.model", "H200");
      t.put(n, gpu, "vbios.version", "96.00.cf");
    }
    t.put(n, "mlx5_0", "nic.board_id", "MT_838");
    t.put(n, "mlx5_0", "nic.model", "ConnectX-7");
    t.put(n, "mlx5_0", "nic.firmware", "28.43");
  }
  return t;
}

RepairOf differences(const FactTable& t, const Declarations& declared = {}) {
  return differences_of(t, hold_against_kind(t, {}, declared, {}), nullptr);
}

std::string refused(const RepairOf& of, const char* fact) {
  const auto at = of.refused.find({3, fact});
  return at == of.refused.end() ? "" : at->second;
}

TEST(Foreign, FirmwareOfTheSameHardwareIsBroughtToWhatMostHave) {
  FactTable t = sixteen();
  t.put(3, "mlx5_0", "nic.firmware", "28.40");
  t.put(3, "gpu1", "vbios.version", "96.00.01");
  t.put(3, "", "bios.version", "1.5.0");
  const RepairOf of = differences(t);
  EXPECT_EQ(of.wishes.size(), 3u);
  EXPECT_TRUE(of.refused.empty());
}

TEST(Foreign, ACardOfAnotherModelTakesNoFirmwareOfTheOthers) {
  FactTable t = sixteen();
  t.put(3, "mlx5_0", "nic.board_id", "MT_884");
  t.put(3, "mlx5_0", "nic.model", "BlueField-3");
  t.put(3, "mlx5_0", "nic.firmware", "32.43");
  EXPECT_NE(refused(differences(t), "mlx5_0:nic.firmware").find("BlueField-3"), std::string::npos);
}

TEST(Foreign, NorDoesAGpuOfAnotherModelOrAMachineOfAnotherMaker) {
  FactTable gpu = sixteen(), machine = sixteen();
  gpu.put(3, "gpu1", "gpu.model", "H100");
  gpu.put(3, "gpu1", "vbios.version", "96.00.74");
  EXPECT_NE(refused(differences(gpu), "gpu1:vbios.version"), "");
  machine.put(3, "", "node.product", "XE9680");
  machine.put(3, "", "bios.version", "2.1");
  EXPECT_NE(refused(differences(machine), "bios.version").find("XE9680"), std::string::npos);
}

TEST(Foreign, WhereNobodyKnowsTheHardwareNoMajoritySpeaks) {
  FactTable t = sixteen();
  t.put_unreadable(3, "mlx5_0", "nic.board_id");
  t.put_unreadable(3, "mlx5_0", "nic.model");
  t.put(3, "mlx5_0", "nic.firmware", "28.40");
  EXPECT_NE(refused(differences(t), "mlx5_0:nic.firmware").find("not known"), std::string::npos);
}

TEST(Foreign, WhatIsDeclaredNeedsNoMajority) {
  FactTable t = sixteen();
  t.put(3, "", "node.product", "XE9680");
  t.put(3, "", "bios.version", "2.1");
  Declarations d(1);
  d[0] = {"", "bios.version", "2.2", false, {"n3"}, {}, "g:1"};
  EXPECT_EQ(refused(differences(t, d), "bios.version"), "");
}

TEST(Foreign, AShareThatIsNotAllIsNeverAHundredPercent) {
  FactTable t;
  for (int i = 0; i < 1000; ++i) t.put(t.node("n" + std::to_string(i)), "", "sysctl.vm.swappiness", i < 3 ? "60" : "1");
  EXPECT_EQ(differences(t).wishes.at(0).why, "99.7 % of its kind have it");
}

TEST(Lockstep, ThePackageOfTheSameReleaseIsTheSameRelease) {
  const auto apart = [](const char* driver, const char* manager) {
    const Wish a{0, 0, "", "driver.loaded", "", driver, false, "", true};
    const Wish b{0, 0, "", "fabricmanager.version", "", manager, false, "", true};
    const Wish* const both[] = {&a, &b};
    return why_apart({}, {}, 0, both);
  };
  EXPECT_EQ(apart("580.95.05", "580.95.05-1"), "");
  EXPECT_EQ(apart("580.95.05-1", "580.95.5"), "");
  EXPECT_EQ(apart("580.95.05-1", "1:580.95.05-0ubuntu1"), "");
  EXPECT_NE(apart("580.95.05", "580.95.06"), "");
  EXPECT_NE(apart("535.129.03", "580.159.04"), "");
}

}  // namespace
}  // namespace muster::fleet
