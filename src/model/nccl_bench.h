// How fast exchanges were: as nccl-tests printed it, and as NCCL's Inspector wrote it down while a job ran. Texts are untrusted,
// and printable already.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/collective.h"

namespace muster {

struct NcclTestTiming {
  double time_us = 0, alg_gb_s = 0, bus_gb_s = 0;
  std::optional<double> wrong;  // values; none: they were not checked
  double median_us = 0;         // of its iterations, where each was timed; 0: not told
};

struct NcclTestRow {
  double bytes = 0;
  std::uint64_t count = 0;
  std::string type, redop;                // redop: empty where there is none
  int root = -1;                          // -1: there is none
  std::optional<NcclTestTiming> out, in;  // out of place, in place
  std::uint32_t line = 0;

  // The faster of the two.
  const NcclTestTiming* best() const {
    if (!out || !in) return out ? &*out : in ? &*in : nullptr;
    return in->time_us < out->time_us ? &*in : &*out;
  }
};

struct NcclTestRank {
  std::uint32_t rank = 0, group = 0;
  std::string host, gpu;  // gpu: "NVIDIA H100 80GB HBM3"
};

struct NcclTestRun {
  std::string program;                               // "all_reduce_perf"; empty: not told
  std::optional<Collective> op;                      // none: it cannot be told, or it is one that is not known
  std::string op_by;                                 // what told: "its program", "its columns", "the file's name"
  std::uint32_t ranks = 0, nodes = 0, per_node = 0;  // 0: not told
  std::string gpu;                                   // the most ranks' ; empty: not told
  std::vector<NcclTestRank> members;
  std::vector<NcclTestRow> rows;
  std::optional<double> average_bus_gb_s;
  std::optional<std::uint64_t> out_of_bounds;
  std::vector<std::pair<std::string, std::string>> settings;  // NCCL_ and RCCL_ of its environment, where told
  bool registered = false;                                    // buffers, by its arguments
  std::uint32_t line = 0;                                     // where it begins
};

struct NcclTestLog {
  std::string file;
  std::vector<NcclTestRun> runs;
  std::uint64_t torn = 0;      // rows that begin and do not end
  std::uint64_t left_out = 0;  // beyond what is kept
};

struct InspectorSample {
  std::uint64_t seq = 0;
  double bytes = 0, time_us = 0, bus_gb_s = 0;
  std::int32_t peer = -1;  // of a send or a receive, in the communicator's numbers; -1: not told
};

// One rank's record of one operation in one communicator.
struct InspectorTrack {
  std::uint32_t rank = 0;
  std::string host;
  std::vector<InspectorSample> samples;  // by seq
};

struct InspectorSeries {
  std::string comm, comm_name;
  std::uint32_t ranks = 0, nodes = 0;
  std::string op;  // "AllReduce"
  std::optional<Collective> collective;
  std::vector<InspectorTrack> tracks;  // by rank
};

struct InspectorLog {
  std::string version;
  std::vector<InspectorSeries> series;  // by communicator, then operation
  std::uint64_t records = 0, left_out = 0;
  std::uint64_t not_understood = 0;  // lines: damaged ones, and those that are no record
  std::uint64_t damaged = 0;         // of them, those that begin as a record and do not end as one
  std::uint64_t one_of = 1;          // so many were kept, the same of every rank
};

}  // namespace muster
