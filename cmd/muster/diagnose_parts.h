// Parts of `muster diagnose` that stand for themselves.
#pragma once
#include <string>
#include <vector>

#include "model/execution_trace.h"
#include "model/kernel_profile.h"
#include "options.h"
#include "report/diagnosis.h"

namespace muster::cmd {

// `only`: there is no other of its kind.
void add_kernels(const KernelProfile& profile, const std::string& name, bool only, report::Diagnosis& to);
void add_execution(const ExecutionTrace& trace, const std::string& name, bool only, const diagnose::Peaks& peaks,
                   report::Diagnosis& to);

// A node that files speak against: "rank 13 comes last to 812 of 900 exchanges".
struct Lead {
  std::string host, why;
};

// A job that runs: what the controller knows of it, and the commands that take a trace of the ranks in question. `told`: what its
// files say, if any were given; null: none. `alarming`: they tell of trouble.
int diagnose_job(const DiagnoseOptions& options, const std::string& job, const report::Diagnosis* told,
                 const std::vector<Lead>& leads, bool alarming);
constexpr int kFindingsPresent = 6;  // exit code

}  // namespace muster::cmd
