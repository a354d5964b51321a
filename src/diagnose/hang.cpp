#include "diagnose/hang.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

namespace muster::diagnose {
namespace {

// Of these ranks have different shapes by right: unequal pieces, or a root that has what others have not.
bool shapes_differ(const std::string& op) {
  if (op.find("all_to_all") != std::string::npos || op.find("alltoall") != std::string::npos) return true;
  return op == "gather" || op == "scatter" || op.find("coalesced") != std::string::npos;
}

std::string signature(const ExchangeCall& c) {
  return shapes_differ(c.op) ? fmt::format("{} {}", c.op, c.dtype) : fmt::format("{} {} -> {} {}", c.op, c.in, c.out, c.dtype);
}

std::string ranks_words(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kShown = 8;
  std::string out;
  for (std::size_t i = 0; i < ranks.size() && i < kShown; ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kShown) out += fmt::format(" and {} more", ranks.size() - kShown);
  return (ranks.size() == 1 ? "rank " : "ranks ") + out;
}

constexpr std::int64_t kGaveUp = 60'000'000'000;  // nanoseconds later than the others: they are about to time out, or have
constexpr std::int64_t kLateLeast = 20'000'000;   // more than clocks of hosts differ
constexpr double kLateShare = 0.1;                // of the time from one exchange to the next
constexpr std::size_t kLateCalls = 5;             // that must be there on all
constexpr double kLateMostly = 0.8;               // of them the same rank must be last
constexpr double kSilenceTells = 0.25;            // of the job's ranks: were more without a dump, nobody had collected them

// One rank's part in one group.
struct Part {
  std::uint64_t enqueued = 0, started = 0, completed = 0;
  std::map<std::uint64_t, const ExchangeCall*> calls;  // that are not sends or receives
};

struct Together {
  std::string what;
  std::set<std::uint32_t> members;
  std::map<std::uint32_t, Part> parts;  // of those that left a dump
};

std::map<std::string, Together> by_group(std::span<const FlightRecord> records) {
  std::map<std::string, Together> out;
  for (const FlightRecord& r : records) {
    for (std::uint32_t i = 0; i < r.groups.size(); ++i) {
      const ExchangeGroup& g = r.groups[i];
      Together& t = out[g.name];
      if (t.what.empty()) t.what = g.what;
      t.members.insert(g.ranks.begin(), g.ranks.end());
      Part p{g.enqueued, g.started, g.completed, {}};
      for (const ExchangeCall& c : r.calls) {
        if (c.group != i || c.pair) continue;
        p.calls[c.seq] = &c;
        p.enqueued = std::max(p.enqueued, c.seq);
        if (c.state != ExchangeState::scheduled) p.started = std::max(p.started, c.seq);
        if (c.state == ExchangeState::completed) p.completed = std::max(p.completed, c.seq);
      }
      const bool takes_part = g.ranks.empty() || std::find(g.ranks.begin(), g.ranks.end(), r.rank) != g.ranks.end();
      if (p.enqueued > 0 || !p.calls.empty() || (takes_part && !g.ranks.empty())) {
        t.members.insert(r.rank);
        t.parts[r.rank] = std::move(p);
      }
    }
  }
  return out;
}

// Ranks that wait in an exchange that has not ended.
std::set<std::uint32_t> waiting(const std::map<std::string, Together>& groups) {
  std::set<std::uint32_t> out;
  for (const auto& [name, t] : groups) {
    for (const auto& [rank, p] : t.parts) {
      if (p.enqueued > p.completed) out.insert(rank);
    }
  }
  return out;
}

// Ranks of whom nothing is known.
struct Unheard {
  std::vector<std::uint32_t> no_dump, no_entries;
  bool few = true;  // a dump that is not there means a process that died, not one that was left behind when they were collected
};

Unheard unheard(std::span<const FlightRecord> records, const std::map<std::string, Together>& groups) {
  Unheard out;
  std::set<std::uint32_t> named, there;
  for (const auto& [name, t] : groups) named.insert(t.members.begin(), t.members.end());
  for (const FlightRecord& r : records) {
    named.insert(r.rank);
    there.insert(r.rank);
    if (r.calls.empty()) out.no_entries.push_back(r.rank);
  }
  std::set_difference(named.begin(), named.end(), there.begin(), there.end(), std::back_inserter(out.no_dump));
  // The only one that is silent, beside several that are not, tells as much in a small job.
  out.few = (out.no_dump.size() == 1 && there.size() > 1) ||
            static_cast<double>(out.no_dump.size()) <= kSilenceTells * static_cast<double>(named.size());
  return out;
}

struct Standing {
  std::map<std::string, std::vector<std::uint32_t>> called;  // what, by whom
  std::vector<std::uint32_t> absent, silent, not_started;
};

// Somebody has not come, as far as the dumps tell: those that never called, and those that left none where that means something.
void conclude_missing(Hang& out, const Standing& s, bool silence_tells) {
  out.kind = HangKind::missing;
  out.unseen = s.absent.empty() && !silence_tells;
  out.culprits = s.absent;
  if (s.absent.empty() || silence_tells) out.culprits.insert(out.culprits.end(), s.silent.begin(), s.silent.end());
  out.certain = out.certain && (s.silent.empty() || silence_tells);
  if (!s.absent.empty())
    out.evidence.push_back(fmt::format("{} never called number {} of the group", ranks_words(s.absent), out.seq));
  if (!s.silent.empty()) out.evidence.push_back(fmt::format("{} left no dump", ranks_words(s.silent)));
  if (!out.waiting.empty())
    out.evidence.push_back(fmt::format("{} {} in it", ranks_words(out.waiting), out.waiting.size() == 1 ? "waits" : "wait"));
}

void conclude(Hang& out, const Together& t, const Standing& s, bool silence_tells) {
  const auto most = std::max_element(s.called.begin(), s.called.end(),
                                     [](const auto& x, const auto& y) { return x.second.size() < y.second.size(); });
  if (most != s.called.end()) out.collective = most->first;
  if (s.called.size() > 1) {
    out.kind = HangKind::mismatch;
    for (const auto& [what, ranks] : s.called) {
      if (what != most->first) out.culprits.insert(out.culprits.end(), ranks.begin(), ranks.end());
      out.evidence.push_back(fmt::format("{} called {} as number {} of the group", ranks_words(ranks), what, out.seq));
    }
    const bool even = std::any_of(s.called.begin(), s.called.end(), [&](const auto& x) {
      return x.first != most->first && x.second.size() == most->second.size();
    });
    out.certain = out.certain && !even;
  } else if (!s.absent.empty() || !s.silent.empty()) {
    conclude_missing(out, s, silence_tells);
  } else {
    out.kind = HangKind::stuck;
    out.culprits = s.not_started;
    if (s.not_started.empty()) {
      for (const std::uint32_t rank : t.members) out.culprits.push_back(rank);
      out.evidence.push_back("all called it and it began everywhere: the network, or a GPU that does not answer");
      out.certain = false;
    } else {
      out.evidence.push_back(fmt::format("all called it; on {} it never began: a stream there waits for something else",
                                         ranks_words(s.not_started)));
    }
  }
  std::sort(out.culprits.begin(), out.culprits.end());
}

std::int64_t middle(std::vector<std::int64_t> v) {
  const auto at = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), at, v.end());
  return *at;
}

