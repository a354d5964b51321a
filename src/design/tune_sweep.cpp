#include "design/tune_sweep.h"

#include <algorithm>
#include <map>
#include <optional>

namespace muster::design {
namespace {

constexpr double kExplore = 0.5;  // of the budget, before what was found so far is repeated
constexpr double kNear = 1.05;    // of the best at a size: as good as that, from a launch or two

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// What is known of one way.
struct Record {
  std::uint32_t runs = 0, well = 0;
  std::map<double, std::vector<double>> times;  // by size
  double nearest = 0;                           // its time over the best's, at the size where it does best
  std::uint32_t near = 0;                       // sizes at which it is as good as the best
};

struct History {
  std::map<NcclWay, Record> ways;
  double spent_s = 0, usual_s = 0;

  explicit History(std::span<const SweepRun> done) {
    std::vector<double> took;
    for (const SweepRun& r : done) {
      Record& to = ways[r.way];
      ++to.runs;
      spent_s += r.seconds;
      took.push_back(r.seconds);
      if (!r.failure.empty()) continue;
      ++to.well;
      for (const auto& [bytes, us] : r.times) to.times[bytes].push_back(us);
    }
    usual_s = median(took);
    compare();
  }
  std::uint32_t runs(const NcclWay& way) const {
    const auto it = ways.find(way);
    return it == ways.end() ? 0 : it->second.runs;
  }
  // A way that failed is not tried again: it is not there, or it hangs.
  bool failed(const NcclWay& way) const {
    const auto it = ways.find(way);
    return it != ways.end() && it->second.well < it->second.runs;
  }

 private:
  void compare() {
    std::map<double, double> best;
    for (const auto& [way, r] : ways) {
      for (const auto& [bytes, us] : r.times) {
        const double m = median(us);
        const auto [at, fresh] = best.try_emplace(bytes, m);
        if (!fresh) at->second = std::min(at->second, m);
      }
    }
    for (auto& [way, r] : ways) {
      for (const auto& [bytes, us] : r.times) {
        const double ratio = median(us) / best[bytes];
        r.nearest = r.nearest == 0 ? ratio : std::min(r.nearest, ratio);
        r.near += ratio <= kNear;
      }
    }
  }
};

// The better ones first; those that failed are not among them.
std::vector<NcclWay> ranked(const History& h, std::vector<NcclWay> of) {
  std::erase_if(of, [&](const NcclWay& w) { return h.runs(w) == 0 || h.failed(w) || h.ways.at(w).times.empty(); });
  std::stable_sort(of.begin(), of.end(), [&](const NcclWay& x, const NcclWay& y) {
    const Record &a = h.ways.at(x), &b = h.ways.at(y);
    if (a.nearest != b.nearest) return a.nearest < b.nearest;
    return a.near > b.near;
  });
  return of;
}

// So many of them, and more where more are the best at some size.
std::vector<NcclWay> best_of(const History& h, const std::vector<NcclWay>& ways, std::size_t n) {
  std::vector<NcclWay> out = ranked(h, ways);
  while (n < out.size() && h.ways.at(out[n]).nearest <= 1) ++n;
  if (out.size() > n) out.resize(n);
  return out;
}

std::vector<NcclWay> first_ways(const SweepAsk& ask) {
  std::vector<NcclWay> out = {NcclWay{}};
  for (const NcclAlgorithm a : ask.algorithms) {
    for (const NcclProtocol p : ask.protocols) {
      if (nccl_has(ask.op, a, p)) out.push_back({false, a, p, 0, 0});
    }
  }
  return out;
}

// Of these the first that was never launched.
std::optional<NcclWay> untried(const History& h, const std::vector<NcclWay>& ways) {
  for (const NcclWay& w : ways) {
    if (h.runs(w) == 0) return w;
  }
  return {};
}

std::size_t halved(std::size_t n, std::uint32_t times) {
  for (std::uint32_t i = 0; i < times && n > 1; ++i) n = (n + 1) / 2;
  return n;
}

}  // namespace

bool nccl_has(Collective op, NcclAlgorithm algorithm, NcclProtocol protocol) {
  const bool all_reduce = op == Collective::all_reduce;
  const bool parts = op == Collective::all_gather || op == Collective::reduce_scatter;
  const bool simple = protocol == NcclProtocol::simple;
  switch (algorithm) {
    case NcclAlgorithm::ring: return op != Collective::all_to_all && op != Collective::send_recv;
    case NcclAlgorithm::tree: return all_reduce;
    case NcclAlgorithm::pat: return parts && simple;
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::collnet_direct: return (all_reduce || parts) && simple;
    case NcclAlgorithm::collnet_chain:
    case NcclAlgorithm::nvls_tree: return all_reduce && simple;
  }
  return false;
}

SweepStep next_step(const SweepAsk& ask, std::span<const SweepRun> done) {
  const History h(done);
  const std::vector<NcclWay> first = first_ways(ask);
  std::vector<NcclWay> forced(first.begin() + 1, first.end()), all = first, more, buffers;
  const auto launch = [&](SweepStage stage, const NcclWay& way, std::size_t in_play) {
    SweepStep step{stage, way, h.runs(way), h.usual_s, static_cast<std::uint32_t>(in_play)};
    if (!done.empty() && h.spent_s + h.usual_s > ask.budget_s) step.stage = SweepStage::no_time;
    return step;
  };
  // NCCL's own comes first whatever the time: nothing can be said without it.
  const bool exploring = h.spent_s < kExplore * ask.budget_s;
  if (h.runs({}) == 0) return launch(SweepStage::ways, {}, first.size());
  // Once it went well, a failure is one of this launch: nothing can replace it, so it is tried again.
  if (h.ways.at({}).well == 0) return {SweepStage::done, {}, 0, h.usual_s, 0};
  if (const auto way = untried(h, first); way && exploring) return launch(SweepStage::ways, *way, first.size());
  for (const NcclWay& w : best_of(h, forced, (forced.size() + 1) / 2)) {
    for (const std::uint32_t n : ask.channels) {
      more.push_back(w);
      more.back().channels = n;
    }
  }
  if (const auto way = untried(h, more); way && exploring) return launch(SweepStage::channels, *way, more.size());
  for (const std::uint64_t bytes : ask.buffers) {
    buffers.push_back({});
    buffers.back().buffer_bytes = bytes;
  }
  if (const auto way = untried(h, buffers); way && exploring) return launch(SweepStage::buffers, *way, buffers.size());
  // Whatever was launched takes part: the better half of another number of channels may have changed since.
  all.clear();
  for (const auto& [way, record] : h.ways) {
    if (!way.own) all.push_back(way);
  }
  const std::size_t usable = ranked(h, all).size();
  std::vector<NcclWay> left = best_of(h, all, halved(usable, h.runs({})));
  left.insert(left.begin(), NcclWay{});
  for (const NcclWay& w : ranked(h, buffers)) left.push_back(w);
  const auto next =
      std::min_element(left.begin(), left.end(), [&](const NcclWay& x, const NcclWay& y) { return h.runs(x) < h.runs(y); });
  if (h.runs(*next) >= ask.repeats || left.size() == 1) return {SweepStage::done, {}, 0, h.usual_s, 0};
  return launch(SweepStage::repeats, *next, left.size());
}

}  // namespace muster::design
