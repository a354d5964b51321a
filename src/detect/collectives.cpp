#include "detect/collectives.h"

#include <fmt/core.h>

#include "detect/ranks.h"

namespace muster::detect {
namespace {
constexpr Duration kOthersSpeak = seconds(30);
constexpr std::size_t kHangsMax = 16384;
constexpr std::size_t kRanksMax = 65536;
constexpr std::size_t kNamed = 4;  // more than so many missing ranks are no lead

using Missing = std::vector<int>;

// Who came less far than the others; where nobody says how far, who did not wait when nearly all others did. How many ranks a job
// has that is not known is told by the highest that spoke.
Missing missing(const State& s, const Job* j, const std::set<int>& waited, const std::map<int, std::int64_t>& enqueued) {
  Missing out;
  std::int64_t most = -1;
  for (const auto& [rank, seq] : enqueued) most = std::max(most, seq);
  for (const auto& [rank, seq] : enqueued) {
    if (seq < most) out.push_back(rank);
  }
  if (!out.empty()) return out;
  const std::size_t spoke = waited.empty() ? 0 : static_cast<std::size_t>(*waited.rbegin()) + 1;
  const std::size_t all = j == nullptr ? spoke : ranks_of(s, *j);
  if (waited.size() * 2 < all || waited.size() < 2) return out;
  for (int r = 0; r < static_cast<int>(all); ++r) {
    if (waited.count(r) == 0 && enqueued.count(r) == 0) out.push_back(r);
  }
  return out;
}
}  // namespace

// A job writes its log itself, so these findings name the job; only a port's flap, which the job merely noticed, names a node.
void Collectives::on_record(const JobLogRecord& r, const State& s, Time mono, Signs& out) {
  const auto say = [&](FindingKind kind, Severity severity, NodeId node, std::int16_t slot, JobId job, std::string text) {
    if (r.rank >= 0 && text == r.text) text = fmt::format("rank {}: {}", r.rank, text);
    out.seen.push_back({kind, severity, node, slot, job, 0, {Witness::job, r.at, {}, std::move(text)}});
    if (kind == FindingKind::nccl_hang && severity != Severity::info) out.seen.back().loss_pct = 100;
  };
  const auto port = std::pair(r.job, std::pair(r.node, r.slot));
  const Job* j = find_job(s, r.job);
  switch (r.kind) {
    case JobLogKind::timed_out:
    case JobLogKind::standing: {
      if (r.kind == JobLogKind::timed_out) say(FindingKind::nccl_hang, Severity::warning, {}, -1, r.job, r.text);
      if (r.rank < 0 || (hangs_.size() >= kHangsMax && hangs_.count(r.job) == 0)) return;
      Hang& h = hangs_[r.job];
      if (h.waited.empty() && h.enqueued.empty()) h.due = mono + kOthersSpeak;
      if (h.waited.size() + h.enqueued.size() >= kRanksMax) return;
      if (r.kind == JobLogKind::timed_out) h.waited.insert(r.rank);
      if (r.kind == JobLogKind::standing && r.seq >= 0) h.enqueued[r.rank] = std::max(h.enqueued[r.rank], r.seq);
      return;
    }
    case JobLogKind::heartbeat_lost:
    case JobLogKind::transfer_failed: return say(FindingKind::nccl_hang, Severity::warning, {}, -1, r.job, r.text);
    case JobLogKind::rank_dead:
    case JobLogKind::rank_behind:
      say(FindingKind::nccl_hang, Severity::warning, {}, -1, r.job,
          fmt::format("{} {}: {}", r.rank < 0 ? "a rank" : say_rank(s, j, r.rank),
                      r.kind == JobLogKind::rank_dead ? "does not answer" : "stays behind the others", r.text));
      out.seen.back().tell = true;
      return;
    case JobLogKind::mismatch: return say(FindingKind::nccl_hang, Severity::info, {}, -1, r.job, r.text);
    case JobLogKind::port_error:
      if (r.node.some()) down_[port] = r.at;
      return;
    case JobLogKind::port_active: {
      // Some versions do not say which port is back: then it is the one of that node that was lost.
      auto it = down_.find(port);
      if (it == down_.end() && r.slot < 0) it = down_.lower_bound({r.job, {r.node, -1}});
      if (it == down_.end() || it->first.first != r.job || it->first.second.first != r.node) return;
      say(FindingKind::link_flap, Severity::info, r.node, it->first.second.second, {}, r.text);
      down_.erase(it);
      return;
    }
    case JobLogKind::not_a_number:
    case JobLogKind::not_repeatable: return;  // of the results, not of the communication
  }
}

void Collectives::on_turn(const State& s, Time utc, Time mono, Signs& out) {
  for (auto it = hangs_.begin(); it != hangs_.end();) {
    const auto& [job, h] = *it;
    if (h.due > mono) {
      ++it;
      continue;
    }
    const Job* j = find_job(s, job);
    const Missing who = missing(s, j, h.waited, h.enqueued);
    if (!who.empty() && who.size() <= kNamed) {
      std::string text;
      for (const int r : who) text += (text.empty() ? "" : ", ") + say_rank(s, j, r);
      Sign sign{FindingKind::nccl_hang, Severity::warning, {}, -1, job, 0, {Witness::job, utc, {}, {}}};
      sign.evidence.text = text + " did not come to the collective that the others waited in";
      sign.tell = true;
      out.seen.push_back(std::move(sign));
    }
    it = hangs_.erase(it);
  }
}

Time Collectives::next() const {
  Time t = kNever;
  for (const auto& [job, h] : hangs_) t = std::min(t, h.due);
  return t;
}

void Collectives::forget(JobId job) {
  hangs_.erase(job);
  std::erase_if(down_, [&](const auto& x) { return x.first.first == job; });
}

}  // namespace muster::detect
