#include "report/profile_diff.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json_writer.h"
#include "model/fields.h"

namespace muster::report {
namespace {

constexpr std::size_t kSaid = 12;

}  // namespace

std::vector<std::string> say_difference(const diagnose::ProfileDiff& d) {
  std::vector<std::string> out;
  out.push_back(d.gain_pct() >= 0 ? fmt::format("a step takes {} instead of {}: {:.1f} % less", diagnose::ms_words(d.after_ms),
                                                diagnose::ms_words(d.before_ms), d.gain_pct())
                                  : fmt::format("a step takes {} instead of {}: {:.1f} % more", diagnose::ms_words(d.after_ms),
                                                diagnose::ms_words(d.before_ms), -d.gain_pct()));
  out.push_back(fmt::format("  {:<16}{:>12}{:>12}{:>12}", "ms a step", "before", "after", "change"));
  for (std::size_t b = 0; b < diagnose::kBounds; ++b) {
    if (d.before_share_ms[b] < 0.0005 && d.after_share_ms[b] < 0.0005) continue;
    out.push_back(fmt::format("  {:<16}{:>12.3f}{:>12.3f}{:>+12.3f}", names(diagnose::Bound{})[b], d.before_share_ms[b],
                              d.after_share_ms[b], d.after_share_ms[b] - d.before_share_ms[b]));
  }
  out.emplace_back("kernels that changed most, ms a step:");
  for (std::size_t i = 0; i < std::min(kSaid, d.kernels.size()); ++i) {
    const diagnose::KernelChange& k = d.kernels[i];
    out.push_back(fmt::format("  {:>+10.3f}  {:>9.3f} -> {:<9.3f} {:>6.4g} -> {:<6.4g} times  {}", k.after_ms - k.before_ms,
                              k.before_ms, k.after_ms, k.before_n, k.after_n, k.name));
  }
  return out;
}

std::string difference_json(const diagnose::ProfileDiff& d) {
  JsonWriter w;
  w.object().field("before", d.before_file).field("after", d.after_file);
  w.field("before_ms", d.before_ms).field("after_ms", d.after_ms).field("gain_pct", d.gain_pct());
  w.key("shares_ms").object();
  for (std::size_t b = 0; b < diagnose::kBounds; ++b) {
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
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace muster::report
