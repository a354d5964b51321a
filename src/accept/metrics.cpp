#include "accept/metrics.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace muster::accept {
namespace {

using T = AcceptTest;
using P = Part;
constexpr auto kNo = Judged::no;
constexpr auto kLimited = Judged::limited;
constexpr auto kExact = Judged::exact;
constexpr auto kLow = Better::lower;
constexpr auto kHigh = Better::higher;

// Floors are what the same card differs from run to run, and healthy cards from each other: 0.3 % per MHz and for memory, 1.75 %
// for what heat and the power limit decide.
constexpr Metric kMetrics[] = {
    {"sms", "SMs", "", T::inventory, P::sms, kExact, 0, kHigh, true, {}},
    {"memory_mib", "memory", "MiB", T::inventory, P::memory, kExact, 0, kHigh, true, {}},
    {"power_limit_w", "power limit", "W", T::inventory, P::power, kNo, 0, kHigh, false, {}},
    {"link_gen", "PCIe generation under load", "", T::link, P::host_link, kNo, 0, kHigh, true, {}},
    {"link_width", "PCIe lanes under load", "", T::link, P::host_link, kNo, 0, kHigh, true, {}},
    {"h2d_gb_s", "host to GPU", "GB/s", T::link, P::host_link, kLimited, 0.015, kHigh, true, "host"},
    {"d2h_gb_s", "GPU to host", "GB/s", T::link, P::host_link, kLimited, 0.015, kHigh, true, "host"},
    {"both_gb_s", "both ways at once", "GB/s", T::link, P::host_link, kNo, 0.02, kHigh, false, {}},
    {"copy_us", "copy of 4 bytes", "us", T::link, P::host_link, kNo, 0.05, kLow, false, {}},
    {"launch_us", "launch", "us", T::link, P::host_link, kNo, 0.05, kLow, false, {}},
    {"launch_sync_us", "launch and wait", "us", T::link, P::host_link, kNo, 0.05, kLow, false, {}},
    {"graph_node_us", "launch in a graph", "us", T::link, P::host_link, kNo, 0.05, kLow, false, {}},
    {"ping_us", "flag there and back", "us", T::link, P::host_link, kNo, 0.05, kLow, false, {}},
    {"sweep_ms", "all SMs, six units", "ms", T::sweep, P::sms, kNo, 0.02, kLow, false, {}},
    {"sweep_sms", "SMs that answered", "", T::sweep, P::sms, kNo, 0, kHigh, true, {}},
    {"sweep_tensor", "slowest SM, tensor cores", "of the median", T::sweep, P::sms, kLimited, 0.005, kLow, true, {}},
    {"sweep_fp64", "slowest SM, fp64", "of the median", T::sweep, P::sms, kLimited, 0.005, kLow, true, {}},
    {"sweep_fp32", "slowest SM, fp32", "of the median", T::sweep, P::sms, kLimited, 0.005, kLow, true, {}},
    {"sweep_int", "slowest SM, integers", "of the median", T::sweep, P::sms, kLimited, 0.005, kLow, true, {}},
    {"sweep_special", "slowest SM, special functions", "of the median", T::sweep, P::sms, kLimited, 0.005, kLow, true, {}},
    {"sweep_shared", "slowest SM, shared memory", "of the median", T::sweep, P::sms, kLimited, 0.005, kLow, true, {}},
    {"hbm_read", "memory read", "GB/s", T::hbm, P::memory, kLimited, 0.003, kHigh, true, "hbm"},
    {"hbm_write", "memory write", "GB/s", T::hbm, P::memory, kLimited, 0.003, kHigh, true, "hbm"},
    {"hbm_copy", "memory copy", "GB/s", T::hbm, P::memory, kLimited, 0.003, kHigh, true, "hbm"},
    {"march_share", "memory tested", "%", T::march, P::memory, kNo, 0, kHigh, true, {}},
    {"march_s", "march, seven patterns", "s", T::march, P::memory, kNo, 0.01, kLow, false, {}},
    {"march_write", "march, write", "GB/s", T::march, P::memory, kLimited, 0.005, kHigh, false, "hbm"},
    {"march_verify", "march, verify", "GB/s", T::march, P::memory, kLimited, 0.005, kHigh, true, "hbm"},
    {"gemm_bf16", "bf16, verified", "TFLOP/s", T::gemm_bf16, P::tensor_cores, kNo, 0.02, kHigh, true, "bf16"},
    {"gemm_bf16_verified", "bf16, outputs verified", "", T::gemm_bf16, P::tensor_cores, kNo, 0, kHigh, true, {}},
    {"bf16_per_mhz", "bf16 per MHz", "TFLOP/s", T::gemm_bf16, P::tensor_cores, kLimited, 0.0035, kHigh, true, {}},
    {"gemm_fp16", "fp16, verified", "TFLOP/s", T::gemm_fp16, P::tensor_cores, kNo, 0.02, kHigh, true, "bf16"},
    {"gemm_fp16_verified", "fp16, outputs verified", "", T::gemm_fp16, P::tensor_cores, kNo, 0, kHigh, true, {}},
    {"fp16_per_mhz", "fp16 per MHz", "TFLOP/s", T::gemm_fp16, P::tensor_cores, kLimited, 0.0035, kHigh, true, {}},
    {"gemm_fp8", "fp8, verified", "TFLOP/s", T::gemm_fp8, P::tensor_cores, kNo, 0.02, kHigh, true, "fp8"},
    {"gemm_fp8_verified", "fp8, outputs verified", "", T::gemm_fp8, P::tensor_cores, kNo, 0, kHigh, true, {}},
    {"fp8_per_mhz", "fp8 per MHz", "TFLOP/s", T::gemm_fp8, P::tensor_cores, kLimited, 0.0035, kHigh, true, {}},
    {"gemm_tf32", "tf32, verified", "TFLOP/s", T::gemm_tf32, P::tensor_cores, kNo, 0.02, kHigh, true, {}},
    {"gemm_tf32_verified", "tf32, outputs verified", "", T::gemm_tf32, P::tensor_cores, kNo, 0, kHigh, true, {}},
    {"tf32_per_mhz", "tf32 per MHz", "TFLOP/s", T::gemm_tf32, P::tensor_cores, kLimited, 0.0035, kHigh, true, {}},
    {"gemm_int8", "int8, verified", "TOP/s", T::gemm_int8, P::tensor_cores, kNo, 0.02, kHigh, true, "fp8"},
    {"gemm_int8_verified", "int8, outputs verified", "", T::gemm_int8, P::tensor_cores, kNo, 0, kHigh, true, {}},
    {"int8_per_mhz", "int8 per MHz", "TOP/s", T::gemm_int8, P::tensor_cores, kLimited, 0.0035, kHigh, true, {}},
    {"sustained_bf16", "bf16, sustained", "TFLOP/s", T::sustained, P::tensor_cores, kNo, 0.0175, kHigh, true, "bf16"},
    {"sustained_bf16_per_mhz",
     "bf16 sustained per MHz",
     "TFLOP/s",
     T::sustained,
     P::tensor_cores,
     kLimited,
     0.0035,
     kHigh,
     true,
     {}},
    {"sustained_bf16_spread", "spread of its windows", "%", T::sustained, P::tensor_cores, kNo, 0.1, kLow, false, {}},
    {"sustained_fp8", "fp8, sustained", "TFLOP/s", T::sustained, P::tensor_cores, kNo, 0.0175, kHigh, false, "fp8"},
    {"mhz_at_cap", "SM clock held", "MHz", T::sustained, P::power, kLimited, 0.0175, kHigh, true, {}},
    {"power_w", "power, sustained", "W", T::sustained, P::power, kNo, 0.02, kHigh, false, "tdp"},
    {"bf16_per_w", "bf16 per watt", "TFLOP/s", T::sustained, P::power, kNo, 0.02, kHigh, false, {}},
    {"gpu_c_max", "hottest, GPU", "C", T::sustained, P::cooling, kNo, 0.05, kLow, false, {}},
    {"memory_c_max", "hottest, memory", "C", T::sustained, P::cooling, kNo, 0.05, kLow, false, {}},
    {"slowed_pct", "readings slowed by the hardware", "%", T::sustained, P::cooling, kNo, 0, kLow, false, {}},
    {"power_max_w", "highest power seen", "W", T::pulse, P::power, kNo, 0.05, kLow, false, {}},
    {"pulse_products", "products under pulses", "", T::pulse, P::power, kNo, 0.05, kHigh, true, {}},
    {"sweep_sms_hot", "SMs that answered, hot", "", T::sweep_hot, P::sms, kNo, 0, kHigh, true, {}},
    {"sweep_tensor_hot", "slowest SM, hot, tensor cores", "of the median", T::sweep_hot, P::sms, kLimited, 0.005, kLow, true, {}},
    {"sweep_fp64_hot", "slowest SM, hot, fp64", "of the median", T::sweep_hot, P::sms, kLimited, 0.005, kLow, true, {}},
    {"sweep_fp32_hot", "slowest SM, hot, fp32", "of the median", T::sweep_hot, P::sms, kLimited, 0.005, kLow, true, {}},
    {"sweep_int_hot", "slowest SM, hot, integers", "of the median", T::sweep_hot, P::sms, kLimited, 0.005, kLow, true, {}},
    {"sweep_special_hot",
     "slowest SM, hot, special functions",
     "of the median",
     T::sweep_hot,
     P::sms,
     kLimited,
     0.005,
     kLow,
     true,
     {}},
    {"sweep_shared_hot",
     "slowest SM, hot, shared memory",
     "of the median",
     T::sweep_hot,
     P::sms,
     kLimited,
     0.005,
     kLow,
     true,
     {}},
    {"march_share_hot", "memory tested, hot", "%", T::march_hot, P::memory, kNo, 0, kHigh, true, {}},
    {"march_write_hot", "march, write, hot", "GB/s", T::march_hot, P::memory, kLimited, 0.005, kHigh, false, "hbm"},
    {"march_verify_hot", "march, verify, hot", "GB/s", T::march_hot, P::memory, kLimited, 0.005, kHigh, true, "hbm"},
    {"pair_gb_s", "slowest pair of GPUs", "GB/s", T::peers, P::peers, kLimited, 0.01, kHigh, true, "nvlink"},
    {"nccl_busbw", "all-reduce, bus bandwidth", "GB/s", T::nccl, P::peers, kLimited, 0.01, kHigh, true, {}},
};

}  // namespace

