#include "account/energy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"

namespace muster::account {
namespace {

constexpr std::int64_t kWhole = 1000;  // of one GPU
constexpr double kNodeWattsMax = 40'000;
constexpr double kApartMax = 2;              // times as much, or as little: then a counter is not of its GPU, or of another unit
constexpr Duration kApartOver = minutes(5);  // judged over so long at least

// One run's part in one meter.
struct Claim {
  std::size_t run = 0;
  Time from, to;
  std::int64_t milli = 0;
};

struct Node {
  std::vector<std::size_t> gpus;     // tracks
  std::optional<std::size_t> meter;  // track of the whole node
};

// Millijoules of `milli` thousandths of a GPU, each of which draws so many watts.
std::int64_t at_watts(double watts, std::int64_t ns, std::int64_t milli) {
  return std::llround(watts * static_cast<double>(ns) * static_cast<double>(milli) / 1e9);
}

class Attribution {
 public:
  Attribution(std::span<const GpuHold> runs, const PowerReadings& readings, const EnergyOptions& o)
      : runs_(runs), readings_(readings), o_(o), claims_(readings.tracks.size()) {}

  EnergyBooks run() {
    make_curves();
    lay_out();
    for (std::size_t i = 0; i < runs_.size(); ++i) claim(i);
    for (std::size_t t = 0; t < curves_.size(); ++t) {
      if (!readings_.tracks[t].whole_node) share_out(t);
    }
    mark_shared_nodes();
    for (std::size_t i = 0; i < runs_.size(); ++i) unmeasured(i);
    hosts();
    books_.unknown_gpus.assign(unknown_.begin(), unknown_.end());
    return std::move(books_);
  }

 private:
  void make_curves();
  void lay_out();
  void claim(std::size_t run);
  void claim_place(std::size_t run, const HeldPlace& place);
  void share_out(std::size_t track);
  void share_piece(std::size_t track, Time from, Time to, const std::vector<const Claim*>& holders);
  void mark_shared_nodes();
  void unmeasured(std::size_t run);
  // `ns` of the stretch have no reading; less than all of it only within one quarter of an hour.
  // `model`: what the readings say of the GPU, where the run does not.
  void estimate(std::size_t run, Time from, Time to, std::int64_t ns, std::int64_t milli, std::string_view model = {});
  void engine_says(std::size_t run, double joules);
  void hosts();
  void host_of(std::size_t run, const HeldPlace& place, std::map<std::string, std::vector<QuarterEnergy>>& told);
  QuarterEnergy host_between(const Node& node, Time from, Time to);
  std::string type_of(std::size_t run, std::string_view model = {}) const;

  Time begin_of(const GpuHold& r) const { return std::max(r.started, books_.begins); }
  Time end_of(const GpuHold& r) const { return std::min(r.ended, books_.ends); }
  const Node* node_named(const std::string& name) const {
    const auto it = nodes_.find(short_node(name));
    return it == nodes_.end() ? nullptr : &it->second;
  }

