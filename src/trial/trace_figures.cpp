#include "trial/trace_figures.h"

#include <algorithm>

namespace muster::trial {
namespace {

struct Sums {
  std::vector<double> waits;
  double slowdown = 0;

  void add(const JobOutcome& j) {
    waits.push_back(j.wait_s());
    slowdown += j.slowdown();
  }
  WaitFigures figures() {
    WaitFigures f;
    f.jobs = waits.size();
    if (waits.empty()) return f;
    std::sort(waits.begin(), waits.end());
    const auto at = [&](std::uint64_t percent) { return waits[(waits.size() * percent + 99) / 100 - 1]; };
    for (const double w : waits) f.mean += w;
    const auto n = static_cast<double>(waits.size());
    f.mean /= n;
    f.p50 = at(50);
    f.p95 = at(95);
    f.p99 = at(99);
    f.max = waits.back();
    f.slowdown_mean = slowdown / n;
    return f;
  }
};

}  // namespace

const std::vector<SizeClass>& size_classes() {
  static const std::vector<SizeClass> kClasses = {{"1", 1},      {"2-4", 4},    {"5-8", 8},         {"9-16", 16},
                                                  {"17-32", 32}, {"33-64", 64}, {"65+", UINT32_MAX}};
  return kClasses;
}

ReplayFigures figures_of(const Replay& replay) {
  Sums all;
  std::vector<Sums> sizes(size_classes().size());
  for (const JobOutcome& j : replay.jobs) {
    all.add(j);
    std::size_t c = 0;
    while (j.gpus > size_classes()[c].gpus_max) ++c;
    sizes[c].add(j);
  }
  ReplayFigures f;
  f.all = all.figures();
  for (Sums& s : sizes) f.by_size.push_back(s.figures());
  return f;
}

}  // namespace muster::trial
