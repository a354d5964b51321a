// What a model of GPU can do by its data sheet. How much of that a program gets is a matter of calibration.h.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

// Number formats of matrix products. fp8 has one scale per tensor, mxfp8 one per 32 values; both run at the same rate.
enum class Dtype : std::uint8_t { bf16, fp8, mxfp8, nvfp4 };
constexpr std::array<std::string_view, 4> names(Dtype) { return {"bf16", "fp8", "mxfp8", "nvfp4"}; }

struct GpuModel {
  std::string name;        // "h100"
  double bf16_tflops = 0;  // dense, as all rates here
  double fp8_tflops = 0;   // 0: it has none
  double fp4_tflops = 0;
  double hbm_gb = 0;
  double hbm_tb_s = 0;
  double nvlink_gb_s = 0;    // one way
  std::uint32_t domain = 8;  // GPUs that its links join
  bool nvls = false;         // its switches add up what is sent through them
  double pair_gb_s = 0;      // of these, from one to one other, where no switch joins them; 0: all
  std::uint32_t sms = 0;     // multiprocessors, or compute units
  double nic_gb_s = 0;       // one way, of the network card that is usual beside it
  double tdp_w = 0;
  double fp32_tflops = 0;  // without tensor cores; 0: not told
  double host_gb_s = 0;    // between pinned memory of the host and it, as programs get it
  std::string source;

  // Operations a second at best; 0: it cannot.
  double peak(Dtype d) const {
    const double tflops = d == Dtype::bf16 ? bf16_tflops : d == Dtype::nvfp4 ? fp4_tflops : fp8_tflops;
    return tflops * 1e12;
  }
};

}  // namespace muster
