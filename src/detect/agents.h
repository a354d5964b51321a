// What agents hand in: kernel records, and their own word on probes and mounts that do not come back.
#pragma once
#include "detect/sign.h"

namespace muster::detect {

// The kernel's word where the record is trusted: to be looked at like any other record. Nothing where it is not, or where `b` is
// something else.
const KernelRecord* trusted_record(const Body& b);
// A record from a file that users may write to is shown as hearsay; a probe or a mount that hangs is a finding until it is back.
void on_agent(const Body& b, Time utc, Signs& out);

}  // namespace muster::detect
