// Words of sacct that its text and its JSON share: lengths of time, and what follows of a run's times from how long it ran.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "ingest/sacct_file.h"

namespace muster {

// "1-02:03:04", "02:03:04", "03:04.500": seconds; none: it is no length of time.
std::optional<std::int64_t> parse_span_s(std::string_view text);
// Digits alone, at most 18.
std::optional<std::int64_t> parse_digits(std::string_view text);
// Fills in the end, or the start, that a run which is over lacks, from how long it ran. What is odd with its times: one of
// start_from_end and other_length.
std::optional<SacctFault> complete_times(JobRecord& job, std::optional<std::int64_t> ran_s);

}  // namespace muster
