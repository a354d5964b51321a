// What may be asked of muster tune, as plain values.
#pragma once
#include <string>
#include <vector>

#include "design/tune.h"
#include "design/tune_sweep.h"
#include "ingest/nccl_sweep.h"
#include "report/format.h"

namespace muster::cmd {

struct TuneOptions {
  std::vector<std::string> files;
  TuneHint hint;
  design::TuneRules rules;
  std::string table, env, csv;                    // files to write; empty: not
  std::string place;                              // of the table on the nodes; empty: where it is written
  std::string meet;                               // a folder that the nodes share; empty: not known
  bool model = false;                             // the curves behind it
  report::Format format = report::Format::table;  // table, csv or json
};

struct TuneSweepOptions {
  design::SweepAsk ask;
  TuneHint hint;
  std::string log = "sweep.csv";
  double launch_s = 300;  // after which one is ended
  bool look = true;       // at what NCCL itself says first
  std::vector<std::string> command;
};

struct TuneShowOptions {
  std::string table;
  report::Format format = report::Format::table;  // table, csv or json
};

}  // namespace muster::cmd
