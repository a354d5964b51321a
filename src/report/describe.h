// One thing in full, in plain words: what `muster describe` and `muster explain` print.
#pragma once
#include <optional>
#include <string>

#include "base/time.h"
#include "base/value.h"
#include "report/format.h"

namespace muster::report {

struct Page {
  bool colour = false;
  std::size_t width = 100;
  std::optional<Time> now;  // the cluster's time, for "3m ago"
};

std::string describe(Noun noun, const Value& item, const Page& page);

// The answer of the explain tool: title, sentences, evidence, rule, alternatives, actions.
std::string render_explanation(const Value& answer, const Page& page);

}  // namespace muster::report
