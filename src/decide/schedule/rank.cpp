#include "decide/schedule/rank.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/math.h"

namespace muster::decide {
namespace {

Duration waited(const Waiter& w, Time now) { return (now - w.queued) + w.waited_before; }

// Gangs have a shorter limit: a seventh, or so, less for each doubling. There are few of them, and room for many GPUs at once
// does not come by itself, as that for one does.
Duration limit_of(const Waiter& w, const RankPolicy& p) {
  constexpr std::int64_t kWeight = 8;
  const std::int64_t doublings = std::bit_width(std::max(w.gpus, 1U)) - 1;
  return Duration{p.wait_limit.ns / (kWeight + doublings) * kWeight};
}

double seconds_of(Time t) { return static_cast<double>(t.ns) / 1e9; }

double power(double x, double y) {
  if (y == 0) return 1;
  if (y == 1) return x;
  return y == 0.5 ? det_sqrt(x) : det_pow(x, y);
}

// Who steps before everybody: who was promised his turn, and who has been overdue for long, whatever his priority. As long for
// everybody, or those due later would step before those due earlier.
constexpr std::int64_t kPatience = 3;
enum class Tier : std::uint8_t { first, usual, paused };
Tier tier_of(Band b, const Waiter& w, Time now, const RankPolicy& p) {
  if (b == Band::paused) return Tier::paused;
  const bool long_overdue = b == Band::overdue && waited(w, now) > limit_of(w, p) + p.wait_limit * (kPatience - 1);
  return b == Band::returning || long_overdue ? Tier::first : Tier::usual;
}

// Those whose turn is due stand together, and so do the open and the late.
int group_of(Band b) {
  switch (b) {
    case Band::returning:
    case Band::overdue: return 0;
    case Band::urgent: return 1;
    case Band::open:
    case Band::late: return 2;
    case Band::paused: break;
  }
  return 3;
}

double open_score(const Waiter& w, Time now, const RankPolicy& p) {
  if (p.in_order) return 0;
  double score = std::max(w.expected.seconds(), 1.0) * power(std::max(w.gpus, 1U), p.gpus_weight);
  if (w.fairness > 0) score *= power(w.fairness, p.fairness_weight);
  if (p.value_scale > 0 && w.value > 0) score /= 1 + w.value / p.value_scale;
  if (p.wait_halving.ns > 0) score *= det_exp(-0.69314718055994530942 * waited(w, now).seconds() / p.wait_halving.seconds());
  return score;
}

}  // namespace

Band band_of(const Waiter& w, Time now, const RankPolicy& policy) {
  if (w.promised) return Band::returning;
  if (w.paused_until.ns != INT64_MIN) return now >= w.paused_until ? Band::returning : Band::paused;
  if (waited(w, now) > limit_of(w, policy)) return Band::overdue;
  if (w.deadline == kNever) return Band::open;
  const Duration slack = w.deadline - now - w.expected;
  if (slack.ns < 0) return w.value > 0 ? Band::open : Band::late;
  return slack < policy.slack_urgent ? Band::urgent : Band::open;
}

double score_of(const Waiter& w, Time now, const RankPolicy& policy) {
  switch (band_of(w, now, policy)) {
    case Band::returning:
    case Band::paused: return seconds_of(w.promised ? w.queued : w.paused_until);
    case Band::overdue: return seconds_of(w.queued - w.waited_before + limit_of(w, policy));
    case Band::urgent: return (w.deadline - now - w.expected).seconds();
    case Band::open:
    case Band::late: break;
  }
  return open_score(w, now, policy);
}

std::vector<Ranked> rank(std::span<const Waiter> waiting, Time now, const RankPolicy& policy) {
  std::vector<Ranked> out;
  out.reserve(waiting.size());
  for (std::uint32_t i = 0; i < waiting.size(); ++i) {
    out.push_back({i, band_of(waiting[i], now, policy), score_of(waiting[i], now, policy)});
  }
  std::sort(out.begin(), out.end(), [&](const Ranked& a, const Ranked& b) {
    const Waiter& x = waiting[a.index];
    const Waiter& y = waiting[b.index];
    const Tier ta = tier_of(a.band, x, now, policy);
    const Tier tb = tier_of(b.band, y, now, policy);
    if (ta != tb) return ta < tb;
    if (ta == Tier::usual && x.entitled != y.entitled) return x.entitled;
    if (ta == Tier::usual && x.priority != y.priority) return x.priority > y.priority;
    const int ga = group_of(a.band);
    const int gb = group_of(b.band);
    if (ga != gb) return ga < gb;
    if (ga != 0 && a.band != b.band) return a.band < b.band;
    return std::tie(a.score, x.order, x.id) < std::tie(b.score, y.order, y.id);
  });
  return out;
}

std::string why(const Waiter& w, Time now, const RankPolicy& policy) {
  switch (band_of(w, now, policy)) {
    case Band::returning:
      if (w.promised) return "others were stopped to make room for it";
      return "returning: it stepped aside for others, and its pause is over";
    case Band::paused:
      return fmt::format("paused: it stepped aside for others, for {} more", render_duration(w.paused_until - now));
    case Band::overdue:
      return fmt::format("overdue: has waited {}, the limit is {}", render_duration(waited(w, now)),
                         render_duration(limit_of(w, policy)));
    case Band::urgent:
      return fmt::format("urgent: {} of slack before its deadline", render_duration(w.deadline - now - w.expected));
    case Band::late: return "late: its deadline cannot be met any more";
    case Band::open: break;
  }
  const std::string what = w.shape.milli < 1000 ? fmt::format("{} thousandths of a GPU", w.shape.milli)
                                                : fmt::format("{} GPU{}", w.gpus, w.gpus == 1 ? "" : "s");
  std::string out = fmt::format("{} for about {}", what, render_duration(w.expected));
  if (w.priority != 0) out += fmt::format(", priority {}", w.priority);
  if (policy.fairness_weight > 0 && w.fairness != 1)
    out += fmt::format(", weighed by {:.2f} for its queue's place in the order of fairness", w.fairness);
  return out;
}

}  // namespace muster::decide
