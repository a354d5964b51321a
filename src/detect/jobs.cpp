#include "detect/jobs.h"

#include <fmt/core.h>

#include <set>

namespace muster::detect {
namespace {
constexpr double kCrawl = 4;  // times a job's usual checkpoint
constexpr Duration kCrawlWindow = minutes(30);
constexpr std::size_t kCrawlers = 2;  // different jobs: one alone may have itself to blame
constexpr double kNodeGbs = 1;        // that a node writes at least, where the store is well

// The longest that a checkpoint of the job should take, ms: if all jobs wrote theirs at the same time to the store that the site
// has by its own word. 0: nobody said what it can do.
double longest_ms(const State& s, const Job& j) {
  if (s.site.storage_write_gbs <= 0 || j.nodes.empty()) return 0;
  double gb = 0;
  for (const JobId id : s.placed) gb += s.jobs.at(id).spec.checkpoint_gb;
  return 1000 * (gb / s.site.storage_write_gbs + j.spec.checkpoint_gb / (kNodeGbs * static_cast<double>(j.nodes.size())));
}
}  // namespace

void Jobs::on_checkpoint(const JobProgressed& b, const State& s, Time utc, Time mono, Signs& out) {
  const Job* j = find_job(s, b.job);
  if (j == nullptr || j->attempt != b.attempt) return;
  const auto took = static_cast<double>(b.progress.checkpoint_ms - j->progress.checkpoint_ms);
  if (took <= 0) return;
  Usual& u = usual_[b.job];
  while (!crawled_.empty() && mono - crawled_.front().first > kCrawlWindow) crawled_.pop_front();
  const double longest = longest_ms(s, *j);
  const bool impossible = longest > 0 && took > kCrawl * longest;  // also where nobody has seen the job write before
  const bool crawls = impossible || (u.count >= 2 && took > kCrawl * u.ms);
  if (crawls) crawled_.emplace_back(mono, b.job);
  std::set<JobId> who;
  for (const auto& [at, id] : crawled_) who.insert(id);
  if (crawls && who.size() >= kCrawlers && !stalled_) {
    stalled_ = true;
    out.see(FindingKind::storage_stall, Severity::critical, {}, -1, Witness::job, utc,
            fmt::format(
                "checkpoints of {} jobs take over {:.0f} times as long as usual; the last took {:.0f} s instead of {:.0f} s",
                who.size(), kCrawl, took / 1000, (u.count < 2 ? longest : u.ms) / 1000));
  }
  if (crawls) return;
  u.ms = (u.ms * u.count + took) / (u.count + 1);
  ++u.count;
  if (stalled_ && who.size() < kCrawlers) {
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
