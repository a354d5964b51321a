#include "adapters/agent/kernel_source.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "adapters/state/lock.h"
#include "base/text.h"
#include "ingest/kernel_log.h"

namespace muster::agent {
namespace {

constexpr std::size_t kChunk = 64 << 10;

std::string fresh_boot(std::string_view what, std::uint64_t inode) {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return fmt::format("{}-{:x}-{:x}{:08x}-{:x}", what, inode, t.tv_sec, t.tv_nsec, getpid());
}

}  // namespace

Time utc_now() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return {static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec};
}

Time monotonic_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return {static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec};
}

std::string machine_boot() {
  char text[64] = {};
  const int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "unknown";
  const ssize_t n = ::read(fd, text, sizeof text - 1);
  close(fd);
  return std::string(trim(std::string_view(text, n > 0 ? static_cast<std::size_t>(n) : 0)));
}

bool read_record_head(std::string_view bytes, std::uint64_t& seq, std::uint64_t& usec) {
  const char* at = bytes.data();
  const char* end = at + std::min<std::size_t>(bytes.size(), 128);
  const auto number = [&](std::uint64_t& out) {
    const auto r = std::from_chars(at, end, out);
    if (r.ec != std::errc() || r.ptr == end || *r.ptr != ',') return false;
    at = r.ptr + 1;
    return true;
  };
  std::uint64_t prio = 0;
  return number(prio) && number(seq) && number(usec);
}

KernelSource::~KernelSource() {
  if (fd_ >= 0) close(fd_);
  if (notify_ >= 0) close(notify_);
}

Result<std::unique_ptr<KernelSource>> KernelSource::open(const std::string& path, const Position& from, bool vouched) {
  struct stat st {};
  if (stat(path.c_str(), &st) != 0) return tl::unexpected(system_error("cannot read the kernel log " + path, errno));
  // By its number, not by its path: a terminal is a device as well, and anybody may write to one.
  const bool kmsg = S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 11);
  const Kind kind = kmsg ? Kind::device : S_ISFIFO(st.st_mode) ? Kind::fifo : Kind::file;
  if (kind == Kind::file && !S_ISREG(st.st_mode)) {
    return fail(Code::bad_input, path + " is neither /dev/kmsg nor a file nor a fifo", "give the kernel log with --kmsg");
  }
  std::unique_ptr<KernelSource> s(new KernelSource(kind, path, vouched));
  s->position_ = from;
  if (kind == Kind::file) {
    s->notify_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (auto r = s->open_file(false); !r) return tl::unexpected(r.error());
    return s;
  }
  // A fifo is opened for writing as well: it never comes to an end when a writer leaves.
  s->fd_ = ::open(path.c_str(), (kind == Kind::fifo ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC);
  if (s->fd_ < 0) {
    Error e = system_error("cannot read the kernel log " + path, errno);
    if (errno == EPERM || errno == EACCES) e.next = "run the agent as root or with CAP_SYSLOG";
    return tl::unexpected(std::move(e));
  }
  const std::string boot = kind == Kind::device ? machine_boot() : fresh_boot("fifo", st.st_ino);
  if (s->position_.boot != boot) s->position_ = {boot, 0, 0, 0};
  return s;
}

Result<void> KernelSource::open_file(bool from_start) {
  if (fd_ >= 0) close(fd_);
  fd_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat st {};
  if (fd_ < 0 || fstat(fd_, &st) != 0) return tl::unexpected(system_error("cannot read the kernel log " + path_, errno));
  if (watch_ >= 0) inotify_rm_watch(notify_, watch_);
  watch_ = inotify_add_watch(notify_, path_.c_str(), IN_MODIFY);
  buffer_.clear();
  skipping_ = false;
  last_record_ = 0;
  const auto size = static_cast<std::uint64_t>(st.st_size);
  const bool known =
      !from_start && position_.inode == st.st_ino && position_.offset <= size && position_.boot.rfind("file-", 0) == 0;
  if (known) return {};
  // A file met for the first time is followed from its end: how old its lines are cannot be known.
  const std::uint64_t offset = from_start ? 0 : size;
  position_ = {fresh_boot("file", st.st_ino), offset, st.st_ino, offset};
  return {};
}

