// What Slurm's command line tools print. Names of jobs, reasons and comments are untrusted: a job may be called
// "x\n17|RUNNING|...", so rows of squeue are told apart by a word that nobody could know when the job was named.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::slurm {

// "gpu[0001-0003,0007],login" to its names, in order. An error for a list that is no list; at most `most` names.
Result<std::vector<std::string>> expand_names(std::string_view list, std::size_t most = 200'000);
// The shortest list that expands to these names, each once, in order of prefix and number: "gpu[0001-0003,0007]".
std::string compress_names(std::vector<std::string> names);

struct JobRow {
  JobId id;             // member of an array: number is the array's
  std::string pending;  // of an array: members that have no record of their own yet, "3-9,12"; then id.array_index is 0
  std::string state;    // "PENDING", "RUNNING", "COMPLETING"
  std::string reason;   // why it pends, or why it failed
  std::uint32_t nodes = 0;
  std::uint32_t gpus_per_node = 0;  // 0: not said, see gpus
  std::uint32_t gpus = 0;           // in all, where that is how it was asked for, or what it has
  std::string node_list;            // it has, or had
  std::string required;             // nodes it asks for
  std::uint64_t priority = 0;
  Time submitted, started, ended, eligible;  // utc; 0: not known
  double time_limit_s = 0;                   // 0: none
  std::string partition, qos, account, user, dependency, features, reservation, sharing, name;
  std::string admin_comment;
  std::uint32_t restarts = 0;
  std::uint32_t switches = 0;  // --switches
  bool requeue = false;
  bool het = false;  // part of a heterogeneous job
};

// What to ask squeue for: -h -t all -O OPTION, with SLURM_TIME_FORMAT=%s. `nonce`: letters and digits, new for every call.
// Until 26.05 a job that has its nodes alone is one that does not share them (OverSubscribe=NO); since then that is the default,
// and a column of its own tells: `exclusive_apart`.
std::string squeue_format(std::string_view nonce, bool exclusive_apart = false);
// An error where the text does not end as squeue ends it: a partial answer says nothing about what is missing from it.
Result<std::vector<JobRow>> parse_squeue(std::string_view text, std::string_view nonce, bool exclusive_apart = false);
// By the answer to `squeue --version`: "slurm 26.05.5", Debian's "slurm-wlm 26.05.5".
bool tells_exclusive_apart(std::string_view version);

struct NodeRow {
  std::string name;
  std::vector<std::string> state;  // "IDLE", "DRAIN", "NOT_RESPONDING": upper case, the base state first
  std::string reason;              // untrusted
  std::string reason_by;           // user
  Time reason_at;                  // utc
  std::uint32_t gpus = 0;
  std::string gpu_type;  // of the first kind of GPUs: "h200"
  std::vector<std::string> partitions, features;
  std::string version;  // of its slurmd
  Time booted;          // utc
  bool has(std::string_view flag) const;
};
Result<std::vector<NodeRow>> parse_nodes(std::string_view text);  // scontrol -o show nodes

struct PartitionRow {
  std::string name;
  std::string nodes;  // a list
  std::uint32_t tier = 0;
  bool up = true;
  bool stoppable = false;  // its jobs may be stopped for those of a higher tier
  std::string sharing;    // OverSubscribe
  std::uint32_t nodes_max = 0;  // of one job; 0: no limit
  double time_max_s = 0;        // of one job; 0: no limit
};
Result<std::vector<PartitionRow>> parse_partitions(std::string_view text);  // scontrol -o show partitions

struct ReservationRow {
  std::string name;
  std::string nodes;  // a list
  Time from, until;   // utc
  std::vector<std::string> flags;
};
Result<std::vector<ReservationRow>> parse_reservations(std::string_view text);  // scontrol -o show reservations

struct SwitchRow {
  std::string name;
  std::uint32_t level = 0;
  std::string nodes;     // a list
  std::string switches;  // a list
};
Result<std::vector<SwitchRow>> parse_topology(std::string_view text);  // scontrol show topology, or topology.conf

// "PriorityMaxAge = 7-00:00:00" and so on; keys as printed.
std::map<std::string, std::string> parse_config(std::string_view text);  // scontrol show config
// "1-02:03:04", "02:03:04", "03:04", "120" (minutes), "UNLIMITED": seconds; 0 for none and for what is no time.
double parse_span_s(std::string_view text);

// The values of a line of scontrol -o: the first of each key. Whoever reads them must know which texts before it are trusted.
std::string_view value_of(std::string_view line, std::string_view key);

// GPUs in "gres:gpu:8", "gres/gpu:h200:4", "gpu:2", "cpu=2,gres/gpu=16"; 0: none.
std::uint32_t gpus_in(std::string_view tres, std::string* type = nullptr);
// Bits of the GPUs on each node, from `scontrol -d -o show job`: node -> mask. Only what has "(IDX:0-3,5)".
std::map<std::string, std::uint16_t> parse_slots(std::string_view line);

}  // namespace muster::slurm
