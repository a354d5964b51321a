// JSON: what is accepted is UTF-8, bounded in depth, without duplicate keys, and reads back as itself when written again.
#include "base/text.h"
#include "check.h"
#include "ingest/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto v = parse_json(text);
  if (!v) {
    fuzz::expect(v.error().what.rfind("byte ", 0) == 0, "an error names its byte");
    return 0;
  }
  fuzz::expect(valid_utf8(text), "only UTF-8 is accepted");
  fuzz::expect_tree(*v, 64, 0);
  const std::string once = fuzz::render(*v);
  const auto again = parse_json(once);
  fuzz::expect(again.has_value(), "what was written can be read");
  fuzz::expect(fuzz::render(*again) == once, "and is the same");
  fuzz::expect(!parse_json(once + "x") && !parse_json(once + "]"), "nothing may follow a value");
  return 0;
}
