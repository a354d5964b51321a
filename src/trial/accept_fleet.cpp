#include "trial/accept_fleet.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "accept/counters.h"
#include "accept/plan.h"

namespace muster::trial {
namespace {

using T = AcceptTest;

constexpr double kMhz = 1484;         // of the SMs at the power limit
constexpr double kWindow_s = 3;       // over which a rate is held
constexpr double kSweep_s = 0.0086;   // one pass over all SMs
constexpr double kPass_s = 0.067;     // one pattern over all memory
constexpr double kReach = 0.992;      // of the memory, by a march
constexpr double kVerified_s = 44e9;  // outputs of products verified in a second
constexpr double kSmSpread = 0.001;   // of the slowest SM over the median one

struct Held {
  T test;
  const char* metric;
  double rate;
  std::size_t unit;  // index into Card::unit
};
constexpr Held kHeld[] = {{T::gemm_bf16, "gemm_bf16", 722, 0},     {T::gemm_fp16, "gemm_fp16", 700, 1},
                          {T::gemm_fp8, "gemm_fp8", 1190, 2},      {T::gemm_tf32, "gemm_tf32", 345, 3},
                          {T::gemm_int8, "gemm_int8", 1280, 4},    {T::sustained, "sustained_bf16", 685, 5},
                          {T::sustained, "sustained_fp8", 1224, 2}};

struct Memory {
  T test;
  const char* metric;
  double rate;
  std::size_t memory;  // index into Card::memory
};
constexpr Memory kMemory[] = {{T::hbm, "hbm_read", 4693, 0},          {T::hbm, "hbm_write", 4653, 1},
                              {T::hbm, "hbm_copy", 4127, 2},          {T::march, "march_write", 4364, 3},
                              {T::march, "march_verify", 4600, 4},    {T::march_hot, "march_write", 4360, 3},
                              {T::march_hot, "march_verify", 4590, 4}};

struct Plain {
  T test;
  const char* metric;
  double value;
};
constexpr Plain kPlain[] = {{T::link, "link_gen", 5},          {T::link, "link_width", 16},
                            {T::sweep, "sweep_sms", 132},      {T::sweep_hot, "sweep_sms", 132},
                            {T::march, "march_share", 99.2},   {T::march_hot, "march_share", 99.2},
                            {T::pulse, "pulse_products", 4100}};
// Of the sweep and of the one while hot.
constexpr std::pair<const char*, double> kSweep[] = {{"sweep_tensor", 1.004}, {"sweep_fp64", 1.002},    {"sweep_fp32", 1.003},
                                                     {"sweep_int", 1.003},    {"sweep_special", 1.003}, {"sweep_shared", 1.005}};
constexpr Plain kLink[] = {{T::link, "h2d_gb_s", 55.5}, {T::link, "d2h_gb_s", 55.3}, {T::peers, "pair_gb_s:0>1", 388}};

// What cards of a kind differ by is in half common to all formats.
constexpr double kHalf = 0.70710678118654752;

bool is_gemm(T test) { return test >= T::gemm_bf16 && test <= T::gemm_int8; }

// At least one of so many, each with that chance.
bool any_of(double chance, double many, Prng& draw) { return draw.chance(-std::expm1(-chance * many)); }

std::string render(const Planted& p) { return fmt::format("{}/{}/{}/{}", name_of(p.slow), p.size, name_of(p.lie), p.chance); }

double grown(const Planted& planted, std::string_view counter, double hours, Prng& draw) {
  const bool grows = (planted.lie == Lie::uncorrected && counter == "ecc_uncorrected") ||
                     (planted.lie == Lie::corrected && counter == "ecc_corrected");
  double count = 0;
  for (double at = grows ? draw.exponential(1 / planted.chance) : hours; at < hours; at += draw.exponential(1 / planted.chance))
    ++count;
  return count;
}

}  // namespace

std::array<AcceptFleet::Card, AcceptFleet::kPerNode> AcceptFleet::cards(const TestedNode& of) const {
  Prng draw(seed_, fmt::format("accept/cards/{}/{}", of.delivery, of.node));
  std::array<Card, kPerNode> out;
  for (Card& c : out) {
    const double unit = draw.normal(), memory = draw.normal();
    for (double& x : c.unit) x = 1 + spread_.unit * kHalf * (unit + draw.normal());
    for (double& x : c.memory) x = 1 + spread_.memory * kHalf * (memory + draw.normal());
    c.clock = 1 + spread_.clock * draw.normal();
    for (double& x : c.link) x = 1 + spread_.link * draw.normal();
  }
  return out;
}

void AcceptFleet::measure(const Bench& b, AcceptTest test, double seconds, std::uint32_t turn) const {
  Prng& draw = b.draw;
  const auto slower = [&](SlowPart part) { return b.planted.slow == part ? 1 - b.planted.size : 1; };
  const auto add = [&](const char* metric, double value, double mhz = -1) {
    b.a.measured.push_back({b.gpu, test, turn, metric, value, 0, mhz > 0 ? kWindow_s : 0, mhz});
  };
  const double of_unit = spread_.unit_window, of_raw = spread_.raw_window;
  const double of_clock = std::sqrt(std::max(0.0, of_raw * of_raw - of_unit * of_unit));
  const auto windows = static_cast<std::size_t>(std::max(1.0, std::floor(seconds / kWindow_s)));
  for (const Held& h : kHeld) {
    if (h.test != test) continue;
    for (std::size_t k = 0; k < windows; ++k) {
      const double mhz = kMhz * b.card.clock * slower(SlowPart::clock) * (1 + of_clock * draw.normal());
      const double unit = b.card.unit[h.unit] * slower(SlowPart::unit) * (1 + of_unit * draw.normal());
      add(h.metric, h.rate / kMhz * unit * mhz, mhz);
    }
    if (is_gemm(test))
      b.a.measured.push_back({b.gpu, test, turn, std::string(h.metric) + "_verified", kVerified_s * seconds, 0, 0, -1});
  }
  const auto around = [&](double value) { return value * (1 + spread_.memory_run * draw.normal()); };
  for (const Memory& m : kMemory) {
    if (m.test == test) add(m.metric, around(m.rate * b.card.memory[m.memory] * slower(SlowPart::memory)));
  }
  for (std::size_t k = 0; k < std::size(kLink); ++k) {
    if (kLink[k].test == test) add(kLink[k].metric, around(kLink[k].value * b.card.link[k]));
  }
  for (const Plain& p : kPlain) {
    if (p.test == test) add(p.metric, p.value);
  }
  for (const auto& [metric, value] : kSweep) {
    if (test == T::sweep || test == T::sweep_hot) add(metric, value + kSmSpread * std::abs(draw.normal()));
  }
  lie(b, test, seconds, turn);
}

void AcceptFleet::lie(const Bench& b, AcceptTest test, double seconds, std::uint32_t turn) {
  const auto wrong = [&](const char* place) { b.a.wrong.push_back({b.gpu, test, turn, place, 1, "planted"}); };
  const bool sweep = test == T::sweep || test == T::sweep_hot, march = test == T::march || test == T::march_hot;
  const double chance = b.planted.chance;
  switch (b.planted.lie) {
    case Lie::output:
      if (is_gemm(test) && any_of(chance, kVerified_s * seconds, b.draw)) wrong("row 4711");
      break;
    case Lie::repeating:
      if (is_gemm(test)) wrong("row 4711");
      break;
    case Lie::sm:
      if (sweep) wrong("SM 17");
      break;
    case Lie::sm_at_times:
      if (sweep && any_of(chance, seconds / kSweep_s, b.draw)) wrong("SM 17");
      break;
    case Lie::address:
      if (march && b.reached) wrong("address 0x1f00000040");
      break;
    case Lie::address_at_times:
      if (march && b.reached && any_of(chance, seconds / kPass_s, b.draw)) wrong("address 0x1f00000040");
      break;
    case Lie::none:
    case Lie::uncorrected:
    case Lie::corrected: break;
  }
}

Acceptance AcceptFleet::record(const TestedNode& of, AcceptProfile profile, const Planted& planted) const {
  Acceptance a;
  Prng draw(seed_, fmt::format("accept/run/{}/{}/{}/{}/{}", of.delivery, of.node, of.run, name_of(profile), render(planted)));
  const std::array<Card, kPerNode> mine = cards(of);
  const std::vector<accept::Step> plan = accept::plan_of(profile);
  a.suite = accept::suite_of(profile);
  a.host.name = fmt::format("node{:04}", of.node + 1);
  a.host.begun = Time{1'793'000'000'000'000'000} + seconds(of.run);
  a.host.driver = "580.159.04";
  a.host.cublas = "13.1.0";
  a.host.cooling = "air";
  a.measured.reserve(kPerNode * 64);
  const double hours = accept::seconds_of(plan) / 3600;
  for (std::int32_t g = 0; g < static_cast<std::int32_t>(kPerNode); ++g) {
    accepting::Gpu gpu;
    gpu.gpu = g;
    gpu.uuid = fmt::format("GPU-{}-{}-{}", of.delivery, of.node, g);
    gpu.model = "NVIDIA H200";
    gpu.sms = 132;
    gpu.memory_mib = 143771;
    gpu.power_limit_w = gpu.power_default_w = 700;
    gpu.link_gen_max = 5;
    gpu.link_width_max = 16;
    a.gpus.push_back(std::move(gpu));
    const Bench bench{a, g, mine[static_cast<std::size_t>(g)], planted, draw, draw.chance(kReach)};
    double at = 0;
    for (const accept::Step& step : plan) {
      if (!step.required) continue;
      a.ran.push_back({g, step.test, 0, TestState::done, {}, at, step.seconds});
      measure(bench, step.test, step.seconds, 0);
      at += step.seconds;
    }
    for (const accept::CounterRule& rule : accept::counter_rules())
      a.counters.push_back({g, std::string(rule.name), 0, grown(planted, rule.name, hours, draw)});
  }
  a.end.push_back({accept::seconds_of(plan), false, 0, 0});
  return a;
}

void AcceptFleet::repeat(Acceptance& a, const std::vector<std::pair<std::int32_t, AcceptTest>>& which, const TestedNode& of,
                         const Planted& planted) const {
  Prng draw(seed_,
            fmt::format("accept/again/{}/{}/{}/{}/{}", of.delivery, of.node, of.run, name_of(a.suite.profile), render(planted)));
  const std::array<Card, kPerNode> mine = cards(of);
  for (const auto& [gpu, test] : which) {
    std::uint32_t turn = 0;
    for (const accepting::Ran& r : a.ran) {
      if (r.gpu == gpu && r.test == test) turn = std::max(turn, r.turn + 1);
    }
    for (const accept::Step& step : accept::plan_of(a.suite.profile)) {
      if (step.test != test) continue;
      a.ran.push_back({gpu, test, turn, TestState::done, {}, a.end.back().at_s, step.seconds});
      measure({a, gpu, mine[static_cast<std::size_t>(gpu)], planted, draw, false}, test, step.seconds, turn);
    }
  }
}

}  // namespace muster::trial