// Who called an exchange last, and how much later than the middle of the ranks; none: fewer than two said when.
std::optional<std::pair<std::uint32_t, std::int64_t>> last_to(const Together& t, std::uint64_t seq) {
  std::vector<std::int64_t> times;
  std::uint32_t who = 0;
  std::int64_t when = INT64_MIN;
  for (const auto& [rank, p] : t.parts) {
    const auto c = p.calls.find(seq);
    if (c == p.calls.end() || c->second->created_ns <= 0) continue;
    times.push_back(c->second->created_ns);
    if (c->second->created_ns > when) {
      when = c->second->created_ns;
      who = rank;
    }
  }
  if (times.size() < 2) return {};
  // Of two, the other; of more, the middle: one that is early has not made all others late.
  return std::pair{who, when - (times.size() == 2 ? std::min(times[0], times[1]) : middle(times))};
}

// Nothing is unfinished: does one rank come late to exchange after exchange?
// With how late it comes.
std::optional<std::pair<Hang, std::int64_t>> always_late(const std::string& name, const Together& t) {
  if (t.parts.size() < 2) return {};
  std::map<std::uint32_t, std::vector<std::int64_t>> late;
  std::vector<std::int64_t> starts, gaps;
  std::uint64_t last_seq = 0;
  std::size_t n = 0;
  for (const auto& [seq, call] : t.parts.begin()->second.calls) {
    const auto last = last_to(t, seq);
    if (!last) continue;
    ++n;
    late[last->first].push_back(last->second);
    starts.push_back(call->created_ns);
    last_seq = seq;
  }
  if (n < kLateCalls) return {};
  for (std::size_t i = 1; i < starts.size(); ++i) gaps.push_back(starts[i] - starts[i - 1]);
  const auto worst =
      std::max_element(late.begin(), late.end(), [](const auto& x, const auto& y) { return x.second.size() < y.second.size(); });
  const std::int64_t by = middle(worst->second);
  const auto least = std::max(kLateLeast, static_cast<std::int64_t>(kLateShare * static_cast<double>(middle(gaps))));
  if (static_cast<double>(worst->second.size()) < kLateMostly * static_cast<double>(n) || by < least) return {};
  Hang out;
  out.kind = HangKind::late;
  out.culprits = {worst->first};
  out.group = t.what.empty() ? name : fmt::format("{} ({})", name, t.what);
  out.seq = last_seq;
  out.collective = signature(*t.parts.begin()->second.calls.at(last_seq));
  out.evidence = {fmt::format("rank {} came last to {} of {} exchanges, by {:.3g} s in the middle", worst->first,
                              worst->second.size(), n, static_cast<double>(by) / 1e9)};
  return std::pair{std::move(out), by};
}

