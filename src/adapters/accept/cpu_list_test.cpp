#include "adapters/accept/cpu_list.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace muster::bench {
namespace {

TEST(CpuList, RangesAndSingleNumbers) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("5"), std::vector<int>{5});
}

TEST(CpuList, WhatIsNoListIsNothing) {
  for (const char* text : {"", "\n", "a", "3-1", "1-", "-1", "1,,2", "0-4000000000", "99999999999999999999"}) {
    EXPECT_TRUE(parse_cpu_list(text).empty()) << text;
  }
}

// In a process of its own: what it is bound to stays.
int bound_to(const std::string& root, const std::string& pci) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    stay_near(pci, root);
    ::sched_getaffinity(0, sizeof set, &set);
    ::_exit(CPU_COUNT(&set) > 100 ? 100 : CPU_COUNT(&set));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

TEST(CpuList, AProcessStaysNearItsDeviceAmongTheProcessorsThatItMayUse) {
  char name[] = "/tmp/muster-cpus-XXXXXX";
  const std::string root = mkdtemp(name);
  const std::string folder = root + "/sys/bus/pci/devices/0000:1b:00.0";
  std::filesystem::create_directories(folder);
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  int first = 0;
  while (!CPU_ISSET(first, &set)) ++first;
  const int all = bound_to("/nowhere", "00000000:1B:00.0");
  std::ofstream(folder + "/local_cpulist") << first << "\n";
  EXPECT_EQ(bound_to(root, "00000000:1B:00.0"), 1);
  EXPECT_EQ(bound_to(root, "00000000:2B:00.0"), all);
  EXPECT_EQ(bound_to(root, "no address"), all);
  std::ofstream(folder + "/local_cpulist") << "1020-1023\n";  // none that it may use
  EXPECT_EQ(bound_to(root, "00000000:1B:00.0"), all);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace muster::bench
