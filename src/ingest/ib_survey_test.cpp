#include "ingest/ib_survey.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace muster {
namespace {

// A switch with two cards, as ibnetdiscover prints it when everybody answers.
constexpr const char* kNet = R"(# Initiated from node 0002c90300000100 port 0002c90300000101
switchguid=0x2c90300040100(2c90300040100)
Switch	40 "S-0002c90300040100"		# "leaf-01" enhanced port 0 lid 2 lmc 0
[1]	"H-0002c90300000100"[1](2c90300000101) 		# "gpu01 mlx5_0" lid 1 4xNDR
[2]	"H-0002c90300000200"[1](2c90300000201) 		# "gpu02 mlx5_0" lid 3 2xNDR

caguid=0x2c90300000100
Ca	1 "H-0002c90300000100"		# "gpu01 mlx5_0"
[1](2c90300000101) 	"S-0002c90300040100"[1]		# lid 1 lmc 0 "leaf-01" lid 2 4xNDR

caguid=0x2c90300000200
Ca	1 "H-0002c90300000200"		# "gpu02 mlx5_0"
[1](2c90300000201) 	"S-0002c90300040100"[2]		# lid 3 lmc 0 "leaf-01" lid 2 2xNDR
)";

std::string changed(std::string_view from, std::string_view to) {
  std::string s = kNet;
  const std::size_t at = s.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return s.replace(at, from.size(), to);
}

bool has(const FabricSurvey& s, SurveyMark mark, std::string_view name) {
  return std::any_of(s.oddities.begin(), s.oddities.end(),
                     [&](const SurveyOddity& o) { return o.mark == mark && s.fabric.nodes[o.node].name == name; });
}

TEST(IbSurvey, AFabricThatAnswersHasNoMarks) {
  const auto s = parse_ib_survey(kNet, "f.net");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_EQ(s->fabric.nodes.size(), 3U);
  EXPECT_EQ(s->fabric.links.size(), 4U);
  EXPECT_TRUE(s->oddities.empty());
  EXPECT_TRUE(s->duplicates.empty());
  EXPECT_EQ(s->root_guid, 0x2c90300000100U);
}

// What Debian's ibnetdiscover printed of a fabric with a switch that lost half of its packets, cut to what matters.
TEST(IbSurvey, LostAnswersLeaveMarks) {
  const auto s = parse_ib_survey(
      "Switch\t16 \"S-0002c90300004900\"\t\t# \"spine-000\" base port 0 lid 0 lmc 0\n"
      "[2]\t\"S-0002c90300004100\"[10]\t\t# \"\" lid 2 ?????\n\n"
      "Switch\t16 \"S-0002c90300004100\"\t\t# \"\" base port 0 lid 2 lmc 0\n"
      "[2]\t\"H-0002c90300000200\"[1](2c90300000201) \t\t# \"gpu0001 mlx5_0\" lid 14 ?????\n"
      "[10]\t\"S-0002c90300004900\"[2]\t\t# \"spine-000\" lid 0 4xHDR\n\n"
      "Ca\t1 \"H-0002c90300000200\"\t\t# \"gpu0001 mlx5_0\"\n"
      "[1](2c90300000201) \t\"S-0002c90300004100\"[2]\t\t# lid 14 lmc 0 \"\" lid 2 4xHDR\n",
      "lossy.net");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_TRUE(has(*s, SurveyMark::no_lid, "spine-000"));
  EXPECT_TRUE(has(*s, SurveyMark::no_rate, "spine-000"));
  EXPECT_TRUE(has(*s, SurveyMark::nameless, "S-0002c90300004100"));
  EXPECT_TRUE(has(*s, SurveyMark::no_rate, "S-0002c90300004100"));
  EXPECT_EQ(s->fabric.links.size(), 4U);
  for (const FabricLink& l : s->fabric.links) EXPECT_EQ(l.gb_s, 25) << "the other end told";
}

