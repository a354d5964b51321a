#include "report/collectives.h"

#include <gtest/gtest.h>

namespace muster::report {
namespace {

TEST(CollectiveReport, SizesForPeopleAndTimesInMicroseconds) {
  predict::CollectivePrediction p;
  p.s = 4.2e-3;
  p.low_s = 900e-6;
  p.high_s = 2;
  p.bus_gb_s = 466;
  p.by = "nvls";
  p.algorithm = "NVLS";
  p.limit = "NVLink";
  const PredictedCollective one[] = {{1073741824.0, p}};
  const std::string text = render_table(collective_table(one), {});
  for (const char* part : {"1 GiB", "4200.0", "900.0", "2000000.0", "466.0", "extrapolated from nvls"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_NE(render_csv(collective_table(one), true).find("1073741824,4200,900,2e+06,"), std::string::npos);
}

TEST(CollectiveReport, FilesComeBackAsTheyWere) {
  const auto rows = read_collective_rows(*parse_csv(render_collectives(shipped_collectives()), "c.csv"), "c.csv");
  ASSERT_TRUE(rows) << rows.error().what;
  ASSERT_EQ(rows->rows.size(), shipped_collectives().size());
  EXPECT_EQ(rows->rows[7].setup, shipped_collectives()[7].setup);
  EXPECT_EQ(parse_collective_classes(render_collective_classes(shipped_collective_classes()))->size(),
            shipped_collective_classes().size());
  EXPECT_DOUBLE_EQ(parse_collective_spread(render_collective_spread({0.9, 1.2, 0.5, 1.5}))->far_high, 1.5);
}

}  // namespace
}  // namespace muster::report
