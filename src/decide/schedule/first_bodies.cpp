// First, simple bodies of the queue engine, so that the controller links: QUEUE deletes this file when rank.cpp, backfill.cpp, estimate.cpp, forecast.cpp, pause.cpp land.
#include <fmt/core.h>
#include <set>
#include "base/math.h"
#include "decide/schedule/estimate.h"
#include "decide/schedule/forecast.h"
#include "decide/schedule/pause.h"
namespace muster::decide {
Estimate estimate_run(const Histories& h, std::string_view user, std::string_view job_name, Duration limit, const EstimatePolicy& p) {
  const std::string key = std::string(user) + "\n" + std::string(name_stem(job_name));
  int i = 0;
  for (const std::string& k : {key, std::string(user)}) {
    const auto it = h.of.find(k);
    if (it != h.of.end() && it->second.total >= p.runs_min) {
      Duration d = it->second.quantile(p.quantile);
      if (limit.ns > 0 && limit < d) d = limit;
      return {d, i == 0 ? EstimateFrom::name : EstimateFrom::user, it->second.total};
    }
    ++i;
  }
  return {limit.ns > 0 ? limit : p.unknown, EstimateFrom::limit, 0};
}
Time expected_end(Time started, Duration estimate, Time now) {
  Time end = started + estimate;
  while (end <= now) { estimate = estimate + estimate; end = started + estimate; }
  return end;
}
Band band_of(const Waiter& w, Time now, const RankPolicy& p) {
  if (w.paused_until.ns != INT64_MIN) return now >= w.paused_until ? Band::returning : Band::paused;
  if (now - w.queued + w.waited_before > p.wait_limit) return Band::overdue;
  if (w.deadline != kNever && w.deadline - now - w.expected < p.slack_urgent) return Band::urgent;
  return Band::open;
}
double score_of(const Waiter& w, Time, const RankPolicy&) { return w.expected.seconds() * w.gpus * w.fairness; }
std::vector<Ranked> rank(std::span<const Waiter> waiting, Time now, const RankPolicy& policy) {
  std::vector<Ranked> out;
  for (std::uint32_t i = 0; i < waiting.size(); ++i) out.push_back({i, band_of(waiting[i], now, policy), score_of(waiting[i], now, policy)});
  std::sort(out.begin(), out.end(), [&](const Ranked& a, const Ranked& b) {
    const Waiter &x = waiting[a.index], &y = waiting[b.index];
    if (a.band != b.band) return a.band < b.band;
    if (a.band == Band::open && x.priority != y.priority) return x.priority > y.priority;
    if (a.band == Band::open && a.score != b.score) return a.score < b.score;
    return x.order < y.order;
  });
  return out;
}
std::string why(const Waiter& w, Time now, const RankPolicy& p) { return std::string(name(band_of(w, now, p))); }
Pass backfill(Tree& tree, std::span<const Waiter> waiting, std::span<const Ranked> order, std::span<const Runner> running, Time now, const BackfillPolicy& policy) {
  Pass p;
  std::set<Shape> failed;
  std::set<NodeId> reserved;
  Time first = kNever;
  std::uint32_t looked = 0;
  for (const Ranked& r : order) {
    if (r.band == Band::paused) continue;
    if (looked++ >= policy.depth) break;
    const Waiter& w = waiting[r.index];
    if (failed.count(w.shape) == 0) {
      ++p.tries;
      auto c = tree.find(w.shape);
      bool ok = c.has_value();
      if (ok && now + w.expected > first) for (NodeId n : c->nodes) if (reserved.count(n)) ok = false;
      if (ok) {
        tree.take(*c, w.shape.milli);
        p.starts.push_back({w.id, r.index, std::move(*c), !p.reservations.empty()});
        continue;
      }
      failed.insert(w.shape);
    }
    if (p.reservations.size() < policy.reserve) {
      Reservation res;
      res.id = w.id; res.index = r.index;
      const std::size_t m = tree.mark();
      for (const Runner& x : running) {
        tree.give(*x.where, x.milli);
        if (!tree.may_fit(w.shape)) continue;
        if (auto c = tree.find(w.shape)) { res.at = x.expected_end; res.choice = std::move(*c); break; }
      }
      tree.rollback(m);
      for (NodeId n : res.choice.nodes) reserved.insert(n);
      if (res.at < first) first = res.at;
      p.reservations.push_back(std::move(res));
    }
  }
  return p;
}
std::vector<Forecast> forecast(Tree&, std::span<const Waiter> waiting, std::span<const Ranked> order, std::span<const Runner>, const Pass& pass, Time, const ForecastPolicy&) {
  std::vector<Forecast> out;
  for (const Ranked& r : order) { Forecast f; f.id = waiting[r.index].id; f.index = r.index;
    for (const auto& x : pass.reservations) if (x.id == f.id) { f.at = x.at; f.reserved = true; f.after = x.after; }
    bool s = false; for (const auto& x : pass.starts) s |= x.id == f.id;
    if (!s) out.push_back(f); }
  return out;
}
Pauses choose_pauses(Tree&, std::span<const Waiter>, std::span<const Ranked>, std::span<const Pausable>, Time, const PausePolicy&) { return {}; }
}
