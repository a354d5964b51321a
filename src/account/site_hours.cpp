#include "account/site_hours.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "account/site_sweep.h"

namespace muster::account {
namespace {

constexpr std::string_view kOtherTypes = "(others)";

void lay_days(const SiteQuestion& q, SiteAccount& out) {
  for (std::size_t i = 0; i + 1 < q.days.size(); ++i) {
    DaySum d;
    d.from = std::max(q.days[i], q.from);
    d.to = std::min(q.days[i + 1], q.to);
    d.whole = d.from == q.days[i] && d.to == q.days[i + 1];
    if (d.from < d.to) out.days.push_back(d);
  }
}

std::uint32_t type_of(SiteAccount& out, std::string_view type, std::map<std::string, std::uint32_t, std::less<>>& known) {
  const auto it = known.find(type);
  if (it != known.end()) return it->second;
  const bool full = out.types.size() + 1 >= kIdleTypesMax;
  const auto n = static_cast<std::uint32_t>(out.types.size());
  if (full && out.types.back().name == kOtherTypes) return n - 1;
  out.types.emplace_back();
  out.types.back().name = full ? kOtherTypes : type;
  if (!full) known.emplace(type, n);
  return n;
}

// When jobs waited that could have begun.
void want(const SiteRuns& runs, const SiteQuestion& q, SiteAccount& out,
          const std::map<std::string, std::uint32_t, std::less<>>& types, IdleTime& idle) {
  const auto& all = runs.runs();
  out.waits_from_submit = std::none_of(all.begin(), all.end(), [](const SiteRun& r) { return r.eligible_ms != kNoTime; });
  std::vector<std::uint32_t> type_of_text(runs.texts(), kAnyType);
  for (std::uint32_t t = 0; t < runs.texts(); ++t) {
    const auto it = types.find(runs.text(t));
    if (it != types.end() && !it->first.empty()) type_of_text[t] = it->second;
  }
  const std::int64_t from = q.from.ms(), to = q.to.ms();
  for (const SiteRun& r : all) {
    const std::int64_t since = out.waits_from_submit ? r.submitted_ms : r.eligible_ms;
    if (since == kNoTime || r.gpus_milli <= 0) continue;
    std::int64_t until = r.started_ms != kNoTime ? r.started_ms : r.ended_ms;
    if (until == kNoTime) until = is_over(r.state) ? since : to;
    if (since >= until || until <= from || since >= to) continue;
    const std::int64_t milli = r.gpus_milli * (r.started_ms == kNoTime ? r.members : 1);
    idle.wanted(since, type_of_text[r.type], milli);
    idle.wanted(until, type_of_text[r.type], -milli);
  }
}

using ToldOf = std::vector<NodeSweep::Told>;

ToldOf told_of(const Claims& c, const SiteQuestion& q, SiteAccount& out) {
  ToldOf told(c.nodes.size());
  for (const NodeOutage& o : q.outages) {
    const std::int32_t n = c.find(o.node);
    if (n >= 0) {
      told[static_cast<std::size_t>(n)].outages.push_back(&o);
    } else {
      note(out, SiteFault::unknown_outage, o.node);
    }
  }
  for (const NodeActivity& a : q.activity) {
    const std::int32_t n = c.find(a.node);
    if (n >= 0) {
      told[static_cast<std::size_t>(n)].activity = &a;
    } else {
      note(out, SiteFault::unknown_activity, a.node);
    }
  }
  return told;
}

void sum_runs(const SiteRuns& runs, SiteAccount& out) {
  for (std::size_t i = 0; i < out.run_sums.size(); ++i) {
    const std::int64_t had = out.run_sums[i].all();
    if (had == 0) continue;
    ++out.runs;
    StateSum& s = out.states[static_cast<std::size_t>(runs.runs()[i].state)];
    ++s.runs;
    s.milli_ms += had;
  }
}

}  // namespace

bool fits(std::int64_t gpus_milli, Time from, Time to) {
  const std::int64_t length = to.ms() - from.ms();
  return length > 0 && gpus_milli <= INT64_MAX / 2 / length;
}

SiteAccount account_site(const SiteRuns& runs, const SiteQuestion& q) {
  SiteAccount out;
  out.from = q.from;
  out.to = q.to;
  out.nodes_shown = q.nodes.empty();
  out.activity_known = !q.activity.empty();
  out.run_sums.resize(runs.runs().size());
  lay_days(q, out);
  const Claims claims = claims_of(runs, q, out);
  const ToldOf told = told_of(claims, q, out);
  IdleTime idle(q.from.ms(), q.to.ms());
  NodeSweep sweep(runs, claims, out, idle);
  std::vector<std::int64_t> capacity;
  for (const ClaimedNode& n : claims.nodes) {
    capacity.push_back(n.shown ? sweep.most(n) : n.milli);
    if (__builtin_add_overflow(out.gpus_milli, capacity.back(), &out.gpus_milli)) out.gpus_milli = INT64_MAX;
  }
  out.too_large = out.too_large || !fits(out.gpus_milli, q.from, q.to);
  if (out.too_large) return out;
  std::map<std::string, std::uint32_t, std::less<>> types;
  for (std::size_t n = 0; n < claims.nodes.size(); ++n) {
    const ClaimedNode& node = claims.nodes[n];
    if (capacity[n] == 0 && node.first == node.last) continue;
    if (capacity[n] > 0 && node.shown && !out.nodes_shown) note(out, SiteFault::unknown_node, node.name);
    if (capacity[n] > 0) ++out.nodes;
    const std::uint32_t type = type_of(out, node.type, types);
    sweep.sweep(node, capacity[n], type, told[n]);
  }
  want(runs, q, out, types, idle);
  idle.part(static_cast<std::uint32_t>(out.types.size()), out);
  sum_runs(runs, out);
  return out;
}

namespace {

struct Groups {
  std::vector<SiteRow> rows;
  std::vector<std::int32_t> of;  // by key; -1: none yet

