#include "detect/trend.h"

#include <fmt/core.h>

namespace muster::detect {
namespace {
constexpr std::int32_t kBucket_s = 20 * 60;
constexpr float kMemory = 72;     // buckets: a day
constexpr float kLeast = 6;       // errors in a bucket below which nothing is said
constexpr float kFactor = 4;      // times the usual
constexpr std::uint8_t kHot = 3;  // buckets in a row
constexpr float kTooMany = 1e6F;  // beyond this the counter's differences are no longer exact in a float

struct What {
  Field field;
  const char* words;
};
constexpr What kWhat[] = {{Field::ecc_sbe_total, "corrected ECC errors"},
                          {Field::nvlink_errors_total, "NVLink errors"},
                          {Field::ib_symbol_errors_total, "symbol errors of the NIC's link"}};

// More of the same is more certain: 40 % at four times the usual rate, 11 more with each doubling, 85 % at most. An estimate, not
// a measurement.
int probability_pct(float ratio) {
  int pct = 40;
  for (float r = ratio / kFactor; r >= 2 && pct < 85; r /= 2) pct += 11;
  return std::min(pct, 85);
}
}  // namespace

Trend::Trend(const Site& site) : slots_(site.gpus_per_node), courses_(site.nodes.size() * site.gpus_per_node) {}

void Trend::on_sample(const Sample& m, Time mono, Signs& out) {
  if (m.slot < 0) return;
  std::size_t column = 0;
  while (column < std::size(kWhat) && kWhat[column].field != m.field) ++column;
  if (column == std::size(kWhat)) return;
  Course& c = courses_[m.node.v * slots_ + static_cast<std::size_t>(m.slot)][column];
  const auto value = static_cast<float>(m.value);
  const auto now_s = static_cast<std::int32_t>(mono.ns / 1'000'000'000);
  const bool first = c.last < 0;
  const float step = first || value < c.last || value > kTooMany ? 0 : value - c.last;
  c.last = value;
  if (first) {
    c.began_s = now_s;
    return;
  }
  c.count += step;
  const auto buckets = static_cast<float>((now_s - c.began_s) / kBucket_s);
  if (buckets < 1) return;
  const float rate = c.count / buckets;
  const float usual = std::max(c.usual, 1.0F);
  c.count = 0;
  c.began_s = now_s;
  if (rate >= kLeast && rate >= kFactor * usual && c.known >= 3) {
    if (c.hot < kHot) ++c.hot;
    if (c.hot < kHot) return;  // what may be the failure's beginning is not learned as usual
    out.see(
        FindingKind::failure_predicted, Severity::info, m.node, m.slot, Witness::scrape, m.at,
        fmt::format("{}: {:.0f} in 20 minutes, {:.0f} times the usual, for an hour", kWhat[column].words, rate, rate / usual));
    out.seen.back().code = probability_pct(rate / usual);
    return;
  }
  c.hot = 0;
  c.known = std::min(c.known + buckets, kMemory);
  c.usual += (rate - c.usual) * std::min(1.0F, buckets / c.known);
}

}  // namespace muster::detect
