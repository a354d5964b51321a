// Facts of nodes in any form: what is refused leaves nothing behind, and what is accepted is written and read again as it was.
#include "check.h"
#include "ingest/facts_file.h"
#include "ingest/foreign_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  FactTable table;
  if (!read_any_facts(text, "gpu001.xml", table)) {
    expect(table.nodes().empty() || table.columns().size() <= size, "no more facts than bytes");
    return 0;
  }
  std::string written;
  for (std::size_t n = 0; n < table.nodes().size(); ++n) written += render_facts(table, n);
  FactTable again;
  expect(read_facts(written, "f", again).has_value(), "what is written is accepted");
  std::string twice;
  for (std::size_t n = 0; n < again.nodes().size(); ++n) twice += render_facts(again, n);
  FactTable last;
  expect(read_facts(twice, "f", last).has_value() && last.nodes().size() == table.nodes().size(), "no node is lost");
  return 0;
}