void KernelSource::look_after() {
  if (kind_ != Kind::file) return;
  struct stat st {};
  if (stat(path_.c_str(), &st) != 0) return;  // between being moved away and made anew
  const bool cut = st.st_ino == position_.inode && static_cast<std::uint64_t>(st.st_size) < position_.offset;
  if (st.st_ino == position_.inode && !cut) return;
  static_cast<void>(open_file(true));
}

std::size_t KernelSource::read(std::size_t most, const std::function<void(const KernelPiece&)>& visit) {
  return kind_ == Kind::device ? read_device(most, visit) : read_lines(most, visit);
}

bool KernelSource::visit_record(std::string_view bytes, const std::function<void(const KernelPiece&)>& visit) {
  std::uint64_t seq = 0;
  std::uint64_t usec = 0;
  if (!read_record_head(bytes, seq, usec)) return false;
  const std::uint64_t number = seq + 1;  // a stream's numbers begin at 1
  if (number <= position_.seq) return false;
  KernelPiece p{bytes, true, number, position_.seq == 0 ? 0 : number - position_.seq - 1,
                Time{static_cast<std::int64_t>(usec) * 1000}};
  position_.seq = number;
  visit(p);
  return true;
}

std::size_t KernelSource::read_device(std::size_t most, const std::function<void(const KernelPiece&)>& visit) {
  char record[kKernelRecordMax + 1];
  std::size_t n = 0;
  while (n < most) {
    const ssize_t got = ::read(fd_, record, sizeof record);
    if (got < 0 && (errno == EPIPE || errno == EINTR || errno == EINVAL)) {  // EPIPE: overwritten; the next one's number tells
      ++n;
      continue;
    }
    if (got <= 0) break;
    ++n;
    visit_record({record, static_cast<std::size_t>(got)}, visit);
  }
  return n;
}

void KernelSource::visit_line(std::string_view line, const std::function<void(const KernelPiece&)>& visit) {
  KernelPiece p{line, false, 0, 0, {}};
  std::uint64_t record = 0;
  std::uint64_t usec = 0;
  p.structured = read_record_head(line, record, usec);
  if (p.structured) {
    if (last_record_ != 0 && record + 1 > last_record_ + 1) p.missing = record - last_record_;
    last_record_ = record + 1;
  }
  position_.offset += line.size() + 1;
  position_.seq = kind_ == Kind::file ? position_.offset : position_.seq + 1;
  p.seq = position_.seq;
  visit(p);
}

std::size_t KernelSource::read_lines(std::size_t most, const std::function<void(const KernelPiece&)>& visit) {
  if (notify_ >= 0) {
    char events[4096];
    while (::read(notify_, events, sizeof events) > 0) {
    }
  }
  std::size_t n = 0;
  char chunk[kChunk];
  while (n < most) {
    const ssize_t got = kind_ == Kind::file
                            ? pread(fd_, chunk, sizeof chunk, static_cast<off_t>(position_.offset + buffer_.size()))
                            : ::read(fd_, chunk, sizeof chunk);
    if (got <= 0) break;
    buffer_.append(chunk, static_cast<std::size_t>(got));
    std::size_t used = 0;
    for (std::size_t end = 0; (end = buffer_.find('\n', used)) != std::string::npos; used = end + 1) {
      ++n;
      if (std::exchange(skipping_, false) || end - used > kKernelRecordMax) {
        ++too_long_;
        position_.offset += end - used + 1;
        continue;
      }
      visit_line(std::string_view(buffer_).substr(used, end - used), visit);
    }
    buffer_.erase(0, used);
    if (buffer_.size() > kKernelRecordMax) {
      position_.offset += buffer_.size();
      buffer_.clear();
      skipping_ = true;
    }
  }
  return n;
}

}  // namespace muster::agent
