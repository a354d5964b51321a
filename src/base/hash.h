// xxHash for tables and SHA-256 for everything that is stored, chained or shown.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed = 0);

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view bytes);
// SHA-256 of `prev` followed by `bytes`: one link of a hash chain.
Digest chain(const Digest& prev, std::string_view bytes);
std::string render_hex(const Digest& d);
std::optional<Digest> parse_digest(std::string_view hex);

}  // namespace muster
