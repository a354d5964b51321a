// What may be asked about collectives, as plain values.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "design/fabrics.h"
#include "model/collective.h"
#include "report/format.h"

namespace muster::cmd {

struct PredictCollectiveOptions {
  Collective op = Collective::all_reduce;
  double bytes = 0;  // 0: many sizes
  std::string gpu;
  std::uint32_t gpus = 0;
  std::uint32_t together = 0;  // 0: as many as the GPU's links join
  double nic_gb_s = 0;         // 0: what is usual beside the GPU
  std::string network = "infiniband";
  std::optional<design::FabricKind> fabric;  // none: cards get their whole rate
  design::FabricAsk ask;
  bool hashed = false;
  bool in_network = false;
  bool all = false;                               // every algorithm
  std::string batch;                              // instead of all that: a table
  report::Format format = report::Format::table;  // table or csv
};

enum class CollectivePart : std::uint8_t { times, classes, spread };
constexpr std::array<std::string_view, 3> names(CollectivePart) { return {"times", "classes", "spread"}; }
struct CalibrateCollectivesOptions {
  std::string data;
  CollectivePart part = CollectivePart::times;
};

enum class CollectiveHold : std::uint8_t { hash, third, table };
constexpr std::array<std::string_view, 3> names(CollectiveHold) { return {"hash", "third", "table"}; }
struct BenchCollectivesOptions {
  std::string data;
  CollectiveHold hold = CollectiveHold::hash;
  report::Format format = report::Format::table;  // table or csv
};

}  // namespace muster::cmd
