// All that was found in a job's files, in words, as JSON, as one page, and as an overlay for Perfetto.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/profile.h"
#include "diagnose/ranks.h"

namespace muster::report {

// What one kind of material says beside its findings.
struct DiagnosisPart {
  std::string key;                 // of the JSON document: "hang"
  std::string title;               // of its section, for people
  std::vector<std::string> words;  // lines
  std::string json;                // its value
};

struct Diagnosis {
  diagnose::Verdict verdict;
  std::vector<diagnose::Profile> profiles;   // by rank; their traces must outlive this
  std::optional<diagnose::RankWaits> waits;  // where there are several
  std::size_t told = 0;                      // the profile whose kernels and remedies are told
  diagnose::Peaks peaks;                     // of the profiles' GPU
  std::vector<diagnose::Finding> findings;   // what matters most first
  std::vector<DiagnosisPart> parts;
  std::vector<std::string> cannot;  // what the files cannot say
  std::uint32_t gpus = 0;           // of the job; 0: not told
  double price = 0;                 // of a GPU-hour; 0: not told
};

// Mean over the profiles that have any; all 0: there is none.
diagnose::Shares mean_shares(const Diagnosis& d);

std::vector<std::string> say_diagnosis(const Diagnosis& d);
std::string diagnosis_json(const Diagnosis& d);

// One file that needs no other: the verdict, the waterfall of a step, its time line, ranks against each other, findings.
std::string diagnosis_page(const Diagnosis& d);

// Chrome's trace format, to be opened beside the profile itself (its times are the profile's): for each rank what each moment of
// its steps went into, and why the GPU was idle.
std::string perfetto_overlay(const Diagnosis& d);

}  // namespace muster::report
