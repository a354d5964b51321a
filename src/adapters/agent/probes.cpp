#include "adapters/agent/probes.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "adapters/agent/kernel_source.h"
#include "adapters/agent/zero_pages.h"
#include "adapters/state/lock.h"
#include "base/text.h"

namespace muster::agent {
namespace {

constexpr Duration kFindEvery = seconds(10);
constexpr Duration kRestartAfter = seconds(5);
constexpr Duration kKeptFor =
    minutes(1);                 // a probe that is asked less often ends in between: its memory is worth more than a fork
constexpr char kEnd = '\0';     // ends an answer: no probe prints it
constexpr char kTold = '\x01';  // begins what nobody asked for

volatile sig_atomic_t hurried = 0;
void on_hurry(int) { hurried = 1; }

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// In the probe's process: one answer a byte asked, until nobody asks any more.
[[noreturn]] void serve(const ProbeSpec& spec, int ask, int answer) {
  std::mutex lock;  // over the pipe: an answer and what is told must not mix
  const auto send = [&](std::string text, bool told) {
    text.resize(std::min(text.size(), kAnswerMax));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == kEnd || c == kTold; }, ' ');
    if (told) text.insert(text.begin(), kTold);
    text.push_back(kEnd);
    const std::lock_guard hold(lock);
    return write_all(answer, text);
  };
  char c = 0;
  for (bool first = true; read(ask, &c, 1) == 1; first = false) {
    if (!send(spec.ask(), false)) break;
    if (!first) continue;
    release_zero_pages();  // before there is a second thread
    release_code();
    if (!spec.watch) continue;
    std::thread([&] {
      spec.watch([&](const std::string& text) {
        if (!send(text, true)) _exit(0);
      });
    }).detach();
  }
  _exit(0);
}

// One probe, as its keeper sees it.
struct Kept {
  ProbeSpec spec;
  bool wanted = true;
  pid_t pid = -1;
  int ask = -1;
  int answer = -1;
  std::optional<Time> asked;  // waiting for an answer since then
  Time due;                   // to be asked, or started, then
  bool told_hung = false;
  bool resting = false;  // told to end, having answered
  std::string text;
};

class Keeper {
 public:
  Keeper(int out, std::vector<ProbeSpec> fixed, std::function<std::vector<ProbeSpec>()> find)
      : out_(out), find_(std::move(find)), fixed_(fixed.size()) {
    for (ProbeSpec& s : fixed) kept_.push_back({std::move(s)});
  }

  [[noreturn]] void run() {
    Time find_at{};
    for (;;) {
      const Time now = monotonic_now();
      if (find_ && now >= find_at) {
        renew();
        find_at = now + kFindEvery;
      }
      if (hurried != 0) {
        hurried = 0;
        for (Kept& k : kept_) k.due = k.spec.watch ? now : k.due;
      }
      Time next = now + seconds(1);
      for (Kept& k : kept_) {
        tend(k, now);
        next = std::min(next, k.asked ? *k.asked + k.spec.deadline : k.resting ? now + milliseconds(50) : k.due);
      }
      drop_unwanted();
      wait_until(std::max(next, now));
    }
  }

