#include "adapters/agent/job_socket.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "adapters/agent/kernel_source.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace muster::agent {
namespace {

constexpr std::size_t kClientsMax = 256;
constexpr std::size_t kClientsOfOne = 64;  // of one user: eight processes on each of eight GPUs
constexpr std::size_t kJobsMax = 1024;
constexpr std::size_t kJobsOfOne = 64;
constexpr Duration kForgotten = hours(24);     // a job that says nothing for so long has no owner any more
constexpr Duration kStepsEvery = seconds(10);  // a report that only says how far it is goes on this often
constexpr double kBurst = 64;
constexpr double kPerSecond = 16;  // reports of one user

std::string refusal(const std::string& why) {
  JsonWriter w;
  w.object().field("ok", false).field("error", why).end_object();
  return w.take();
}

bool plain_number(std::string_view s) { return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos; }

std::string read_cgroups(pid_t pid) {
  if (pid <= 0) return {};
  const int fd = open(fmt::format("/proc/{}/cgroup", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char text[4096];
  const ssize_t got = read(fd, text, sizeof text);
  close(fd);
  return got <= 0 ? std::string() : std::string(text, static_cast<std::size_t>(got));
}

Error socket_error(const std::string& what, const std::string& path) {
  return {Code::unreachable, fmt::format("{} {}: {}", what, path, std::strerror(errno)), "give another path with --job-socket"};
}

}  // namespace

std::string job_of_cgroups(std::string_view text) {
  for (std::size_t at = text.find("/job_"); at != std::string_view::npos; at = text.find("/job_", at + 1)) {
    const std::string_view rest = text.substr(at + 5);
    const std::string_view id = rest.substr(0, rest.find_first_of("/\n"));
    const bool slurms = text.substr(0, at).find("slurm") != std::string_view::npos;
    if (slurms && id.size() <= 10 && plain_number(id)) return std::string(id);
  }
  return {};
}

Result<JobDesk::Known*> JobDesk::find(const JobReport& r, uid_t uid, const std::string& cgroup_job, Time now) {
  // Slurm numbers the members of an array once more by themselves: only two plain numbers can be told apart.
  if (!cgroup_job.empty() && plain_number(r.job) && r.job != cgroup_job)
    return fail(Code::refused, fmt::format("you are part of job {}, not of {}", cgroup_job, printable(r.job)));
  const auto it = jobs_.find(r.job);
  if (it != jobs_.end()) {
    if (it->second.uid != uid && uid != 0 && now - it->second.heard <= kForgotten)
      return fail(Code::refused, fmt::format("another user speaks for job {}", printable(r.job)));
    it->second.uid = uid;
    return &it->second;
  }
  std::erase_if(jobs_, [&](const auto& j) { return now - j.second.heard > kForgotten; });
  const auto of_user = std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& j) { return j.second.uid == uid; });
  if (jobs_.size() >= kJobsMax || static_cast<std::size_t>(of_user) >= kJobsOfOne)
    return fail(Code::refused, "too many jobs are told of here");
  Known& k = jobs_[r.job];
  k.uid = uid;
  return &k;
}

std::string JobDesk::hear(std::string_view line, uid_t uid, const std::string& cgroup_job, Time now) {
  auto [b, first] = budget_.try_emplace(uid, now, kBurst);
  if (first && budget_.size() > kJobsMax) budget_.erase(budget_.begin() == b ? std::next(b) : budget_.begin());
  b->second.second = std::min(kBurst, b->second.second + kPerSecond * (now - b->second.first).seconds());
  b->second.first = now;
  const auto no = [&](const std::string& why) {
    ++refused_;
    return refusal(why);
  };
  if (b->second.second < 1) return no("too many reports: one a step is plenty");
  b->second.second -= 1;
  auto r = parse_job_report(line);
  if (!r) return no(r.error().what);
  if (r->job.empty()) r->job = cgroup_job;
  if (r->job.empty()) return no("the report names no job");
  auto known = find(*r, uid, cgroup_job, now);
  if (!known) return no(known.error().what);
  Known& k = **known;
  k.heard = now;
  // Joined with what is not taken yet: a checkpoint that was told is not forgotten over the step after it.
  if (r->saved_step < 0) {
    r->saved_step = k.pending.saved_step;
    r->saving_s = k.pending.saving_s;
  }
  if (r->step < 0) r->step = k.pending.step;
  if (r->step >= 0 && r->saved_step > r->step) r->step = r->saved_step;
  if (r->step_s < 0) r->step_s = k.pending.step_s;
  k.pending = std::move(*r);
  k.news = true;
  ++heard_;
  JsonWriter w;
  w.object().field("ok", true);
  if (const auto p = paces_.find(k.pending.job); p != paces_.end()) {
    if (p->second.every_s > 0) w.field("checkpoint_every_s", p->second.every_s);
    if (p->second.next_unix > 0) w.field("next_checkpoint_at", p->second.next_unix);
  }
  w.end_object();
  return w.take();
}

