#include "account/power_curve.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace muster::account {
namespace {

constexpr std::int64_t kWrap = std::int64_t{1} << 32;
constexpr double kWattsMin = 2;                 // a GPU that draws less does not answer, or counts joules for millijoules
constexpr std::size_t kJudgeBy = 5;             // samples at least, to doubt a counter by them
constexpr double kDoubt = 2;                    // times as much, or as little
constexpr std::int64_t kNsPerMj_W = 1'000'000;  // one watt for so many nanoseconds is a millijoule

using Piece = PowerCurve::Piece;

double mean_watts(std::int64_t mj, Duration d) { return static_cast<double>(mj) * kNsPerMj_W / static_cast<double>(d.ns); }

// Between two samples power is taken to move in a straight line; the energy of a part of that.
std::int64_t trapezoid(const PowerPoint& p, const PowerPoint& q, Time from, Time to) {
  const double length = static_cast<double>((q.at - p.at).ns);
  const double middle = (static_cast<double>((from - p.at).ns) + static_cast<double>((to - p.at).ns)) / 2;
  const double watts = p.power_w + (q.power_w - p.power_w) * middle / length;
  return std::llround(watts * static_cast<double>((to - from).ns) / kNsPerMj_W);
}

std::vector<PowerPoint> with_power(const PowerTrack& t) {
  std::vector<PowerPoint> out;
  std::copy_if(t.points.begin(), t.points.end(), std::back_inserter(out), [](const PowerPoint& p) { return p.power_w >= 0; });
  return out;
}

// A counter that has not moved was not read anew: no GPU draws nothing. So only readings that moved count.
std::vector<PowerPoint> with_counter(const PowerTrack& t) {
  std::vector<PowerPoint> out;
  for (const PowerPoint& p : t.points) {
    if (p.energy_mj >= 0 && (out.empty() || out.back().energy_mj != p.energy_mj)) out.push_back(p);
  }
  return out;
}

// The usual time between two readings: the median of all.
Duration usual(const std::vector<PowerPoint>& points) {
  if (points.size() < 2) return {};
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 1; i < points.size(); ++i) lengths.push_back((points[i].at - points[i - 1].at).ns);
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return {*middle};
}

Duration gap_of(const CurveOptions& o, Duration usual_length) {
  if (o.gap_max.ns > 0) return o.gap_max;
  return std::clamp(usual_length * 3, seconds(1), minutes(10));
}

// What the samples between two moments add up to; nothing where there are too few of them to judge by.
std::optional<double> sampled_watts(const std::vector<PowerPoint>& samples, Time from, Time to) {
  auto at = std::lower_bound(samples.begin(), samples.end(), from, [](const PowerPoint& p, Time t) { return p.at < t; });
  double sum = 0;
  std::size_t n = 0;
  for (; at != samples.end() && at->at <= to; ++at, ++n) sum += at->power_w;
  if (n < kJudgeBy) return std::nullopt;
  return sum / static_cast<double>(n);
}

// The stretches that the counter accounts for.
std::vector<Piece> counted(const PowerTrack& track, const std::vector<PowerPoint>& samples, const CurveOptions& o,
                           CurveNotes& notes) {
  std::vector<Piece> out;
  const std::vector<PowerPoint> knots = with_counter(track);
  const double watts_max = track.whole_node ? 40'000 : o.watts_max;
  for (std::size_t i = 1; i < knots.size(); ++i) {
    const PowerPoint &a = knots[i - 1], &b = knots[i];
    const Duration length = b.at - a.at;
    std::int64_t mj = b.energy_mj - a.energy_mj;
    if (mj < 0) {
      const double wrapped = a.energy_mj < kWrap ? mean_watts(mj + kWrap, length) : -1;
      if (wrapped < kWattsMin || wrapped > watts_max) {
        ++notes.resets;
        continue;
      }
      ++notes.wraps;
      mj += kWrap;
    }
    const double watts = mean_watts(mj, length);
    if (watts < kWattsMin || watts > watts_max) {
      ++notes.jumps;
      continue;
    }
    const auto said = sampled_watts(samples, a.at, b.at);
    if (said && *said > kWattsMin && (watts * kDoubt < *said || watts > kDoubt * *said)) {
      ++notes.stood_still;
      continue;
    }
    out.push_back({a.at, b.at, mj, EnergySource::counter});
  }
  return out;
}

