// What NCCL's Inspector (a profiler plugin, NCCL 2.28 and later) writes while a job runs: a line of JSON for each operation, a
// file for each process. Memory is bounded: of more operations than are kept, the same part of every rank's is.
#pragma once
#include <memory>
#include <string_view>

#include "model/nccl_bench.h"

namespace muster {

constexpr std::size_t kInspectorSamplesMax = 1'000'000;
constexpr std::size_t kInspectorTracksMax = 65536;

bool looks_like_nccl_inspector(std::string_view text);

class InspectorReader {
 public:
  InspectorReader();
  ~InspectorReader();
  InspectorReader(const InspectorReader&) = delete;
  InspectorReader& operator=(const InspectorReader&) = delete;

  // Files one after another, in pieces of any size; lines may lie across the pieces of one file.
  void feed(std::string_view text);
  void end_file();
  InspectorLog finish();

 private:
  struct Guts;
  std::unique_ptr<Guts> guts_;
};

InspectorLog parse_nccl_inspector(std::string_view text);

}  // namespace muster
