#include "ingest/nvlink5.h"

#include <gtest/gtest.h>

#include "ingest/cluster_file.h"
#include "ingest/dcgm_fields.h"
#include "ingest/prom_text.h"

namespace muster {
namespace {

TEST(Nvlink5, DecodesTheWordsOfBothLayouts) {
  const auto w = parse_nvlink5("RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x040868e2 0x00000008 0x00000000 0x00000000 0x0 0x0)");
  ASSERT_TRUE(w);
  EXPECT_EQ(w->unit, "RLW_SRC_TRACK");
  EXPECT_EQ(w->link, 3);
  EXPECT_FALSE(w->fatal);
  const auto m = decode_nvlink5(145, *w);
  ASSERT_EQ(m.rows.size(), 1u);
  EXPECT_FALSE(m.from_r575);
  EXPECT_EQ(m.sub_code, 7u);
  EXPECT_EQ(action_of(m), "XID_154_EVAL");

  NvlinkWords later = *w;
  later.info = 0x04000007;
  later.status = 0x11;  // two bits: both rows are told, the stronger action counts
  const auto n = decode_nvlink5(145, later);
  EXPECT_TRUE(n.from_r575);
  EXPECT_EQ(n.rows.size(), 2u);
  EXPECT_EQ(action_of(n), "RESET_GPU");
}

TEST(Nvlink5, TellsLinkEventsByTheirCause) {
  const auto w = parse_nvlink5("NETIR_LINK_EVT  Fatal   XC0 i0 Link -1 (0x021425c6 0x00000000)");
  ASSERT_TRUE(w);
  EXPECT_TRUE(w->fatal);
  EXPECT_EQ(w->link, -1);
  const auto m = decode_nvlink5(149, *w);
  ASSERT_EQ(m.rows.size(), 1u);
  EXPECT_EQ(m.rows[0]->info_before_r575.substr(6, 6), "100001");
  EXPECT_NE(say_nvlink5(*w, m).find("INVESTIGATE_PEER_DEVICE"), std::string::npos);
}

TEST(Nvlink5, SaysWhenTheWordsAreNotInTheTable) {
  const auto w = parse_nvlink5("RLW_CTRL Nonfatal XC0 i0 Link 01 (0xffffffff 0x00000001)");
  ASSERT_TRUE(w);
  EXPECT_TRUE(decode_nvlink5(145, *w).rows.empty());
  EXPECT_NE(say_nvlink5(*w, {}).find("not in the table"), std::string::npos);
  for (const char* text : {"", "NVLink: fault", "A Fatal", "A Fatal XC0", "A Fatal XC0 i0 Link", "A Fatal XC0 i0 Link 01 (0x1)",
                           "A Fatal XC0 i0 Link 01 (x y)", "A Fatal XC0 i0 Link 01 (0x123456789 0x1)"})
    EXPECT_FALSE(parse_nvlink5(text)) << text;
}

TEST(DcgmFields, AreFoundByEitherNameAndById) {
  EXPECT_GE(dcgm_fields().size(), 328u);
  std::size_t renamed = 0;
  for (const DcgmField& f : dcgm_fields()) {
    EXPECT_EQ(find_dcgm_field(f.name), &f);
    if (!f.former.empty()) {
      EXPECT_EQ(find_dcgm_field(f.former), &f);
      ++renamed;
    }
  }
  EXPECT_EQ(renamed, 328u);
  EXPECT_EQ(find_dcgm_field("dcgm_fi_dev_gpu_temp")->id, 150);
  EXPECT_EQ(find_dcgm_field("230")->name, "DCGM_FI_DEV_XID_ERROR");
  EXPECT_EQ(find_dcgm_field("DCGM_FI_DEV_NOTHING"), nullptr);
}

// What a scrape is read for is read under both names, with either spelling of the labels, and blanks under neither.
TEST(DcgmFields, ScrapesAreReadUnderBothNames) {
  const Site site = *plain_cluster(8);
  const auto count = [&](const std::string& line) {
    std::vector<Sample> out;
    parse_scrape(line, NodeId{0}, Time{1}, site, out);
    return out.size();
  };
  std::size_t read = 0;
  for (const DcgmField& f : dcgm_fields()) {
    if (f.former.empty()) continue;
    const std::string old_labels = "{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"node0001\"} ";
    const std::string new_labels = "{gpu=\"0\",uuid=\"GPU-1\",hostname=\"node0001\"} ";
    EXPECT_EQ(count(f.former + old_labels + "1\n"), count(f.name + new_labels + "1\n")) << f.name;
    read += count(f.name + new_labels + "1\n");
    for (const char* blank :
         {"9223372036854775792", "9223372036854775795", "2147483632", "2147483635", "140737488355328", "140737488355331"})
      EXPECT_EQ(count(f.name + new_labels + blank + "\n"), 0u) << f.name << " " << blank;
  }
  EXPECT_GE(read, 10u);
}

}  // namespace
}  // namespace muster
