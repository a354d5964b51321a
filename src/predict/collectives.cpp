#include "predict/collectives.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/hash.h"
#include "base/math.h"
#include "base/text.h"
#include "predict/protocols.h"

namespace muster::predict {
namespace {

using Rows = std::vector<const CollectiveRow*>;

struct Point {
  double bytes, s;
};

const GpuModel* gpu_of(const std::string& name, std::span<const GpuModel> gpus) {
  const auto it = std::find_if(gpus.begin(), gpus.end(), [&](const GpuModel& g) { return g.name == name; });
  return it == gpus.end() ? nullptr : &*it;
}

double groups(const CollectiveSetup& s) { return std::max(1.0, static_cast<double>(s.gpus) / std::max(1U, s.together)); }

// One for each size, in their order: in-place and out-of-place runs, and repeated ones, are one.
std::vector<Point> by_size(const Rows& rows) {
  std::map<double, std::vector<double>> sizes;
  for (const CollectiveRow* r : rows) sizes[r->bytes].push_back(det_log(r->time_s));
  std::vector<Point> out;
  for (const auto& [bytes, logs] : sizes) {
    double sum = 0;
    for (const double l : logs) sum += l;
    out.push_back({bytes, det_exp(sum / static_cast<double>(logs.size()))});
  }
  return out;
}

constexpr std::size_t kOwnCurve = 4;  // sizes from which a set-up has a curve of its own
constexpr double kSmaller = 4;        // times smaller than the smallest that was measured

// The curve that is nearest to all the points, by steps along each parameter that grow shorter.
CollectiveCurve fitted(const std::vector<Point>& points) {
  double least_s = points.front().s, per_byte = points.front().s / points.front().bytes;
  for (const Point& p : points) {
    least_s = std::min(least_s, p.s);
    per_byte = std::min(per_byte, p.s / p.bytes);
  }
  const auto off = [&](const CollectiveCurve& c) {
    double sum = 0;
    for (const Point& p : points) sum += std::abs(det_log(c.at(p.bytes) / p.s));
    return sum;
  };
  CollectiveCurve best{0.8 * least_s, 1 / per_byte, 0.5};
  double now = off(best);
  for (double step = 0.3; step > 1e-3;) {
    bool better = false;
    for (double CollectiveCurve::*value : {&CollectiveCurve::start_s, &CollectiveCurve::bytes_per_s, &CollectiveCurve::knee}) {
      for (const double factor : {1 + step, 1 / (1 + step)}) {
        CollectiveCurve c = best;
        c.*value *= factor;
        c.bytes_per_s = std::max(c.bytes_per_s, 1 / per_byte);  // no size goes faster than the rate
        const double then = off(c);
        if (then >= now - 1e-9) continue;
        now = then;
        best = c;
        better = true;
      }
    }
    if (!better) step /= 2;
  }
  return best;
}

// What was measured over what `expected` says, between two sizes by their logarithms; beyond the last as it is there.
template <class Expected>
double correction(const Expected& expected, const std::vector<Point>& points, double bytes) {
  const auto of = [&](const Point& p) { return det_log(p.s / expected(p.bytes)); };
  if (bytes <= points.front().bytes) return det_exp(of(points.front()));
  if (bytes >= points.back().bytes) return det_exp(of(points.back()));
  const auto above = std::upper_bound(points.begin(), points.end(), bytes, [](double b, const Point& p) { return b < p.bytes; });
  const Point& a = *(above - 1);
  const Point& b = *above;
  const double along = det_log(bytes / a.bytes) / det_log(b.bytes / a.bytes);
  return det_exp(of(a) + along * (of(b) - of(a)));
}

const CollectiveClass& class_of(std::span<const CollectiveClass> classes, const std::string& name) {
  static const CollectiveClass kUsual;
  const auto it = std::find_if(classes.begin(), classes.end(), [&](const CollectiveClass& c) { return c.name == name; });
  return it == classes.end() ? kUsual : *it;
}

struct WayCurve {
  CollectiveCurve curve;
  const CollectiveClass* limit = nullptr;
};
WayCurve curve_of(const CollectiveWay& way, std::span<const CollectiveClass> classes, const CollectiveSetup& s) {
  const CollectiveClass& near = class_of(classes, way.near);
  double bus = way.near_gb_s * near.share;
  WayCurve out{{near.start * way.start_us * 1e-6, 0, near.knee}, &near};
  if (!way.far.empty()) {
    const CollectiveClass& far = class_of(classes, way.far);
    out.curve.start_s = far.start * way.start_us * 1e-6;
    out.curve.knee = far.knee;
    if (way.far_gb_s * far.share < bus) {
      bus = way.far_gb_s * far.share;
      out.limit = &far;
    }
  }
  out.curve.bytes_per_s = bus * 1e9 / bus_factor(s.op, s.gpus);
  return out;
}

// By the fastest of the ways, as NCCL would choose with a true table.
double soonest(std::span<const CollectiveWay> ways, std::span<const CollectiveClass> classes, const CollectiveSetup& s,
               double bytes) {
  double best = 0;
  for (const CollectiveWay& way : ways) {
    const double t = curve_of(way, classes, s).curve.at(bytes);
    if (best == 0 || t < best) best = t;
  }
  return best;
}

// What was left of a prediction, as quantiles that eight of ten lie between.
std::pair<double, double> eight_of_ten(std::vector<double> ratios) {
  if (ratios.size() < 10) return {0.7, 1.4};
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](double share) { return ratios[static_cast<std::size_t>(share * static_cast<double>(ratios.size() - 1))]; };
  return {std::min(1.0, at(0.1)), std::max(1.0, at(0.9))};
}

// What one site measured in one set-up.
struct Measured {
  std::string site;
  CollectiveSetup setup;
  std::map<std::string, Rows> variants;

