// The churn, the clock and the two placements.
#include "trial/place_bench.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "base/prng.h"
#include "decide/place/tree.h"

namespace muster::trial {
namespace {

double thread_cpu_us() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

double clock_cost_us() {
  constexpr int kReads = 20'000;
  const double start = thread_cpu_us();
  double last = start;
  for (int i = 0; i < kReads; ++i) last = thread_cpu_us();
  return (last - start) / kReads;
}

decide::Layout cluster(std::uint32_t gpus) {
  decide::Layout out;
  const std::uint32_t nodes = std::max((gpus + kGpusPerNode - 1) / kGpusPerNode, 1U);
  out.nodes.reserve(nodes);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    out.nodes.push_back({n, n / kNodesPerLeaf, n / (kNodesPerLeaf * kLeavesPerPod), kGpusPerNode, 0});
  }
  return out;
}

// The peer: the free nodes of the lowest numbers, as a scheduler does that does not look at the network.
class FirstFit {
 public:
  explicit FirstFit(std::uint32_t nodes) : free_(nodes / 64 + 1, 0), left_(nodes) {
    for (std::uint32_t n = 0; n < nodes; ++n) free_[n / 64] |= std::uint64_t{1} << (n % 64);
  }

  std::optional<decide::Choice> place(std::uint32_t nodes) {
    if (nodes > left_) return std::nullopt;
    decide::Choice out;
    out.nodes.reserve(nodes);
    left_ -= nodes;
    std::uint32_t leaf = UINT32_MAX;
    for (std::size_t w = 0; nodes > 0; ++w) {
      for (; free_[w] != 0 && nodes > 0; --nodes) {
        const auto n = static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(free_[w])));
        free_[w] &= free_[w] - 1;
        out.nodes.push_back({n});
        if (n / kNodesPerLeaf != leaf) ++out.certificate.leaves;
        leaf = n / kNodesPerLeaf;
      }
    }
    return out;
  }

  void give(const decide::Choice& c) {
    for (const NodeId n : c.nodes) free_[n.v / 64] |= std::uint64_t{1} << (n.v % 64);
    left_ += static_cast<std::uint32_t>(c.nodes.size());
  }

 private:
  std::vector<std::uint64_t> free_;
  std::uint32_t left_;
};

struct Gang {
  std::uint32_t nodes = 0;
  double life = 0;
};

class Stream {
 public:
  Stream(const GangMix& mix, std::uint64_t seed, std::uint32_t nodes_max) : mix_(mix), max_(nodes_max), draw_(seed, "gangs") {
    double weight = 1;
    for (std::uint32_t e = 0; e < mix.classes; ++e, weight *= mix.thinning) total_ += weight;
  }

  Gang next() {
    for (;;) {
      double at = draw_.unit() * total_, weight = 1;
      std::uint32_t e = 0;
      for (; e + 1 < mix_.classes && at >= weight; ++e, weight *= mix_.thinning) at -= weight;
      Gang gang{1U << e, 0};
      if (!draw_.chance(mix_.power_of_two)) gang.nodes += static_cast<std::uint32_t>(draw_.below(gang.nodes));
      gang.life = draw_.lognormal(0, mix_.life_sigma);
      if (gang.nodes <= max_) return gang;
    }
  }

 private:
  GangMix mix_;
  std::uint32_t max_;
  Prng draw_;
  double total_ = 0;
};

class Churn {
 public:
  explicit Churn(const PlaceBench& bench)
      : bench_(bench),
        layout_(cluster(bench.gpus)),
        nodes_(static_cast<std::uint32_t>(layout_.nodes.size())),
        tree_(layout_),
        first_fit_(nodes_),
        stream_(bench.mix, bench.seed, std::max(nodes_ / 8, 1U)) {}

  PlaceFigures run();

 private:
  struct Running {
    double end = 0;
    decide::Choice choice;
    bool operator<(const Running& other) const { return end > other.end; }  // the heap's top ends first
  };

  void make_room();
  void step(bool counted);
  PlaceFigures figures() const;

  const PlaceBench& bench_;
  decide::Layout layout_;
  std::uint32_t nodes_;
  decide::Tree tree_;
  FirstFit first_fit_;
  Stream stream_;
  double now_ = 0;
  std::uint32_t taken_ = 0;
  std::vector<Running> running_;
  // Counted since the warm-up.
  std::vector<float> us_;
  std::uint64_t rejected_ = 0, at_minimum_ = 0, leaves_ = 0, leaves_least_ = 0, gang_nodes_ = 0;
  double ratios_ = 0, loads_ = 0;
};

