#include "tune_launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

namespace muster::cmd {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kGraceMs = 5000;  // between asking a program to end and ending it
constexpr int kLookMs = 100;    // how often it is asked whether it has ended

volatile std::sig_atomic_t g_interrupted = 0;

// While one is under way, an interrupt is noted instead of ending this program at once.
class Interrupts {
 public:
  Interrupts() {
    g_interrupted = 0;
    struct sigaction act = {};
    act.sa_handler = [](int) { g_interrupted = 1; };
    sigemptyset(&act.sa_mask);
    ::sigaction(SIGINT, &act, &int_);
    ::sigaction(SIGTERM, &act, &term_);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts() {
    ::sigaction(SIGINT, &int_, nullptr);
    ::sigaction(SIGTERM, &term_, nullptr);
  }

 private:
  struct sigaction int_ = {}, term_ = {};
};

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) ends_[0] = ends_[1] = -1;
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (int& end : ends_) close(end);
  }
  bool made() const { return ends_[0] >= 0; }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_write() { close(ends_[1]); }

 private:
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  int ends_[2] = {-1, -1};
};

std::vector<std::string> environment(const Launch& ask) {
  std::vector<std::string> out;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view pair(*e);
    const std::string name(pair.substr(0, pair.find('=')));
    const bool replaced = std::any_of(ask.set.begin(), ask.set.end(), [&](const auto& s) { return s.first == name; });
    const bool removed = std::find(ask.unset.begin(), ask.unset.end(), name) != ask.unset.end();
    if (!replaced && !removed) out.emplace_back(pair);
  }
  for (const auto& [name, value] : ask.set) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& w : words) out.push_back(w.data());
  out.push_back(nullptr);
  return out;
}

Result<pid_t> start(const Launch& ask, int out) {
  std::vector<std::string> words = ask.words, env = environment(ask);
  const std::vector<char*> argv = pointers(words), envp = pointers(env);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, 1);
  if (!ask.complaints_apart) posix_spawn_file_actions_adddup2(&files, out, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);  // ignored here, and not to be there
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, argv[0], &files, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0)
    return fail(Code::not_found, fmt::format("{} could not be started: {}", words[0], std::strerror(failed)),
                "the command that measures stands behind --, as it would be typed");
  return pid;
}

// What there is to read. False: all ends are closed.
bool drain(int fd, int wait_ms, std::string& to) {
  pollfd p{fd, POLLIN, 0};
  if (::poll(&p, 1, wait_ms) <= 0) return true;
  char buffer[65536];
  const ssize_t n = ::read(fd, buffer, sizeof buffer);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  if (to.size() < kLaunchOutputMax) to.append(buffer, static_cast<std::size_t>(n));
  return true;
}

}  // namespace

Result<Launched> launch(const Launch& ask) {
  Pipe pipe;
  if (!pipe.made()) return fail(Code::internal, fmt::format("no pipe for {}: {}", ask.words[0], std::strerror(errno)));
  const Interrupts interrupts;
  const auto began = Clock::now();
  const auto pid = start(ask, pipe.write_end());
  if (!pid) return tl::unexpected(pid.error());
  pipe.close_write();
  Launched out;
  const auto elapsed = [&](Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); };
  bool open = true;
  int status = 0;
  std::optional<Clock::time_point> asked;
  for (;;) {
    if (open) {
      open = drain(pipe.read_end(), kLookMs, out.output);
    } else {
      ::poll(nullptr, 0, kLookMs);
    }
    const pid_t ended = ::waitpid(*pid, &status, WNOHANG);
    if (ended == *pid || (ended < 0 && errno != EINTR)) break;
    const bool late = elapsed(began) > ask.limit_s;
    out.too_much = ask.whole_or_nothing && out.output.size() >= kLaunchOutputMax;
    if (!asked && (late || g_interrupted != 0 || out.too_much)) {
      out.timed_out = late && !out.too_much;
      out.interrupted = g_interrupted != 0 && !late && !out.too_much;
      ::kill(-*pid, SIGTERM);
      asked = Clock::now();
    } else if (asked && elapsed(*asked) * 1000 > kGraceMs) {
      ::kill(-*pid, SIGKILL);
    }
  }
  out.seconds = elapsed(began);
  // What it left behind would hold the GPUs of the next launch.
  ::kill(-*pid, SIGKILL);
  for (std::size_t before = SIZE_MAX; open && before != out.output.size();) {
    before = out.output.size();
    open = drain(pipe.read_end(), 0, out.output);
  }
  out.too_much = ask.whole_or_nothing && out.output.size() >= kLaunchOutputMax;
  out.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  out.interrupted = out.interrupted || (g_interrupted != 0 && !out.timed_out);
  return out;
}

}  // namespace muster::cmd