// `ibnetdiscover -f`, by infiniband-diags before and after it learned of the faster speeds.
TEST(IbSurvey, RatesAreReadBeforeTheDetailsOfTheFullForm) {
  for (const std::string_view details : {" s=4 w=2 v=4", " s=4 w=2 v=4 e=4", " s=2 w=1 v=4 f=1 "}) {
    std::string text;
    for (std::string_view rest = kNet; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      text += std::string(line) + (line.ends_with("NDR") ? std::string(details) : "") + "\n";
      rest.remove_prefix(end + 1);
    }
    const auto s = parse_ib_survey(text, "f.net");
    ASSERT_TRUE(s) << s.error().what;
    EXPECT_TRUE(s->oddities.empty());
    ASSERT_EQ(s->fabric.links.size(), 4U);
    EXPECT_EQ(s->fabric.links[0].gb_s, 50) << details;
    EXPECT_EQ(s->fabric.links[0].lanes, 4);
    EXPECT_EQ(s->fabric.links[2].gb_s, 25) << details;
    EXPECT_EQ(s->fabric.links[2].lanes, 2);
  }
  const auto lost = parse_ib_survey(changed("lid 3 2xNDR", "lid 3 ????? s=0 w=0 v=0"), "f.net");
  ASSERT_TRUE(lost) << lost.error().what;
  EXPECT_TRUE(has(*lost, SurveyMark::no_rate, "leaf-01"));
}

TEST(IbSurvey, ADeviceThatOnlyItsNeighbourTellsOfIsThere) {
  std::string text = kNet;
  text.resize(text.find("caguid=0x2c90300000200"));
  const auto s = parse_ib_survey(text, "f.net");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_EQ(s->fabric.links.size(), 4U);
  EXPECT_TRUE(has(*s, SurveyMark::unheard, "gpu02 mlx5_0"));
}

TEST(IbSurvey, EndsThatContradictEachOtherAreNoCable) {
  const auto s =
      parse_ib_survey(changed("\"S-0002c90300040100\"[2]\t\t# lid 3", "\"S-0002c90300040100\"[1]\t\t# lid 3"), "f.net");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_EQ(s->fabric.links.size(), 2U);
  EXPECT_TRUE(has(*s, SurveyMark::contradicted, "gpu02 mlx5_0"));
}

TEST(IbSurvey, TwoCardsWithOneGuidAreToldApartByTheirCables) {
  std::string text = kNet;
  for (const auto& [from, to] :
       {std::pair("H-0002c90300000200", "H-0002c90300000100"), std::pair("2c90300000201", "2c90300000101")}) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from)) {
      text.replace(at, std::string_view(from).size(), to);
    }
  }
  const auto s = parse_ib_survey(text, "f.net");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_EQ(s->duplicates.size(), 1U);
  EXPECT_EQ(s->fabric.links.size(), 4U);
}

TEST(IbSurvey, TheSameDumpTwiceIsOneFabric) {
  const auto s = parse_ib_survey(std::string(kNet) + "\n" + kNet, "f.net");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_EQ(s->fabric.nodes.size(), 3U);
  EXPECT_TRUE(s->duplicates.empty());
  EXPECT_TRUE(s->oddities.empty());
}

// Each cable of such a device is looked for in all blocks of its id, which must not take minutes.
TEST(IbSurvey, AnIdThatComesAgainAndAgainIsRefused) {
  std::string text;
  for (int i = 0; i < 257; ++i) text += "Switch 8 \"S-1\" # \"s" + std::to_string(i) + "\"\n[1] \"S-1\"[2] # \"x\" lid 1 4xHDR\n";
  const auto s = parse_ib_survey(text, "f.net");
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().what, "f.net:513: the id S-1 is there more than 256 times");
}

TEST(IbSurvey, FilesWrittenForIbsimByHand) {
  const auto s = parse_ib_survey(
      "Switch 8 \"Sw1\"\n[1] \"H1\"[1]\n[2] \"H2\"\n\nHca 1 \"H1\"\n[1] \"Sw1\"[1]\n\nHca 1 \"H2\"\n[1] \"Sw1\"[2]\n", "x");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_EQ(s->fabric.nodes.size(), 3U);
  EXPECT_EQ(s->fabric.links.size(), 4U);
  EXPECT_TRUE(s->oddities.empty());
}

TEST(IbSurvey, ATextThatEndsWithinALineIsCutShort) {
  const std::string text = kNet;
  const auto s = parse_ib_survey(text.substr(0, text.rfind("(2c90300000201)") + 30), "f.net");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_TRUE(s->cut_short);
  EXPECT_EQ(parse_ib_survey("Switch 8 \"Sw1\"\n[x] \"H1\"[1]\n[1] \"H1\"[1]\n", "f.net").error().what,
            "f.net:2: a port's number is 1 to 254");
  EXPECT_EQ(parse_ib_survey("hello\n", "f.net").error().what, "f.net: no cable of an InfiniBand fabric is in it");
}

}  // namespace
}  // namespace muster
