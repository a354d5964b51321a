#include "adapters/accept/bench.h"

#include "ground.h"

namespace muster::bench {
namespace {

using T = AcceptTest;
struct AcceptBench : Ground {};

TEST_F(AcceptBench, EveryTestOfEveryGpuHasItsRowsInTheirOrder) {
  all({task(T::inventory), task(T::link, 0.5), task(T::hbm), task(T::gemm_bf16), task(T::counters)});
  ASSERT_FALSE(rows.empty());
  const auto hosts = of<accepting::Host>();
  ASSERT_EQ(hosts.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<accepting::Host>(rows[0]));
  for (std::size_t i = 1; i < 5; ++i) EXPECT_TRUE(std::holds_alternative<accepting::Gpu>(rows[i]));
  EXPECT_EQ(hosts[0].driver, "999.1");
  EXPECT_EQ(hosts[0].cuda, "13.0");
  EXPECT_EQ(hosts[0].cublas, "13.1.0");
  const auto gpus = of<accepting::Gpu>();
  ASSERT_EQ(gpus.size(), 4u);
  EXPECT_EQ(gpus[2].uuid, "GPU-fake-2");
  EXPECT_EQ(gpus[2].pci, "00000000:3B:00.0");
  EXPECT_EQ(gpus[2].sms, 132);
  EXPECT_EQ(gpus[2].power_limit_w, 700);
  EXPECT_EQ(gpus[2].memory_mib, 143771);
  EXPECT_EQ(gpus[2].power_default_w, -1) << "not told by this driver";
  for (int gpu = 0; gpu < 4; ++gpu) {
    for (const T t : {T::inventory, T::link, T::hbm, T::gemm_bf16, T::counters}) {
      EXPECT_EQ(ran(t, gpu).state, TestState::done) << ran(t, gpu).why;
      EXPECT_EQ(ran(t, gpu).why, "");
    }
    EXPECT_EQ(measured(gpu, "fake_gb_s"), (std::vector<double>{100. + gpu, 100. + gpu, 100. + gpu}));
    EXPECT_EQ(measured(gpu, "link_gen"), std::vector<double>{5});
    EXPECT_EQ(measured(gpu, "link_width"), std::vector<double>{16});
  }
  std::set<std::pair<int, T>> over;  // a figure comes before the row that says that its test has run
  double last = 0;
  for (const accepting::Row& r : rows) {
    if (const auto* m = std::get_if<accepting::Measured>(&r)) {
      EXPECT_FALSE(over.contains({m->gpu, m->test}));
    }
    if (const auto* m = std::get_if<accepting::Ran>(&r)) {
      over.insert({m->gpu, m->test});
      EXPECT_GE(m->begun_s + m->took_s, last - 0.1);
      last = m->begun_s + m->took_s;
    }
  }
  EXPECT_EQ(over.size(), 20u);
  EXPECT_EQ(of<accepting::Ran>().size(), 20u);
  EXPECT_FALSE(end().stopped);
  EXPECT_EQ(end().left, 0u);
  EXPECT_EQ(end().memory_left_mib, 0);
}

TEST_F(AcceptBench, TimesAreThoseOfTheRecording) {
  const double before = steady_s();
  all({task(T::hbm, 0.1)});
  for (const auto& m : of<accepting::Measured>()) {
    if (m.took_s <= 0) continue;
    EXPECT_GE(m.begun_s, ran(T::hbm, m.gpu).begun_s - 0.01);
    EXPECT_LE(m.begun_s + m.took_s, ran(T::hbm, m.gpu).begun_s + ran(T::hbm, m.gpu).took_s + 0.01);
    EXPECT_EQ(m.mhz, 1484);
  }
  ASSERT_FALSE(of<accepting::Reading>().empty());
  for (const auto& r : of<accepting::Reading>()) {
    EXPECT_GT(r.at_s, 0);
    EXPECT_LT(r.at_s, steady_s() - before);
    EXPECT_NEAR(r.power_w, 345.678, 1e-9);
    EXPECT_EQ(r.mhz, 1484);
    EXPECT_EQ(r.gpu_c, 41);
    EXPECT_EQ(r.memory_c, 54);
  }
}

TEST_F(AcceptBench, GpusOfANodeAreTestedAtTheSameTimeOrSoManyAtATime) {
  Task few = task(T::link, 0.1);
  few.at_once = 2;
  all({task(T::hbm, 0.3), few});
  for (int gpu = 1; gpu < 4; ++gpu) EXPECT_NEAR(ran(T::hbm, gpu).begun_s, ran(T::hbm, 0).begun_s, 0.02);
  // Of four, two at a time: 0 and 2, which are further apart than 0 and 1.
  EXPECT_NEAR(ran(T::link, 2).begun_s, ran(T::link, 0).begun_s, 0.02);
  EXPECT_NEAR(ran(T::link, 3).begun_s, ran(T::link, 1).begun_s, 0.02);
  EXPECT_GE(ran(T::link, 1).begun_s, ran(T::link, 0).begun_s + 0.1);
}

TEST_F(AcceptBench, TheChosenGpusAreTestedAndNoOther) {
  options.gpus = {"GPU-fake-3", "0000:2b:00.0"};
  options.plant = "bit:1";
  options.seed = 42;
  all({task(T::hbm), task(T::counters)});
  ASSERT_EQ(of<accepting::Gpu>().size(), 2u);
  EXPECT_EQ(of<accepting::Gpu>()[0].gpu, 1);
  EXPECT_EQ(of<accepting::Ran>().size(), 4u);
  EXPECT_EQ(measured(3, "fake_gb_s"), std::vector<double>{103});
  EXPECT_EQ(measured(3, "fake_seed"), std::vector<double>{42});
  ASSERT_EQ(of<accepting::Wrong>().size(), 2u);
  EXPECT_EQ(of<accepting::Wrong>()[0].detail, "bit:1");
  for (const auto& r : of<accepting::Reading>()) EXPECT_TRUE(r.gpu == 1 || r.gpu == 3);
}

TEST_F(AcceptBench, WhatIsRunAgainIsOfTheNextTurn) {
  auto bench = Bench::open(options, [] { return false; });
  ASSERT_TRUE(bench.has_value());
  const auto sink = [&](accepting::Row r) { rows.push_back(std::move(r)); };
  const std::vector<Task> first = {task(T::inventory), task(T::hbm), task(T::counters)};
  Task again = task(T::hbm);
  again.turn = 1, again.gpus = {2};
  (*bench)->run(first, sink, {}, {});
  (*bench)->run({&again, 1}, sink, {}, {});
  (*bench)->finish(sink);
  EXPECT_EQ(ran(T::hbm, 2, 1).state, TestState::done);
  EXPECT_EQ(measured(2, "fake_gb_s").size(), 2u);
  EXPECT_EQ(measured(1, "fake_gb_s").size(), 1u);
  EXPECT_EQ(of<accepting::Host>().size(), 1u);
  EXPECT_EQ(of<accepting::Gpu>().size(), 4u);
}

TEST_F(AcceptBench, TestsBetweenGpusHaveThemAllAndNobodyElseHoldsTheirMemory) {
  options.gpus = {"1", "3"};
  misbehave("peers:-1=wrong");
  all({task(T::hbm), task(T::peers), task(T::nccl), task(T::sweep)});
  ASSERT_EQ(of<accepting::Wrong>().size(), 1u);
  EXPECT_EQ(of<accepting::Wrong>()[0].place, "GPU 3 to GPU 1");
  EXPECT_EQ(of<accepting::Wrong>()[0].gpu, 3);
  EXPECT_EQ(measured(1, "pair_gb_s:1>3"), std::vector<double>{300}) << "as the node numbers them, not as the worker does";
  EXPECT_EQ(measured(3, "pair_gb_s:3>1"), std::vector<double>{300});
  EXPECT_EQ(measured(1, "nccl_busbw"), std::vector<double>{470});
  EXPECT_EQ(measured(3, "nccl_busbw"), std::vector<double>{470});
  for (const int gpu : {1, 3}) {
    for (const T t : {T::hbm, T::peers, T::nccl, T::sweep}) EXPECT_EQ(ran(t, gpu).state, TestState::done) << ran(t, gpu).why;
  }
  EXPECT_EQ(end().memory_left_mib, 0);
}

TEST_F(AcceptBench, OneGpuHasNoPeers) {
  options.gpus = {"0"};
  all({task(T::peers), task(T::nccl)});
  EXPECT_EQ(ran(T::peers, 0).state, TestState::not_applicable);
  EXPECT_EQ(ran(T::nccl, 0).state, TestState::not_applicable);
}

TEST_F(AcceptBench, ProgressIsTold) {
  auto bench = Bench::open(options, [] { return false; });
  ASSERT_TRUE(bench.has_value());
  std::vector<Progress> told;
  const std::vector<Task> tasks = {task(T::hbm, 0.5), task(T::march, 0.5)};
  (*bench)->run(tasks, [](const accepting::Row&) {}, [&](const Progress& p) { told.push_back(p); }, {});
  ASSERT_GE(told.size(), 4u);
  EXPECT_EQ(told.front().count, 2u);
  EXPECT_EQ(told.back().index, 1u);
  EXPECT_EQ(told.back().task.test, T::march);
  EXPECT_TRUE(std::any_of(told.begin(), told.end(), [](const Progress& p) { return p.share > 0.1 && p.share < 0.9; }));
  for (std::size_t i = 1; i < told.size(); ++i) EXPECT_GT(told[i].at_s, told[i - 1].at_s);
}

TEST_F(AcceptBench, CountersAreThoseOfBeforeAndAfter) {
  set(2, "ecc_corrected", 7);
  all({task(T::hbm), task(T::counters)}, [] { return false; }, [&] { set(2, "ecc_corrected", 9), set(2, "recovery_action", 1); });
  std::map<std::pair<int, std::string>, std::pair<double, double>> counters;
  for (const auto& c : of<accepting::Counter>()) counters[{c.gpu, c.name}] = {c.before, c.after};
  EXPECT_EQ((counters[{2, "ecc_corrected"}]), (std::pair<double, double>{7, 9}));
  EXPECT_EQ((counters[{2, "recovery_action"}]), (std::pair<double, double>{0, 1}));
  EXPECT_EQ((counters[{1, "ecc_uncorrected"}]), (std::pair<double, double>{0, 0}));
  EXPECT_FALSE(counters.contains({1, "pcie_corrected"})) << "this GPU does not have it";
  EXPECT_EQ(ran(T::counters, 2).state, TestState::done);
  EXPECT_EQ(ran(T::counters, 2).why, "");
}

TEST_F(AcceptBench, WhatTheKernelSaysMeanwhileIsOfItsGpu) {
  options.gpus = {"0", "2"};
  kernel_says("3,2,2,-;NVRM: Xid (PCI:0000:1b:00): 79, pid=1, name=x, GPU has fallen off the bus.");  // before it began
  all({task(T::hbm, 0.1), task(T::counters)}, [] { return false; }, [&] {
    kernel_says("3,3,3,-;NVRM: Xid (PCI:0000:3b:00): 94, pid=12, name=python3, Contained: SM (0x1). RST: No, D-RST: No");
    kernel_says("3,4,4,-;NVRM: Xid (PCI:0000:2b:00): 31, pid=12, name=other, Ch 00000008");  // GPU 1: somebody else's
    kernel_says("3,5,5,-;NVRM: Xid (PCI:0000:99:00): 31, pid=12, name=other, Ch 00000008");
    kernel_says("12,6,6,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=forged, GPU has fallen off the bus.");  // a user's words
    kernel_says("6,7,7,-;eth0: link up");
  });
  const auto words = of<accepting::KernelWord>();
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0].gpu, 2);
  EXPECT_EQ(words[0].code, 94);
  EXPECT_GT(words[0].at_s, 0);
  EXPECT_EQ(words[1].gpu, -1) << "an address that is no GPU's";
  EXPECT_EQ(words[1].code, 31);
}

