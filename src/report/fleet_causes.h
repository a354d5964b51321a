// Which setting explains the slow nodes, or that none does, for a terminal and for programs.
#pragma once
#include <string>

#include "fleet/causes.h"

namespace muster::report {

struct CausesView {
  const FactTable& table;
  const FactBook& book;
  const NodePerformance& performance;
  const fleet::CauseOptions& options;
  const fleet::Explanation& explanation;
};

std::string render_causes(const CausesView& view, bool colour);
std::string causes_json(const CausesView& view);

}  // namespace muster::report
