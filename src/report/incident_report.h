// The report of an incident that a person would send on: to a vendor, to the owner of a job, to a manager. Made from the record
// alone; the same object as JSON, as plain text and as Markdown.
#pragma once
#include <string>

#include "base/value.h"
#include "report/describe.h"
#include "report/incident_story.h"
#include "report/record.h"

namespace muster::report {

// Where the facts were read.
struct Provenance {
  std::string journal;  // its id
  std::uint64_t events = 0;
  std::string digest;  // of all of them
};

// `s`: the state after the last event.
std::string render_incident_json(const IncidentStory& story, const Deeds& deeds, const State& s, const Provenance& source);
std::string render_incident_text(const Value& report, const Page& page);
std::string render_incident_markdown(const Value& report);

// "a limit said no": what a person is to do now about an incident that is open; empty when it is closed.
std::string what_now(const IncidentStory& story, const State& s);
// "detect": "seen, not yet found".
std::string_view phase_words(std::string_view phase);

}  // namespace muster::report
