#include "diagnose/long_profile.h"

#include <algorithm>

namespace muster::diagnose {

bool keep_first_steps(Trace& t, std::size_t most) {
  if (t.gpu.size() <= most || most == 0) return false;
  std::vector<std::int64_t> starts;
  starts.reserve(t.gpu.size());
  for (const GpuEvent& e : t.gpu) starts.push_back(e.span.start_ns);
  const auto last = starts.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(starts.begin(), last, starts.end());
  std::int64_t until = *last;
  starts = {};
  // The last mark before it that is not the first.
  const auto mark = std::upper_bound(t.steps.begin(), t.steps.end(), until,
                                     [](std::int64_t at, const Mark& m) { return at < m.span.start_ns; });
  if (mark - t.steps.begin() >= 2) until = (mark - 1)->span.start_ns;
  const auto cut = [&](auto& all) {
    std::erase_if(all, [&](const auto& x) { return x.span.start_ns >= until; });
    all.shrink_to_fit();
  };
  cut(t.gpu);
  cut(t.calls);
  cut(t.ops);
  cut(t.marks);
  cut(t.steps);
  return true;
}

}  // namespace muster::diagnose
