#include "detect/trend.h"

#include <fmt/core.h>

namespace muster::detect {
namespace {

struct Scale {
  std::int32_t span_s;
  float least;       // errors in a span below which nothing is said: more than one burst of a sound part
  std::uint8_t hot;  // spans in a row
  float memory;      // spans: a week
};
constexpr Scale kScale[] = {{20 * 60, 13, 3, 504}, {3 * 3600, 13, 3, 56}};
constexpr float kFactor = 4;  // times the usual
constexpr float kRising = 2;  // times the usual: may be the beginning, so that little of it is learned as usual
constexpr float kDoubt = 0.1F;
constexpr float kTooMany = 1e6F;  // beyond this the counter's differences are no longer exact in a float

struct What {
  Field field;
  const char* words;
};
constexpr What kWhat[] = {{Field::ecc_sbe_total, "corrected ECC errors"},
                          {Field::nvlink_errors_total, "NVLink errors"},
                          {Field::ib_symbol_errors_total, "symbol errors of the NIC's link"}};

// How many of such parts fail within a week, as counted on simulated wear (trial/decay.h) with other seeds than those it is
// judged by: an estimate for planning, not a measurement of any site. How many times the usual made no difference there.
constexpr int kProbability_pct = 86;
}  // namespace

Trend::Trend(const Site& site) : slots_(site.gpus_per_node), parts_(site.nodes.size() * site.gpus_per_node) {
  static_assert(std::size(kWhat) == kKinds && std::size(kScale) == kScales);
}

float Trend::look(Course& c, std::size_t scale, std::int32_t now_s) {
  const Scale& s = kScale[scale];
  const auto spans = static_cast<float>((now_s - c.began_s) / s.span_s);
  if (spans < 1) return 0;
  const float rate = c.count / spans;
  const float usual = std::max(c.usual, 1.0F);
  c.count = 0;
  c.began_s = now_s;
  if (rate >= s.least && rate >= kFactor * usual && c.known >= 3) {
    if (c.hot < s.hot) ++c.hot;
    return c.hot < s.hot ? 0 : rate / usual;  // what may be the failure's beginning is not learned as usual
  }
  c.hot = 0;
  const float trusted = rate >= s.least && rate >= kRising * usual && c.known >= 3 ? kDoubt * spans : spans;
  c.known = std::min(c.known + trusted, s.memory);
  c.usual += (rate - c.usual) * std::min(1.0F, trusted / c.known);
  return 0;
}

void Trend::on_sample(const Sample& m, Time mono, Signs& out) {
  if (m.slot < 0) return;
  std::size_t column = 0;
  while (column < kKinds && kWhat[column].field != m.field) ++column;
  if (column == kKinds) return;
  Part& p = parts_[m.node.v * slots_ + static_cast<std::size_t>(m.slot)][column];
  const auto value = static_cast<float>(m.value);
  const auto now_s = static_cast<std::int32_t>(mono.ns / 1'000'000'000);
  const bool first = p.last < 0;
  const float step = first || value < p.last || value > kTooMany ? 0 : value - p.last;
  p.last = value;
  for (std::size_t i = 0; i < kScales; ++i) {
    Course& c = p.courses[i];
    if (first) c.began_s = now_s;
    c.count += step;
    const float ratio = look(c, i, now_s);
    if (ratio == 0) continue;
    const Duration span = seconds(kScale[i].span_s);
    out.see(FindingKind::failure_predicted, Severity::info, m.node, m.slot, Witness::scrape, m.at,
            fmt::format("{}: {:.0f} times the usual for {} on end", kWhat[column].words, ratio,
                        render_duration(Duration{span.ns * kScale[i].hot})));
    if (m.field == Field::ib_symbol_errors_total) out.seen.back().subject = kLinkSubject;
    out.seen.back().code = kProbability_pct;
    out.seen.back().since = m.at - Duration{span.ns * kScale[i].hot};
    return;
  }
}

}  // namespace muster::detect
