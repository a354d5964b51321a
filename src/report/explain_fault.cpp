// Fault codes, log lines and DCGM's field names, in plain words.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "ingest/dcgm_fields.h"
#include "ingest/fault_catalog.h"
#include "ingest/kernel_log.h"
#include "report/explain.h"
#include "report/fault_view.h"

namespace muster::report {
namespace {

void tell(const FaultView& v, Explanation& e) {
  e.kind = "fault";
  e.title = v.name.empty() ? v.code : v.code + ": " + v.name;
  e.sentences.insert(e.sentences.begin(), v.meaning);
  e.sentences.push_back(fmt::format("Severity {}, concerns the {}.", v.severity, v.scope));
  if (!v.action.empty()) e.sentences.push_back("Advised: " + v.action);
  if (!v.overridden.empty()) e.sentences.push_back(fmt::format("Overridden {}.", v.overridden));
  if (!v.applies_to.empty()) e.sentences.push_back("Applies to " + v.applies_to + ".");
  if (!v.source.empty()) e.evidence = {"source: " + v.source};
}

Explanation of_line(const LogLine& line, const Policy* policy) {
  Explanation e;
  const LogEvent& ev = line.event;
  if (!ev.pci.empty()) {
    e.sentences.push_back(fmt::format("The line names the device at PCI {}{}.", ev.pci,
                                      ev.mig.empty() ? "" : " (instance " + ev.mig + " of a partitioned GPU)"));
  }
  if (ev.pid >= 0 || !ev.process.empty()) {
    e.sentences.push_back(fmt::format("It names the process{}{}.", ev.process.empty() ? "" : " " + printable(ev.process),
                                      ev.pid < 0 ? "" : fmt::format(" {}", ev.pid)));
  }
  if (ev.caused_by != 0)
    e.sentences.push_back(fmt::format("The driver says it follows from Xid {}: look at that one.", ev.caused_by));
  if (line.inside) e.sentences.push_back("The words stand in the middle of a line, where anybody may have put them.");
  tell(EventViews(policy).view(ev), e);
  return e;
}

Explanation of_field(const DcgmField& f) {
  Explanation e;
  e.kind = "field";
  e.title = fmt::format("DCGM field {}: {}", f.id, f.name);
  e.sentences.push_back(
      f.former.empty()
          ? fmt::format("A measurement of DCGM with the id {}, called so in all its releases.", f.id)
          : fmt::format("A measurement of DCGM with the id {}: called {} before DCGM 4.6, {} since.", f.id, f.former, f.name));
  e.sentences.push_back(
      "A value of 9223372036854775792 to ...795, 2147483632 to ...635 or 140737488355328 to ...331 is a blank.");
  return e;
}

// "Xid 177", "sxid 99999": well formed, but in no catalogue.
std::optional<std::string> unknown_code(std::string_view what) {
  const std::string word = lower(what.substr(0, 40));
  const std::string_view kind = word.starts_with("sxid") ? "SXid" : word.starts_with("xid") ? "Xid" : "";
  if (kind.empty()) return std::nullopt;
  const auto number = parse_uint(trim(std::string_view(word).substr(kind.size())));
  return number && *number <= 99999 ? std::optional(fmt::format("{} {}", kind, *number)) : std::nullopt;
}

}  // namespace

Result<Explanation> explain_fault(std::string_view what, const Policy* policy) {
  if (const auto line = parse_log_line(what)) return of_line(*line, policy);
  Explanation e;
  const auto code = unknown_code(what);  // "xid 079" is 79
  const Fault* found = find_fault(trim(what));
  if (found == nullptr && code) found = find_fault(*code);
  if (found != nullptr) {
    tell(view_of(found->code, policy), e);
    return e;
  }
  if (trim(what).substr(0, 8) == "DCGM_FI_") {
    if (const DcgmField* f = find_dcgm_field(what)) return of_field(*f);
  }
  const auto near = similar_faults(what);
  return fail(Code::not_found,
              code ? fmt::format("{} is not in the fault catalogue", *code)
                   : fmt::format("'{}' is no fault code or log line that Muster knows", printable(what.substr(0, 80))),
              near.empty() ? (code ? "the catalogue ends at Xid 176; a newer driver may know more: ask its vendor"
                                   : "give a node, job, queue, incident, action, fault code such as \"xid 79\", or a log line")
                           : "did you mean " +
                                 join({near.begin(), near.begin() + std::min<std::ptrdiff_t>(3, std::ssize(near))}, ", ") + "?");
}

}  // namespace muster::report
