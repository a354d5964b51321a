#include "decide/schedule/forecast.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace muster::decide {
namespace {

std::uint32_t gpus_of(const Choice& c) {
  std::uint32_t n = 0;
  for (const std::uint16_t s : c.slots) n += static_cast<std::uint32_t>(std::popcount(s));
  return n;
}

// Free GPUs over time, as steps: the count holds from its time to the next one's.
class Profile {
 public:
  Profile(Time now, std::int64_t free) : steps_{{now, free}} {}

  void add(Time from, Time to, std::int64_t gpus) {
    const std::size_t a = cut(from);
    const std::size_t b = to == kNever ? steps_.size() : cut(to);
    for (std::size_t i = a; i < b; ++i) steps_[i].free += gpus;
  }
  // The first moment from which so many are free for so long; kNever: none.
  Time first(std::int64_t gpus, Duration run) const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].free < gpus) continue;
      const Time end = steps_[i].at + run;
      std::size_t j = i + 1;
      while (j < steps_.size() && steps_[j].at < end && steps_[j].free >= gpus) ++j;
      if (j == steps_.size() || steps_[j].at >= end) return steps_[i].at;
      i = j - 1;
    }
    return kNever;
  }

 private:
  struct Step {
    Time at;
    std::int64_t free;
  };
  // Index of the step that begins at t, made if need be.
  std::size_t cut(Time t) {
    const auto it = std::lower_bound(steps_.begin(), steps_.end(), t, [](const Step& s, Time x) { return s.at < x; });
    const auto i = static_cast<std::size_t>(it - steps_.begin());
    if (it != steps_.end() && it->at == t) return i;
    if (i == 0) return 0;  // before now: from the beginning
    steps_.insert(it, {t, steps_[i - 1].free});
    return i;
  }

  std::vector<Step> steps_;
};

// What a smaller wish would change, now.
class Remedies {
 public:
  Remedies(Tree& tree, std::span<const Waiter> waiting, const Pass& pass, Time now)
      : tree_(tree), waiting_(waiting), pass_(pass), now_(now) {}

  std::vector<Sooner> of(const Waiter& w) {
    std::vector<Sooner> out;
    shorter(w, out);
    fewer(w, out);
    lower(w, out);
    model(w, out);
    return out;
  }

 private:
  // Whether it would start now as `shape`, leaving reservations of others before `until` alone.
  bool fits(const Waiter& w, const Shape& shape, Time until) {
    if (!tree_.may_fit(shape)) return false;
    const std::size_t mark = tree_.mark();
    for (const Reservation& r : pass_.reservations) {
      if (r.id == w.id || r.at >= until) continue;
      for (std::size_t i = 0; i < r.choice.nodes.size(); ++i) {
        const auto free = static_cast<std::uint16_t>(tree_.free_slots(r.choice.nodes[i]) & r.choice.slots[i]);
        if (free != 0) tree_.take(r.choice.nodes[i], free);
      }
    }
    const bool yes = tree_.find(shape).has_value();
    tree_.rollback(mark);
    return yes;
  }
  bool fits(const Waiter& w, const Shape& shape) { return fits(w, shape, now_ + w.expected); }

  void shorter(const Waiter& w, std::vector<Sooner>& out) {
    Time best{INT64_MIN};
    for (const Reservation& r : pass_.reservations) {
      if (r.id == w.id || r.at == kNever || r.at >= now_ + w.expected || r.at <= now_ || r.at <= best) continue;
      if (fits(w, w.shape, r.at)) best = r.at;
    }
    if (best.ns == INT64_MIN) return;
    const Duration run = best - now_;
    out.push_back({Remedy::shorter, run.seconds(), Level::core,
                   fmt::format("a run time of {} instead of {} would let it start now, ahead of a reservation",
                               render_duration(run), render_duration(w.expected))});
  }

  void fewer(const Waiter& w, std::vector<Sooner>& out) {
    const bool by_piece = w.shape.pieces > 1;
    const std::uint32_t all = by_piece ? w.shape.pieces : w.shape.gpus;
    std::uint32_t low = 0, high = all > 0 ? all - 1 : 0;  // low fits; fewer always fit where more do
    while (low < high) {
      const std::uint32_t mid = (low + high + 1) / 2;
      Shape s = w.shape;
      (by_piece ? s.pieces : s.gpus) = mid;
      if (by_piece && s.segment > 0 && mid % s.segment != 0) {
        high = mid - 1;
        continue;
      }
      if (fits(w, s))
        low = mid;
      else
        high = mid - 1;
    }
    if (low == 0) return;
    const bool nodes = by_piece && w.shape.gpus == 0;
    out.push_back({Remedy::fewer_gpus, static_cast<double>(low), Level::core,
                   fmt::format("fits now with {} {} instead of {}", low,
                               std::string(nodes      ? "node"
                                           : by_piece ? "piece"
                                                      : "GPU") +
                                   (low == 1 ? "" : "s"),
                               all)});
  }