  std::span<const GpuHold> runs_;
  const PowerReadings& readings_;
  const EnergyOptions& o_;
  EnergyBooks books_;
  std::vector<PowerCurve> curves_;
  std::map<std::string, Node> nodes_;           // by short name
  std::map<std::string, std::size_t> by_uuid_;  // in small letters
  std::vector<std::vector<Claim>> claims_;      // by track
  std::vector<std::int64_t> missing_milli_;     // by run: GPUs without a meter
  std::vector<bool> shared_;                    // by run: with another one on a node of it
  std::set<std::string> unknown_;
};

// Calls `visit(from, to)` for each part of a stretch that lies within one quarter of an hour.
template <class F>
void by_quarters(Time from, Time to, F visit) {
  for (Time at = from; at < to;) {
    const Time next = std::min(to, quarter_begins(quarter_of(at) + 1));
    visit(at, next);
    at = next;
  }
}

void make_room(RunEnergy& r, Time from, Time to) {
  r.first = quarter_of(from);
  if (to > from) r.quarters.resize(static_cast<std::size_t>(quarter_of(Time{to.ns - 1}) - r.first + 1));
}

// Over the stretches that both tell of, and no others: what one of them lacks is no difference between them.
Agreement compare(const PowerCurve& counter, const PowerCurve& sampled) {
  Agreement a;
  for (const PowerCurve::Piece& p : counter.pieces()) {
    const PowerCurve::Until from = sampled.until(p.from), to = sampled.until(p.to);
    constexpr auto kSampled = static_cast<std::size_t>(EnergySource::sampled);
    const std::int64_t mj = to.mj[kSampled] - from.mj[kSampled];
    if (to.covered_ns - from.covered_ns < (p.to - p.from).ns || sum(to.mj) - sum(from.mj) != mj) continue;
    a.counter_j += static_cast<double>(p.mj) / 1e3;
    a.sampled_j += static_cast<double>(mj) / 1e3;
    a.over = a.over + (p.to - p.from);
  }
  return a;
}

void Attribution::make_curves() {
  std::optional<Time> first, last;
  const auto cover = [&](Time from, Time to) {
    if (!first || from < *first) first = from;
    if (!last || to > *last) last = to;
  };
  for (const PowerTrack& t : readings_.tracks) {
    curves_.push_back(PowerCurve::make(t, o_.curve, books_.notes));
    if (!curves_.back().empty()) cover(curves_.back().begins(), curves_.back().ends());
    CurveNotes aside;
    CurveOptions one = o_.curve;
    one.meter = Meter::counter;
    const PowerCurve counter = PowerCurve::make(t, one, aside);
    one.meter = Meter::sampled;
    const PowerCurve sampled = PowerCurve::make(t, one, aside);
    if (counter.empty() || sampled.empty()) continue;
    Agreement a = compare(counter, sampled);
    if (a.over.ns <= 0) continue;
    a.node = t.node;
    a.gpu = t.gpu;
    const bool apart = a.counter_j > kApartMax * a.sampled_j || a.sampled_j > kApartMax * a.counter_j;
    a.counter_refused = apart && a.over >= kApartOver && o_.curve.meter == Meter::best;
    if (a.counter_refused) curves_.back() = sampled;
    books_.agreements.push_back(std::move(a));
  }
  for (const GpuHold& r : runs_) cover(r.started, r.ended);
  books_.begins = o_.from.ns > 0 ? o_.from : first.value_or(Time{});
  books_.ends = o_.to.ns > 0 ? o_.to : last.value_or(Time{});
  if (books_.ends < books_.begins) books_.ends = books_.begins;
  make_room(books_.nobody, books_.begins, books_.ends);
  books_.runs.resize(runs_.size());
  missing_milli_.resize(runs_.size());
  shared_.resize(runs_.size());
}

void Attribution::lay_out() {
  for (std::size_t i = 0; i < readings_.tracks.size(); ++i) {
    const PowerTrack& t = readings_.tracks[i];
    Node& n = nodes_[short_node(t.node)];
    if (t.whole_node) {
      n.meter = i;
    } else {
      n.gpus.push_back(i);
      if (!t.gpu.empty()) by_uuid_[lower(t.gpu)] = i;
    }
  }
}

void Attribution::claim(std::size_t i) {
  const GpuHold& r = runs_[i];
  RunEnergy& e = books_.runs[i];
  const Time from = begin_of(r), to = end_of(r);
  make_room(e, from, to);
  if (to <= from) return;
  e.gpu_ms = r.gpus_milli() * ((to - from).ns / 1'000'000) / kWhole;
  for (const HeldPlace& p : r.places) claim_place(i, p);
}

void Attribution::claim_place(std::size_t i, const HeldPlace& p) {
  const Time from = begin_of(runs_[i]), to = end_of(runs_[i]);
  const Node* node = node_named(p.node);
  std::int64_t left = p.gpus_milli;
  const auto take = [&](std::size_t track, std::int64_t milli) {
    claims_[track].push_back({i, from, to, milli});
    left -= milli;
  };
  if (!p.gpus.empty()) {
    const std::int64_t each = p.gpus_milli / static_cast<std::int64_t>(p.gpus.size());
    for (const std::string& key : p.gpus) {
      if (const auto it = by_uuid_.find(lower(key)); it != by_uuid_.end() && key.size() > 4) {
        take(it->second, each);
      } else if (node != nullptr) {
        const auto index = parse_uint(key);
        const auto at = std::find_if(node->gpus.begin(), node->gpus.end(), [&](std::size_t t) {
          return index && readings_.tracks[t].index == static_cast<int>(*index);
        });
        if (at != node->gpus.end()) take(*at, each);
      }
    }
  } else if (node != nullptr && !node->gpus.empty()) {
    const auto there = static_cast<std::int64_t>(node->gpus.size());
    const std::int64_t each = std::min(kWhole, p.gpus_milli / there);
    std::int64_t more = each < kWhole ? p.gpus_milli - each * there : 0;  // thousandths that do not divide
    for (const std::size_t t : node->gpus) take(t, each + (more-- > 0 ? 1 : 0));
  }
  missing_milli_[i] += std::max<std::int64_t>(left, 0);
}

void Attribution::share_out(std::size_t track) {
  const PowerCurve& curve = curves_[track];
  std::vector<Claim>& claims = claims_[track];
  std::vector<Time> edges;
  Time from = std::max(books_.begins, curve.begins()), to = std::min(books_.ends, curve.ends());
  if (curve.empty()) from = to = books_.begins;
  for (const Claim& c : claims) {
    from = std::min(from, c.from);
    to = std::max(to, c.to);
    edges.push_back(c.from);
    edges.push_back(c.to);
  }
  if (to <= from) return;
  by_quarters(from, to, [&](Time a, Time) { edges.push_back(a); });
  edges.push_back(to);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) { return a.from < b.from; });
  std::vector<const Claim*> holders;
  std::size_t next = 0;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    std::erase_if(holders, [&](const Claim* c) { return c->to <= edges[i]; });
    for (; next < claims.size() && claims[next].from <= edges[i]; ++next) {
      if (claims[next].to > edges[i]) holders.push_back(&claims[next]);
    }
    share_piece(track, edges[i], edges[i + 1], holders);
  }
}