std::vector<std::string> JobDesk::take(Time now) {
  std::vector<std::string> out;
  for (auto& [job, k] : jobs_) {
    const bool saved = k.pending.saved_step >= 0 && k.pending.saved_step != k.saved_step;
    if (!k.news || (!saved && k.sent.ns != 0 && now - k.sent < kStepsEvery)) continue;
    JsonWriter w;
    w.object().field("job", to_valid_utf8(job)).key("report").raw("{" + render_job_report(k.pending) + "}").end_object();
    out.push_back(w.take_members());
    k.saved_step = std::max(k.saved_step, k.pending.saved_step);
    k.pending = JobReport{};
    k.news = false;
    k.sent = now;
  }
  return out;
}

JobSocket::JobSocket(int fd, int wake_read, int wake_write, std::string path)
    : fd_(fd), wake_read_(wake_read), wake_write_(wake_write), path_(std::move(path)) {
  thread_ = std::thread([this] { run(); });
}

Result<std::unique_ptr<JobSocket>> JobSocket::start(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(Code::bad_input, fmt::format("the path {} is too long for a socket", path), "give a shorter one");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  struct stat st {};
  if (lstat(path.c_str(), &st) == 0) {
    // Left behind by an agent that was killed: nobody listens. Anything else is not ours to remove.
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool left = S_ISSOCK(st.st_mode) && connect(probe, where, sizeof address) != 0 && errno == ECONNREFUSED;
    close(probe);
    if (!left) return fail(Code::conflict, path + " is in use", "another agent runs, or the path is a file: give another one");
    unlink(path.c_str());
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return tl::unexpected(socket_error("make", path));
  if (bind(fd, where, sizeof address) != 0 || chmod(path.c_str(), 0666) != 0 || listen(fd, 64) != 0) {
    Error e = socket_error("listen at", path);
    close(fd);
    return tl::unexpected(std::move(e));
  }
  int wake[2];
  if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) {
    close(fd);
    return tl::unexpected(socket_error("wait at", path));
  }
  return std::unique_ptr<JobSocket>(new JobSocket(fd, wake[0], wake[1], path));
}

JobSocket::~JobSocket() {
  close(wake_write_);
  thread_.join();
  for (const auto& [fd, c] : clients_) close(fd);
  close(fd_);
  close(wake_read_);
  unlink(path_.c_str());
}

std::vector<std::string> JobSocket::take(Time now) {
  const std::lock_guard hold(lock_);
  return desk_.take(now);
}

void JobSocket::advise(std::map<std::string, Pace> paces) {
  const std::lock_guard hold(lock_);
  desk_.advise(std::move(paces));
}

std::uint64_t JobSocket::heard() const {
  const std::lock_guard hold(lock_);
  return desk_.heard();
}

std::uint64_t JobSocket::refused() const {
  const std::lock_guard hold(lock_);
  return desk_.refused();
}

void JobSocket::accept_one() {
  const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  ucred who{};
  socklen_t size = sizeof who;
  const bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
  const auto of_user = std::count_if(clients_.begin(), clients_.end(), [&](const auto& c) { return c.second.uid == who.uid; });
  if (!known || clients_.size() >= kClientsMax || static_cast<std::size_t>(of_user) >= kClientsOfOne) {
    answer(fd, refusal("too many connections"));
    close(fd);
    return;
  }
  clients_[fd] = {who.uid, who.pid, job_of_cgroups(read_cgroups(who.pid)), {}};
}

bool JobSocket::answer(int fd, const std::string& text) {
  const std::string line = text + "\n";
  // One that does not read its answers is sent away rather than waited for.
  return send(fd, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(line.size());
}

bool JobSocket::read_from(int fd, Client& c) {
  char piece[4096];
  const ssize_t got = recv(fd, piece, sizeof piece, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  c.line.append(piece, static_cast<std::size_t>(got));
  std::size_t used = 0;
  for (std::size_t end = 0; (end = c.line.find('\n', used)) != std::string::npos; used = end + 1) {
    const std::string_view line = std::string_view(c.line).substr(used, end - used);
    std::string text;
    {
      const std::lock_guard hold(lock_);
      text = desk_.hear(line, c.uid, c.cgroup_job, monotonic_now());
    }
    if (!answer(fd, text)) return false;
  }
  c.line.erase(0, used);
  if (c.line.size() <= kReportLineMax) return true;
  answer(fd, refusal(fmt::format("a report has at most {} bytes", kReportLineMax)));
  return false;
}

void JobSocket::run() {
  for (;;) {
    std::vector<pollfd> fds = {{wake_read_, POLLIN, 0}, {fd_, POLLIN, 0}};
    for (const auto& [fd, c] : clients_) fds.push_back({fd, POLLIN, 0});
    if (poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
    if (fds[0].revents != 0) return;
    for (std::size_t i = 2; i < fds.size(); ++i) {
      if (fds[i].revents == 0) continue;
      const auto it = clients_.find(fds[i].fd);
      if (read_from(it->first, it->second)) continue;
      close(it->first);
      clients_.erase(it);
    }
    if (fds[1].revents != 0) accept_one();
    // Lets a flood wait in the senders' buffers instead of taking a whole core.
    const std::size_t busy =
        static_cast<std::size_t>(std::count_if(fds.begin(), fds.end(), [](const pollfd& f) { return f.revents != 0; }));
    if (busy > 0) usleep(8000);
  }
}

}  // namespace muster::agent
