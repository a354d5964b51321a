// GPUs as Slurm writes them: "billing=64,gres/gpu:h200=8,gres/gpu=8", "gpu:h200:8(S:0-1)", "gres:gpu:8", "gpu:1g.10gb:7".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

struct GresGpus {
  std::int64_t milli = 0;   // thousandths of GPUs; a MIG slice is so many sevenths of one, rounded down
  std::int64_t shards = 0;  // of gres/shard: parts of GPUs that only the node's own settings give a size
  std::string type;         // of most of them, in small letters; empty: not said
  bool per_node = false;    // "PER_NODE:gpu:8" of Slurm 20.11
  bool wrong = false;       // a number that is none
};
GresGpus parse_gres(std::string_view text);

// Sevenths of a GPU that a type names as a slice of it: 3 for "h100_3g.40gb"; 0: a whole GPU's name.
int mig_sevenths(std::string_view type);

}  // namespace muster
