// What tools printed of a fabric's ports. Text that holds nothing of the kind is no reading: silence would pass for health.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/ib_errors.h"
#include "ingest/ib_links.h"

namespace muster::cmd {

// `from`: the file or the program that it is from.
inline Result<std::vector<PortState>> ports_in(std::string_view text, const std::string& from) {
  auto ports = parse_ib_links(text).ports;
  if (ports.empty())
    return fail(Code::bad_input, from + ": no port of an InfiniBand fabric is in it", "give what `iblinkinfo` prints");
  return ports;
}

inline Result<CounterReading> counters_in(std::string_view text, const std::string& from) {
  auto counters = parse_counters(text);
  // A healthy fabric has a summary: without one the tool could not ask.
  if (counters.ports.empty() && !counters.complete)
    return fail(Code::bad_input, from + ": no counter of any port is in it, and no summary of ibqueryerrors",
                "ibqueryerrors needs a subnet manager that runs: see what it says by itself; perfquery will do too");
  return counters;
}

}  // namespace muster::cmd
