#include "diagnose/stragglers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>

namespace muster::diagnose {
namespace {

enum class Role : std::uint8_t { compute, send_on, take_on, send_back, take_back, replicas, ends, stages };

Role role_of(const std::string& type) {
  if (type == "forward-send") return Role::send_on;
  if (type == "forward-recv") return Role::take_on;
  if (type == "backward-send") return Role::send_back;
  if (type == "backward-recv") return Role::take_back;
  if (type == "params-all-gather" || type == "grads-reduce-scatter") return Role::replicas;
  if (type == "embedding-grads-all-reduce") return Role::ends;
  if (type == "optimizer-clip-main-grad") return Role::stages;  // the norm of all gradients
  return Role::compute;
}
bool is_pair(Role r) { return r >= Role::send_on && r <= Role::take_back; }

constexpr std::uint32_t kAlone = UINT32_MAX;

// What makes operations of several workers one exchange.
struct Exchange {
  Role role = Role::compute;
  std::uint16_t type = 0;
  std::uint32_t step = 0, x = 0, y = 0;
  std::int32_t seq = 0;

  bool operator==(const Exchange&) const = default;
  struct Hash {
    std::size_t operator()(const Exchange& e) const {
      const std::uint64_t where = (std::uint64_t{e.step} << 32) ^ (std::uint64_t{e.x} << 16) ^ e.y;
      const std::uint64_t what =
          (std::uint64_t{e.type} << 40) ^ (static_cast<std::uint64_t>(e.role) << 32) ^ std::uint32_t(e.seq);
      return (where * 0x9e3779b97f4a7c15ULL) ^ ((what + 1) * 0xc2b2ae3d27d4eb4fULL);
    }
  };
};

// The job's operations with who waits for whom, in an order in which they can be played.
class Replay {
 public:
  explicit Replay(const OpTrace& t) : t_(t) {
    for (const std::string& type : t.types) roles_.push_back(role_of(type));
    group();
    batch();
  }

  // An operation as it is played: all that is asked of it, side by side.
  struct Played {
    double own, usual;  // seconds
    std::uint32_t group, dp, stage;
    std::uint16_t type;
  };

  Result<void> order();

  // Mean over steps of `n` replays, in the k-th of which operations take what `length(Played, k)` says. Several are played at a
  // time: finding the next operation takes longer than adding its length.
  template <class F>
  std::vector<double> play(std::size_t n, const F& length) {
    std::vector<double> out;
    for (std::size_t from = 0; from < n; from += kLanes) {
      std::fill(step_end_.begin(), step_end_.end(), Lanes{});
      std::fill(until_.begin(), until_.end(), Lanes{});
      std::fill(all_there_.begin(), all_there_.end(), Lanes{});
      play_lanes([&](const Played& op, std::size_t lane) { return length(op, from + lane); });
      for (std::size_t lane = 0; lane < kLanes && out.size() < n; ++lane) {
        double sum = 0;
        for (const Lanes& s : step_end_) sum += s[lane];
        out.push_back(sum / static_cast<double>(std::max<std::size_t>(1, step_end_.size())));
      }
    }
    return out;
  }
  double measured() const {
    double sum = 0;
    for (const auto& [step, span] : spans_) sum += span.second - span.first;
    return sum / static_cast<double>(std::max<std::size_t>(1, spans_.size()));
  }

 private:
  struct Batch {
    std::uint32_t from, to;  // in sorted_
    std::uint32_t before;    // on the same worker in the same step; kAlone: the first
    std::uint32_t worker;    // in a step of its own
    std::uint32_t step;      // dense
  };
  struct Event {
    std::uint32_t batch;
    bool begins;
  };

  static constexpr std::size_t kLanes = 8;
  using Lanes = std::array<double, kLanes>;
  static void latest(Lanes& x, const Lanes& y) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) x[lane] = std::max(x[lane], y[lane]);
  }

  void group();
  void batch();

  template <class F>
  void play_lanes(const F& length) {
    for (const Event& e : events_) {
      const Batch& b = batches_[e.batch];
      if (e.begins) {
        for (std::uint32_t i = b.from; i < b.to; ++i) {
          const std::uint32_t g = played_[i].group;
          if (g != kAlone) latest(all_there_[g], until_[b.worker]);
        }
        continue;
      }
      // All that its exchanges wait for have begun before it ends.
      Lanes end{};
      for (std::uint32_t i = b.from; i < b.to; ++i) {
        const Played& op = played_[i];
        Lanes until = op.group == kAlone ? until_[b.worker] : all_there_[op.group];
        for (std::size_t lane = 0; lane < kLanes; ++lane) until[lane] += length(op, lane);
        latest(end, until);
      }
      until_[b.worker] = end;
      latest(step_end_[b.step], end);
    }
  }

  const OpTrace& t_;
  std::vector<Role> roles_;
  std::vector<std::uint32_t> group_of_, batch_of_, sorted_;
  std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<double> own_, usual_;
  std::vector<Played> played_;  // as sorted_
  std::vector<Batch> batches_;
  std::vector<Event> events_;
  std::vector<Lanes> step_end_;
  std::vector<Lanes> until_;      // by worker: when it ended what it did last
  std::vector<Lanes> all_there_;  // by group: when the last of it has come
  std::map<std::uint32_t, std::pair<double, double>> spans_;
};

