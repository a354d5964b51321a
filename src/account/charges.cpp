#include "account/charges.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/civil.h"

namespace muster::account {
namespace {

// Products of money and time do not fit into 64 bits.
__extension__ using Wide = __int128;
constexpr std::int64_t kNsOfMs = 1'000'000;

using RunKey = std::tuple<std::string_view, std::string_view, Time>;  // cluster, job, start
struct Piece {
  Time from, to;
};

bool lower_equal(std::string_view lower, std::string_view any) {
  const auto low = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return lower.size() == any.size() &&
         std::equal(lower.begin(), lower.end(), any.begin(), [&](char a, char b) { return a == low(b); });
}

bool is_for(const Rate& r, std::string_view account, std::string_view gpu_type, std::string_view partition) {
  return (r.account.empty() || r.account == account) && (r.gpu_type.empty() || lower_equal(r.gpu_type, gpu_type)) &&
         (r.partition.empty() || r.partition == partition);
}

// Which of two rows that hold comes first.
bool before(const Rate& a, const Rate& b) {
  const auto rank = [](const Rate& r) {
    return std::tuple(!r.account.empty(), !r.gpu_type.empty(), !r.partition.empty(), r.from);
  };
  return rank(a) > rank(b);
}

// What of a run has been charged, in order of time.
std::map<RunKey, std::vector<Piece>> pieces_of(const Ledger& ledger) {
  std::map<RunKey, std::vector<Piece>> out;
  for (const Charge& c : ledger.charges) out[{c.cluster, c.job, c.started}].push_back({c.from, c.to});
  for (auto& [key, pieces] : out) {
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.from < b.from; });
  }
  return out;
}

// What is left of [from, to) without those pieces.
std::vector<Piece> rest_of(Time from, Time to, const std::vector<Piece>& had) {
  std::vector<Piece> out;
  for (const Piece& p : had) {
    if (p.from > from && from < to) out.push_back({from, std::min(p.from, to)});
    from = std::max(from, p.to);
  }
  if (from < to) out.push_back({from, to});
  return out;
}

struct Charger {
  const SiteRuns& runs;
  const std::vector<Rate>& rates;
  Time now;
  std::uint64_t seq;
  Charging out;

  std::string text(std::uint32_t i) const { return std::string(runs.text(i)); }
  void refuse(const SiteRun& r, NotCharged why, Piece p) {
    Uncharged u{why, render_job(r), text(r.account), text(r.user), text(r.partition), text(r.type), p.from, p.to, 0};
    if (p.to > p.from) u.milli_ms = std::max<std::int64_t>(r.gpus_milli, 0) * ((p.to - p.from).ns / kNsOfMs);
    out.not_charged.push_back(std::move(u));
  }
  // One stretch of a run, cut where its price changes.
  void take(const SiteRun& r, Piece p) {
    const auto price_at = [&](Time t) {
      return price_of(rates, runs.text(r.account), runs.text(r.type), runs.text(r.partition), t);
    };
    while (p.from < p.to) {
      const Priced price = price_at(p.from);
      Piece part{p.from, std::min(p.to, price.until)};
      while (part.to < p.to) {
        const Priced next = price_at(part.to);
        if (next.rate != price.rate || next.discount != price.discount) break;
        part.to = std::min(p.to, next.until);
      }
      p.from = part.to;
      if (price.rate == nullptr) {
        refuse(r, NotCharged::no_rate, part);
      } else {
        put_down(r, part, price);
      }
    }
  }
  void put_down(const SiteRun& r, Piece part, const Priced& price) {
    Charge c;
    c.seq = ++seq;
    c.cluster = runs.cluster();
    c.job = render_job(r);
    c.started = Time{r.started_ms * kNsOfMs};
    c.from = part.from;
    c.to = part.to;
    c.account = runs.text(r.account);
    c.user = runs.text(r.user);
    c.partition = runs.text(r.partition);
    c.gpu_type = runs.text(r.type);
    c.gpus_milli = r.gpus_milli;
    c.rate = price.rate->id;
    c.price_micro = price.rate->price_micro.value_or(0);
    if (price.discount != nullptr) {
      c.discount = price.discount->id;
      c.discount_ppm = price.discount->discount_ppm;
    }
    c.currency = price.rate->currency;
    c.amount_micro = amount_of(c.milli_ms(), c.price_micro, c.discount_ppm);
    c.charged = now;
    out.charges.push_back(std::move(c));
  }
  void look(const SiteRun& r, const std::vector<Piece>& had, Time until) {
    const bool over = is_over(r.state) && r.ended_ms != kNoTime;
    const Time from{r.started_ms * kNsOfMs}, end{over ? r.ended_ms * kNsOfMs : until.ns};
    const Time to = std::min(end, until);
    if (over && end < from) return refuse(r, NotCharged::sooner, {from, end});
    if (is_over(r.state) && !over) return refuse(r, NotCharged::no_end, {from, from});
    if (!over && until == kNever) return refuse(r, NotCharged::runs, {from, from});
    if (r.gpus_milli < 0) return refuse(r, NotCharged::gpus_unknown, {from, std::max(to, from)});
    if (r.gpus_milli == 0) {
      ++out.runs_without_gpus;
      return;
    }
    if (over && !had.empty() && had.back().to > end) refuse(r, NotCharged::shrank, {end, had.back().to});
    const std::vector<Piece> rest = rest_of(from, to, had);
    out.runs_before += rest.empty() && !had.empty() ? 1 : 0;
    for (const Piece& p : rest) take(r, p);
  }
};

}  // namespace

