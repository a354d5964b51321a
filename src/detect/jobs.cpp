#include "detect/jobs.h"

#include <fmt/core.h>

#include <set>

namespace muster::detect {
namespace {
constexpr double kCrawl = 4;  // times a job's usual checkpoint
constexpr Duration kCrawlWindow = minutes(30);
constexpr std::size_t kCrawlers = 2;  // different jobs: one alone may have itself to blame
}  // namespace

void Jobs::on_checkpoint(const JobProgressed& b, const State& s, Time utc, Time mono, Signs& out) {
  const Job* j = find_job(s, b.job);
  if (j == nullptr || j->attempt != b.attempt) return;
  const auto took = static_cast<double>(b.progress.checkpoint_ms - j->progress.checkpoint_ms);
  if (took <= 0) return;
  Usual& u = usual_[b.job];
  while (!crawled_.empty() && mono - crawled_.front().first > kCrawlWindow) crawled_.pop_front();
  if (u.count >= 2 && took > kCrawl * u.ms) {
    crawled_.emplace_back(mono, b.job);
    std::set<JobId> who;
    for (const auto& [at, id] : crawled_) who.insert(id);
    if (who.size() >= kCrawlers && !stalled_) {
      stalled_ = true;
      out.see(FindingKind::storage_stall, Severity::critical, {}, -1, Witness::job, utc,
              fmt::format(
                  "checkpoints of {} jobs take over {:.0f} times as long as usual; the last took {:.0f} s instead of {:.0f} s",
                  who.size(), kCrawl, took / 1000, u.ms / 1000));
    }
    return;
  }
  u.ms = (u.ms * u.count + took) / (u.count + 1);
  ++u.count;
  if (stalled_ && crawled_.empty()) {
    stalled_ = false;
    out.clear(FindingKind::storage_stall, {}, -1, "checkpoints take their usual time again");
  }
}

void Jobs::on_event(const Body& b, const State& s, Time utc, Time mono, Signs& out) {
  if (const auto* p = std::get_if<JobProgressed>(&b)) return on_checkpoint(*p, s, utc, mono, out);
  const auto over = [&](JobId id, const char* why) { out.gone.push_back({FindingKind::job_failed, {}, -1, id, why}); };
  if (const auto* started = std::get_if<JobStarted>(&b)) return over(started->job, "the job runs again");
  if (const auto* gone = std::get_if<JobGone>(&b)) {
    usual_.erase(gone->job);
    return over(gone->job, "the job was given up");
  }
  const auto* e = std::get_if<JobEnded>(&b);
  if (e == nullptr) return;
  if (e->end == JobEnd::completed || e->end == JobEnd::cancelled || e->end == JobEnd::timed_out) {
    usual_.erase(e->job);
    return over(e->job, "the job has ended");
  }
  if (e->end != JobEnd::app_failed && e->end != JobEnd::node_failed) return;
  Sign sign;
  sign.kind = FindingKind::job_failed;
  sign.severity = Severity::warning;
  sign.job = e->job;
  sign.evidence = {Witness::engine, utc, {}, fmt::format("attempt {} ended: {}: {}", e->attempt, name_of(e->end), e->detail)};
  out.seen.push_back(std::move(sign));
}

}  // namespace muster::detect
