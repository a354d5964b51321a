// What a source of samples has for the detectors and what it lacks, in words: silence about a kind of fault must not be taken for
// health.
#pragma once
#include <array>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/sample.h"
#include "model/site.h"

namespace muster {

class Coverage {
 public:
  void add(std::span<const Sample> samples);
  // One sentence each: what was found, then what is missing and what to do about it.
  std::vector<std::string> describe(const Site& site) const;

 private:
  std::array<std::set<std::uint32_t>, kFields> nodes_;  // that have the field
};

}  // namespace muster
