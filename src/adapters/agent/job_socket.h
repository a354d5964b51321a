// JobSocket: where the jobs on a node tell how far they are (docs/jobs.md). A unix socket that any user may write to, so all that
// comes through it is bounded: connections, bytes, reports a second, jobs a user speaks for. A thread of its own: a user who
// floods it keeps nobody else from being heard by the agent. What is not taken yet is joined, job by job: the newest word counts.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "ingest/job_report.h"

namespace muster::agent {

// What a job is told in answer.
struct Pace {
  double every_s = 0;    // best time between two checkpoints; 0: not known
  double next_unix = 0;  // seconds, when to write the next; 0: whenever it likes
};

// The Slurm job that the cgroups of a process name; empty: none. "0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_0".
std::string job_of_cgroups(std::string_view text);

// Who may speak for which job, and how much. Pure but for the clock it is given.
class JobDesk {
 public:
  // The answer for one line of a sender. `cgroup_job`: see above.
  std::string hear(std::string_view line, uid_t uid, const std::string& cgroup_job, Time now);
  // What was heard since the last time: JSON members of an intake item for each job.
  std::vector<std::string> take(Time now);
  void advise(std::map<std::string, Pace> paces) { paces_ = std::move(paces); }
  std::uint64_t heard() const { return heard_; }
  std::uint64_t refused() const { return refused_; }

 private:
  struct Known {
    uid_t uid = 0;
    Time heard;         // last
    Time sent;          // last, whatever it was
    JobReport pending;  // not taken yet
    bool news = false;
    std::int64_t saved_step = -1;  // last told
  };
  Result<Known*> find(const JobReport& r, uid_t uid, const std::string& cgroup_job, Time now);

  std::map<std::string, Known> jobs_;
  std::map<uid_t, std::pair<Time, double>> budget_;  // by sender: when it was last looked at, reports left
  std::map<std::string, Pace> paces_;
  std::uint64_t heard_ = 0;
  std::uint64_t refused_ = 0;
};

class JobSocket {
 public:
  // Call after the probes' process was started. The path must not be somebody else's.
  static Result<std::unique_ptr<JobSocket>> start(const std::string& path);
  ~JobSocket();
  JobSocket(const JobSocket&) = delete;
  JobSocket& operator=(const JobSocket&) = delete;

  std::vector<std::string> take(Time now);
  void advise(std::map<std::string, Pace> paces);
  std::uint64_t heard() const;
  std::uint64_t refused() const;

 private:
  struct Client {
    uid_t uid = 0;
    pid_t pid = 0;
    std::string cgroup_job;
    std::string line;  // so far
  };
  JobSocket(int fd, int wake_read, int wake_write, std::string path);
  void run();
  void accept_one();
  bool read_from(int fd, Client& c);  // false: it is gone, or sent away
  bool answer(int fd, const std::string& text);

  int fd_, wake_read_, wake_write_;
  std::string path_;
  std::map<int, Client> clients_;
  mutable std::mutex lock_;  // over the desk
  JobDesk desk_;
  std::thread thread_;
};

}  // namespace muster::agent
