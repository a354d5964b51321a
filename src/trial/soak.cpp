#include "trial/soak.h"

#include <fmt/core.h>

#include <mutex>
#include <thread>

#include "trial/statistics.h"

namespace muster::trial {
namespace {

struct Shared {
  std::mutex lock;
  std::atomic<std::uint64_t> next{0};
  SoakReport report;
  std::vector<std::pair<std::uint64_t, std::string>> found;
  std::optional<Error> error;
};

void add(SoakReport& total, const RunReport& r) {
  ++total.runs;
  total.faults += r.marks.injected;
  total.detected += r.marks.detected;
  total.missed += r.marks.missed;
  total.false_alarms += r.marks.false_alarms;
  for (const auto& [kind, count] : r.marks.false_kinds) total.false_kinds[kind] += count;
  total.actions += r.totals.orders;
  total.refusals += r.totals.refusals;
  total.events += r.events;
  total.jobs_completed += r.totals.jobs_completed;
  total.unfinished += r.marks.unfinished;
  total.left_to_people += r.marks.left_to_people;
  total.node_days += r.node_days;
  for (std::size_t i = 0; i < kRules; ++i) total.broken[i] += r.broken[i];
}

void work(const SoakOptions& options, Shared& shared) {
  for (;;) {
    const std::uint64_t k = shared.next++;
    if (k >= options.seeds) {
      const std::lock_guard hold(shared.lock);
      if (shared.report.faults >= options.faults || shared.error) return;
    }
    RunOptions one = options.run;
    one.twin.seed = options.first_seed + k;
    one.to_the_end = true;
    one.progress = nullptr;
    const std::unique_ptr<Journal> journal = options.make_journal();
    const Result<RunReport> r = run(one, *journal);
    const std::lock_guard hold(shared.lock);
    if (!r) {
      shared.error = r.error();
      return;
    }
    add(shared.report, *r);
    for (const std::string& v : r->violations) shared.found.emplace_back(one.twin.seed, v);
    if (options.on_seed) options.on_seed(*r);
    if (options.progress) options.progress(shared.report.runs, shared.report.faults);
  }
}

}  // namespace

Result<SoakReport> soak(const SoakOptions& options) {
  Shared shared;
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.threads; ++i) threads.emplace_back([&] { work(options, shared); });
  work(options, shared);
  for (std::thread& t : threads) t.join();
  if (shared.error) return tl::unexpected(*shared.error);
  std::sort(shared.found.begin(), shared.found.end());
  for (auto& [seed, what] : shared.found) shared.report.violations.push_back({seed, std::move(what)});
  shared.report.seeds = shared.report.runs;
  shared.report.is_void = shared.report.faults < options.faults_floor;
  return shared.report;
}

FalseDrains judge_false_drains(std::uint64_t count, double node_days) {
  FalseDrains f;
  if (node_days <= 0) return f;
  const double each = 1e4 / node_days;
  f.rate = each * static_cast<double>(count);
  f.low = each * poisson_low(count, kFalseDrainConfidence);
  f.high = each * poisson_high(count, kFalseDrainConfidence);
  if (f.high <= kFalseDrainsMax) f.verdict = FalseDrains::Verdict::held;
  if (f.low > kFalseDrainsMax) f.verdict = FalseDrains::Verdict::broken;
  return f;
}

}  // namespace muster::trial
