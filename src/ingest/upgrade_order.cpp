#include "ingest/upgrade_order.h"

#include "base/check.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"

namespace muster {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::vector<UpgradeStep> read_order() {
  const auto text = embedded_file("fleet/upgrade_order.csv");
  MUSTER_CHECK(text.has_value());
  const auto csv = parse_csv(*text, "fleet/upgrade_order.csv");
  MUSTER_CHECK(csv.has_value());
  std::vector<UpgradeStep> out;
  for (std::size_t r = 0; r < csv->rows.size(); ++r) {
    UpgradeStep s;
    s.what = csv->cell(r, "what");
    for (const char c : csv->cell(r, "rank")) s.rank = s.rank * 10 + static_cast<std::uint32_t>(c - '0');
    s.facts = words_of(csv->cell(r, "facts"));
    s.stale = words_of(csv->cell(r, "stale"));
    s.with = words_of(csv->cell(r, "with"));
    s.apart = csv->cell(r, "apart");
    const std::string within = csv->cell(r, "apart_within");
    MUSTER_CHECK(s.apart.empty() ? within.empty() : within == "job" || within == "domain");
    s.apart_in_domain = within == "domain";
    s.rule = csv->cell(r, "rule");
    s.about = csv->cell(r, "about");
    s.source = csv->cell(r, "source");
    MUSTER_CHECK(!s.facts.empty() && !s.source.empty() && (out.empty() || out.back().rank <= s.rank));
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace

const std::vector<UpgradeStep>& upgrade_order() {
  static const std::vector<UpgradeStep> kOrder = read_order();
  return kOrder;
}

}  // namespace muster
