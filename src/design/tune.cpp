#include "design/tune.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "base/math.h"

namespace muster::design {
namespace {

// Logarithms of one way's times at one size, in the order of the launches: even ones choose, odd ones are held out, or the other
// way round.
struct Series {
  std::vector<double> all;
  double spread = 0;

  std::vector<double> half(int which) const {
    std::vector<double> out;
    for (std::size_t i = static_cast<std::size_t>(which); i < all.size(); i += 2) out.push_back(all[i]);
    return out;
  }
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n == 0 ? 0 : n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

struct Size {
  double bytes = 0;
  std::map<NcclWay, Series> ways;

  const Series* find(const NcclWay& way) const {
    const auto it = ways.find(way);
    return it == ways.end() ? nullptr : &it->second;
  }
};

constexpr double kNormal = 1.2533;      // mean deviation to standard deviation; also what a median loses to a mean
constexpr double kPrior = 4;            // launches that the neighbourhood's spread counts for beside a way's own
constexpr double kLeastSpread = 0.002;  // clocks and rounding
constexpr double kSwitch = 0.01;        // what one more switch of ways along the sizes must gain at least

// A few launches say little of their spread: each way's own is drawn towards that of all ways at this size and its neighbours.
void set_spreads(std::vector<Size>& sizes) {
  std::vector<double> pooled;
  for (const Size& s : sizes) {
    std::vector<double> off;
    for (const auto& [way, series] : s.ways) {
      if (series.all.size() < 2) continue;
      const double middle = median(series.all), n = static_cast<double>(series.all.size());
      for (const double x : series.all) off.push_back(std::abs(x - middle) * std::sqrt(n / (n - 1)));
    }
    double sum = 0;
    for (const double x : off) sum += x;
    pooled.push_back(off.empty() ? -1 : kNormal * sum / static_cast<double>(off.size()));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::vector<double> near;
    for (std::size_t k = i == 0 ? 0 : i - 1; k < std::min(sizes.size(), i + 2); ++k) {
      if (pooled[k] >= 0) near.push_back(pooled[k]);
    }
    const double around = std::max(kLeastSpread, median(near));
    for (auto& [way, series] : sizes[i].ways) {
      const double middle = median(series.all), n = static_cast<double>(series.all.size());
      double sum = 0;
      for (const double x : series.all) sum += std::abs(x - middle);
      const double own = n < 2 ? around : kNormal * sum / n * std::sqrt(n / (n - 1));
      series.spread = std::max(kLeastSpread, std::sqrt((n * own * own + kPrior * around * around) / (n + kPrior)));
    }
  }
}

double error_of(const Series& s, std::size_t n) {
  // The median of one or two is their mean.
  return s.spread * (n > 2 ? kNormal : 1) / std::sqrt(static_cast<double>(n));
}

bool enough(const Series* s, const TuneRules& rules) { return s != nullptr && rules.enough(s->all.size()); }

// The cheapest path to a way at one size.
struct Step {
  double cost = 0;
  NcclWay from;
};
using Ways = std::map<NcclWay, Step>;

NcclWay cheapest(const Ways& ways) {
  return std::min_element(ways.begin(), ways.end(), [](const auto& x, const auto& y) { return x.second.cost < y.second.cost; })
      ->first;
}

// Of each size the way that is fastest on one half, with as few switches along the sizes as their noise warrants: a size at which
// one way happened to be lucky does not have a way of its own. The cheapest path over sizes and ways; default stands for NCCL's
// own.
std::vector<NcclWay> proposals(const std::vector<Size>& sizes, const TuneRules& rules, int half) {
  std::vector<Ways> steps;
  for (const Size& s : sizes) {
    Ways now;
    const Ways* before = steps.empty() || steps.back().empty() ? nullptr : &steps.back();
    const NcclWay best = before == nullptr ? NcclWay{} : cheapest(*before);
    for (const auto& [way, series] : s.ways) {
      if (!enough(&series, rules) || way.buffer_bytes != 0) continue;
      const std::vector<double> own = series.half(half);
      const double change = kSwitch + error_of(series, own.size()) / 2;
      Step step{median(own), way};
      if (before != nullptr) {
        const double switched = before->at(best).cost + change;
        const auto same = before->find(way);
        const bool stays = same != before->end() && same->second.cost <= switched;
        step.from = stays ? way : best;
        step.cost += stays ? same->second.cost : switched;
      }
      now.emplace(way, step);
    }
    // Sizes where nothing can be said pass on what was before.
    steps.push_back(now.empty() && !steps.empty() ? steps.back() : now);
    if (now.empty()) {
      for (auto& [way, step] : steps.back()) step.from = way;
    }
  }
  std::vector<NcclWay> out(sizes.size());
  if (steps.empty() || steps.back().empty()) return out;
  NcclWay at = cheapest(steps.back());
  for (std::size_t i = sizes.size(); i-- > 0 && !steps[i].empty();) {
    out[i] = sizes[i].find(at) != nullptr && enough(sizes[i].find(at), rules) ? at : NcclWay{};
    at = steps[i].at(at).from;
  }
  return out;
}

// How much faster a way is than NCCL's own, in logarithms, and the error of that.
struct Gain {
  double value = 0, error = 0;
};

std::optional<Gain> gain_of(const Size& s, const NcclWay& way, int half, const TuneRules& rules) {
  const Series *own = s.find({}), *other = s.find(way);
  if (!enough(own, rules) || !enough(other, rules)) return {};
  const std::vector<double> mine = own->half(half), theirs = other->half(half);
  const double a = error_of(*own, mine.size()), b = error_of(*other, theirs.size());
  return Gain{median(mine) - median(theirs), std::sqrt(a * a + b * b)};
}

// As far as it is believed: what is small beside its error is mostly error.
double believed(const Gain& g) {
  const double v2 = g.value * g.value;
  return g.value <= 0 ? g.value : g.value * v2 / (v2 + g.error * g.error);
}

double low_of(const Gain& g, const TuneRules& rules) { return believed(g) - rules.sigmas * g.error; }

Gain together(std::span<const Gain> all) {
  double weight = 0, sum = 0;
  for (const Gain& g : all) {
    const double w = 1 / std::max(1e-12, g.error * g.error);
    weight += w;
    sum += w * g.value;
  }
  return {sum / weight, std::sqrt(1 / weight)};
}

struct Proposal {
  NcclWay way;
  std::optional<Gain> gain;  // on what had no part in choosing
};

// Each half proposes and the other judges. Where both propose the same, both judgements count.
std::vector<Proposal> judged(const std::vector<Size>& sizes, const TuneRules& rules) {
  const std::vector<NcclWay> first = proposals(sizes, rules, 0), second = proposals(sizes, rules, 1);
  std::vector<Proposal> out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Proposal p;
    const bool by_first = !first[i].own;
    p.way = by_first ? first[i] : second[i];
    if (!p.way.own) {
      p.gain = gain_of(sizes[i], p.way, by_first ? 1 : 0, rules);
      if (const auto other = first[i] == second[i] ? gain_of(sizes[i], p.way, 0, rules) : std::nullopt; p.gain && other)
        p.gain =
            Gain{(p.gain->value + other->value) / 2, std::sqrt(p.gain->error * p.gain->error + other->error * other->error) / 2};
    }
    out.push_back(p);
  }
  return out;
}

// Of a size with the neighbours for which the same is proposed.
Gain with_neighbours(const std::vector<Proposal>& all, std::size_t i) {
  std::vector<Gain> gains;
  for (std::size_t k = i == 0 ? 0 : i - 1; k < std::min(all.size(), i + 2); ++k) {
    if (all[k].way == all[i].way && all[k].gain) gains.push_back(*all[k].gain);
  }
  return together(gains);
}

TunedGain told(const Gain& g, const TuneRules& rules) {
  return {det_exp(believed(g)) - 1, det_exp(low_of(g, rules)) - 1, det_exp(rules.sigmas * g.error) - 1};
}

// What the plugin asks.
bool passes(const TunedGain& g, const TuneRules& rules) { return g.gain > rules.margin && g.gain > g.noise; }

void judge(TunedSize& out, const std::vector<Proposal>& all, std::size_t i, const TuneRules& rules) {
  const Proposal& p = all[i];
  out.proposed = p.way;
  out.verdict = TuneVerdict::own_is_best;
  if (p.way.own || !p.gain) return;
  const double margin = det_log(1 + rules.margin), loss = det_log(1 - rules.margin);
  const Gain& g = *p.gain;
  out.here = told(g, rules);
  out.verdict = TuneVerdict::within_noise;
  if (low_of(g, rules) > margin) {
    out.verdict = TuneVerdict::overridden;
  } else if (const Gain near = with_neighbours(all, i); low_of(near, rules) > margin && low_of(g, rules) > loss) {
    out.verdict = TuneVerdict::carried;
    // Not more than what this size itself showed.
    out.neighbours = told({std::min(near.value, std::max(g.value, near.value - near.error)), near.error}, rules);
  }
  // A choice that the plugin would pass over is none.
  const bool carried = out.verdict == TuneVerdict::carried;
  if (out.verdict != TuneVerdict::within_noise && passes(carried ? out.neighbours : out.here, rules)) {
    out.choice = p.way;
  } else {
    out.verdict = TuneVerdict::within_noise;
    out.neighbours = {};
  }
}

// Own and chosen time over that of the best, which one half names and the other times; the mean of both ways round.
std::pair<double, double> regrets(const Size& s, const NcclWay& choice, const TuneRules& rules) {
  double own = 0, left = 0;
  for (const int half : {0, 1}) {
    const Series* best = nullptr;
    double least = 0;
    for (const auto& [way, series] : s.ways) {
      if (way.buffer_bytes != 0 || !enough(&series, rules)) continue;
      const double m = median(series.half(half));
      if (best != nullptr && m >= least) continue;
      best = &series;
      least = m;
    }
    const Series *mine = s.find({}), *chosen = s.find(choice);
    if (best == nullptr || !enough(mine, rules) || !enough(chosen, rules)) return {1, 1};
    const double there = median(best->half(1 - half));
    own += (median(mine->half(1 - half)) - there) / 2;
    left += (median(chosen->half(1 - half)) - there) / 2;
  }
  return {det_exp(own), det_exp(left)};
}

TunedSize as_measured(const Size& s, const TuneRules& rules) {
  TunedSize out;
  out.bytes = s.bytes;
  for (const auto& [way, series] : s.ways) {
    if (way.buffer_bytes != 0) continue;
    const double us = det_exp(median(series.all));
    const auto launches = static_cast<std::uint32_t>(series.all.size());
    if (way.own) {
      out.own_us = us;
      out.repeats = launches;
    } else {
      out.ways.push_back({way, us, launches});
    }
    if (enough(&series, rules) && (out.best_us <= 0 || us < out.best_us)) {
      out.best = way;
      out.best_us = us;
    }
  }
  std::stable_sort(out.ways.begin(), out.ways.end(), [](const TunedWay& x, const TunedWay& y) { return x.us < y.us; });
  return out;
}

Tuned tuned(const TuneKey& key, std::vector<Size> sizes, const TuneRules& rules) {
  set_spreads(sizes);
  Tuned out;
  out.key = key;
  const std::vector<Proposal> all = judged(sizes, rules);
  std::vector<double> spreads;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    TunedSize t = as_measured(sizes[i], rules);
    const auto others = std::count_if(sizes[i].ways.begin(), sizes[i].ways.end(),
                                      [&](const auto& w) { return !w.first.own && enough(&w.second, rules); });
    if (const Series* own = sizes[i].find({})) spreads.push_back(own->spread);
    if (!nccl_chooses(key.op))
      t.verdict = TuneVerdict::no_choice;
    else if (enough(sizes[i].find({}), rules) && others > 0)
      judge(t, all, i, rules);
    t.choice_us = t.choice.own ? t.own_us : t.us(t.choice);
    std::tie(t.regret, t.left) = regrets(sizes[i], t.choice, rules);
    out.sizes.push_back(std::move(t));
  }
  out.spread = median(spreads);
  return out;
}

std::map<TuneKey, std::vector<Size>> by_key(std::span<const TuneTime> times) {
  std::map<TuneKey, std::map<double, std::map<NcclWay, std::map<std::uint32_t, double>>>> all;
  for (const TuneTime& t : times) {
    if (t.time_us > 0 && t.bytes > 0) all[t.key][t.bytes][t.way][t.run] = det_log(t.time_us);
  }
  std::map<TuneKey, std::vector<Size>> out;
  for (const auto& [key, sizes] : all) {
    for (const auto& [bytes, ways] : sizes) {
      Size s{bytes, {}};
      for (const auto& [way, runs] : ways) {
        for (const auto& [run, x] : runs) s.ways[way].all.push_back(x);
      }
      out[key].push_back(std::move(s));
    }
  }
  return out;
}

template <class Value>
double mean_over(const std::vector<TunedSize>& sizes, Value value) {
  double sum = 0;
  int n = 0;
  for (const TunedSize& s : sizes) {
    if (!s.judged()) continue;
    sum += det_log(value(s));
    ++n;
  }
  return n == 0 ? 1 : det_exp(sum / n);
}

}  // namespace

