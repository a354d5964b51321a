#include "adapters/agent/ras_watch.h"

#include <dirent.h>
#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

#include "base/json_writer.h"
#include "base/text.h"
#include "model/sample.h"

namespace muster::agent {
namespace {

constexpr std::size_t kReportMost = 1 << 20;
constexpr int kToldMost = 16;  // of one look: more are no lead
constexpr std::string_view kQuestion = "verbose status\n";

// The report, as text; empty where nobody listens. The probe's deadline bounds it.
std::string fetch(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {};
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(address.substr(0, colon).c_str(), address.c_str() + colon + 1, &hints, &found) != 0) return {};
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool open = fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                    send(fd, kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(kQuestion.size());
  freeaddrinfo(found);
  std::string text;
  char piece[16 << 10];
  while (open && text.size() < kReportMost) {
    const ssize_t n = recv(fd, piece, sizeof piece, 0);
    if (n <= 0) break;
    text.append(piece, static_cast<std::size_t>(n));
  }
  if (fd >= 0) close(fd);
  return text;
}

std::string say_member(const RasMember& m) {
  std::string out;
  if (!m.gpus.empty()) out += "GPU " + m.gpus;
  if (m.pid >= 0) out += fmt::format("{}process {}", out.empty() ? "" : ", ", m.pid);
  if (!m.node.empty()) out += " on " + m.node;
  return out.empty() ? "" : " (" + out + ")";
}

std::string members_of(const std::string& job, JobLogKind kind, std::int64_t rank, const std::string& text) {
  JsonWriter w;
  w.object().field("job", job).key("ras").object().field("kind", name_of(kind)).field("rank", rank).field("text", text);
  w.end_object().end_object();
  return w.take_members() + "\n";
}

}  // namespace

std::string only_job_here(const std::string& root) {
  std::set<std::string> jobs;
  DIR* all = opendir((root + "/proc").c_str());
  if (all == nullptr) return {};
  while (const dirent* e = readdir(all)) {
    if (e->d_name[0] < '0' || e->d_name[0] > '9') continue;
    std::FILE* f = std::fopen((root + "/proc/" + e->d_name + "/cgroup").c_str(), "re");
    if (f == nullptr) continue;
    char line[4096];
    while (std::fgets(line, sizeof line, f) != nullptr) {
      const std::string_view s(line);
      // ".../slurm/uid_1000/job_4711/step_0", ".../slurmstepd.scope/job_4711/step_0/user/task_0"
      const std::size_t at = s.find("/job_");
      if (s.find("slurm") == std::string_view::npos || at == std::string_view::npos) continue;
      const std::string_view number = s.substr(at + 5, s.find_first_not_of("0123456789", at + 5) - at - 5);
      if (!number.empty()) jobs.emplace(number);
    }
    std::fclose(f);
  }
  closedir(all);
  return jobs.size() == 1 ? *jobs.begin() : "";
}

std::string RasWatch::ask() {
  const std::string text = fetch(address_);
  if (text.empty()) {
    seen_.clear();
    said_.clear();
    return {};
  }
  const RasReport report = parse_nccl_ras(text);
  if (!report.recognised) return std::exchange(odd_, true) ? "" : "?answers with something that is no report of NCCL's RAS\n";
  odd_ = false;
  return judge(report);
}

// Counts differ for a moment in every running job, and answers come late: what stands at two looks counts. Who is dead, RAS has
// found out over a minute of its own.
std::string RasWatch::judge(const RasReport& report) {
  std::map<std::string, std::int64_t> seen;
  std::set<std::string> said;
  std::string out, job;
  int told = 0;
  for (const RasProblem& p : report.problems) {
    const bool dead = p.what == "DEAD";
    const bool missing = p.what == "INCOMPLETE";
    if (!dead && !missing && p.what != "MISMATCH") continue;
    // A rank of the whole job only where the communicator is.
    bool of_all = false;
    for (const RasGroup& g : report.groups)
      of_all = of_all || (g.group == p.group && g.comms == 1 && g.ranks_expected == report.gpus);
    std::int64_t most = -1;
    for (const auto& [ranks, launched] : p.counts) most = std::max(most, launched);
    for (const RasMember& m : p.members) {
      if (!dead && !missing && (m.launched < 0 || m.launched >= most)) continue;
      const std::string who = fmt::format("{} {} {} {} {}", p.what, p.comm, m.rank, m.pid, p.op);
      seen[who] = m.launched;
      const auto before = seen_.find(who);
      if (!dead && (before == seen_.end() || before->second != m.launched)) continue;
      said.insert(who);
      if (said_.count(who) != 0 || ++told > kToldMost) continue;
      if (job.empty()) job = only_job_here(root_);
      const std::string text =
          dead ? fmt::format("NCCL RAS: a process{} cannot be reached", say_member(m))
          : missing
              ? fmt::format("NCCL RAS: nothing is heard of {}{}{}", m.rank < 0 ? "a process" : fmt::format("rank {}", m.rank),
                            say_member(m), p.comm.empty() ? "" : ", of communicator " + p.comm)
              : fmt::format("NCCL RAS: rank {} of communicator {}{} has launched {} {} operations, the others {}", m.rank, p.comm,
                            say_member(m), m.launched, p.op, most);
      out += members_of(job, dead || missing ? JobLogKind::rank_dead : JobLogKind::rank_behind, of_all ? m.rank : -1, text);
    }
  }
  seen_ = std::move(seen);
  said_ = std::move(said);
  return out;
}

}  // namespace muster::agent
