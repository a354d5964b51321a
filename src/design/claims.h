// What is said of GPU clusters (what they cost, save and reach) computed again: which of it holds, and under which assumption.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/calibration.h"
#include "model/gpu_model.h"
#include "model/transformer.h"
#include "predict/collectives.h"

namespace muster::design {

enum class Verdict : std::uint8_t { holds, holds_if, refuted, not_measured };
constexpr std::array<std::string_view, 4> names(Verdict) { return {"holds", "holds if", "refuted", "not measured"}; }

struct Claim {
  std::string id;
  std::string claim;
  Verdict verdict = Verdict::holds;
  std::string figure;   // computed
  std::string because;  // what makes it true, or the assumption that fails
};

struct ClaimInputs {
  GpuModel a100, h100, h200;
  Calibration on_h100;  // what software gets of it, in BF16
  std::vector<Transformer> models;
  const predict::Collectives& collectives;
};

std::vector<Claim> claims(const ClaimInputs& in);

}  // namespace muster::design
