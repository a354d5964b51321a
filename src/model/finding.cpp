#include "model/finding.h"

namespace muster {
bool has_witness_beyond_log(const Finding& f) {
  for (const Evidence& e : f.evidence) {
    if (e.witness != Witness::kernel_log) return true;
  }
  return false;
}
}  // namespace muster