  // By the best rate of any size: other variants were forced, or have more to add up.
  const Rows& fastest() const {
    const auto rate = [](const Rows& rows) {
      double best = 0;
      for (const CollectiveRow* r : rows) best = std::max(best, r->bytes / r->time_s);
      return best;
    };
    return std::max_element(variants.begin(), variants.end(),
                            [&](const auto& x, const auto& y) { return rate(x.second) < rate(y.second); })
        ->second;
  }
};

// One set-up with the ways that it could go.
struct Exchange {
  CollectiveSetup setup;
  std::vector<CollectiveWay> ways;
  std::vector<Point> points;
};

constexpr std::uint32_t kFew = 3;  // rows that say nothing of others
constexpr double kPrior = 0.3;     // measured sizes that would outweigh what is usual

// The classes that are nearest to all of the measured sizes, by steps along each of their figures that grow shorter. A set-up
// with many sizes counts for more than one with few, but by the root. Those before `first` stay.
void fit_together(std::vector<CollectiveClass>& classes, std::size_t first, const std::vector<Exchange>& exchanges) {
  const auto off = [&] {
    double sum = 0;
    for (const Exchange& e : exchanges) {
      const double weight = 1 / std::sqrt(static_cast<double>(e.points.size()));
      for (const Point& p : e.points) sum += weight * std::abs(det_log(soonest(e.ways, classes, e.setup, p.bytes) / p.s));
    }
    // What no row speaks of stays where it usually is.
    for (const CollectiveClass& c : std::span(classes).subspan(first)) {
      const CollectiveClass usual;
      sum += kPrior * (std::abs(det_log(c.share / usual.share)) + std::abs(det_log(c.start / usual.start)) +
                       std::abs(det_log(c.knee / usual.knee)));
    }
    return sum;
  };
  double now = off();
  for (double step = 0.4; step > 5e-3;) {
    bool better = false;
    for (CollectiveClass& c : std::span(classes).subspan(first)) {
      if (c.rows < kFew) continue;
      for (double CollectiveClass::*value : {&CollectiveClass::share, &CollectiveClass::start, &CollectiveClass::knee}) {
        for (const double factor : {1 + step, 1 / (1 + step)}) {
          const CollectiveClass before = c;
          c.*value *= factor;
          c.share = std::min(1.0, c.share);
          const double then = off();
          if (then < now - 1e-9) {
            now = then;
            better = true;
          } else {
            c = before;
          }
        }
      }
    }
    if (!better) step /= 2;
  }
}

using Series = std::pair<std::string, std::string>;  // site, variant

}  // namespace