std::string_view remedy(Part part) {
  switch (part) {
    case Part::memory: return "reset the GPU and test again; if it remains, return the board";
    case Part::tensor_cores:
    case Part::sms: return "reset the GPU and test again; if it remains, return the board";
    case Part::host_link:
      return "power the node off and on; then reseat the board or riser, and look at the slot's error counters";
    case Part::power: return "look at the power supplies, the power limit and what else draws power; then test again";
    case Part::cooling: return "look at fans, filters, the cold plate and the inlet's temperature; then test again";
    case Part::peers:
      return "look at NVLink's error counters and the fabric manager; reset all GPUs of the node, then test again";
    case Part::driver: return "reload the driver or reboot the node, then test again";
    case Part::whole: return "reset the GPU and test again";
  }
  return {};
}

std::span<const Metric> metrics() { return kMetrics; }

const Metric* find_metric(std::string_view name) {
  static const auto by_name = [] {
    std::map<std::string_view, const Metric*> out;
    for (const Metric& m : kMetrics) out[m.name] = &m;
    return out;
  }();
  const auto it = by_name.find(name);
  return it == by_name.end() ? nullptr : it->second;
}

std::size_t index_of(const Metric& m) {
  const auto at = static_cast<std::size_t>(&m - std::begin(kMetrics));
  MUSTER_CHECK(at < std::size(kMetrics));
  return at;
}

}  // namespace muster::accept
