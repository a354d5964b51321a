// Sends and receives: each rank's peers against each other, since what a pair takes holds the wait for the other end too, and
// only a peer that is slower than the rest says something.
#include <algorithm>
#include <bit>

#include "base/series.h"
#include "diagnose/nccl_inspector.h"
#include "diagnose/nccl_sizes.h"

namespace muster::diagnose {
namespace {

constexpr double kSlow = 1.5;            // times as long as with the others
constexpr std::size_t kOthers = 2;       // peers to compare one with
constexpr std::size_t kPeersMax = 4096;  // of one rank

// What a rank's exchanges with one peer took, in shares of what is usual for their size.
struct Pace {
  std::uint32_t rank = 0, peer = 0;
  bool near = true;
  double ratio = 1;
  std::vector<double> ratios;
  std::vector<std::uint64_t> seqs;
  std::size_t from = 0;  // the first since it is so
};

int size_class(double bytes) { return std::bit_width(static_cast<std::uint64_t>(bytes)); }  // at most 1e18, as read

std::map<int, double> usual_times(const InspectorSeries& s) {
  std::map<int, std::vector<double>> times;
  for (const InspectorTrack& t : s.tracks) {
    for (const InspectorSample& x : t.samples) {
      if (x.time_us > 0) times[size_class(x.bytes)].push_back(x.time_us);
    }
  }
  std::map<int, double> out;
  for (auto& [size, v] : times) out[size] = median_of(std::move(v));
  return out;
}

// On the same node: by their names, or else by their numbers where nodes have equally many.
bool near(const InspectorSeries& s, std::uint32_t x, std::uint32_t y, const std::map<std::uint32_t, std::string>& hosts) {
  const auto a = hosts.find(x), b = hosts.find(y);
  if (a != hosts.end() && b != hosts.end() && !a->second.empty() && !b->second.empty()) return a->second == b->second;
  if (s.nodes <= 1 || s.ranks % s.nodes != 0 || s.ranks == 0) return true;
  const std::uint32_t per_node = s.ranks / s.nodes;
  return x / per_node == y / per_node;
}

std::vector<Pace> paces_of(const InspectorSeries& s, const InspectorTrack& t, const std::map<int, double>& usual,
                           const std::map<std::uint32_t, std::string>& hosts) {
  std::map<std::uint32_t, Pace> by_peer;
  for (const InspectorSample& x : t.samples) {
    const auto peer = static_cast<std::uint32_t>(x.peer);
    if (x.peer < 0 || peer == t.rank || x.time_us <= 0) continue;
    if (by_peer.size() >= kPeersMax && by_peer.count(peer) == 0) continue;
    Pace& p = by_peer[peer];
    p.ratios.push_back(x.time_us / usual.at(size_class(x.bytes)));
    p.seqs.push_back(x.seq);
  }
  std::vector<Pace> out;
  for (auto& [peer, p] : by_peer) {
    if (p.ratios.size() < kInspectorLeast) continue;
    p.rank = t.rank;
    p.peer = peer;
    p.near = near(s, t.rank, peer, hosts);
    p.from = level_change(p.ratios).value_or(0);
    p.ratio = median_of({p.ratios.begin() + static_cast<std::ptrdiff_t>(p.from), p.ratios.end()});
    out.push_back(std::move(p));
  }
  return out;
}

// Of the others over the same kind of link; none: too few.
std::optional<double> others_ratio(const std::vector<Pace>& all, const Pace& p) {
  std::vector<double> v;
  for (const Pace& x : all) {
    if (x.peer != p.peer && x.near == p.near) v.push_back(x.ratio);
  }
  if (v.size() < kOthers) return {};
  return median_of(std::move(v));
}

bool mostly_above(const Pace& p, double ratio) {
  const auto n =
      std::count_if(p.ratios.begin() + static_cast<std::ptrdiff_t>(p.from), p.ratios.end(), [&](double r) { return r > ratio; });
  return 10 * static_cast<std::size_t>(n) >= 8 * (p.ratios.size() - p.from);
}

}  // namespace

void judge_peers(JudgedSeries& out, const InspectorSeries& s, const std::map<std::uint32_t, std::string>& hosts) {
  const auto usual = usual_times(s);
  struct Told {
    SlowPeer slow;
    std::vector<double> times;
  };
  std::map<std::uint32_t, Told> peers;
  for (const InspectorTrack& t : s.tracks) {
    const std::vector<Pace> paces = paces_of(s, t, usual, hosts);
    for (const Pace& p : paces) {
      const auto others = others_ratio(paces, p);
      if (!others) continue;
      Told& told = peers[p.peer];
      ++told.slow.of;
      if (p.ratio < kSlow * *others || !mostly_above(p, 1.25 * *others)) continue;
      const bool earlier = told.times.empty() || p.seqs[p.from] < told.slow.since;
      if (earlier) told.slow.since = p.seqs[p.from];
      told.slow.from_start = told.slow.from_start && p.from == 0;
      told.slow.by.push_back(p.rank);
      told.times.push_back(p.ratio / *others);
    }
  }
  for (auto& [peer, told] : peers) {
    if (told.times.empty()) continue;
    told.slow.peer = peer;
    if (const auto host = hosts.find(peer); host != hosts.end()) told.slow.host = host->second;
    told.slow.times = median_of(std::move(told.times));
    out.peers.push_back(std::move(told.slow));
  }
  std::stable_sort(out.peers.begin(), out.peers.end(), [](const SlowPeer& x, const SlowPeer& y) {
    return std::pair(x.for_most(), x.times) > std::pair(y.for_most(), y.times);
  });
  if (out.peers.size() > kOddMax) out.peers.resize(kOddMax);
  for (const SlowPeer& p : out.peers) {
    if (p.for_most()) out.odd.push_back({p.peer, p.host, false, 1 / p.times, p.since, p.from_start});
  }
}

}  // namespace muster::diagnose
