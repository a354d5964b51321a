// Kernels that were measured on a GPU beside what is predicted of them.
#pragma once
#include <span>

#include "predict/timings.h"
#include "report/table.h"

namespace muster::report {

// A line for each family, and one for all: how far off on the shapes that were kept back.
Table timing_errors(std::span<const predict::TimingFamily> families);
// Each shape that was kept back.
Table timing_rows(std::span<const predict::TimingFamily> families);

}  // namespace muster::report