// What is one exchange, and how long it takes once all have come to it. Others are as long as they were.
void Replay::group() {
  std::unordered_map<Exchange, std::uint32_t, Exchange::Hash> known;
  known.reserve(t_.ops.size());
  group_of_.assign(t_.ops.size(), kAlone);
  own_.resize(t_.ops.size());
  for (std::uint32_t i = 0; i < t_.ops.size(); ++i) {
    const JobOp& o = t_.ops[i];
    const Role role = roles_[o.type];
    own_[i] = o.length_s;
    auto [at, to] = spans_.try_emplace(o.step, std::pair{o.start_s, o.end_s()});
    at->second = {std::min(at->second.first, o.start_s), std::max(at->second.second, o.end_s())};
    Exchange key;
    switch (role) {
      case Role::compute: continue;
      case Role::send_on: key = {Role::send_on, 0, o.step, o.dp, o.stage, o.seq}; break;
      case Role::take_on: key = {Role::send_on, 0, o.step, o.dp, o.stage - 1, o.seq}; break;
      case Role::send_back: key = {Role::send_back, 0, o.step, o.dp, o.stage, o.seq}; break;
      case Role::take_back: key = {Role::send_back, 0, o.step, o.dp, o.stage + 1, o.seq}; break;
      case Role::replicas: key = {role, o.type, o.step, o.stage, 0, o.seq}; break;
      case Role::ends: key = {role, o.type, o.step, o.dp, 0, o.seq}; break;
      case Role::stages: key = {role, o.type, o.step, o.dp, 0, 0}; break;
    }
    const auto found = known.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
    if (found.second) groups_.emplace_back();
    group_of_[i] = found.first->second;
    groups_[found.first->second].push_back(i);
  }
  for (const auto& members : groups_) {
    double last = -1e300, first_end = 1e300;
    for (const std::uint32_t i : members) {
      last = std::max(last, t_.ops[i].start_s);
      first_end = std::min(first_end, t_.ops[i].end_s());
    }
    for (const std::uint32_t i : members) own_[i] = std::max(0.0, first_end - last);
  }
  // Computing as it is on average, exchanges as they usually are: some of those are long because of what is looked for.
  usual_.resize(t_.types.size(), 0);
  std::vector<std::vector<double>> lengths(t_.types.size());
  for (std::uint32_t i = 0; i < t_.ops.size(); ++i) lengths[t_.ops[i].type].push_back(own_[i]);
  for (std::size_t type = 0; type < lengths.size(); ++type) {
    auto& all = lengths[type];
    if (all.empty()) continue;
    if (roles_[type] == Role::compute) {
      for (const double x : all) usual_[type] += x / static_cast<double>(all.size());
    } else {
      const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
      std::nth_element(all.begin(), middle, all.end());
      usual_[type] = *middle;
      if (all.size() % 2 == 0) usual_[type] = (usual_[type] + *std::max_element(all.begin(), middle)) / 2;
    }
  }
}

// A worker does one thing after the other; sends and receives that begin together are one.
void Replay::batch() {
  // As a number, for the hundred thousand that are sorted by it; what a trace may hold fits.
  const auto worker = [&](std::uint32_t i) {
    return (std::uint64_t{t_.ops[i].step} << 32) | (std::uint64_t{t_.ops[i].dp} << 14) | t_.ops[i].stage;
  };
  std::vector<std::tuple<std::uint64_t, double, std::uint32_t>> order;
  for (std::uint32_t i = 0; i < t_.ops.size(); ++i) order.emplace_back(worker(i), t_.ops[i].start_s, i);
  std::sort(order.begin(), order.end());
  for (const auto& [who, start, i] : order) sorted_.push_back(i);
  batch_of_.resize(t_.ops.size());
  std::uint32_t step = 0, workers = 0;
  for (std::uint32_t k = 0; k < sorted_.size(); ++k) {
    const std::uint32_t i = sorted_[k];
    const bool same_worker = k > 0 && worker(sorted_[k - 1]) == worker(i);
    if (k > 0 && t_.ops[sorted_[k - 1]].step != t_.ops[i].step) ++step;
    if (!same_worker) ++workers;
    const JobOp* before = same_worker ? &t_.ops[sorted_[k - 1]] : nullptr;
    const bool joins = before != nullptr && is_pair(roles_[before->type]) && is_pair(roles_[t_.ops[i].type]) &&
                       before->start_s == t_.ops[i].start_s;
    if (joins) {
      batches_.back().to = k + 1;
    } else {
      const auto previous = static_cast<std::uint32_t>(batches_.size() - 1);
      batches_.push_back({k, k + 1, same_worker ? previous : kAlone, workers - 1, step});
    }
    batch_of_[i] = static_cast<std::uint32_t>(batches_.size() - 1);
  }
  for (const std::uint32_t i : sorted_) {
    const JobOp& o = t_.ops[i];
    played_.push_back({own_[i], usual_[o.type], group_of_[i], o.dp, o.stage, o.type});
  }
  all_there_.resize(groups_.size());
  until_.resize(workers);
  step_end_.resize(sorted_.empty() ? 0 : step + 1);
}

