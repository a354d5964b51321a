#include "adapters/agent/word_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "adapters/state/lock.h"

namespace muster::agent {
namespace {

// Nobody holds it for longer than a file takes to be read or written; who is stopped meanwhile is not waited for.
bool lock_soon(int fd) {
  constexpr int kTries = 50;
  for (int i = 0; i < kTries; ++i) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    usleep(1000);
  }
  return false;
}

// The file of that name, locked, which the agent has not taken away between the two.
Result<int> open_locked(const std::string& path) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return tl::unexpected(system_error("cannot write " + path, errno));
    struct stat mine {
    }, there{};
    const bool locked = lock_soon(fd);
    if (locked && fstat(fd, &mine) == 0 && stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino) return fd;
    close(fd);
  }
  return fail(Code::refused, fmt::format("{} is in use", path), "try again");
}

int add(int fd, const std::string& folder, const std::string& text, std::size_t bytes_most) {
  struct stat file {
  }, owner{};
  if (fstat(fd, &file) != 0) return errno;
  if (static_cast<std::size_t>(file.st_size) + text.size() > bytes_most) return EFBIG;
  if (stat(folder.c_str(), &owner) == 0 && owner.st_uid != file.st_uid && fchown(fd, owner.st_uid, owner.st_gid) != 0)
    return errno;
  const ssize_t written = write(fd, text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return 0;
  const int failed = written < 0 ? errno : ENOSPC;
  static_cast<void>(!ftruncate(fd, file.st_size));  // no half of a line stays
  return failed;
}

// Empty where it is being written to, which ends soon: `again` is then true.
std::string read_taken(const std::string& path, bool& again) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  again = fd >= 0 && !lock_soon(fd);
  char piece[1 << 14];
  ssize_t n = 0;
  while (fd >= 0 && !again && (n = read(fd, piece, sizeof piece)) > 0) text.append(piece, static_cast<std::size_t>(n));
  if (fd >= 0) close(fd);
  return text;
}

}  // namespace

Result<void> leave_word(const std::string& folder, const std::string& name, std::string_view line, std::size_t bytes_most) {
  const std::string path = folder + "/" + name;
  const auto fd = open_locked(path);
  if (!fd) return tl::unexpected(fd.error());
  const int failed = add(*fd, folder, std::string(line) + "\n", bytes_most);
  close(*fd);
  if (failed == EFBIG)
    return fail(Code::refused, fmt::format("{} is full: no agent takes what is in it", path), "start the node's agent");
  if (failed != 0) return tl::unexpected(system_error("cannot write " + path, failed));
  return {};
}

void take_words(const std::string& folder, const std::string& name, const std::function<bool(std::string_view)>& take) {
  const std::string path = folder + "/" + name, taken = path + ".taken";
  // What was being taken when the agent was killed comes first.
  if (access(taken.c_str(), F_OK) != 0 && rename(path.c_str(), taken.c_str()) != 0) return;
  bool again = false;
  const std::string text = read_taken(taken, again);
  if (again) return;
  std::string_view left = text;
  for (std::size_t end = left.find('\n'); end != std::string_view::npos; end = left.find('\n')) {
    if (end > 0 && !take(left.substr(0, end))) break;
    left.remove_prefix(end + 1);
  }
  if (left.find('\n') == std::string_view::npos) {
    unlink(taken.c_str());
  } else if (left.size() < text.size()) {
    const std::string fresh = taken + ".new";
    std::ofstream(fresh, std::ios::binary) << left;
    static_cast<void>(!rename(fresh.c_str(), taken.c_str()));
  }
}

}  // namespace muster::agent
