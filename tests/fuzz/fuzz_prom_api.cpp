// Answers of Prometheus' API: what is visited is bounded, samples are of nodes and slots there are, and reading the same answer
// again brings nothing new.
#include <cmath>

#include "base/text.h"
#include "check.h"
#include "ingest/prom_api.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  static const Site kSite = [] {
    Site s;
    s.gpus_per_node = 8;
    s.nodes = {{"node0001"}, {"node0002"}};
    return s;
  }();
  std::string body(reinterpret_cast<const char*>(data), size);
  const std::string before = body;
  PromReader reader(kSite);
  const auto visit = [&](const PromSeries& s) {
    fuzz::expect(s.labels.size() <= kPromLabelsMax && !s.points.empty() && s.points.size() <= kPromPointsMax, "bounded");
    reader.take(s, 0);
  };
  const auto r = read_prom_answer(body, visit);
  if (r) {
    fuzz::expect(valid_utf8(before), "only UTF-8 is accepted");
  } else {
    fuzz::expect(!r.error().what.empty(), "an error says something");
  }
  for (const Sample& s : reader.finish()) {
    fuzz::expect(s.node.v < kSite.nodes.size() && s.slot >= -1 && s.slot < 8 && std::isfinite(s.value),
                 "of a node and slot there are");
  }
  // The second reading may know instances that the first has learned; the third can know nothing more.
  for (int reading = 2; reading <= 3; ++reading) {
    body = before;
    static_cast<void>(read_prom_answer(body, visit));
    const auto again = reader.finish();
    fuzz::expect(reading == 2 || again.empty(), "nothing is new when it is read again");
  }
  fuzz::expect(error_in_answer(before).size() <= 900 && valid_utf8(error_in_answer(before)), "what is said is short text");
  return 0;
}
