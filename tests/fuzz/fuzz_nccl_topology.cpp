// NCCL's topology and graph files and the matrix of nvidia-smi: bounded and printable; errors begin with the file.
#include <cmath>

#include "base/text.h"
#include "check.h"
#include "ingest/nccl_topology.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto named = [](const Error& e) { expect(e.what.starts_with("f.xml: "), "errors begin with the file"); };
  if (const auto t = parse_nccl_topology(text, "f.xml"); t) {
    expect(t->gpus.size() <= kTopologyPartsMax && t->cards.size() <= kTopologyPartsMax, "parts are bounded");
    expect(!t->gpus.empty() || !t->cards.empty(), "something is in it");
    for (const auto* parts : {&t->gpus, &t->cards}) {
      for (const TopologyPart& p : *parts) {
        expect(printable(p.name) == p.name, "printable");
        expect(std::isfinite(p.gb_s) && p.gb_s >= 0 && std::isfinite(p.gt_s) && p.gt_s >= 0, "rates are numbers");
      }
    }
  } else {
    named(t.error());
  }
  if (const auto g = parse_nccl_graph(text, "f.xml"); g) {
    expect(g->size() <= kGraphsMax, "graphs are bounded");
    for (const NcclGraph& x : *g) expect(printable(x.type_intra) == x.type_intra, "printable");
  } else {
    named(g.error());
  }
  if (const auto m = parse_gpu_matrix(text, "f.xml"); m) {
    expect(m->to_gpus.size() == m->to_cards.size() && m->to_gpus.size() <= m->gpus.size(), "a row for a GPU");
    for (const auto& row : m->to_cards) expect(row.size() == m->cards.size(), "a cell for a card");
    for (const auto& row : m->to_gpus) expect(row.size() == m->gpus.size(), "a cell for a GPU");
  } else {
    named(m.error());
  }
  return 0;
}
