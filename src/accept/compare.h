// Two sets of recordings side by side: generations, vendors, before and after. For each metric the ratio of the medians with its
// 95 % interval, and what that means per watt, per dollar-hour and for training steps.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accept/figures.h"
#include "model/gpu_model.h"
#include "model/transformer.h"

namespace muster::accept {

struct Side {
  std::string name;  // "A", or what the user calls it
  std::span<const Acceptance> recordings;
  const GpuModel* model = nullptr;  // data sheet; nullptr: not known
  double price_per_h = 0;           // of one GPU; 0: not told
};

struct Compared {
  std::string metric;
  std::size_t count_a = 0, count_b = 0;  // GPUs
  double a = 0, b = 0;                   // medians
  double ratio = 0, low = 0, high = 0;   // b over a, in the sense of "better": above 1 is better; 95 % interval
  bool known = false;                    // the interval leaves out 1, and there are enough GPUs to say so
  std::optional<double> per_watt;        // b over a
  std::optional<double> per_dollar;
  std::optional<double> peak_a, peak_b;  // share of the data sheet
};

// One training step on one node of eight, by the model of a step fed with what was measured; 0: it does not fit the memory.
struct StepCompared {
  std::string model;
  std::string plan;  // "8 GPUs, tensor parallel 8, batch 8 of 4096"
  double a_s = 0, b_s = 0;
};

struct Comparison {
  std::string name_a, name_b;
  std::vector<Compared> rows;
  std::vector<StepCompared> steps;
  std::vector<std::string> notes;  // suites that differ, too few GPUs, what is missing
};

// `models`: whose training steps are predicted.
Comparison compare(const Side& a, const Side& b, std::span<const Transformer> models = {});

}  // namespace muster::accept
