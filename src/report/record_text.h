// What the record holds, as text for a terminal: nodes by time, and who did what. The same answers as the page's.
#pragma once
#include <string>
#include <string_view>

#include "base/value.h"
#include "report/describe.h"

namespace muster::report {

// Of History::window_json: incidents, the newest first; attempts of jobs that ended in it, those that ended badly first; nodes
// that were kept from work or down.
std::string render_timeline_text(const Value& window, const Page& page);

// Of AuditStory::json. `filter`: only what has all of its words in it, in any case.
std::string render_audit_text(const Value& audit, std::string_view filter, const Page& page);
// The same object with those items alone.
Value filter_audit(const Value& audit, std::string_view filter);

}  // namespace muster::report
