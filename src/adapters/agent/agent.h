// Agent: one node's eyes. Owns everything in this folder; whoever runs it calls turn() until told to stop, and serves handler().
#pragma once
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "adapters/agent/cursor.h"
#include "adapters/agent/exposition.h"
#include "adapters/agent/job_socket.h"
#include "adapters/agent/kernel_source.h"
#include "adapters/agent/probes.h"
#include "adapters/agent/record_budget.h"
#include "adapters/agent/sender.h"
#include "adapters/agent/spool.h"
#include "adapters/agent/verdict.h"
#include "adapters/state/lock.h"
#include "model/event.h"
#include "ports/http.h"

namespace muster::agent {

struct Options {
  std::string node;               // its name in the cluster file
  std::string kernel_log;         // /dev/kmsg, or a file; empty: none is followed
  bool trust_kernel_log = false;  // a file that only the kernel writes: what it says counts as /dev/kmsg does
  std::string controller;         // URL or "unix:PATH"; empty: nothing is sent
  std::string token;
  std::string folder;  // for the spool; must exist
  std::uint64_t spool_bytes = 16 << 20;
  std::string nvml = "libnvidia-ml.so.1";
  Duration deadline = seconds(5);                             // of a probe
  std::vector<std::string> mounts;                            // besides the shared file systems that are mounted
  std::vector<std::pair<std::string, std::string>> commands;  // a site's own probes: name and shell command
  std::vector<std::string> job_logs;                          // patterns of paths, see job_logs.h
  std::string job_socket;                                     // where jobs tell how far they are; empty: nowhere
  std::string nccl_ras;                                       // HOST:PORT of NCCL's own watch; empty: not asked
  bool job_environments = true;                               // tell the controller what jobs here run in
};

std::vector<ProbeSpec> make_probes(const Options& o);
// What a probe complains of; empty: nothing.
std::string trouble_of(const ProbeReport& r);

class Agent {
 public:
  // Call before the process has threads.
  static Result<std::unique_ptr<Agent>> start(Options options);
  ~Agent();

  // Waits for something to happen, at most a second, and deals with it. An error ends the agent.
  Result<void> turn();
  // GET /metrics, /check, /facts and /healthz.
  HttpHandler handler();
  Picture picture() const;

 private:
  explicit Agent(Options options);
  void on_piece(const KernelPiece& piece);
  void on_report(ProbeReport report);
  void on_told(const ProbeReport& report);
  void on_job_lines(const ProbeReport& report);
  void keep_own(const std::string& members);
  void tell_facts();
  void hear_jobs(Time now);
  void each_second(Time now);
  void tell_losses();
  void renew_verdict(Time now);
  void hear_controller(const std::string& answer);
  void note_fatal(const KernelRecord& record);
  void say(AgentWord word, const std::string& subject, std::uint64_t count, const std::string& text);
  bool keep(const Letter& letter);
  bool driver_hangs() const;

  Options options_;
  std::string boot_;
  FileLock lock_file_;
  std::unique_ptr<Probes> probes_;
  std::unique_ptr<Cursor> cursor_;
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<KernelSource> source_;
  std::unique_ptr<JobSocket> jobs_;
  std::unique_ptr<Sender> sender_;
  RecordBudget budget_;
  Time second_;
  int seconds_ = 0;
  bool more_ = false;  // the kernel log has more to read at once
  std::map<std::string, std::string> told_facts_;
  std::set<int> lost_;  // GPUs that NVML no longer reaches
  std::uint64_t untold_held_back_ = 0;
  std::uint64_t untold_dropped_ = 0;
  std::uint64_t untold_missing_ = 0;
  Verdict verdict_;
  Time verdict_at_;
  mutable std::mutex lock_;  // over what is below: the server's thread and the sender's read and write it
  Picture picture_;
  std::string facts_;                           // a line of docs/formats/facts.md; empty: not read yet
  std::optional<std::uint32_t> refusals_left_;  // nodes that the controller would let go
  Time refusals_at_;
};

}  // namespace muster::agent
