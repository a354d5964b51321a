// Fabrics and forwarding tables: what is taken can be walked, what is not has file and line.
#include "check.h"
#include "ingest/ib_net.h"
#include "ingest/ib_survey.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto f = parse_ib_net(text, "f.net")) {
    fuzz::expect(!f->links.empty() && f->links.size() % 2 == 0, "cables have two directions");
    for (std::size_t l = 0; l < f->links.size(); ++l) {
      const FabricLink& link = f->links[l];
      fuzz::expect(link.from < f->nodes.size() && link.to < f->nodes.size() && link.gb_s > 0, "links join nodes that are there");
      fuzz::expect(link.to == f->links[l ^ 1U].from, "the other direction leads back");
    }
  } else {
    fuzz::expect(!f.error().what.empty(), "an error says why");
  }
  if (const auto s = parse_ib_survey(text, "f.net")) {
    for (std::size_t l = 0; l < s->fabric.links.size(); ++l) {
      const FabricLink& link = s->fabric.links[l];
      fuzz::expect(link.from < s->fabric.nodes.size() && link.gb_s > 0, "links of a survey join nodes that are there");
      fuzz::expect(s->fabric.out(link.from, link.port) == l, "a port has one cable");
    }
    for (const SurveyOddity& o : s->oddities) fuzz::expect(o.node < s->fabric.nodes.size(), "marks are of such devices");
    for (const auto& d : s->duplicates) fuzz::expect(d[0] != d[1], "two devices are two");
  } else {
    fuzz::expect(!s.error().what.empty(), "an error says why");
  }
  if (const auto t = parse_ib_routes(text, "lfts")) fuzz::expect(!t->switches.empty(), "there is a table");
  return 0;
}
