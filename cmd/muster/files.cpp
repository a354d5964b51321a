#include "files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "ingest/gunzip.h"

namespace muster::cmd {
Error file_error(std::string_view doing, const std::string& path, int why) {
  const std::string what = fmt::format("cannot {} {}: {}", doing, path, why != 0 ? std::strerror(why) : "no reason is known");
  switch (why) {
    case ENOENT:
    case ENOTDIR: return {Code::not_found, what, "check the name"};
    case EISDIR: return {Code::bad_input, what, "name a file in it"};
    case EACCES:
    case EPERM:
    case EROFS: return {Code::not_allowed, what, "use another file, or change who may use it"};
    case ENOSPC:
    case EDQUOT: return {Code::internal, what, "free some space, or name a file on another disk"};
    default: return {Code::internal, what, ""};
  }
}

namespace {

constexpr std::size_t kFileMax = std::size_t{64} << 20, kFabricFileMax = std::size_t{4} << 30;

Result<std::string> read_at_most(std::size_t most, const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return tl::unexpected(file_error("read", path, errno));
  std::string text;
  char block[1 << 16];
  while (in.read(block, sizeof block) || in.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > most) return fail(Code::bad_input, fmt::format("{} is larger than {} MiB", path, most >> 20));
  }
  if (in.bad()) return tl::unexpected(file_error("read", path, errno));
  return text;
}

}  // namespace

Result<std::string> read_file(const std::string& path) { return read_at_most(kFileMax, path); }

Result<std::string> read_fabric_file(const std::string& path) {
  auto bytes = read_at_most(kFabricFileMax, path);
  if (!bytes || !is_gzip(*bytes)) return bytes;
  auto text = gunzip(*bytes, kFabricFileMax);
  if (!text) return fail(text.error().code, fmt::format("{}: {}", path, text.error().what), text.error().next);
  return text;
}

Result<void> check_writable(const std::string& path) {
  const bool there = ::access(path.c_str(), F_OK) == 0;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return tl::unexpected(file_error("write", path, errno));
  ::close(fd);
  if (!there) ::unlink(path.c_str());
  return {};
}

Result<void> write_file(const std::string& path, std::string_view text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return {};
  return tl::unexpected(file_error("write", path, errno));
}

Result<void> replace_file(const std::string& path, std::string_view text) {
  std::error_code why;
  const auto now = std::filesystem::status(path, why);
  const bool there = std::filesystem::exists(now);
  // A pipe or a terminal holds nothing that could be lost.
  if (there && !std::filesystem::is_regular_file(now)) return write_file(path, text);
  const std::string real = there ? std::filesystem::canonical(path, why).string() : path;
  const std::string beside = fmt::format("{}.{}.tmp", real, ::getpid());
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  // A folder that takes no new file.
  if (fd < 0 || real.empty()) return write_file(path, text);
  Result<void> ok;
  errno = 0;
  // Some file systems of networks know no such wish.
  const bool kept = write_all(fd, text) && (::fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS);
  if (!kept) ok = tl::unexpected(file_error("write", path, errno));
  ::close(fd);
  if (ok && there) std::filesystem::permissions(beside, now.permissions(), why);
  if (ok && ::rename(beside.c_str(), real.c_str()) != 0) ok = tl::unexpected(file_error("write", path, errno));
  if (!ok) ::unlink(beside.c_str());
  return ok;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace muster::cmd
