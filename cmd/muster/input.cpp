#include "input.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "files.h"
#include "ingest/gunzip.h"

namespace muster::cmd {

Input::Input(const std::string& path)
    : path_(path), fd_(path == "-" ? 0 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)), why_(fd_ < 0 ? errno : 0) {}

Input::~Input() {
  if (fd_ > 0) ::close(fd_);
}

Result<std::string_view> Input::next() {
  if (fd_ < 0) return tl::unexpected<Error>(file_error("read", path_, why_));
  while (true) {
    const ssize_t n = ::read(fd_, buffer_.data(), buffer_.size());
    if (n >= 0) return std::string_view(buffer_.data(), static_cast<std::size_t>(n));
    if (errno != EINTR) return tl::unexpected<Error>(file_error("read", path_, errno));
  }
}

Result<bool> read_unpacked(const std::string& path, const std::function<Result<void>(std::string_view)>& take) {
  Input in(path);
  std::optional<Gunzip> zip;
  Result<void> taken;
  bool first = true;
  while (taken) {
    const auto bytes = in.next();
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->empty()) break;
    if (std::exchange(first, false) && is_gzip(*bytes)) zip.emplace();
    if (!zip) {
      taken = take(*bytes);
    } else if (const auto r = zip->feed(*bytes,
                                        [&](std::string_view piece) {
                                          if (taken) taken = take(piece);
                                        });
               !r) {
      return tl::unexpected(r.error());
    }
  }
  if (!taken) return tl::unexpected(taken.error());
  return !zip || zip->finish().has_value();
}

}  // namespace muster::cmd
