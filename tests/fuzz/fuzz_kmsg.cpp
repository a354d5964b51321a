// Kernel records: accepted only with facility 0, a whole anchored grammar and nothing before it, checked here by other means than
// the parser's; the same text behind any first byte, or in another facility, means nothing.
#include "check.h"
#include "ingest/cluster_file.h"
#include "ingest/kernel_log.h"
#include "ingest/nvlink5.h"

namespace {

using namespace muster;

bool starts(std::string_view s, std::string_view with) { return s.substr(0, with.size()) == with; }

// A second, slower opinion on an Xid line.
bool xid_by_hand(std::string_view text, int code) {
  if (!starts(text, "NVRM: Xid (")) return false;
  const std::size_t close = text.find("): ");
  if (close == std::string_view::npos || close > 60) return false;
  const std::string number = std::to_string(code) + ",";
  const std::string_view address = text.substr(11, close - 11);
  return starts(text.substr(close + 3), number) && std::count(address.begin(), address.end(), ':') >= 2;
}

// A log must mean the same in one piece and in many, in bounded events, each of a line that is there.
void check_log(const std::string& text) {
  LogReader whole, pieces;
  whole.feed(text);
  whole.finish();
  for (std::size_t i = 0; i < text.size(); i += 13) pieces.feed(std::string_view(text).substr(i, 13));
  pieces.finish();
  const auto a = whole.take();
  const auto b = pieces.take();
  fuzz::expect(a.size() == b.size() && a.size() <= whole.counts().lines, "the same events in pieces");
  for (std::size_t i = 0; i < a.size(); ++i) {
    fuzz::expect(a[i].line_first == b[i].line_first && a[i].code == b[i].code, "the same event in pieces");
    fuzz::expect(a[i].line_first >= 1 && a[i].line_first <= a[i].line_last && a[i].line_last <= whole.counts().lines,
                 "its lines");
    fuzz::expect(!a[i].code.empty() && a[i].process.size() <= kLogLineMax, "bounded");
    fuzz::expect(a[i].confidence() > 0 && a[i].confidence() < 1, "never sure");
    if (a[i].xid >= 144 && a[i].xid <= 150) {
      if (const auto w = parse_nvlink5(a[i].words)) say_nvlink5(*w, decode_nvlink5(a[i].xid, *w));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Site site = *plain_cluster(8);
  const std::string record(reinterpret_cast<const char*>(data), size);
  parse_log_line(record);  // must only not crash
  check_log(record);
  const auto r = parse_kmsg(record, NodeId{0}, 9, Time{7}, site);
  if (!r) return 0;
  fuzz::expect(record[0] >= '0' && record[0] <= '7' && record[1] == ',', "facility 0");
  fuzz::expect(r->slot >= -1 && r->slot < 8, "the slot exists");
  fuzz::expect(r->text.size() <= kKernelTextMax && r->boot == 9, "bounded");
  const std::size_t semi = record.find(';');
  const std::string text = record.substr(semi + 1);
  fuzz::expect(starts(text, r->text), "the text is the record's, from its first byte");
  if (r->kind == KernelKind::xid) {
    fuzz::expect(r->code >= 1 && r->code <= 999, "an Xid has a number");
    fuzz::expect(xid_by_hand(text, r->code), "and its line is one");
  }
  fuzz::expect(!parse_kmsg("1" + record, NodeId{0}, 9, Time{7}, site), "another facility");
  for (const char* before : {";", " ", "[", "\\x0a", "a.out[1]: ", "oom-kill:"}) {
    fuzz::expect(!parse_kmsg("4,1,1,-;" + (before + text), NodeId{0}, 9, Time{7}, site), "something before the text");
  }
  return 0;
}