void Attribution::share_piece(std::size_t track, Time from, Time to, const std::vector<const Claim*>& holders) {
  const PowerCurve::Until a = curves_[track].until(from), b = curves_[track].until(to);
  const std::int64_t quarter = quarter_of(from);
  const std::int64_t covered = b.covered_ns - a.covered_ns, uncovered = (to - from).ns - covered;
  std::int64_t all = 0;
  for (const Claim* c : holders) all += c->milli;
  const std::int64_t parts = std::max(kWhole, all);
  Millijoules left{};
  for (std::size_t s = 0; s < kEnergySources; ++s) left[s] = b.mj[s] - a.mj[s];
  const Millijoules whole = left;
  if (holders.size() > 1 && all > kWhole) ++books_.clashes;
  for (const Claim* c : holders) {
    RunEnergy& r = books_.runs[c->run];
    for (std::size_t s = 0; s < kEnergySources; ++s) {
      // What division leaves over is the last one's, where holders have all of it.
      const std::int64_t mine =
          c == holders.back() && all >= kWhole ? left[s] : whole[s] / parts * c->milli + whole[s] % parts * c->milli / parts;
      r.at(quarter).gpu[s] += mine;
      left[s] -= mine;
      if (c->milli != kWhole || holders.size() > 1) r.apportioned_mj += mine;
    }
    if (uncovered > 0) estimate(c->run, from, to, uncovered, c->milli, readings_.tracks[track].model);
  }
  QuarterEnergy& nobody = books_.nobody.at(quarter);
  for (std::size_t s = 0; s < kEnergySources; ++s) nobody.gpu[s] += left[s];
  if (all < kWhole) {
    const std::int64_t free_ms = covered / 1'000'000 * (kWhole - all) / kWhole;
    books_.nobody.gpu_ms += free_ms;
    if (!node_named(readings_.tracks[track].node)->meter) nobody.host_assumed += at_watts(o_.host_w, covered, kWhole - all);
  }
}

// Runs that were on a node together with others: what the engine counted there is not theirs alone.
void Attribution::mark_shared_nodes() {
  struct Stay {
    Time from, to;
    std::size_t run;
  };
  std::map<std::string, std::vector<Stay>> stays;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    for (const HeldPlace& p : runs_[i].places) stays[short_node(p.node)].push_back({runs_[i].started, runs_[i].ended, i});
  }
  for (auto& [node, all] : stays) {
    std::sort(all.begin(), all.end(), [](const Stay& a, const Stay& b) { return a.from < b.from; });
    std::size_t longest = 0;
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i].from < all[longest].to) shared_[all[i].run] = shared_[all[longest].run] = true;
      if (all[i].to > all[longest].to) longest = i;
    }
  }
}

std::string Attribution::type_of(std::size_t i, std::string_view model) const {
  return !runs_[i].gpu_type.empty() ? runs_[i].gpu_type : model.empty() ? o_.gpu_type : std::string(model);
}

