// Files that `sacct -P` (or -p, with any --delimiter) or `sacct --json` printed: records of jobs. Columns are found by name, in
// any order. Steps are read past, except where the job's own row lacks what one of them says.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/record_time.h"
#include "model/job_record.h"

namespace muster {

// What can be wrong with a file, or with what it lets one see. Each is counted, and the first place is kept.
enum class SacctFault : std::uint8_t {
  cut_row,         // fewer cells than columns: a name with a line break in it
  long_row,        // more cells than columns, and it is not clear which of them has the delimiter in it
  name_with_mark,  // the delimiter is in a name; it could be told which cell that is
  no_job_number,
  unknown_state,
  wrong_time,
  ambiguous_time,  // of the hour that comes twice when clocks are set back
  skipped_time,    // of the hour that does not exist when they are set forward
  time_without_zone,
  wrong_gpus,
  shards,          // parts of GPUs: how large they are only the nodes' settings say
  wrong_energy,    // 0 while it ran, and Slurm's own marks for "nothing": no measurement
  start_from_end,  // it ran, and says no start: that is taken from its end and how long it ran
  other_length,    // from its start to its end is another time than it says it ran: it was suspended, or a clock was set
  cut_end,         // the last line does not end: perhaps more was to come
};
constexpr std::array<std::string_view, 15> names(SacctFault) {
  return {"cut_row",    "long_row",       "name_with_mark", "no_job_number",     "unknown_state",
          "wrong_time", "ambiguous_time", "skipped_time",   "time_without_zone", "wrong_gpus",
          "shards",     "wrong_energy",   "start_from_end", "other_length",      "cut_end"};
}
constexpr std::size_t kSacctFaults = names(SacctFault{}).size();

struct SacctCounts {
  std::uint64_t rows = 0;       // of any kind, without the header
  std::uint64_t jobs = 0;       // records that were handed on
  std::uint64_t steps = 0;      // rows of steps
  std::uint64_t with_gpus = 0;  // jobs that were given some
  std::array<std::uint64_t, kSacctFaults> faults{};
  std::array<std::uint64_t, kSacctFaults> first{};  // line of the first; 0: there was none
  bool names_can_forge = false;                     // there is a column that users write: a line break in it can pose as a row
  bool has_eligible = false, has_tres = false, has_energy = false;

  std::uint64_t of(SacctFault f) const { return faults[static_cast<std::size_t>(f)]; }
};

// The record is the reader's own and is used again for the next one: copy what is to stay.
using TakeRecord = std::function<void(const JobRecord&)>;

class SacctReader {
 public:
  // `file` is for errors and for where records were read; `zone` of times that name none must outlive this.
  SacctReader(std::string file, const ZoneOffsets& zone, TakeRecord take);
  ~SacctReader();
  SacctReader(const SacctReader&) = delete;
  SacctReader& operator=(const SacctReader&) = delete;

  // Bytes in pieces of any size. An error: this is no such file.
  Result<void> feed(std::string_view bytes);
  Result<SacctCounts> finish();

 private:
  struct Guts;
  std::unique_ptr<Guts> guts_;
};

struct SacctFile {
  std::vector<JobRecord> jobs;
  SacctCounts counts;
};
// The same of a whole text.
Result<SacctFile> parse_sacct_file(std::string_view text, std::string_view file, const ZoneOffsets& zone = {});

// "1234", "1234_7", "1234+1", "1234_[1-9,12%4]"; false: it is none. A step's ".batch" must be cut off before.
bool parse_record_id(std::string_view text, RecordId& out);
// "COMPLETED", "CANCELLED by 1000", "OUT_OF_ME+".
RecordState parse_record_state(std::string_view text);
// What ConsumedEnergyRaw says; none for Slurm's marks of nothing measured.
std::optional<std::int64_t> parse_record_energy(std::string_view text);

}  // namespace muster
