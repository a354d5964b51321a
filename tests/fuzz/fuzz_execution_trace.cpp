// Execution traces of PyTorch: any text gives a tree of nodes and what it costs, or an error.
#include "base/text.h"
#include "check.h"
#include "diagnose/execution_trace.h"
#include "ingest/execution_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  looks_like_execution_trace(text);
  const auto t = parse_execution_trace(text, "fuzz.json");
  if (!t) return 0;
  expect(!t->nodes.empty(), "there are nodes, or an error");
  for (std::size_t i = 0; i < t->nodes.size(); ++i) {
    const ExecutionNode& n = t->nodes[i];
    expect(n.parent == kNoNode || n.parent < i, "a parent is before its children");
    for (const TraceOperand& o : n.inputs) expect(o.shapes.size() == o.storages.size(), "each tensor has a place");
  }
  const auto d = diagnose::diagnose_execution(*t, {1e15, 1e12, 5e-6});
  expect(d.operators <= d.nodes && d.chain.operators <= d.nodes, "no more work than nodes");
  expect(d.flops >= 0 && d.bytes >= 0, "costs are not negative");
  for (const diagnose::ExchangeSum& e : d.exchanges) expect(printable(e.op) == e.op, "texts are printable");
  return 0;
}
