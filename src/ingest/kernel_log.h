// Kernel log records to what they mean for a GPU node. Users can put any text into genuine kernel records (a program's
// name in a segfault message, a folder's in an out-of-memory one), so only a structured /dev/kmsg record of the
// kernel's own facility whose text matches a whole grammar from its first byte counts.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "ingest/log_events.h"
#include "ingest/pci.h"
#include "model/sample.h"
#include "model/site.h"

namespace muster {

constexpr std::size_t kKernelRecordMax = 8192;  // bytes, as /dev/kmsg bounds them
constexpr std::size_t kKernelTextMax = 512;     // bytes of text kept

// `record` is one read of /dev/kmsg: "prio,seq,usec,flags[,...];text", then lines " KEY=value". Nothing for what is not
// understood. For KernelKind::pcie_error the code is 0 corrected, 1 uncorrected but not fatal, 2 fatal.
std::optional<KernelRecord> parse_kmsg(std::string_view record, NodeId node, std::uint64_t boot, Time at, const Site& site);

// A line from a file or a terminal, for explaining it, never for acting on it.
struct LogLine {
  LogEvent event;
  bool inside = false;  // found in the middle of a line: anybody may have put it there
};
std::optional<LogLine> parse_log_line(std::string_view text);

}  // namespace muster
