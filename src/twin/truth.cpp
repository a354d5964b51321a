#include "twin/truth.h"

#include <algorithm>

namespace muster::twin {
namespace {

std::size_t index(Doing d) { return static_cast<std::size_t>(d); }
bool names_it(JobId after, JobId id) { return after == id || (after.array_index == 0 && after.number == id.number); }

}  // namespace

Truth::Truth(std::uint32_t nodes, std::int64_t milli_per_node, Time now)
    : milli_per_node_(milli_per_node), began_(now), passed_(now), spots_(nodes, Spot{Place::free, milli_per_node, now}) {
  free_ = milli_per_node * nodes;
}

// Free GPUs up to now, by whether somebody waited for so many.
void Truth::pass(Time now) {
  const Wide lasted = (now - passed_).ns;
  const std::int64_t wanted = std::min(free_, waiting_);
  all_[index(Doing::idle_fragmented)] += lasted * wanted;
  all_[index(Doing::idle_no_demand)] += lasted * (free_ - wanted);
  passed_ = now;
}

// What no gang had of a node that was not free: free ones are counted all together.
void Truth::leave(NodeId n, Time now) {
  Spot& x = spots_[n.v];
  const Wide amount = static_cast<Wide>(x.free_milli) * (now - x.since).ns;
  if (x.place == Place::down) all_[index(Doing::down)] += amount;
  if (x.place == Place::drained) all_[index(Doing::drained)] += amount;
  x.since = now;
}

void Truth::node(NodeId n, Place place, std::int64_t had_milli, Time now) {
  pass(now);
  leave(n, now);
  Spot& x = spots_[n.v];
  if (x.place == Place::free) free_ -= x.free_milli;
  x.place = place;
  x.free_milli = milli_per_node_ - had_milli;
  if (x.place == Place::free) free_ += x.free_milli;
}

void Truth::arrived(JobId id, const std::vector<JobId>& after, std::int64_t wanted_milli, Time now) {
  pass(now);
  Waiter w;
  w.milli = wanted_milli;
  w.waits = true;
  for (const JobId a : after) {
    for (const auto& [other, x] : waiters_) {
      if (other != id && names_it(a, other)) w.blockers.insert(other);
    }
    w.hopeless = w.hopeless || std::any_of(failed_.begin(), failed_.end(), [&](JobId f) { return names_it(a, f); });
  }
  count(w, 1);
  waiters_[id] = std::move(w);
}

void Truth::queued(JobId id, bool waits, Time now) {
  const auto it = waiters_.find(id);
  if (it == waiters_.end() || it->second.waits == waits) return;
  pass(now);
  count(it->second, -1);
  it->second.waits = waits;
  count(it->second, 1);
}

void Truth::gone(JobId id, bool completed, Time now) {
  pass(now);
  const auto it = waiters_.find(id);
  if (it == waiters_.end()) return;
  count(it->second, -1);
  waiters_.erase(it);
  if (!completed) failed_.insert(id);
  for (auto& [other, w] : waiters_) {
    if (w.blockers.count(id) == 0) continue;
    count(w, -1);
    w.blockers.erase(id);
    w.hopeless = w.hopeless || !completed;
    count(w, 1);
  }
}

void Truth::began(JobId id, std::int64_t milli, Time now) { runs_[id] = {milli, now, {}, {}}; }

void Truth::did(JobId id, Doing what, Time now) {
  const auto it = runs_.find(id);
  if (it == runs_.end()) return;
  it->second.open_ns[index(what)] += (now - it->second.since).ns;
  it->second.since = now;
}

void Truth::launched(JobId id, Time now) {
  did(id, Doing::starting, now);
  safe(id, -1);
}

void Truth::worked(JobId id, std::int64_t due_ns, std::int64_t work_ns, Time now) {
  const auto it = runs_.find(id);
  if (it == runs_.end()) return;
  Run& r = it->second;
  const std::int64_t lasted = (now - r.since).ns;
  const std::int64_t due = std::min(due_ns, lasted);  // a nanosecond of rounding
  r.open_ns[index(Doing::stalled)] += lasted - due;
  if (due > 0) r.work.push_back({work_ns, due});
  r.since = now;
}

void Truth::safe(JobId id, std::int64_t work_ns) {
  const auto it = runs_.find(id);
  if (it == runs_.end()) return;
  Run& r = it->second;
  std::int64_t useful = 0;
  while (!r.work.empty() && r.work.front().to_ns <= work_ns) {
    useful += r.work.front().took_ns;
    r.work.pop_front();
  }
  all_[index(Doing::useful)] += static_cast<Wide>(useful) * r.milli;
  for (std::size_t d = 0; d < kDoings; ++d) {
    all_[d] += static_cast<Wide>(r.open_ns[d]) * r.milli;
    r.open_ns[d] = 0;
  }
}

void Truth::ended(JobId id, Doing what, Time now) {
  did(id, what, now);
  safe(id, -1);
  const auto it = runs_.find(id);
  if (it == runs_.end()) return;
  for (const Work& w : it->second.work) all_[index(Doing::lost)] += static_cast<Wide>(w.took_ns) * it->second.milli;
  runs_.erase(it);
}

TruthSums Truth::sums(Time now) const {
  Truth t = *this;
  t.pass(now);
  for (std::uint32_t n = 0; n < t.spots_.size(); ++n) t.leave(NodeId{n}, now);
  for (const auto& [id, r] : runs_) {
    Wide open = (now - r.since).ns;
    for (const std::int64_t ns : r.open_ns) open += ns;
    for (const Work& w : r.work) open += w.took_ns;
    t.all_[index(Doing::unsettled)] += open * r.milli;
  }
  TruthSums out;
  constexpr std::int64_t kMs = 1'000'000;
  Wide sum = 0;
  for (std::size_t d = 0; d < kDoings; ++d) {
    sum += t.all_[d];
    out.milli_ms[d] = static_cast<std::int64_t>(t.all_[d] / kMs);
  }
  const Wide installed = static_cast<Wide>(milli_per_node_) * static_cast<std::int64_t>(spots_.size()) * (now - began_).ns;
  out.installed = static_cast<std::int64_t>(installed / kMs);
  out.exact = sum == installed;
  return out;
}

}  // namespace muster::twin
