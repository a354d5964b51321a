#include "ingest/documents.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace muster {
namespace {

constexpr std::size_t kHeaderMax = 256;  // bytes of a line that are looked at in a text that is a log otherwise

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

ReportFinder::Header ReportFinder::header_of(std::string_view line) const {
  if (line.empty()) return Header::none;
  switch (line.front()) {
    case '=': return has(line, "=NVSMI LOG=") ? Header::smi : Header::none;
    case '<':
      return line.starts_with("<?xml") || line.starts_with("<!DOCTYPE nvidia_smi_log") || line.starts_with("<nvidia_smi_log")
                 ? Header::xml
                 : Header::none;
    case 'E': return line.starts_with("Errors for ") && has(line, "\"") ? Header::ib : Header::none;
    case '#': return line.starts_with("## Summary: ") && has(line, " nodes checked") ? Header::ib : Header::none;
    case 'N':
      if (line.starts_with("NCCL version ")) return Header::ras;
      [[fallthrough]];
    default:
      // Further down such words may be anyone's.
      return lines_ < kPromptLines && complaint(line) ? Header::complaint : Header::none;
  }
}

void ReportFinder::begin_line(std::string_view line) {
  const Header h = header_of(line.substr(0, kHeaderMax));
  if (h == Header::none) return;
  // One report may have several such lines: a port's errors and the summary, the heads of an XML, complaints before either.
  if (h == open_ && (h == Header::ib || h == Header::complaint)) return;
  if (h == Header::xml && open_ == h && !line.starts_with("<?xml")) return;
  if (open_ == Header::complaint && (h == Header::smi || h == Header::xml) && lines_ < kPromptLines) return void(open_ = h);
  open_ = h;
  found_.push_back({lines_, DocumentKind::none, {}, false});
}

void ReportFinder::keep(std::string_view bytes) {
  if (open_ == Header::none) return;
  FoundReport& r = found_.back();
  const std::size_t room = kDocumentBytesMax - kept_;
  r.cut = r.cut || bytes.size() > room;
  r.text.append(bytes.substr(0, room));
  kept_ += std::min(bytes.size(), room);
  if (r.kind != DocumentKind::none || r.text.size() < kDocumentHeadMax) return;
  r.kind = recognise_document(r.text, true).value_or(DocumentKind::none);
  if (r.kind != DocumentKind::none) return;
  kept_ -= r.text.size();
  found_.pop_back();
  open_ = Header::none;
}

void ReportFinder::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const bool whole = end != std::string_view::npos;
    const std::string_view piece = bytes.substr(0, whole ? end + 1 : bytes.size());
    bytes.remove_prefix(piece.size());
    if (decided_) {
      keep(piece);
      decided_ = !whole;
    } else if (whole && head_.empty()) {
      begin_line(piece);
      keep(piece);
    } else {
      head_ += piece;
      if (whole || head_.size() >= kHeaderMax) {
        begin_line(head_);
        keep(head_);
        head_.clear();
        decided_ = !whole;
      }
    }
    lines_ += whole ? 1 : 0;
  }
}

std::vector<FoundReport> ReportFinder::finish() {
  if (!head_.empty()) {
    begin_line(head_);
    keep(head_);
  }
  for (FoundReport& r : found_) {
    if (r.kind == DocumentKind::none) r.kind = recognise_document(r.text, true).value_or(DocumentKind::none);
  }
  std::erase_if(found_, [](const FoundReport& r) { return r.kind == DocumentKind::none; });
  return std::exchange(found_, {});
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
