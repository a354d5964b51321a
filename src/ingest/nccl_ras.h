// NCCL's RAS report (`ncclras`, or the text on its port): which processes and ranks of a running job do not answer, and which
// lag.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

constexpr std::size_t kRasLineMax = 1024;
constexpr std::size_t kRasItemsMax = 1024;  // groups, problems, and ranks or processes of one problem; the rest is counted
constexpr std::size_t kRasTextMax = 160;    // bytes of text kept

// A row of the table of communicators; those that look alike are one group.
struct RasGroup {
  std::int64_t group = -1, comms = -1, ranks = -1, ranks_expected = -1;  // ranks: in the group, as counted
  std::string status;                                                    // "RUNNING", "INIT", "FINALIZE", "ABORT", "FINISHED"
  std::string errors;                                                    // "OK", "INCOMPLETE", "MISMATCH"
};

struct RasMember {
  std::int64_t rank = -1, pid = -1;
  std::string node;            // address
  std::string gpus;            // "5", "0,1"
  std::int64_t launched = -1;  // MISMATCH: up to which operation
};

struct RasProblem {
  bool warning = false;
  std::string what;                                           // "INCOMPLETE", "DEAD", "MISMATCH", "TIMEOUT", "NOCOMM"
  std::string comm;                                           // hash, as in NCCL's log; empty: of the whole job
  std::int64_t group = -1;                                    // the row of the table that it is of
  std::vector<RasMember> members;                             // who is named
  std::vector<std::pair<std::int64_t, std::int64_t>> counts;  // MISMATCH: ranks, and how far they came; INCOMPLETE: none
  std::string op;                                             // MISMATCH: "AllGather", "collective"
  std::string text;                                           // its first line
};

struct RasReport {
  bool recognised = false;  // it is a report at all
  std::string version;      // of NCCL
  std::int64_t nodes = -1, processes = -1, gpus = -1;
  double took_s = -1;  // RAS waits for processes that do not answer
  std::vector<RasGroup> groups;
  std::vector<RasProblem> problems;
  std::uint32_t not_understood = 0;  // lines
  std::uint32_t left_out = 0;
};

RasReport parse_nccl_ras(std::string_view text);

}  // namespace muster