std::optional<Hang> judge(const std::string& name, const Together& t, bool silence_tells) {
  std::uint64_t furthest = 0;
  for (const auto& [rank, p] : t.parts) furthest = std::max(furthest, p.enqueued);
  if (t.parts.empty() || furthest == 0) return {};
  bool waits = false;
  for (const auto& [rank, p] : t.parts) waits = waits || p.enqueued > p.completed;
  if (!waits) return {};
  Hang out;
  out.group = t.what.empty() ? name : fmt::format("{} ({})", name, t.what);
  // The first exchange that somebody is in and that has not ended for all.
  out.seq = furthest;
  for (const auto& [rank, p] : t.parts) {
    if (p.enqueued > p.completed) out.seq = std::min(out.seq, p.completed + 1);
  }
  Standing s;
  for (const std::uint32_t rank : t.members) {
    const auto part = t.parts.find(rank);
    if (part == t.parts.end()) {
      s.silent.push_back(rank);
      continue;
    }
    const Part& p = part->second;
    if (p.enqueued < out.seq) {
      s.absent.push_back(rank);
    } else if (const auto c = p.calls.find(out.seq); c != p.calls.end()) {
      s.called[signature(*c->second)].push_back(rank);
    } else {
      out.certain = false;  // it has fallen out of the buffer
    }
    if (p.enqueued >= out.seq && p.started < out.seq) s.not_started.push_back(rank);
    if (p.enqueued >= out.seq && p.completed < out.seq) out.waiting.push_back(rank);
  }
  conclude(out, t, s, silence_tells);
  if (const auto last = last_to(t, out.seq); out.kind == HangKind::stuck && last && last->second >= kGaveUp) {
    out.kind = HangKind::late;
    out.culprits = {last->first};
    out.certain = true;
    out.evidence = {
        fmt::format("all called it, rank {} {:.0f} s after the others", last->first, static_cast<double>(last->second) / 1e9)};
  }
  return out;
}

// What the dumps tell of has ended; what those would tell that are not there, or have nothing in them, is not known.
std::optional<Hang> not_seen(const Unheard& u) {
  if (u.no_dump.empty() && u.no_entries.empty()) return {};
  Hang out;
  out.unseen = true;
  out.certain = false;
  std::merge(u.no_dump.begin(), u.no_dump.end(), u.no_entries.begin(), u.no_entries.end(), std::back_inserter(out.culprits));
  const bool one = u.no_dump.size() == 1, one_empty = u.no_entries.size() == 1;
  if (!u.no_dump.empty())
    out.evidence.push_back(ranks_words(u.no_dump) +
                           (one ? " is in the groups and has no dump here" : " are in the groups and have no dump here"));
  if (!u.no_entries.empty())
    out.evidence.push_back(
        (one_empty ? "the dump of " : "the dumps of ") + ranks_words(u.no_entries) +
        (one_empty ? " has no entries: what it called is not known" : " have no entries: what they called is not known"));
  return out;
}

std::optional<Hang> find_in(const std::map<std::string, Together>& groups, const Unheard& silence) {
  const std::set<std::uint32_t> waits = waiting(groups);
  // Where several groups wait, one is the cause and the others wait for its ranks: a call that differs says most, then ranks that
  // wait nowhere themselves.
  std::optional<Hang> best;
  const auto weight = [&](const Hang& h) {
    const bool free = std::none_of(h.culprits.begin(), h.culprits.end(), [&](std::uint32_t r) { return waits.count(r) > 0; });
    const bool missing = h.kind == HangKind::missing && !h.unseen;
    return std::tuple(h.kind == HangKind::mismatch, missing && free, missing, h.certain, !h.unseen);
  };
  for (const auto& [name, t] : groups) {
    auto h = judge(name, t, silence.few);
    if (h && (!best || weight(*h) > weight(*best))) best = std::move(h);
  }
  if (best) return best;
  // Who waits for a late one comes late to others: the latest is the cause.
  std::int64_t by = 0;
  for (const auto& [name, t] : groups) {
    if (auto late = always_late(name, t); late && late->second > by) {
      best = std::move(late->first);
      by = late->second;
    }
  }
  if (!best) best = not_seen(silence);
  return best;
}

}  // namespace

std::optional<Hang> find_hang(std::span<const FlightRecord> records) {
  const auto groups = by_group(records);
  Unheard silence = unheard(records, groups);
  auto out = find_in(groups, silence);
  if (!out) return out;
  out->no_dump = std::move(silence.no_dump);
  out->no_entries = std::move(silence.no_entries);
  return out;
}

}  // namespace muster::diagnose
