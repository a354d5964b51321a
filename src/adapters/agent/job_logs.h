// JobLogs: the logs of jobs, followed. What they say of their communication, results and progress is handed on line by line;
// everything else in them stays on the node. Runs in a probe's process, because logs lie on file systems that stall.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster::agent {

// Whether a path is one of a pattern, in which * stands for any characters of one folder's or file's name and %j likewise, for
// the job. Returns what stands for %j; the whole path where the pattern has no %j.
std::optional<std::string> job_of_path(std::string_view pattern, std::string_view path);

class JobLogs {
 public:
  // `memory`: a file that keeps how far each log was read, so that an agent that is killed goes on where it was.
  JobLogs(std::vector<std::string> patterns, std::string memory);
  ~JobLogs();
  JobLogs(const JobLogs&) = delete;
  JobLogs& operator=(const JobLogs&) = delete;
  // What was written since the last time: one line of JSON members ("job":..., "log":...) for each line that says something.
  std::string ask();

 private:
  struct Log {
    ino_t inode = 0;
    std::uint64_t offset = 0;
    std::string job;
    bool there = true;  // at the last scan
    std::int64_t saved_step = -1;  // of a checkpoint that the log told of, until it tells how long that took
    Time stepped;                  // when it was last handed on how far the job is
    int fd = -1;        // held open while it is written to: what was written just before it is renamed or removed is read
  };
  void load();
  void save(Time now);
  void scan(Time now, std::string& out);
  void meet(const std::string& path, const std::string& job);
  void read(const std::string& path, Log& log, std::string& out);
  bool read_on(Log& log, std::string& out);
  void hold(const std::string& path, Log& log);
  void let_go(Log& log);
  void hand_on(Log& log, std::string_view line, std::string& out);
  bool hand_on_progress(Log& log, std::string_view line, std::string& out);

  std::vector<std::string> patterns_;
  std::string memory_;
  std::map<std::string, Log> logs_;  // by path
  std::map<std::string, int> said_;  // job, kind and rank: how often in this minute
  bool started_ = false;             // the first scan is over: what appears now is new
  bool remembered_ = false;          // an agent was here a moment ago: what it did not know is new
  bool changed_ = false;
  Time scan_at_, saved_, minute_;
  std::uint64_t skipped_ = 0;   // bytes
  std::uint64_t left_out_ = 0;  // files, at the last scan
  std::uint64_t told_left_out_ = 0;
  std::size_t found_ = 0;        // files, at the last scan
  std::size_t held_ = 0;         // descriptors
  std::uint64_t held_back_ = 0;  // lines
};

}  // namespace muster::agent
