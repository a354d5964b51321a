#include "explain_tool.h"

#include "record_reading.h"
#include "report/explain.h"
#include "report/record.h"
#include "tool_sheets.h"

namespace muster::cmd {

Result<std::string> ExplainTool::call(const Value& input) {
  if (const auto ok = check_question(input, "explain"); !ok) return tl::unexpected(ok.error());
  const Value* what = input.find("what");
  if (what == nullptr || what->string() == nullptr || what->string()->empty()) {
    return fail(Code::bad_input, "explain needs \"what\"", "a node, job, incident, action, fault code or log line");
  }
  const Value* record = input.find("record");
  const bool from_record = record != nullptr && record->string() != nullptr && *record->string() == "1";
  const auto snapshot = view_.latest();
  if (from_record && report::Subject::parse(*what->string()))
    return why_from_journal(journal_, *what->string(), {}, snapshot ? &snapshot->state : nullptr);
  if (!snapshot) return fail(Code::unreachable, "nothing is known yet", "try again in a moment");
  auto answer = report::explain(snapshot->state, *what->string());
  if (!answer) return tl::unexpected(answer.error());
  return report::render_json(*answer);
}

}  // namespace muster::cmd
