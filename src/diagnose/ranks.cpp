#include "diagnose/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/series.h"
#include "base/text.h"

namespace muster::diagnose {
namespace {

constexpr double kLateCounts = 3;  // percent of the step
constexpr double kMostly = 0.6;    // of all that is waited must be for it
constexpr double kSlowerKernel = 1.03;
constexpr double kSpreadCounts = 5;  // percent of the step

// What one exchange is, whoever takes part: "ProfilerStep#7|0|allreduce|3".
std::string key_of(const Trace& t, const GpuEvent& e, std::string_view step, bool by_name,
                   std::unordered_map<std::string, std::uint32_t>& nth) {
  if (e.detail == kNone && !by_name) return {};
  if (e.detail == kNone) {
    const std::string kind = fmt::format("{}|{}", step, t.names[e.name]);
    return fmt::format("{}|{}", kind, nth[kind]++);
  }
  const ExchangeAsk& ask = t.exchanges[e.detail];
  const auto text = [&](std::uint32_t name) { return name == kNone ? std::string_view() : std::string_view(t.names[name]); };
  const std::string kind = fmt::format("{}|{}|{}", step, text(ask.group), text(ask.op));
  if (ask.seq != UINT64_MAX) return fmt::format("{}|#{}", kind, ask.seq);
  return fmt::format("{}|{}", kind, nth[kind]++);
}

std::string_view step_of(const Trace& t, const std::unordered_map<std::uint64_t, std::int64_t>& launched, const GpuEvent& e) {
  const auto it = launched.find(e.correlation);
  if (it == launched.end()) return {};
  const auto mark = std::upper_bound(t.steps.begin(), t.steps.end(), it->second,
                                     [](std::int64_t at, const Mark& m) { return at < m.span.start_ns; });
  return mark == t.steps.begin() ? std::string_view() : std::string_view(t.names[(mark - 1)->name]);
}

struct Seen {
  std::uint32_t trace, event;
};
struct Exchange {
  std::string step;
  std::int64_t order = 0;
  std::vector<Seen> seen;
};

// Profiles that say nothing of their exchanges but the kernels' names (Nsight Systems) are matched by these, where all ranks have
// as many of each.
bool alike_by_name(std::span<const Trace* const> traces) {
  std::vector<std::map<std::string_view, std::size_t>> counts;
  for (const Trace* t : traces) {
    auto& names = counts.emplace_back();
    for (const GpuEvent& e : t->gpu) {
      if (e.work != GpuWork::communication) continue;
      if (e.detail != kNone) return false;
      ++names[t->names[e.name]];
    }
  }
  return counts.size() > 1 && std::all_of(counts.begin(), counts.end(), [&](const auto& c) { return c == counts.front(); });
}

std::vector<Exchange> gather(std::span<const Trace* const> traces) {
  const bool by_name = alike_by_name(traces);
  std::vector<Exchange> all;
  std::unordered_map<std::string, std::size_t> index;
  for (std::uint32_t r = 0; r < traces.size(); ++r) {
    const Trace& t = *traces[r];
    std::unordered_map<std::uint64_t, std::int64_t> launched;
    for (const RuntimeCall& c : t.calls) {
      if (c.correlation != kNoCorrelation) launched.try_emplace(c.correlation, c.span.start_ns);
    }
    std::vector<std::uint32_t> order;
    for (std::uint32_t e = 0; e < t.gpu.size(); ++e) {
      if (t.gpu[e].work == GpuWork::communication) order.push_back(e);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t x, std::uint32_t y) { return t.gpu[x].span.start_ns < t.gpu[y].span.start_ns; });
    std::unordered_map<std::string, std::uint32_t> nth;
    for (const std::uint32_t e : order) {
      const std::string_view step = step_of(t, launched, t.gpu[e]);
      if (step.empty() && !t.steps.empty()) continue;  // launched before the first step: which it is nobody knows
      const std::string key = key_of(t, t.gpu[e], step, by_name, nth);
      if (key.empty()) continue;
      const auto [it, fresh] = index.try_emplace(key, all.size());
      if (fresh) all.push_back({printable(step), static_cast<std::int64_t>(all.size()), {}});
      all[it->second].seen.push_back({r, e});
    }
  }
  return all;
}

// Mean length of each kernel, by name.
std::unordered_map<std::string_view, std::pair<double, double>> kernels_of(const Profile& p) {
  std::unordered_map<std::string_view, std::pair<double, double>> out;  // sum, count
  for (std::size_t e = 0; e < p.line.events.size(); ++e) {
    if (p.line.own_ns[e] == 0 || p.line.events[e]->work != GpuWork::compute) continue;
    auto& [sum, count] = out[p.trace->names[p.line.events[e]->name]];
    sum += static_cast<double>(p.line.events[e]->span.length());
    ++count;
  }
  return out;
}

// The same kernels on this rank over those on the median of the others, weighed by what they take; 1: alike.
double slower_kernels(std::span<const Profile> ranks, std::size_t late) {
  const auto mine = kernels_of(ranks[late]);
  std::vector<double> ratios;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (r == late) continue;
    const auto theirs = kernels_of(ranks[r]);
    double here = 0, there = 0;
    for (const auto& [name, m] : mine) {
      const auto it = theirs.find(name);
      if (it == theirs.end()) continue;
      here += m.first;
      there += m.second * it->second.first / it->second.second;
    }
    if (there > 0) ratios.push_back(here / there);
  }
  return ratios.empty() ? 1 : median_of(ratios);
}

