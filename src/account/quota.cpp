#include "account/quota.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "account/charges.h"
#include "base/civil.h"

namespace muster::account {
namespace {

__extension__ using Wide = __int128;

// The part of an amount that falls into [from, to).
std::int64_t part_of(std::int64_t amount, const Use& u, Time from, Time to) {
  const Time first = std::max(from, u.from), last = std::min(to, u.to);
  if (first >= last) return 0;
  return static_cast<std::int64_t>(static_cast<Wide>(amount) * (last - first).ns / (u.to - u.from).ns);
}

using OfAccount = std::map<std::string, std::vector<const Use*>>;

std::int64_t used_in(const std::vector<const Use*>& uses, const Allocation& a, Time from, Time to) {
  std::int64_t sum = 0;
  for (const Use* u : uses) {
    if (!a.money_micro) sum += part_of(u->milli_ms, *u, from, to);
    if (a.money_micro && u->currency == a.currency) sum += part_of(u->money_micro, *u, from, to);
  }
  return sum;
}

double per_day(const std::vector<const Use*>& uses, const Allocation& a, Time known_from, Time at, int days_back) {
  const Time from = std::max(known_from, at - days(days_back));
  const double lasted = (at - from).seconds() / 86'400;
  return lasted <= 0 ? 0 : static_cast<double>(used_in(uses, a, from, at)) / lasted;
}

// When what is left is gone at that rate; none: not within a hundred years.
std::optional<Time> gone_at(std::int64_t left, double rate, Time at) {
  constexpr double kLongest_days = 36'525;
  if (left <= 0) return at;
  const double in_days = rate > 0 ? static_cast<double>(left) / rate : kLongest_days;
  return in_days >= kLongest_days ? std::nullopt : std::optional(at + from_seconds(in_days * 86'400));
}

Standing standing_of(const Burn& b, Time at) {
  const Allocation& a = b.granted;
  if (b.left() < 0) return Standing::overspent;
  if (at >= a.to) return Standing::over;
  if (at < a.from) return Standing::not_begun;
  const bool fast = b.out_first && *b.out_first < a.to, slow = b.out_last && *b.out_last < a.to;
  return slow ? Standing::runs_out : fast ? Standing::may_run_out : Standing::within;
}

Burn burn_of(const Allocation& a, const std::vector<const Use*>& uses, Time known_from, Time at) {
  Burn b;
  b.granted = a;
  b.grant = a.money_micro ? *a.money_micro : a.gpu_milli_ms.value_or(0);
  b.used = used_in(uses, a, a.from, std::min(a.to, at));
  b.period_gone = std::clamp((at - a.from).seconds() / (a.to - a.from).seconds(), 0.0, 1.0);
  b.per_day_7 = per_day(uses, a, known_from, at, 7);
  b.per_day_28 = per_day(uses, a, known_from, at, 28);
  const Time begin = std::max(at, a.from);
  b.out_first = gone_at(b.left(), std::max(b.per_day_7, b.per_day_28), begin);
  b.out_last = gone_at(b.left(), std::min(b.per_day_7, b.per_day_28), begin);
  b.standing = standing_of(b, at);
  return b;
}

// What of an account's use lies in no allocation's time.
std::int64_t outside(const std::vector<const Use*>& uses, std::vector<const Allocation*> own, Time at) {
  std::sort(own.begin(), own.end(), [](const Allocation* a, const Allocation* b) { return a->from < b->from; });
  std::int64_t sum = 0;
  for (const Use* u : uses) {
    std::int64_t in = 0;
    Time done = u->from;
    for (const Allocation* a : own) {
      const Time from = std::max(a->from, done), to = std::min(a->to, at);
      in += part_of(u->milli_ms, *u, from, to);
      done = std::max(done, to);
    }
    sum += part_of(u->milli_ms, *u, u->from, at) - in;
  }
  return sum;
}

}  // namespace

std::vector<Use> use_of(const SiteRuns& runs, Time at) {
  constexpr std::int64_t kNsOfMs = 1'000'000;
  std::vector<Use> out;
  for (const SiteRun& r : runs.runs()) {
    if (r.started_ms == kNoTime || r.gpus_milli <= 0 || (is_over(r.state) && r.ended_ms == kNoTime)) continue;
    const std::int64_t at_ms = at.ns / kNsOfMs, to_ms = r.ended_ms != kNoTime ? std::min(r.ended_ms, at_ms) : at_ms;
    if (to_ms <= r.started_ms) continue;
    out.push_back({std::string(runs.text(r.account)),
                   Time{r.started_ms * kNsOfMs},
                   Time{to_ms * kNsOfMs},
                   r.gpus_milli * (to_ms - r.started_ms),
                   0,
                   {}});
  }
  return out;
}

UseUnknown unknown_use(const SiteRuns& runs) {
  UseUnknown out;
  for (const SiteRun& r : runs.runs()) {
    if (r.gpus_milli == 0) continue;
    if (r.started_ms == kNoTime) {
      out.start += began_unknown(r) ? 1 : 0;
    } else if (r.gpus_milli < 0) {
      ++out.gpus;
    } else if (r.ended_ms == kNoTime) {
      out.end += is_over(r.state) ? 1 : 0;
    } else {
      out.backwards += r.ended_ms < r.started_ms ? 1 : 0;
    }
  }
  return out;
}

std::vector<Use> use_of(const std::vector<Charge>& charges) {
  std::vector<Use> out;
  for (const Charge& c : charges) out.push_back({c.account, c.from, c.to, c.milli_ms(), c.amount_micro, c.currency});
  return out;
}

std::vector<Use> use_of(const Flow& f) {
  std::vector<Use> out;
  for (const auto& [key, x] : f.owners) {
    const auto& [owner, cell] = key;
    const Time from = std::max(begin_of(cell.day), f.from), to = std::min(begin_of(cell.day + 1), f.to);
    if (!owner.job || x.allocated() == 0 || from >= to) continue;
    const Tariff& t = f.tariffs[cell.tariff];
    const auto price = static_cast<std::int64_t>(std::llround(std::clamp(t.price, 0.0, 1e6) * 1e6));
    out.push_back({owner.account, from, to, x.allocated(), amount_of(x.allocated(), price, 0), price > 0 ? t.currency : ""});
  }
  return out;
}

Quotas burn_down(const std::vector<Allocation>& allocations, std::span<const Use> uses, Time at) {
  Quotas out;
  out.at = at;
  out.known_from = at;
  OfAccount of;
  for (const Use& u : uses) {
    if (u.to <= u.from || u.from >= at) continue;
    of[u.account].push_back(&u);
    out.known_from = std::min(out.known_from, u.from);
  }
  std::map<std::string, std::vector<const Allocation*>> own;
  for (const Allocation& a : allocations) {
    out.burns.push_back(burn_of(a, of[a.account], out.known_from, at));
    own[a.account].push_back(&a);
  }
  std::stable_sort(out.burns.begin(), out.burns.end(), [](const Burn& a, const Burn& b) {
    return std::pair(a.granted.account, a.granted.from) < std::pair(b.granted.account, b.granted.from);
  });
  for (const auto& [account, its] : of) {
    const std::int64_t rest = outside(its, own[account], at);
    if (rest > 0) out.ungranted.push_back({account, rest, !own[account].empty()});
  }
  std::stable_sort(out.ungranted.begin(), out.ungranted.end(),
                   [](const Ungranted& a, const Ungranted& b) { return a.milli_ms > b.milli_ms; });
  return out;
}

}  // namespace muster::account
