#include "adapters/infiniband/apart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace muster::infiniband {
namespace {

constexpr int kLookMs = 200;  // how soon a wish to stop is noticed
constexpr int kLeaveMs = 5000;
constexpr std::uint64_t kWhole = 0x6d75737465722e31;  // behind the last byte

class Packer {
 public:
  void number(std::uint64_t n) { out_.append(reinterpret_cast<const char*>(&n), sizeof n); }
  void real(double d) { number(std::bit_cast<std::uint64_t>(d)); }
  void text(std::string_view s) {
    number(s.size());
    out_.append(s);
  }
  void end(const PortEnd& e) {
    number(e.guid);
    text(e.node);
    number(static_cast<std::uint64_t>(static_cast<std::int64_t>(e.port)));
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// After what is torn, all is zero and empty.
class Unpacker {
 public:
  explicit Unpacker(std::string_view in) : in_(in) {}
  std::uint64_t number() {
    std::uint64_t n = 0;
    const std::string_view bytes = some(sizeof n);
    if (bytes.size() == sizeof n) std::memcpy(&n, bytes.data(), sizeof n);
    return n;
  }
  int small() { return static_cast<int>(static_cast<std::int64_t>(number())); }
  double real() { return std::bit_cast<double>(number()); }
  std::string text() { return std::string(some(number())); }
  PortEnd end() {
    PortEnd e;
    e.guid = number();
    e.node = text();
    e.port = small();
    return e;
  }
  bool torn() const { return torn_; }

 private:
  std::string_view some(std::uint64_t n) {
    torn_ = torn_ || n > in_.size();
    if (torn_) return {};
    const std::string_view out = in_.substr(0, n);
    in_.remove_prefix(n);
    return out;
  }

  std::string_view in_;
  bool torn_ = false;
};

void pack_port(Packer& p, const PortState& s) {
  p.end(s.here);
  p.number(s.is_switch ? 1 : 0);
  p.number(s.far ? 1 : 0);
  if (s.far) p.end(*s.far);
  p.number(s.far_is_switch ? 1 : 0);
  p.number(static_cast<std::uint64_t>(s.lanes));
  p.real(s.lane_gbit_s);
  p.text(s.logical);
  p.text(s.physical);
  p.number(static_cast<std::uint64_t>(s.lanes_could));
  p.real(s.lane_gbit_s_could);
}

PortState unpack_port(Unpacker& u) {
  PortState s;
  s.here = u.end();
  s.is_switch = u.number() != 0;
  if (u.number() != 0) s.far = u.end();
  s.far_is_switch = u.number() != 0;
  s.lanes = u.small();
  s.lane_gbit_s = u.real();
  s.logical = u.text();
  s.physical = u.text();
  s.lanes_could = u.small();
  s.lane_gbit_s_could = u.real();
  return s;
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

// What the libraries complain of is said where the reading failed, and is noise where it did not.
class Complaints {
 public:
  Complaints() : kept_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)), said_(::memfd_create("complaints", MFD_CLOEXEC)) {
    if (kept_ >= 0 && said_ >= 0) ::dup2(said_, STDERR_FILENO);
  }
  void say() const {
    char buffer[4096];
    const ssize_t n = said_ < 0 ? 0 : ::pread(said_, buffer, sizeof buffer, 0);
    if (kept_ >= 0 && n > 0) write_all(kept_, std::string_view(buffer, static_cast<std::size_t>(n)));
  }

 private:
  int kept_, said_;
};

// The whole life of the other process.
[[noreturn]] void read_and_end(const DiscoverAsk& ask, int to) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  struct sigaction act = {};
  sigemptyset(&act.sa_mask);
  act.sa_handler = SIG_IGN;
  ::sigaction(SIGINT, &act, nullptr);  // of the terminal: whoever waits for this decides
  act.sa_handler = SIG_DFL;
  ::sigaction(SIGTERM, &act, nullptr);
  const Complaints complaints;
  const Result<Discovered> found = discover(ask);
  if (!found) complaints.say();
  write_all(to, pack(found));
  ::close(to);
  std::exit(0);  // not _exit: libraries take their leave, and a simulator has room for few who do not
}

// How it ended. What has told all has a moment to take its leave.
int ended(pid_t pid, bool now) {
  int status = 0;
  for (int waited_ms = 0; !now && waited_ms < kLeaveMs; waited_ms += kLeaveMs / 250) {
    if (::waitpid(pid, &status, WNOHANG) == pid) return status;
    ::poll(nullptr, 0, kLeaveMs / 250);
  }
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Error broken_off(int status, const std::string& why) {
  const std::string how = !why.empty()          ? why
                          : WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                                : fmt::format("ended with {} before it had told all", WEXITSTATUS(status));
  return {Code::unreachable, fmt::format("the reading of the live fabric {}", how),
          "`ibnetdiscover` uses the same libraries: see what it does"};
}

}  // namespace

std::string pack(const Result<Discovered>& found) {
  Packer p;
  p.number(found ? 1 : 0);
  if (!found) {
    p.number(static_cast<std::uint64_t>(found.error().code));
    p.text(found.error().what);
    p.text(found.error().next);
    p.number(kWhole);
    return p.take();
  }
  p.text(found->net);
  p.number(found->ports.size());
  for (const PortState& s : found->ports) pack_port(p, s);
  p.number(found->counters.ports.size());
  for (const PortCounters& c : found->counters.ports) {
    p.end(c.port);
    p.number(c.values.size());
    for (const auto& [name, value] : c.values) p.text(name), p.number(value);
  }
  p.number(found->counters.complete ? 1 : 0);
  p.number(found->counters.lists_all ? 1 : 0);
  p.number(found->tables.lids.size());
  for (const auto& [guid, lid] : found->tables.lids) p.number(guid), p.number(lid);
  p.number(found->tables.switches.size());
  for (const auto& [guid, table] : found->tables.switches) p.number(guid), p.text(std::string(table.begin(), table.end()));
  p.number(found->unanswered);
  p.number(kWhole);
  return p.take();
}

Result<Discovered> unpack(std::string_view bytes) {
  Unpacker u(bytes);
  const auto torn = [&] { return fail(Code::corrupt, "the reading of the live fabric is torn"); };
  if (u.number() == 0) {
    const auto code = static_cast<Code>(u.number());
    std::string what = u.text(), next = u.text();
    if (u.number() != kWhole) return torn();
    return fail(code, std::move(what), std::move(next));
  }
  Discovered out;
  out.net = u.text();
  for (std::uint64_t n = u.number(); n > 0 && !u.torn(); --n) out.ports.push_back(unpack_port(u));
  for (std::uint64_t n = u.number(); n > 0 && !u.torn(); --n) {
    PortCounters& c = out.counters.ports.emplace_back();
    c.port = u.end();
    for (std::uint64_t k = u.number(); k > 0 && !u.torn(); --k) {
      std::string name = u.text();
      c.values.emplace_back(std::move(name), u.number());
    }
  }
  out.counters.complete = u.number() != 0;
  out.counters.lists_all = u.number() != 0;
  for (std::uint64_t n = u.number(); n > 0 && !u.torn(); --n) {
    const std::uint64_t guid = u.number();
    out.tables.lids[guid] = static_cast<std::uint16_t>(u.number());
  }
  for (std::uint64_t n = u.number(); n > 0 && !u.torn(); --n) {
    const std::uint64_t guid = u.number();
    const std::string table = u.text();
    out.tables.switches[guid].assign(table.begin(), table.end());
  }
  out.unanswered = static_cast<std::uint32_t>(u.number());
  if (u.number() != kWhole) return torn();
  return out;
}

Result<Discovered> discover_apart(const DiscoverAsk& ask, double limit_s, const std::function<bool()>& stop) {
  using Clock = std::chrono::steady_clock;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Code::internal, fmt::format("no pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);  // or the other process would write it again
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    read_and_end(ask, ends[1]);
  }
  ::close(ends[1]);
  if (pid < 0) {
    const int why = errno;
    ::close(ends[0]);
    return fail(Code::internal, fmt::format("no process for a reading: {}", std::strerror(why)));
  }
  std::string bytes, why;
  const auto until = Clock::now() + std::chrono::duration<double>(limit_s);
  for (bool open = true; open && why.empty();) {
    pollfd p{ends[0], POLLIN, 0};
    if (::poll(&p, 1, kLookMs) > 0) {
      char buffer[65536];
      const ssize_t n = ::read(ends[0], buffer, sizeof buffer);
      if (n > 0) bytes.append(buffer, static_cast<std::size_t>(n));
      open = n > 0 || (n < 0 && errno == EINTR);
    }
    if (open && Clock::now() > until) why = fmt::format("did not end within {:.0f} s", limit_s);
    if (stop()) why = "was interrupted";
  }
  ::close(ends[0]);
  const int status = ended(pid, !why.empty());
  if (!why.empty()) return tl::unexpected(broken_off(status, why));
  auto found = unpack(bytes);
  if (!found && found.error().code == Code::corrupt) return tl::unexpected(broken_off(status, ""));
  return found;
}

}  // namespace muster::infiniband
