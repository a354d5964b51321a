#include "ingest/documents.h"

#include <algorithm>

#include "base/text.h"

namespace muster {
namespace {

bool has(std::string_view s, std::string_view part) { return s.find(part) != std::string_view::npos; }

// What nvidia-smi says where it has nothing to show.
constexpr std::string_view kSmiComplaints[] = {"NVIDIA-SMI has failed", "Failed to initialize NVML", "No devices were found",
                                               "Unable to determine the device handle"};

bool complaint(std::string_view s) {
  return std::any_of(std::begin(kSmiComplaints), std::end(kSmiComplaints), [&](auto c) { return s.starts_with(c); });
}

// A kernel log may begin with "[    0.000000]", one of containers or of the journal with "{": only a list of objects, or the
// name that ROCm 7 gives it, is amd-smi's.
bool amd_begins(std::string_view s) {
  if (s.empty()) return false;
  if (s.front() == '{') return true;
  return s.front() == '[' && trim(s.substr(1)).starts_with('{');
}
bool amd(std::string_view head) {
  if (head.front() == '{') return trim(head.substr(1)).starts_with("\"gpu_data\"");
  const std::string_view object = trim(trim(head.substr(1)).substr(1));
  return object.starts_with("\"gpu\"");
}

DocumentKind kind_of(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  if (has(head, "<nvidia_smi_log") || has(head, "<!DOCTYPE nvidia_smi_log")) return DocumentKind::nvidia_smi_xml;
  if (has(line, "=NVSMI LOG=") || complaint(line)) return DocumentKind::nvidia_smi;
  if (line.starts_with("NCCL version ") && has(head, "\nJob summary")) return DocumentKind::nccl_ras;
  if (line.starts_with("Errors for ") || (line.starts_with("## Summary: ") && has(line, " nodes checked")) ||
      (line.starts_with("ibwarn: ") && (has(head, "\nErrors for ") || has(head, "\n## Summary: "))))
    return DocumentKind::ibqueryerrors;
  return amd_begins(head) && amd(head) ? DocumentKind::amd_smi : DocumentKind::none;
}

// Whether the first line can be a document's at all: a log that comes line by line must not wait.
bool may_begin(std::string_view line) {
  for (const std::string_view s : {"<", "=====", "NCCL version ", "Errors for ", "ibwarn: ", "## Summary: ", "{"}) {
    if (line.starts_with(s)) return true;
  }
  return complaint(line) || line == "[" || amd_begins(line);
}

}  // namespace

std::optional<DocumentKind> recognise_document(std::string_view head, bool ended) {
  head = head.substr(0, kDocumentHeadMax);
  const bool full = ended || head.size() == kDocumentHeadMax;
  const std::size_t from = head.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return full ? std::optional(DocumentKind::none) : std::nullopt;
  head.remove_prefix(from);
  const std::size_t line = head.find('\n');
  if (line == std::string_view::npos && !full) return std::nullopt;
  if (!may_begin(trim(head.substr(0, line)))) return DocumentKind::none;
  if (!full) return std::nullopt;
  return kind_of(head);
}

DocumentReading read_document(DocumentKind kind, std::string_view text) {
  DocumentReading out;
  switch (kind) {
    case DocumentKind::none: break;
    case DocumentKind::nvidia_smi_xml: read_nvidia_smi(text, true, out); break;
    case DocumentKind::nvidia_smi: read_nvidia_smi(text, false, out); break;
    case DocumentKind::nccl_ras: read_nccl_ras(text, out); break;
    case DocumentKind::ibqueryerrors: read_ib_errors(text, out); break;
    case DocumentKind::amd_smi: read_amd_smi(text, out); break;
  }
  if (out.problems.size() > kDocumentProblemsMax) {
    out.notes.push_back("more than " + std::to_string(kDocumentProblemsMax) + " problems: the rest is not shown");
    out.problems.resize(kDocumentProblemsMax);
  }
  std::stable_sort(out.problems.begin(), out.problems.end(),
                   [](const DocumentProblem& a, const DocumentProblem& b) { return a.line_first < b.line_first; });
  return out;
}

std::uint64_t Lines::of(std::size_t offset) {
  offset = std::min(offset, text_.size());
  const std::size_t low = std::min(offset, at_);
  const std::string_view between = text_.substr(low, std::max(offset, at_) - low);
  const auto count = static_cast<std::uint64_t>(std::count(between.begin(), between.end(), '\n'));
  line_ = offset < at_ ? line_ - count : line_ + count;
  at_ = offset;
  return line_;
}

}  // namespace muster
