// Logs of jobs: all that is kept is bounded and printable, every line is accounted for, and reading a text again gives the same.
#include "base/text.h"
#include "check.h"
#include "ingest/train_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const TrainLog log = parse_train_log(text);
  expect(log.events.size() <= kTrainEventsMax && log.standings.size() <= kTrainRanksMax, "lists are bounded");
  expect(log.events.size() + log.folded + log.not_understood <= log.lines, "a line gives one event at most");
  for (const TrainEvent& e : log.events) {
    expect(e.line >= 1 && e.line <= log.lines, "the line is one of the text");
    expect(e.rank >= -1 && e.gpu >= -1 && e.status >= -1 && e.vendor_err >= -1, "numbers are in range");
    for (const auto* s : {&e.host, &e.group, &e.op, &e.peer, &e.device, &e.text})
      expect(s->size() <= 8 * kTrainTextMax && printable(*s) == *s, "texts are short and printable");
  }
  for (const RankStanding& s : log.standings) expect(s.rank >= 0, "a standing is of a rank");
  expect(parse_train_log(std::string(text) + "\nnothing\n").events.size() == log.events.size(), "other lines change nothing");
  return 0;
}
