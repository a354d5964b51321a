#include "report/run_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"

namespace muster::report {
namespace {

constexpr std::size_t kSaid = 12;
constexpr double kNothing_ms = 0.0005;  // is printed as 0

using diagnose::RunDiff;

std::string or_none(const std::string& setting) { return setting.empty() ? "not there" : setting; }

void say_shares(const RunDiff& d, std::vector<std::string>& out) {
  out.push_back(fmt::format("  {:<16}{:>12}{:>12}{:>12}", "ms a step", "before", "after", "change"));
  for (std::size_t b = 0; b < diagnose::kBounds; ++b) {
    if (d.before_share_ms[b] < kNothing_ms && d.after_share_ms[b] < kNothing_ms) continue;
    out.push_back(fmt::format("  {:<16}{:>12.3f}{:>12.3f}{:>+12.3f}", names(diagnose::Bound{})[b], d.before_share_ms[b],
                              d.after_share_ms[b], d.after_share_ms[b] - d.before_share_ms[b]));
  }
  out.emplace_back("kernels that changed most, ms a step:");
  for (std::size_t i = 0; i < std::min(kSaid, d.kernels.size()); ++i) {
    const diagnose::KernelChange& k = d.kernels[i];
    if (std::abs(k.after_ms - k.before_ms) < kNothing_ms) continue;
    out.push_back(fmt::format("  {:>+10.3f}  {:>9.3f} -> {:<9.3f} {:>6.4g} -> {:<6.4g} times  {}", k.after_ms - k.before_ms,
                              k.before_ms, k.after_ms, k.before_n, k.after_n, k.name));
  }
}

}  // namespace

std::vector<std::string> say_difference(const RunDiff& d) {
  std::vector<std::string> out;
  out.push_back(fmt::format("a step takes {} instead of {}: {:.1f} % {}", diagnose::ms_words(d.after_ms),
                            diagnose::ms_words(d.before_ms), std::abs(d.gain_pct()), d.gain_pct() >= 0 ? "less" : "more"));
  if (d.by_chance())
    out.push_back(fmt::format("  that may be chance: by how their steps vary, two runs differ by up to {}",
                              diagnose::ms_words(d.chance_ms)));
  if (d.profiled) say_shares(d, out);
  if (!d.ranks.empty()) out.emplace_back("ranks that changed most, ms a step:");
  for (std::size_t i = 0; i < std::min(kSaid, d.ranks.size()); ++i) {
    const diagnose::RankChange& r = d.ranks[i];
    out.push_back(
        fmt::format("  {:>+10.3f}  {:>9.3f} -> {:<9.3f} {}", r.after_ms - r.before_ms, r.before_ms, r.after_ms, r.rank));
  }
  for (const diagnose::RateChange& r : d.rates) out.push_back(fmt::format("  {:.5g} -> {:.5g} {}", r.before, r.after, r.name));
  if (!d.settings.empty()) out.emplace_back("settings that differ:");
  for (const diagnose::SettingChange& s : d.settings)
    out.push_back(fmt::format("  {}: {} -> {}", s.name, or_none(s.before), or_none(s.after)));
  return out;
}

std::string difference_json(const RunDiff& d, const std::string& before, const std::string& after) {
  JsonWriter w;
  w.object().field("before", before).field("after", after);
  w.field("before_ms", d.before_ms).field("after_ms", d.after_ms).field("gain_pct", d.gain_pct());
  w.field("chance_ms", d.chance_ms).field("by_chance", d.by_chance());
  w.key("shares_ms").object();
  for (std::size_t b = 0; d.profiled && b < diagnose::kBounds; ++b) {
    w.key(names(diagnose::Bound{})[b])
        .object()
        .field("before", d.before_share_ms[b])
        .field("after", d.after_share_ms[b])
        .end_object();
  }
  w.end_object().key("kernels").array();
  for (const diagnose::KernelChange& k : d.kernels) {
    w.object().field("name", k.name).field("before_ms", k.before_ms).field("after_ms", k.after_ms);
    w.field("before_count", k.before_n).field("after_count", k.after_n).end_object();
  }
  w.end_array().key("ranks").array();
  for (const diagnose::RankChange& r : d.ranks)
    w.object().field("rank", r.rank).field("before_ms", r.before_ms).field("after_ms", r.after_ms).end_object();
  w.end_array().key("rates").array();
  for (const diagnose::RateChange& r : d.rates)
    w.object().field("name", r.name).field("before", r.before).field("after", r.after).end_object();
  w.end_array().key("settings").array();
  for (const diagnose::SettingChange& s : d.settings)
    w.object().field("name", s.name).field("before", s.before).field("after", s.after).end_object();
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace muster::report
