// Why, from the record: what the state says about a thing, and every decision about it with its evidence, rule, alternatives,
// budget, actor and outcome.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/describe.h"
#include "report/explain.h"
#include "report/incident_report.h"
#include "report/record.h"

namespace muster::report {

// Listens to all events of a journal on behalf of one question. `what` as for explain(); nothing is kept that it is not about.
class Inquiry {
 public:
  // `newest` outlives it: what a controller that runs knows beyond its record, such as steps since the last checkpoint.
  explicit Inquiry(std::string_view what, const State* newest = nullptr);
  void take(const Event& e);
  // The answer; an error where neither the state nor the record knows of it.
  Result<std::string> why(const Provenance& source) const;
  // Of "incident ID": the report.
  Result<std::string> incident_report(const Provenance& source) const;

 private:
  std::string what_;
  std::optional<Deeds> deeds_;
  std::optional<IncidentStory> story_;
  State state_;
  const State* newest_;
};

// The state's explanation together with the record's decisions. `explained` may be an error where `deeds` has something.
Result<std::string> render_why(const Result<Explanation>& explained, const Deeds* deeds, const Provenance* source);
// Decisions of an answer as text, for people; empty when it has none. The newest twenty.
// `brief`: the evidence stands elsewhere on the page, and is only counted.
std::string render_decision_list(const Value& answer, const Page& page, bool brief = false);
// The same, with what was held back and where it was read.
std::string render_decisions(const Value& answer, const Page& page);

}  // namespace muster::report