// [from, to) of two neighbouring samples, where nothing has counted it.
void add_sampled(const PowerPoint& p, const PowerPoint& q, Time from, Time to, Duration gap, const CurveOptions& o,
                 std::vector<Piece>& out) {
  if (from >= to || q.at - p.at > std::max(o.bridge_max, gap)) return;
  const bool far = q.at - p.at > gap;
  out.push_back({from, to, trapezoid(p, q, from, to), far ? EnergySource::estimated : EnergySource::sampled});
}

void add_between(const std::vector<PowerPoint>& samples, const std::vector<Piece>& known, Duration gap, const CurveOptions& o,
                 std::vector<Piece>& out) {
  std::size_t k = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const PowerPoint &p = samples[i - 1], &q = samples[i];
    Time at = p.at;
    while (k > 0 && known[k - 1].to > p.at) --k;
    for (; k < known.size() && known[k].from < q.at; ++k) {
      if (known[k].to <= at) continue;
      add_sampled(p, q, at, known[k].from, gap, o, out);
      at = std::max(at, known[k].to);
      if (at >= q.at) break;
    }
    add_sampled(p, q, at, q.at, gap, o, out);
  }
}

void note_gaps(const PowerTrack& track, const std::vector<Piece>& known, Duration gap, CurveNotes& notes) {
  for (std::size_t i = 1; i < track.points.size(); ++i) {
    const Time from = track.points[i - 1].at, to = track.points[i].at;
    if (to - from <= gap) continue;
    ++notes.gaps;
    const auto after = std::upper_bound(known.begin(), known.end(), from, [](Time t, const Piece& p) { return t < p.from; });
    const bool over = after != known.begin() && (after - 1)->to >= to;
    notes.gaps_counted += over ? 1 : 0;
    notes.gap_time = notes.gap_time + (to - from);
    if (to - from > notes.longest_gap) {
      notes.longest_gap = to - from;
      notes.longest_gap_at = from;
    }
  }
}

}  // namespace

void CurveNotes::add(const CurveNotes& o) {
  resets += o.resets;
  wraps += o.wraps;
  jumps += o.jumps;
  stood_still += o.stood_still;
  gaps += o.gaps;
  gaps_counted += o.gaps_counted;
  gap_time = gap_time + o.gap_time;
  if (o.longest_gap > longest_gap) {
    longest_gap = o.longest_gap;
    longest_gap_at = o.longest_gap_at;
  }
  usual = std::max(usual, o.usual);
}

PowerCurve PowerCurve::make(const PowerTrack& track, const CurveOptions& o, CurveNotes& notes) {
  CurveNotes mine;
  mine.usual = account::usual(track.points);
  const Duration gap = gap_of(o, mine.usual);
  const std::vector<PowerPoint> samples = with_power(track);
  PowerCurve out;
  if (o.meter != Meter::sampled) out.pieces_ = counted(track, samples, o, mine);
  note_gaps(track, out.pieces_, gap, mine);
  if (o.meter != Meter::counter) {
    std::vector<Piece> more;
    add_between(samples, out.pieces_, gap, o, more);
    out.pieces_.insert(out.pieces_.end(), more.begin(), more.end());
    std::sort(out.pieces_.begin(), out.pieces_.end(), [](const Piece& a, const Piece& b) { return a.from < b.from; });
  }
  Until sum;
  for (const Piece& p : out.pieces_) {
    out.before_.push_back(sum);
    sum.mj[static_cast<std::size_t>(p.source)] += p.mj;
    sum.covered_ns += (p.to - p.from).ns;
  }
  notes.add(mine);
  return out;
}

PowerCurve::Until PowerCurve::until(Time t) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), t, [](Time x, const Piece& p) { return x < p.from; });
  if (after == pieces_.begin()) return {};
  const auto i = static_cast<std::size_t>(after - pieces_.begin()) - 1;
  const Piece& p = pieces_[i];
  Until out = before_[i];
  const std::int64_t length = (p.to - p.from).ns;
  const std::int64_t part = std::min((t - p.from).ns, length);
  // In 128 bits: millijoules times nanoseconds.
  __extension__ using Wide = __int128;
  out.mj[static_cast<std::size_t>(p.source)] += static_cast<std::int64_t>(static_cast<Wide>(p.mj) * part / length);
  out.covered_ns += part;
  return out;
}

}  // namespace muster::account
