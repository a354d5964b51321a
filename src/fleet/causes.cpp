#include "fleet/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/node_list.h"
#include "base/prng.h"
#include "base/series.h"
#include "base/text.h"
#include "fleet/causes_series.h"
#include "fleet/racks.h"
#include "fleet/same_value.h"
#include "fleet/shuffle.h"
#include "fleet/version.h"

namespace muster::fleet {
namespace {

constexpr std::uint32_t kMostShuffles = 20000;  // that are made unasked
constexpr std::size_t kSmallest = 2;            // nodes of a candidate
constexpr std::size_t kListed = 5;              // candidates, and values whose nodes are faster
constexpr std::size_t kDraws = 400;             // of the bootstrap
constexpr double kSlowDeviations = 5;           // below its kind: slow, whatever the reason
constexpr double kSlowLeast = 0.01;             // and by no less than this
constexpr double kStepsLeast = 1.5;             // likewise, of the last digit that was written
constexpr double kSlowShare = 0.6;              // of alpha goes to what makes slow, the rest to what makes fast
constexpr double kRackShare = 0.9;              // of a rack's nodes in a set: all of it, but for unknown cells
constexpr double kTailFrom = 2, kTailTold = 2;  // standard deviations: where slow and fast nodes are counted, and told
constexpr double kTailBeyond = 2.5;             // more slow than fast ones, in standard deviations of that difference
constexpr double kNearOverlap = 0.5, kNearDeviations = 2;

struct Effect {
  double middle = 0, low = 0, high = 0;  // of the logarithm, positive: slower
};

// Of many equal values the median is one of few steps: there it is the mean of the middle half.
double middle_of(std::vector<double> values, bool coarse) {
  if (!coarse) return median_of(std::move(values));
  std::sort(values.begin(), values.end());
  const std::size_t from = values.size() / 4, to = values.size() - from;
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += values[i];
  return sum / static_cast<double>(to - from);
}

// Difference of medians between those in the set and the others of their strata, by resampling both.
Effect effect_of(const Series& s, const std::vector<double>& residual, const Minority& set, std::uint64_t seed) {
  std::vector<bool> in(s.y.size(), false), stratum(s.y.size() + 1, false);
  for (const std::uint32_t i : set.nodes) in[i] = stratum[s.stratum[i]] = true;
  std::vector<bool> unknown(s.y.size(), false);
  for (const std::uint32_t i : set.unknown) unknown[i] = true;
  std::vector<double> with, without;
  for (std::size_t i = 0; i < s.y.size(); ++i) {
    if (in[i]) {
      with.push_back(residual[i]);
    } else if (stratum[s.stratum[i]] && !unknown[i]) {
      without.push_back(residual[i]);
    }
  }
  Effect out;
  if (with.empty() || without.empty()) return out;
  out.middle = middle_of(without, s.coarse) - middle_of(with, s.coarse);
  Prng prng(seed, "fleet.bootstrap");
  const auto drawn = [&](const std::vector<double>& from) {
    // Of thousands a median is as good from two thousand, and its spread by no more than it would be shown.
    const std::size_t n = std::min<std::size_t>(from.size(), 2000);
    std::vector<double> out_of;
    out_of.reserve(n);
    for (std::size_t i = 0; i < n; ++i) out_of.push_back(from[prng.below(from.size())]);
    return middle_of(std::move(out_of), s.coarse);
  };
  std::vector<double> draws;
  for (std::size_t d = 0; d < kDraws; ++d) draws.push_back(drawn(without) - drawn(with));
  std::sort(draws.begin(), draws.end());
  out.low = draws[kDraws / 40];
  out.high = draws[kDraws - 1 - kDraws / 40];
  return out;
}

double as_share(double log_difference) { return 1 - det_exp(-log_difference); }

// How dear a change of it is: a setting is written, a driver reloaded, a kernel booted, firmware flashed.
int cost_of(const FactTable& table, const FactBook& book, FactValue v) {
  const FactMeaning* m = book.find(table.columns()[v.column].key);
  switch (m == nullptr ? FactLayer::tuning : m->layer) {
    case FactLayer::tuning: return 0;
    case FactLayer::scheduler: return 1;
    case FactLayer::user_space: return 2;
    case FactLayer::driver: return 3;
    case FactLayer::kernel: return 4;
    case FactLayer::firmware: return 5;
    case FactLayer::hardware:
    case FactLayer::identity:
    case FactLayer::state: break;
  }
  return 6;
}

// The one measure's search.
class Search {
 public:
  Search(const FactTable& table, const FactBook& book, const CauseOptions& options, std::size_t measure, std::size_t measures,
         Series series)
      : table_(table),
        book_(book),
        options_(options),
        measure_(measure),
        share_(1 / static_cast<double>(measures)),
        s_(std::move(series)),
        sets_(minorities_of(table, book, s_.node, s_.kind, kSmallest, &left_out_)) {
    for (const std::uint32_t r : s_.rack) ++rack_size_[r];
    for (const Minority& m : sets_) family_.push_back(m.nodes.size() < kLeastAffected ? 1 : 0);
  }
  void run(Explanation& into);
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  Shuffled tried();
  std::optional<std::size_t> best(const Shuffled& t) const;
  Cause told(std::size_t set, const Shuffled& t, bool faster);
  bool named(std::size_t set, const Shuffled& t) const;
  bool hardly_apart(std::size_t a, std::size_t b, const Shuffled& t) const;
  std::vector<std::uint32_t> racks_of_set(std::size_t set) const;
  void list_candidates(const Shuffled& t, Explanation& into);
  std::vector<Cause> as_racks(const Shuffled& t);
  bool told_by_racks(std::size_t set, const Shuffled& t) const;
  void list_slow_racks(Explanation& into) const;
  void list_slow(Explanation& into, MeasureTold& m) const;
  std::uint64_t seed(std::uint64_t of) const { return options_.seed * 1'000'003 + measure_ * 101 + of; }

