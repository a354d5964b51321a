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
    plain(d.what), plain(d.broken);
    for (const std::string& n : d.notes) plain(n);
    for (const DocumentProblem& p : d.problems) {
      expect(p.line_first <= p.line_last && p.line_last <= lines, "lines are there");
      expect(!p.code.empty() && (p.fault.empty() ? !p.meaning.empty() : find_fault(p.fault) != nullptr), "words for it");
      expect(p.verdict >= -1 && p.verdict <= 5 && p.pid >= -1, "numbers are in range");
      plain(p.code), plain(p.words), plain(p.pci);
    }
  }
  ReportFinder at_once, in_steps;
  at_once.feed(text);
  for (std::size_t n = 0; n < size; n += 1 + size / 16) in_steps.feed(text.substr(n, 1 + size / 16));
  const auto a = at_once.finish(), b = in_steps.finish();
  expect(a.size() == b.size(), "the same reports are found however the text comes");
  for (std::size_t i = 0; i < a.size(); ++i) {
    expect(a[i].kind == b[i].kind && a[i].text == b[i].text && a[i].lines_before == b[i].lines_before, "and each is the same");
    expect(a[i].kind != DocumentKind::none && a[i].lines_before < lines, "of a kind, at a line");
  }
  return 0;
}
