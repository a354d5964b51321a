// Reports of tools that are no logs, recognised by their content, and the problems in them: what `nvidia-smi -q` (text and XML),
// NCCL's RAS, `ibqueryerrors` and `amd-smi --json` print. A report is of one moment: what needs a rate to be judged is not.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class DocumentKind : std::uint8_t { none, nvidia_smi_xml, nvidia_smi, nccl_ras, ibqueryerrors, amd_smi };

constexpr std::size_t kDocumentHeadMax = 4096;         // bytes that are looked at
constexpr std::size_t kDocumentBytesMax = 16U << 20;   // read; the rest is not
constexpr std::size_t kDocumentProblemsMax = 100'000;  // likewise

// What a text begins with: none, a log or anything else; nothing: too little of it to tell, ask again with more. `ended`: there
// is no more.
std::optional<DocumentKind> recognise_document(std::string_view head, bool ended);

struct DocumentProblem {
  std::uint64_t line_first = 0, line_last = 0;  // 1-based
  std::string code;                             // "row_remap_pending", "SymbolErrorCounter", "DEAD"
  std::string fault;                            // of the catalogue; empty: what follows is all there is to say
  std::string meaning, severity, scope, action;
  std::string words;      // what this document says of it, printable
  std::string pci;        // "0000:c3:00"; empty: not named
  std::int64_t pid = -1;  // named, and the only one
  int verdict = -1;       // of the driver on its GPU, as in Xid 154
};

struct DocumentReading {
  std::string source;                     // "nvidia_smi"
  std::string what;                       // "nvidia-smi -q of 8 GPUs, driver 580.159.04"
  std::vector<DocumentProblem> problems;  // by their lines
  std::vector<std::string> notes;         // what could not be read, and why
  std::string broken;                     // why it could not be read as a whole; the problems are those of what could
};

DocumentReading read_document(DocumentKind kind, std::string_view text);

constexpr std::uint64_t kPromptLines = 20;  // what a pasted session may hold before a report

struct FoundReport {
  std::uint64_t lines_before = 0;  // of the text it stands in
  DocumentKind kind = DocumentKind::none;
  std::string text;  // to where the next begins, or to the end of all
  bool cut = false;  // at kDocumentBytesMax
};

// Finds the reports within a text that is a log otherwise, or a pasted terminal session: by the lines they begin with, which no
// log has without a prefix. Keeps kDocumentBytesMax of text and nothing of a log.
class ReportFinder {
 public:
  void feed(std::string_view bytes);
  // What was found, in its order.
  std::vector<FoundReport> finish();

 private:
  enum class Header : std::uint8_t { none, smi, xml, ras, ib, complaint };
  Header header_of(std::string_view line) const;
  void begin_line(std::string_view line);
  void keep(std::string_view bytes);

  std::vector<FoundReport> found_;  // the last one is still open where open_ is set
  Header open_ = Header::none;
  std::string head_;      // of a line whose end is not here yet
  bool decided_ = false;  // the line's beginning has been looked at
  std::uint64_t lines_ = 0;
  std::size_t kept_ = 0;
};

// Line numbers of offsets into a text. Offsets are asked for mostly in their order: only what lies between two is counted.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  std::uint64_t of(std::size_t offset);

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1;
};

// The parts of read_document, a tool each.
void read_nvidia_smi(std::string_view text, bool xml, DocumentReading& out);
void read_nccl_ras(std::string_view text, DocumentReading& out);
void read_ib_errors(std::string_view text, DocumentReading& out);
void read_amd_smi(std::string_view text, DocumentReading& out);

}  // namespace muster
