// SiteRuns: records of jobs, kept small: texts once each, a year of half a million jobs in some tens of megabytes. Rows that say
// the same run again are told apart here.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/job_record.h"

namespace muster::account {

// Texts by number, in the order in which they came.
class TextPool {
 public:
  std::uint32_t put(std::string_view text);
  std::string_view at(std::uint32_t i) const { return *texts_[i]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> store_;  // stays where it is
  std::vector<const std::string*> texts_;
  std::unordered_map<std::string_view, std::uint32_t> known_;  // is looked up in, never walked through
};

constexpr std::int64_t kNoTime = INT64_MIN;

struct SiteRun {
  std::uint64_t number = 0;
  std::int64_t array_index = -1;
  std::int64_t submitted_ms = kNoTime, eligible_ms = kNoTime, started_ms = kNoTime, ended_ms = kNoTime;  // utc
  std::int64_t gpus_milli = -1;                                                                          // -1: not said
  std::int64_t energy_j = -1;                                                                            // -1: not measured
  std::uint64_t line = 0;
  std::int32_t het = -1;
  std::uint32_t members = 1;  // that wait, of an array
  std::uint32_t account = 0, partition = 0, user = 0, type = 0, nodes = 0, file = 0;
  std::uint32_t nodes_said = 0;  // how many; 0: not said
  std::int32_t ran_s = 0;        // as its record says; 0: not said
  RecordState state = RecordState::unknown;
  bool placed = false;  // on nodes
};
// It had GPUs for a time, and nothing says from when on.
bool began_unknown(const SiteRun& r);
// "1234", "1234_7", "1234+1".
std::string render_job(const SiteRun& r);

struct RunCounts {
  std::uint64_t records = 0;
  std::uint64_t same = 0;              // rows that say of a run what another said
  std::uint64_t newer = 0;             // of runs that an earlier row had not seen the end of
  std::uint64_t different = 0;         // rows that say otherwise of a run than another: the later one counts
  std::int64_t replaced_milli_ms = 0;  // of GPUs, that the rows had that do not count
  std::string some_different;          // the first such run
  std::uint64_t with_gpus = 0;
  std::string other_cluster;  // a second cluster that records are of; empty: they are all of one
};

class SiteRuns {
 public:
  void take(const JobRecord& r);
  // Where no record at all has a GPU, nothing says how many there were: 0 becomes "not said" for what began.
  void doubt_zeros();
  const std::vector<SiteRun>& runs() const { return runs_; }
  const RunCounts& counts() const { return counts_; }
  std::string_view text(std::uint32_t i) const { return texts_.at(i); }
  std::string_view node_list(std::uint32_t i) const { return lists_.at(i); }
  std::size_t texts() const { return texts_.size(); }
  std::size_t node_lists() const { return lists_.size(); }
  std::string_view cluster() const { return cluster_; }

 private:
  std::uint32_t& slot_of(const SiteRun& r);
  void grow();

  std::vector<SiteRun> runs_;
  std::vector<std::uint32_t> table_;  // open addressing: index into runs_ plus one
  TextPool texts_, lists_;
  std::uint32_t last_[4] = {};  // what the record before had: the next often has the same
  std::string cluster_;
  bool any_cluster_ = false;
  RunCounts counts_;
};

}  // namespace muster::account
