// Replays on GPU counts alone: first come first served, EASY backfilling, shortest first, and least attained service.
#include <algorithm>
#include <set>

#include "trial/trace_course.h"
#include "trial/trace_engines.h"

namespace muster::trial {
namespace {

// Running jobs by when they are expected to end.
class Expected {
 public:
  explicit Expected(Course& course) : course_(course) {}
  void add(std::uint32_t job) { set_.insert({course_.jobs()[job].expected_end, job}); }
  void remove(std::uint32_t job) { set_.erase({course_.jobs()[job].expected_end, job}); }
  void correct() {
    while (!set_.empty() && set_.begin()->first <= course_.now()) {
      const std::uint32_t job = set_.begin()->second;
      set_.erase(set_.begin());
      course_.correct(job);
      add(job);
    }
  }
  const std::set<std::pair<Time, std::uint32_t>>& all() const { return set_; }

 private:
  Course& course_;
  std::set<std::pair<Time, std::uint32_t>> set_;
};

// Jobs in order of arrival. Those at the head start as they fit; EASY then gives the first that does not a reservation, and
// starts any later one that ends before it or leaves it enough GPUs.
void pass_in_order(Course& c, std::vector<std::uint32_t>& queue, Expected& running, bool backfill) {
  const auto go = [&](std::uint32_t job) {
    c.start(job);
    running.add(job);
  };
  std::size_t head = 0;
  while (head < queue.size() && c.jobs()[queue[head]].gpus <= c.free()) go(queue[head++]);
  queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(head));
  if (!backfill || queue.size() < 2 || c.free() == 0) return;
  Time shadow = kNever;
  std::uint32_t free = c.free(), extra = 0;
  const std::uint32_t need = c.jobs()[queue.front()].gpus;
  for (const auto& [end, job] : running.all()) {
    free += c.jobs()[job].gpus;
    if (free < need) continue;
    shadow = end;
    extra = free - need;
    break;
  }
  std::size_t kept = 1;
  for (std::size_t i = 1; i < queue.size(); ++i) {
    const CourseJob& j = c.jobs()[queue[i]];
    const bool before = c.now() + j.estimate <= shadow;
    if (j.gpus > c.free() || (!before && j.gpus > extra)) {
      queue[kept++] = queue[i];
      continue;
    }
    if (!before) extra -= j.gpus;
    go(queue[i]);
  }
  queue.resize(kept);
}

void pass_shortest_first(Course& c, std::set<std::pair<Duration, std::uint32_t>>& queue) {
  for (auto it = queue.begin(); it != queue.end() && c.free() > 0;) {
    if (c.jobs()[it->second].gpus > c.free()) {
      ++it;
      continue;
    }
    c.start(it->second);
    it = queue.erase(it);
  }
}

}  // namespace

Replay replay_counts(Course& c, ReplayPolicy policy, const std::function<void(double)>& told) {
  std::vector<std::uint32_t> queue;
  std::set<std::pair<Duration, std::uint32_t>> shortest;
  Expected running(c);
  while (c.step()) {
    for (const std::uint32_t j : c.went()) running.remove(j);
    for (const std::uint32_t j : c.came()) {
      if (policy == ReplayPolicy::sjf)
        shortest.insert({c.jobs()[j].estimate, j});
      else
        queue.push_back(j);
    }
    if (policy == ReplayPolicy::sjf) {
      pass_shortest_first(c, shortest);
    } else if (!queue.empty()) {
      running.correct();
      pass_in_order(c, queue, running, policy == ReplayPolicy::easy);
    }
    if (told) told(c.done());
  }
  return c.finish();
}

namespace {

// Least attained service in discrete queues (as Tiresias has them): the fewer GPU-seconds a job has had, the earlier its queue;
// in a queue by arrival. Preemptive; a job makes a checkpoint when it is stopped.
class LeastAttained {
 public:
  explicit LeastAttained(Course& c) : c_(c) {}

  Replay run(const std::function<void(double)>& told) {
    while (c_.step(next_)) {
      for (const std::uint32_t j : c_.went()) active_.erase(std::find(active_.begin(), active_.end(), j));
      for (const std::uint32_t j : c_.came()) active_.push_back(j);
      assign();
      if (told) told(c_.done());
    }
    return c_.finish();
  }

 private:
  static constexpr double kBorders[] = {3250, 7200, 18000};  // GPU-seconds

  int level(std::uint32_t job) const {
    const double attained = served(job);
    int l = 0;
    while (l < 3 && attained >= kBorders[l]) ++l;
    return l;
  }
  double served(std::uint32_t job) const {
    const CourseJob& j = c_.jobs()[job];
    return (j.running ? c_.progress(job) : j.kept).seconds() * j.gpus;
  }

  void assign() {
    std::uint64_t wanted = 0;
    for (const std::uint32_t j : active_) wanted += c_.jobs()[j].gpus;
    next_ = kNever;
    if (wanted <= c_.gpus()) {
      for (const std::uint32_t j : active_) {
        if (!c_.jobs()[j].running) c_.start(j);
      }
      return;
    }
    std::vector<std::pair<int, std::uint32_t>> order;
    for (const std::uint32_t j : active_) order.emplace_back(level(j), j);
    std::sort(order.begin(), order.end());
    std::uint32_t free = c_.gpus();
    std::vector<std::uint32_t> starts;
    std::vector<std::uint32_t> stops;
    for (const auto& [l, job] : order) {
      const CourseJob& j = c_.jobs()[job];
      if (j.gpus <= free) {
        free -= j.gpus;
        if (!j.running) starts.push_back(job);
      } else if (j.running) {
        stops.push_back(job);
      }
    }
    for (const std::uint32_t j : stops) {
      c_.stop(j, true);
      ++c_.jobs()[j].pauses;
    }
    for (const std::uint32_t j : starts) c_.start(j);
    for (const auto& [l, job] : order) {
      const CourseJob& j = c_.jobs()[job];
      if (!j.running || l == 3) continue;
      const double left =
          (kBorders[l] - served(job)) / j.gpus + (j.restart - std::min(j.restart, c_.now() - j.started)).seconds();
      next_ = std::min(next_, c_.now() + from_seconds(std::max(left, 1.0)));
    }
  }

  Course& c_;
  std::vector<std::uint32_t> active_;
  Time next_ = kNever;
};

}  // namespace

Replay replay_least_attained(Course& c, const std::function<void(double)>& told) { return LeastAttained(c).run(told); }

}  // namespace muster::trial