 private:
  void renew() {
    std::vector<ProbeSpec> specs = find_();
    for (std::size_t i = fixed_; i < kept_.size(); ++i) kept_[i].wanted = false;
    for (ProbeSpec& s : specs) {
      const auto it = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return k.spec.name == s.name; });
      if (it != kept_.end()) {
        it->wanted = true;
      } else {
        kept_.push_back({std::move(s)});
      }
    }
  }

  void drop_unwanted() {
    for (Kept& k : kept_) {
      if (!k.wanted && k.pid > 0) kill(-k.pid, SIGKILL);
      if (!k.wanted) reap(k);
    }
    std::erase_if(kept_, [](const Kept& k) { return !k.wanted && k.pid < 0; });
  }

  void start(Kept& k) {
    int ask[2];
    int answer[2];
    if (pipe2(ask, O_CLOEXEC) != 0) return;
    if (pipe2(answer, O_CLOEXEC) != 0) {
      close(ask[0]);
      close(ask[1]);
      return;
    }
    const pid_t parent = getpid();
    k.pid = fork();
    if (k.pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      setpgid(0, 0);
      close(ask[1]);
      close(answer[0]);
      close(out_);
      for (const Kept& other : kept_) {
        if (other.ask >= 0) close(other.ask);
        if (other.answer >= 0) close(other.answer);
      }
      prctl(PR_SET_NAME, ("muster-" + k.spec.name).substr(0, 15).c_str());
      serve(k.spec, ask[0], answer[1]);
    }
    if (k.pid > 0) setpgid(k.pid, k.pid);  // both do it: whoever is first
    close(ask[0]);
    close(answer[1]);
    fcntl(answer[0], F_SETFL, O_NONBLOCK);
    k.ask = ask[1];
    k.answer = answer[0];
  }

  // The process may be stuck in the kernel, where even SIGKILL does not reach it: then it is looked after again later, and no
  // second one is started beside it.
  bool reap(Kept& k) {
    if (k.pid < 0) return true;
    int status = 0;
    if (waitpid(k.pid, &status, WNOHANG) != k.pid) return false;
    k.pid = -1;
    if (k.ask >= 0) close(k.ask);
    close(k.answer);
    k.ask = k.answer = -1;
    k.asked.reset();
    k.text.clear();
    return true;
  }

  void tend(Kept& k, Time now) {
    if (!k.wanted) return;
    if (k.pid > 0) take_answer(k, now);
    if (k.pid > 0 && reap(k)) {
      if (std::exchange(k.resting, false)) return;  // due is when it is asked again
      if (!k.told_hung) report(k, ProbeState::died, {});
      k.due = now + kRestartAfter;
      return;
    }
    if (k.asked) {
      if (now - *k.asked < k.spec.deadline) return;
      if (!k.told_hung) report(k, ProbeState::hung, now - *k.asked);
      k.told_hung = true;
      kill(-k.pid, SIGKILL);  // with whatever it started
      k.asked = now;          // looked at again after another deadline, if the kill does not free it
      return;
    }
    if (now < k.due || k.resting) return;
    if (k.pid < 0) start(k);
    if (k.pid < 0) {
      k.due = now + kRestartAfter;
      return;
    }
    k.due = now + k.spec.every;
    k.asked = now;
    static_cast<void>(write_all(k.ask, "?"));
  }

  void take_answer(Kept& k, Time now) {
    char chunk[16 << 10];
    for (;;) {
      const ssize_t n = ::read(k.answer, chunk, sizeof chunk);
      if (n <= 0) break;
      k.text.append(chunk, static_cast<std::size_t>(n));
    }
    std::size_t used = 0;
    for (std::size_t end = 0; (end = k.text.find(kEnd, used)) != std::string::npos; used = end + 1) {
      const std::string_view text = std::string_view(k.text).substr(used, end - used);
      if (!text.empty() && text.front() == kTold) {
        report(k, ProbeState::told, {}, text.substr(1));
        continue;
      }
      k.told_hung = false;
      report(k, ProbeState::ok, k.asked ? now - *k.asked : Duration{}, text);
      k.asked.reset();
    }
    k.text.erase(0, used);
    if (used > 0 && !k.asked && k.spec.every >= kKeptFor && k.ask >= 0) {
      close(k.ask);
      k.ask = -1;
      k.resting = true;
    }
    if (k.text.size() > 2 * kAnswerMax) k.text.clear();  // no probe of ours says so much without an end
  }

  // "STATE TOOK_NS LENGTH NAME\n" and the text. A reader that is gone ends the keeper.
  void report(const Kept& k, ProbeState state, Duration took, std::string_view text = {}) {
    const std::string head = fmt::format("{} {} {} {}\n", static_cast<int>(state), took.ns, text.size(), k.spec.name);
    if (!write_all(out_, head) || !write_all(out_, text)) _exit(0);
  }

  void wait_until(Time t) {
    std::vector<pollfd> fds{{out_, 0, 0}};  // only to learn that the agent is gone
    for (const Kept& k : kept_) {
      if (k.answer >= 0) fds.push_back({k.answer, POLLIN, 0});
    }
    const std::int64_t ms = std::clamp<std::int64_t>((t - monotonic_now()).ns / 1'000'000 + 1, 1, 1000);
    poll(fds.data(), fds.size(), static_cast<int>(ms));
    if ((fds[0].revents & (POLLERR | POLLHUP)) != 0) _exit(0);
    // A process that has died keeps its pipe readable until it is reaped: do not spin over it.
    for (std::size_t i = 1; i < fds.size(); ++i) {
      if ((fds[i].revents & POLLHUP) != 0 && (fds[i].revents & POLLIN) == 0) usleep(1000);
    }
  }

  int out_;
  std::function<std::vector<ProbeSpec>()> find_;
  std::size_t fixed_;
  std::vector<Kept> kept_;
};

}  // namespace

