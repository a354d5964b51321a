// Why NVIDIA's driver does not answer, in words that say what to do.
#pragma once
#include <string>

#include "base/result.h"

namespace muster::bench {

constexpr int kNoLibrary = -1;  // beside NVML's own codes: the library could not be opened

// What the machine shows of the driver without asking it.
struct DriverSigns {
  bool module = false;   // the kernel has loaded it
  bool device = false;   // /dev/nvidiactl is there
  bool allowed = false;  // and this user may use it
};
DriverSigns look_for_driver(const std::string& root = "");

// `code`: NVML's, or kNoLibrary; `why`: the loader's words.
Error driver_trouble(int code, const std::string& why, const DriverSigns& signs);
// Of one GPU that the driver knows of and does not give: "it fell off the bus". Empty: there is none.
std::string gpu_trouble(int code);

}  // namespace muster::bench
