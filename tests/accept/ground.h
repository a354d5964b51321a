// What the tests of the bench stand on: a folder of pretended GPUs, a bench over them, and the rows that it gave.
#pragma once
#include <dirent.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "adapters/accept/bench.h"

namespace muster::bench {

// State and parent of a process, "S 17"; empty: there is none.
inline std::string state_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(in, line);
  const std::size_t end = line.rfind(") ");
  if (end == std::string::npos) return {};
  const auto words = split(std::string_view(line).substr(end + 2), ' ');
  return words.size() < 2 ? std::string() : std::string(words[0]) + " " + std::string(words[1]);
}

// Processes whose parent is `parent`; zombies too.
inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto pid = parse_int(entry.path().filename().string());
    if (!pid) continue;
    const std::string state = state_of(static_cast<pid_t>(*pid));
    if (state.size() > 2 && state.substr(2) == std::to_string(parent)) out.push_back(static_cast<pid_t>(*pid));
  }
  return out;
}

template <class F>
bool within(double seconds, const F& f) {
  for (const double until = steady_s() + seconds; steady_s() < until; ::poll(nullptr, 0, 2)) {
    if (f()) return true;
  }
  return f();
}

struct Ground : ::testing::Test {
  void SetUp() override {
    char name[] = "/tmp/muster-bench-XXXXXX";
    folder = mkdtemp(name);
    std::ofstream(folder + "/kmsg") << "6,1,1,-;NVRM: an old line\n";
    ::setenv("FAKE_GPUS", folder.c_str(), 1);
    ::setenv("FAKE_NVML_COUNT", "4", 1);
    for (const char* v : {"FAKE_ACCEPT", "FAKE_NVML_INIT", "FAKE_NVML_HANG", "FAKE_NVML_XID", "FAKE_NVML_DEV",
                          "FAKE_NVML_OUTSIDE"}) ::unsetenv(v);
    options.library = FAKE_TESTS;
    options.nvml = FAKE_DRIVER;
    options.kernel_log = folder + "/kmsg";
    options.reading_s = 0.01;
    options.limits.idle_s = 0.3;
  }
  void TearDown() override {
    EXPECT_EQ(children_of(::getpid()).size(), 0u) << "something was left running";
    std::filesystem::remove_all(folder);
  }

  void misbehave(const std::string& how) { ::setenv("FAKE_ACCEPT", how.c_str(), 1); }
  void set(int gpu, const std::string& what, long n) {
    std::ofstream(folder + "/gpu" + std::to_string(gpu) + "." + what) << n;
  }
  void kernel_says(const std::string& record) { std::ofstream(folder + "/kmsg", std::ios::app) << record << "\n"; }

  // Opens, runs and finishes; what it gave is in `rows`. `when` is called once, with the first figure of a test.
  void all(const std::vector<Task>& tasks, const Stop& stop = [] { return false; }, const std::function<void()>& when = {}) {
    auto bench = Bench::open(options, stop);
    ASSERT_TRUE(bench.has_value()) << bench.error().what;
    bool called = false;
    const auto sink = [&](accepting::Row r) {
      if (when && !called && std::holds_alternative<accepting::Measured>(r)) called = true, when();
      rows.push_back(std::move(r));
    };
    (*bench)->run(tasks, sink, {}, stop);
    ran_for_s = steady_s();
    (*bench)->finish(sink);
  }
  template <class T>
  std::vector<T> of() const {
    std::vector<T> out;
    for (const accepting::Row& r : rows) {
      if (const T* t = std::get_if<T>(&r)) out.push_back(*t);
    }
    return out;
  }
  const accepting::Ran ran(AcceptTest test, int gpu, std::uint32_t turn = 0) const {
    for (const accepting::Ran& r : of<accepting::Ran>()) {
      if (r.test == test && r.gpu == gpu && r.turn == turn) return r;
    }
    ADD_FAILURE() << "no row of test " << static_cast<int>(test) << " on GPU " << gpu;
    return {};
  }
  accepting::End end() const {
    const auto e = of<accepting::End>();
    EXPECT_EQ(e.size(), 1u);
    EXPECT_TRUE(!rows.empty() && std::holds_alternative<accepting::End>(rows.back()));
    return e.empty() ? accepting::End{} : e.back();
  }
  std::vector<double> measured(int gpu, const std::string& metric) const {
    std::vector<double> out;
    for (const auto& m : of<accepting::Measured>()) {
      if (m.gpu == gpu && m.metric == metric) out.push_back(m.value);
    }
    return out;
  }

  std::string folder;
  Options options;
  std::vector<accepting::Row> rows;
  double ran_for_s = 0;
};

inline Task task(AcceptTest test, double seconds = 0.02, double deadline_s = 20) { return {test, seconds, deadline_s, 0, {}, 0}; }

}  // namespace muster::bench
