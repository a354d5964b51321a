// Ranks of a communicator against each other: who comes last to its operations, who is in them longer than the others, and how
// much of the time in them is waiting.
#include <algorithm>

#include "base/series.h"
#include "diagnose/nccl_inspector.h"
#include "diagnose/nccl_sizes.h"

namespace muster::diagnose {
namespace {

constexpr std::size_t kLastShown = 8;

const Together* find_operation(const Operations& all, std::uint64_t seq) {
  const auto it = std::lower_bound(all.begin(), all.end(), seq, [](const Together& t, std::uint64_t n) { return t.seq < n; });
  return it == all.end() || it->seq != seq ? nullptr : &*it;
}

// The rank's bandwidth in shares of the median rank's, operation by operation, and where it left the line. Of two ranks, or where
// half of them come late, the median is one that waits, so the late ones still stand out.
std::optional<OddRank> odd_rank(const InspectorTrack& t, const Operations& operations) {
  std::vector<double> shares, own, others;
  std::vector<std::uint64_t> seqs;
  for (const InspectorSample& x : t.samples) {
    const Together* all = find_operation(operations, x.seq);
    if (x.time_us <= 0 || all == nullptr || all->ranks < 2) continue;
    shares.push_back(all->median_us / x.time_us);
    own.push_back(x.time_us);
    others.push_back(all->median_us);
    seqs.push_back(x.seq);
  }
  if (shares.size() < kInspectorLeast) return {};
  OddRank out;
  out.rank = t.rank;
  out.host = t.host;
  std::size_t from = 0;
  if (const auto change = level_change(shares)) from = *change;
  out.since = seqs[from];
  out.from_start = from == 0;
  const auto since = [&](const std::vector<double>& v) {
    return median_of({v.begin() + static_cast<std::ptrdiff_t>(from), v.end()});
  };
  out.share = since(shares);
  out.own_us = since(own);
  out.others_us = since(others);
  const InCollective is = in_collective(out.share);
  if (is == InCollective::in_line) return {};
  out.late = is == InCollective::late;
  // Eight of ten operations, or it comes and goes.
  std::size_t agree = 0;
  for (std::size_t i = from; i < shares.size(); ++i) agree += out.late ? shares[i] > 1.1 : shares[i] < 0.93;
  if (10 * agree < 8 * (shares.size() - from)) return {};
  return out;
}

double distance(const OddRank& r) { return r.share > 1 ? r.share : r.share > 0 ? 1 / r.share : 1e9; }

// Where more than half come late, or half are slow, there is no line to be out of.
void keep_the_few(std::vector<OddRank>& odd, std::size_t ranks) {
  const auto late = static_cast<std::size_t>(std::count_if(odd.begin(), odd.end(), [](const OddRank& r) { return r.late; }));
  const bool no_late = 2 * late > ranks, no_slow = 2 * odd.size() >= ranks;
  std::erase_if(odd, [&](const OddRank& r) { return r.late ? no_late : no_slow; });
}

void tally_hosts(JudgedSeries& out, const InspectorSeries& s) {
  std::map<std::string, std::vector<const OddRank*>> odd;
  std::map<std::string, std::size_t> seen;
  for (const InspectorTrack& t : s.tracks) ++seen[t.host];
  for (const OddRank& r : out.odd) odd[r.host].push_back(&r);
  for (const auto& [host, n] : seen) {
    HostTally h;
    h.host = host;
    h.seen = n;
    std::vector<const OddRank*>& of = odd[host];
    for (const OddRank* r : of) ++(r->late ? h.late : h.slow);
    std::stable_sort(of.begin(), of.end(), [](const OddRank* x, const OddRank* y) { return x->share < y->share; });
    if (!of.empty()) h.odd = *of[of.size() / 2];
    for (const OddRank* r : of) {
      if (r->since > h.odd.since) continue;
      h.odd.since = r->since;
      h.odd.from_start = r->from_start;
    }
    if (h.late_node() || h.slow_node()) out.odd_hosts.push_back(host);
    out.hosts.push_back(std::move(h));
  }
}

// More than chance would give to one of so many: of two 80 %, of three two thirds, of more a half.
bool stands_out(double share, std::size_t of) {
  return of >= 2 && share >= std::max(0.5, std::min(0.8, 2.0 / static_cast<double>(of)));
}

void blame(Waiting& w, const InspectorSeries& s, std::span<const Together> operations) {
  std::vector<LastToCome> last(s.tracks.size());
  double all_us = 0;
  for (const Together& t : operations) {
    const double us = (t.mean_us - t.soonest_us) * static_cast<double>(t.ranks);
    last[t.last].share += us;
    ++last[t.last].times;
    all_us += us;
  }
  std::map<std::string, double> hosts;
  for (std::size_t i = 0; i < last.size(); ++i) {
    last[i].rank = s.tracks[i].rank;
    last[i].host = s.tracks[i].host;
    if (all_us > 0) last[i].share /= all_us;
    hosts[last[i].host] += last[i].share;
  }
  std::stable_sort(last.begin(), last.end(), [](const LastToCome& x, const LastToCome& y) { return x.share > y.share; });
  if (stands_out(last.front().share, last.size())) w.mostly_rank = last.front().rank;
  for (const auto& [host, share] : hosts) {
    if (!host.empty() && stands_out(share, hosts.size())) w.mostly_host = host;
  }
  if (last.size() > kLastShown) last.resize(kLastShown);
  std::erase_if(last, [](const LastToCome& x) { return x.times == 0; });
  w.last = std::move(last);
}

}  // namespace

void judge_ranks(JudgedSeries& out, const InspectorSeries& s, const Operations& operations) {
  for (const InspectorTrack& t : s.tracks) {
    if (auto r = odd_rank(t, operations)) out.odd.push_back(std::move(*r));
  }
  keep_the_few(out.odd, s.tracks.size());
  tally_hosts(out, s);
  std::stable_sort(out.odd.begin(), out.odd.end(), [](const OddRank& x, const OddRank& y) { return distance(x) > distance(y); });
  if (out.odd.size() > kOddMax) out.odd.resize(kOddMax);
}

void judge_waiting(JudgedSeries& out, const InspectorSeries& s, const Operations& operations) {
  Operations together;
  std::copy_if(operations.begin(), operations.end(), std::back_inserter(together),
               [](const Together& t) { return t.ranks >= 2; });
  if (together.size() < kInspectorLeast) return;
  std::vector<double> busy;
  for (const Together& t : together) busy.push_back(t.soonest_us / t.mean_us);
  const std::size_t from = level_change(busy).value_or(0);
  const auto since = std::span<const Together>(together).subspan(from);
  Waiting w;
  w.operations = since.size();
  w.since = since.front().seq;
  w.from_start = from == 0;
  for (const Together& t : since) {
    w.shortest_us += t.soonest_us / static_cast<double>(since.size());
    w.mean_us += t.mean_us / static_cast<double>(since.size());
  }
  w.share = 1 - w.shortest_us / w.mean_us;
  blame(w, s, since);
  out.waiting = std::move(w);
}

}  // namespace muster::diagnose
