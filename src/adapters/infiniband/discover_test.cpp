#include "adapters/infiniband/discover.h"

#include <gtest/gtest.h>

namespace muster::infiniband {
namespace {

TEST(Discover, says_what_to_install_where_a_library_is_missing) {
  DiscoverAsk ask;
  ask.packet_library = "libnowhere.so.5";
  const auto found = discover(ask);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, Code::unreachable);
  EXPECT_NE(found.error().what.find("libnowhere.so.5"), std::string::npos);
  EXPECT_NE(found.error().next.find("libibnetdisc5"), std::string::npos);
}

}  // namespace
}  // namespace muster::infiniband
