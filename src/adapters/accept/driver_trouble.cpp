#include "adapters/accept/driver_trouble.h"

#include <fmt/format.h>
#include <unistd.h>

#include "adapters/agent/nvml_library.h"
#include "base/text.h"

namespace muster::bench {

using namespace agent::nvml;

DriverSigns look_for_driver(const std::string& root) {
  const std::string control = root + "/dev/nvidiactl";
  return {::access((root + "/proc/driver/nvidia/version").c_str(), F_OK) == 0, ::access(control.c_str(), F_OK) == 0,
          ::access(control.c_str(), R_OK | W_OK) == 0};
}

Error driver_trouble(int code, const std::string& why, const DriverSigns& signs) {
  const Error not_allowed{Code::not_allowed, "no permission for /dev/nvidia*: the NVIDIA driver does not let this user in",
                          "`ls -l /dev/nvidia*` says who may; inside a job, ask for its GPUs. Being root is not needed"};
  switch (code) {
    case kNoLibrary:
      if (signs.module) {
        return {Code::not_found, fmt::format("the NVIDIA driver is loaded, but not its library: {}", printable(why)),
                "in a container, start it with the GPUs (--gpus all); on a node, install the driver's libraries"};
      }
      return {Code::not_found, fmt::format("there is no NVIDIA driver here: {}", printable(why)),
              "install the driver on this node; in a container, start it with the GPUs (--gpus all)"};
    case kDriverNotLoaded:
      if (signs.device && !signs.allowed) return not_allowed;
      if (signs.module) {
        return {Code::unreachable, "the NVIDIA driver is loaded, but /dev/nvidia* is missing here",
                "in a container, start it with the GPUs (--gpus all); on a node, `nvidia-modprobe -u -c=0` makes them"};
      }
      return {Code::unreachable, "the NVIDIA driver is installed, but not loaded",
              "`modprobe nvidia`; where that fails, `dmesg | grep -i nvrm` says why"};
    case kNoPermission: return not_allowed;
    case kBlocked:
      return {Code::not_allowed, "the operating system keeps the GPUs from this process: its cgroup does not have them",
              "inside a job, ask for its GPUs (--gpus-per-node)"};
    case kVersionMismatch:
      return {Code::conflict, "the driver's library and its kernel module are of different versions: it was upgraded as it ran",
              "reboot the node, or unload the nvidia modules and load them again"};
    case kGpuLost:
    case kResetRequired:
      return {Code::unreachable, fmt::format("the NVIDIA driver does not start: a GPU {}", gpu_trouble(code)),
              "reset the GPU (`nvidia-smi -r`) or power the node off and on"};
    default:
      return {Code::unreachable, fmt::format("the NVIDIA driver does not answer: its library says {}", code),
              "`nvidia-smi` and `dmesg | grep -i nvrm` say more"};
  }
}

std::string gpu_trouble(int code) {
  switch (code) {
    case kOk: return {};
    case kGpuLost: return "fell off the bus";
    case kResetRequired: return "must be reset before it can be used again";
    case kNoPermission: return "may not be used by this user";
    case kBlocked: return "is not among those of this cgroup";
    case kIrqIssue: return "raises no interrupts, as the driver sees it";
    case kNoPower: return "has a power cable that is not attached, as the driver sees it";
    default: return fmt::format("is not given by the driver (NVML says {})", code);
  }
}

}  // namespace muster::bench