// Time passes, gangs end, until the load is no more than asked for.
void Churn::make_room() {
  while (static_cast<double>(taken_) > bench_.load * nodes_) {
    std::pop_heap(running_.begin(), running_.end());
    Running& ended = running_.back();
    now_ = ended.end;
    taken_ -= static_cast<std::uint32_t>(ended.choice.nodes.size());
    bench_.placement == Placement::muster ? tree_.give(ended.choice) : first_fit_.give(ended.choice);
    running_.pop_back();
  }
}

void Churn::step(bool counted) {
  make_room();
  const Gang gang = stream_.next();
  std::optional<decide::Choice> choice;
  const double start = thread_cpu_us();
  if (bench_.placement == Placement::muster) {
    choice = tree_.find({.pieces = gang.nodes});
    if (choice) tree_.take(*choice);
  } else {
    choice = first_fit_.place(gang.nodes);
  }
  const double end = thread_cpu_us();
  if (choice) taken_ += gang.nodes;
  if (counted) {
    us_.push_back(static_cast<float>(end - start));
    loads_ += static_cast<double>(taken_) / nodes_;
    if (!choice) ++rejected_;
  }
  if (!choice) return;
  if (counted) {
    const std::uint32_t least = (gang.nodes + kNodesPerLeaf - 1) / kNodesPerLeaf, used = choice->certificate.leaves;
    leaves_ += used;
    leaves_least_ += least;
    gang_nodes_ += gang.nodes;
    ratios_ += static_cast<double>(used) / least;
    if (used == least) ++at_minimum_;
  }
  running_.push_back({now_ + gang.life, std::move(*choice)});
  std::push_heap(running_.begin(), running_.end());
}

PlaceFigures Churn::figures() const {
  PlaceFigures out;
  out.gpus = nodes_ * kGpusPerNode;
  out.nodes = nodes_;
  out.leaves = layout_.nodes.back().leaf + 1;
  out.pods = layout_.nodes.back().pod + 1;
  out.decisions = us_.size();
  auto sorted = us_;
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double share) {
    const auto i = static_cast<std::size_t>(share * static_cast<double>(sorted.size()));
    return static_cast<double>(sorted[std::min(i, sorted.size() - 1)]);
  };
  out.p50_us = at(0.5);
  out.p99_us = at(0.99);
  out.p999_us = at(0.999);
  out.max_us = sorted.back();
  const auto placed = static_cast<double>(std::max<std::uint64_t>(us_.size() - rejected_, 1));
  out.leaves_ratio = static_cast<double>(leaves_) / static_cast<double>(std::max<std::uint64_t>(leaves_least_, 1));
  out.leaves_ratio_mean = ratios_ / placed;
  out.at_minimum_pct = 100 * static_cast<double>(at_minimum_) / placed;
  out.rejected_pct = 100 * static_cast<double>(rejected_) / static_cast<double>(us_.size());
  out.load_seen = loads_ / static_cast<double>(us_.size());
  out.gang_mean = static_cast<double>(gang_nodes_) / placed;
  out.running = static_cast<double>(running_.size());
  return out;
}

PlaceFigures Churn::run() {
  Prng draw(bench_.seed, "costs");
  for (std::uint32_t n = 0; bench_.costs && n < nodes_; ++n) tree_.set_cost({n}, static_cast<std::uint8_t>(1 + draw.below(200)));
  while (static_cast<double>(taken_) <= bench_.load * nodes_ * 0.999 && running_.size() < nodes_) step(false);
  // The first fill is tidier than what churn makes of it: all that runs is replaced fifteen times over first.
  const std::uint64_t warm = std::max<std::uint64_t>(bench_.decisions / 4, 15 * running_.size());
  for (std::uint64_t i = 0; i < warm; ++i) step(false);
  us_.reserve(bench_.decisions);
  for (std::uint64_t i = 0; i < bench_.decisions; ++i) step(true);
  PlaceFigures out = figures();
  out.clock_us = clock_cost_us();
  return out;
}

}  // namespace

PlaceFigures run_place_bench(const PlaceBench& bench) { return Churn(bench).run(); }

}  // namespace muster::trial
