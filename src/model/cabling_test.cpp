#include "model/cabling.h"

#include <gtest/gtest.h>

#include "model/codec.h"
#include "model/plain_json.h"
#include "model/story.h"

namespace muster {
namespace {

CableTable two() { return {{"leaf03", "leaf04"}, {1 * 16 + 2, 3 * 16 + 0}, {1, 0}, {"17", "1/2"}, {"C-1", ""}}; }

TEST(Cabling, KnowsWhereACableGoes) {
  Cabling c;
  EXPECT_TRUE(c.empty());
  EXPECT_FALSE(c.at(NodeId{1}, 2));
  c.set(two());
  const auto x = c.at(NodeId{1}, 2);
  ASSERT_TRUE(x);
  EXPECT_EQ(x->switch_name, "leaf04");
  EXPECT_EQ(x->port, "17");
  EXPECT_EQ(x->label, "C-1");
  EXPECT_EQ(c.at(NodeId{3}, 0)->switch_name, "leaf03");
  for (const std::int16_t slot : {-1, 1, 3, 16, 18}) EXPECT_FALSE(c.at(NodeId{1}, slot)) << slot;
  EXPECT_FALSE(c.at(NodeId{}, 2));
  EXPECT_FALSE(c.at(NodeId{2}, 2));
}

TEST(Cabling, WhatDoesNotFitTogetherIsNone) {
  std::vector<CableTable> bad(5, two());
  bad[0].far_ends[1] = 2;
  bad[1].ports.pop_back();
  bad[2].labels.emplace_back();
  std::swap(bad[3].nics[0], bad[3].nics[1]);
  bad[4].far_ends.clear();
  for (const CableTable& t : bad) {
    Cabling c;
    c.set(t);
    EXPECT_TRUE(c.empty());
  }
}

TEST(Cabling, SaysTheFarEndInWords) {
  EXPECT_EQ(say_far_end("leaf03", "17", "C-00412"), ", cable C-00412 to port 17 of leaf03");
  EXPECT_EQ(say_far_end("leaf03", "17", ""), ", cable to port 17 of leaf03");
  EXPECT_EQ(say_far_end("", "", ""), "");
}

TEST(Cabling, IsNoPartOfWhatASiteIsAndComesBackWithTheState) {
  Story t(8);
  const std::string site = encode_site(t.s.site);
  Cabling c;
  c.set(two());
  t.tell(CablesDeclared{c});
  EXPECT_EQ(encode_site(t.s.site), site) << "a cable that is replaced makes no other site";
  const State copy = t.s;
  EXPECT_EQ(&copy.site.cables.table(), &t.s.site.cables.table()) << "copies of the state share it";
  const auto back = decode_state(*PlainJson::parse(encode_state(t.s)));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->site.cables, c);
  t.tell(CablesDeclared{});
  EXPECT_TRUE(t.s.site.cables.empty());
}

TEST(Cabling, ALinkIsToldFromItsGpu) {
  Finding f;
  f.slot = 3;
  f.kind = FindingKind::failure_predicted;
  EXPECT_FALSE(of_link(f));
  f.subject = kLinkSubject;
  EXPECT_TRUE(of_link(f));
  f.kind = FindingKind::nvlink_degraded;
  EXPECT_FALSE(of_link(f));
  f.kind = FindingKind::link_down;
  f.subject.clear();
  EXPECT_TRUE(of_link(f));
  f.slot = -1;
  EXPECT_FALSE(of_link(f));
}

}  // namespace
}  // namespace muster
