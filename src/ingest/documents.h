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
};

DocumentReading read_document(DocumentKind kind, std::string_view text);

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
