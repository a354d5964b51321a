#include "trial/fleet_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/series.h"
#include "trial/fleet_made.h"

namespace muster::trial {
namespace {

using fleet::FactValue;

// The bounds that are promised.
constexpr double kWrong = 0.05, kBlame = 0.01, kBlameByRacks = 0.02, kFound = 0.99, kExplainCpuS = 10;
constexpr std::uint32_t kSpeedNodes = 12'500, kCleanNodes = 2048, kSeeded = 2000;

bool holds(const fleet::Cause& c, const std::vector<FactValue>& causes) {
  return std::any_of(c.facts.begin(), c.facts.end(),
                     [&](FactValue f) { return std::find(causes.begin(), causes.end(), f) != causes.end(); });
}

struct Ranked {
  std::vector<std::uint32_t> slow, fast;  // as many of each
};

Ranked ranked(const MadeFleet& f) {
  std::vector<double> y;
  for (const double v : f.performance.values[0]) y.push_back(det_log(v));
  const double middle = median_of(y);
  std::vector<double> off;
  for (const double v : y) off.push_back(std::abs(v - middle));
  const double limit = middle - 2 * 1.4826 * median_of(off);
  std::vector<std::uint32_t> order(y.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return y[a] < y[b]; });
  Ranked out;
  for (const std::uint32_t n : order) {
    if (y[n] < limit) out.slow.push_back(n);
  }
  out.fast.assign(order.end() - static_cast<std::ptrdiff_t>(out.slow.size()), order.end());
  return out;
}

// What each way would blame; none: nothing. Identities are left out for them too.
std::array<std::optional<FactValue>, 3> blamed(const MadeFleet& f) {
  const Ranked r = ranked(f);
  const auto nodes = static_cast<double>(f.table.nodes().size()), slow = static_cast<double>(r.slow.size());
  std::array<std::optional<FactValue>, 3> out;
  std::array<double, 3> best = {1, 0, 1};  // beaten by less than this is nothing: one node more, no frequency more
  for (std::uint32_t c = 0; c < f.table.columns().size(); ++c) {
    const FactColumn& column = f.table.columns()[c];
    if (column.values.size() * 10 > f.table.nodes().size()) continue;
    const std::size_t width = kFirstValue + column.values.size();
    std::vector<double> all(width, 0), among_slow(width, 0), among_fast(width, 0);
    for (std::uint32_t n = 0; n < f.table.nodes().size(); ++n) all[column.code(n)] += 1;
    for (const std::uint32_t n : r.slow) among_slow[column.code(n)] += 1;
    for (const std::uint32_t n : r.fast) among_fast[column.code(n)] += 1;
    for (FactCode v = kFirstValue; v < width; ++v) {
      if (all[v] * 2 > nodes) continue;
      const std::array<double, 3> score = {
          among_slow[v] - among_fast[v],
          among_slow[v] * -det_log((all[v] + 1) / (nodes + static_cast<double>(column.values.size()))),
          among_slow[v] >= 3 ? among_slow[v] / slow / (all[v] / nodes) : 0};
      for (std::size_t k = 0; k < 3; ++k) {
        if (score[k] <= best[k]) continue;
        best[k] = score[k];
        out[k] = FactValue{c, v};
      }
    }
  }
  return out;
}

void judge(CauseTried& row, const MadeFleet& f, const fleet::Explanation& e) {
  ++row.fleets;
  const bool none = f.causes.empty();
  if (!e.causes.empty()) {
    const bool right = !none && holds(e.causes[0], f.causes);
    row.right += right;
    row.named += right;
    row.wrong += !right;
  } else if (!e.candidates.empty()) {
    row.right += !none && holds(e.candidates[0], f.causes);
    ++row.candidate;
  }
  const auto others = blamed(f);
  for (std::size_t k = 0; k < others.size(); ++k)
    row.baseline[k] += others[k] && (none || std::find(f.causes.begin(), f.causes.end(), *others[k]) != f.causes.end());
}

// Fleets of its own: the same seed gives the same.
template <class Make>
void judge_all(CauseTried& row, std::uint32_t fleets, std::uint64_t seed, const FactBook& book, const Make& make) {
  fleet::CauseOptions options;
  for (std::uint32_t k = 0; k < fleets; ++k) {
    options.seed = seed * 1'000'000 + k;
    const MadeFleet f = make(options.seed);
    judge(row, f, fleet::explain_slow(f.table, book, f.performance, options));
  }
}

CauseTried tried(const std::string& name, const MadeFleetOptions& made, std::uint32_t fleets, std::uint64_t seed,
                 const FactBook& book) {
  CauseTried row;
  row.name = name;
  row.nodes = made.nodes;
  row.facts = made.facts;
  row.causes = made.causes;
  row.effect = made.effect;
  row.noise = made.noise;
  row.racks = made.rack_spread;
  judge_all(row, fleets, seed, book, [&](std::uint64_t s) { return make_fleet(made, s); });
  return row;
}

CauseTried tried_by_racks(bool racks_told, std::uint32_t fleets, std::uint64_t seed, const FactBook& book) {
  BatchFleetOptions made;
  made.racks_told = racks_told;
  CauseTried row;
  row.name = racks_told ? "racks are known" : "racks are not known";
  row.nodes = made.nodes;
  row.facts = made.facts;
  row.effect = made.effect;
  row.noise = made.noise;
  judge_all(row, fleets, seed, book, [&](std::uint64_t s) { return make_batch_fleet(made, s); });
  return row;
}

struct Kind {
  std::string name;
  MadeFleetOptions made;
  bool promised = false;
};

std::vector<Kind> kinds_with_causes() {
  std::vector<Kind> out;
  out.push_back({"512 nodes, 2 %", {}, true});
  MadeFleetOptions o;
  o.nodes = 2048;
  o.effect = 0.01;
  out.push_back({"2,048 nodes, 1 %", o, false});
  o = {};
  o.nodes = 128;
  o.facts = 60;
  o.effect = 0.05;
  out.push_back({"128 nodes, 5 %", o, false});
  o = {};
  o.causes = 2;
  o.effect = 0.03;
  out.push_back({"512 nodes, 2 causes, 3 %", o, false});
  o = {};
  o.rack_spread = 0.01;
  out.push_back({"512 nodes, 2 %, racks differ by 1 %", o, false});
  return out;
}

DriftTried drift_of(const FactBook& book, std::uint32_t values, std::uint64_t seed) {
  FactTable table = make_clean_fleet(book, kCleanNodes, seed);
  const std::vector<Seeded> seeded = values == 0 ? std::vector<Seeded>{} : seed_drift(table, book, values, seed);
  const fleet::Golden g = fleet::hold_against_kind(table, book, {}, {});
  std::set<std::pair<std::uint32_t, std::uint32_t>> told, meant;
  for (const fleet::Difference& d : g.differences) told.emplace(d.node, d.column);
  DriftTried out;
  out.nodes = kCleanNodes;
  out.facts = static_cast<std::uint32_t>(table.columns().size());
  for (const Seeded& s : seeded) {
    meant.emplace(s.node, s.column);
    ++out.seeded;
    out.found += told.contains({s.node, s.column});
  }
  for (const auto& t : told) out.alarms += !meant.contains(t);
  return out;
}

SpeedTried speed_of(const FactBook& book, std::uint64_t seed, const std::function<double()>& cpu_s) {
  MadeFleetOptions made;
  made.nodes = kSpeedNodes;
  const MadeFleet f = make_fleet(made, seed);
  fleet::CauseOptions options;
  SpeedTried out;
  out.nodes = made.nodes;
  out.facts = made.facts;
  out.permutations = options.permutations;
  const double begin = cpu_s();
  const fleet::Explanation e = fleet::explain_slow(f.table, book, f.performance, options);
  const double middle = cpu_s();
  const fleet::Golden g = fleet::hold_against_kind(f.table, book, {}, {});
  out.drift_cpu_s = cpu_s() - middle;
  out.explain_cpu_s = middle - begin;
  out.values = static_cast<std::uint32_t>(e.measures.at(0).values);
  return out;
}

}  // namespace