double TunedSize::us(const NcclWay& way) const {
  if (way.own) return own_us;
  const auto it = std::find_if(ways.begin(), ways.end(), [&](const TunedWay& w) { return w.way == way; });
  return it == ways.end() ? 0 : it->us;
}

const TunedGain& TunedSize::held(const TuneRules& rules) const {
  return verdict == TuneVerdict::carried && !passes(here, rules) ? neighbours : here;
}

double Tuned::regret() const {
  return mean_over(sizes, [](const TunedSize& s) { return s.regret; });
}
double Tuned::left() const {
  return mean_over(sizes, [](const TunedSize& s) { return s.left; });
}
double Tuned::worst_regret() const {
  double worst = 1;
  for (const TunedSize& s : sizes) worst = std::max(worst, s.judged() ? s.regret : 1);
  return worst;
}
std::uint32_t Tuned::overridden() const {
  return static_cast<std::uint32_t>(std::count_if(sizes.begin(), sizes.end(), [](const TunedSize& s) { return !s.choice.own; }));
}

std::vector<Tuned> tune(std::span<const TuneTime> times, const TuneRules& rules) {
  std::vector<Tuned> out;
  for (auto& [key, sizes] : by_key(times)) out.push_back(tuned(key, sizes, rules));
  return out;
}