double CollectiveCurve::at(double bytes) const {
  const double carry = bytes / bytes_per_s;
  return start_s + knee * std::sqrt(start_s * carry) + carry;
}

CollectiveCurve fit_collective_curve(std::span<const std::pair<double, double>> times_s) {
  std::vector<Point> points;
  for (const auto& [bytes, s] : times_s) points.push_back({bytes, s});
  return points.empty() ? CollectiveCurve{} : fitted(points);
}

CollectivePrediction CollectivePrediction::times(double slower) const {
  CollectivePrediction out = *this;
  out.s *= slower;
  out.low_s *= slower;
  out.high_s *= slower;
  out.bus_gb_s /= slower;
  return out;
}

std::vector<CollectiveWay> collective_ways(const CollectiveSetup& s, const GpuModel& gpu, double fabric_share, bool in_network) {
  std::vector<CollectiveWay> out;
  if (s.gpus < 2) return out;
  const double together = std::min<double>(s.gpus, s.together), apart = groups(s), factor = bus_factor(s.op, s.gpus);
  const double card = s.nic_gb_s * fabric_share, cards = together * card;
  // Where each two have a link of their own, fewer GPUs have fewer of them.
  const double nvlink = gpu.pair_gb_s > 0 ? std::min(gpu.nvlink_gb_s, gpu.pair_gb_s * (together - 1)) : gpu.nvlink_gb_s;
  const bool adds = s.op == Collective::all_reduce && gpu.nvls && together > 2;
  const auto add = [&](std::string_view algorithm, bool added, double beyond, double within) {
    if (apart > 1 && beyond <= 0) return;
    for (const ProtocolCost& p : protocol_costs(algorithm, s)) {
      CollectiveWay w{algorithm, p.name, p.start_us, added ? "nvls" : "nvlink", within * p.bandwidth};
      if (apart > 1) {
        w.far = s.network.empty() ? "infiniband" : s.network;
        if (s.op == Collective::all_to_all) w.far += " pairs";  // many small messages to everybody get less of a network
        w.far_gb_s = beyond * p.bandwidth;
      }
      out.push_back(std::move(w));
    }
  };
  switch (s.op) {
    case Collective::send_recv: add("direct", false, card, gpu.pair_gb_s > 0 ? gpu.pair_gb_s : nvlink); break;
    case Collective::all_to_all:
      // Of what a rank sends, all but what stays in its domain leaves through its own card.
      add("direct", false, card * (s.gpus - 1) / std::max(1.0, s.gpus - together), nvlink);
      break;
    case Collective::all_reduce: {
      // A tree sends the whole once up and once down: of two domains that is each one's only exchange, of more it is as much as a
      // ring's.
      const double tree = cards * (apart <= 2 ? factor : 1);
      add("Ring", false, cards, nvlink);
      if (apart > 1) add("Tree", false, tree, nvlink);
      if (adds) add(apart > 1 ? "NVLSTree" : "NVLS", true, tree, nvlink * factor);
      if (in_network && apart > 1) add("CollNet", adds, cards * factor, adds ? nvlink * factor : nvlink);
      break;
    }
    default: add("Ring", false, cards, nvlink);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const CollectiveWay& x, const CollectiveWay& y) { return x.most_gb_s() > y.most_gb_s(); });
  return out;
}

bool teaches(const CollectiveRow& r) { return xxh64(r.site + "|" + r.setup.gpu + "|" + render_number(r.bytes), 0) % 3 != 0; }

