// Snapshots of PyTorch's caching allocator, as torch.cuda.memory._dump_snapshot writes them (a pickle, read as data: nothing in
// it is run), or the same as JSON.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/memory_snapshot.h"

namespace muster {

// As JSON nothing is shared, and the tree of it takes several times its length.
constexpr std::size_t kSnapshotJsonBytesMax = std::size_t{128} << 20;

// By the beginning of it: some kilobytes are enough.
bool looks_like_memory_snapshot(std::string_view bytes);
// Errors begin with `file`.
Result<MemorySnapshot> parse_memory_snapshot(std::string_view bytes, std::string_view file);

}  // namespace muster
