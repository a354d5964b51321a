// What readers of NCCL's texts share: numbers behind words, launchers' prefixes, names of operations.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/collective.h"

namespace muster {

// Without terminal escapes.
std::string without_escapes(std::string_view line);
// Behind "[1,0]<stdout>:", "0: ", "[rank3]:".
std::string_view behind_launcher(std::string_view line);
// The text behind the first `key`, empty where there is none.
std::string_view after(std::string_view s, std::string_view key);
// Up to the first of `ends`.
std::string_view until(std::string_view s, std::string_view ends);
// The whole number, in digits, that the text begins with; at most so large.
std::optional<std::uint64_t> leading_uint(std::string_view s, std::uint64_t most = UINT64_MAX);
// The same of "key" and what follows it.
std::optional<std::uint64_t> uint_after(std::string_view s, std::string_view key, std::uint64_t most = UINT64_MAX);
std::optional<double> leading_double(std::string_view s);
// "AllReduce", "all_reduce_perf", "allreduce", "ncclAllReduce"; none: no operation that is known.
std::optional<Collective> collective_of(std::string_view name);

}  // namespace muster