std::vector<CollectiveClass> fit_collective_classes(std::span<const CollectiveRow> rows, std::span<const GpuModel> gpus) {
  std::vector<Measured> all;
  for (const CollectiveRow& r : rows) {
    if (r.time_s <= 0) continue;
    auto it = std::find_if(all.begin(), all.end(), [&](const Measured& m) { return m.site == r.site && m.setup == r.setup; });
    if (it == all.end()) it = all.insert(it, {r.site, r.setup, {}});
    it->variants[r.variant].push_back(&r);
  }
  std::vector<CollectiveClass> out;
  // First what stays within a domain: what does not goes over NVLink as well.
  for (const bool beyond : {false, true}) {
    const std::size_t first = out.size();
    std::vector<Exchange> exchanges;
    for (const Measured& m : all) {
      const GpuModel* gpu = gpu_of(m.setup.gpu, gpus);
      auto ways = gpu == nullptr ? std::vector<CollectiveWay>{} : collective_ways(m.setup, *gpu);
      if (ways.empty() || ways.front().far.empty() == beyond) continue;
      exchanges.push_back({m.setup, std::move(ways), by_size(m.fastest())});
      for (const CollectiveWay& w : exchanges.back().ways) {
        const std::string& name = beyond ? w.far : w.near;
        const bool known = std::any_of(out.begin(), out.end(), [&](const CollectiveClass& c) { return c.name == name; });
        if (!known) out.push_back({.name = name, .share = name.ends_with(" pairs") ? 0.6 : 0.9});  // as in training steps
      }
      CollectiveClass& likely = *std::find_if(out.begin(), out.end(), [&](const CollectiveClass& c) {
        return c.name == (beyond ? exchanges.back().ways.front().far : exchanges.back().ways.front().near);
      });
      likely.rows += static_cast<std::uint32_t>(m.fastest().size());
    }
    fit_together(out, first, exchanges);
  }
  return out;
}

Collectives::Collectives(std::span<const CollectiveRow> rows, std::span<const CollectiveClass> classes,
                         std::span<const GpuModel> gpus, const CollectiveSpread& spread)
    : rows_(rows), classes_(classes), gpus_(gpus), spread_(spread) {}

CollectivePrediction Collectives::by_way(const CollectiveWay& way, const CollectiveSetup& setup, double bytes) const {
  const WayCurve c = curve_of(way, classes_, setup);
  CollectivePrediction out;
  out.s = c.curve.at(bytes);
  out.low_s = out.s * spread_.far_low;
  out.high_s = out.s * spread_.far_high;
  out.bus_gb_s = bytes * bus_factor(setup.op, setup.gpus) / out.s / 1e9;
  out.by = way.far.empty() ? way.near : way.far;
  out.algorithm = way.algorithm;
  out.protocol = way.protocol;
  out.limit = c.curve.start_s > bytes / c.curve.bytes_per_s  ? "latency"
              : way.far.empty() || c.limit->name == way.near ? "NVLink"
                                                             : "network cards";
  return out;
}

// Of the sites with this set-up the one that is asked for, or the one with the most rows.
std::optional<CollectivePrediction> Collectives::measured(const CollectiveRow& row) const {
  std::map<Series, std::vector<const CollectiveRow*>> series;
  for (const CollectiveRow& r : rows_) {
    if (r.time_s > 0 && r.setup == row.setup) series[{r.site, r.variant}].push_back(&r);
  }
  const std::pair<const Series, std::vector<const CollectiveRow*>>* best = nullptr;
  const auto rank = [&](const auto& s) {
    return std::tuple(s.first.first == row.site, s.first.second == row.variant, s.second.size());
  };
  for (const auto& s : series) {
    if (best == nullptr || rank(s) > rank(*best)) best = &s;
  }
  if (best == nullptr) return {};
  const std::vector<Point> points = by_size(best->second);
  CollectivePrediction out;
  // Of what is much smaller than anything that was measured, the curve through that says nothing.
  const bool beyond = row.bytes < points.front().bytes / kSmaller;
  const GpuModel* gpu = gpu_of(row.setup.gpu, gpus_);
  const auto ways = gpu == nullptr ? std::vector<CollectiveWay>{} : collective_ways(row.setup, *gpu);
  if (points.size() >= kOwnCurve && (!beyond || ways.empty())) {
    const CollectiveCurve curve = fitted(points);
    const auto expected = [&](double bytes) { return curve.at(bytes); };
    out.s = expected(row.bytes) * correction(expected, points, row.bytes);
  } else {
    if (ways.empty()) return {};
    const auto expected = [&](double bytes) { return soonest(ways, classes_, row.setup, bytes); };
    out.s = expected(row.bytes) * correction(expected, points, row.bytes);
  }
  out.low_s = out.s * (beyond ? spread_.far_low : spread_.low);
  out.high_s = out.s * (beyond ? spread_.far_high : spread_.high);
  out.bus_gb_s = row.bytes * bus_factor(row.setup.op, row.setup.gpus) / out.s / 1e9;
  out.calibrated = !beyond;
  out.by = best->first.first;
  return out;
}

