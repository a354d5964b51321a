#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/series.h"
#include "diagnose/nccl_bandwidth.h"
#include "diagnose/nccl_sizes.h"
#include "model/fields.h"

namespace muster::diagnose {
namespace {

constexpr std::size_t kLeast = 8;  // operations that a rank must be seen in
constexpr std::size_t kSide = 5;   // values on each side of a change
constexpr std::size_t kSizesMax = 256, kOddMax = 64;

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

// One operation as its ranks saw it.
struct Together {
  std::uint64_t seq = 0;
  double bytes = 0, soonest_us = 0, median_us = 0;
  std::size_t ranks = 0;
};
using Operations = std::vector<Together>;  // by number

Operations by_operation(const InspectorSeries& s) {
  std::vector<InspectorSample> all;
  for (const InspectorTrack& t : s.tracks) {
    for (const InspectorSample& x : t.samples) {
      if (x.time_us > 0) all.push_back(x);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const InspectorSample& x, const InspectorSample& y) { return x.seq < y.seq; });
  Operations out;
  std::vector<double> times;
  for (std::size_t i = 0; i < all.size(); i += times.size()) {
    times.clear();
    for (std::size_t k = i; k < all.size() && all[k].seq == all[i].seq; ++k) times.push_back(all[k].time_us);
    out.push_back({all[i].seq, all[i].bytes, *std::min_element(times.begin(), times.end()), median(times), times.size()});
  }
  return out;
}

const Together* find_operation(const Operations& all, std::uint64_t seq) {
  const auto it = std::lower_bound(all.begin(), all.end(), seq, [](const Together& t, std::uint64_t n) { return t.seq < n; });
  return it == all.end() || it->seq != seq ? nullptr : &*it;
}

// By size: the median over operations of the rank that was in it for the shortest time, who waited for nobody.
void fill_sizes(JudgedSeries& out, const Operations& operations, std::optional<Collective> op) {
  std::map<double, std::vector<double>> sizes;
  for (const Together& t : operations) {
    if (sizes.size() < kSizesMax || sizes.count(t.bytes) != 0) sizes[t.bytes].push_back(t.soonest_us);
  }
  for (auto& [bytes, times] : sizes) {
    JudgedSize z{bytes, median(times), 0, {}, false};
    const double factor = op && out.run.ranks > 0 ? bus_factor(*op, out.run.ranks) : 1;
    z.bus_gb_s = z.time_us > 0 ? bytes * factor / z.time_us / 1e3 : 0;
    out.run.sizes.push_back(z);
  }
}

// The rank's bandwidth in shares of the median rank's, operation by operation, and where it left the line.
std::optional<OddRank> odd_rank(const InspectorTrack& t, const Operations& operations) {
  std::vector<double> shares;
  std::vector<std::uint64_t> seqs;
  for (const InspectorSample& x : t.samples) {
    const Together* all = find_operation(operations, x.seq);
    if (x.time_us <= 0 || all == nullptr || all->ranks < 3) continue;
    shares.push_back(all->median_us / x.time_us);
    seqs.push_back(x.seq);
  }
  if (shares.size() < kLeast) return {};
  OddRank out;
  out.rank = t.rank;
  out.host = t.host;
  std::size_t from = 0;
  if (const auto change = level_change(shares)) from = *change;
  out.since = seqs[from];
  out.from_start = from == 0;
  out.share = median({shares.begin() + static_cast<std::ptrdiff_t>(from), shares.end()});
  const InCollective is = in_collective(out.share);
  if (is == InCollective::in_line) return {};
  out.late = is == InCollective::late;
  // Nine of ten operations, or it comes and goes.
  std::size_t agree = 0;
  for (std::size_t i = from; i < shares.size(); ++i) agree += out.late ? shares[i] > 1.1 : shares[i] < 0.93;
  if (10 * agree < 8 * (shares.size() - from)) return {};
  return out;
}

double distance(const OddRank& r) { return r.share > 1 ? r.share : r.share > 0 ? 1 / r.share : 1e9; }

void odd_ranks(JudgedSeries& out, const InspectorSeries& s, const Operations& operations) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> hosts;  // ranks seen, out of line and not late
  for (const InspectorTrack& t : s.tracks) {
    ++hosts[t.host].first;
    if (auto r = odd_rank(t, operations)) {
      if (!r->late) ++hosts[t.host].second;
      out.odd.push_back(std::move(*r));
    }
  }
  // Where half are out of line, there is no line.
  if (2 * out.odd.size() >= s.tracks.size()) out.odd.clear();
  if (out.odd.empty()) return;
  std::stable_sort(out.odd.begin(), out.odd.end(), [](const OddRank& x, const OddRank& y) { return distance(x) > distance(y); });
  for (const auto& [host, n] : hosts) {
    if (!host.empty() && n.first >= 2 && n.first == n.second) out.odd_hosts.push_back(host);
  }
  if (out.odd.size() > kOddMax) out.odd.resize(kOddMax);
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
  const double before = median({shares.begin(), middle}), then = median({middle, shares.end()});
  if (in_collective(then / before) != InCollective::slow) return;
  out.since = seqs[*change];
  out.since_share = then / before;
}

std::string called(const JudgedSeries& s) {
  return fmt::format("{} of communicator {}", s.run.what, s.name.empty() ? s.comm : fmt::format("{} ({})", s.name, s.comm));
}

std::string since_words(const OddRank& r) {
  return r.from_start ? fmt::format("from the first that was kept, number {}", r.since)
                      : fmt::format("from number {} on", r.since);
}

std::string rank_words(const OddRank& r) {
  return r.host.empty() ? fmt::format("rank {}", r.rank) : fmt::format("rank {} on {}", r.rank, r.host);
}

Finding odd_finding(const JudgedSeries& s, const OddRank& r) {
  Finding f;
  const bool node = !r.late && std::find(s.odd_hosts.begin(), s.odd_hosts.end(), r.host) != s.odd_hosts.end();
  const std::string who = node ? fmt::format("node {}", r.host) : rank_words(r);
  if (r.late) {
    f.title = fmt::format("the others wait for {} in {}", who, called(s));
    f.remedy = fmt::format(
        "look at what {} does before it: its GPU's clocks and temperature, its host's load, its share of the "
        "data; where it is the hardware, drain its node",
        who);
  } else {
    f.title = fmt::format("{} is slower than the others in {}", who, called(s));
    f.remedy = fmt::format(
        "look at the links of {}: the network card's errors and rate (ibstat, mlxlink), nvidia-smi nvlink -e, "
        "PCIe width; drain the node where they are not sound",
        who);
  }
  for (const OddRank& o : s.odd) {
    const bool same = &o == &r || (node && o.host == r.host);
    if (!same || f.evidence.size() >= 9) continue;
    f.evidence.push_back(fmt::format("{}: {:.2f} times the bandwidth of the median rank in the same operations, {}",
                                     rank_words(o), o.share, since_words(o)));
  }
  f.evidence.push_back(r.late ? "time in an operation counts from a rank's own coming: the last to come is in it the shortest"
                              : "the others are done sooner in the same operations, so it is not the whole fabric");
  f.expected = "as the median rank";
  f.achieved = fmt::format("{:.0f} % of its bandwidth", r.share * 100);
  f.verify = "Inspector's records of the next hour: the ratio is between 0.9 and 1.1 again";
  f.confidence = r.late || node ? Confidence::high : Confidence::medium;
  return f;
}

Finding slow_series(const JudgedSeries& s) {
  Finding f;
  const bool small = s.run.verdict == BusVerdict::slow_small;
  f.title = small ? fmt::format("{} takes {:.1f} times as long as expected at small sizes", called(s), 1 / s.run.small_share)
                  : fmt::format("{} gets {:.0f} % of the expected bandwidth", called(s), s.run.large_share * 100);
  const JudgedSize* z = nullptr;
  for (const JudgedSize& x : s.run.sizes) {
    if (x.slow && (z == nullptr || !small)) z = &x;
  }
  if (z != nullptr) {
    f.evidence.push_back(
        fmt::format("{} in {:.1f} us by the rank that waits least, median of the operations of that size; "
                    "expected {:.1f} us",
                    size_words(z->bytes), z->time_us, z->expected->s * 1e6));
    f.expected = fmt::format("{:.1f} GB/s at {}", z->expected->bus_gb_s, size_words(z->bytes));
    f.achieved = fmt::format("{:.1f} GB/s", z->bus_gb_s);
  }
  if (!s.run.why.empty()) f.evidence.push_back(s.run.why);
  f.remedy =
      "run nccl-tests on the same nodes while they are free: slow there too, it is the fabric or a setting "
      "(NCCL_DEBUG=INFO); as expected there, it is other traffic or kernels that compete for the GPUs";
  f.verify = "the same figures of Inspector after the change";
  f.confidence = s.run.why.empty() ? Confidence::medium : Confidence::low;
  return f;
}

Finding changed_series(const JudgedSeries& s) {
  Finding f;
  f.title = fmt::format("{} is slower on all ranks from number {} on", called(s), *s.since);
  f.evidence.push_back(
      fmt::format("{:.0f} % of the bandwidth that operations of the same sizes had before", s.since_share * 100));
  f.remedy =
      "look at what changed then: links that went down or to a lower rate, another job on the same leaf, power or heat limits";
  f.verify = "Inspector's records: the bandwidth is that of before";
  f.confidence = Confidence::medium;
  return f;
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
  std::vector<JudgedSeries> out;
  for (const InspectorSeries& s : log.series) {
    JudgedSeries j;
    j.comm = s.comm;
    j.name = s.comm_name;
    j.run.what = s.collective && *s.collective != Collective::send_recv ? std::string(name_of(*s.collective)) : s.op;
    j.run.ranks = s.ranks;
    j.run.nodes = s.nodes;
    j.ranks_seen = s.tracks.size();
    // Sends and receives are of pairs: their numbers are not those of the same operation elsewhere.
    const bool pairs = s.collective == Collective::send_recv;
    const auto operations = by_operation(s);
    j.operations = operations.size();
    fill_sizes(j, operations, s.collective);
    if (!pairs) {
      const std::uint32_t per_node = s.nodes > 0 && s.ranks % s.nodes == 0 ? s.ranks / s.nodes : 0;
      expect_sizes(j.run, s.collective, per_node, "", y);
      odd_ranks(j, s, operations);
      common_change(j, operations);
    } else {
      j.run.why = "of sends and receives no figure is expected: who waits for whom is not told";
    }
    out.push_back(std::move(j));
  }
  return out;
}

std::vector<Finding> find_in_inspector(std::span<const JudgedSeries> series) {
  std::vector<Finding> out;
  for (const JudgedSeries& s : series) {
    std::vector<std::string> said;
    for (const OddRank& r : s.odd) {
      // One for a node, and one for each of the three that are farthest out.
      const bool node = !r.late && std::find(s.odd_hosts.begin(), s.odd_hosts.end(), r.host) != s.odd_hosts.end();
      if (node && std::find(said.begin(), said.end(), r.host) != said.end()) continue;
      if (said.size() >= 3) break;
      said.push_back(node ? r.host : "");
      out.push_back(odd_finding(s, r));
    }
  }
  for (const JudgedSeries& s : series) {
    if (s.since) out.push_back(changed_series(s));
    if (s.run.verdict != BusVerdict::as_expected && s.run.verdict != BusVerdict::not_known) out.push_back(slow_series(s));
  }
  return out;
}

}  // namespace muster::diagnose
