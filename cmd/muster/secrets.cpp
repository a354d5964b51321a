#include "secrets.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "api/auth.h"
#include "base/check.h"
#include "base/text.h"
#include "files.h"

namespace muster::cmd {

void random_bytes(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = getrandom(out.data() + done, out.size() - done, 0);
    if (n < 0 && errno == EINTR) continue;
    MUSTER_CHECK(n > 0);
    done += static_cast<std::size_t>(n);
  }
}

std::string random_hex(std::size_t bytes) {
  std::vector<std::uint8_t> raw(bytes);
  random_bytes(raw);
  std::string s;
  for (std::uint8_t b : raw) s += fmt::format("{:02x}", b);
  return s;
}

Result<std::string> open_token(const std::string& path) {
  const auto cannot = [&](const char* what) {
    Error e = file_error(what, path, errno);
    e.next = "check the state directory";
    return tl::unexpected(std::move(e));
  };
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd >= 0) {
    struct stat st {};
    char text[256] = {};
    const bool mine = fstat(fd, &st) == 0 && (st.st_mode & 077) == 0;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (!mine) {
      return fail(Code::not_allowed, fmt::format("{} can be read by others", path),
                  fmt::format("remove it; a new one is made: rm {}", path));
    }
    const std::string_view token = trim(std::string_view(text, n > 0 ? static_cast<std::size_t>(n) : 0));
    if (token.size() > 5 && token.substr(0, 5) == "mstr_") return std::string(token);
    return fail(Code::corrupt, fmt::format("{} holds no token", path), fmt::format("remove it; a new one is made: rm {}", path));
  }
  if (errno != ENOENT) return cannot("read");
  const std::string token = api::new_token(random_bytes);
  fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return cannot("make");
  const std::string line = token + "\n";
  const bool ok = write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  close(fd);
  if (!ok) return cannot("write");
  return token;
}

std::string user_name(std::int64_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(4096);
  if (getpwuid_r(static_cast<uid_t>(uid), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return fmt::format("uid {}", uid);
  }
  return entry.pw_name;
}

}  // namespace muster::cmd
