// The bench when things go wrong: what hangs, dies, lies, floods, is in use or is not there ends in a row that says so, and
// nothing is left running.
#include <sys/wait.h>

#include "adapters/accept/bench.h"
#include "base/prng.h"
#include "ground.h"

namespace muster::bench {
namespace {

using T = AcceptTest;
const Stop kNever = [] { return false; };

struct BenchTrouble : Ground {
  void expect_others_done(const std::vector<T>& tests, int but) {
    for (int gpu = 0; gpu < 4; ++gpu) {
      for (const T t : tests) {
        if (gpu == but) continue;
        EXPECT_EQ(ran(t, gpu).state, TestState::done) << gpu << ": " << ran(t, gpu).why;
      }
    }
  }
};

TEST_F(BenchTrouble, WhatHangsIsEndedAtItsDeadlineAndTheOthersGoOn) {
  misbehave("gemm_bf16:2=hang");
  all({task(T::hbm), task(T::gemm_bf16, 0.02, 0.5), task(T::march), task(T::counters)});
  EXPECT_EQ(ran(T::hbm, 2).state, TestState::done);
  EXPECT_EQ(ran(T::gemm_bf16, 2).state, TestState::hung);
  EXPECT_NEAR(ran(T::gemm_bf16, 2).took_s, 0.5, 0.2);
  EXPECT_EQ(ran(T::march, 2).state, TestState::could_not_run);
  EXPECT_EQ(ran(T::march, 2).why, "the GPU did not come back from gemm_bf16");
  EXPECT_EQ(ran(T::counters, 2).state, TestState::done);
  expect_others_done({T::hbm, T::gemm_bf16, T::march}, 2);
  EXPECT_EQ(end().left, 0u);
}

TEST_F(BenchTrouble, WhatDiesIsToldWithItsSignalAndLastWordsAndTheNextTestGetsANewProcess) {
  misbehave("gemm_bf16:1=die,march:3=exit");
  all({task(T::gemm_bf16), task(T::march), task(T::pulse)});
  EXPECT_EQ(ran(T::gemm_bf16, 1).state, TestState::could_not_run);
  EXPECT_NE(ran(T::gemm_bf16, 1).why.find("signal 11"), std::string::npos) << ran(T::gemm_bf16, 1).why;
  EXPECT_NE(ran(T::gemm_bf16, 1).why.find("corrupted top size"), std::string::npos) << ran(T::gemm_bf16, 1).why;
  EXPECT_EQ(ran(T::march, 1).state, TestState::done);
  EXPECT_NE(ran(T::march, 3).why.find("ended with 3"), std::string::npos) << ran(T::march, 3).why;
  EXPECT_EQ(ran(T::pulse, 3).state, TestState::done);
  expect_others_done({T::pulse}, -1);
}

TEST_F(BenchTrouble, WhatCouldNotRunSaysWhyAndIsNeverDone) {
  misbehave("hbm:0=cannot,hbm:1=silent,hbm:2=odd,hbm:3=nan");
  all({task(T::hbm), task(T::march)});
  EXPECT_EQ(ran(T::hbm, 0).why, "CUDA: out of memory");
  EXPECT_EQ(ran(T::hbm, 3).why, "fake_gb_s is not a number");
  for (int gpu = 0; gpu < 4; ++gpu) {
    EXPECT_EQ(ran(T::hbm, gpu).state, TestState::could_not_run);
    EXPECT_NE(ran(T::hbm, gpu).why, "");
    EXPECT_EQ(ran(T::march, gpu).state, TestState::done) << ran(T::march, gpu).why;
  }
}

TEST_F(BenchTrouble, WrongResultsHaveTheirPlace) {
  misbehave("sweep:2=wrong");
  all({task(T::sweep)});
  const auto wrong = of<accepting::Wrong>();
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong[0].gpu, 2);
  EXPECT_EQ(wrong[0].test, T::sweep);
  EXPECT_EQ(wrong[0].place, "SM 17");
  EXPECT_EQ(wrong[0].count, 3u);
  EXPECT_EQ(ran(T::sweep, 2).state, TestState::done);
}

TEST_F(BenchTrouble, AFloodIsCutAndCountedAndNobodyWaits) {
  misbehave("hbm:1=flood");
  all({task(T::hbm, 0.02, 60), task(T::march)});
  EXPECT_LE(measured(1, "flood").size(), Station::kFiguresMax);
  EXPECT_NE(ran(T::hbm, 1).why.find("left out"), std::string::npos) << ran(T::hbm, 1).why;
  std::uint64_t count = 0;
  for (const auto& w : of<accepting::Wrong>()) count += w.count;
  EXPECT_EQ(count, 200'000u) << "wrong results that are not told one by one are counted";
  EXPECT_LE(of<accepting::Wrong>().size(), Station::kWrongMax + 1);
  expect_others_done({T::hbm, T::march}, -1);
}

TEST_F(BenchTrouble, WhateverALibrarySaysIsMadeText) {
  misbehave("hbm:1=rude");
  all({task(T::hbm)});
  for (const accepting::Row& r : rows) {
    if (const auto* m = std::get_if<accepting::Measured>(&r)) {
      EXPECT_LT(m->metric.size(), 130u);
      EXPECT_EQ(m->metric.find_first_of("\x1b\n"), std::string::npos);
    }
    if (const auto* w = std::get_if<accepting::Wrong>(&r)) {
      EXPECT_EQ(w->count, 1u) << "no count is one";
      EXPECT_EQ((w->place + w->detail).find_first_of("\x1b\n"), std::string::npos);
      EXPECT_TRUE(valid_utf8(w->place + w->detail));
    }
  }
  EXPECT_EQ(of<accepting::Wrong>().size(), 1u);
}

TEST_F(BenchTrouble, ALibraryThatIsNotThereOrOfAnotherReleaseOrHoldsNothingIsSaid) {
  const std::vector<Task> tasks = {task(T::inventory), task(T::hbm), task(T::peers), task(T::counters)};
  const auto expect = [&](const std::string& words) {
    rows.clear();
    all(tasks);
    for (int gpu = 0; gpu < 4; ++gpu) {
      for (const T t : {T::inventory, T::hbm, T::peers}) {
        EXPECT_EQ(ran(t, gpu).state, TestState::could_not_run);
        EXPECT_NE(ran(t, gpu).why.find(words), std::string::npos) << ran(t, gpu).why;
      }
      EXPECT_EQ(ran(T::counters, gpu).state, TestState::done);
    }
    EXPECT_EQ(of<accepting::Gpu>().size(), 4u);
  };
  misbehave("abi=other");
  expect("is of another muster: its interface is 7, and 1 is needed");
  misbehave("");
  options.library = FAKE_DRIVER;
  expect("holds no tests of muster");
  options.library = folder + "/libnowhere.so";
  expect("libnowhere.so");
}

TEST_F(BenchTrouble, AGpuThatCannotBeOpenedIsAloneInThat) {
  misbehave("open:0=cannot,open:1=die,open:2=hang");
  options.limits.open_s = 0.5;
  all({task(T::inventory), task(T::hbm), task(T::counters)});
  EXPECT_EQ(ran(T::inventory, 0).state, TestState::could_not_run);
  EXPECT_EQ(ran(T::inventory, 0).why, "the GPU cannot be opened: out of memory");
  EXPECT_NE(ran(T::inventory, 1).why.find("signal 6"), std::string::npos) << ran(T::inventory, 1).why;
  EXPECT_EQ(ran(T::inventory, 2).state, TestState::hung);
  for (const int gpu : {0, 1, 2}) EXPECT_EQ(ran(T::hbm, gpu).state, TestState::could_not_run);
  EXPECT_EQ(ran(T::hbm, 2).why, "the GPU did not come back from being opened");
  EXPECT_EQ(ran(T::hbm, 3).state, TestState::done);
  EXPECT_EQ(of<accepting::Gpu>()[0].sms, -1);
  EXPECT_EQ(of<accepting::Gpu>()[3].sms, 132);
}

TEST_F(BenchTrouble, TheLibraryMustOpenTheGpuThatItWasTold) {
  misbehave("open:1=another");
  all({task(T::inventory), task(T::hbm)});
  EXPECT_EQ(ran(T::hbm, 1).state, TestState::could_not_run);
  EXPECT_NE(ran(T::hbm, 1).why.find("opened another GPU"), std::string::npos) << ran(T::hbm, 1).why;
  expect_others_done({T::inventory, T::hbm}, 1);
}

TEST_F(BenchTrouble, AGpuInUseCouldNotRunAndWhoUsesItIsSaid) {
  set(1, "user", ::getpid());
  const double began = steady_s();
  all({task(T::inventory), task(T::hbm), task(T::march)});
  EXPECT_EQ(ran(T::inventory, 1).state, TestState::could_not_run);
  EXPECT_EQ(ran(T::hbm, 1).state, TestState::could_not_run);
  const std::string& why = ran(T::hbm, 1).why;
  EXPECT_EQ(why.find("the GPU is in use by bench_tests"), 0u) << why;
  EXPECT_NE(why.find("(process " + std::to_string(::getpid()) + ")"), std::string::npos) << why;
  expect_others_done({T::inventory, T::hbm, T::march}, 1);
  EXPECT_LT(steady_s() - began, 2) << "it is waited for once, not before each test";
}

TEST_F(BenchTrouble, OutOfAContainerItsOwnProcessesAreNotTakenForOthersAndOthersAreStillSeen) {
  ::setenv("FAKE_NVML_OUTSIDE", "5000000", 1);
  all({task(T::inventory), task(T::hbm), task(T::peers), task(T::march)});
  expect_others_done({T::inventory, T::hbm, T::peers, T::march}, -1);
  rows.clear();
  all({task(T::hbm, 0.1), task(T::march)}, kNever, [&] { set(2, "user", 5); });
  EXPECT_EQ(ran(T::hbm, 2).why, "it was disturbed: the GPU is in use by a process of another container");
  expect_others_done({T::hbm, T::march}, 2);
  rows.clear();
  all({task(T::hbm)});
  EXPECT_EQ(ran(T::hbm, 2).why, "the GPU is in use by a process of another container");
}

TEST_F(BenchTrouble, AGpuThatIsLeftInTimeIsTested) {
  options.limits.idle_s = 20;
  set(1, "user", ::getpid());
  set(2, "busy", 97);
  int asked = 0;
  all({task(T::hbm)}, [&] {  // asked many times a second
    if (++asked == 8) std::filesystem::remove(folder + "/gpu1.user"), std::filesystem::remove(folder + "/gpu2.busy");
    return false;
  });
  expect_others_done({T::hbm}, -1);
}

TEST_F(BenchTrouble, WorkThatTheDriverDoesNotAttributeCountsToo) {
  set(2, "busy", 97);
  all({task(T::hbm)});
  EXPECT_EQ(ran(T::hbm, 2).state, TestState::could_not_run);
  EXPECT_EQ(ran(T::hbm, 2).why, "the GPU is 97 % busy, and the driver does not say with whose work");
}

TEST_F(BenchTrouble, WhoComesDuringATestSpoilsItAndNotTheGpu) {
  all({task(T::hbm, 0.1), task(T::march)}, kNever, [&] { set(3, "user", ::getpid()); });
  EXPECT_EQ(ran(T::hbm, 3).state, TestState::could_not_run);
  EXPECT_EQ(ran(T::hbm, 3).why.find("it was disturbed: the GPU is in use by"), 0u) << ran(T::hbm, 3).why;
  EXPECT_EQ(ran(T::march, 3).state, TestState::could_not_run);
  expect_others_done({T::hbm, T::march}, 3);
}

TEST_F(BenchTrouble, AGpuThatIsLostOrDividedIsSaid) {
  set(0, "status", 15);
  set(1, "divided", 1);
  set(2, "status", 16);
  all({task(T::inventory), task(T::hbm), task(T::peers), task(T::counters)});
  EXPECT_EQ(ran(T::hbm, 0).why, "the GPU fell off the bus");
  EXPECT_EQ(ran(T::counters, 0).state, TestState::could_not_run);
  EXPECT_NE(ran(T::hbm, 1).why.find("MIG"), std::string::npos);
  EXPECT_NE(ran(T::hbm, 2).why.find("reset"), std::string::npos);
  for (const int gpu : {0, 1, 2}) EXPECT_EQ(ran(T::inventory, gpu).state, TestState::could_not_run);
  EXPECT_EQ(ran(T::hbm, 3).state, TestState::done);
  EXPECT_EQ(ran(T::peers, 3).state, TestState::could_not_run);
  EXPECT_EQ(ran(T::peers, 3).why, "no other GPU can be used");
}

TEST_F(BenchTrouble, AGpuThatFallsOffTheBusMeanwhileIsSaid) {
  ::setenv("FAKE_NVML_DEV", folder.c_str(), 1);  // a GPU is there while its file is
  for (int gpu = 0; gpu < 4; ++gpu) std::ofstream(folder + "/gpu" + std::to_string(gpu));
  all({task(T::hbm, 0.1), task(T::march)}, kNever, [&] { std::filesystem::remove(folder + "/gpu2"); });
  EXPECT_EQ(ran(T::march, 2).state, TestState::could_not_run);
  EXPECT_EQ(ran(T::march, 2).why, "the GPU fell off the bus");
  expect_others_done({T::hbm, T::march}, 2);
}

TEST_F(BenchTrouble, ADriverThatDoesNotAnswerIsAnErrorWithAWayOut) {
  const auto what = [&] {
    const auto bench = Bench::open(options, kNever);
    EXPECT_FALSE(bench.has_value());
    return bench ? Error{} : bench.error();
  };
  ::setenv("FAKE_NVML_INIT", "18", 1);
  EXPECT_NE(what().what.find("different versions"), std::string::npos) << what().what;
  EXPECT_NE(what().next.find("reboot"), std::string::npos);
  ::setenv("FAKE_NVML_INIT", "999", 1);
  EXPECT_NE(what().what.find("999"), std::string::npos);
  ::unsetenv("FAKE_NVML_INIT");
  ::setenv("FAKE_NVML_COUNT", "0", 1);
  EXPECT_EQ(what().code, Code::not_found);
  EXPECT_NE(what().what.find("sees no GPU"), std::string::npos) << what().what;
  ::setenv("FAKE_NVML_COUNT", "4", 1);
  options.gpus = {"7"};
  EXPECT_EQ(what().what, "this node has no GPU 7");
  options.gpus.clear();
  options.nvml = "libnowhere.so.1";
  EXPECT_EQ(what().code, Code::not_found);
  EXPECT_NE(what().what.find("libnowhere.so.1"), std::string::npos) << what().what;
}

TEST_F(BenchTrouble, ADriverThatHangsAtOnceIsAnError) {
  std::ofstream(folder + "/hang");
  ::setenv("FAKE_NVML_HANG", (folder + "/hang").c_str(), 1);
  options.limits.driver_s = 0.3;
  const auto bench = Bench::open(options, kNever);
  ASSERT_FALSE(bench.has_value());
  EXPECT_EQ(bench.error().code, Code::unreachable);
  EXPECT_NE(bench.error().what.find("did not answer within 0.3 s"), std::string::npos) << bench.error().what;
}

TEST_F(BenchTrouble, ADriverThatHangsLaterCostsTheCountersAndNotTheTests) {
  ::setenv("FAKE_NVML_HANG", (folder + "/hang").c_str(), 1);
  options.limits.watch_s = 0.3;
  all({task(T::hbm, 0.1), task(T::march, 1), task(T::counters)}, kNever, [&] { std::ofstream(folder + "/hang"); });
  expect_others_done({T::hbm, T::march}, -1);
  for (int gpu = 0; gpu < 4; ++gpu) {
    EXPECT_EQ(ran(T::counters, gpu).state, TestState::could_not_run);
    EXPECT_NE(ran(T::counters, gpu).why.find("NVML"), std::string::npos) << ran(T::counters, gpu).why;
  }
  EXPECT_EQ(end().left, 0u);
}

TEST_F(BenchTrouble, AWorkerThatDoesNotLeaveIsMadeTo) {
  misbehave("close:1=hang");
  options.limits.end_s = 0.2;
  all({task(T::hbm), task(T::nccl), task(T::march)});
  for (const T t : {T::hbm, T::nccl, T::march}) EXPECT_EQ(ran(t, 1).state, TestState::done) << ran(t, 1).why;
  EXPECT_EQ(end().left, 0u);
  EXPECT_EQ(end().memory_left_mib, 0);
}

TEST_F(BenchTrouble, APeersTestThatHangsOrDiesLeavesTheRest) {
  misbehave("peers=hang,nccl=die");
  all({task(T::nccl), task(T::peers, 0.02, 0.3), task(T::sweep_hot)});
  for (int gpu = 0; gpu < 4; ++gpu) {
    EXPECT_EQ(ran(T::nccl, gpu).state, TestState::could_not_run);
    EXPECT_EQ(ran(T::peers, gpu).state, TestState::hung);
    EXPECT_EQ(ran(T::sweep_hot, gpu).state, TestState::done) << ran(T::sweep_hot, gpu).why;
  }
}

TEST_F(BenchTrouble, AProcessThatCannotBeEndedIsCounted) {
  misbehave("hbm:1=stuck");
  options.limits.end_s = 0.2;
  std::vector<pid_t> stuck;
  all({task(T::hbm, 0.02, 1), task(T::march)});
  const bool possible = std::filesystem::exists(folder + "/stuck");
  EXPECT_EQ(ran(T::hbm, 1).state, TestState::hung);
  EXPECT_EQ(ran(T::march, 1).state, TestState::could_not_run);
  expect_others_done({T::hbm, T::march}, 1);
  EXPECT_EQ(end().left, possible ? 1u : 0u);
  std::filesystem::remove(folder + "/stuck");  // whoever holds it lets it go
  EXPECT_TRUE(within(5, [] {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return children_of(::getpid()).empty();
  }));
  if (!possible) GTEST_SKIP() << "this machine lets no process look at another as a debugger does";
}

TEST_F(BenchTrouble, AStopAtAnyMomentEndsItWithinASecond) {
  Prng dice(20261115, "stop");
  double worst_s = 0;
  for (int trial = 0; trial < 40; ++trial) {
    rows.clear();
    // Half of the time a GPU is deaf to it, or hangs where it opens.
    misbehave(trial % 4 == 1 ? "hbm:1=deaf,march:2=hang" : trial % 4 == 3 ? "open:3=hang,hbm:0=deaf" : "");
    const double at = steady_s() + dice.unit() * 0.6;
    double told = 0;
    const auto stop = [&] {
      if (told == 0 && steady_s() >= at) told = steady_s();
      return told != 0;
    };
    auto bench = Bench::open(options, stop);
    if (!bench) {
      EXPECT_EQ(bench.error().code, Code::refused) << bench.error().what;
      continue;
    }
    const auto sink = [&](accepting::Row r) { rows.push_back(std::move(r)); };
    const std::vector<Task> tasks = {task(T::inventory), task(T::hbm, 0.2), task(T::peers, 0.1), task(T::march, 0.2),
                                     task(T::counters)};
    (*bench)->run(tasks, sink, {}, stop);
    const double back_s = told == 0 ? 0 : steady_s() - told;
    (*bench)->finish(sink);
    const double over_s = told == 0 ? 0 : steady_s() - told;
    worst_s = std::max(worst_s, over_s);
    EXPECT_LT(back_s, 0.8) << "trial " << trial;
    EXPECT_LT(over_s, 1.0) << "trial " << trial;
    EXPECT_EQ(end().stopped, told != 0);
    EXPECT_EQ(end().left, 0u);
    EXPECT_TRUE(children_of(::getpid()).empty()) << "trial " << trial;
    for (const T t : {T::inventory, T::hbm, T::peers, T::march, T::counters}) {
      for (int gpu = 0; gpu < 4; ++gpu) {
        const TestState s = ran(t, gpu).state;
        EXPECT_TRUE(told != 0 || s == TestState::done || s == TestState::hung || s == TestState::could_not_run);
      }
    }
  }
  RecordProperty("worst_ms", static_cast<int>(worst_s * 1000));
}

TEST_F(BenchTrouble, WhenTheProgramIsKilledNothingOfItLivesOn) {
  misbehave("hbm:1=deaf,hbm:2=hang");
  for (int trial = 0; trial < 5; ++trial) {
    const pid_t program = ::fork();
    if (program == 0) {
      auto bench = Bench::open(options, kNever);
      const std::vector<Task> tasks = {task(T::hbm, 60, 120)};
      if (bench) (*bench)->run(tasks, [](const accepting::Row&) {}, {}, kNever);
      ::_exit(0);
    }
    std::vector<pid_t> theirs;
    EXPECT_TRUE(within(10, [&] { return (theirs = children_of(program)).size() == 5; })) << "four workers, one for the driver";
    ::kill(program, SIGKILL);
    ::waitpid(program, nullptr, 0);
    for (const pid_t pid : theirs) {
      EXPECT_TRUE(within(2, [&] {
        const std::string state = state_of(pid);
        return state.empty() || state[0] == 'Z';
      })) << "process " << pid << " lives on";
    }
  }
}

TEST_F(BenchTrouble, ABenchThatIsTakenDownInTheMiddleEndsAll) {
  misbehave("hbm:1=hang");
  {
    auto bench = Bench::open(options, kNever);
    ASSERT_TRUE(bench.has_value());
    const std::vector<Task> tasks = {task(T::hbm, 0.02, 0.2)};
    (*bench)->run(tasks, [](const accepting::Row&) {}, {}, kNever);
    EXPECT_FALSE(children_of(::getpid()).empty());
  }
  EXPECT_TRUE(children_of(::getpid()).empty());
}

}  // namespace
}  // namespace muster::bench
