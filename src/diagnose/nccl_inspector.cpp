#include "diagnose/nccl_inspector.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/series.h"
#include "diagnose/nccl_sizes.h"
#include "model/fields.h"

namespace muster::diagnose {
namespace {

constexpr std::size_t kSide = 5;  // values on each side of a change
constexpr std::size_t kSizesMax = 256;

struct Seen {
  InspectorSample sample;
  std::size_t track = 0;
};

std::vector<Seen> all_of(const InspectorSeries& s) {
  std::vector<Seen> all;
  for (std::size_t i = 0; i < s.tracks.size(); ++i) {
    for (const InspectorSample& x : s.tracks[i].samples) {
      if (x.time_us > 0) all.push_back({x, i});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Seen& x, const Seen& y) { return x.sample.seq < y.sample.seq; });
  return all;
}

Operations by_operation(const InspectorSeries& s) {
  const std::vector<Seen> all = all_of(s);
  Operations out;
  std::vector<double> times;
  for (std::size_t i = 0; i < all.size(); i += times.size()) {
    times.clear();
    Together t{all[i].sample.seq, all[i].sample.bytes, all[i].sample.time_us, 0, 0, 0, all[i].track};
    for (std::size_t k = i; k < all.size() && all[k].sample.seq == t.seq; ++k) {
      times.push_back(all[k].sample.time_us);
      t.mean_us += all[k].sample.time_us;
      if (all[k].sample.time_us >= t.soonest_us) continue;
      t.soonest_us = all[k].sample.time_us;
      t.last = all[k].track;
    }
    t.ranks = times.size();
    t.mean_us /= static_cast<double>(t.ranks);
    t.median_us = median_of(times);
    out.push_back(t);
  }
  return out;
}

// Sends and receives are of pairs: their numbers are not those of the same operation elsewhere.
Operations each_alone(const InspectorSeries& s) {
  Operations out;
  for (const Seen& x : all_of(s)) {
    const double us = x.sample.time_us;
    out.push_back({x.sample.seq, x.sample.bytes, us, us, us, 1, x.track});
  }
  return out;
}

// By size: the median over operations of the rank that was in it for the shortest time, who waited for nobody.
void fill_sizes(JudgedSeries& out, const Operations& operations, std::optional<Collective> op) {
  std::map<double, std::vector<double>> sizes;
  for (const Together& t : operations) {
    if (sizes.size() < kSizesMax || sizes.count(t.bytes) != 0) sizes[t.bytes].push_back(t.soonest_us);
  }
  for (auto& [bytes, times] : sizes) {
    JudgedSize z{bytes, median_of(times), 0, {}, false};
    const double factor = op && out.run.ranks > 0 ? bus_factor(*op, out.run.ranks) : 1;
    z.bus_gb_s = z.time_us > 0 ? bytes * factor / z.time_us / 1e3 : 0;
    out.run.sizes.push_back(z);
  }
}

// All of them at once: each operation over the median of its size.
void common_change(JudgedSeries& out, const Operations& operations) {
  std::map<double, double> usual;
  for (const JudgedSize& z : out.run.sizes) usual[z.bytes] = z.time_us;
  std::vector<double> shares;
  std::vector<std::uint64_t> seqs;
  for (const Together& t : operations) {
    const auto it = usual.find(t.bytes);
    if (it == usual.end() || it->second <= 0 || t.soonest_us <= 0) continue;
    shares.push_back(it->second / t.soonest_us);
    seqs.push_back(t.seq);
  }
  const auto change = level_change(shares);
  if (!change) return;
  const auto middle = shares.begin() + static_cast<std::ptrdiff_t>(*change);
  const double before = median_of({shares.begin(), middle}), then = median_of({middle, shares.end()});
  if (in_collective(then / before) != InCollective::slow) return;
  out.since = seqs[*change];
  out.since_share = then / before;
}

}  // namespace

std::optional<std::size_t> level_change(std::span<const double> values) {
  const auto split = split_levels(values, kSide);
  if (!split || split->off > split->off_unsplit * 2 / 3) return {};
  const double larger = std::max(std::abs(split->before), std::abs(split->after));
  if (!(std::abs(split->after - split->before) >= 0.15 * larger)) return {};
  return split->at;
}

std::vector<JudgedSeries> judge_inspector(const InspectorLog& log, const NcclYardstick& y) {
  std::map<std::string, std::map<std::uint32_t, std::string>> hosts;
  for (const InspectorSeries& s : log.series) {
    for (const InspectorTrack& t : s.tracks) hosts[s.comm][t.rank] = t.host;
  }
  std::vector<JudgedSeries> out;
  for (const InspectorSeries& s : log.series) {
    JudgedSeries j;
    j.comm = s.comm;
    j.name = s.comm_name;
    j.run.what = s.collective && *s.collective != Collective::send_recv ? std::string(name_of(*s.collective)) : s.op;
    j.run.ranks = s.ranks;
    j.run.nodes = s.nodes;
    j.ranks_seen = s.tracks.size();
    j.damaged_lines = log.damaged;
    const bool pairs = s.collective == Collective::send_recv;
    const auto operations = pairs ? each_alone(s) : by_operation(s);
    j.operations = operations.size();
    fill_sizes(j, operations, s.collective);
    if (!pairs) {
      const std::uint32_t per_node = s.nodes > 0 && s.ranks % s.nodes == 0 ? s.ranks / s.nodes : 0;
      expect_sizes(j.run, s.collective, per_node, "", y);
      judge_ranks(j, s, operations);
      judge_waiting(j, s, operations);
      common_change(j, operations);
    } else {
      judge_peers(j, s, hosts[s.comm]);
      j.run.why = "sends and receives wait for the other end, so that no figure is expected; peers are held against each other";
    }
    out.push_back(std::move(j));
  }
  return out;
}

}  // namespace muster::diagnose
