// What muster tune says: NCCL's own choices beside the fastest, what is chosen instead and why, the model behind the times, and
// the files that bring it to NCCL. Texts of others are made printable where tables and JSON are written.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "design/tune.h"
#include "design/tune_sweep.h"
#include "model/nccl_way.h"
#include "report/table.h"
#include "report/tuner_table.h"

namespace muster::report {

struct TuneView {
  std::vector<design::Tuned> tuned;
  std::vector<TunePick> picks;      // what NCCL said that it took
  std::vector<NcclBelief> beliefs;  // what it reckons with
  std::map<TuneKey, design::TunedBuffer> buffers;
  std::vector<std::string> notes;
  design::TuneRules rules;
};

// "ring/ll128", "ring/simple x4", "NCCL's own".
std::string way_words(const NcclWay& way);
// "all_reduce, 4 nodes of 8 ranks, NVLink among 8"
std::string key_words(const TuneKey& key);
// "NCCL's own choice is 31 % slower than the best ...".
std::string tune_summary(const design::Tuned& t, const design::TuneRules& rules);

Table tune_table(const TuneView& view, const design::Tuned& t);
std::string tune_json(const TuneView& view);

// A curve through each way's times, and how far it is off at every third size when fitted on the others.
Table tune_fits(std::span<const TuneTime> times, const TuneKey& key);

// What libnccl-tuner-muster.so reads. Buffers of another size are no part of it: a tuner cannot ask for them.
TunerTable tuner_table(std::span<const design::Tuned> tuned, const design::TuneRules& rules, std::uint32_t nccl_version = 0);
// Of every entry, for people and for programs.
Table tuner_entries(const TunerTable& table);
std::string tuner_json(const TunerTable& table, std::string_view hash);
// For the example plugin of NCCL and RCCL: collective,min,max,algorithm,protocol,channels,nNodes,nRanks,pipeOps,regBuff.
std::string tuner_csv(const TunerTable& table);

struct TunerPlace {
  std::string table;  // where the plugin will find it; empty: without it, by what NCCL_ALGO and NCCL_PROTO can say
  std::string hash;
  std::string meet;               // the folder where ranks of several nodes compare tables; empty: not known
  std::string file = "nccl.env";  // what the settings are written to, for the line that says how shells read them
};
// Settings with a reason before each.
std::string tune_environment(const TuneView& view, const TunerPlace& place);

// The table of a sweep (docs/formats/sweep.md), and the line that says which command it is of.
std::string sweep_header();
std::string sweep_command_line(std::span<const std::string> words);
std::string sweep_rows(const SweepRun& run);

}  // namespace muster::report
