#include "report/ib_net.h"

#include <gtest/gtest.h>

#include "design/fabrics.h"
#include "ingest/ib_net.h"

namespace muster::report {
namespace {

TEST(IbNet, WhatIsWrittenIsReadBack) {
  const Fabric f = design::build_fabric({.kind = design::FabricKind::rail, .nodes = 40, .nics = 4, .radix = 16}).value();
  const auto back = parse_ib_net(render_ib_net(f), "f.net");
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->nodes.size(), f.nodes.size());
  EXPECT_EQ(back->links.size(), f.links.size());
  const auto a = f.endpoints(), b = back->endpoints();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(f.nodes[a[i]].name, back->nodes[b[i]].name);
    EXPECT_EQ(f.nodes[a[i]].guid, back->nodes[b[i]].guid);
    const FabricLink& x = f.links[f.nodes[a[i]].out[1]];
    const FabricLink& y = back->links[back->nodes[b[i]].out[1]];
    EXPECT_EQ(f.nodes[x.to].name, back->nodes[y.to].name);
    EXPECT_EQ(x.gb_s, y.gb_s);
  }
}

}  // namespace
}  // namespace muster::report
