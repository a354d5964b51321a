#include "adapters/agent/cursor.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>

#include "adapters/state/lock.h"
#include "base/text.h"

namespace muster::agent {
namespace {
constexpr std::size_t kBlock = 512;
constexpr std::uint64_t kReserve = 1000;
constexpr std::string_view kWord = "muster-cursor-1";

std::string random_id() {
  std::uint64_t r = 0;
  if (getrandom(&r, sizeof r, 0) != sizeof r) r = static_cast<std::uint64_t>(getpid());
  return fmt::format("{:016x}", r);
}
}  // namespace

Cursor::~Cursor() {
  if (fd_ >= 0) close(fd_);
}

Result<std::unique_ptr<Cursor>> Cursor::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return tl::unexpected(system_error("cannot open " + path, errno));
  std::unique_ptr<Cursor> c(new Cursor(fd, path));
  if (auto r = c->load(); !r) return tl::unexpected(r.error());
  return c;
}

Result<void> Cursor::load() {
  std::string block(kBlock, ' ');
  const ssize_t n = pread(fd_, block.data(), kBlock, 0);
  block.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  const auto parts = split(trim(block), '\t');
  if (parts.size() == 7 && parts[0] == kWord) {
    position_ = {std::string(parts[1]), parse_uint(parts[2]).value_or(0), parse_uint(parts[3]).value_or(0),
                 parse_uint(parts[4]).value_or(0)};
    id_ = std::string(parts[5]);
    own_ = own_reserved_ = parse_uint(parts[6]).value_or(0);
    return {};
  }
  // None yet, or one that a power cut tore: a new stream is begun, and the kernel's ring is read from its start.
  id_ = random_id();
  if (!write()) return tl::unexpected(system_error("cannot write " + path_, errno));
  return {};
}

bool Cursor::write() {
  std::string block = fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}", kWord, position_.boot, position_.seq, position_.inode,
                                  position_.offset, id_, own_reserved_);
  if (block.size() > kBlock) return false;
  block.resize(kBlock, ' ');
  return pwrite(fd_, block.data(), kBlock, 0) == static_cast<ssize_t>(kBlock);
}

void Cursor::save(const Position& position) {
  if (position == position_) return;
  position_ = position;
  static_cast<void>(write());
}

std::uint64_t Cursor::next_own() {
  if (own_ >= own_reserved_) {
    own_reserved_ = own_ + kReserve;
    static_cast<void>(write());
  }
  return ++own_;
}

}  // namespace muster::agent
