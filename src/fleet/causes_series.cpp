#include "fleet/causes_series.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/node_list.h"
#include "base/series.h"

namespace muster::fleet {
namespace {

constexpr double kMadToSd = 1.4826, kMeanToSd = 1.2533;  // of a normal distribution
constexpr double kRacksBeyond = 1.4;    // times the variance that noise gives the means of racks; less may be chance
constexpr std::size_t kNeighbours = 8;  // nodes with neighbouring names that are taken for a rack where none is known
constexpr std::uint32_t kRow = 4;       // racks that may have something in common

// By the median deviation.
double deviation_of(const std::vector<double>& values, double middle) {
  std::vector<double> off;
  off.reserve(values.size());
  for (const double v : values) off.push_back(std::abs(v - middle));
  return kMadToSd * median_of(std::move(off));
}

// Whether racks of one kind differ among themselves by more than noise. A few odd racks do not make it so: they are what is
// looked for; it is the spread of the middle half of the racks that counts.
bool racks_differ(const Series& s, const std::vector<std::uint32_t>& nodes) {
  std::map<std::uint32_t, std::vector<double>> racks;
  for (const std::uint32_t i : nodes) {
    if (s.rack[i] != 0) racks[s.rack[i]].push_back(s.y[i]);
  }
  std::vector<double> middles, within;
  double size = 0;
  for (const auto& [rack, values] : racks) {
    if (values.size() < kRackLeast) continue;
    const double middle = median_of(values);
    middles.push_back(middle);
    size += static_cast<double>(values.size());
    for (const double v : values) within.push_back(v - middle);
  }
  if (middles.size() < 4) return false;
  constexpr double kMedianCost = 1.2533;  // a median of normal values varies this much more than their mean
  const double mean_size = size / static_cast<double>(middles.size());
  const double expected = kMedianCost * spread_of(within, 0) / det_sqrt(mean_size);
  return deviation_of(middles, median_of(middles)) > (middles.size() < 8 ? 3 : 1.5) * expected;
}

// Of the means of racks, what noise does not explain; by the middle half of them, as above.
double rack_variance(const Series& s, const std::vector<double>& z) {
  std::map<std::uint32_t, std::vector<double>> racks;
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (s.rack[i] != 0) racks[s.rack[i]].push_back(z[i]);
  }
  std::vector<double> means;
  double noise = 0;
  for (const auto& [rack, values] : racks) {
    if (values.size() < kRackLeast) continue;
    const auto n = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (const double v : values) sum += v;
    for (const double v : values) squares += (v - sum / n) * (v - sum / n);
    means.push_back(sum / n);
    noise += squares / (n - 1) / n;
  }
  if (means.size() < 4) return 0;
  const double spread = deviation_of(means, median_of(means)), expected = noise / static_cast<double>(means.size());
  return spread * spread > kRacksBeyond * expected ? spread * spread - expected : 0;
}

// The last digit that all were written with. Of times it is that of what was turned round.
double digit_of(const std::vector<double>& values) {
  constexpr int kMostDigits = 6;
  double unit = 1;
  for (int digits = 0; digits < kMostDigits; ++digits, unit /= 10) {
    const bool all = std::all_of(values.begin(), values.end(),
                                 [&](double v) { return std::abs(v / unit - std::round(v / unit)) <= 1e-9 * v / unit; });
    if (all) return unit;
  }
  return 0;
}

void set_coarse(Series& s) {
  for (const auto& nodes : grouped(s.kind)) {
    const std::vector<double> y = picked(s.y, nodes);
    const double middle = y.empty() ? 0 : median_of(y);
    s.coarse = s.coarse || (!y.empty() && deviation_of(y, middle) <= 0);
    std::vector<double> more, less;
    for (const double v : y) {
      more.push_back(det_exp(v));
      less.push_back(det_exp(-v));
    }
    s.steps.push_back(std::max(digit_of(more) / det_exp(middle), digit_of(less) * det_exp(middle)));
  }
}

}  // namespace

std::vector<double> picked(const std::vector<double>& values, const std::vector<std::uint32_t>& places) {
  std::vector<double> out;
  out.reserve(places.size());
  for (const std::uint32_t i : places) out.push_back(values[i]);
  return out;
}

std::vector<std::vector<std::uint32_t>> grouped(const std::vector<std::uint32_t>& label) {
  std::vector<std::vector<std::uint32_t>> out;
  for (std::size_t i = 0; i < label.size(); ++i) {
    if (label[i] >= out.size()) out.resize(label[i] + 1);
    out[label[i]].push_back(static_cast<std::uint32_t>(i));
  }
  return out;
}

