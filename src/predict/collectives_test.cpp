#include "predict/collectives.h"

#include <gtest/gtest.h>

#include <cmath>

namespace muster::predict {
namespace {

std::vector<GpuModel> gpus() {
  GpuModel h;
  h.name = "h100";
  h.nvlink_gb_s = 450;
  h.nvls = true;
  h.nic_gb_s = 50;
  GpuModel a;
  a.name = "a100";
  a.nvlink_gb_s = 300;
  a.nic_gb_s = 25;
  return {h, a};
}

CollectiveSetup setup(std::uint32_t n, const char* gpu = "h100") {
  CollectiveSetup s;
  s.gpu = gpu;
  s.gpus = n;
  s.together = 8;
  if (n > 8) {
    s.nic_gb_s = 50;
    s.network = "infiniband";
  }
  return s;
}

std::vector<CollectiveRow> measured(const CollectiveSetup& s, const CollectiveCurve& truth, const char* site = "here") {
  std::vector<CollectiveRow> out;
  for (double bytes = 1 << 20; bytes <= 9e9; bytes *= 4) {
    CollectiveRow r;
    r.site = site;
    r.setup = s;
    r.bytes = bytes;
    r.time_s = truth.at(bytes);
    out.push_back(std::move(r));
  }
  return out;
}

TEST(Collectives, NothingIsFasterThanTheLinks) {
  const auto all = gpus();
  for (const std::uint32_t n : {2U, 8U, 16U, 64U, 4096U}) {
    for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::all_to_all, Collective::send_recv}) {
      CollectiveSetup s = setup(n);
      s.op = op;
      for (const CollectiveWay& w : collective_ways(s, all[0], 1, true)) {
        // No GPU receives its bytes faster than NVLink, and no domain faster than its cards.
        const double factor = bus_factor(op, n), algorithm_gb_s = w.most_gb_s() / factor;
        EXPECT_LE(algorithm_gb_s, 450.0 * n / (n - 1) + 1e-9) << w.algorithm << n;
        if (n > 8 && op == Collective::all_reduce) {
          EXPECT_LE(algorithm_gb_s, 8 * 50.0 + 1e-9) << w.algorithm << n;
        }
      }
    }
  }
}

TEST(Collectives, AlgorithmsAreWhatTheHardwareHas) {
  const auto all = gpus();
  EXPECT_EQ(collective_ways(setup(8), all[0]).front().algorithm, "NVLS");
  EXPECT_EQ(collective_ways(setup(8, "a100"), all[1]).front().algorithm, "Ring");
  EXPECT_EQ(collective_ways(setup(16), all[0]).front().algorithm, "NVLSTree") << "two domains exchange the whole once";
  const auto many = collective_ways(setup(512), all[0]);
  EXPECT_DOUBLE_EQ(many.front().most_gb_s(), 400);
  EXPECT_EQ(many.front().far, "infiniband");
  EXPECT_GT(collective_ways(setup(512), all[0], 1, true).front().most_gb_s(), 700) << "switches that add up halve what is sent";
  EXPECT_DOUBLE_EQ(collective_ways(setup(512), all[0], 0.5).front().most_gb_s(), 200);
  CollectiveSetup pairs = setup(64);
  pairs.op = Collective::all_to_all;
  EXPECT_NEAR(collective_ways(pairs, all[0]).front().most_gb_s(), 50 * 63.0 / 56, 1e-9) << "an eighth stays in the domain";
  EXPECT_TRUE(collective_ways(setup(1), all[0]).empty());
  GpuModel meshed = all[1];
  meshed.pair_gb_s = 64;
  CollectiveSetup send = setup(2);
  send.op = Collective::send_recv;
  EXPECT_DOUBLE_EQ(collective_ways(send, meshed).front().most_gb_s(), 64) << "one link joins two of them";
  EXPECT_DOUBLE_EQ(collective_ways(setup(2), meshed).front().most_gb_s(), 64) << "for whatever they do";
  EXPECT_DOUBLE_EQ(collective_ways(setup(4), meshed).front().most_gb_s(), 192);
}

