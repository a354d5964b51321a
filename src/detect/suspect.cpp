#include "detect/suspect.h"

#include <fmt/core.h>

namespace muster::detect {
namespace {
constexpr Duration kRemembered = days(1);
constexpr Duration kOthersFail = seconds(30);
constexpr double kChance = 0.05;
constexpr std::size_t kCasesMax = 4096;

// How likely it is that some GPU of `gpus` meets `k` of `n` failures that have nothing to do with it: at most this.
double by_chance(std::size_t n, std::size_t k, double gpus) {
  double p = 1;
  for (std::size_t i = 0; i < k; ++i) p *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  for (std::size_t i = 1; i < k; ++i) p /= gpus;
  return p;
}
}  // namespace

void Suspect::on_app_error(const KernelRecord& r, const State& s, Time mono) {
  JobId job;
  for (const Share& x : s.nodes[r.node.v].shares) {
    if ((x.slots >> r.slot & 1) != 0) job = x.job;
  }
  if (!job.some() || cases_.size() >= kCasesMax) return;  // whose program it was is not known: nothing to compare
  const auto gpu = static_cast<std::uint32_t>(r.node.v * slots_ + static_cast<std::uint32_t>(r.slot));
  Case& c = cases_[job];
  c.at = mono;
  if (std::find(c.gpus.begin(), c.gpus.end(), gpu) != c.gpus.end()) return;
  c.gpus.push_back(gpu);
  unjudged_.push_back({mono + kOthersFail, gpu, r.text});
}

void Suspect::on_turn(const State& s, Time utc, Time mono, Signs& out) {
  while (!unjudged_.empty() && unjudged_.front().due <= mono) {
    const Due due = std::move(unjudged_.front());
    unjudged_.pop_front();
    std::erase_if(cases_, [&](const auto& c) { return mono - c.second.at > kRemembered; });
    std::size_t alone = 0;  // jobs that failed here and nowhere else
    std::size_t all = 0;    // jobs that failed on one GPU only, anywhere
    for (const auto& [job, c] : cases_) {
      if (c.gpus.size() != 1) continue;
      ++all;
      alone += c.gpus.front() == due.gpu ? 1 : 0;
    }
    // It is judged anew at each failure: who looks often sees what chance brings sooner or later.
    if (alone < 2 || by_chance(all, alone, gpus_) * static_cast<double>(all - 1) > kChance) continue;
    const NodeId node{due.gpu / slots_};
    if (s.nodes[node.v].incident.some()) continue;
    out.see(
        FindingKind::gpu_suspect, Severity::warning, node, static_cast<std::int16_t>(due.gpu % slots_), Witness::kernel_log, utc,
        fmt::format("programs of {} different jobs failed on this GPU alone within a day, of {} on the whole site; the last: {}",
                    alone, all, due.text));
  }
}

}  // namespace muster::detect