  const FactTable& table_;
  const FactBook& book_;
  const CauseOptions& options_;
  std::size_t measure_;
  double share_;  // of alpha
  Series s_;
  std::vector<std::string> left_out_;
  std::vector<Minority> sets_;
  std::map<std::uint32_t, std::size_t> rack_size_;
  std::vector<std::uint8_t> family_;
  std::vector<bool> taken_ = std::vector<bool>(sets_.size(), false);
  std::vector<double> residual_;
  std::vector<double> alone_;  // p_low by set, nodes moved one by one
  std::vector<Cause> bound_;   // that racks do as well
  std::uint64_t turn_ = 0;
};

Shuffled Search::tried() {
  residual_ = residuals(s_);
  Scores scores = scores_of(s_, residual_);
  Shuffled out = shuffle(scores, sets_, family_, options_.permutations, seed(turn_++));
  alone_ = out.p_low;
  const auto low = [&](const std::vector<double>& p) {
    return std::any_of(p.begin(), p.end(), [&](double x) { return x <= kCandidateAlpha * share_; });
  };
  if (s_.within_racks || (!low(out.p_low) && !low(out.p_high))) return out;
  for (const auto& block : s_.blocks) {
    scores.block = block;
    const Shuffled moved = shuffle(scores, sets_, family_, options_.permutations, seed(turn_++));
    for (std::size_t k = 0; k < sets_.size(); ++k) {
      out.p_low[k] = std::max(out.p_low[k], moved.p_low[k]);
      out.p_high[k] = std::max(out.p_high[k], moved.p_high[k]);
    }
  }
  return out;
}

// By its nodes one by one it would be named or a candidate; by racks as wholes it is not.
bool Search::told_by_racks(std::size_t set, const Shuffled& t) const {
  if (taken_[set] || named(set, t) || family_[set] != 0) return false;
  return alone_[set] <= kSlowShare * options_.alpha * share_ ||
         (alone_[set] <= kCandidateAlpha * share_ && t.p_low[set] > kCandidateAlpha * share_);
}

std::vector<Cause> Search::as_racks(const Shuffled& t) {
  std::vector<std::size_t> sets;
  for (std::size_t k = 0; k < sets_.size(); ++k) {
    if (told_by_racks(k, t)) sets.push_back(k);
  }
  std::stable_sort(sets.begin(), sets.end(), [&](std::size_t a, std::size_t b) { return t.statistic[a] < t.statistic[b]; });
  // As in best(): of a whole rack and a setting that fits as well, the setting goes first.
  const auto setting = std::find_if(sets.begin(), sets.end(),
                                    [&](std::size_t k) { return racks_of_set(k).empty() && hardly_apart(sets.front(), k, t); });
  if (!sets.empty() && !racks_of_set(sets.front()).empty() && setting != sets.end())
    std::rotate(sets.begin(), setting, setting + 1);
  if (sets.size() > kListed) sets.resize(kListed);
  std::vector<Cause> out;
  for (const std::size_t k : sets) {
    out.push_back(told(k, t, false));
    out.back().p = std::min(1.0, alone_[k] / share_);
    out.back().as_racks = true;
  }
  std::erase_if(out, [&](const Cause& c) { return c.effect < options_.least_effect; });
  return out;
}

bool Search::named(std::size_t set, const Shuffled& t) const {
  return family_[set] == 0 && !taken_[set] && t.p_low[set] <= kSlowShare * options_.alpha * share_;
}

std::optional<std::size_t> Search::best(const Shuffled& t) const {
  const auto first = [&](bool setting, std::optional<std::size_t> beside) {
    std::optional<std::size_t> out;
    for (std::size_t k = 0; k < sets_.size(); ++k) {
      if (!named(k, t) || (setting && !racks_of_set(k).empty()) || (beside && !hardly_apart(*beside, k, t))) continue;
      if (out && (t.p_low[k] > t.p_low[*out] || (t.p_low[k] == t.p_low[*out] && t.statistic[k] >= t.statistic[*out]))) continue;
      out = k;
    }
    return out;
  };
  const auto any = first(false, std::nullopt);
  if (!any || racks_of_set(*any).empty()) return any;
  // A whole rack has its gateway and its place in common, which make nothing slow: a setting that fits as well goes first.
  const auto setting = first(true, any);
  return setting ? setting : any;
}

Cause Search::told(std::size_t set, const Shuffled& t, bool faster) {
  const Minority& m = sets_[set];
  Cause out;
  out.facts = m.facts;
  std::stable_sort(out.facts.begin(), out.facts.end(),
                   [&](FactValue a, FactValue b) { return cost_of(table_, book_, a) < cost_of(table_, book_, b); });
  out.measure = measure_;
  for (const std::uint32_t i : m.nodes) out.nodes.push_back(s_.node[i]);
  const Effect e = effect_of(s_, residual_, m, seed(1000 + set));
  out.effect = as_share(e.middle);
  out.low = as_share(e.low);
  out.high = as_share(e.high);
  out.p = std::min(1.0, (faster ? t.p_high[set] : t.p_low[set]) / share_);
  out.statistic = t.statistic[set];
  out.surprise_bits = m.surprise_bits;
  out.racks = racks_of_set(set);
  for (std::size_t k = 0; k < sets_.size(); ++k) {
    if (k != set && !taken_[k] && hardly_apart(set, k, t))
      out.near.insert(out.near.end(), sets_[k].facts.begin(), sets_[k].facts.end());
  }
  return out;
}

// Whether one set's sum is lower than another's by no more than the nodes make that are in one and not in the other.
bool Search::hardly_apart(std::size_t a, std::size_t b, const Shuffled& t) const {
  const std::vector<std::uint32_t>&x = sets_[a].nodes, &y = sets_[b].nodes;
  std::vector<std::uint32_t> both;
  std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
  const double alike = static_cast<double>(both.size()) / det_sqrt(static_cast<double>(x.size()) * static_cast<double>(y.size()));
  if (alike < kNearOverlap) return false;
  const double apart = std::abs(t.statistic[a]) - std::abs(t.statistic[b]);
  return apart <= kNearDeviations * det_sqrt(std::max(0.0, 2 * (1 - alike)));
}

std::vector<std::uint32_t> Search::racks_of_set(std::size_t set) const {
  std::map<std::uint32_t, std::size_t> in_set;
  for (const std::uint32_t i : sets_[set].nodes) ++in_set[s_.rack[i]];
  std::vector<std::uint32_t> out;
  for (const auto& [rack, n] : in_set) {
    if (rack == 0 || static_cast<double>(n) < kRackShare * static_cast<double>(rack_size_.at(rack))) return {};
    out.push_back(rack);
  }
  return out;
}

void Search::list_candidates(const Shuffled& t, Explanation& into) {
  std::vector<Cause> slow, fast;
  for (std::size_t k = 0; k < sets_.size(); ++k) {
    if (taken_[k]) continue;
    if (t.p_low[k] <= kCandidateAlpha * share_ && !told_by_racks(k, t)) slow.push_back(told(k, t, false));
    if (family_[k] == 0 && t.p_high[k] <= (1 - kSlowShare) * options_.alpha * share_) fast.push_back(told(k, t, true));
  }
  const auto keep = [&](std::vector<Cause>& from, std::vector<Cause>& to) {
    std::erase_if(from, [&](const Cause& c) { return std::abs(c.effect) < options_.least_effect; });
    std::stable_sort(from.begin(), from.end(), [](const Cause& a, const Cause& b) {
      if (a.p != b.p) return a.p < b.p;
      return a.surprise_bits > b.surprise_bits;
    });
    if (from.size() > kListed) from.resize(kListed);
    to.insert(to.end(), from.begin(), from.end());
  };
  if (!s_.within_racks) bound_ = as_racks(t);
  for (const Cause& c : bound_) {
    const auto same = [&](const Cause& x) { return x.measure == c.measure && x.facts == c.facts; };
    if (std::none_of(into.causes.begin(), into.causes.end(), same)) into.candidates.push_back(c);
    std::erase_if(slow, same);
  }
  keep(slow, into.candidates);
  keep(fast, into.faster);
}

void Search::list_slow_racks(Explanation& into) const {
  Series plain = s_;
  plain.stratum = plain.kind;
  const std::vector<double> off = residuals(plain), noise = noise_by_kind(s_, residual_);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> racks;
  for (std::size_t i = 0; i < off.size(); ++i) {
    if (const std::uint32_t b = s_.blocks[0][i]; b != 0) racks[{s_.kind[i], b}].push_back(static_cast<std::uint32_t>(i));
  }
  // Coarse values lie on one side of their median: that is nobody's fault.
  std::vector<double> usual(noise.size(), 0);
  const auto kinds = grouped(s_.kind);
  const auto score = [&](std::uint32_t i, std::uint32_t kind) {
    return std::clamp(off[i] / noise[kind], -kScoreClip, kScoreClip);
  };
  for (std::uint32_t k = 0; s_.coarse && k < kinds.size(); ++k) {
    if (noise[k] <= 0) continue;
    for (const std::uint32_t i : kinds[k]) usual[k] += score(i, k) / static_cast<double>(kinds[k].size());
  }
  // Of so many racks one is lower than this by chance in one of a hundred fleets (alpha).
  const double limit = det_sqrt(2 * det_log(static_cast<double>(racks.size()) / (options_.alpha * share_)));
  for (const auto& [key, nodes] : racks) {
    if (nodes.size() < kRackLeast || noise[key.first] <= 0) continue;
    double sum = 0;
    for (const std::uint32_t i : nodes) sum += score(i, key.first) - usual[key.first];
    const double below = as_share(-median_of(picked(off, nodes)));
    if (-sum < limit * det_sqrt(static_cast<double>(nodes.size())) || below < options_.least_effect) continue;
    SlowRack r{{}, measure_, below};
    for (const std::uint32_t i : nodes) r.nodes.push_back(s_.node[i]);
    into.slow_racks.push_back(std::move(r));
  }
}

void Search::list_slow(Explanation& into, MeasureTold& m) const {
  // What candidates and slow racks make of a node is told there: the larger of them is taken off.
  std::map<std::uint32_t, double> told;
  const auto tell = [&](const std::vector<std::uint32_t>& nodes, double effect) {
    for (const std::uint32_t n : nodes) told[n] = std::max(told[n], -det_log(1 - std::max(0.0, effect)));
  };
  for (const Cause& c : into.candidates) {
    if (c.measure == measure_) tell(c.nodes, c.effect);
  }
  for (const SlowRack& r : into.slow_racks) {
    if (r.measure == measure_ && !s_.within_racks) tell(r.nodes, r.below);
  }
  std::vector<double> off = residual_;
  for (std::size_t i = 0; i < off.size(); ++i) {
    if (const auto it = told.find(s_.node[i]); it != told.end() && off[i] < 0) off[i] = std::min(0.0, off[i] + it->second);
  }
  // By those that are above their kind: the slow ones do not widen it.
  std::vector<double> noise;
  for (const auto& nodes : grouped(s_.kind)) {
    std::vector<double> above;
    for (const std::uint32_t i : nodes) {
      if (residual_[i] > 0) above.push_back(residual_[i]);
    }
    noise.push_back(above.empty() ? 0 : spread_of(above, 0));
  }
  std::size_t slow = 0, fast = 0, told_fast = 0;
  for (std::size_t i = 0; i < off.size(); ++i) {
    const double z = noise[s_.kind[i]] > 0 ? off[i] / noise[s_.kind[i]] : 0;
    slow += z < -kTailFrom;
    fast += z > kTailFrom;
    told_fast += z > kTailTold;
  }
  const double more = static_cast<double>(slow) - static_cast<double>(fast) - 1;
  const bool many = more > kTailBeyond * det_sqrt(static_cast<double>(slow + fast));
  m.by_chance = many ? told_fast : 0;
  for (std::size_t i = 0; i < off.size(); ++i) {
    const double below = as_share(-off[i]);
    // One digit less is nothing.
    if (-off[i] <= kStepsLeast * s_.steps[s_.kind[i]]) continue;
    if (below >= kSlowLeast && -off[i] > (many ? kTailTold : kSlowDeviations) * noise[s_.kind[i]])
      into.unexplained.push_back({s_.node[i], measure_, as_share(-residual_[i])});
  }
}

void Search::run(Explanation& into) {
  set_blocks(s_);
  set_strata(s_, false);
  Shuffled t = tried();
  MeasureTold m;
  m.nodes = s_.y.size();
  m.values = sets_.size();
  for (std::size_t found = 0; found < kMostCauses;) {
    std::optional<std::size_t> k;
    std::optional<Cause> cause;
    while ((k = best(t))) {
      taken_[*k] = true;
      cause = told(*k, t, false);
      if (cause->effect >= options_.least_effect) break;
      cause.reset();
    }
    if (!cause) {
      // What racks as wholes may be is taken off, and what is left is looked for within them.
      if (s_.within_racks || !s_.racks_known) break;
      bound_ = as_racks(t);
      if (bound_.empty()) break;
      set_strata(s_, true);
      t = tried();
      continue;
    }
    for (const std::uint32_t i : sets_[*k].nodes) s_.y[i] -= det_log(1 - cause->effect);
    into.causes.push_back(std::move(*cause));
    ++found;
    t = tried();
  }
  m.within_racks = s_.within_racks;
  m.noise = spread_of(residual_, 0);
  m.coarse = s_.coarse;
  list_candidates(t, into);
  list_slow_racks(into);
  list_slow(into, m);
  into.measures.push_back(m);
}

// "gpu001" of "GPU001.cluster.local"; an address stays whole.
std::string short_name(std::string_view name) {
  const bool address = name.find_first_not_of("0123456789.") == std::string_view::npos;
  return lower(address ? name : name.substr(0, name.find('.')));
}

// Places in the table of nodes by the names that they were measured under; -1: none, or nobody knows which.
std::vector<std::ptrdiff_t> places_of(const FactTable& table, const std::vector<std::string>& names) {
  std::map<std::string, std::ptrdiff_t> by_short;
  std::map<std::string, std::size_t> measured;
  for (std::size_t n = 0; n < table.nodes().size(); ++n) {
    const auto [it, first] = by_short.emplace(short_name(table.nodes()[n].name), static_cast<std::ptrdiff_t>(n));
    if (!first) it->second = -1;
  }
  for (const std::string& name : names) ++measured[short_name(name)];
  std::vector<std::ptrdiff_t> out;
  for (const std::string& name : names) {
    std::ptrdiff_t place = table.find_node(name);
    if (place < 0 && measured[short_name(name)] == 1) {
      const auto it = by_short.find(short_name(name));
      if (it != by_short.end()) place = it->second;
    }
    out.push_back(place);
  }
  return out;
}

// A value that makes one measure slow and another fast: mostly one of them is better when it is less.
void tell_contradictions(const FactTable& table, const NodePerformance& performance, Explanation& e) {
  for (const std::vector<Cause>* slow : {&e.causes, &e.candidates}) {
    for (const Cause& s : *slow) {
      for (const Cause& f : e.faster) {
        if (f.measure == s.measure || f.facts != s.facts) continue;
        const FactColumn& c = table.columns()[s.facts[0].column];
        e.notes.push_back(fmt::format(
            "the same nodes ({}) are slower in {} and faster in {}: if less is better in one of them, write a - before its name",
            fact_name(c.entity, c.key), performance.measures[s.measure], performance.measures[f.measure]));
      }
    }
  }
}

// Slow nodes are those of which something could not be read: that is what to read first.
void tell_unread(const FactTable& table, Explanation& e) {
  std::set<std::uint32_t> slow;
  for (const SlowNode& s : e.unexplained) slow.insert(s.node);
  for (const SlowRack& r : e.slow_racks) slow.insert(r.nodes.begin(), r.nodes.end());
  constexpr std::size_t kFewest = 3, kNamed = 5;
  if (slow.size() < kFewest) return;
  std::vector<std::string> unread;
  for (const FactColumn& c : table.columns()) {
    std::size_t all = 0, of_slow = 0;
    for (std::size_t n = 0; n < table.nodes().size(); ++n) {
      const FactCode code = c.code(n);
      const bool known = code == kFactAbsent || (code >= kFirstValue && !no_answer(c.values[code - kFirstValue]));
      all += !known;
      of_slow += !known && slow.contains(static_cast<std::uint32_t>(n));
    }
    // Most of the slow, and mostly slow ones.
    if (of_slow * 2 > slow.size() && of_slow * 2 > all && all * 2 < table.nodes().size())
      unread.push_back(fact_name(c.entity, c.key));
  }
  if (unread.empty()) return;
  const std::size_t more = unread.size() > kNamed ? unread.size() - kNamed : 0;
  unread.resize(unread.size() - more);
  e.notes.push_back(fmt::format("of most slow nodes nobody knows {}{}, and of few others: read that first",
                                fmt::join(unread, ", "), more == 0 ? "" : fmt::format(" and {} more", more)));
}

// A p-value is no smaller than one over the number of shuffles: many measures or a small alpha need more of them. Who asked for
// fewer than the usual has them.
CauseOptions with_shuffles(CauseOptions options, std::size_t measures, Explanation& e) {
  const auto needed = [&](double share) { return std::ceil(static_cast<double>(measures) / (share * options.alpha)); };
  const double all = needed(1 - kSlowShare);
  if (options.permutations >= CauseOptions{}.permutations && options.permutations < all) {
    options.permutations = static_cast<std::uint32_t>(std::min(all, double{kMostShuffles}));
    e.notes.push_back(fmt::format("{} shuffles, since alpha {} over {} needs so many", options.permutations, options.alpha,
                                  measures == 1 ? "one measure" : fmt::format("{} measures", measures)));
  }
  if (options.permutations + 1 < needed(kSlowShare)) {
    e.notes.push_back(fmt::format("{} shuffles are too few to name anything at alpha {}: --permutations {:.0f}",
                                  options.permutations, options.alpha, all));
  } else if (options.permutations + 1 < all) {
    e.notes.push_back(fmt::format("{} shuffles are too few to tell at alpha {} what makes nodes faster: --permutations {:.0f}",
                                  options.permutations, options.alpha, all));
  }
  e.permutations = options.permutations;
  return options;
}

void tell_left_out(std::vector<std::string> names, Explanation& e) {
  constexpr std::size_t kNamed = 8;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.empty()) return;
  const std::size_t more = names.size() > kNamed ? names.size() - kNamed : 0;
  names.resize(names.size() - more);
  e.notes.push_back(fmt::format("not tried, since nearly each node has its own value: {}{}", fmt::join(names, ", "),
                                more == 0 ? "" : fmt::format(" and {} more", more)));
}

}  // namespace