Result<std::unique_ptr<Probes>> Probes::start(std::vector<ProbeSpec> fixed, std::function<std::vector<ProbeSpec>()> find) {
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) return tl::unexpected(system_error("cannot make a pipe", errno));
  const pid_t parent = getpid();
  const auto before = signal(SIGUSR1, SIG_IGN);  // until the keeper is ready for it
  const pid_t pid = fork();
  if (pid != 0) signal(SIGUSR1, before);
  if (pid < 0) return tl::unexpected(system_error("cannot start the process that keeps the probes", errno));
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    prctl(PR_SET_NAME, "muster-probes");
    signal(SIGINT, SIG_IGN);  // Ctrl-C is for the agent, which ends us
    signal(SIGTERM, SIG_DFL);
    signal(SIGUSR1, on_hurry);
    close(pipe_fds[0]);
    Keeper(pipe_fds[1], std::move(fixed), std::move(find)).run();
  }
  close(pipe_fds[1]);
  fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
  return std::unique_ptr<Probes>(new Probes(pipe_fds[0], pid));
}

Probes::~Probes() {
  close(fd_);
  kill(keeper_, SIGKILL);
  waitpid(keeper_, nullptr, 0);
}

void Probes::hurry() { kill(keeper_, SIGUSR1); }

Result<std::vector<ProbeReport>> Probes::read() {
  char chunk[16 << 10];
  bool gone = false;
  for (;;) {
    const ssize_t n = ::read(fd_, chunk, sizeof chunk);
    if (n == 0) gone = true;
    if (n <= 0) break;
    buffer_.append(chunk, static_cast<std::size_t>(n));
  }
  std::vector<ProbeReport> out;
  std::size_t at = 0;
  for (;;) {
    const auto end = buffer_.find('\n', at);
    if (end == std::string::npos) break;
    const auto parts = split(std::string_view(buffer_).substr(at, end - at), ' ');
    if (parts.size() < 4) return fail(Code::internal, "the keeper of the probes says something that is no report");
    const std::size_t length = parse_uint(parts[2]).value_or(0);
    if (buffer_.size() - end - 1 < length) break;
    const std::size_t name_at = static_cast<std::size_t>(parts[3].data() - buffer_.data());
    out.push_back({buffer_.substr(name_at, end - name_at), static_cast<ProbeState>(parse_uint(parts[0]).value_or(0)),
                   buffer_.substr(end + 1, length), Duration{parse_int(parts[1]).value_or(0)}});
    at = end + 1 + length;
  }
  buffer_.erase(0, at);
  if (gone) return fail(Code::unreachable, "the process that keeps the probes has died", "start the agent again");
  return out;
}

}  // namespace muster::agent
