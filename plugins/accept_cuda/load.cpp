// sustained: random data at full power until clock and heat are steady, with exact products in between. pulse: full load on
// and off, a tenth of a second each, every result verified, since what survives steady load may fail when the current jumps.
#include <time.h>

#include <algorithm>

#include "pipeline.cuh"
#include "random_load.cuh"

namespace muster_accept {
namespace {

constexpr double kTurn_s = 0.1, kWindowMost_s = 3, kWindowLeast_s = 1, kWarm_s = 0.3;
constexpr int kWindowsWanted = 3;  // to tell a spread
constexpr int kExactBetween = 2;   // products between two windows
constexpr double kPulse_s = 0.1;

// Turns of products until the time is over, two of them under way at any time.
Stretch hold(const Run& run, RandomLoad& load, double window_s, std::uint64_t* products) {
  const double one = std::max(load.matmul().seconds(), 1e-5);
  const auto a_turn = static_cast<std::uint32_t>(std::max(1.0, kTurn_s / one));
  const auto turns_most = static_cast<std::size_t>(4 * window_s / (a_turn * one)) + 4;
  Marks marks(run.gpu, turns_most + 1);
  Total total;
  *products = 0;
  const double begun = now_s();
  marks.put(load.stream());
  for (std::size_t turn = 0; turn < turns_most; ++turn) {
    for (std::uint32_t i = 0; i < a_turn; ++i) load.product();
    *products += a_turn;
    marks.put(load.stream());
    if (turn > 0) marks.event(turn).wait(run);  // the end of the turn before
    if (now_s() - begun + 1.5 * a_turn * one > window_s) break;
  }
  marks.event(marks.size() - 1).wait(run);
  for (std::size_t m = 1; m < marks.size(); ++m) total.add(marks.between(m - 1, m));
  return {total.seconds(), total.mhz()};
}

void tell_different(const Run& run, Number number, const std::vector<std::uint32_t>& rows) {
  const std::string of =
      std::string("of random ") + kNumberNames[static_cast<int>(number)] + " data differs from the first result";
  std::size_t told = 0;
  for (; told < rows.size() && told < kWrongMax; ++told) run.wrong(text("row %u", rows[told]), 1, "a product " + of);
  if (rows.size() > told) run.wrong("other rows", rows.size() - told, "a product " + of);
}

void sustain(Run& run, Number number, double begin_share, double share, double asked_s) {
  const double end = run.begun_s + asked_s * (begin_share + share);
  Pipeline exact(run, number);
  exact.prepare(mix(run.seed + 3));
  RandomLoad load(run, load_shape(run.gpu, number));
  load.prepare(mix(run.seed + 4));
  std::uint64_t products = 0;
  hold(run, load, kWarm_s, &products);
  const std::string metric = std::string("sustained_") + kNumberNames[static_cast<int>(number)];
  const double left_s = end - now_s();
  const int windows = std::max(1, std::max(static_cast<int>(left_s / kWindowMost_s),
                                           std::min(kWindowsWanted, static_cast<int>(left_s / kWindowLeast_s))));
  for (int i = 0; i < windows; ++i) {
    const double begun = now_s();
    // What is left of the time is shared out evenly.
    const Stretch s = hold(run, load, std::max(kWindowLeast_s, (end - begun) / (windows - i)), &products);
    run.held(metric, 1e-12 * load.matmul().shape.flop() * static_cast<double>(products) / s.seconds, begun, now_s() - begun,
             s.mhz);
    tell_different(run, number, load.compare());
    for (int k = 0; k < kExactBetween; ++k) exact.verified();
    tell_wrong(run, number, exact.collect());
    run.progress(begin_share + share * (i + 1) / windows);
    run.ask();
  }
  run.measured(metric + "_algorithm", load.matmul().algorithm());
}

void rest_until(const Run& run, double until) {
  for (double now = now_s(); now < until; now = now_s()) {
    const timespec nap = {0, static_cast<long>(1e9 * std::min(0.01, until - now))};
    nanosleep(&nap, nullptr);
    run.ask();
  }
}

}  // namespace

void run_sustained(Run& run) {
  const double asked_s = run.seconds > 0 ? run.seconds : 3;
  const bool eight_bits = run.gpu.properties.major * 10 + run.gpu.properties.minor >= 89;
  sustain(run, Number::bf16, 0, eight_bits ? 2.0 / 3 : 1, asked_s);
  if (eight_bits) sustain(run, Number::fp8, 2.0 / 3, 1.0 / 3, asked_s);
}

void run_pulse(Run& run) {
  Pipeline p(run, Number::bf16);
  p.prepare(mix(run.seed + 5));
  const int pulses = std::max(1, static_cast<int>(run.seconds / (2 * kPulse_s)));
  std::vector<Event> ends;
  for (int i = 0; i < 2; ++i) ends.emplace_back(Event::Kind::order);
  double begin = now_s();
  for (int pulse = 0; pulse < pulses; ++pulse) {
    std::uint32_t products = 0;
    // Two are under way when the last is launched.
    while (products == 0 || now_s() - begin < kPulse_s - 2 * p.matmul().seconds()) {
      if (products >= 2) ends[products % 2].wait(run);
      p.verified();
      ends[products % 2].record(p.stream());
      ++products;
    }
    tell_wrong(run, Number::bf16, p.collect());
    run.measured("pulse_products", products);
    run.progress((pulse + 1.0) / pulses);
    begin += 2 * kPulse_s;
    if (now_s() > begin) begin = now_s();
    if (pulse + 1 < pulses) rest_until(run, begin);
    run.ask();
  }
}

}  // namespace muster_accept
