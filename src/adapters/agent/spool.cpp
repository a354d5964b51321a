#include "adapters/agent/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "adapters/state/lock.h"

namespace muster::agent {
namespace {

constexpr char kMagic[8] = {'M', 'S', 'P', 'O', 'O', 'L', '1', '\n'};
constexpr std::uint64_t kHead = 16;
constexpr std::size_t kPiece = 64 << 10;

bool write_all(int fd, const char* data, std::size_t size, std::uint64_t at) {
  while (size > 0) {
    const ssize_t n = pwrite(fd, data, size, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
    at += static_cast<std::uint64_t>(n);
  }
  return true;
}

std::string read_piece(int fd, std::uint64_t at, std::size_t size) {
  std::string out(size, '\0');
  const ssize_t n = pread(fd, out.data(), size, static_cast<off_t>(at));
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

}  // namespace

Spool::Spool(int fd, std::string path, SpoolLimits limits) : fd_(fd), path_(std::move(path)), limits_(limits) {}

Spool::~Spool() {
  if (fd_ >= 0) close(fd_);
}

Result<std::unique_ptr<Spool>> Spool::open(const std::string& path, SpoolLimits limits) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return tl::unexpected(system_error("cannot open " + path, errno));
  std::unique_ptr<Spool> s(new Spool(fd, path, limits));
  if (auto r = s->load(); !r) return tl::unexpected(r.error());
  return s;
}

Result<void> Spool::load() {
  struct stat st {};
  fstat(fd_, &st);
  size_ = static_cast<std::uint64_t>(st.st_size);
  char head[kHead] = {};
  const bool whole = size_ >= kHead && pread(fd_, head, kHead, 0) == static_cast<ssize_t>(kHead);
  if (!whole || std::memcmp(head, kMagic, sizeof kMagic) != 0) {
    if (size_ >= kHead) return fail(Code::corrupt, path_ + " is not a spool", "move it away; the agent begins a new one");
    std::memcpy(head, kMagic, sizeof kMagic);
    std::memcpy(head + 8, &kHead, 8);
    if (ftruncate(fd_, 0) != 0 || !write_all(fd_, head, kHead, 0))
      return tl::unexpected(system_error("cannot write " + path_, errno));
    size_ = acked_ = kHead;
    return {};
  }
  std::memcpy(&acked_, head + 8, 8);
  // A line that a power cut or a kill left half written was never promised to anybody.
  std::uint64_t end = size_;
  while (end > kHead) {
    const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, end - kHead));
    const std::string piece = read_piece(fd_, end - n, n);
    const auto at = piece.rfind('\n');
    if (at != std::string::npos) {
      end = end - n + at + 1;
      break;
    }
    end -= n;
  }
  if (end < size_ && ftruncate(fd_, static_cast<off_t>(end)) == 0) size_ = end;
  if (acked_ < kHead || acked_ > size_) set_acknowledged(kHead);  // cut between emptying the file and noting it
  return {};
}

void Spool::set_acknowledged(std::uint64_t offset) {
  acked_ = offset;
  char bytes[8];
  std::memcpy(bytes, &offset, 8);
  static_cast<void>(write_all(fd_, bytes, 8, 8));  // in place: takes no room, so a full disk does not stop it
}

// The part that waits becomes a new file, which replaces the old one with its own offset in one step.
void Spool::compact() {
  const std::string fresh = path_ + ".new";
  const int fd = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  char head[kHead];
  std::memcpy(head, kMagic, sizeof kMagic);
  std::memcpy(head + 8, &kHead, 8);
  bool ok = write_all(fd, head, kHead, 0);
  std::uint64_t to = kHead;
  for (std::uint64_t at = acked_; ok && at < size_;) {
    const std::string piece = read_piece(fd_, at, static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, size_ - at)));
    ok = !piece.empty() && write_all(fd, piece.data(), piece.size(), to);
    at += piece.size();
    to += piece.size();
  }
  if (!ok || rename(fresh.c_str(), path_.c_str()) != 0) {
    close(fd);
    unlink(fresh.c_str());
    return;
  }
  close(fd_);
  fd_ = fd;
  size_ = to;
  acked_ = kHead;
}