double part_ms(const Profile& p, std::initializer_list<Part> parts) {
  const PartTimes all = p.line.parts();
  double sum = 0;
  for (const Part x : parts) sum += static_cast<double>(all[static_cast<std::size_t>(x)]);
  return sum / 1e6 / static_cast<double>(std::max<std::size_t>(1, p.line.steps.size()));
}

}  // namespace

RankWaits match_ranks(std::span<const Trace* const> traces) {
  RankWaits out;
  for (const Trace* t : traces) out.by_event.emplace_back(t->gpu.size(), 0);
  std::vector<Exchange> all = gather(traces);
  std::map<std::string, std::size_t> steps;
  for (const Exchange& x : all) {
    std::vector<bool> there(traces.size(), false);
    std::size_t ranks = 0;
    for (const Seen& s : x.seen) {
      ranks += there[s.trace] ? 0 : 1;
      there[s.trace] = true;
    }
    // A group may have fewer members than there are files; two at least must tell of it, each once, and no more than it has
    // members: groups of one name need not be the same.
    const Trace& one = *traces[x.seen.front().trace];
    const std::uint32_t detail = one.gpu[x.seen.front().event].detail;
    const std::uint32_t told = detail == kNone ? 0 : one.exchanges[detail].ranks;
    const std::size_t wanted = told > 0 ? std::min<std::size_t>(told, traces.size()) : traces.size();
    if (ranks < 2 || ranks != x.seen.size() || ranks != wanted) {
      ++out.alone;
      continue;
    }
    ++out.matched;
    const auto [it, fresh] = steps.try_emplace(x.step, out.steps.size());
    if (fresh)
      out.steps.push_back({x.step, std::vector<std::int64_t>(traces.size()), std::vector<std::uint32_t>(traces.size()),
                           std::vector<std::int64_t>(traces.size())});
    RankWaits::Step& step = out.steps[it->second];
    const auto length = [&](const Seen& s) { return traces[s.trace]->gpu[s.event].span.length(); };
    const auto last =
        std::min_element(x.seen.begin(), x.seen.end(), [&](const Seen& a, const Seen& b) { return length(a) < length(b); });
    for (const Seen& s : x.seen) {
      const std::int64_t waited = length(s) - length(*last);
      out.by_event[s.trace][s.event] = waited;
      step.ns[s.trace] += waited;
      step.blamed_ns[last->trace] += waited / static_cast<std::int64_t>(ranks - 1);
    }
    ++step.last[last->trace];
  }
  return out;
}

