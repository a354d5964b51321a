// What stands before a kernel message in a file: times, priorities, hosts, tags, in the spellings of dmesg, syslog, journald,
// Talos and of tools that wrap them. Only what is known as such is taken for a prefix, so that the message behind it has a first
// byte.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster {

enum class Origin : std::uint8_t {
  record,   // a /dev/kmsg record of the kernel's own facility
  kernel,   // marked as the kernel's: a tag, a facility, a time of the kernel's clock
  bare,     // nothing before it, or no more than a time
  wrapped,  // in the words of some tool: "[gpu-health] [WARN] GPU-...: XID: "
  fabric,   // Fabric Manager's own log
  report,   // no log: a tool's report on the state of things
  foreign,  // a process wrote it, by its tag or facility: never the kernel's word
};

enum class LogClock : std::uint8_t { none, boot, wall, step };  // step: since the line before

struct LogPrefix {
  Origin origin = Origin::bare;
  LogClock clock = LogClock::none;
  std::int64_t ns = 0;    // on that clock; wall times of one file can be compared, but have no known zero
  std::size_t size = 0;   // bytes before the message
  std::string_view host;  // whose log it is, where the line says so; into the line
};

LogPrefix read_log_prefix(std::string_view line);

}  // namespace muster
