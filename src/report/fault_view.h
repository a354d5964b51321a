// What is known of a fault: the catalogue's word, a site's own where its policy overrides it, and what the log line itself says.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "ingest/documents.h"
#include "ingest/log_events.h"
#include "model/policy.h"
#include "report/table.h"

namespace muster::report {

struct FaultView {
  bool known = false;  // in the catalogue
  std::string code, name, meaning, severity, scope, action, applies_to, seen_in, source;
  std::string overridden;  // "by policy ours; the catalogue says severity fatal" ; empty: as the catalogue has it
};

// `policy`: whose overrides count; nullptr: the catalogue alone.
FaultView view_of(std::string_view code, const Policy* policy);

// Views of the events of one log, in their order: the driver's own verdict (Xid 154) is weighed against what came just before it
// on the same GPU, and the stronger of the two is advised.
class EventViews {
 public:
  explicit EventViews(const Policy* policy) : policy_(policy) {}
  FaultView view(const LogEvent& e);

 private:
  struct Need {
    int rank = 0;
    std::string code;
    std::uint64_t line = 0;
  };
  const Policy* policy_;
  std::map<std::string, Need> needs_;  // by PCI address; emptied when it grows too large
};

// A problem that a tool's report shows, as an event of a log would be shown.
LogEvent event_of(const DocumentProblem& p);
FaultView view_of(const DocumentProblem& p, std::string_view source, const Policy* policy);

// One event as one JSON object: line_first line_last source code pci mig pid process caused_by meaning severity scope action
// confidence. What the log does not say is null.
std::string event_json(const LogEvent& e, const FaultView& v);
Table event_table();
void add_event(Table& t, const LogEvent& e, const FaultView& v);

}  // namespace muster::report
