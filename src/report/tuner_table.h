// The table that libnccl-tuner-muster.so reads: which algorithm, protocol and channels NCCL shall use, by collective, shape of
// the communicator and size. docs/formats/tuner_table.md describes the bytes; plugins/nccl_tuner/table.h reads them in C.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::report {

// Numbers are NCCL's own (its tuner ABI): they are what the plugin hands over.
std::optional<int> tuner_collective(std::string_view name);  // "AllReduce", "all_reduce", "allreduce": 4
std::optional<int> tuner_algorithm(std::string_view name);   // "Ring", "RING", "NVLSTree", "NVLS_TREE": 0 to 6
std::optional<int> tuner_protocol(std::string_view name);    // "LL", "LL128", "Simple": 0 to 2
std::string_view tuner_collective_name(int collective);      // "allreduce"; "?" for a number that is none
std::string_view tuner_algorithm_name(int algorithm);        // "Ring"; "NCCL's own" for -1
std::string_view tuner_protocol_name(int protocol);

struct TunerKey {
  int collective = 4;
  bool registered = false;
  std::uint32_t nodes = 1;
  std::uint32_t ranks_per_node = 1;
  std::uint32_t nvlink_domain =
      1;  // ranks of the communicator in one NVLink domain; NCCL before 2.28.3 does not tell it to plugins
  auto operator<=>(const TunerKey&) const = default;
};

// What to use; as constructed: NCCL's own choice.
struct TunerChoice {
  int algorithm = -1;
  int protocol = -1;
  std::uint16_t channels = 0;     // 0: NCCL's own number
  std::uint32_t chunk_bytes = 0;  // 0: NCCL's own size; only NCCL 2.30 and later ask
  bool own() const { return algorithm < 0; }
  auto operator<=>(const TunerChoice&) const = default;
};

// One measured size. Times are medians; a time of 0 was not measured.
struct TunerKnot {
  std::uint64_t bytes = 0;  // as NCCL counts them for tuners: of the whole buffer, as nccl-tests' "size" does
  TunerChoice choice;
  double default_us = 0;   // NCCL's own choice at this size
  double chosen_us = 0;    // `choice` at this size
  double previous_us = 0;  // the previous knot's choice, at this size
  double next_us = 0;      // the next knot's choice, at this size
  double gain = 0;         // default over chosen, less one, as far as it is believed: 0.25 is a quarter faster
  double noise = 0;        // of that gain
};

// From this size on, up to the next span's, the choice holds.
struct TunerSpan {
  std::uint64_t from_bytes = 0;
  TunerChoice choice;
  std::uint16_t gain_permille = 0;
  std::uint16_t noise_permille = 0;
  std::uint32_t default_ns = 0;
  std::uint32_t chosen_ns = 0;
  auto operator<=>(const TunerSpan&) const = default;
};

struct TunerEntry {
  TunerKey key;
  std::vector<TunerSpan> spans;
  bool operator==(const TunerEntry&) const = default;
};

struct TunerTable {
  std::uint16_t margin_permille = 30;  // a choice that promises no more than this is left to NCCL
  std::uint32_t nccl_version = 0;      // with which it was measured, e.g. 22809; 0 unknown
  std::vector<TunerEntry> entries;
  bool operator==(const TunerTable&) const = default;
};

// What holds between the knots (of one key, ascending sizes): where two neighbours agree, that; where they differ, each up to the
// size at which their times cross (straight lines in log size and log time), or up to the middle in log size where one was not
// measured at the other's size. Half an octave beyond the outermost knots, NCCL's own choice.
std::vector<TunerSpan> tuner_spans(std::span<const TunerKnot> knots);

Result<std::string> encode_tuner_table(TunerTable table);  // entries in any order; their keys must differ
Result<TunerTable> decode_tuner_table(std::string_view bytes, std::string_view file);
std::string tuner_table_hash(std::string_view bytes);  // 16 hex digits, as the plugin logs them and MUSTER_TUNER_HASH takes them

// What the plugin would hand over: spans whose gain is within noise or margin, and numbers of ranks between two measured ones
// whose choices differ, are NCCL's own. nvlink_domain 0: not known, as before NCCL 2.28.3.
TunerChoice tuner_choice(const TunerTable& table, const TunerKey& key, std::uint64_t bytes);

}  // namespace muster::report
