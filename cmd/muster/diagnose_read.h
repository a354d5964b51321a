// The files of `muster diagnose`, each told by its content.
#pragma once
#include <string>
#include <vector>

#include "ingest/run_config.h"
#include "model/execution_trace.h"
#include "model/flight_record.h"
#include "model/kernel_profile.h"
#include "model/memory_snapshot.h"
#include "model/nccl_bench.h"
#include "model/nccl_run.h"
#include "model/step_log.h"
#include "options.h"
#include "report/accounting.h"

namespace muster::cmd {

struct NamedText {
  std::string name, text;
};
template <class T>
struct Named {
  std::string name;
  T value;
};

struct Material {
  std::vector<std::string> left_out;  // files that could not be read, and why
  std::vector<report::AccountedTrace> traces;
  std::vector<FlightRecord> records;
  std::vector<NamedText> operations, descriptions;  // of one job
  std::vector<Named<MemorySnapshot>> snapshots;
  std::vector<Named<KernelProfile>> kernels;
  std::vector<Named<ExecutionTrace>> executions;
  std::vector<Named<NcclTestLog>> benches;
  std::vector<Named<StepLog>> logs;
  NcclLog nccl;  // of all logs
  InspectorLog inspector;
  RunConfig config;  // of all --config
};

// With the files of folders in their place; those of folders within them are left alone.
Result<std::vector<std::string>> with_folders(const std::vector<std::string>& paths);

// What is worth a word goes to stderr. The first error ends it.
Result<Material> read_material(const DiagnoseOptions& options);

}  // namespace muster::cmd