double at_most_of(std::uint32_t failed, std::uint32_t fleets) {
  constexpr double kChance = 0.05;
  if (failed >= fleets) return 1;
  // How likely so few fail where each does with p.
  const auto so_few = [&](double p) {
    double term = std::pow(1 - p, fleets), sum = term;
    for (std::uint32_t i = 0; i < failed; ++i) {
      term *= p / (1 - p) * (fleets - i) / (i + 1);
      sum += term;
    }
    return sum;
  };
  double low = 0, high = 1;
  for (int i = 0; i < 50; ++i) {
    const double p = (low + high) / 2;
    (so_few(p) > kChance ? low : high) = p;
  }
  return high;
}

FleetTrial try_fleets(const FleetTrialOptions& o, const FactBook& book) {
  FleetTrial out;
  out.seed = o.seed;
  const auto asked = [&](std::string_view what) { return o.what == "all" || o.what == what; };
  const std::vector<Kind> kinds = kinds_with_causes();
  const auto bound = [&](std::string what, bool kept) { out.bounds.push_back({std::move(what), kept, true, ""}); };
  const auto of_fleets = [&](std::string what, std::uint32_t failed, std::uint32_t fleets, double most) {
    const bool kept = static_cast<double>(failed) <= most * fleets;
    out.bounds.push_back(
        {std::move(what), kept, at_most_of(0, fleets) <= most,
         fmt::format("{} of {}: at most {:.2f} % with 95 % confidence", failed, fleets, 100 * at_most_of(failed, fleets))});
  };
  if (asked("cause")) {
    for (const Kind& k : kinds) {
      out.causes.push_back(tried(k.name, k.made, k.promised ? o.fleets : (o.fleets + 2) / 3, o.seed, book));
      const CauseTried& row = out.causes.back();
      if (k.promised)
        of_fleets(fmt::format("{}: first guess wrong in at most 5 %", k.name), row.fleets - row.right, row.fleets, kWrong);
    }
  }
  if (asked("innocent")) {
    MadeFleetOptions made;
    made.causes = 0;
    out.innocent.push_back(tried("512 nodes, nothing to blame", made, o.innocent, o.seed + 1, book));
    of_fleets("nothing innocent is blamed in more than 1 %", out.innocent[0].wrong, out.innocent[0].fleets, kBlame);
  }
  if (asked("racks")) {
    for (const bool told : {true, false}) {
      out.racks.push_back(tried_by_racks(told, o.innocent, o.seed + 2, book));
      const CauseTried& row = out.racks.back();
      of_fleets(fmt::format("slow racks, innocent batches, {}: nothing is blamed in more than 2 %", row.name), row.wrong,
                row.fleets, kBlameByRacks);
    }
  }
  if (asked("clean")) {
    out.clean.push_back(drift_of(book, 0, o.seed));
    bound("no alarm on a clean fleet", out.clean[0].alarms == 0);
  }
  if (asked("drift")) {
    out.drift.push_back(drift_of(book, kSeeded, o.seed));
    bound("at least 99 % of seeded values are found, and nothing else",
          out.drift[0].share() >= kFound && out.drift[0].alarms == 0);
  }
  if (asked("speed")) {
    out.speed.push_back(speed_of(book, o.seed, o.cpu_s));
    bound("causes of 12,500 nodes in at most 10 CPU-s", out.speed[0].explain_cpu_s <= kExplainCpuS);
  }
  return out;
}

}  // namespace muster::trial
