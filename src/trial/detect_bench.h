// The detectors over a labelled corpus: what they found, missed and wrongly found, for each class of finding.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "trial/corpus.h"

namespace muster::trial {

struct ClassMarks {
  std::uint64_t expected = 0, found = 0, missed = 0, wrong = 0;
  double latency_s_sum = 0;  // of those found, from the case's first input
  double precision() const { return found + wrong == 0 ? 1 : static_cast<double>(found) / static_cast<double>(found + wrong); }
  double recall() const { return expected == 0 ? 1 : static_cast<double>(found) / static_cast<double>(expected); }
};

struct DetectReport {
  std::uint64_t cases = 0, quiet = 0;  // quiet: those in which nothing is wrong
  std::uint64_t refused_lines = 0;
  ClassMarks all;
  std::map<FindingKind, ClassMarks> classes;
  std::vector<std::string> misses, false_alarms;  // "FILE:LINE CASE: what"
};

DetectReport bench_detect(const std::vector<Case>& cases);

}  // namespace muster::trial