void Attribution::estimate(std::size_t i, Time from, Time to, std::int64_t ns, std::int64_t milli, std::string_view model) {
  if (milli <= 0) return;
  const std::string type = type_of(i, model);
  const GpuWatts* w = find_watts(o_.watts, type);
  RunEnergy& r = books_.runs[i];
  if (w == nullptr) {
    unknown_.insert(type.empty() ? "not said" : type);
    r.unknown_ms += ns / 1'000'000 * milli / kWhole;
    return;
  }
  const auto slot = static_cast<std::size_t>(EnergySource::estimated);
  by_quarters(from, to, [&](Time a, Time b) {
    const std::int64_t part = std::min(ns, (b - a).ns);
    const std::int64_t mj = at_watts(w->typical_w, part, milli);
    r.at(quarter_of(a)).gpu[slot] += mj;
    r.estimate_mj += mj;
    r.estimate_low_mj += static_cast<double>(at_watts(w->idle_w, part, milli));
    r.estimate_high_mj += static_cast<double>(at_watts(w->max_w, part, milli));
  });
}

void Attribution::engine_says(std::size_t i, double joules) {
  const GpuHold& r = runs_[i];
  const auto total = static_cast<std::int64_t>(std::llround(joules * 1e3));
  const auto until = [&](Time t) {
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>(static_cast<Wide>(total) * (t - r.started).ns / (r.ended - r.started).ns);
  };
  by_quarters(begin_of(r), end_of(r), [&](Time a, Time b) {
    books_.runs[i].at(quarter_of(a)).gpu[static_cast<std::size_t>(EnergySource::engine)] += until(b) - until(a);
  });
}

// What no meter of a GPU tells of a run: by the engine's figure where none of its GPUs has a meter, else by its model of GPU.
void Attribution::unmeasured(std::size_t i) {
  const GpuHold& r = runs_[i];
  if (missing_milli_[i] <= 0 || end_of(r) <= begin_of(r)) return;
  if (missing_milli_[i] >= r.gpus_milli() && r.engine_j) {
    const GpuWatts* w = find_watts(o_.watts, type_of(i));
    std::string why = doubt_engine(*r.engine_j, r, w == nullptr ? 0 : w->idle_w);
    if (why.empty() && shared_[i]) why = "another job was on its nodes at the same time, and Slurm counts whole nodes";
    if (why.empty()) return engine_says(i, *r.engine_j);
    books_.runs[i].engine_refused = why;
  }
  estimate(i, begin_of(r), end_of(r), (end_of(r) - begin_of(r)).ns, missing_milli_[i]);
}

// What a node drew beside its GPUs.
QuarterEnergy Attribution::host_between(const Node& node, Time from, Time to) {
  QuarterEnergy out;
  const auto gpus = static_cast<std::int64_t>(node.gpus.size());
  const auto difference = [&](std::size_t track) {
    const PowerCurve::Until a = curves_[track].until(from), b = curves_[track].until(to);
    return std::pair{sum(b.mj) - sum(a.mj), b.covered_ns - a.covered_ns};
  };
  const auto [mj, covered] = difference(*node.meter);
  if (covered < (to - from).ns || gpus == 0) {
    out.host_assumed = at_watts(o_.host_w, (to - from).ns, gpus * kWhole);
    return out;
  }
  std::int64_t rest = mj;
  for (const std::size_t t : node.gpus) rest -= difference(t).first;
  books_.node_meters_low += rest < 0 ? 1 : 0;
  out.host_measured = std::max<std::int64_t>(rest, 0);
  return out;
}

void Attribution::hosts() {
  std::map<std::string, std::vector<QuarterEnergy>> told;  // what runs got of each node with a meter
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (end_of(runs_[i]) <= begin_of(runs_[i])) continue;
    const QuarterEnergy so_far = books_.runs[i].total();
    if (so_far.gpu[static_cast<std::size_t>(EnergySource::engine)] > 0) continue;  // whole nodes, hosts and all
    for (const HeldPlace& p : runs_[i].places) host_of(i, p, told);
  }
  for (const auto& [name, node] : nodes_) {
    if (!node.meter || node.gpus.empty()) continue;
    const PowerCurve& curve = curves_[*node.meter];
    auto& given = told[name];
    given.resize(books_.nobody.quarters.size());
    by_quarters(std::max(curve.begins(), books_.begins), std::min(curve.ends(), books_.ends), [&](Time a, Time b) {
      const std::int64_t q = quarter_of(a);
      const QuarterEnergy all = host_between(node, a, b);
      const QuarterEnergy& gone = given[static_cast<std::size_t>(q - books_.nobody.first)];
      books_.nobody.at(q).host_measured += std::max<std::int64_t>(all.host_measured - gone.host_measured, 0);
    });
  }
}

