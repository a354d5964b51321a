// Recordings of acceptance: what is taken is judged without a fall, never passes what did not end, and reads the same again; a
// row that is read without a tree is what the tree says.
#include <cmath>

#include "base/text.h"
#include "check.h"
#include "ingest/acceptance_file.h"
#include "ingest/json.h"
#include "ingest/plain_row.h"
#include "model/codec.h"

namespace {

void expect_both_ways_alike(std::string_view line) {
  using namespace muster;
  const auto plain = parse_plain_row(line);
  if (!plain) return;
  const auto value = parse_json(line, 8);
  fuzz::expect(value.has_value(), "a plain row is JSON");
  const auto row = decode_row(*value);
  fuzz::expect(row && encode_row(*row) == encode_row(*plain), "a plain row is what its tree says");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view line : split(text, '\n')) expect_both_ways_alike(line);
  const auto a = parse_acceptance(text, "f");
  if (!a) {
    expect(a.error().what.substr(0, 2) == "f:" && !a.error().next.empty(), "an error names the file and what to do");
    return 0;
  }
  for (const accepting::Measured& m : a->measured) {
    expect(std::isfinite(m.value) && m.gpu >= 0, "figures are numbers");
    const std::string again = render_row(accepting::Row(a->suite)) + render_row(accepting::Row(m));
    const auto b = parse_acceptance(again, "f");
    expect(b && b->measured.size() == 1 && b->measured[0].value == m.value && b->measured[0].metric == m.metric,
           "reads the same");
  }
  return 0;
}
