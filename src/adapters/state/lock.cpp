#include "adapters/state/lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace muster {

Error system_error(const std::string& doing, int error_number) {
  switch (error_number) {
    case EACCES:
    case EPERM:
      return {Code::not_allowed, fmt::format("{}: no permission", doing), "use another folder, or change who may write there"};
    case EROFS: return {Code::not_allowed, fmt::format("{}: the file system is read-only", doing), "use another folder"};
    case ENOENT: return {Code::not_found, fmt::format("{}: no such file or folder", doing), ""};
    case ENOSPC:
    case EDQUOT:
      return {Code::internal, fmt::format("{}: the disk is full", doing), "free some space, or use another folder"};
    default: return {Code::internal, fmt::format("{}: {}", doing, std::strerror(error_number)), ""};
  }
}

Result<FileLock> FileLock::take(const std::string& path, const std::string& what) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return tl::unexpected(system_error(fmt::format("cannot open {}", printable(path)), errno));
  FileLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return tl::unexpected(system_error(fmt::format("cannot lock {}", printable(path)), errno));
    char pid[32] = {};
    const ssize_t n = ::pread(fd, pid, sizeof pid - 1, 0);
    const auto holder = parse_uint(trim({pid, n > 0 ? static_cast<std::size_t>(n) : 0}));
    const std::string who = holder ? fmt::format("process {}", *holder) : std::string("another process");
    return fail(Code::conflict, fmt::format("{} is in use by {}", printable(what), who),
                "stop that process, or use another state directory");
  }
  const std::string me = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, me.data(), me.size(), 0) != static_cast<ssize_t>(me.size())) {
    return tl::unexpected(system_error(fmt::format("cannot write {}", printable(path)), errno));
  }
  return lock;
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);  // the kernel lets go of the lock; the file stays, or two could hold two files of one name
}

}  // namespace muster
