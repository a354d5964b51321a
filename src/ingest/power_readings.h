// Readings of power and energy, from files: what `nvidia-smi --query-gpu=timestamp,uuid,power.draw --format=csv -lms 100` prints,
// what `muster energy record` writes, and answers of Prometheus with the series of dcgm-exporter and of node meters.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ingest/prom_api.h"
#include "ingest/record_time.h"
#include "model/power_reading.h"

namespace muster {

// Gathers points from several files and answers into one track for each meter.
class PowerBook {
 public:
  // Rows of a table with a header. `node`: of files that do not say. `zone`: of times that name none, as nvidia-smi's. Plain or
  // gzip. Rows that are cut or say nothing of use are refused and counted; an error: no such table.
  Result<void> take_csv(std::string_view bytes, std::string_view file, const std::string& node, const ZoneOffsets& zone);
  // One series of an answer of Prometheus; false: it is none of power or energy.
  bool take_series(const PromSeries& series);
  // A whole answer. How many series were of use.
  Result<std::size_t> take_answer(std::string& body, std::string_view file);
  // Everything so far; of two readings of one meter at the same moment the first counts.
  PowerReadings finish();

 private:
  struct Columns;
  enum class From { table, series, moments };  // moments: power as it was at one moment, by a series
  void add(const PowerTrack& who, Time at, double power_w, double energy_mj, From from);
  void take_moments();
  void join_same_gpus();
  void refuse(const std::string& what);
  void take_row(const Columns& c, const std::vector<std::string>& cells, const std::string& where, const std::string& node,
                const ZoneOffsets& zone);

  std::map<std::string, PowerTrack> tracks_;      // by node, GPU, kind and where it was read
  std::map<std::string, PowerTrack> of_moments_;  // power at one moment: counts for GPUs whose mean power nobody says
  PowerReadings all_;
};

// The series to ask Prometheus for, each of which take_series understands.
std::string power_query();

}  // namespace muster