TEST(Collectives, ProtocolsGoByTheSize) {
  const auto all = gpus();
  for (const CollectiveSetup& s : {setup(8, "a100"), setup(8), setup(16), setup(512), setup(4096)}) {
    const GpuModel& gpu = s.gpu == "a100" ? all[1] : all[0];
    const Collectives model({}, {}, all, {});
    double before = 0;
    std::string_view smallest, largest;
    for (double bytes = 8; bytes <= 1.8e10; bytes *= 2) {
      std::optional<CollectivePrediction> best;
      for (const CollectiveWay& w : collective_ways(s, gpu)) {
        const auto p = model.by_way(w, s, bytes);
        if (!best || p.s < best->s) best = p;
      }
      if (smallest.empty()) smallest = best->protocol;
      largest = best->protocol;
      EXPECT_GE(best->s, before) << "more takes no less: " << s.gpus << " GPUs, " << bytes;
      before = best->s;
    }
    EXPECT_EQ(smallest, "LL") << s.gpus;
    EXPECT_EQ(largest, "Simple") << s.gpus;
  }
  const auto start = [&](const CollectiveSetup& s, std::string_view algorithm, std::string_view protocol) {
    for (const CollectiveWay& w : collective_ways(s, all[0])) {
      if (w.algorithm == algorithm && w.protocol == protocol) return w.start_us;
    }
    return -1.0;
  };
  EXPECT_NEAR(start(setup(8), "Ring", "LL"), 6.6 + 14 * 0.6, 1e-9) << "as NCCL's own table has it";
  EXPECT_NEAR(start(setup(16), "Tree", "LL128"), 14 + 2 * (7 * 1.25 + 8.5), 1e-9);
  EXPECT_GT(start(setup(4096), "Ring", "LL"), 10 * start(setup(4096), "Tree", "LL")) << "a ring passes every node";
  EXPECT_EQ(start(setup(8), "NVLS", "LL"), -1) << "NVLS has one protocol";
}

TEST(Collectives, BetweenMeasuredSizesItIsOnTheCurve) {
  const auto all = gpus();
  const CollectiveCurve truth{60e-6, 250e9, 0.7};
  const auto rows = measured(setup(16), truth);
  const Collectives c(rows, {}, all, {});
  for (double bytes = 2 << 20; bytes < 8e9; bytes *= 3) {
    CollectiveRow ask;
    ask.setup = setup(16);
    ask.bytes = bytes;
    const auto p = c.predict(ask);
    ASSERT_TRUE(p);
    EXPECT_TRUE(p->calibrated);
    EXPECT_EQ(p->by, "here");
    EXPECT_NEAR(p->s / truth.at(bytes), 1, 0.01) << bytes;
    EXPECT_LT(p->low_s, p->s);
    EXPECT_GT(p->high_s, p->s);
  }
}

TEST(Collectives, WhereNothingWasMeasuredTheClassSpeaks) {
  const auto all = gpus();
  const auto rows = measured(setup(16), {2 * 30e-6, 0.5 * 750e9 / 1.875, 0.7});
  const auto classes = fit_collective_classes(rows, all);
  ASSERT_EQ(classes.size(), 1U);
  EXPECT_EQ(classes[0].name, "infiniband");
  EXPECT_NEAR(classes[0].share, 0.5, 0.05);
  for (const CollectiveRow& r : rows) {
    const auto again = Collectives({}, classes, all, {}).predict(r);
    EXPECT_NEAR(again->s / r.time_s, 1, 0.25) << r.bytes << " bytes by the class alone";
  }
  CollectiveRow ask;
  ask.setup = setup(64);
  ask.bytes = 8e9;
  const auto p = Collectives(rows, classes, all, {}).predict(ask);
  ASSERT_TRUE(p);
  EXPECT_FALSE(p->calibrated);
  EXPECT_EQ(p->by, "infiniband");
  EXPECT_LE(p->bus_gb_s, 1.05 * 0.5 * 400);
  EXPECT_GT(p->bus_gb_s, 0.45 * 400);
  ask.setup.gpu = "tpu";
  EXPECT_FALSE(Collectives(rows, classes, all, {}).predict(ask));
}

TEST(Collectives, OtherNumbersOfGpusJoinTheMeasuredOnes) {
  const auto all = gpus();
  auto rows = measured(setup(16), {50e-6, 100e9, 0.3});  // slow: a quarter of what its cards could
  const std::vector<CollectiveClass> classes;
  const auto at = [&](std::uint32_t n) {
    CollectiveRow r;
    r.setup = setup(n);
    r.bytes = 1 << 30;
    return Collectives(rows, classes, all, {}).predict(r)->s;
  };
  EXPECT_GE(at(32), at(16)) << "twice as many are not faster";
  EXPECT_LT(at(32), 2.5 * at(16)) << "a tree of two domains has half of a ring's way";
  EXPECT_LT(at(8), at(16)) << "what stays within NVLink is another matter";
  const auto far = measured(setup(256), {100e-6, 50e9, 0.3});
  rows.insert(rows.end(), far.begin(), far.end());
  EXPECT_GT(at(64), at(32)) << "and between two it is between them";
  EXPECT_LT(at(64), at(256));
}

TEST(Collectives, IntervalsComeFromWhatWasLeft) {
  const auto all = gpus();
  std::vector<CollectiveRow> rows = measured(setup(16), {60e-6, 250e9, 0.7});
  const auto more = measured(setup(8), {20e-6, 270e9, 0.5}, "there");
  rows.insert(rows.end(), more.begin(), more.end());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].time_s *= i % 2 == 0 ? 1.1 : 0.9;
  const CollectiveSpread s = collective_spread(rows, all);
  EXPECT_LT(s.low, 0.95);
  EXPECT_GT(s.high, 1.05);
  EXPECT_LE(s.far_low, 1);
  EXPECT_GE(s.far_high, 1);
}

}  // namespace
}  // namespace muster::predict