TEST_F(AcceptBench, WithoutTheKernelsLogTheDriversOwnWordsCountAndThatIsSaid) {
  options.kernel_log = folder + "/nowhere";
  options.limits.end_s = 1;
  ::setenv("FAKE_NVML_XID", (folder + "/xid").c_str(), 1);
  all({task(T::hbm, 0.1), task(T::counters)}, [] { return false; }, [&] { std::ofstream(folder + "/xid") << 48; });
  EXPECT_EQ(ran(T::counters, 2).state, TestState::done);
  EXPECT_NE(ran(T::counters, 2).why.find("without the kernel's log"), std::string::npos) << ran(T::counters, 2).why;
  const auto words = of<accepting::KernelWord>();
  ASSERT_EQ(words.size(), 1u);
  EXPECT_EQ(words[0].gpu, 2);
  EXPECT_EQ(words[0].code, 48);
}

TEST_F(AcceptBench, MemoryThatIsLeftBehindIsTold) {
  set(1, "leak", 0);
  all({task(T::hbm)}, [] { return false; }, [&] { set(1, "leak", 321); });
  EXPECT_EQ(end().memory_left_mib, 321);
}

TEST_F(AcceptBench, WhatCouldNotEvenBeginIsARecordingToo) {
  ::setenv("FAKE_NVML_INIT", "18", 1);
  const auto bench = Bench::open(options, [] { return false; });
  ASSERT_FALSE(bench.has_value());
  const std::vector<Task> tasks = {task(T::inventory), task(T::hbm)};
  rows = not_run(options, bench.error(), tasks);
  EXPECT_EQ(of<accepting::Host>().size(), 1u);
  EXPECT_EQ(ran(T::hbm, -1).state, TestState::could_not_run);
  EXPECT_EQ(ran(T::hbm, -1).why, bench.error().what);
  EXPECT_EQ(of<accepting::Ran>().size(), 2u);
  end();
}

}  // namespace
}  // namespace muster::bench
