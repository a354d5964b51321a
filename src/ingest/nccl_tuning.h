// The table in which NCCL's tuner says what it reckons with (NCCL_DEBUG_SUBSYS=TUNING): a start and a rate for every operation,
// algorithm and protocol. From it alone NCCL's choice can be worked out again for any size.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/nccl_way.h"

namespace muster {

// "Ring", "RING", "NVLS_TREE", "NVLSTree", "CollnetDirect"; none: none that is known.
std::optional<NcclAlgorithm> nccl_algorithm(std::string_view name);
std::optional<NcclProtocol> nccl_protocol(std::string_view name);

class NcclTuningReader {
 public:
  // What one thread says, behind NCCL's mark. False: it is none of the table's lines.
  bool message(const std::string& thread, std::string_view text);
  // By operation, algorithm and protocol.
  std::vector<NcclBelief> finish() const;

 private:
  void row(const std::vector<NcclAlgorithm>& columns, Collective op, const std::vector<std::string_view>& cells);

  std::map<std::string, std::vector<NcclAlgorithm>> columns_;  // of each thread's last header
  std::map<std::tuple<Collective, NcclAlgorithm, NcclProtocol>, NcclBelief> all_;
};

}  // namespace muster
