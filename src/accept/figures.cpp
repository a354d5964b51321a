#include "accept/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <optional>

#include "accept/metrics.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/series.h"
#include "base/text.h"

namespace muster::accept {
namespace {

using accepting::Measured;
using accepting::Reading;

// A value of a figure, as it was measured or as it follows from what was.
struct Told {
  std::string_view metric;
  std::uint32_t turn = 0;
  double value = 0;
};

bool is_hot(AcceptTest t) { return t == AcceptTest::sweep_hot || t == AcceptTest::march_hot; }

// "gemm_bf16" held at 1484 MHz is also "bf16_per_mhz"; "sustained_bf16" keeps its name.
std::string per_mhz(std::string_view metric) {
  constexpr std::string_view kGemm = "gemm_";
  if (metric.substr(0, kGemm.size()) == kGemm) metric.remove_prefix(kGemm.size());
  return std::string(metric) + "_per_mhz";
}

// What a recording tells of each of its GPUs.
class Tellings {
 public:
  explicit Tellings(const Acceptance& a) {
    for (const Measured& m : a.measured) {
      if (m.value == -1) continue;  // not known
      auto& mine = by_gpu_[m.gpu];
      mine.push_back({is_hot(m.test) ? named(m.metric + "_hot") : m.metric, m.turn, m.value});
      if (m.mhz <= 0) continue;
      mine.push_back({named(per_mhz(m.metric)), m.turn, m.value / m.mhz});
      if (m.metric == "sustained_bf16") mine.push_back({"mhz_at_cap", m.turn, m.mhz});
    }
    for (auto& [gpu, mine] : by_gpu_) {
      std::stable_sort(mine.begin(), mine.end(), [](const Told& x, const Told& y) {
        const int names = x.metric.compare(y.metric);
        return names != 0 ? names < 0 : x.turn < y.turn;
      });
    }
  }
  // By metric, then turn, then as it was recorded.
  std::span<const Told> of(std::int32_t gpu) const {
    const auto it = by_gpu_.find(gpu);
    return it == by_gpu_.end() ? std::span<const Told>() : it->second;
  }

 private:
  std::string_view named(std::string name) { return names_.emplace_back(std::move(name)); }

  std::map<std::int32_t, std::vector<Told>> by_gpu_;
  std::deque<std::string> names_;  // that no row has
};

// Takes from the front what is like its first.
template <class T>
std::span<const Told> take_alike(std::span<const Told>& all, T Told::*in) {
  const T& first = all.front().*in;
  std::size_t n = 1;
  while (n < all.size() && all[n].*in == first) ++n;
  const auto out = all.first(n);
  all = all.subspan(n);
  return out;
}

double middle(std::span<const Told> alike) {
  if (alike.size() == 1) return alike.front().value;
  std::vector<double> values;
  for (const Told& t : alike) values.push_back(t.value);
  return median_of(std::move(values));
}

double spread_pct(std::span<const Told> alike) {
  const auto n = static_cast<double>(alike.size());
  double mean = 0, squares = 0;
  for (const Told& t : alike) mean += t.value / n;
  for (const Told& t : alike) squares += (t.value - mean) * (t.value - mean);
  return mean <= 0 ? 0 : 100 * std::sqrt(squares / (n - 1)) / mean;
}

constexpr std::size_t kWindowsMin = 3;  // that say something of a spread

// The better of the turns: a test is repeated where it was short, so that a passing disturbance is not held against a GPU.
class Best {
 public:
  explicit Best(const Metric* m)
      : lower_(m != nullptr && m->better == Better::lower), best_((lower_ ? 1 : -1) * std::numeric_limits<double>::infinity()) {}
  void add(double v) { best_ = lower_ ? std::min(v, best_) : std::max(v, best_); }
  double value() const { return best_; }

 private:
  bool lower_;
  double best_;
};

MetricValues values_of(const accepting::Gpu& g, std::span<const Told> told) {
  constexpr std::string_view kPair = "pair_gb_s:";
  MetricValues out;
  std::map<std::uint32_t, double> slowest;  // of the pairs, by turn
  std::optional<double> spread;
  while (!told.empty()) {
    std::span<const Told> of_metric = take_alike(told, &Told::metric), turn;
    const std::string_view metric = of_metric.front().metric;
    Best best(find_metric(metric));
    while (!of_metric.empty()) {
      turn = take_alike(of_metric, &Told::turn);
      const double v = middle(turn);
      best.add(v);
      if (metric.starts_with(kPair)) {
        double& least = slowest.try_emplace(turn.front().turn, v).first->second;
        least = std::min(least, v);
      }
    }
    out.set(metric, best.value());
    if (metric == "sustained_bf16_per_mhz" && turn.size() >= kWindowsMin) spread = spread_pct(turn);
  }
  if (!slowest.empty()) {
    Best best(find_metric("pair_gb_s"));
    for (const auto& [turn, v] : slowest) best.add(v);
    out.set("pair_gb_s", best.value());
  }
  if (spread) out.set("sustained_bf16_spread", *spread);
  if (g.sms > 0) out.set("sms", g.sms);
  if (g.memory_mib > 0) out.set("memory_mib", g.memory_mib);
  if (g.power_limit_w > 0) out.set("power_limit_w", g.power_limit_w);
  const double *power = out.find("power_w"), *rate = out.find("sustained_bf16");
  if (power != nullptr && rate != nullptr && *power > 0) out.set("bf16_per_w", *rate / *power);
  return out;
}

}  // namespace

std::size_t MetricValues::place_of(std::string_view metric) const {
  if (entries_.empty() || entries_.back().metric < metric) return entries_.size();  // most are set in the order of their names
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), metric,
                                   [](const Entry& e, std::string_view name) { return e.metric < name; });
  return static_cast<std::size_t>(at - entries_.begin());
}

