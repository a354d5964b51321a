#include "adapters/slurm/command.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/text.h"

extern char** environ;

namespace muster::slurm {
namespace {

constexpr std::size_t kOutMost = 256U << 20U;
constexpr std::size_t kErrMost = 16U << 10U;

struct Pipe {
  int in = -1, out = -1;
  bool open() {
    std::array<int, 2> fds{};
    if (pipe2(fds.data(), O_CLOEXEC) != 0) return false;
    in = fds[0];
    out = fds[1];
    return true;
  }
  void close_in() { close_one(in); }
  void close_out() { close_one(out); }
  ~Pipe() {
    close_in();
    close_out();
  }

 private:
  static void close_one(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

std::vector<std::string> environment(const Command& c) {
  std::vector<std::string> out;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view line(*e);
    const bool replaced = std::any_of(c.env.begin(), c.env.end(), [&](const auto& x) {
      return line.size() > x.first.size() && line[x.first.size()] == '=' && line.rfind(x.first, 0) == 0;
    });
    if (!replaced) out.emplace_back(line);
  }
  for (const auto& [name, value] : c.env) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& w : words) out.push_back(w.data());
  out.push_back(nullptr);
  return out;
}

Result<pid_t> spawn(const Command& c, Pipe& out, Pipe& err) {
  std::vector<std::string> argv = c.argv;
  std::vector<std::string> env = environment(c);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.out, 1);
  posix_spawn_file_actions_adddup2(&files, err.out, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigdefault(&attributes, &all);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, argv[0].c_str(), &files, &attributes, pointers(argv).data(), pointers(env).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) {
    return fail(failed == ENOENT ? Code::not_found : Code::internal,
                fmt::format("{} cannot be started: {}", printable(argv[0]), strerror(failed)));
  }
  return pid;
}

using SteadyTime = std::chrono::steady_clock::time_point;

// Reads both pipes until they close. False: the time is over, or it says too much.
bool read_all(Pipe& out, Pipe& err, SteadyTime until, Ran& ran) {
  std::array<char, 65536> buffer;
  while (out.in >= 0 || err.in >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    std::array<pollfd, 2> fds = {pollfd{out.in, POLLIN, 0}, pollfd{err.in, POLLIN, 0}};
    if (poll(fds.data(), fds.size(), static_cast<int>(std::min<std::int64_t>(left, 60'000))) < 0 && errno != EINTR) return false;
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      const ssize_t n = read(out.in, buffer.data(), buffer.size());
      if (n <= 0) out.close_in();
      if (n > 0) ran.out.append(buffer.data(), static_cast<std::size_t>(n));
      if (ran.out.size() > kOutMost) return false;
    }
    if ((fds[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      const ssize_t n = read(err.in, buffer.data(), buffer.size());
      if (n <= 0) err.close_in();
      if (n > 0 && ran.err.size() < kErrMost) ran.err.append(buffer.data(), static_cast<std::size_t>(n));
    }
  }
  return true;
}

}  // namespace

Result<Ran> run(const Command& c) {
  const SteadyTime until = std::chrono::steady_clock::now() + c.timeout;
  Pipe out, err;
  if (!out.open() || !err.open()) return fail(Code::internal, fmt::format("no pipe for {}: {}", c.argv[0], strerror(errno)));
  const auto pid = spawn(c, out, err);
  if (!pid) return tl::unexpected(pid.error());
  out.close_out();
  err.close_out();
  Ran ran;
  const bool whole = read_all(out, err, until, ran);
  if (!whole) kill(-*pid, SIGKILL);  // the group is its own
  int status = 0;
  rusage use{};
  while (wait4(*pid, &status, 0, &use) < 0 && errno == EINTR) {
  }
  const auto seconds_of = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  ran.cpu_s = seconds_of(use.ru_utime) + seconds_of(use.ru_stime);
  if (!whole) {
    return fail(Code::unreachable,
                fmt::format("{} did not end within {} ms and was stopped", printable(c.argv[0]), c.timeout.count()));
  }
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

}  // namespace muster::slurm
