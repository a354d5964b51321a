// A lock file: held as long as the object lives and the process does, naming its holder to whoever comes second.
#pragma once
#include <string>
#include <utility>

#include "base/result.h"

namespace muster {

class FileLock {
 public:
  // Code::conflict, naming the holder's pid, when somebody has it; `what` is what is being protected, for the message.
  static Result<FileLock> take(const std::string& path, const std::string& what);
  FileLock() = default;
  ~FileLock();
  FileLock(FileLock&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  FileLock& operator=(FileLock&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

// The code and words for errno: "no permission", "read-only file system" ...
Error system_error(const std::string& doing, int error_number);

}  // namespace muster
