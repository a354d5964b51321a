#include "fleet/shuffle.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/math.h"
#include "base/prng.h"

namespace muster::fleet {
namespace {

constexpr std::size_t kLanes = 8;  // shuffles side by side
constexpr double kUnit = 4096;     // of one standard deviation: whole numbers add up alike in any order
constexpr std::size_t kFamilies = 2;

struct Set {
  const Minority* nodes;
  double unknown_weight;  // of the sum over unknown nodes
  double scale;           // one over the standard deviation of the sum; 0: nothing can be said of it
};

// What the nodes of each block have in common, and what is left of each node.
struct Blocks {
  std::vector<std::uint32_t> of;   // by node: its block; kNone: none
  std::vector<double> mean;        // by block, off the middle of the blocks of its stratum
  std::vector<std::size_t> begin;  // blocks of one stratum lie together
  std::vector<double> rest;        // by node
};
constexpr std::uint32_t kNone = 0xffffffffU;
constexpr std::size_t kBlockLeast = 4;  // nodes: of fewer nobody can say what they have in common

Blocks blocks_of(const Scores& scores) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> members;
  for (std::size_t i = 0; i < scores.z.size(); ++i) {
    if (scores.block[i] != 0) members[{scores.stratum[i], scores.block[i]}].push_back(static_cast<std::uint32_t>(i));
  }
  Blocks out{std::vector<std::uint32_t>(scores.z.size(), kNone), {}, {}, scores.z};
  std::uint32_t stratum = kNone;
  for (const auto& [key, nodes] : members) {
    if (nodes.size() < kBlockLeast) continue;
    if (key.first != stratum) out.begin.push_back(out.mean.size());
    stratum = key.first;
    double sum = 0;
    for (const std::uint32_t i : nodes) {
      sum += scores.z[i];
      out.of[i] = static_cast<std::uint32_t>(out.mean.size());
    }
    out.mean.push_back(sum / static_cast<double>(nodes.size()));
  }
  out.begin.push_back(out.mean.size());
  for (std::size_t s = 0; s + 1 < out.begin.size(); ++s) {
    double sum = 0;
    for (std::size_t b = out.begin[s]; b < out.begin[s + 1]; ++b) sum += out.mean[b];
    for (std::size_t b = out.begin[s]; b < out.begin[s + 1]; ++b)
      out.mean[b] -= sum / static_cast<double>(out.begin[s + 1] - out.begin[s]);
  }
  for (std::size_t i = 0; i < out.of.size(); ++i) {
    if (out.of[i] != kNone) out.rest[i] -= out.mean[out.of[i]];
  }
  return out;
}

// The variance that blocks give the sum over a set when what they have in common is shuffled among them.
double variance_of_blocks(const Blocks& blocks, const Minority& m, double unknown_weight) {
  std::vector<double> weight(blocks.mean.size(), 0);
  for (const std::uint32_t i : m.nodes) {
    if (blocks.of[i] != kNone) weight[blocks.of[i]] += 1;
  }
  if (unknown_weight > 0) {
    for (const std::uint32_t i : m.unknown) {
      if (blocks.of[i] != kNone) weight[blocks.of[i]] += unknown_weight;
    }
  }
  double variance = 0;
  for (std::size_t s = 0; s + 1 < blocks.begin.size(); ++s) {
    const auto n = static_cast<double>(blocks.begin[s + 1] - blocks.begin[s]);
    double sum = 0, squares = 0, means = 0;
    for (std::size_t b = blocks.begin[s]; b < blocks.begin[s + 1]; ++b) {
      sum += weight[b];
      squares += weight[b] * weight[b];
      means += blocks.mean[b] * blocks.mean[b];
    }
    if (n > 1) variance += means * (squares - sum * sum / n) / (n - 1);
  }
  return variance;
}

// A rack that is slow by itself takes all of its nodes in the set with it.
double squares_by_rack(const Scores& scores, const Minority& m) {
  if (scores.rack_variance <= 0) return 0;
  std::map<std::uint32_t, double> nodes;
  for (const std::uint32_t i : m.nodes) nodes[scores.rack[i]] += 1;
  double sum = 0;
  for (const auto& [rack, n] : nodes) sum += rack == 0 ? n : n * n;
  return sum;
}

// The variance of the sum over a set when scores are shuffled within strata.
std::vector<Set> weighed(const Scores& scores, const std::vector<Minority>& sets, const Blocks& blocks) {
  std::size_t strata = 0;
  for (const std::uint32_t s : scores.stratum) strata = std::max<std::size_t>(strata, s + 1);
  std::vector<double> n(strata, 0), squares(strata, 0);
  for (std::size_t i = 0; i < scores.z.size(); ++i) {
    n[scores.stratum[i]] += 1;
    squares[scores.stratum[i]] += blocks.rest[i] * blocks.rest[i];
  }
  std::vector<Set> out;
  std::vector<double> in(strata, 0), unknown(strata, 0);
  for (const Minority& m : sets) {
    std::fill(in.begin(), in.end(), 0);
    std::fill(unknown.begin(), unknown.end(), 0);
    for (const std::uint32_t i : m.nodes) in[scores.stratum[i]] += 1;
    for (const std::uint32_t i : m.unknown) unknown[scores.stratum[i]] += 1;
    double variance = 0;
    for (std::size_t s = 0; s < strata; ++s) {
      const double knowing = n[s] - unknown[s];
      if (knowing > 1) variance += squares[s] / n[s] * in[s] * (knowing - in[s]) / (knowing - 1);
    }
    variance += scores.rack_variance * squares_by_rack(scores, m);
    const double rest = static_cast<double>(scores.z.size() - m.unknown.size());
    const double unknown_weight = m.unknown.empty() ? 0 : static_cast<double>(m.nodes.size()) / std::max(1.0, rest);
    if (!blocks.mean.empty()) variance += variance_of_blocks(blocks, m, unknown_weight);
    out.push_back({&m, unknown_weight, variance > 0 ? 1 / (det_sqrt(variance) * kUnit) : 0});
  }
  return out;
}

using Lanes = std::array<std::int32_t, kLanes>;

Lanes sum_of(const std::vector<std::uint32_t>& nodes, const std::vector<Lanes>& scores) {
  Lanes sum{};
  for (const std::uint32_t i : nodes) {
    const Lanes& row = scores[i];
    for (std::size_t l = 0; l < kLanes; ++l) sum[l] += row[l];
  }
  return sum;
}

std::array<double, kLanes> statistics(const Set& set, const std::vector<Lanes>& scores) {
  const Lanes sum = sum_of(set.nodes->nodes, scores);
  std::array<double, kLanes> out{};
  for (std::size_t l = 0; l < kLanes; ++l) out[l] = sum[l] * set.scale;
  if (set.unknown_weight > 0) {
    // The sum over all is 0: what those who know have beside it is what the unknown have, with the other sign.
    const Lanes unknown = sum_of(set.nodes->unknown, scores);
    for (std::size_t l = 0; l < kLanes; ++l) out[l] += unknown[l] * set.unknown_weight * set.scale;
  }
  return out;
}

// Places by stratum, one stratum after the other, with where each begins.
struct Strata {
  std::vector<std::uint32_t> order;
  std::vector<std::size_t> begin;
};

Strata by_stratum(const std::vector<std::uint32_t>& stratum) {
  Strata out;
  out.order.resize(stratum.size());
  for (std::size_t i = 0; i < stratum.size(); ++i) out.order[i] = static_cast<std::uint32_t>(i);
  std::stable_sort(out.order.begin(), out.order.end(), [&](std::uint32_t a, std::uint32_t b) { return stratum[a] < stratum[b]; });
  for (std::size_t i = 0; i < out.order.size(); ++i) {
    if (i == 0 || stratum[out.order[i]] != stratum[out.order[i - 1]]) out.begin.push_back(i);
  }
  out.begin.push_back(out.order.size());
  return out;
}

// Places by stratum once more, of blocks: each moves among those of its own.
Strata by_stratum(const Blocks& blocks) {
  Strata out;
  for (std::size_t b = 0; b < blocks.mean.size(); ++b) out.order.push_back(static_cast<std::uint32_t>(b));
  out.begin = blocks.begin;
  return out;
}

// Two places from one word: a stratum has far fewer than 2^32 nodes, so what is left of evenness is below one in a million.
void shuffle_lane(const Strata& strata, std::vector<std::int32_t>& work, Prng& prng) {
  for (std::size_t s = 0; s + 1 < strata.begin.size(); ++s) {
    std::int32_t* const first = work.data() + strata.begin[s];
    std::uint64_t word = 0;
    bool half = false;
    for (std::size_t i = strata.begin[s + 1] - strata.begin[s]; i > 1; --i) {
      word = half ? word >> 32 : prng.next();
      half = !half;
      std::swap(first[i - 1], first[((word & 0xffffffffU) * i) >> 32]);
    }
  }
}

double share_of(const std::vector<double>& sorted, double as_far) {
  const auto n = std::upper_bound(sorted.begin(), sorted.end(), as_far) - sorted.begin();
  return static_cast<double>(n + 1) / static_cast<double>(sorted.size() + 1);
}

}  // namespace