std::optional<CollectivePrediction> Collectives::predict(const CollectiveRow& row, double fabric_share) const {
  if (fabric_share >= 1) {
    if (auto p = measured(row)) return p;
  }
  const auto best = by_links(row.setup, row.bytes, fabric_share);
  if (!best) return {};
  return best->times(fabric_share >= 1 ? as_neighbours(row) : 1);
}

std::optional<CollectivePrediction> Collectives::by_links(const CollectiveSetup& setup, double bytes, double fabric_share) const {
  const GpuModel* gpu = gpu_of(setup.gpu, gpus_);
  if (gpu == nullptr) return {};
  std::optional<CollectivePrediction> best;
  for (const CollectiveWay& way : collective_ways(setup, *gpu, fabric_share)) {
    auto p = by_way(way, setup, bytes);
    if (!best || p.s < best->s) best = std::move(p);
  }
  return best;
}

// What was measured over what the links promise, with fewer and with more of the same GPUs on the same network: between the two
// by their logarithms, beyond them as it is there.
double Collectives::as_neighbours(const CollectiveRow& row) const {
  struct Side {
    double gpus = 0, ratio = 1;  // logarithms
  };
  std::optional<Side> below, above;
  std::vector<std::uint32_t> seen;
  for (const CollectiveRow& r : rows_) {
    CollectiveSetup same = r.setup;
    same.gpus = row.setup.gpus;
    const bool alike =
        r.time_s > 0 && r.setup.gpus > r.setup.together && row.setup.gpus > row.setup.together && same == row.setup;
    if (!alike || std::find(seen.begin(), seen.end(), r.setup.gpus) != seen.end()) continue;
    seen.push_back(r.setup.gpus);
    CollectiveRow asked = row;
    asked.setup = r.setup;
    const auto was = measured(asked), promised = by_links(r.setup, row.bytes, 1);
    if (!was || !promised) continue;
    const Side side{det_log(r.setup.gpus), det_log(was->s / promised->s)};
    auto& to = r.setup.gpus < row.setup.gpus ? below : above;
    if (!to || (r.setup.gpus < row.setup.gpus) == (side.gpus > to->gpus)) to = side;
  }
  if (below && above) {
    const double along = (det_log(row.setup.gpus) - below->gpus) / (above->gpus - below->gpus);
    return det_exp(below->ratio + along * (above->ratio - below->ratio));
  }
  return below ? det_exp(below->ratio) : above ? det_exp(above->ratio) : 1;
}

CollectiveSpread collective_spread(std::span<const CollectiveRow> rows, std::span<const GpuModel> gpus) {
  std::vector<double> near, far;
  std::vector<CollectiveClass> classes;  // without the site and the set-up of the row before
  const CollectiveRow* without = nullptr;
  for (const CollectiveRow& r : rows) {
    if (r.time_s <= 0) continue;
    std::vector<CollectiveRow> others, elsewhere;
    for (const CollectiveRow& o : rows) {
      const bool same = o.site == r.site && o.setup == r.setup;
      if (!same || o.bytes != r.bytes) others.push_back(o);
      if (o.site != r.site && !(o.setup == r.setup)) elsewhere.push_back(o);
    }
    if (without == nullptr || without->site != r.site || !(without->setup == r.setup)) {
      classes = fit_collective_classes(elsewhere, gpus);
      without = &r;
    }
    if (const auto p = Collectives(others, classes, gpus, {}).predict(r); p && p->calibrated) near.push_back(r.time_s / p->s);
    if (const auto p = Collectives(elsewhere, classes, gpus, {}).predict(r)) far.push_back(r.time_s / p->s);
  }
  CollectiveSpread out;
  std::tie(out.low, out.high) = eight_of_ten(std::move(near));
  std::tie(out.far_low, out.far_high) = eight_of_ten(std::move(far));
  return out;
}

}  // namespace muster::predict
