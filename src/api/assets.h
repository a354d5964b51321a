// The web pages, inside the program: cmake/web.cmake builds, compresses and embeds them.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace muster::api {

struct Asset {
  std::string_view path;  // "index.html"
  std::string_view content_type;
  std::span<const std::uint8_t> gz;
  std::string_view etag;  // with its quotes
};

std::span<const Asset> assets();

}  // namespace muster::api
