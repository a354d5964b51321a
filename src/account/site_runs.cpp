#include "account/site_runs.h"

#include <algorithm>

namespace muster::account {
namespace {

std::int64_t ms_of(Time t) { return t.ns == 0 ? kNoTime : t.ms(); }

// The start tells runs of one job apart; of those that have none, the submission.
std::int64_t which(const SiteRun& r) { return r.started_ms != kNoTime ? r.started_ms : r.submitted_ms; }

std::uint64_t hash_of(const SiteRun& r) {
  std::uint64_t h = r.number * 0x9E3779B97F4A7C15ULL;
  h ^= static_cast<std::uint64_t>(r.array_index) * 0xC2B2AE3D27D4EB4FULL;
  h ^= static_cast<std::uint64_t>(r.het) * 0x165667B19E3779F9ULL;
  h ^= static_cast<std::uint64_t>(which(r)) * 0xD6E8FEB86659FD93ULL;
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93ULL;
  return h ^ (h >> 29);
}

bool same_run(const SiteRun& a, const SiteRun& b) {
  return a.number == b.number && a.array_index == b.array_index && a.het == b.het && which(a) == which(b) &&
         (a.started_ms != kNoTime) == (b.started_ms != kNoTime);
}

bool says_the_same(const SiteRun& a, const SiteRun& b) {
  return a.ended_ms == b.ended_ms && a.gpus_milli == b.gpus_milli && a.account == b.account && a.partition == b.partition &&
         a.user == b.user && a.nodes == b.nodes && a.state == b.state && a.eligible_ms == b.eligible_ms;
}

// What such a row said that its run had; 0 where it does not say.
std::int64_t had_of(const SiteRun& r) {
  constexpr std::int64_t kMost = std::int64_t{1} << 55;
  if (r.gpus_milli <= 0 || r.started_ms == kNoTime || r.ended_ms == kNoTime || r.ended_ms <= r.started_ms) return 0;
  std::int64_t out = 0;
  return __builtin_mul_overflow(r.gpus_milli, r.ended_ms - r.started_ms, &out) ? kMost : std::min(out, kMost);
}

}  // namespace

bool began_unknown(const SiteRun& r) {
  if (r.started_ms != kNoTime) return false;
  const bool may_end_waiting = r.state == RecordState::cancelled || r.state == RecordState::revoked ||
                               r.state == RecordState::deadline || r.state == RecordState::boot_fail;
  return r.ran_s > 0 || (r.placed && !may_end_waiting && r.state != RecordState::pending);
}

std::uint32_t TextPool::put(std::string_view text) {
  const auto it = known_.find(text);
  if (it != known_.end()) return it->second;
  const auto i = static_cast<std::uint32_t>(texts_.size());
  store_.emplace_back(text);
  texts_.push_back(&store_.back());
  known_.emplace(store_.back(), i);
  return i;
}

std::string render_job(const SiteRun& r) {
  std::string out = std::to_string(r.number);
  if (r.array_index >= 0) out += "_" + std::to_string(r.array_index);
  if (r.het >= 0) out += "+" + std::to_string(r.het);
  if (r.members > 1) out += "_[" + std::to_string(r.members) + " members]";
  return out;
}

void SiteRuns::grow() {
  const std::size_t size = std::max<std::size_t>(1024, table_.size() * 2);
  table_.assign(size, 0);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    std::size_t at = hash_of(runs_[i]) & (size - 1);
    while (table_[at] != 0) at = (at + 1) & (size - 1);
    table_[at] = static_cast<std::uint32_t>(i) + 1;
  }
}

// Where the run is, or may be put.
std::uint32_t& SiteRuns::slot_of(const SiteRun& r) {
  std::size_t at = hash_of(r) & (table_.size() - 1);
  while (table_[at] != 0 && !same_run(runs_[table_[at] - 1], r)) at = (at + 1) & (table_.size() - 1);
  return table_[at];
}

void SiteRuns::take(const JobRecord& j) {
  ++counts_.records;
  if (!any_cluster_) cluster_ = j.cluster;
  any_cluster_ = true;
  if (j.cluster != cluster_ && counts_.other_cluster.empty()) counts_.other_cluster = j.cluster;
  SiteRun r;
  r.number = j.id.number;
  r.array_index = j.id.array_index;
  r.het = j.id.het_component;
  r.members = j.id.array_members;
  r.submitted_ms = ms_of(j.submitted);
  r.eligible_ms = ms_of(j.eligible);
  r.started_ms = ms_of(j.started);
  r.ended_ms = ms_of(j.ended);
  r.gpus_milli = j.gpus_milli.value_or(-1);
  r.energy_j = j.energy_j.value_or(-1);
  r.line = j.line;
  r.state = j.state;
  r.placed = !j.node_list.empty();
  r.nodes_said = j.nodes;
  r.ran_s = static_cast<std::int32_t>(std::clamp<std::int64_t>(j.ran.ns / 1'000'000'000, 0, INT32_MAX));
  const auto put = [&](int i, std::string_view text) {
    if (texts_.size() == 0 || texts_.at(last_[i]) != text) last_[i] = texts_.put(text);
    return last_[i];
  };
  r.account = put(0, j.account);
  r.partition = put(1, j.partition);
  r.user = put(2, j.user);
  r.type = put(3, j.gpu_type);
  r.file = texts_.put(j.file);
  r.nodes = lists_.put(j.node_list);
  if (table_.size() < 2 * (runs_.size() + 1)) grow();
  std::uint32_t& slot = slot_of(r);
  if (slot == 0) {
    runs_.push_back(r);
    slot = static_cast<std::uint32_t>(runs_.size());
    if (r.gpus_milli > 0 && r.started_ms != kNoTime) ++counts_.with_gpus;
    return;
  }
  SiteRun& known = runs_[slot - 1];
  if (says_the_same(known, r)) {
    ++counts_.same;
  } else if (is_over(known.state) != is_over(r.state)) {
    ++counts_.newer;
    if (is_over(r.state)) known = r;
  } else {
    ++counts_.different;
    if (counts_.some_different.empty()) counts_.some_different = render_job(r);
    counts_.replaced_milli_ms += had_of(known);
    known = r;
  }
}

void SiteRuns::doubt_zeros() {
  if (counts_.with_gpus > 0) return;
  for (SiteRun& r : runs_) {
    if (r.gpus_milli == 0 && r.started_ms != kNoTime) r.gpus_milli = -1;
  }
}

}  // namespace muster::account
