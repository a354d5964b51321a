// Collectives that others measured and published, fitted on two of three rows, against what is predicted for the third.
#include "predict/collectives.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "ingest/collective_rows.h"
#include "ingest/hardware_file.h"

namespace muster::predict {
namespace {

TEST(PublishedCollectives, OfAMebibyteAndMoreArePredictedWithinTenPercent) {
  std::vector<CollectiveRow> taught, kept;
  for (const CollectiveRow& r : shipped_collectives()) (teaches(r) ? taught : kept).push_back(r);
  const auto classes = fit_collective_classes(taught, gpu_models());
  const Collectives model(taught, classes, gpu_models(), collective_spread(taught, gpu_models()));
  double sum = 0;
  int n = 0, within = 0;
  for (const CollectiveRow& r : kept) {
    const auto p = model.predict(r);
    if (!p || r.bytes < (1 << 20)) continue;
    sum += std::abs(p->s / r.time_s - 1);
    within += r.time_s >= p->low_s && r.time_s <= p->high_s ? 1 : 0;
    ++n;
  }
  ASSERT_GE(n, 40);
  std::printf("# collectives kept back: %d, mean error %.1f %%, %.0f %% within their intervals\n", n, 100 * sum / n,
              100.0 * within / n);
  EXPECT_LT(sum / n, 0.10);
  EXPECT_GE(within, 0.7 * n);
}

// No share of a link is above 1, whatever it was fitted on.
TEST(PublishedCollectives, NothingIsSaidToBeFasterThanItsLinks) {
  const Collectives model(shipped_collectives(), shipped_collective_classes(), gpu_models(), shipped_collective_spread());
  for (const GpuModel& g : gpu_models()) {
    for (const std::uint32_t n : {2U, 8U, 72U, 144U, 4096U, 65536U}) {
      CollectiveRow r;
      r.setup = {Collective::all_reduce,          g.name, n, std::min(n, g.domain), n > g.domain ? g.nic_gb_s : 0,
                 n > g.domain ? "infiniband" : ""};
      for (r.bytes = 1024; r.bytes < 1e12; r.bytes *= 8) {
        const auto p = model.predict(r);
        ASSERT_TRUE(p);
        if (p->calibrated) continue;
        EXPECT_LE(p->bus_gb_s, bus_factor(r.setup.op, n) * g.nvlink_gb_s) << g.name << " " << n;
        EXPECT_GT(p->s, 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace muster::predict
