// Policies: what is accepted has every limit within its range and a ladder at most once a kind, made of repairs only.
#include <set>

#include "check.h"
#include "ingest/policy_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const auto p = parse_policy({reinterpret_cast<const char*>(data), size}, "p.yaml");
  if (!p) {
    fuzz::expect_file_error(p.error(), "p.yaml");
    return 0;
  }
  const Limits& l = p->limits;
  for (const double pct : {l.out_cluster_pct, l.out_rack_pct, l.out_domain_pct, l.harm_per_hour_pct, l.cause_pct}) {
    fuzz::expect(pct >= 0 && pct <= 100, "a percentage is one");
  }
  for (const Duration d : {l.cause_window, l.cause_freeze, l.evidence_max_age, p->silent_after, p->requeue_after}) {
    fuzz::expect(d.ns >= 0 && d <= days(30), "lengths of time are bounded");
  }
  fuzz::expect(p->silent_after >= seconds(10) && l.evidence_max_age >= seconds(10), "and not absurdly short");
  std::set<FindingKind> kinds;
  for (const Ladder& ladder : p->ladders) {
    fuzz::expect(kinds.insert(ladder.kind).second, "one ladder a kind");
    fuzz::expect(!ladder.act || !ladder.rungs.empty(), "who acts has rungs");
    for (const Verb v : ladder.rungs) {
      fuzz::expect(v == Verb::reset_gpu || v == Verb::reboot_node || v == Verb::power_cycle_node || v == Verb::replace_node,
                   "a rung is a repair");
    }
  }
  return 0;
}
