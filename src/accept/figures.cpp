#include "accept/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "accept/metrics.h"
#include "base/series.h"
#include "base/text.h"

namespace muster::accept {
namespace {

using accepting::Measured;
using accepting::Reading;

// Values of a metric by turn.
using Turns = std::map<std::uint32_t, std::vector<double>>;

bool is_hot(AcceptTest t) { return t == AcceptTest::sweep_hot || t == AcceptTest::march_hot; }

// "gemm_bf16" held at 1484 MHz is also "bf16_per_mhz"; "sustained_bf16" keeps its name.
std::string per_mhz(std::string_view metric) {
  constexpr std::string_view kGemm = "gemm_";
  if (metric.substr(0, kGemm.size()) == kGemm) metric.remove_prefix(kGemm.size());
  return std::string(metric) + "_per_mhz";
}

// The better of the turns: a test is repeated where it was short, so that a passing disturbance is not held against a GPU.
double best(const Turns& turns, bool lower) {
  std::optional<double> out;
  for (const auto& [turn, values] : turns) {
    const double v = median_of(values);
    if (!out || (lower ? v < *out : v > *out)) out = v;
  }
  return out.value_or(0);
}

double spread_pct(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) squares += (v - mean) * (v - mean);
  return mean <= 0 ? 0 : 100 * std::sqrt(squares / static_cast<double>(values.size() - 1)) / mean;
}

constexpr std::size_t kWindowsMin = 3;  // that say something of a spread

void add_pairs(std::map<std::string, Turns>& all) {
  constexpr std::string_view kPair = "pair_gb_s:";
  Turns slowest;
  for (const auto& [name, turns] : all) {
    if (name.substr(0, kPair.size()) != kPair) continue;
    for (const auto& [turn, values] : turns) {
      auto& least = slowest[turn];
      const double v = median_of(values);
      if (least.empty() || v < least[0]) least.assign(1, v);
    }
  }
  if (!slowest.empty()) all["pair_gb_s"] = slowest;
}

Figures settled(const accepting::Gpu& g, std::map<std::string, Turns>& all) {
  add_pairs(all);
  Figures out;
  out.gpu = g.gpu;
  for (const auto& [name, turns] : all) {
    const Metric* known = find_metric(name);
    out.value[name] = best(turns, known != nullptr && known->better == Better::lower);
  }
  if (const auto it = all.find("sustained_bf16_per_mhz"); it != all.end()) {
    const auto& windows = it->second.rbegin()->second;
    if (windows.size() >= kWindowsMin) out.value["sustained_bf16_spread"] = spread_pct(windows);
  }
  if (g.sms > 0) out.value["sms"] = g.sms;
  if (g.memory_mib > 0) out.value["memory_mib"] = g.memory_mib;
  if (g.power_limit_w > 0) out.value["power_limit_w"] = g.power_limit_w;
  const auto power = out.value.find("power_w"), rate = out.value.find("sustained_bf16");
  if (power != out.value.end() && rate != out.value.end() && power->second > 0)
    out.value["bf16_per_w"] = rate->second / power->second;
  return out;
}

}  // namespace

Figures figures_of(const Acceptance& a, std::int32_t gpu) {
  for (Figures& f : figures_of(a)) {
    if (f.gpu == gpu) return std::move(f);
  }
  Figures none;
  none.gpu = gpu;
  return none;
}

std::vector<Figures> figures_of(const Acceptance& a) {
  std::map<std::int32_t, std::map<std::string, Turns>> all;
  for (const Measured& m : a.measured) {
    auto& mine = all[m.gpu];
    mine[is_hot(m.test) ? m.metric + "_hot" : m.metric][m.turn].push_back(m.value);
    if (m.mhz <= 0) continue;
    mine[per_mhz(m.metric)][m.turn].push_back(m.value / m.mhz);
    if (m.metric == "sustained_bf16") mine["mhz_at_cap"][m.turn].push_back(m.mhz);
  }
  std::vector<Figures> out;
  for (const accepting::Gpu& g : a.gpus) out.push_back(settled(g, all[g.gpu]));
  return out;
}

std::vector<Measured> from_readings(const Acceptance& a) {
  std::vector<Measured> out;
  for (const accepting::Gpu& g : a.gpus) {
    // Where products of bf16 were held, by turn: heat and power at the limit are read there.
    std::map<std::uint32_t, std::pair<double, double>> held;  // power, readings
    double power = -1, gpu_c = -1, memory_c = -1;
    for (const Reading& r : a.readings) {
      if (r.gpu != g.gpu) continue;
      power = std::max(power, r.power_w);
      gpu_c = std::max(gpu_c, r.gpu_c);
      memory_c = std::max(memory_c, r.memory_c);
      if (r.power_w <= 0) continue;
      for (const Measured& m : a.measured) {
        if (m.gpu != g.gpu || m.metric != "sustained_bf16" || r.at_s < m.begun_s || r.at_s > m.begun_s + m.took_s) continue;
        held[m.turn].first += r.power_w;
        held[m.turn].second += 1;
        break;
      }
    }
    const auto add = [&](AcceptTest test, std::uint32_t turn, const char* metric, double value) {
      if (value > 0) out.push_back({g.gpu, test, turn, metric, value, 0, 0, -1});
    };
    for (const auto& [turn, sum] : held) add(AcceptTest::sustained, turn, "power_w", sum.first / sum.second);
    add(AcceptTest::sustained, 0, "gpu_c_max", gpu_c);
    add(AcceptTest::sustained, 0, "memory_c_max", memory_c);
    add(AcceptTest::pulse, 0, "power_max_w", power);
  }
  return out;
}

Cohort cohort_of(const Acceptance& a, const accepting::Gpu& g) {
  Cohort c;
  c.model = g.model;
  c.power = g.power_limit_w > 0 ? render_number(std::round(g.power_limit_w)) + " W" : "";
  c.driver = a.host.driver;
  c.cublas = a.host.cublas;
  c.cooling = a.host.cooling;
  c.suite = fmt::format("{} {}", a.suite.version, a.suite.hash);
  return c;
}

std::string render(const Cohort& c) {
  std::string out = c.model.empty() ? "a GPU without a name" : c.model;
  if (!c.power.empty()) out += ", " + c.power;
  if (!c.driver.empty()) out += ", driver " + c.driver;
  if (!c.cublas.empty()) out += ", cuBLASLt " + c.cublas;
  if (!c.cooling.empty()) out += ", " + c.cooling;
  return out;
}

}  // namespace muster::accept
