// Policies: what is accepted has every limit within its range and runbooks of different names, made of repairs only.
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
  std::set<std::string> names;
  for (const Runbook& r : p->runbooks) {
    fuzz::expect(names.insert(r.name).second, "one runbook a name");
    fuzz::expect(!r.act || !r.steps.empty(), "who acts has steps");
    for (const Verb v : r.steps) fuzz::expect(is_repair(v), "a step is a repair");
  }
  for (const Window& w : p->windows) fuzz::expect(w.days > 0 && w.days < 128 && w.to_min <= 1440, "a window is in a week");
  return 0;
}