  SiteRow& at(std::uint32_t key, std::string_view name) {
    if (of[key] < 0) {
      of[key] = static_cast<std::int32_t>(rows.size());
      rows.emplace_back();
      rows.back().name = name;
    }
    return rows[static_cast<std::size_t>(of[key])];
  }
};

void add_run(SiteRow& row, const SiteRun& r, const RunSum& had) {
  row.sum[SiteClass::held_idle] += had.held_idle;
  row.sum[SiteClass::unseen] += had.unseen;
  row.sum[SiteClass::useful] += had.useful;
  ++row.runs;
  if (r.energy_j < 0) return;
  ++row.energy_runs;
  row.energy_j += static_cast<double>(r.energy_j);
}

std::vector<SiteRow> by_job(const SiteRuns& runs, const SiteAccount& a) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < a.run_sums.size(); ++i) {
    if (a.run_sums[i].all() != 0) order.push_back(i);
  }
  const auto key = [&](std::uint32_t i) {
    const SiteRun& r = runs.runs()[i];
    return std::tie(r.number, r.array_index, r.het);
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t x, std::uint32_t y) { return key(x) < key(y); });
  std::vector<SiteRow> rows;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || key(order[i - 1]) < key(order[i])) {
      rows.emplace_back();
      rows.back().name = render_job(runs.runs()[order[i]]);
    }
    add_run(rows.back(), runs.runs()[order[i]], a.run_sums[order[i]]);
  }
  return rows;
}

std::vector<SiteRow> by_text(const SiteRuns& runs, const SiteAccount& a, SiteBy by) {
  Groups g{{}, std::vector<std::int32_t>(runs.texts(), -1)};
  for (std::size_t i = 0; i < a.run_sums.size(); ++i) {
    const SiteRun& r = runs.runs()[i];
    if (a.run_sums[i].all() == 0) continue;
    const std::uint32_t text = by == SiteBy::account ? r.account : by == SiteBy::partition ? r.partition : r.user;
    add_run(g.at(text, runs.text(text)), r, a.run_sums[i]);
  }
  return std::move(g.rows);
}

}  // namespace

std::vector<SiteRow> rows_of(const SiteRuns& runs, const SiteAccount& a, SiteBy by) {
  std::vector<SiteRow> rows;
  if (by == SiteBy::day) {
    for (const DaySum& d : a.days) {
      rows.emplace_back();
      rows.back().name = render_utc(d.from);
      rows.back().sum = d.sum;
    }
    return rows;
  }
  if (by == SiteBy::gpu_type) {
    rows = a.types;
  } else {
    rows = by == SiteBy::job ? by_job(runs, a) : by_text(runs, a, by);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const SiteRow& x, const SiteRow& y) {
    const std::int64_t p = x.sum.installed(), q = y.sum.installed();
    return p != q ? p > q : x.name < y.name;
  });
  if (by == SiteBy::gpu_type) return rows;
  SiteRow rest;
  rest.no_job = true;
  for (std::size_t c = 0; c < static_cast<std::size_t>(kFirstAllocated); ++c) rest.sum.milli_ms[c] = a.sum.milli_ms[c];
  rows.push_back(rest);
  return rows;
}

Streak streak_of(const std::vector<DaySum>& days, double target) {
  Streak s;
  for (const DaySum& d : days) {
    if (!d.whole) continue;
    ++s.complete;
    const bool reached = d.sum.efficiency() >= target;
    s.days = reached ? s.days + 1 : 0;
    s.reached += reached ? 1 : 0;
    s.longest = std::max(s.longest, s.days);
  }
  return s;
}

}  // namespace muster::account
