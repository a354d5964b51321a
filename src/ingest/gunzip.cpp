// zlib, known to this file alone among the parsers.
#include "ingest/gunzip.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 16;
constexpr int kGzipOnly = 16 + MAX_WBITS;  // no zlib or raw streams

// zlib's state, released on every way out.
struct Inflater {
  Inflater() { ready = inflateInit2(&z, kGzipOnly) == Z_OK; }
  ~Inflater() {
    if (ready) inflateEnd(&z);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream z = {};
  bool ready = false;
};

tl::unexpected<Error> damaged(std::string_view why, std::size_t at) {
  return fail(Code::bad_input, fmt::format("gzip data is damaged near byte {}: {}", at, why),
              "Fetch the file again, or try `gzip -t` on it.");
}

tl::unexpected<Error> cut_short(std::size_t at) {
  return fail(Code::bad_input, fmt::format("gzip data ends too early, after {} bytes", at),
              "The file is cut short: fetch it again, or try `gzip -t` on it.");
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b'; }

Result<std::string> gunzip(std::string_view bytes, std::size_t bytes_max) {
  if (!is_gzip(bytes)) return fail(Code::bad_input, "not a gzip file: it does not begin with 1f 8b");
  Inflater in;
  if (!in.ready) return fail(Code::internal, "zlib cannot start");
  std::string out;
  std::size_t fed = 0;  // bytes handed to zlib; avail_in of them are not yet read
  int rc = Z_OK;
  while (true) {
    if (in.z.avail_in == 0 && fed < bytes.size()) {
      const std::size_t n = std::min<std::size_t>(bytes.size() - fed, std::numeric_limits<uInt>::max());
      // zlib never writes to its input; its C interface lacks the const unless ZLIB_CONST is set.
      in.z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + fed));
      in.z.avail_in = static_cast<uInt>(n);
      fed += n;
    }
    const std::size_t had = out.size();
    // One byte beyond the limit is asked for, so that a file of exactly the limit is told from a larger one.
    const std::size_t room = std::min(std::max(kChunkBytes, had / 2), bytes_max - had + 1);
    out.resize(had + room);
    in.z.next_out = reinterpret_cast<Bytef*>(out.data() + had);
    in.z.avail_out = static_cast<uInt>(std::min<std::size_t>(room, std::numeric_limits<uInt>::max()));
    const std::size_t asked = in.z.avail_out;
    rc = inflate(&in.z, Z_NO_FLUSH);
    out.resize(had + asked - in.z.avail_out);
    if (out.size() > bytes_max) {
      return fail(Code::bad_input, fmt::format("gzip data unpacks to more than {} bytes", bytes_max),
                  "Split the file, or check that it is what you meant.");
    }
    const std::size_t at = fed - in.z.avail_in;
    if (rc == Z_STREAM_END) {
      if (at == bytes.size()) return out;
      if (!is_gzip(bytes.substr(at))) return damaged("foreign bytes after the end", at);
      if (inflateReset(&in.z) != Z_OK) return fail(Code::internal, "zlib cannot start again");
      continue;
    }
    if (rc == Z_MEM_ERROR) return fail(Code::internal, "no memory left for zlib");
    if (rc != Z_OK && rc != Z_BUF_ERROR) return damaged(in.z.msg != nullptr ? in.z.msg : "not understood", at);
    // A dictionary is never needed in gzip; no progress with input used up means that the rest is missing.
    if (at == bytes.size() && in.z.avail_out > 0) return cut_short(at);
  }
}

struct Gunzip::Guts {
  Inflater in;
  std::size_t fed = 0;
  bool at_end = false;  // of a member: another may follow
};

Gunzip::Gunzip() : guts_(std::make_unique<Guts>()) {}
Gunzip::~Gunzip() = default;
Gunzip::Gunzip(Gunzip&&) noexcept = default;
Gunzip& Gunzip::operator=(Gunzip&&) noexcept = default;

Result<void> Gunzip::feed(std::string_view bytes, const Sink& out) {
  Inflater& in = guts_->in;
  if (!in.ready) return fail(Code::internal, "zlib cannot start");
  char piece[kChunkBytes];
  in.z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  in.z.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max()));
  while (in.z.avail_in > 0) {
    if (std::exchange(guts_->at_end, false) && inflateReset(&in.z) != Z_OK)
      return fail(Code::internal, "zlib cannot start again");
    in.z.next_out = reinterpret_cast<Bytef*>(piece);
    in.z.avail_out = sizeof piece;
    const uInt had = in.z.avail_in;
    const int rc = inflate(&in.z, Z_NO_FLUSH);
    guts_->fed += had - in.z.avail_in;
    if (sizeof piece > in.z.avail_out) out({piece, sizeof piece - in.z.avail_out});
    if (rc == Z_STREAM_END)
      guts_->at_end = true;
    else if (rc == Z_MEM_ERROR)
      return fail(Code::internal, "no memory left for zlib");
    else if (rc != Z_OK && rc != Z_BUF_ERROR)
      return damaged(in.z.msg != nullptr ? in.z.msg : "not understood", guts_->fed);
    // Output can be left when the input is used up.
    while (rc == Z_OK && in.z.avail_in == 0 && in.z.avail_out == 0) {
      in.z.next_out = reinterpret_cast<Bytef*>(piece);
      in.z.avail_out = sizeof piece;
      const int more = inflate(&in.z, Z_NO_FLUSH);
      if (sizeof piece > in.z.avail_out) out({piece, sizeof piece - in.z.avail_out});
      if (more == Z_STREAM_END) guts_->at_end = true;
      if (more != Z_OK) break;
    }
  }
  return {};
}

Result<void> Gunzip::finish() const {
  if (!guts_->at_end) return cut_short(guts_->fed);
  return {};
}

Result<std::string> gunzip_if_gzip(std::string_view bytes, std::size_t bytes_max) {
  if (is_gzip(bytes)) return gunzip(bytes, bytes_max);
  if (bytes.size() > bytes_max) return fail(Code::bad_input, fmt::format("the file is larger than {} bytes", bytes_max));
  return std::string(bytes);
}

}  // namespace muster
