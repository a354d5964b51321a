// Times as records of jobs write them: unix seconds, or a date with or without its zone. A local time of the hour that a clock
// goes through twice, or of one that it leaps over, says so.
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace muster {

// From when on (utc) a zone's clock is so many seconds ahead of UTC; the first entry holds for all before it too. Empty: UTC.
using ZoneOffsets = std::vector<std::pair<Time, std::int32_t>>;

enum class TimeIs : std::uint8_t {
  none,  // empty, "Unknown", "None", "N/A"
  plain,
  ambiguous,  // local, in an hour that comes twice: the first of both
  skipped,    // local, in an hour that does not exist: as far after the leap as it says
  wrong,      // no time
};
struct RecordTime {
  TimeIs is = TimeIs::none;
  Time at;                    // utc; 0 where there is none
  Duration second;            // of an ambiguous one: so much later is the other
  bool without_zone = false;  // a date that names no zone
};

RecordTime parse_record_time(std::string_view text, const ZoneOffsets& zone);
// utc seconds to local ones.
std::int64_t local_seconds(std::int64_t utc_s, const ZoneOffsets& zone);
// When days begin in that zone, from the one that `from` lies in to the first that begins at `to` or later.
std::vector<Time> day_starts(Time from, Time to, const ZoneOffsets& zone);

}  // namespace muster
