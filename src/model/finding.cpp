#include "model/finding.h"

namespace muster {
bool has_witness_beyond_log(const Finding& f) {
  for (const Evidence& e : f.evidence) {
    if (e.witness != Witness::kernel_log) return true;
  }
  return false;
}

bool leaves_nothing_to_run_on(FindingKind k) {
  return k == FindingKind::gpu_lost || k == FindingKind::ecc_uncorrectable || k == FindingKind::node_silent ||
         k == FindingKind::link_down || k == FindingKind::gsp_timeout;
}

}  // namespace muster
