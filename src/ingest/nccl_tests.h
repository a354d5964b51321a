// What nccl-tests and rccl-tests print (all_reduce_perf and its like): the text, in whose lines NCCL's own may be mixed, the JSON
// of -J, and the JSON and CSV of RCCL's. Several runs may be in one file.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/nccl_bench.h"

namespace muster {

constexpr std::size_t kNcclTestRunsMax = 4096;   // of one file
constexpr std::size_t kNcclTestRowsMax = 65536;  // of one file
constexpr std::size_t kNcclTestRanksMax = 131072;

bool looks_like_nccl_tests(std::string_view text);
// Errors begin with `file`; its name is the last that is asked which operation it is.
Result<NcclTestLog> parse_nccl_tests(std::string_view text, std::string_view file);

}  // namespace muster