void Attribution::host_of(std::size_t i, const HeldPlace& p, std::map<std::string, std::vector<QuarterEnergy>>& told) {
  RunEnergy& r = books_.runs[i];
  const Node* node = node_named(p.node);
  const bool metered = node != nullptr && node->meter && !node->gpus.empty();
  auto* given = metered ? &told[short_node(p.node)] : nullptr;
  if (given != nullptr) given->resize(books_.nobody.quarters.size());
  by_quarters(begin_of(runs_[i]), end_of(runs_[i]), [&](Time a, Time b) {
    const std::int64_t q = quarter_of(a);
    if (!metered) {
      r.at(q).host_assumed += at_watts(o_.host_w, (b - a).ns, p.gpus_milli);
      return;
    }
    const QuarterEnergy all = host_between(*node, a, b);
    const std::int64_t of = static_cast<std::int64_t>(node->gpus.size()) * kWhole, mine = std::min(p.gpus_milli, of);
    QuarterEnergy part;
    part.host_measured = all.host_measured / of * mine + all.host_measured % of * mine / of;
    part.host_assumed = all.host_assumed / of * mine + all.host_assumed % of * mine / of;
    r.at(q).add(part);
    (*given)[static_cast<std::size_t>(q - books_.nobody.first)].add(part);
  });
}

}  // namespace

void QuarterEnergy::add(const QuarterEnergy& o) {
  for (std::size_t s = 0; s < kEnergySources; ++s) gpu[s] += o.gpu[s];
  host_measured += o.host_measured;
  host_assumed += o.host_assumed;
}

QuarterEnergy RunEnergy::total() const {
  QuarterEnergy all;
  for (const QuarterEnergy& q : quarters) all.add(q);
  return all;
}

QuarterEnergy& RunEnergy::at(std::int64_t quarter) { return quarters.at(static_cast<std::size_t>(quarter - first)); }

EnergyBooks energy_of(std::span<const GpuHold> runs, const PowerReadings& readings, const EnergyOptions& options) {
  return Attribution(runs, readings, options).run();
}

std::string doubt_engine(double joules, const GpuHold& run, double idle_w) {
  // 4,294,967,294 and its like are Slurm's words for "no value"; sums of them over nodes are multiples.
  constexpr double kNone32 = 4'294'967'294.0, kNone64 = 1.8e19;
  if (!(joules > 0)) return "it is 0: no plugin measures energy there";
  if (joules >= kNone64 || std::abs(joules - kNone32) <= 1) return "it is Slurm's word for no value";
  const double seconds_run = (run.ended - run.started).seconds();
  if (seconds_run <= 0) return "the run has no length";
  const double nodes = std::max<double>(1, static_cast<double>(run.places.size()));
  const double watts = joules / seconds_run;
  if (watts > kNodeWattsMax * nodes) return fmt::format("it is {:.0f} kW a node, which none draws", watts / nodes / 1e3);
  const double idle = idle_w * static_cast<double>(run.gpus_milli()) / kWhole;
  if (watts < idle)
    return fmt::format("it is {:.0f} W in all, less than its GPUs draw idle ({:.0f} W): it counts processors alone", watts, idle);
  return {};
}

const GpuWatts* find_watts(std::span<const GpuWatts> watts, std::string_view gpu) {
  const std::string name = lower(gpu);
  const GpuWatts* best = nullptr;
  for (const GpuWatts& w : watts) {
    const auto at = name.find(w.gpu);
    if (at == std::string::npos) continue;
    const auto end = at + w.gpu.size();
    const auto letter = [&](std::size_t i) {
      return i < name.size() && ((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9'));
    };
    if ((at > 0 && letter(at - 1)) || letter(end)) continue;  // "a100" is not in "ga1000"
    if (best == nullptr || w.gpu.size() > best->gpu.size()) best = &w;
  }
  return best;
}

}  // namespace muster::account
