#include "adapters/accept/driver_trouble.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace muster::bench {
namespace {

TEST(DriverTrouble, EveryReasonHasItsOwnWordsAndANextStep) {
  const DriverSigns nothing{}, loaded{true, true, true}, barred{true, true, false}, no_files{true, false, false};
  const auto what = [](int code, const DriverSigns& s) { return driver_trouble(code, "libnvidia-ml.so.1: not found", s); };
  EXPECT_NE(what(kNoLibrary, nothing).what.find("no NVIDIA driver"), std::string::npos);
  EXPECT_NE(what(kNoLibrary, loaded).what.find("but not its library"), std::string::npos);
  EXPECT_NE(what(9, nothing).next.find("modprobe nvidia"), std::string::npos);
  EXPECT_NE(what(9, no_files).next.find("--gpus all"), std::string::npos);
  EXPECT_EQ(what(9, barred).code, Code::not_allowed);
  EXPECT_EQ(what(4, loaded).code, Code::not_allowed);
  EXPECT_EQ(what(17, loaded).code, Code::not_allowed);
  EXPECT_NE(what(18, loaded).next.find("reboot"), std::string::npos);
  EXPECT_NE(what(15, loaded).what.find("fell off the bus"), std::string::npos);
  EXPECT_NE(what(16, loaded).next.find("reset"), std::string::npos);
  EXPECT_NE(what(999, loaded).what.find("999"), std::string::npos);
  for (const int code : {kNoLibrary, 4, 9, 15, 16, 17, 18, 999}) {
    for (const DriverSigns& s : {nothing, loaded, barred, no_files}) EXPECT_FALSE(what(code, s).next.empty()) << code;
  }
}

TEST(DriverTrouble, AGpuThatAnswersHasNone) {
  EXPECT_EQ(gpu_trouble(0), "");
  EXPECT_EQ(gpu_trouble(15), "fell off the bus");
  EXPECT_NE(gpu_trouble(77).find("77"), std::string::npos);
}

TEST(DriverTrouble, TheSignsOfADriverAreItsFiles) {
  char name[] = "/tmp/muster-driver-XXXXXX";
  const std::string root = mkdtemp(name);
  EXPECT_FALSE(look_for_driver(root).module || look_for_driver(root).device || look_for_driver(root).allowed);
  std::filesystem::create_directories(root + "/proc/driver/nvidia");
  std::filesystem::create_directories(root + "/dev");
  std::ofstream(root + "/proc/driver/nvidia/version") << "NVRM version";
  std::ofstream(root + "/dev/nvidiactl") << "";
  EXPECT_TRUE(look_for_driver(root).module && look_for_driver(root).device && look_for_driver(root).allowed);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace muster::bench
