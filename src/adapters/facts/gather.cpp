#include "adapters/facts/gather.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>

#include "base/text.h"

extern char** environ;

namespace muster::facts {
namespace {

constexpr std::size_t kOutMax = 4U << 20;  // of one node: facts are a hundredth of it
constexpr std::size_t kComplaintMax = 4096;
constexpr double kFarewellS = 3;  // between being told to end and being ended

double now_s() {
  timespec t = {};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

struct Pipe {
  int read = -1, write = -1;
  bool open() {
    int both[2];
    if (::pipe2(both, O_CLOEXEC) != 0) return false;
    read = both[0];
    write = both[1];
    return true;
  }
};

void shut(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

class Running {
 public:
  Running(const Errand& e, const GatherOptions& o) : node_(e.node), input_(o.input), until_(now_s() + o.deadline_s) { start(e); }
  ~Running() {
    for (int* fd : {&in_, &out_, &err_}) shut(*fd);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void add_to(std::vector<pollfd>& fds) const {
    if (in_ >= 0) fds.push_back({in_, POLLOUT, 0});
    if (out_ >= 0) fds.push_back({out_, POLLIN, 0});
    if (err_ >= 0) fds.push_back({err_, POLLIN, 0});
  }
  // True: it has ended, or was given up on.
  bool step() {
    if (pid_ <= 0) return true;
    feed();
    take(out_, text_, kOutMax);
    take(err_, complaint_, stopping_ ? complaint_.size() : kComplaintMax);  // farewells explain nothing
    if (!stopping_ && (now_s() > until_ || text_.size() >= kOutMax)) {
      trouble_ = text_.size() < kOutMax ? "did not answer in time" : "says far more than facts";
      stopping_ = true;
      until_ = now_s() + kFarewellS;
      shut(in_);
      ::kill(-pid_, SIGTERM);
    }
    if (stopping_) return stopped();
    if (out_ >= 0 || err_ >= 0) return false;
    if (::waitpid(pid_, &status_, WNOHANG) == 0) return false;
    if (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0)
      trouble_ = WIFEXITED(status_) ? fmt::format("exit code {}", WEXITSTATUS(status_))
                                    : fmt::format("ended by signal {}", WTERMSIG(status_));
    return true;
  }
  Answer answer() {
    Answer a{node_, std::move(text_), trouble_};
    if (a.trouble.empty()) return a;
    const std::string_view words = trim(complaint_);
    if (const auto line = words.rfind('\n'); !words.empty())
      a.trouble += ": " + printable(line == std::string_view::npos ? words : trim(words.substr(line + 1)));
    return a;
  }

 private:
  void start(const Errand& e) {
    Pipe in, out, err;
    if (!in.open() || !out.open() || !err.open()) {
      trouble_ = fmt::format("cannot be asked: {}", std::strerror(errno));
      for (Pipe* p : {&in, &out, &err}) {
        shut(p->read);
        shut(p->write);
      }
      return;
    }
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&how);
    ::posix_spawn_file_actions_adddup2(&files, in.read, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, out.write, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, err.write, STDERR_FILENO);
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&how, &pipe);
    ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> argv;
    for (const std::string& a : e.argv) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    const int why = ::posix_spawnp(&pid_, argv[0], &files, &how, argv.data(), environ);
    ::posix_spawnattr_destroy(&how);
    ::posix_spawn_file_actions_destroy(&files);
    for (int* fd : {&in.read, &out.write, &err.write}) shut(*fd);
    in_ = in.write;
    out_ = out.read;
    err_ = err.read;
    for (const int fd : {in_, out_, err_}) set_nonblocking(fd);
    if (why == 0) return;
    pid_ = -1;
    trouble_ = fmt::format("cannot run {}: {}", e.argv[0], std::strerror(why));
  }
  // srun that is killed leaves its job behind, queued or holding the node; told to end, it takes it back. True: it has ended.
  bool stopped() {
    siginfo_t ended = {};
    const bool gone = ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == pid_;
    if (!gone && now_s() < until_) return false;
    ::kill(-pid_, SIGKILL);  // with all that it started
    // A process that is stuck in the kernel does not die either: it is left to init.
    for (int i = 0; i < 100 && ::waitpid(pid_, &status_, WNOHANG) == 0; ++i) ::usleep(1000);
    return true;
  }
  void feed() {
    while (in_ >= 0 && fed_ < input_.size()) {
      const ssize_t n = ::write(in_, input_.data() + fed_, std::min<std::size_t>(input_.size() - fed_, 1U << 20));
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (n < 0) break;
      fed_ += static_cast<std::size_t>(n);
    }
    shut(in_);
  }
  static void take(int& fd, std::string& into, std::size_t most) {
    std::array<char, 65536> chunk;
    while (fd >= 0) {
      const ssize_t n = ::read(fd, chunk.data(), chunk.size());
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (n <= 0) return shut(fd);
      into.append(chunk.data(), std::min(static_cast<std::size_t>(n), most - std::min(most, into.size())));
    }
  }

  std::string node_;
  std::string_view input_;
  double until_;
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, err_ = -1, status_ = 0;
  std::size_t fed_ = 0;
  bool stopping_ = false;
  std::string text_, complaint_, trouble_;
};

}  // namespace

void gather(const std::vector<Errand>& errands, const GatherOptions& options, const std::function<void(Answer)>& told) {
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  std::list<Running> running;
  std::size_t next = 0;
  while (next < errands.size() || !running.empty()) {
    while (next < errands.size() && running.size() < options.at_once) running.emplace_back(errands[next++], options);
    for (auto it = running.begin(); it != running.end();) {
      if (it->step()) {
        told(it->answer());
        it = running.erase(it);
      } else {
        ++it;
      }
    }
    std::vector<pollfd> fds;
    for (const Running& r : running) r.add_to(fds);
    // Those that have closed all and not yet ended are looked at again soon.
    if (!running.empty()) ::poll(fds.data(), fds.size(), fds.size() < running.size() ? 5 : 50);
  }
  ::sigaction(SIGPIPE, &before, nullptr);
}

}  // namespace muster::facts
