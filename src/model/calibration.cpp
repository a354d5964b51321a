#include "model/calibration.h"

namespace muster {

const std::vector<CalibrationField>& calibration_fields() {
  using C = Calibration;
  static const std::vector<CalibrationField> all = {
      {"gemm", &C::gemm, 0.1, 1},
      {"gemm_k_half", &C::gemm_k_half, 0, 2000},
      {"gemm_waves", &C::gemm_waves, 0, 1},
      {"kernel_us", &C::kernel_us, 0, 50},
      {"attention", &C::attention, 0, 1},
      {"attention_tail", &C::attention_tail, 0, 1},
      {"attention_us", &C::attention_us, 0, 300},
      {"attention_back", &C::attention_back, 1, 5},
      {"score_passes", &C::score_passes, 0, 20},
      {"hbm", &C::hbm, 0.1, 1},
      {"cast_passes", &C::cast_passes, 0, 8},
      {"expert_us", &C::expert_us, 0, 200},
      {"layer_host_us", &C::layer_host_us, 0, 5000},
      {"nvlink", &C::nvlink, 0.1, 1},
      {"nvlink_us", &C::nvlink_us, 0, 60},
      {"net", &C::net, 0.1, 1},
      {"net_us", &C::net_us, 0, 300},
      {"all_to_all", &C::all_to_all, 0.05, 1},
      {"tp_exposed", &C::tp_exposed, 0, 1},
      {"ep_exposed", &C::ep_exposed, 0, 1},
      {"dp_exposed", &C::dp_exposed, 0, 1},
      {"pp_exposed", &C::pp_exposed, 0, 1},
      {"head_exposed", &C::head_exposed, 0, 1},
      {"grad_bytes", &C::grad_bytes, 2, 6},
      {"micro_ms", &C::micro_ms, 0, 30},
      {"step_ms", &C::step_ms, 0, 200},
      {"optimizer_bytes", &C::optimizer_bytes, 8, 80},
      {"jitter", &C::jitter, 0, 0.05},
  };
  return all;
}

}  // namespace muster
