// gemm_T: exact products in one number format, every result verified, at nearly the speed of products that nobody looks at. Both
// speeds are measured in turns of a tenth of a second, so that heat and clock are the same for both.
#include <algorithm>
#include <set>

#include "pipeline.cuh"

namespace muster_accept {
namespace {

constexpr double kWindow_s = 3, kWindowLeast_s = 1, kVerified_s = 0.09, kUnchecked_s = 0.03;
constexpr std::uint32_t kPlantsAtOnce = 512;  // in one product, at most
constexpr std::uint32_t kRepeats = 8;         // results that all have a repeating fault, the very first among them
constexpr double kClockWindow_s = 0.12, kClockIdle = 0.08, kClockNoticed = 0.975;

double rate_of(const Pipeline& p, std::uint64_t products, double seconds) {
  return seconds > 0 ? 1e-12 * p.matmul().shape.flop() * static_cast<double>(products) / seconds : 0;
}

std::string metric_of(const Pipeline& p, const char* ending) {
  return std::string("gemm_") + kNumberNames[static_cast<int>(p.number())] + ending;
}

struct Window {
  Total verified, unchecked;
  std::uint64_t verified_products = 0, unchecked_products = 0;
};

// Turns of verified and unchecked products until the time is over; never more than two pairs of turns are under way.
Window run_window(const Run& run, Pipeline& p, double window_s) {
  const std::uint32_t verified = p.products_in(kVerified_s), unchecked = p.products_in(kUnchecked_s);
  const double pair_s = p.matmul().seconds() * (verified + unchecked);
  const auto pairs_most = static_cast<std::size_t>(4 * window_s / pair_s) + 4;
  Marks marks(run.gpu, 2 * pairs_most + 1);
  const double begun = now_s();
  p.join();
  marks.put(p.stream());
  for (std::size_t pair = 0; pair < pairs_most; ++pair) {
    for (std::uint32_t i = 0; i < verified; ++i) p.verified();
    p.join();
    marks.put(p.stream());
    for (std::uint32_t i = 0; i < unchecked; ++i) p.unchecked();
    marks.put(p.stream());
    if (pair > 0) marks.event(2 * pair).wait(run);  // the end of the pair before this one
    if (now_s() - begun + 1.5 * pair_s > window_s) break;
  }
  marks.event(marks.size() - 1).wait(run);
  Window w;
  for (std::size_t m = 1; m < marks.size(); ++m) {
    (m % 2 == 1 ? w.verified : w.unchecked).add(marks.between(m - 1, m));
    (m % 2 == 1 ? w.verified_products : w.unchecked_products) += m % 2 == 1 ? verified : unchecked;
  }
  return w;
}

void measure(Run& run, Pipeline& p) {
  const double asked = run.seconds > 0 ? run.seconds : 1;
  const int windows = std::max(1, static_cast<int>(asked / kWindow_s));
  std::uint64_t outputs = 0;
  for (int i = 0; i < windows; ++i) {
    p.prepare(mix(run.seed) + static_cast<std::uint64_t>(i));
    p.verified();  // not measured: the first after new data
    const double begun = now_s();
    // What is left of the time is shared out evenly.
    const Window w = run_window(run, p, std::max(kWindowLeast_s, (run.begun_s + asked - begun) / (windows - i)));
    const double took = now_s() - begun;
    const Checked checked = p.collect();
    tell_wrong(run, p.number(), checked);
    outputs += checked.rows * p.kind().columns;
    run.held(metric_of(p, ""), rate_of(p, w.verified_products, w.verified.seconds()), begun, took, w.verified.mhz());
    const double unchecked = rate_of(p, w.unchecked_products, w.unchecked.seconds());
    run.measured(metric_of(p, "_unchecked"), unchecked);
    if (w.unchecked.mhz() > 0) run.measured(metric_of(p, "_unchecked_per_mhz"), unchecked / w.unchecked.mhz());
    run.progress((i + 1.0) / windows);
    run.ask();
  }
  run.measured(metric_of(p, "_verified"), static_cast<double>(outputs));
  run.measured(metric_of(p, "_algorithm"), p.matmul().algorithm());
}

// Which of the faults of a product are among the wrong rows, and whether place and extent are right too.
void count_found(const Planter& planter, Fault fault, std::uint32_t product, const Checked& checked, std::uint64_t* found,
                 std::uint64_t* in_place) {
  std::map<std::uint32_t, const WrongRow*> by_row;
  for (const WrongRow& w : checked.wrong) {
    if (w.found.product == product) by_row[w.found.row] = &w;
  }
  for (const Flip& f : planter.flips()) {
    const auto it = by_row.find(f.row);
    if (it == by_row.end()) continue;
    ++*found;
    const WrongRow& w = *it->second;
    *in_place += fault == Fault::row ? w.columns > 1 : w.columns == 1 && w.column == f.column;
  }
}

// Faults in results, some hundreds in each product, all in different rows.
void plant_in_results(Run& run, Pipeline& p) {
  const Fault fault = run.plant.fault;
  Planter planter(run, fault, p.kind());
  std::uint64_t planted = 0, found = 0, in_place = 0, strange = 0;
  bool told = false;
  const auto one = [&](std::uint32_t turn, std::uint32_t count, std::uint64_t* noticed, std::uint64_t* placed) {
    planter.plan(turn, count);
    const std::uint32_t product = p.next();
    p.verified(&planter);
    const Checked checked = p.collect(kKeptRows);
    count_found(planter, fault, product, checked, noticed, placed);
    strange += checked.bad > count ? checked.bad - count : 0;
    if (!told) tell_wrong(run, p.number(), checked);
    told = true;
  };
  for (std::uint32_t turn = 0; planted < run.plant.count; ++turn) {
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(kPlantsAtOnce, run.plant.count - planted));
    if (fault != Fault::repeat) {
      one(turn, count, &found, &in_place);
    } else {
      // Other data for each lot, and then the same faults in every result: found if each of the results shows all of them.
      p.prepare(mix(run.seed) + 1 + turn);
      std::uint64_t least_found = count, least_placed = count;
      for (std::uint32_t repeat = 0; repeat < kRepeats; ++repeat) {
        std::uint64_t noticed = 0, placed = 0;
        one(turn, count, &noticed, &placed);
        least_found = std::min(least_found, noticed);
        least_placed = std::min(least_placed, placed);
      }
      found += least_found;
      in_place += least_placed;
    }
    planted += count;
    run.progress(static_cast<double>(planted) / static_cast<double>(run.plant.count));
    run.ask();
  }
  run.tell_planted(planted, found, in_place);
  run.measured("found_beyond", static_cast<double>(strange));
}

// Stretches in which the GPU is idle now and then, while its clock runs on: the rate per MHz of those is lower than of the
// others.
void plant_in_clock(Run& run, Pipeline& p) {
  const std::uint64_t count = std::min<std::uint64_t>(run.plant.count, 200), windows = 2 * count;
  const std::uint32_t products = p.products_in(kClockWindow_s), between = std::max(1u, products / 8);
  std::vector<double> per_mhz, sound;
  std::vector<bool> slow;
  for (std::uint64_t i = 0; i < windows; ++i) {
    // One of each two windows, which of them is drawn.
    const std::uint64_t draw = mix(run.seed ^ (i / 2)) & 1;
    const bool idle = i % 2 == draw;
    Marks marks(run.gpu, 2);
    marks.put(p.stream());
    for (std::uint32_t k = 0; k < products; ++k) {
      p.verified();
      if (idle && k % between == 0) p.idle(p.matmul().seconds() * between * kClockIdle);
    }
    p.join();
    marks.put(p.stream());
    tell_wrong(run, p.number(), p.collect());
    const Stretch s = marks.between(0, 1);
    per_mhz.push_back(s.mhz > 0 && s.seconds > 0 ? rate_of(p, products, s.seconds) / s.mhz : 0);
    slow.push_back(idle);
    if (!idle) sound.push_back(per_mhz.back());
    run.progress(static_cast<double>(i + 1) / static_cast<double>(windows));
    run.ask();
  }
  const double usual = median_of(sound);
  std::uint64_t found = 0, strange = 0;
  for (std::size_t i = 0; i < windows; ++i) {
    const bool noticed = per_mhz[i] > 0 && per_mhz[i] < kClockNoticed * usual;
    (slow[i] ? found : strange) += noticed ? 1 : 0;
  }
  run.tell_planted(count, found, found);  // the window is the place
  run.measured("found_beyond", static_cast<double>(strange));
}

}  // namespace

void run_gemm(Run& run, Number number) {
  Pipeline p(run, number);
  p.prepare(mix(run.seed));
  if (is_of_products(run.plant.fault)) {
    plant_in_results(run, p);
  } else if (run.plant.fault == Fault::clock) {
    plant_in_clock(run, p);
  } else {
    measure(run, p);
  }
}

}  // namespace muster_accept