std::optional<LateRank> late_rank(std::span<const Profile> ranks, const RankWaits& waits) {
  if (ranks.size() < 2 || waits.steps.empty()) return {};
  std::vector<double> last(ranks.size()), blamed(ranks.size());
  double all = 0;
  for (const RankWaits::Step& s : waits.steps) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      last[r] += s.last[r];
      blamed[r] += static_cast<double>(s.blamed_ns[r]);
      all += static_cast<double>(s.blamed_ns[r]);
    }
  }
  LateRank out;
  out.trace = static_cast<std::size_t>(std::max_element(blamed.begin(), blamed.end()) - blamed.begin());
  out.blamed_share = all > 0 ? blamed[out.trace] / all : 0;
  out.came_last = static_cast<std::uint64_t>(last[out.trace]);
  // What computing hides of a wait is not lost.
  const auto exposed = [&](std::size_t r) {
    const auto step = static_cast<double>(ranks[r].line.step_ns());
    return step > 0 ? 100 * part_ms(ranks[r], {Part::wait}) * 1e6 / step : 0;
  };
  std::vector<double> others;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (r != out.trace) others.push_back(exposed(r) - exposed(out.trace));
  }
  const auto step = static_cast<double>(ranks[out.trace].line.step_ns());
  out.lost_pct = median_of(others);
  if (out.lost_pct < kLateCounts || out.blamed_share < kMostly) return {};
  for (const RankWaits::Step& s : waits.steps) {
    std::vector<double> here;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (r != out.trace) here.push_back(static_cast<double>(s.ns[r] - s.ns[out.trace]));
    }
    if (median_of(here) * 100 >= kLateCounts * step) {
      out.since = s.name;
      break;
    }
  }
  // What does it do more of than the others?
  const auto over = [&](std::initializer_list<Part> parts) {
    std::vector<double> theirs;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (r != out.trace) theirs.push_back(part_ms(ranks[r], parts));
    }
    return part_ms(ranks[out.trace], parts) - median_of(theirs);
  };
  const double slower = slower_kernels(ranks, out.trace);
  const double computing = over({Part::compute, Part::compute_beside}), input = over({Part::input});
  const double host = over({Part::launch, Part::sync, Part::other, Part::pageable, Part::pinned});
  const double most = std::max({computing, input, host});
  out.evidence.push_back(fmt::format("{:.0f} % of all waiting was for it; it came last to {} of {} exchanges",
                                     100 * out.blamed_share, out.came_last, waits.matched));
  out.evidence.push_back(
      fmt::format("against the others' median, a step: {:+.4g} ms computing, {:+.4g} ms fetching input, {:+.4g} ms of host",
                  computing, input, host));
  out.evidence.push_back(
      fmt::format("the same kernels take {:.1f} % {} on it", 100 * std::abs(slower - 1), slower >= 1 ? "longer" : "less"));
  const double wait_ms = out.lost_pct / 100 * step / 1e6;
  if (most < 0.3 * wait_ms) {
    out.cause = LateCause::network;
  } else if (most == computing) {
    // All of the surplus from slower kernels, or from more of them?
    const double compute_ms = part_ms(ranks[out.trace], {Part::compute, Part::compute_beside});
    const double by_speed = slower > kSlowerKernel ? compute_ms * (1 - 1 / slower) : 0;
    out.cause = by_speed > computing / 2 ? LateCause::gpu : LateCause::work;
  } else {
    out.cause = most == input ? LateCause::input : LateCause::host;
  }
  return out;
}

std::string rank_words(const Profile& p, std::size_t i) {
  return p.trace->rank ? fmt::format("rank {}", *p.trace->rank) : fmt::format("file {}", i + 1);
}

std::string late_words(const LateRank& late, std::span<const Profile> ranks) {
  constexpr std::array<std::string_view, 5> kWhy = {"whose GPU is slower", "which has more to compute", "whose host is slower",
                                                    "which waits for its input", "and nothing that it does itself explains it"};
  return fmt::format("{}, {}", rank_words(ranks[late.trace], late.trace), kWhy[static_cast<std::size_t>(late.cause)]);
}

