// Cost files: what is accepted has every number within its bounds, and stays so under any settings that are accepted.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "check.h"
#include "ingest/cost_file.h"

namespace {

using namespace muster;

void expect_sane(const CostSite& s) {
  visit_numbers(s, [](const std::string&, const Estimate& e, const CostBounds& b) {
    fuzz::expect(std::isfinite(e.low) && std::isfinite(e.likely) && std::isfinite(e.high), "numbers are numbers");
    fuzz::expect(e.low <= e.likely && e.likely <= e.high, "and rise");
    // What a file leaves out is 0, or its usual value.
    fuzz::expect(e == Estimate() || (e.low >= b.min && e.high <= b.max), "within their bounds");
  });
  fuzz::expect(s.gpus.low >= 1, "there is a GPU");
  fuzz::expect(s.utilisation.likely <= s.availability.likely, "no more is allocated than delivered");
  fuzz::expect(!s.pue || (s.pue->low >= 1 && s.pue->high <= 4), "a PUE is one");
  for (const CapitalItem& c : s.capital)
    fuzz::expect(!c.name.empty() && c.of >= CostClass::network && c.of <= CostClass::facility,
                 "items are named and have a class");
}

// "power.pue: 1.2" and "pue=1.2" alike, a line each.
std::vector<CostSetting> settings(std::string_view text) {
  std::vector<CostSetting> out;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t at = line.find_first_of("=:");
    if (at != std::string_view::npos && out.size() < 16) out.emplace_back(trim(line.substr(0, at)), trim(line.substr(at + 1)));
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto s = parse_cost_site(text, "s.yaml");
  if (s)
    expect_sane(*s);
  else
    fuzz::expect_file_error(s.error(), "s.yaml");
  static const CostSite kShipped = *shipped_cost_site("h200-1024-colo");
  const auto changed = change_cost_site(kShipped, settings(text));
  if (changed)
    expect_sane(*changed);
  else
    fuzz::expect(!changed.error().what.empty(), "what is refused is said");
  return 0;
}