  void lower(const Waiter& w, std::vector<Sooner>& out) {
    for (auto l = static_cast<std::uint32_t>(w.shape.required) + 1; l <= static_cast<std::uint32_t>(Level::core); ++l) {
      Shape s = w.shape;
      s.required = static_cast<Level>(l);
      if (!fits(w, s)) continue;
      out.push_back({Remedy::lower_level, 0, s.required,
                     fmt::format("with all of it in one {} rather than one {}: starts now", names(Level{})[l],
                                 names(Level{})[static_cast<std::size_t>(w.shape.required)])});
      return;
    }
  }

  void model(const Waiter& w, std::vector<Sooner>& out) {
    if (w.shape.model == kAnyModel) return;
    Shape s = w.shape;
    s.model = kAnyModel;
    if (!fits(w, s)) return;
    out.emplace_back().remedy = Remedy::any_model;
    out.back().words = "any GPU model will do: starts now";
  }

  Tree& tree_;
  std::span<const Waiter> waiting_;
  const Pass& pass_;
  Time now_;
};

std::string words_of(const Forecast& f, Time now, std::size_t place) {
  std::string out;
  if (!f.ever) {
    out = "never: it asks for more than the cluster has";
  } else if (f.at == kNever) {
    out = "no start is in sight";
  } else {
    out = f.at <= now ? std::string("now") : fmt::format("in about {}", render_duration(f.at - now));
  }
  if (!f.after.empty()) {
    out += fmt::format(", after job {}{}", render(f.after.front()),
                       f.after.size() > 1 ? fmt::format(" and {} more", f.after.size() - 1) : "");
  }
  return out + fmt::format("; number {} in the order", place);
}

}  // namespace

std::vector<Forecast> forecast(Tree& tree, std::span<const Waiter> waiting, std::span<const Ranked> order,
                               std::span<const Runner> running, const Pass& pass, Time now, const ForecastPolicy& policy) {
  Profile profile(now, tree.free_gpus());
  for (const Runner& r : running) profile.add(r.expected_end, kNever, gpus_of(*r.where));
  std::set<std::uint32_t> started;
  for (const Start& s : pass.starts) {
    started.insert(s.index);
    profile.add(now + waiting[s.index].expected, kNever, gpus_of(s.choice));
  }
  std::map<std::uint32_t, const Reservation*> reserved;
  for (const Reservation& r : pass.reservations) {
    reserved[r.index] = &r;
    if (r.at != kNever) profile.add(r.at, r.at + waiting[r.index].expected, -static_cast<std::int64_t>(gpus_of(r.choice)));
  }
  Remedies remedies(tree, waiting, pass, now);
  std::vector<Forecast> out;
  std::uint32_t looked = 0;
  for (const Ranked& r : order) {
    if (started.count(r.index) != 0) continue;
    const Waiter& w = waiting[r.index];
    Forecast f;
    f.id = w.id;
    f.index = r.index;
    f.ever = tree.ever_fits(w.shape) || (w.or_else && tree.ever_fits(*w.or_else));
    if (const auto it = reserved.find(r.index); it != reserved.end() && it->second->at != kNever) {
      f.at = it->second->at;
      f.reserved = true;
      f.after = it->second->after;
    } else if (f.ever && looked++ < policy.jobs_max) {
      Time at = profile.first(w.gpus, w.expected);
      if (at != kNever && at - now <= policy.horizon) {
        profile.add(at, at + w.expected, -std::int64_t{w.gpus});
        if (r.band == Band::paused) at = std::max(at, w.paused_until);
        f.at = at;
        for (const Runner& x : running) {
          if (x.expected_end == at && f.after.size() < 4) f.after.push_back(x.id);
        }
      }
    }
    if (f.ever && out.size() < policy.remedies_max) f.sooner = remedies.of(w);
    f.words = words_of(f, now, out.size() + 1);
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace muster::decide