Shuffled shuffle(const Scores& scores, const std::vector<Minority>& sets, const std::vector<std::uint8_t>& family,
                 std::uint32_t permutations, std::uint64_t seed) {
  MUSTER_CHECK(family.size() == sets.size() && scores.z.size() == scores.stratum.size());
  const Blocks blocks = scores.block.empty() ? Blocks{{}, {}, {}, scores.z} : blocks_of(scores);
  const std::vector<Set> weights = weighed(scores, sets, blocks);
  const Strata strata = by_stratum(scores.stratum), block_strata = by_stratum(blocks);
  std::vector<std::int32_t> work;  // in the order of strata
  for (const std::uint32_t i : strata.order) work.push_back(static_cast<std::int32_t>(std::lround(blocks.rest[i] * kUnit)));
  std::vector<std::int32_t> common;  // by block
  for (const double m : blocks.mean) common.push_back(static_cast<std::int32_t>(std::lround(m * kUnit)));
  std::vector<Lanes> rows(scores.z.size());
  const auto lay = [&](std::size_t lane) {
    for (std::size_t i = 0; i < work.size(); ++i) rows[strata.order[i]][lane] = work[i];
    if (common.empty()) return;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (blocks.of[i] != kNone) rows[i][lane] += common[blocks.of[i]];
    }
  };
  for (std::size_t l = 0; l < kLanes; ++l) lay(l);
  Shuffled out;
  for (const Set& s : weights) out.statistic.push_back(statistics(s, rows)[0]);

  std::array<std::vector<double>, kFamilies> lowest, highest;  // highest with the sign turned
  Prng prng(seed, "fleet.shuffle");
  for (std::uint32_t done = 0; done < permutations; done += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      shuffle_lane(strata, work, prng);
      if (!common.empty()) shuffle_lane(block_strata, common, prng);
      lay(l);
    }
    std::array<std::array<double, kLanes>, kFamilies> low{}, high{};
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const auto t = statistics(weights[k], rows);
      auto &lo = low[family[k]], &hi = high[family[k]];
      for (std::size_t l = 0; l < kLanes; ++l) {
        lo[l] = std::min(lo[l], t[l]);
        hi[l] = std::min(hi[l], -t[l]);
      }
    }
    for (std::size_t f = 0; f < kFamilies; ++f) {
      for (std::size_t l = 0; l < std::min<std::size_t>(kLanes, permutations - done); ++l) {
        lowest[f].push_back(low[f][l]);
        highest[f].push_back(high[f][l]);
      }
    }
  }
  for (std::size_t f = 0; f < kFamilies; ++f) {
    std::sort(lowest[f].begin(), lowest[f].end());
    std::sort(highest[f].begin(), highest[f].end());
  }
  for (std::size_t k = 0; k < sets.size(); ++k) {
    out.p_low.push_back(share_of(lowest[family[k]], out.statistic[k]));
    out.p_high.push_back(share_of(highest[family[k]], -out.statistic[k]));
  }
  return out;
}

}  // namespace muster::fleet