double spread_of(const std::vector<double>& values, double middle) {
  if (const double usual = deviation_of(values, middle); usual > 0 || values.empty()) return usual;
  double sum = 0;
  for (const double v : values) sum += std::abs(v - middle);
  return kMeanToSd * sum / static_cast<double>(values.size());
}

void set_strata(Series& s, bool always) {
  s.stratum = s.kind;
  const auto kinds = grouped(s.kind);
  std::uint32_t next = static_cast<std::uint32_t>(kinds.size());
  for (const auto& nodes : kinds) {
    if (!always && !racks_differ(s, nodes)) continue;
    s.within_racks = true;
    std::map<std::uint32_t, std::vector<std::uint32_t>> racks;
    for (const std::uint32_t i : nodes) racks[s.rack[i]].push_back(i);
    for (const auto& [rack, members] : racks) {
      if (rack == 0 || members.size() < kRackLeast) continue;  // these stay together, among themselves
      for (const std::uint32_t i : members) s.stratum[i] = next;
      ++next;
    }
  }
}

void set_blocks(Series& s) {
  s.racks_known = std::any_of(s.rack.begin(), s.rack.end(), [](std::uint32_t r) { return r != 0; });
  if (s.racks_known) {
    std::vector<std::uint32_t> row = s.rack;
    for (std::uint32_t& r : row) r = r == 0 ? 0 : (r - 1) / kRow + 1;
    s.blocks = {s.rack, std::move(row)};
    return;
  }
  s.blocks.assign(2, std::vector<std::uint32_t>(s.y.size(), 0));
  for (const auto& nodes : grouped(s.kind)) {  // in the order of names
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      s.blocks[0][nodes[i]] = static_cast<std::uint32_t>(i / kNeighbours + 1);
      s.blocks[1][nodes[i]] = static_cast<std::uint32_t>(i / (2 * kNeighbours) + 1);
    }
  }
}

std::vector<double> residuals(const Series& s) {
  std::vector<double> out(s.y.size(), 0);
  for (const auto& nodes : grouped(s.stratum)) {
    const double middle = median_of(picked(s.y, nodes));
    for (const std::uint32_t i : nodes) out[i] = s.y[i] - middle;
  }
  return out;
}

std::vector<double> noise_by_kind(const Series& s, const std::vector<double>& residual) {
  std::vector<double> out;
  for (const auto& nodes : grouped(s.kind)) out.push_back(nodes.empty() ? 0 : spread_of(picked(residual, nodes), 0));
  return out;
}

Scores scores_of(const Series& s, const std::vector<double>& residual) {
  const std::vector<double> noise = noise_by_kind(s, residual);
  Scores out{std::vector<double>(s.y.size(), 0), s.stratum, s.rack, 0, {}};
  for (std::size_t i = 0; i < s.y.size(); ++i) {
    const double sd = noise[s.kind[i]];
    out.z[i] = sd > 0 ? std::clamp(residual[i] / sd, -kScoreClip, kScoreClip) : 0;
  }
  for (const auto& nodes : grouped(s.stratum)) {
    double sum = 0;
    for (const std::uint32_t i : nodes) sum += out.z[i];
    for (const std::uint32_t i : nodes) out.z[i] -= sum / static_cast<double>(nodes.size());
  }
  if (!s.within_racks) out.rack_variance = rack_variance(s, out.z);
  return out;
}

Series series_of(const FactTable& table, const std::vector<Cohort>& cohorts, const std::vector<std::uint32_t>& racks,
                 const std::vector<double>& log_of_node) {
  Series out;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> in;  // node, kind
  std::uint32_t kind = 0;
  for (const Cohort& c : cohorts) {
    std::vector<std::uint32_t> measured;
    for (const std::uint32_t n : c.nodes) {
      if (!std::isnan(log_of_node[n])) measured.push_back(n);
    }
    if (measured.size() < kKindLeast) continue;
    for (const std::uint32_t n : measured) in.emplace_back(n, kind);
    ++kind;
  }
  // By name, so that the order in which facts were read changes nothing.
  std::sort(in.begin(), in.end(), [&](const auto& a, const auto& b) {
    const std::string &x = table.nodes()[a.first].name, &y = table.nodes()[b.first].name;
    if (natural_less(x, y) != natural_less(y, x)) return natural_less(x, y);
    return x < y;
  });
  for (const auto& [node, k] : in) {
    out.node.push_back(node);
    out.kind.push_back(k);
    out.rack.push_back(racks[node]);
    out.y.push_back(log_of_node[node]);
  }
  set_coarse(out);
  return out;
}

}  // namespace muster::fleet