TunedBuffer tune_buffer(std::span<const TuneTime> times, const TuneKey& key, const TuneRules& rules) {
  auto all = by_key(times);
  const auto at = all.find(key);
  TunedBuffer best;
  if (at == all.end()) return best;
  set_spreads(at->second);
  std::map<std::uint64_t, std::vector<Gain>> gains;
  for (const Size& s : at->second) {
    for (const auto& [way, series] : s.ways) {
      if (!way.own || way.buffer_bytes == 0) continue;
      // Few candidates, and all sizes judge them together: nothing is won by luck at one size, so all repetitions count.
      const auto a = gain_of(s, way, 0, rules), b = gain_of(s, way, 1, rules);
      if (a && b)
        gains[way.buffer_bytes].push_back({(a->value + b->value) / 2, std::sqrt(a->error * a->error + b->error * b->error) / 2});
    }
  }
  for (const auto& [bytes, list] : gains) {
    const bool harms = std::any_of(list.begin(), list.end(), [&](const Gain& g) {
      return g.value + rules.sigmas * g.error < 0 && g.value < det_log(1 - rules.margin);
    });
    double sum = 0, error = 0;
    for (const Gain& g : list) {
      sum += g.value / static_cast<double>(list.size());
      error += g.error * g.error;
    }
    error = std::sqrt(error) / static_cast<double>(list.size());
    const double gain = det_exp(sum) - 1;
    if (harms || sum - rules.sigmas * error <= det_log(1 + rules.margin) || gain <= best.gain) continue;
    best = {bytes, gain, static_cast<std::uint32_t>(list.size())};
  }
  return best;
}

}  // namespace muster::design
