#include "adapters/accept/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "adapters/state/lock.h"

namespace muster::bench {
namespace {

constexpr int kSocket = 3;  // in the process
constexpr int kLeaveMs = 200;

// In the new process. Nothing of the bench's stays open: not its recording, and not the sockets of its other processes.
void settle(const std::string& name, pid_t parent, int socket, int words) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, name.substr(0, 15).c_str());
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // with a whole GPU mapped it would take minutes to write
  for (int s = 1; s < 32; ++s) ::signal(s, SIG_DFL);
  ::signal(SIGINT, SIG_IGN);  // of the terminal: the bench decides
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t all;
  sigemptyset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  const int high = ::fcntl(socket, F_DUPFD, 10);
  const int out = ::fcntl(words, F_DUPFD, 10);
  const int null = ::open("/dev/null", O_RDONLY);
  if (high < 0 || out < 0) ::_exit(1);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);  // a library that prints must not print into the program's answer
  ::dup2(out, STDERR_FILENO);
  ::dup2(high, kSocket);
  ::close_range(kSocket + 1, ~0U, 0);
}

}  // namespace

double steady_s() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

Result<std::unique_ptr<Child>> Child::start(const std::string& name, const std::function<void(int socket)>& live) {
  int talk[2], words[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk) != 0) {
    return tl::unexpected(system_error("cannot make a socket for " + name, errno));
  }
  if (::pipe2(words, O_CLOEXEC | O_NONBLOCK) != 0) {  // not blocking: who prints without end loses it, and does not wait
    const int why = errno;
    ::close(talk[0]), ::close(talk[1]);
    return tl::unexpected(system_error("cannot make a pipe for " + name, why));
  }
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    settle(name, parent, talk[1], words[1]);
    live(kSocket);
    ::_exit(0);
  }
  const int why = errno;
  ::close(talk[1]), ::close(words[1]);
  if (pid < 0) {
    ::close(talk[0]), ::close(words[0]);
    return tl::unexpected(system_error("cannot start the process " + name, why));
  }
  ::setpgid(pid, pid);  // both do it: whoever is first
  return std::unique_ptr<Child>(new Child(pid, talk[0], words[0]));
}

Child::~Child() {
  if (!gone()) kill();
  for (int waited_ms = 0; !gone() && waited_ms < kLeaveMs; waited_ms += 5) ::poll(nullptr, 0, 5);
  ::close(fd_), ::close(words_);
}

bool Child::tell(const Order& order) {
  return ::send(fd_, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof order);
}

std::optional<Said> Child::take() {
  Said said;
  // More than once: a process that ended before it had heard all that it was told has the socket say so first, and only then what
  // it said itself.
  for (int tries = 0; tries < 3; ++tries) {
    const ssize_t n = ::recv(fd_, &said, sizeof said, MSG_DONTWAIT);
    if (n == static_cast<ssize_t>(sizeof said)) return said;
    if (n >= 0 || (errno != ECONNRESET && errno != EINTR)) break;
  }
  return std::nullopt;
}

void Child::kill() {
  if (gone_) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
}

bool Child::gone() {
  if (gone_) return true;
  const pid_t r = ::waitpid(pid_, &status_, WNOHANG);
  if (r < 0 && errno != ECHILD) return false;  // ECHILD: somebody else has waited for it
  return gone_ = r != 0;
}

std::string Child::how() const {
  if (WIFSIGNALED(status_)) {
    const char* words = ::strsignal(WTERMSIG(status_));
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status_), words == nullptr ? "?" : words);
  }
  return fmt::format("ended with {}", WEXITSTATUS(status_));
}

std::string Child::last_words() {
  std::string text(4096, '\0');
  std::string last;
  for (ssize_t n = 0; (n = ::read(words_, text.data(), text.size())) > 0;) {
    last += text.substr(0, static_cast<std::size_t>(n));
    if (last.size() > text.size()) last.erase(0, last.size() - text.size());
  }
  const std::string_view whole = trim(last);
  const std::size_t line = whole.rfind('\n');
  return printable(clipped(line == std::string_view::npos ? whole : whole.substr(line + 1), 160));
}

void say(int socket, const Said& said) {
  while (::send(socket, &said, sizeof said, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof said)) {
    if (errno != EINTR) ::_exit(0);
  }
}

void say_if_heard(int socket, const Said& said) {
  const ssize_t n = ::send(socket, &said, sizeof said, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ENOBUFS) ::_exit(0);
}

}  // namespace muster::bench
