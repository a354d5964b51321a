// What jobs ran in, as the record has it, and two runs held against each other: image, libraries, driver, variables, settings and
// nodes; and the nodes of one run that differ among themselves.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "model/event.h"

namespace muster::report {

// "4711", "4711_3", "4711.2": a job, and which attempt of it.
struct RunName {
  JobId job;
  std::uint32_t attempt = 0;  // 0: the last one
};
Result<RunName> parse_run_name(std::string_view text);

class JobRuns {
 public:
  // Only of these jobs anything is kept.
  explicit JobRuns(std::vector<JobId> wanted) : wanted_(std::move(wanted)) {}
  void take(const Event& e);

  // As JSON:
  //   runs     [{run job attempt name user started_utc ended_utc end nodes node_count described}], one or two
  //   changes  [{layer what a b}] where the two differ; a and b are [{value nodes count}], the value of most nodes first
  //   same     [{layer what a}], with `all`; same_count
  //   split    [{run layer what values}]: of one run, whose nodes differ among themselves
  //   changed_meanwhile [{run what nodes count from to}]: in the course of an attempt
  //   notes    [sentences]: what is not known, and what to do about it
  Result<std::string> difference_json(const RunName& a, const RunName& b, bool all) const;
  // Of one run alone: `facts` [{layer what values}] instead of changes and same.
  Result<std::string> environment_json(const RunName& run) const;

 private:
  struct Meanwhile {
    std::string what, from, to;
    std::vector<std::uint32_t> nodes;
  };
  struct Run {
    JobId job;
    std::uint32_t attempt = 0;
    JobSpec spec;
    Time started, ended;  // utc; 0: not
    std::string end;
    std::vector<NodeId> nodes;
    std::map<NodeId, std::shared_ptr<const Facts>> told;
    std::vector<Meanwhile> meanwhile;
  };
  struct Comparison;

  void note_described(const JobDescribed& b);
  Result<const Run*> find(const RunName& name) const;
  std::string node_name(NodeId n) const;

  std::vector<JobId> wanted_;
  Site site_;
  std::map<JobId, JobSpec> specs_;
  std::map<std::pair<JobId, std::uint32_t>, Run> runs_;
};

// The answer in words, for a terminal.
std::string render_job_difference(const Value& answer, bool colour);
// Lines for `muster describe job`, from environment_json; empty where nothing is recorded.
std::string render_job_environment(const Value& answer);

}  // namespace muster::report
