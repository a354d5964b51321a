#include "adapters/intake/environment_word.h"

#include <algorithm>

#include "base/text.h"
#include "model/job_environment.h"

namespace muster {
namespace {

constexpr std::size_t kFactsMax = 128;                 // of one node
constexpr std::size_t kNameMax = 96, kValueMax = 400;  // bytes
constexpr std::size_t kFullMax = 64;  // different environments of one attempt that others may be said to have too

std::optional<Facts> read_facts(const Value& v) {
  const Value::Object* all = v.object();
  if (all == nullptr || all->empty() || all->size() > kFactsMax) return std::nullopt;
  Facts out;
  for (const auto& [name, text] : *all) {
    if (text.string() == nullptr || name.empty() || name == kSameAsNode) return std::nullopt;
    out.emplace_back(clipped(printable(clipped(name, kNameMax)), kNameMax),
                     clipped(printable(clipped(*text.string(), kValueMax)), kValueMax));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::optional<JobDescribed> JobEnvironments::take(const Value& facts, JobId job, NodeId from, Duration age, const State& s) {
  const Job* j = job.some() ? find_job(s, job) : nullptr;
  if (j == nullptr || j->phase != JobPhase::running) return std::nullopt;
  if (std::find(j->nodes.begin(), j->nodes.end(), from) == j->nodes.end()) return std::nullopt;
  if (age > s.now.utc - j->started) return std::nullopt;  // seen in the attempt before
  auto read = read_facts(facts);
  if (!read) return std::nullopt;
  const std::lock_guard hold(lock_);
  if (told_.size() > s.placed.size() + 64) std::erase_if(told_, [&](const auto& t) { return s.placed.count(t.first) == 0; });
  Told& t = told_[job];
  if (t.attempt != j->attempt) t = Told{j->attempt, {}, {}};
  const auto known = t.nodes.find(from);
  if (known != t.nodes.end() && *known->second == *read) return std::nullopt;
  JobDescribed out{job, j->attempt, from, {}};
  const auto like = t.on_record.find(*read);
  if (like != t.on_record.end() && like->second != from)
    out.facts.emplace_back(kSameAsNode, s.site.nodes[like->second.v].name);
  else
    out.facts = *read;
  // Whoever was said to be like this node would change with it.
  std::erase_if(t.on_record, [&](const auto& r) { return r.second == from; });
  t.nodes[from] = std::make_shared<const Facts>(std::move(*read));
  return out;
}

void JobEnvironments::taken(const JobDescribed& b) {
  const std::lock_guard hold(lock_);
  const auto it = told_.find(b.job);
  const bool whole = b.facts.size() != 1 || b.facts[0].first != kSameAsNode;
  if (it == told_.end() || it->second.attempt != b.attempt || !whole || it->second.on_record.size() >= kFullMax) return;
  const auto node = it->second.nodes.find(b.node);
  if (node != it->second.nodes.end() && *node->second == b.facts) it->second.on_record.try_emplace(b.facts, b.node);
}

void JobEnvironments::lost(const JobDescribed& b) {
  const std::lock_guard hold(lock_);
  const auto it = told_.find(b.job);
  if (it != told_.end() && it->second.attempt == b.attempt) it->second.nodes.erase(b.node);
}

}  // namespace muster
