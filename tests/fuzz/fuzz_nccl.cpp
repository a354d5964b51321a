// NCCL's log, what nccl-tests prints and what Inspector writes, from anybody: bounded data or an error, the same however the text
// is cut into pieces. The first byte chooses the reader.
#include <algorithm>

#include "base/text.h"
#include "check.h"
#include "ingest/nccl_inspector.h"
#include "ingest/nccl_log.h"
#include "ingest/nccl_tests.h"

namespace {

using namespace muster;
using fuzz::expect;

void log(std::string_view text, std::size_t piece) {
  looks_like_nccl_log(text);
  const NcclLog whole = parse_nccl_log(text, "a.log");
  NcclLogReader r;
  r.begin_file("a.log");
  for (std::size_t i = 0; i < text.size(); i += piece) r.feed(text.substr(i, piece));
  const NcclLog pieces = r.finish();
  expect(whole.lines == pieces.lines && whole.nccl_lines == pieces.nccl_lines, "pieces make no difference");
  expect(whole.comms.size() == pieces.comms.size() && whole.troubles.size() == pieces.troubles.size(), "nor to what is found");
  for (const NcclHost& h : whole.hosts) {
    expect(printable(h.name) == h.name, "names are printable");
    for (const NcclPath& p : h.paths) expect(p.channels > 0 && printable(p.via) == p.via, "paths are of connections");
  }
  for (const NcclSetting& s : whole.settings) {
    expect(std::is_sorted(s.hosts.begin(), s.hosts.end()), "hosts are in order");
    expect(s.hosts.empty() || s.hosts.back() < whole.hosts.size(), "hosts are known");
    expect(printable(s.value) == s.value, "values are printable");
  }
}

void tests(std::string_view text) {
  looks_like_nccl_tests(text);
  const auto r = parse_nccl_tests(text, "a.log");
  if (!r) {
    expect(r.error().what.starts_with("a.log"), "errors begin with the file");
    return;
  }
  expect(!r->runs.empty(), "without a run it is an error");
  for (const NcclTestRun& run : r->runs) {
    expect(!run.rows.empty(), "a run has rows");
    expect(printable(run.gpu) == run.gpu && printable(run.program) == run.program, "texts are printable");
    for (const NcclTestRow& row : run.rows)
      expect(row.bytes >= 0 && printable(row.type) == row.type, "sizes are no less than none");
  }
}

void inspector(std::string_view text, std::size_t piece) {
  looks_like_nccl_inspector(text);
  const InspectorLog whole = parse_nccl_inspector(text);
  InspectorReader r;
  for (std::size_t i = 0; i < text.size(); i += piece) r.feed(text.substr(i, piece));
  const InspectorLog pieces = r.finish();
  expect(whole.records == pieces.records && whole.not_understood == pieces.not_understood, "pieces make no difference");
  for (const InspectorSeries& s : whole.series) {
    for (const InspectorTrack& t : s.tracks) {
      expect(std::is_sorted(t.samples.begin(), t.samples.end(), [](const auto& x, const auto& y) { return x.seq < y.seq; }),
             "samples are in order");
      for (const InspectorSample& x : t.samples) expect(x.time_us >= 0 && x.bytes >= 0, "times and sizes are no less than none");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t piece = 1 + data[1] % 97;
  switch (data[0]) {
    case 'L': log(text, piece); break;
    case 'T': tests(text); break;
    case 'I': inspector(text, piece); break;
    default: break;
  }
  return 0;
}
