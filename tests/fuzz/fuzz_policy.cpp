// Policies: what is accepted, as a file or as single settings, has every limit within its range and runbooks of different names,
// made of repairs only.
#include <set>

#include "base/text.h"
#include "check.h"
#include "ingest/policy_change.h"
#include "ingest/policy_file.h"

namespace {

using namespace muster;

void expect_sane(const Policy& p) {
  const Limits& l = p.limits;
  for (const double pct : {l.out_cluster_pct, l.out_rack_pct, l.out_domain_pct, l.harm_per_hour_pct, l.cause_pct}) {
    fuzz::expect(pct >= 0 && pct <= 100, "a percentage is one");
  }
  for (const Duration d : {l.cause_window, l.cause_freeze, l.evidence_max_age, p.silent_after, p.requeue_after}) {
    fuzz::expect(d.ns >= 0 && d <= days(30), "lengths of time are bounded");
  }
  fuzz::expect(p.silent_after >= seconds(10) && l.evidence_max_age >= seconds(10), "and not absurdly short");
  std::set<std::string> names;
  for (const Runbook& r : p.runbooks) {
    fuzz::expect(names.insert(r.name).second, "one runbook a name");
    fuzz::expect(!r.act || !r.steps.empty(), "who acts has steps");
    for (const Verb v : r.steps) fuzz::expect(is_repair(v), "a step is a repair");
  }
  for (const Window& w : p.windows) fuzz::expect(w.days > 0 && w.days < 128 && w.to_min <= 1440, "a window is in a week");
}

// "limits.out_cluster_pct: 10" and "limits.out_cluster_pct=10" alike, a line each.
std::vector<PolicySetting> settings(std::string_view text) {
  std::vector<PolicySetting> out;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t at = line.find_first_of("=:");
    if (at != std::string_view::npos && out.size() < 16) out.emplace_back(line.substr(0, at), trim(line.substr(at + 1)));
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto p = parse_policy(text, "p.yaml");
  if (p)
    expect_sane(*p);
  else
    fuzz::expect_file_error(p.error(), "p.yaml");
  static const Policy kUsual = default_policy();
  const auto changed = change_policy(kUsual, settings(text));
  if (changed)
    expect_sane(*changed);
  else
    fuzz::expect(!changed.error().what.empty(), "what is refused is said");
  return 0;
}
