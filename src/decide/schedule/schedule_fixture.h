// Small clusters and queues for the tests of the queue engine.
#pragma once
#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

#include "decide/schedule/backfill.h"

namespace muster::decide {

inline Layout small_layout(std::uint32_t nodes, std::uint32_t gpus, std::uint32_t per_leaf) {
  Layout l;
  for (std::uint32_t n = 0; n < nodes; ++n) l.nodes.push_back({n, n / per_leaf, 0, gpus, 0});
  l.models = {"any"};
  return l;
}

inline Time at_s(double s) { return Time{} + from_seconds(s); }

inline Waiter waiter(std::uint32_t id, std::uint32_t pieces, std::uint32_t gpus, double run_s, double queued_s = 0) {
  Waiter w;
  w.id = JobId{id, 0};
  w.shape.pieces = pieces;
  w.shape.gpus = gpus;
  w.gpus = pieces * gpus;
  w.order = id;
  w.queued = at_s(queued_s);
  w.expected = from_seconds(run_s);
  return w;
}

// Jobs that hold GPUs, in the order that backfill() wants. Choices stay where they are while the fixture lives.
class Holding {
 public:
  explicit Holding(Tree& tree) : tree_(tree) {}

  bool start(std::uint32_t id, const Shape& shape, double end_s) {
    auto c = tree_.find(shape);
    if (!c) return false;
    tree_.take(*c, shape.milli);
    add(JobId{id, 0}, std::move(*c), at_s(end_s));
    return true;
  }
  void add(JobId id, Choice choice, Time end) { held_.push_back({id, std::make_unique<Choice>(std::move(choice)), end}); }
  // Gives back all that has ended by now.
  void end_until(Time now) {
    std::erase_if(held_, [&](const Held& h) {
      if (h.end > now) return false;
      tree_.give(*h.where);
      return true;
    });
  }
  Time next_end() const {
    Time t = kNever;
    for (const Held& h : held_) t = std::min(t, h.end);
    return t;
  }
  std::vector<Runner> runners() const {
    std::vector<Runner> out;
    for (const Held& h : held_) out.push_back({h.id, h.end, h.where.get(), 1000});
    std::sort(out.begin(), out.end(),
              [](const Runner& a, const Runner& b) { return std::tie(a.expected_end, a.id) < std::tie(b.expected_end, b.id); });
    return out;
  }
  std::size_t size() const { return held_.size(); }

 private:
  struct Held {
    JobId id;
    std::unique_ptr<Choice> where;
    Time end;
  };
  Tree& tree_;
  std::vector<Held> held_;
};

}  // namespace muster::decide