void MetricValues::set(std::string_view metric, double value) {
  const std::size_t at = place_of(metric);
  if (at < entries_.size() && entries_[at].metric == metric)
    entries_[at].value = value;
  else
    entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(at), {std::string(metric), value});
}

const double* MetricValues::find(std::string_view metric) const {
  const std::size_t at = place_of(metric);
  return at < entries_.size() && entries_[at].metric == metric ? &entries_[at].value : nullptr;
}

double MetricValues::at(std::string_view metric) const {
  const double* v = find(metric);
  MUSTER_CHECK(v != nullptr);
  return *v;
}

Figures figures_of(const Acceptance& a, std::int32_t gpu) {
  for (Figures& f : figures_of(a)) {
    if (f.gpu == gpu) return std::move(f);
  }
  Figures none;
  none.gpu = gpu;
  return none;
}

std::vector<Figures> figures_of(const Acceptance& a) {
  const Tellings told(a);
  std::vector<Figures> out;
  for (const accepting::Gpu& g : a.gpus) out.push_back({g.gpu, cohort_of(a, g), values_of(g, told.of(g.gpu))});
  return out;
}

std::vector<NodeFigures> figures_of(std::span<const Acceptance> recordings) {
  std::vector<NodeFigures> out;
  out.reserve(recordings.size());
  for (const Acceptance& a : recordings) out.emplace_back(a);
  return out;
}

// NVML's reasons for a clock below its highest that no healthy GPU gives under load: hardware slowdown, by heat, by the power
// brake.
constexpr std::uint64_t kSlowedByHardware = 0x8 | 0x40 | 0x80;

std::vector<Measured> from_readings(const Acceptance& a) {
  std::vector<Measured> out;
  for (const accepting::Gpu& g : a.gpus) {
    // Where products of bf16 were held, by turn: heat and power at the limit are read there.
    std::map<std::uint32_t, std::pair<double, double>> held;  // power, readings
    double power = -1, gpu_c = -1, memory_c = -1, slowed = 0, readings = 0;
    for (const Reading& r : a.readings) {
      if (r.gpu != g.gpu) continue;
      ++readings;
      slowed += (r.reasons & kSlowedByHardware) != 0 ? 1 : 0;
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
    if (readings > 0) add(AcceptTest::sustained, 0, "slowed_pct", 100 * slowed / readings);
  }
  return out;
}

namespace {

// Algorithms give different rates: of every product, in the order in which they were told.
std::string algorithms_of(const Acceptance& a, std::int32_t gpu) {
  std::string all;
  for (const Measured& m : a.measured) {
    if (m.gpu == gpu && m.turn == 0 && m.metric.ends_with("_algorithm")) all += fmt::format("{} {:.0f} ", m.metric, m.value);
  }
  return all.empty() ? all : fmt::format("{:04x}", xxh64(all) & 0xffff);
}

}  // namespace

Cohort cohort_of(const Acceptance& a, const accepting::Gpu& g) {
  Cohort c;
  c.model = g.model;
  c.part = g.part;
  c.algorithms = algorithms_of(a, g.gpu);
  c.power = g.power_limit_w > 0 ? render_number(std::round(g.power_limit_w)) + " W" : "";
  c.driver = a.host.driver;
  c.cublas = a.host.cublas;
  c.cooling = a.host.cooling;
  c.suite = fmt::format("{} {}", a.suite.version, a.suite.hash);
  return c;
}

std::string render(const Cohort& c) {
  std::string out = c.model.empty() ? "a GPU without a name" : c.model;
  if (!c.part.empty()) out += fmt::format(" ({})", c.part);
  if (!c.power.empty()) out += ", " + c.power;
  if (!c.driver.empty()) out += ", driver " + c.driver;
  if (!c.cublas.empty()) out += ", cuBLASLt " + c.cublas;
  if (!c.algorithms.empty()) out += ", algorithms " + c.algorithms;
  if (!c.cooling.empty()) out += ", " + c.cooling;
  return out;
}

}  // namespace muster::accept
