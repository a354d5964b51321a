#include "adapters/infiniband/port_info.h"

#include <gtest/gtest.h>

#include <array>

namespace muster::infiniband {
namespace {

// A port of a switch that runs at 4xHDR, is able to do NDR, and is Active and LinkUp.
std::array<std::uint8_t, 64> hdr_port() {
  std::array<std::uint8_t, 64> info{};
  info[22] = 0x40;  // has extended speeds
  info[30] = 3;     // 1 or 4 lanes
  info[31] = 2;     // 4
  info[32] = 7 << 4 | 4;
  info[33] = 5 << 4 | 2;
  info[35] = 4 << 4 | 7;
  info[62] = 4 << 4 | 15;
  return info;
}

TEST(PortInfo, reads_width_speed_and_states) {
  const auto info = hdr_port();
  const PortInfo p = decode_port_info(info, info);
  EXPECT_EQ(p.lanes, 4);
  EXPECT_EQ(p.speed, "HDR");
  EXPECT_DOUBLE_EQ(p.lane_gbit_s, 53.125);
  EXPECT_EQ(p.lanes_could, 4);
  EXPECT_EQ(p.logical, "Active");
  EXPECT_EQ(p.physical, "LinkUp");
  EXPECT_DOUBLE_EQ(fastest_both(p, p), 106.25);
  // Who does not say what it is able to do is taken at the speeds that all know.
  EXPECT_EQ(decode_port_info(info, {}).speed, "QDR");
}

TEST(PortInfo, the_newest_speeds_stand_elsewhere) {
  auto info = hdr_port();
  info[22] = 0xC0;
  info[60] = 0x08;
  info[56] = 1 << 5 | 1 << 3;
  const PortInfo p = decode_port_info(info, info);
  EXPECT_EQ(p.speed, "XDR");
  EXPECT_DOUBLE_EQ(fastest_both(p, p), 212.5);
}

TEST(PortInfo, of_a_port_that_is_down_only_the_states_are_taken) {
  auto info = hdr_port();
  info[32] = 7 << 4 | 1;
  info[33] = 2 << 4;
  const PortInfo p = decode_port_info(info, info);
  EXPECT_EQ(p.logical, "Down");
  EXPECT_EQ(p.physical, "Polling");
  EXPECT_EQ(p.lanes, 0);
  EXPECT_EQ(p.speed, "");
}

TEST(PortCounters, those_that_counted_are_told) {
  std::array<std::uint8_t, 192> bytes{};
  EXPECT_TRUE(decode_port_counters(bytes).empty());
  bytes[4] = bytes[5] = 0xFF;
  bytes[7] = 7;
  bytes[19] = 2 << 4 | 3;
  bytes[43] = 9;
  const auto c = decode_port_counters(bytes);
  ASSERT_EQ(c.size(), 5u);
  EXPECT_EQ(c[0], (std::pair<std::string_view, std::uint64_t>{"SymbolErrorCounter", 65535}));
  EXPECT_EQ(c[1], (std::pair<std::string_view, std::uint64_t>{"LinkDownedCounter", 7}));
  EXPECT_EQ(c[2], (std::pair<std::string_view, std::uint64_t>{"PortXmitWait", 9}));
  EXPECT_EQ(c[3].second, 2u);
  EXPECT_EQ(c[4].second, 3u);
  EXPECT_TRUE(decode_port_counters(std::span(bytes).first(10)).empty());
}

}  // namespace
}  // namespace muster::infiniband
