// Dumps of PyTorch's flight recorder, one file a rank: pickles (read as data, nothing in them is run) or JSON.
#pragma once
#include <optional>
#include <string_view>

#include "base/result.h"
#include "model/flight_record.h"

namespace muster {

// The rank is in the file's name alone: the number that it ends with ("nccl_trace_rank_5", "host3_rank_5.json").
std::optional<std::uint32_t> rank_of_file(std::string_view name);

bool looks_like_flight_record(std::string_view bytes);
// Errors begin with `file`.
Result<FlightRecord> parse_flight_record(std::string_view bytes, std::string_view file);

}  // namespace muster
