#include "trial/decay.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/math.h"
#include "base/prng.h"
#include "detect/detectors.h"
#include "model/state.h"

namespace muster::trial {
namespace {

constexpr std::uint32_t kSlots = 8;
constexpr int kDays = 21;
constexpr double kScrape_h = 1.0 / 6;
constexpr double kErrorsToFail = 400;  // one in so many errors of a worn part is the one that is not corrected
constexpr Duration kWeek = days(7);
constexpr std::array kFieldOf = {Field::ecc_sbe_total, Field::nvlink_errors_total, Field::ib_symbol_errors_total};

// Errors of one part, hour by hour.
struct Part {
  double usual_per_h = 0;
  double worn_from_h = -1;  // -1: never
  double doubles_every_h = 0;
  double mends_at_h = -1;  // -1: never
  double fails_at_h = -1;  // out of the blue; of worn parts it comes out of their errors
  double count = 0;
  bool failed = false;
  double failed_at_h = -1, warned_at_h = -1;
  int said_pct = 0;

  double rate(double h) const {
    if (worn_from_h < 0 || h < worn_from_h || (mends_at_h >= 0 && h >= mends_at_h)) return usual_per_h;
    const double worn = std::max(usual_per_h, 2.0) * det_exp(std::min(9.0, 0.6931 * (h - worn_from_h) / doubles_every_h));
    return std::min(worn, 20000.0);
  }
};

// Poisson; far from zero as a normal one, rounded.
double drawn(Prng& p, double mean) {
  if (mean > 30) return std::max(0.0, static_cast<double>(static_cast<std::int64_t>(mean + det_sqrt(mean) * p.normal() + 0.5)));
  const double floor = det_exp(-mean);
  double product = p.unit();
  double n = 0;
  while (product > floor) {
    product *= p.unit();
    ++n;
  }
  return n;
}

Part born(Prng& p) {
  Part x;
  x.usual_per_h = std::min(20.0, p.lognormal(-2.5, 1.5));  // most a few a day, some much more
  const double fate = p.unit();
  const double when = 24 + p.unit() * 24 * (kDays - 4);
  if (fate < 0.10) {  // wears out; every third of them stops doing so
    x.worn_from_h = when;
    x.doubles_every_h = 1 + 23 * p.unit() * p.unit();
    if (p.chance(1.0 / 3)) x.mends_at_h = when + x.doubles_every_h * (2 + 4 * p.unit());
  } else if (fate < 0.12) {
    x.fails_at_h = when;
  }
  return x;
}

class Fleet {
 public:
  Fleet(std::uint64_t seed, std::uint32_t nodes) : prng_(seed, "decay"), parts_(nodes * kSlots * kFieldOf.size()) {
    for (Part& x : parts_) x = born(prng_);
    Site site;
    site.name = "decay";
    site.gpus_per_node = kSlots;
    for (std::uint32_t i = 0; i < kSlots; ++i) site.gpu_pci.push_back("0000:" + std::to_string(10 + i) + ":00");
    for (std::uint32_t i = 0; i < nodes; ++i) site.nodes.push_back({"n" + std::to_string(i), i / 8, i / 16, 0, i});
    for (std::uint32_t r = 0; r <= (nodes - 1) / 8; ++r) site.racks.push_back("r" + std::to_string(r));
    now_.utc = Time{1'767'225'600'000'000'000};
    now_.steady = Time{5'000'000'000};
    tell(RunStarted{"bench", 1, 1, "d", now_});
    tell(SiteDeclared{std::move(site)});
    tell(PolicyApplied{default_policy(), "hash"});
    tell(TurnBegan{1, now_});
  }

  const std::vector<Part>& run() {
    detect::Detectors detectors(s_);
    const Now begin = now_;
    const auto steps = static_cast<int>(kDays * 24 / kScrape_h);
    for (int i = 1; i <= steps; ++i) {
      const double h = i * kScrape_h;
      now_.utc = begin.utc + from_seconds(h * 3600);
      now_.steady = begin.steady + from_seconds(h * 3600);
      samples_.clear();
      for (std::uint32_t n = 0; n < s_.nodes.size(); ++n) samples_.push_back({now_.utc, NodeId{n}, -1, Field::up, 1});
      for (std::size_t k = 0; k < parts_.size(); ++k) age(k, h);
      const auto said = detectors.look(samples_, {}, {}, {}, s_, now_.utc, now_.steady + s_.mono_offset);
      tell(TurnBegan{s_.turn + 1, now_});
      for (const Body& b : said) {
        if (const auto* o = std::get_if<FindingOpened>(&b)) note(o->finding, h);
        tell(b);
      }
    }
    return parts_;
  }

 private:
  void tell(Body body) { fold(s_, next_event(s_, "bench", now_.utc, std::move(body))); }
  void age(std::size_t k, double h) {
    Part& x = parts_[k];
    if (x.failed) return;  // taken out
    const double errors = drawn(prng_, x.rate(h) * kScrape_h);
    x.count += errors;
    const bool worn = x.worn_from_h >= 0 && h >= x.worn_from_h && (x.mends_at_h < 0 || h < x.mends_at_h);
    const bool fatal = worn && prng_.chance(1 - det_exp(-errors / kErrorsToFail));
    if (fatal || (x.fails_at_h >= 0 && h >= x.fails_at_h)) {
      x.failed = true;
      x.failed_at_h = h;
      return;
    }
    const std::size_t gpu = k / kFieldOf.size();
    samples_.push_back({now_.utc, NodeId{static_cast<std::uint32_t>(gpu / kSlots)}, static_cast<std::int16_t>(gpu % kSlots),
                        kFieldOf[k % kFieldOf.size()], x.count});
  }
  // A warning names a GPU and not which of its counters: it is that of the part of it that does worst.
  void note(const Finding& f, double h) {
    if (f.kind != FindingKind::failure_predicted) return;
    const std::size_t first = (f.node.v * kSlots + static_cast<std::size_t>(f.slot)) * kFieldOf.size();
    std::size_t worst = first;
    for (std::size_t k = first; k < first + kFieldOf.size(); ++k) {
      const auto above = [&](const Part& x) { return x.rate(h) / std::max(0.1, x.usual_per_h); };
      if (above(parts_[k]) > above(parts_[worst])) worst = k;
    }
    Part& x = parts_[worst];
    if (x.warned_at_h >= 0 || x.failed) return;
    x.warned_at_h = h;
    x.said_pct = f.code;
  }

  Prng prng_;
  std::vector<Part> parts_;
  State s_;
  Now now_;
  std::vector<Sample> samples_;
};

double percentile(std::vector<double> v, double p) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v[std::min(v.size() - 1, static_cast<std::size_t>(p * static_cast<double>(v.size())))];
}

}  // namespace

DecayReport bench_decay(std::uint64_t seed, std::uint32_t nodes) {
  Fleet fleet(seed, nodes);
  DecayReport r;
  r.days = kDays;
  std::vector<double> leads;
  for (const Part& x : fleet.run()) {
    ++r.parts;
    r.failures += x.failed ? 1 : 0;
    const bool announced = x.failed && x.worn_from_h >= 0;
    r.announced += announced ? 1 : 0;
    if (x.warned_at_h < 0) continue;
    // What would come of a warning in the last days is not known.
    if (!x.failed && x.warned_at_h + kWeek.seconds() / 3600 > kDays * 24) continue;
    const bool came = x.failed && x.failed_at_h - x.warned_at_h <= kWeek.seconds() / 3600;
    r.warned += announced ? 1 : 0;
    ++r.warnings;
    r.came += came ? 1 : 0;
    r.said_sum += static_cast<std::uint64_t>(x.said_pct);
    if (came) leads.push_back(x.failed_at_h - x.warned_at_h);
  }
  r.lead_h_p50 = percentile(leads, 0.5);
  r.lead_h_p10 = percentile(leads, 0.1);
  return r;
}

}  // namespace muster::trial
