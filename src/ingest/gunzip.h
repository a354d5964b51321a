// The bytes inside a gzip file: traces are published compressed. Bounded, because a few kilobytes can claim to hold a terabyte.
// And the way back, for answers over HTTP.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

constexpr std::size_t kGunzipBytesMax = std::size_t{1} << 30;

// Whether the bytes begin as a gzip file does.
bool is_gzip(std::string_view bytes);

// Unpacks a gzip file, of several members too (`cat a.gz b.gz`). Checksums and lengths are verified; a file cut short, damaged,
// with foreign bytes at its end or holding more than `bytes_max` is an error.
Result<std::string> gunzip(std::string_view bytes, std::size_t bytes_max = kGunzipBytesMax);

// The same piece by piece, in bounded memory, for logs of any size.
class Gunzip {
 public:
  using Sink = std::function<void(std::string_view)>;
  Gunzip();
  ~Gunzip();
  Gunzip(Gunzip&&) noexcept;
  Gunzip& operator=(Gunzip&&) noexcept;

  // Hands what the bytes unpack to to `out`, in pieces. After an error no more may be fed.
  Result<void> feed(std::string_view bytes, const Sink& out);
  // To be called at the end of the input: an error when it is not the end of a gzip file.
  Result<void> finish() const;

 private:
  struct Guts;
  std::unique_ptr<Guts> guts_;
};

// As one gzip member, packed for speed and not for size: some 300 MB/s. Empty where memory is short.
std::string pack_gzip(std::string_view bytes);

// A file that may be plain or gzip, told apart by its content: the text itself.
Result<std::string> gunzip_if_gzip(std::string_view bytes, std::size_t bytes_max = kGunzipBytesMax);

}  // namespace muster