Explanation explain_slow(const FactTable& table, const FactBook& book, const NodePerformance& performance,
                         const CauseOptions& asked) {
  Explanation out;
  out.cohorts = cohorts_of(table, book);
  const std::vector<std::uint32_t> racks = racks_of(table);
  const std::vector<std::ptrdiff_t> place = places_of(table, performance.nodes);
  const auto strangers = static_cast<std::size_t>(std::count_if(place.begin(), place.end(), [](auto p) { return p < 0; }));
  out.placed = place.size() - strangers;
  if (strangers > 0) {
    out.notes.push_back(fmt::format("{} measured {} no facts, and {} left out", strangers,
                                    strangers == 1 ? "node has" : "nodes have", strangers == 1 ? "is" : "are"));
  }
  out.notes.insert(out.notes.end(), performance.notes.begin(), performance.notes.end());
  const CauseOptions options = with_shuffles(asked, performance.measures.size(), out);
  std::vector<std::string> left_out;
  for (std::size_t m = 0; m < performance.measures.size(); ++m) {
    std::vector<double> logs(table.nodes().size(), std::nan(""));
    std::size_t given = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const double v = performance.values[m][i];
      if (place[i] < 0 || std::isnan(v)) continue;
      logs[static_cast<std::size_t>(place[i])] = det_log(v);
      ++given;
    }
    Series series = series_of(table, out.cohorts, racks, logs);
    if (series.y.size() < given) {
      out.notes.push_back(fmt::format("{}: {} measured nodes are of kinds with fewer than {}, and are left out",
                                      performance.measures[m], given - series.y.size(), kKindLeast));
    }
    Search search(table, book, options, m, performance.measures.size(), std::move(series));
    search.run(out);
    left_out.insert(left_out.end(), search.left_out().begin(), search.left_out().end());
  }
  tell_left_out(std::move(left_out), out);
  tell_contradictions(table, performance, out);
  tell_unread(table, out);
  return out;
}

std::vector<MeasuredEffect> measured_effects(const Explanation& explanation) {
  std::map<FactValue, MeasuredEffect> largest;
  for (const Cause& c : explanation.causes) {
    for (const FactValue f : c.facts) {
      MeasuredEffect& m = largest.try_emplace(f, MeasuredEffect{f, 0, 1}).first->second;
      if (c.effect > m.effect) m = {f, c.effect, c.p};
    }
  }
  std::vector<MeasuredEffect> out;
  for (const auto& [fact, m] : largest) out.push_back(m);
  return out;
}

}  // namespace muster::fleet
