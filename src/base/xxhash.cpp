#include <xxhash.h>

#include "base/hash.h"

namespace muster {
std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed) { return XXH64(bytes.data(), bytes.size(), seed); }
}  // namespace muster
