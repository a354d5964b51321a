// What the jobs on this node run in (docs/fleet/runs.md), from /proc of their processes: image, the libraries that are really
// mapped, variables that change how they run, their configuration's files, and the node's own driver and kernel. Looked at when a
// job's processes are others than before, and then less and less often; no GPU is opened.
#pragma once
#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/agent/process_files.h"
#include "base/time.h"

namespace muster::agent {

// A variable that says how a job runs: NCCL's, CUDA's, PyTorch's and the like, and none that could be a secret or that is another
// one in each process.
bool tells_how(std::string_view variable);
// The same, with what is a secret in the text itself ("http://user:password@host") left out.
std::string shown_value(std::string_view value);

class EnvironmentWatch {
 public:
  // `root`: "", or in tests a folder that stands for /.
  explicit EnvironmentWatch(std::string root) : root_(std::move(root)) {}

  // A line for each job with something to tell: members of an intake item, {"job":"17","environment":{"nccl.version":"..."}}.
  std::string ask(Time now);

 private:
  using Facts = std::map<std::string, std::set<std::string>>;  // what processes say, most often the same
  struct Process {
    std::string job;  // empty: none
    int looks = 0;
  };
  struct Job {
    std::vector<pid_t> processes;  // of those that are looked at
    Time first, due;
    Duration wait;
  };
  struct Looked {  // at one process
    std::string base;
    std::map<std::string, std::string> libraries;  // kind -> path as the process sees it
    std::map<std::string, std::string> variables;  // all of them: not told
    std::vector<std::string> arguments;
    bool seen = false;
    bool works = false;  // it has CUDA, NCCL or PyTorch mapped
  };

  std::map<std::string, std::vector<pid_t>> find_jobs();
  std::string look_at(const std::string& job, const Job& j, Time now);
  Looked look(pid_t pid);
  void add_libraries(const Looked& p, Facts& facts);
  void add_packages(const Looked& p, const std::string& library, Facts& facts);
  void add_image(const Looked& p, Facts& facts);
  void add_configuration(const Looked& p, Facts& facts);
  void add_node(Facts& facts);

  std::string root_;
  std::map<pid_t, Process> processes_;
  std::map<std::string, Job> jobs_;
  FileMemory nccl_versions_, packages_, contents_;
};

}  // namespace muster::agent