// A batch begins when the one before it has ended, and ends when all that its exchanges wait for have begun.
Result<void> Replay::order() {
  std::vector<std::uint32_t> waits(batches_.size(), 0), ready;
  std::vector<std::vector<std::uint32_t>> frees(batches_.size());
  std::vector<std::uint32_t> next(batches_.size(), kAlone);
  for (std::uint32_t b = 0; b < batches_.size(); ++b) {
    if (batches_[b].before == kAlone) {
      ready.push_back(b);
    } else {
      next[batches_[b].before] = b;
    }
    for (std::uint32_t k = batches_[b].from; k < batches_[b].to; ++k) {
      const std::uint32_t g = group_of_[sorted_[k]];
      if (g == kAlone) continue;
      for (const std::uint32_t member : groups_[g]) {
        if (batch_of_[member] == b) continue;
        ++waits[b];
        frees[batch_of_[member]].push_back(b);
      }
    }
  }
  std::vector<char> begun(batches_.size(), 0);
  std::size_t ended = 0;
  std::vector<std::uint32_t> can_end;
  while (!ready.empty() || !can_end.empty()) {
    if (!ready.empty()) {
      const std::uint32_t b = ready.back();
      ready.pop_back();
      events_.push_back({b, true});
      begun[b] = 1;
      if (waits[b] == 0) can_end.push_back(b);
      for (const std::uint32_t other : frees[b]) {
        if (--waits[other] == 0 && begun[other] != 0) can_end.push_back(other);
      }
      continue;
    }
    const std::uint32_t b = can_end.back();
    can_end.pop_back();
    events_.push_back({b, false});
    ++ended;
    if (next[b] != kAlone) ready.push_back(next[b]);
  }
  if (ended != batches_.size())
    return fail(Code::bad_input,
                "operations wait for each other in a circle: the trace is not of one job, or lacks some of its workers");
  return {};
}

}  // namespace

Result<Stragglers> find_stragglers(const OpTrace& t) {
  Replay r(t);
  if (auto ok = r.order(); !ok) return tl::unexpected(ok.error());
  constexpr double kNothing = 1.02, kMost = 0.5;
  Stragglers out;
  out.measured_s = r.measured();
  using Op = Replay::Played;
  const std::vector<double> ends = r.play(2, [](const Op& o, std::size_t k) { return k == 0 ? o.own : o.usual; });
  out.replayed_s = ends[0];
  out.ideal_s = ends[1];
  const double lost = out.replayed_s - out.ideal_s;
  // What comes back if the operations of each of these were as usual.
  const auto mend = [&](std::vector<Share>& those, const auto& of) {
    const auto then = r.play(
        those.size(), [&](const Op& o, std::size_t k) { return of(o, those[std::min(k, those.size() - 1)]) ? o.usual : o.own; });
    for (std::size_t k = 0; k < those.size(); ++k) those[k].recovered = lost > 0 ? (out.replayed_s - then[k]) / lost : 0;
    std::stable_sort(those.begin(), those.end(), [](const Share& x, const Share& y) { return x.recovered > y.recovered; });
  };
  for (std::uint32_t s = 0; s < t.stages; ++s) out.stages.push_back({0, s, 0});
  mend(out.stages, [](const Op& o, const Share& w) { return o.stage == w.stage; });
  // Workers of the stages that matter: of a large job not all are tried.
  constexpr std::size_t kStagesTried = 2, kWorkersTried = 256;
  for (std::size_t k = 0; k < out.stages.size() && k < kStagesTried; ++k) {
    for (std::uint32_t dp = 0; dp < t.dp && out.workers.size() < kWorkersTried; ++dp)
      out.workers.push_back({dp, out.stages[k].stage, 0});
  }
  mend(out.workers, [](const Op& o, const Share& w) { return o.stage == w.stage && o.dp == w.dp; });
  double exchanges = 0;
  const auto alone = r.play(t.types.size(), [](const Op& o, std::size_t k) { return o.type == k ? o.own : o.usual; });
  for (std::uint16_t type = 0; type < t.types.size(); ++type) {
    out.types.emplace_back(t.types[type], out.ideal_s > 0 ? alone[type] / out.ideal_s : 1);
    if (role_of(t.types[type]) != Role::compute && lost > 0) exchanges += (alone[type] - out.ideal_s) / lost;
  }
  std::stable_sort(out.types.begin(), out.types.end(), [](const auto& x, const auto& y) { return x.second > y.second; });
  if (out.slowdown() < kNothing) {
    out.cause = StragglerCause::none;
  } else if (!out.workers.empty() && out.workers.front().recovered >= kMost) {
    out.cause = StragglerCause::worker;
  } else if (!out.stages.empty() && out.stages.front().recovered >= kMost) {
    out.cause = StragglerCause::stage;
  } else {
    out.cause = exchanges >= kMost ? StragglerCause::network : StragglerCause::spread;
  }
  return out;
}

}  // namespace muster::diagnose
