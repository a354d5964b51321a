#include "adapters/infiniband/apart.h"

#include <gtest/gtest.h>

namespace muster::infiniband {
namespace {

Discovered sample() {
  Discovered d;
  d.net = "Switch\t2 \"S-1\"\n";
  d.ports.push_back({{1, "leaf-0", 1}, true, PortEnd{7, "gpu0 mlx5_0", 1}, false, 4, 53.125, "Active", "LinkUp", 0, 106.25});
  d.ports.push_back({{1, "leaf-0", 2}, true, {}, false, 0, 0, "Down", "Polling"});
  d.counters = {{{{1, "leaf-0", -1}, {{"SymbolErrorCounter", 65535}, {"PortXmitPkts", UINT64_MAX}}}}, true, {}, true};
  d.tables.lids[7] = 3;
  d.tables.switches[1] = {255, 0, 2};
  d.unanswered = 5;
  return d;
}

TEST(Apart, what_was_found_arrives_whole) {
  const Discovered was = sample();
  const auto is = unpack(pack(was));
  ASSERT_TRUE(is.has_value()) << is.error().what;
  EXPECT_EQ(is->net, was.net);
  ASSERT_EQ(is->ports.size(), 2u);
  EXPECT_EQ(is->ports[0].far->say(), "gpu0 mlx5_0[1]");
  EXPECT_EQ(is->ports[0].lanes, 4);
  EXPECT_DOUBLE_EQ(is->ports[0].lane_gbit_s_could, 106.25);
  EXPECT_FALSE(is->ports[1].far.has_value());
  EXPECT_EQ(is->ports[1].physical, "Polling");
  ASSERT_EQ(is->counters.ports.size(), 1u);
  EXPECT_EQ(is->counters.ports[0].port.port, -1);
  EXPECT_EQ(is->counters.ports[0].values, was.counters.ports[0].values);
  EXPECT_TRUE(is->counters.complete);
  EXPECT_TRUE(is->counters.lists_all);
  EXPECT_EQ(is->tables.lids, was.tables.lids);
  EXPECT_EQ(is->tables.switches, was.tables.switches);
  EXPECT_EQ(is->unanswered, 5u);
}

TEST(Apart, what_is_torn_anywhere_is_no_reading) {
  for (const bool found : {true, false}) {
    const std::string bytes = pack(found ? Result<Discovered>(sample()) : fail(Code::unreachable, "what", "next"));
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      const auto is = unpack(std::string_view(bytes).substr(0, n));
      ASSERT_FALSE(is.has_value()) << n;
      EXPECT_EQ(is.error().code, Code::corrupt) << n;
    }
  }
}

TEST(Apart, an_error_of_the_other_process_is_ours) {
  DiscoverAsk ask;
  ask.packet_library = "libnowhere.so.5";
  const auto found = discover_apart(ask, 60, [] { return false; });
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, Code::unreachable);
  EXPECT_NE(found.error().what.find("libnowhere.so.5"), std::string::npos);
  EXPECT_NE(found.error().next.find("libibnetdisc5"), std::string::npos);
}

TEST(Apart, it_stops_when_it_is_asked_to) {
  const auto found = discover_apart({}, 60, [] { return true; });
  ASSERT_FALSE(found.has_value());
  EXPECT_NE(found.error().what.find("interrupted"), std::string::npos);
}

}  // namespace
}  // namespace muster::infiniband