Finding late_finding(const LateRank& late, std::span<const Profile> ranks) {
  constexpr std::array<std::string_view, 5> kRemedies = {
      "take its node out (clocks, power, temperature: nvidia-smi -q -d PERFORMANCE), and start on another",
      "share the work out evenly: sequences of like length in each micro-batch (packing, bucketing), layers and experts evenly "
      "over stages",
      "look at its host: other processes, NUMA binding (numactl --cpunodebind), CPU governor, a profiler or logger on that rank "
      "alone",
      "look at its storage path and loader: more workers, a shard that is slower, a mount that fell back",
      "look at its network port and its group's links: counters and cables of that node (`muster diagnose` on its NCCL log)"};
  Finding f;
  f.cost_pct = late.lost_pct;
  f.title = fmt::format("All wait for {}: {:.1f} % of their step", late_words(late, ranks), late.lost_pct);
  f.evidence = late.evidence;
  f.evidence.push_back(
      fmt::format("{}{}", ranks[late.trace].file, late.since.empty() ? "" : fmt::format(", since {}", late.since)));
  f.remedy = kRemedies[static_cast<std::size_t>(late.cause)];
  f.gain = Gain{0.6 * late.lost_pct, late.lost_pct};
  f.verify = "profile the same ranks again: no rank comes last to more than its share of the exchanges";
  f.confidence = late.blamed_share > 0.8 ? Confidence::high : Confidence::medium;
  return f;
}

std::optional<Finding> spread_finding(std::span<const Profile> ranks, const RankWaits& waits) {
  double share = 0;
  std::size_t n = 0;
  for (const Profile& p : ranks) {
    const auto step = static_cast<double>(p.line.step_ns());
    if (step <= 0) continue;
    share += 100 * part_ms(p, {Part::wait}) * 1e6 / step;
    ++n;
  }
  if (n < 2 || share / static_cast<double>(n) < kSpreadCounts) return {};
  Finding f;
  f.cost_pct = share / static_cast<double>(n);
  f.title = fmt::format("Ranks wait for each other, now for one and now for another: {:.1f} % of the step", f.cost_pct);
  std::vector<std::uint64_t> last(ranks.size());
  for (const RankWaits::Step& s : waits.steps) {
    for (std::size_t r = 0; r < ranks.size(); ++r) last[r] += s.last[r];
  }
  for (std::size_t r = 0; r < std::min<std::size_t>(ranks.size(), 8); ++r)
    f.evidence.push_back(fmt::format("{} came last to {} of {} exchanges", rank_words(ranks[r], r), last[r], waits.matched));
  f.remedy =
      "even out what ranks do in a step: sequences of like length (packing, bucketing by length), the same garbage collection on "
      "all (gc.disable(), and gc.collect() every so many steps), loaders with room to spare";
  f.verify = "profile the same ranks again: exchanges take the same on all of them";
  f.confidence = Confidence::medium;
  return f;
}

std::optional<std::uint32_t> rank_twice(std::span<const Trace* const> traces) {
  std::set<std::uint32_t> seen;
  for (const Trace* t : traces) {
    if (t->rank && !seen.insert(*t->rank).second) return *t->rank;
  }
  return {};
}

std::vector<std::string> strangers(std::span<const Trace* const> traces) {
  std::set<std::string> gpus, worlds;
  for (const Trace* t : traces) {
    if (!t->gpus.empty() && !t->gpus.front().empty()) gpus.insert(printable(t->gpus.front()));
    if (t->ranks) worlds.insert(fmt::format("{}", *t->ranks));
  }
  std::vector<std::string> out;
  if (gpus.size() > 1) out.push_back(fmt::format("their GPUs differ: {}", fmt::join(gpus, ", ")));
  if (worlds.size() > 1) out.push_back(fmt::format("they are of jobs of {} ranks", fmt::join(worlds, " and ")));
  return out;
}

}  // namespace muster::diagnose