bool Spool::write_disk(const std::string& line) {
  const std::string bytes = line + "\n";
  if (size_ + bytes.size() > limits_.disk_bytes && acked_ > limits_.disk_bytes / 4) compact();
  if (size_ + bytes.size() > limits_.disk_bytes) return false;
  if (!write_all(fd_, bytes.data(), bytes.size(), size_)) {
    [[maybe_unused]] const int cut = ftruncate(fd_, static_cast<off_t>(size_));  // half a line would be dropped by readers
    return false;
  }
  size_ += bytes.size();
  dirty_ = true;
  return true;
}

Spool::Kept Spool::append(const std::string& line) {
  const std::lock_guard hold(lock_);
  while (!memory_.empty() && write_disk(memory_.front())) {
    memory_bytes_ -= memory_.front().size();
    memory_.pop_front();
  }
  if (memory_.empty() && write_disk(line)) return Kept::disk;
  if (memory_bytes_ + line.size() > limits_.memory_bytes) return Kept::no;
  memory_bytes_ += line.size();
  memory_.push_back(line);
  return Kept::memory;
}

std::vector<std::string> Spool::peek(std::size_t lines_max, std::size_t bytes_max) {
  const std::lock_guard hold(lock_);
  std::vector<std::string> out;
  if (acked_ < size_) {
    const std::string text =
        read_piece(fd_, acked_, static_cast<std::size_t>(std::min<std::uint64_t>(size_ - acked_, std::max(bytes_max, kPiece))));
    for (std::size_t at = 0; out.size() < lines_max;) {
      const auto end = text.find('\n', at);
      if (end == std::string::npos || (end > bytes_max && !out.empty())) break;
      out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }
  std::size_t bytes = 0;
  for (const std::string& line : memory_) {
    bytes += line.size();
    if (out.size() >= lines_max || (bytes > bytes_max && !out.empty())) break;
    out.push_back(line);
  }
  return out;
}

void Spool::acknowledge(std::size_t lines) {
  const std::lock_guard hold(lock_);
  if (acked_ < size_) {
    std::uint64_t at = acked_;
    for (std::size_t left = lines; left > 0 && at < size_;) {
      const std::string piece = read_piece(fd_, at, static_cast<std::size_t>(std::min<std::uint64_t>(size_ - at, kPiece)));
      if (piece.empty()) break;
      std::size_t used = 0;
      for (std::size_t end = 0; left > 0 && (end = piece.find('\n', used)) != std::string::npos; --left) used = end + 1;
      if (used == 0) used = piece.size();  // a line longer than a piece
      at += used;
    }
    if (at < size_) return set_acknowledged(at);
    // All is with the controller: the file begins again. The order matters, see load().
    if (ftruncate(fd_, static_cast<off_t>(kHead)) == 0) size_ = kHead;
    return set_acknowledged(size_);
  }
  for (; lines > 0 && !memory_.empty(); --lines) {
    memory_bytes_ -= memory_.front().size();
    memory_.pop_front();
  }
}

std::size_t Spool::waiting_bytes() const {
  const std::lock_guard hold(lock_);
  return static_cast<std::size_t>(size_ - acked_) + memory_bytes_;
}

bool Spool::in_memory() const {
  const std::lock_guard hold(lock_);
  return !memory_.empty();
}

bool Spool::empty() const {
  const std::lock_guard hold(lock_);
  return acked_ >= size_ && memory_.empty();
}

void Spool::sync() {
  const std::lock_guard hold(lock_);
  if (dirty_ && acked_ < size_) fdatasync(fd_);
  dirty_ = false;
}

}  // namespace muster::agent
