#include "ingest/rpm_header.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster {
namespace {

// Two big-endian words say how many entries the index and how many bytes the store behind it has.
constexpr std::size_t kIntroBytes = 8, kEntryBytes = 16;
constexpr std::uint32_t kName = 1000, kVersion = 1001, kRelease = 1002, kEpoch = 1003, kArch = 1022;
constexpr std::uint32_t kInt32 = 4, kString = 6;

std::uint32_t word(std::string_view bytes, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

tl::unexpected<Error> bad(const std::string& why) {
  return fail(Code::corrupt, "header of a package: " + why, "rpm --rebuilddb makes the database anew");
}

Result<std::string> text_at(std::string_view store, std::uint32_t tag, std::uint32_t offset) {
  if (offset >= store.size()) return bad(fmt::format("tag {} lies outside of it", tag));
  const std::string_view rest = store.substr(offset, kRpmWordMax + 1);
  const auto end = rest.find('\0');
  if (end == std::string_view::npos) return bad(fmt::format("tag {} has no end", tag));
  const std::string_view text = rest.substr(0, end);
  if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; }))
    return bad(fmt::format("tag {} is no word", tag));
  return std::string(text);
}

}  // namespace

Result<RpmPackage> parse_rpm_header(std::string_view blob) {
  if (blob.size() < kIntroBytes) return bad("cut off");
  const std::uint64_t entries = word(blob, 0), store_bytes = word(blob, 4);
  if (kIntroBytes + entries * kEntryBytes + store_bytes != blob.size())
    return bad(fmt::format("{} tags and {} bytes of values do not make {} bytes", entries, store_bytes, blob.size()));
  const std::string_view store = blob.substr(blob.size() - static_cast<std::size_t>(store_bytes));
  RpmPackage out;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = kIntroBytes + i * kEntryBytes;
    const std::uint32_t tag = word(blob, at), type = word(blob, at + 4), offset = word(blob, at + 8);
    if (tag == kEpoch) {
      if (type != kInt32 || store.size() < 4 || offset > store.size() - 4) return bad("its epoch is no number");
      if (!out.epoch) out.epoch = word(store, offset);
      continue;
    }
    std::string* to = tag == kName      ? &out.name
                      : tag == kVersion ? &out.version
                      : tag == kRelease ? &out.release
                      : tag == kArch    ? &out.arch
                                        : nullptr;
    if (to == nullptr || !to->empty()) continue;  // what stands there twice is what stands there first
    if (type != kString) return bad(fmt::format("tag {} is no text", tag));
    auto text = text_at(store, tag, offset);
    if (!text) return tl::unexpected(text.error());
    *to = std::move(*text);
  }
  if (out.name.empty() || out.version.empty()) return bad("it has no name or no version");
  return out;
}

}  // namespace muster
