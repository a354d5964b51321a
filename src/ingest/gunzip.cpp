// ISA-L, known to this file alone: it unpacks two to three times as fast as zlib, which profiles of gigabytes are worth.
#include "ingest/gunzip.h"

#include <fmt/core.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace muster {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 16;

tl::unexpected<Error> damaged(std::string_view why, std::size_t at) {
  return fail(Code::bad_input, fmt::format("gzip data is damaged near byte {}: {}", at, why),
              "Fetch the file again, or try `gzip -t` on it.");
}

tl::unexpected<Error> cut_short(std::size_t at) {
  return fail(Code::bad_input, fmt::format("gzip data ends too early, after {} bytes", at),
              "The file is cut short: fetch it again, or try `gzip -t` on it.");
}

std::string_view words_of(int rc) {
  switch (rc) {
    case ISAL_INCORRECT_CHECKSUM: return "its checksum is another";
    case ISAL_INVALID_WRAPPER: return "its header is none of gzip's";
    case ISAL_UNSUPPORTED_METHOD: return "it is packed by a method that gzip does not have";
    default: return "what stands there cannot be unpacked";
  }
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b'; }

struct Gunzip::Guts {
  inflate_state state;
  std::size_t fed = 0;
  bool at_end = false;  // of a member: another may follow

  Guts() { begin(); }
  void begin() {
    isal_inflate_init(&state);
    state.crc_flag = ISAL_GZIP;  // with its header, and its checksum and length verified
  }
};

Gunzip::Gunzip() : guts_(std::make_unique<Guts>()) {}
Gunzip::~Gunzip() = default;
Gunzip::Gunzip(Gunzip&&) noexcept = default;
Gunzip& Gunzip::operator=(Gunzip&&) noexcept = default;

Result<void> Gunzip::feed(std::string_view bytes, const Sink& out) {
  inflate_state& s = guts_->state;
  std::uint8_t piece[kChunkBytes];
  while (!bytes.empty()) {
    if (std::exchange(guts_->at_end, false)) {
      if (static_cast<unsigned char>(bytes.front()) != 0x1f) return damaged("foreign bytes after the end", guts_->fed);
      guts_->begin();
    }
    const std::size_t n = std::min<std::size_t>(bytes.size(), std::numeric_limits<std::uint32_t>::max() / 2);
    // It never writes to its input; its C interface lacks the const.
    s.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
    s.avail_in = static_cast<std::uint32_t>(n);
    do {  // output can be left when the input is used up
      s.next_out = piece;
      s.avail_out = sizeof piece;
      const int rc = isal_inflate(&s);
      if (sizeof piece > s.avail_out) out({reinterpret_cast<const char*>(piece), sizeof piece - s.avail_out});
      if (rc < 0) return damaged(words_of(rc), guts_->fed + n - s.avail_in);
      guts_->at_end = s.block_state == ISAL_BLOCK_FINISH;
    } while (!guts_->at_end && (s.avail_in > 0 || s.avail_out == 0));
    guts_->fed += n - s.avail_in;
    bytes.remove_prefix(n - s.avail_in);
  }
  return {};
}

Result<void> Gunzip::finish() const {
  if (!guts_->at_end) return cut_short(guts_->fed);
  return {};
}

Result<std::string> gunzip(std::string_view bytes, std::size_t bytes_max) {
  if (!is_gzip(bytes)) return fail(Code::bad_input, "not a gzip file: it does not begin with 1f 8b");
  Gunzip in;
  std::string out;
  // In pieces, so that what unpacks to too much is noticed before it has.
  constexpr std::size_t kFed = std::size_t{1} << 14;
  for (std::size_t at = 0; at < bytes.size(); at += kFed) {
    bool beyond = false;
    const auto ok = in.feed(bytes.substr(at, kFed), [&](std::string_view piece) {
      beyond = beyond || out.size() + piece.size() > bytes_max;
      if (!beyond) out += piece;
    });
    if (beyond) {
      return fail(Code::bad_input, fmt::format("gzip data unpacks to more than {} bytes", bytes_max),
                  "Split the file, or check that it is what you meant.");
    }
    if (!ok) return tl::unexpected(ok.error());
  }
  if (const auto ok = in.finish(); !ok) return tl::unexpected(ok.error());
  return out;
}

std::string pack_gzip(std::string_view bytes) {
  constexpr std::size_t kFrame = 64;  // header and trailer, and more
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max() / 2) return {};
  isal_zstream s;
  isal_deflate_stateless_init(&s);
  std::vector<std::uint8_t> scratch(ISAL_DEF_LVL1_DEFAULT);
  s.level = 1;
  s.level_buf = scratch.data();
  s.level_buf_size = static_cast<std::uint32_t>(scratch.size());
  s.gzip_flag = IGZIP_GZIP;
  s.end_of_stream = 1;
  s.flush = NO_FLUSH;
  // What cannot be packed is stored, with five bytes for each block of 64 KB.
  std::string out(bytes.size() + bytes.size() / 4096 + kFrame, '\0');
  s.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));  // it never writes to it
  s.avail_in = static_cast<std::uint32_t>(bytes.size());
  s.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  s.avail_out = static_cast<std::uint32_t>(out.size());
  if (isal_deflate_stateless(&s) != COMP_OK) return {};
  out.resize(s.total_out);
  return out;
}

Result<std::string> gunzip_if_gzip(std::string_view bytes, std::size_t bytes_max) {
  if (is_gzip(bytes)) return gunzip(bytes, bytes_max);
  if (bytes.size() > bytes_max) return fail(Code::bad_input, fmt::format("the file is larger than {} bytes", bytes_max));
  return std::string(bytes);
}

}  // namespace muster
