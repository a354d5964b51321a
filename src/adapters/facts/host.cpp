#include "adapters/facts/host.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace muster::facts {
namespace {

// As the kernel writes it (getdents64).
struct Entry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t size;
  std::uint8_t type;
  char name[1];
};

}  // namespace

Found found_by(int why) {
  return why == ENOENT || why == ENOTDIR || why == ENODEV || why == ENXIO ? Found::absent : Found::unreadable;
}

Host::Host(std::string root, bool live) : root_(std::move(root)), live_(live) {
  while (root_.size() > 1 && root_.back() == '/') root_.pop_back();
  if (root_ == "/") root_.clear();
  if (!root_.empty()) root_fd_ = ::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

Host::~Host() {
  if (root_fd_ >= 0) ::close(root_fd_);
}

int Host::open(const std::string& path, int flags) const {
  flags |= O_CLOEXEC;
  if (root_.empty()) return ::open(path.c_str(), flags);
  if (root_fd_ < 0) {
    errno = ENOENT;
    return -1;
  }
  open_how how = {};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_IN_ROOT;
  return static_cast<int>(::syscall(SYS_openat2, root_fd_, path.c_str(), &how, sizeof how));
}

Reading Host::text(const std::string& path, std::size_t most) const {
  const int fd = open(path, O_RDONLY | O_NONBLOCK);
  if (fd < 0) return {found_by(errno), {}};
  Reading out{Found::value, {}};
  std::array<char, 16384> chunk;
  while (out.text.size() < most) {
    const ssize_t n = ::read(fd, chunk.data(), std::min(chunk.size(), most - out.text.size()));
    if (n < 0) out = {found_by(errno), {}};
    if (n <= 0) break;
    out.text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  ::close(fd);
  return out;
}

Reading Host::line(const std::string& path) const {
  const int fd = open(path, O_RDONLY | O_NONBLOCK);
  if (fd < 0) return {found_by(errno), {}};
  std::array<char, 4096> chunk;
  const ssize_t n = ::read(fd, chunk.data(), chunk.size());
  const int why = errno;
  ::close(fd);
  if (n < 0) return {found_by(why), {}};
  const std::string_view all(chunk.data(), static_cast<std::size_t>(n));
  return {Found::value, std::string(trim(all.substr(0, all.find('\n'))))};
}

Reading Host::link(const std::string& path) const {
  std::array<char, 4096> target;
  ssize_t n = -1;
  if (root_.empty()) {
    n = ::readlink(path.c_str(), target.data(), target.size());
  } else if (const int fd = open(path, O_PATH | O_NOFOLLOW); fd >= 0) {
    n = ::readlinkat(fd, "", target.data(), target.size());
    const int why = n < 0 && errno == ENOENT ? EINVAL : errno;  // so it says of what is no link
    ::close(fd);
    errno = why;
  }
  if (n < 0) return {found_by(errno), {}};
  return {Found::value, std::string(target.data(), static_cast<std::size_t>(n))};
}

std::string Host::real(const std::string& path) const {
  const int fd = open(path, O_PATH);
  if (fd < 0) return {};
  std::array<char, 4096> target;
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t n = ::readlink(self.c_str(), target.data(), target.size());
  std::string out(target.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  ::close(fd);
  if (root_fd_ < 0) return out;
  const std::string own = "/proc/self/fd/" + std::to_string(root_fd_);
  const ssize_t m = ::readlink(own.c_str(), target.data(), target.size());
  const std::size_t before = m > 0 ? static_cast<std::size_t>(m) : 0;
  return out.size() > before && out.compare(0, before, target.data(), before) == 0 ? out.substr(before) : std::string();
}

std::vector<std::string> Host::entries(const std::string& path, Found* why) const {
  std::vector<std::string> out;
  const int fd = open(path, O_RDONLY | O_DIRECTORY);
  if (why != nullptr) *why = fd < 0 ? found_by(errno) : Found::value;
  if (fd < 0) return out;
  alignas(Entry) std::array<char, 16384> chunk;
  for (long n = 0; (n = ::syscall(SYS_getdents64, fd, chunk.data(), chunk.size())) > 0;) {
    for (long at = 0; at < n;) {
      Entry e;
      std::memcpy(&e, chunk.data() + at, offsetof(Entry, name));
      const char* name = chunk.data() + at + offsetof(Entry, name);
      if (name[0] != '.') out.emplace_back(name);
      at += e.size;
    }
  }
  ::close(fd);
  std::sort(out.begin(), out.end());
  return out;
}

bool Host::exists(const std::string& path) const {
  if (root_.empty()) {
    struct stat s {};
    return ::stat(path.c_str(), &s) == 0;
  }
  const int fd = open(path, O_PATH);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

}  // namespace muster::facts
