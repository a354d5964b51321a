#include "ingest/lspci.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr const char* kTwoDevices =
    "17:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)\n"
    "\tCapabilities: [68] Express (v2) Downstream Port\n"
    "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
    "\t\tLnkSta:\tSpeed 32GT/s, Width x16\n"
    "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n"
    "\n"
    "0000:18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n"
    "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
    "\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (downgraded)\n";

TEST(Lspci, ReadsLinksAndAcsOfEachDevice) {
  ASSERT_TRUE(looks_like_lspci(kTwoDevices));
  const auto ports = parse_lspci(kTwoDevices, "lspci.txt");
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0].address, "17:00.0");
  EXPECT_TRUE(ports[0].bridge() && ports[0].acs && ports[0].source_validated && ports[0].redirected);
  EXPECT_EQ(ports[0].line, 5U) << "where ACS is told";
  EXPECT_FALSE(ports[1].acs);
  EXPECT_TRUE(ports[1].gpu());
  EXPECT_EQ(ports[1].lanes, 8U);
  EXPECT_EQ(ports[1].lanes_most, 16U);
  EXPECT_DOUBLE_EQ(ports[1].gt_s, 2.5);
}

TEST(Lspci, LinesCutOutByGrepAreADeviceEach) {
  const auto ports = parse_lspci(
      "  ACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
      "  ACSCtl: SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n",
      "acs");
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_FALSE(ports[0].source_validated);
  EXPECT_TRUE(ports[1].source_validated);
  EXPECT_FALSE(ports[1].redirected);
}

TEST(Lspci, OtherTextsAreNone) {
  EXPECT_FALSE(looks_like_lspci("n1:1:2 [0] NCCL INFO Using network IB\n"));
  EXPECT_TRUE(parse_lspci("LnkSta of nothing\n", "x").empty());
}

}  // namespace
}  // namespace muster
