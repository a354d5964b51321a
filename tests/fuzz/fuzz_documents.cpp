// Reports of tools: whatever it is recognised as, or taken for by force, its problems are bounded, printable, have lines of the
// text, and words in the catalogue or of their own. What is recognised early is recognised the same when all of it is there.
#include "base/text.h"
#include "check.h"
#include "ingest/documents.h"
#include "ingest/fault_catalog.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto whole = recognise_document(text, true);
  expect(whole.has_value(), "at its end it is known what it is");
  for (std::size_t n = 0; n < size; n += 1 + size / 16) {
    const auto early = recognise_document(text.substr(0, n), false);
    expect(!early || *early == *whole, "what is said early holds");
  }
  const auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  const auto plain = [](const std::string& s) { expect(s.size() <= 16384 && printable(s) == s, "short and printable"); };
  for (const DocumentKind kind : {DocumentKind::none, DocumentKind::nvidia_smi_xml, DocumentKind::nvidia_smi,
                                  DocumentKind::nccl_ras, DocumentKind::ibqueryerrors, DocumentKind::amd_smi}) {
    const DocumentReading d = read_document(kind, text);
    expect((kind == DocumentKind::none) == d.source.empty(), "who says it is known");
    expect(d.problems.size() <= kDocumentProblemsMax, "problems are bounded");
    plain(d.what);
    for (const std::string& n : d.notes) plain(n);
    for (const DocumentProblem& p : d.problems) {
      expect(p.line_first <= p.line_last && p.line_last <= lines, "lines are there");
      expect(!p.code.empty() && (p.fault.empty() ? !p.meaning.empty() : find_fault(p.fault) != nullptr), "words for it");
      expect(p.verdict >= -1 && p.verdict <= 5 && p.pid >= -1, "numbers are in range");
      plain(p.code), plain(p.words), plain(p.pci);
    }
  }
  return 0;
}
