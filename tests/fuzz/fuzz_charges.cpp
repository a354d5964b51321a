// Rates, allocations and ledgers: what is accepted is within its promises, and a ledger is written again byte for byte.
#include "check.h"
#include "ingest/charge_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto rates = parse_rates(text, "f"); !rates) {
    fuzz::expect_file_error(rates.error(), "f");
  } else {
    for (const Rate& r : *rates) {
      expect(!r.id.empty() && r.from < r.to, "a rate has an id and a time");
      expect(r.price_micro.has_value() != (r.discount_ppm > 0 || !r.price_micro), "a price or a discount");
      expect(r.price_micro.value_or(0) >= 0 && r.discount_ppm >= 0 && r.discount_ppm <= kMicro, "in range");
    }
  }
  if (const auto grants = parse_allocations(text, "f"); !grants) {
    fuzz::expect_file_error(grants.error(), "f");
  } else {
    for (const Allocation& a : *grants)
      expect(a.gpu_milli_ms.value_or(0) + a.money_micro.value_or(0) > 0, "something is granted");
  }
  if (const auto ledger = parse_ledger(text, "f"); !ledger) {
    expect(ledger.error().code == Code::corrupt && ledger.error().what.starts_with("f:"), "a ledger is sound, or corrupt");
  } else {
    Digest head{};
    expect(render_ledger_lines(ledger->charges, head) == text.substr(0, ledger->bytes), "what is read is what was written");
    expect(head == ledger->head, "with the same head");
  }
  return 0;
}
