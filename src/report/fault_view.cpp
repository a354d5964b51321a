#include "report/fault_view.h"

#include <fmt/core.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "ingest/fault_catalog.h"
#include "ingest/nvlink5.h"

namespace muster::report {
namespace {

constexpr std::uint64_t kVerdictLines = 200;  // a verdict follows what led to it by no more
constexpr std::size_t kNeedsMax = 4096;

// 1: the GPU must be reset, 2: the node must be started again.
int need_of(std::string_view action) {
  if (action.find("REBOOT_NODE") != std::string_view::npos && action.find("RESET_GPU") == std::string_view::npos) return 2;
  return action.find("RESET_GPU") != std::string_view::npos ? 1 : 0;
}

void override_with(const FaultOverride& o, const std::string& policy, FaultView& v) {
  std::vector<std::string> was;
  const auto put = [&](const char* what, const std::string& ours, std::string& theirs) {
    if (ours.empty() || ours == theirs) return;
    was.push_back(fmt::format("{} \"{}\"", what, theirs));
    theirs = ours;
  };
  put("severity", o.severity, v.severity);
  put("action", o.action, v.action);
  put("meaning", o.meaning, v.meaning);
  if (!was.empty()) v.overridden = fmt::format("by policy {}; the catalogue says {}", policy, join(was, ", "));
}

// The words of the line win over the catalogue, whose severities of switch errors are partly derived.
void apply_words(const LogEvent& e, FaultView& v) {
  if (e.said == Said::fatal && !v.severity.starts_with("fatal")) {
    v.severity = "fatal";
    v.action = "The line says Fatal: DRAIN; then as catalogued: " + v.action;
  }
  if (e.said == Said::nonfatal && (v.severity.starts_with("fatal") || v.severity == "unstated")) v.severity = "warning";
}

void apply_nvlink(const LogEvent& e, FaultView& v) {
  const auto w = parse_nvlink5(e.words);
  if (!w) return;
  const NvlinkMeaning m = decode_nvlink5(e.xid, *w);
  v.meaning += ". " + say_nvlink5(*w, m);
  bool fatal = w->fatal;
  for (const NvlinkRow* r : m.rows) fatal = fatal || r->severity.find("Fatal") != std::string::npos;
  v.severity = fatal ? "fatal" : "warning";
  if (const std::string action = action_of(m); !action.empty()) {
    v.action = action == "RESET_GPU"      ? "DRAIN; RESET_GPU [NVIDIA: RESET_GPU]"
               : action == "IGNORE"       ? "WATCH [NVIDIA: IGNORE]"
               : action == "XID_154_EVAL" ? "Do what the Xid 154 line of this GPU says [NVIDIA: XID_154_EVAL]"
                                          : action;
  }
}

std::string_view verdict_action(int verdict) {
  constexpr std::string_view kActions[] = {
      "NONE", "RESET_GPU", "REBOOT_NODE", "DRAIN_P2P; then RESET_GPU", "DRAIN; RESET_GPU", "RECOVER_IMEX"};
  return kActions[verdict];
}

}  // namespace

FaultView view_of(std::string_view code, const Policy* policy) {
  FaultView v;
  const Fault* f = find_fault(code);
  v.code = std::string(code);
  if (f == nullptr) {
    v.meaning = "Not in the catalogue that ships with this Muster: a newer driver's, perhaps";
    v.severity = "unknown";
    v.action = "Look it up with the vendor; nothing is advised";
    v.scope = v.code.starts_with("SXid") ? "fabric" : "gpu";
    v.seen_in = v.code.starts_with("SXid") ? "kernel log nvidia-nvswitch" : "kernel log NVRM";
    return v;
  }
  v = {true, f->code, f->name, f->meaning, f->severity, f->scope, f->action, f->applies_to, f->seen_in, f->source, {}};
  for (const FaultOverride& o : policy != nullptr ? policy->faults : std::vector<FaultOverride>{}) {
    if (o.code == v.code) override_with(o, policy->name, v);
  }
  return v;
}

FaultView EventViews::view(const LogEvent& e) {
  FaultView v = view_of(e.code, policy_);
  if (!v.overridden.empty()) return v;  // a site that says otherwise has the last word
  apply_words(e, v);
  if (e.xid >= 144 && e.xid <= 150) apply_nvlink(e, v);
  if (e.xid == 154 && e.verdict >= 0) {
    v.meaning = fmt::format("The driver's own verdict on this GPU: {} (0x{})", verdict_name(e.verdict), e.verdict);
    v.severity = e.verdict == 0 ? "info" : e.verdict == 2 || e.verdict == 5 ? "fatal" : "error";
    v.action = std::string(verdict_action(e.verdict));
    const auto before = needs_.find(e.pci);
    if (before != needs_.end() && e.verdict != 0 && e.line_first - before->second.line <= kVerdictLines &&
        before->second.rank > need_of(v.action)) {
      v.action = fmt::format("REBOOT_NODE: {} just before asks for more than the verdict ({})", before->second.code, v.action);
      v.severity = "fatal";
    }
  } else if (const int rank = need_of(v.action); rank > 0 && !e.pci.empty()) {
    if (needs_.size() >= kNeedsMax) needs_.clear();
    Need& n = needs_[e.pci];
    if (rank >= n.rank || e.line_first - n.line > kVerdictLines) n = {rank, v.code, e.line_last};
  }
  return v;
}

LogEvent event_of(const DocumentProblem& p) {
  LogEvent e;
  e.line_first = p.line_first;
  e.line_last = p.line_last;
  e.code = p.fault;
  e.pci = p.pci;
  e.pid = p.pid;
  e.xid = p.verdict >= 0 ? 154 : 0;  // the driver's verdict is the same, whoever brings it
  e.verdict = p.verdict;
  e.origin = Origin::report;
  return e;
}

FaultView view_of(const DocumentProblem& p, std::string_view source, const Policy* policy) {
  FaultView v;
  if (p.fault.empty()) {
    v.meaning = p.meaning;
    v.severity = p.severity;
    v.scope = p.scope;
    v.action = p.action;
  } else {
    v = EventViews(policy).view(event_of(p));
  }
  v.code = p.code;
  v.seen_in = source;
  if (!p.words.empty()) v.meaning += ": " + p.words;
  return v;
}

std::string event_json(const LogEvent& e, const FaultView& v) {
  JsonWriter w;
  const auto text = [&](std::string_view key, const std::string& s) {
    w.key(key);
    s.empty() ? w.null() : w.value(s);
  };
  w.object().field("line_first", e.line_first).field("line_last", e.line_last);
  w.field("source", e.origin == Origin::fabric ? std::string("fabric manager log") : v.seen_in).field("code", v.code);
  text("pci", e.pci);
  text("mig", e.mig);
  w.key("pid");
  e.pid < 0 ? w.null() : w.value(e.pid);
  text("process", e.process);
  text("caused_by", e.caused_by == 0 ? std::string() : fmt::format("Xid {}", e.caused_by));
  w.field("meaning", v.meaning).field("severity", v.severity).field("scope", v.scope).field("action", v.action);
  w.field("confidence", e.confidence());
  w.end_object();
  return w.take();
}

Table event_table() {
  return {{{"LINES", false, false},
           {"CODE", false, false},
           {"PCI", false, false},
           {"PROCESS", false, false},
           {"SEVERITY", false, false},
           {"SURE", true, false},
           {"MEANING", false, false},
           {"ACTION", false, true}},
          {}};
}

void add_event(Table& t, const LogEvent& e, const FaultView& v) {
  constexpr std::size_t kMeaningMax = 100;
  std::string meaning = v.meaning;
  if (meaning.size() > kMeaningMax) meaning = meaning.substr(0, meaning.rfind(' ', kMeaningMax)) + " ...";
  const Tone tone = v.severity.starts_with("fatal") ? Tone::bad : v.severity == "info" ? Tone::dim : Tone::plain;
  std::string process = e.pid < 0 ? std::string() : std::to_string(e.pid);
  if (!e.process.empty()) process += (process.empty() ? "" : " ") + printable(e.process);
  const std::string lines =
      e.line_first == e.line_last ? std::to_string(e.line_first) : fmt::format("{}-{}", e.line_first, e.line_last);
  std::string code = v.code;
  if (e.caused_by != 0) code += fmt::format(" (after Xid {})", e.caused_by);
  Cell meaning_cell(meaning);
  meaning_cell.raw = v.meaning;
  t.rows.push_back({Cell(lines), Cell(code), Cell(e.mig.empty() ? e.pci : e.pci + " " + e.mig), Cell(process),
                    Cell(v.severity, tone), Cell(fmt::format("{:.2f}", e.confidence())), meaning_cell, Cell(v.action)});
}

}  // namespace muster::report
