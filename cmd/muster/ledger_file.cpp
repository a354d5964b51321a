#include "ledger_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "files.h"
#include "ingest/charge_files.h"

namespace muster::cmd {
namespace {

// A new file's name must be on the disk as well.
bool sync_folder(const std::string& path) {
  const std::string folder = std::filesystem::absolute(path).parent_path();
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  if (fd >= 0) ::close(fd);
  return synced;
}

Result<std::string> read_all(int fd, const std::string& path) {
  std::string text;
  char piece[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd, piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::unexpected(file_error("read", path, errno));
    if (n == 0) return text;
    text.append(piece, static_cast<std::size_t>(n));
  }
}

}  // namespace

Result<LedgerFile> LedgerFile::open(const std::string& path, bool write) {
  const int fd = ::open(path.c_str(), write ? O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0640);
  if (fd < 0) return tl::unexpected(file_error(write ? "write" : "read", path, errno));
  LedgerFile out(path, fd);
  struct stat about {};
  if (::fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
    return fail(Code::bad_input, fmt::format("{} is no file", path), "a ledger is a file of its own");
  if (::flock(fd, (write ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0)
    return fail(Code::conflict, fmt::format("somebody else is writing {}", path), "try again when that is done");
  const auto text = read_all(fd, path);
  if (!text) return tl::unexpected(text.error());
  auto ledger = parse_ledger(*text, path);
  if (!ledger) return tl::unexpected(ledger.error());
  out.ledger_ = std::move(*ledger);
  if (write && text->empty() && !sync_folder(path)) return tl::unexpected(file_error("write", path, errno));
  return out;
}

LedgerFile::LedgerFile(LedgerFile&& o) noexcept
    : path_(std::move(o.path_)), fd_(std::exchange(o.fd_, -1)), ledger_(std::move(o.ledger_)) {}

LedgerFile::~LedgerFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> LedgerFile::append(std::string_view lines) {
  const auto whole = static_cast<off_t>(ledger_.bytes);
  if (ledger_.torn && ::ftruncate(fd_, whole) != 0) return tl::unexpected(file_error("write", path_, errno));
  const bool written = write_all(fd_, lines) && ::fsync(fd_) == 0;
  if (written) return {};
  const int why = errno == 0 ? ENOSPC : errno;
  const bool back = ::ftruncate(fd_, whole) == 0 && ::fsync(fd_) == 0;
  Error e = file_error("write", path_, why);
  e.next = back ? "nothing was charged: the ledger is as it was" : "look at the end of the ledger before you charge again";
  return tl::unexpected(std::move(e));
}

}  // namespace muster::cmd
