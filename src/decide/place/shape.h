// Shape: what a gang asks of the cluster, and where it was put. The words are the model's; the numbers are resolved to the
// tree's.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "model/level.h"

namespace muster::decide {

constexpr std::uint32_t kAnyModel = UINT32_MAX;
constexpr std::uint32_t kAnyPool = UINT32_MAX;
constexpr std::uint32_t kNoPool = kAnyPool - 1;  // no node is in it

// During a rolling upgrade nodes are of several sides: they have the new version or not, their turn is still to come or not, and
// where versions are kept apart within NVLink domains, they are the smaller part of one that is half-way or not.
constexpr std::uint8_t kHasIt = 1;      // bit of a side
constexpr std::uint8_t kWaits = 2;      // bit of a side
constexpr std::uint8_t kFewer = 4;      // bit of a side
constexpr std::uint32_t kSides = 8;     // 0 to 7: the three bits
constexpr std::uint8_t kAnySide = 255;  // bit mask of sides
// The sides that have a bit, as a bit mask.
constexpr std::uint8_t sides_that(std::uint8_t bit) {
  std::uint32_t out = 0;
  for (std::uint32_t side = 0; side < kSides; ++side) out |= (side & bit) != 0 ? 1U << side : 0U;
  return static_cast<std::uint8_t>(out);
}
constexpr std::uint8_t kWithIt = sides_that(kHasIt);
constexpr std::uint8_t kNotWaiting = kAnySide & ~sides_that(kWaits);
constexpr std::uint8_t kOfFewer = sides_that(kFewer);

struct Shape {
  std::uint32_t pieces = 1;         // each lies within one node; the gang is all of them or nothing
  std::uint32_t gpus = 0;           // of a piece; 0: the whole node, whatever it has
  std::uint32_t milli = 1000;       // of each of these GPUs, in thousandths; below 1000 the GPU is shared, and gpus is 1
  std::uint32_t segment = 0;        // pieces are cut into segments of so many, each within one NVLink domain; 0: no segments
  Level required = Level::core;     // everything within one group of this level, or nothing
  std::uint32_t model = kAnyModel;  // index into Layout::models
  std::uint32_t pool = kAnyPool;    // index into Layout::pools, of which there are at most 64
  std::uint8_t sides = kAnySide;    // of an upgrade, on which it may go
  auto operator<=>(const Shape&) const = default;
};

// The cluster as placement sees it. Group numbers are dense from 0 within their level.
struct Layout {
  struct Node {
    std::uint32_t domain = 0;
    std::uint32_t leaf = 0;
    std::uint32_t pod = 0;
    std::uint32_t gpus = 8;  // at most 16
    std::uint32_t model = 0;
    std::uint64_t pools = 0;  // those it is in, as a bit mask
  };
  std::vector<Node> nodes;
  std::vector<std::string> models;
  std::vector<std::string> pools;
};

// Whether a node is of the kind that is asked for; `Ask` is a Shape, or whatever else has a model and a pool.
template <class Ask>
bool suits(const Ask& ask, std::uint32_t model, std::uint64_t pools) {
  return (ask.model == kAnyModel || ask.model == model) &&
         (ask.pool == kAnyPool || (ask.pool < 64 && (pools >> ask.pool & 1) != 0));
}

// The proof that goes with a placement: checkable without trust in who made it.
struct Certificate {
  Level level = Level::node;       // lowest level of which one group holds the gang; nothing lower does
  std::uint32_t group = 0;         // that group
  std::uint32_t leaves = 0;        // leaves used
  std::uint32_t leaves_min = 0;    // least that any choice inside that group could have used at that moment
  std::uint32_t leaves_empty = 0;  // least on an empty cluster
  // Most pieces that any one group of each lower level could have taken: all below Shape::pieces.
  std::vector<std::uint32_t> best_below;
};

struct Choice {
  std::vector<NodeId> nodes;         // in node order; pieces on the same node are one entry
  std::vector<std::uint16_t> slots;  // GPUs on each, as a bit mask
  Certificate certificate;
};

}  // namespace muster::decide