Priced price_of(const std::vector<Rate>& rates, std::string_view account, std::string_view gpu_type, std::string_view partition,
                Time at) {
  Priced out;
  for (const Rate& r : rates) {
    if (!is_for(r, account, gpu_type, partition)) continue;
    if (r.from > at) out.until = std::min(out.until, r.from);
    if (r.from > at || r.to <= at) continue;
    out.until = std::min(out.until, r.to);
    const Rate*& best = r.price_micro ? out.rate : out.discount;
    if (best == nullptr || before(r, *best)) best = &r;
  }
  return out;
}

std::int64_t amount_of(std::int64_t milli_ms, std::int64_t price_micro, std::int64_t discount_ppm) {
  const Wide whole = static_cast<Wide>(kMilliMsOfHour) * kMicro;
  const Wide product = static_cast<Wide>(milli_ms) * price_micro * (kMicro - discount_ppm);
  return static_cast<std::int64_t>((product + whole / 2) / whole);
}

Charging charge(const SiteRuns& runs, const std::vector<Rate>& rates, const Ledger& ledger, Time until, Time now) {
  const auto before = pieces_of(ledger);
  Charger c{runs, rates, now, ledger.charges.size(), {}};
  const std::vector<Piece> none;
  for (const SiteRun& r : runs.runs()) {
    if (began_unknown(r) && r.gpus_milli != 0) {
      ++c.out.runs;
      c.refuse(r, NotCharged::no_start, {});
      c.out.not_charged.back().milli_ms = std::max<std::int64_t>(r.gpus_milli, 0) * r.ran_s * 1000;
    }
    if (r.started_ms == kNoTime) continue;  // it has had nothing yet
    ++c.out.runs;
    const std::string job = render_job(r);
    const auto had = before.find({runs.cluster(), job, Time{r.started_ms * kNsOfMs}});
    c.look(r, had == before.end() ? none : had->second, until);
  }
  return std::move(c.out);
}

std::vector<ChargeSum> totals(const std::vector<Charge>& charges, ChargesBy by, Time from, Time to) {
  const auto name_of = [&](const Charge& c) -> std::string {
    switch (by) {
      case ChargesBy::user: return c.user;
      case ChargesBy::partition: return c.partition;
      case ChargesBy::gpu_type: return c.gpu_type;
      case ChargesBy::month: return render_day(day_of(c.from)).substr(0, 7);
      case ChargesBy::account: break;
    }
    return c.account;
  };
  std::map<std::pair<std::string, std::string>, ChargeSum> sums;
  std::map<std::pair<std::string, std::string>, std::set<RunKey>> jobs;
  for (const Charge& c : charges) {
    if (c.from < from || c.from >= to) continue;
    const std::pair key{name_of(c), c.currency};
    ChargeSum& s = sums[key];
    s.name = key.first;
    s.currency = c.currency;
    s.milli_ms += c.milli_ms();
    s.amount_micro += c.amount_micro;
    ++s.charges;
    jobs[key].insert({c.cluster, c.job, Time{}});
  }
  std::vector<ChargeSum> out;
  for (auto& [key, s] : sums) {
    s.jobs = jobs[key].size();
    out.push_back(std::move(s));
  }
  if (by == ChargesBy::month) return out;
  std::stable_sort(out.begin(), out.end(),
                   [](const ChargeSum& a, const ChargeSum& b) { return a.amount_micro > b.amount_micro; });
  return out;
}

}  // namespace muster::account
