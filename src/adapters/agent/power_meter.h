// PowerMeter: the power and the counted energy of this machine's GPUs, asked of NVML as often as somebody wants to know.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::agent {

class PowerMeter {
 public:
  struct Gpu {
    unsigned index = 0;
    std::string uuid, model;  // empty: the driver does not say
  };
  // Below 0: it has none, or does not answer.
  struct Reading {
    double power_w = -1;  // as nvidia-smi's power.draw: from Ampere on a mean over the last second
    double instant_w = -1;
    std::int64_t energy_mj = -1;  // since the driver was loaded
  };

  static Result<std::unique_ptr<PowerMeter>> open(const std::string& library);
  ~PowerMeter();
  PowerMeter(const PowerMeter&) = delete;
  PowerMeter& operator=(const PowerMeter&) = delete;

  const std::vector<Gpu>& gpus() const;
  Reading read(std::size_t gpu);

 private:
  struct Guts;
  explicit PowerMeter(std::unique_ptr<Guts> guts);
  std::unique_ptr<Guts> guts_;
};

}  // namespace muster::agent
