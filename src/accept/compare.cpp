#include "accept/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "accept/limits.h"
#include "accept/metrics.h"
#include "base/text.h"
#include "model/calibration.h"
#include "predict/memory.h"
#include "predict/step.h"

namespace muster::accept {
namespace {

constexpr double kSides = 1.96;       // of a normal distribution: 95 % lie within
constexpr double kOfMedian = 1.2533;  // the error of a median over that of a mean
constexpr double kPrior = 3;          // the usual spread of cards counts as so many of them
constexpr std::size_t kFew = 8;       // GPUs of a side: with fewer the interval leans on the usual spread

// Of each GPU its newest run.
std::map<std::string, std::vector<double>> values_of(std::span<const Acceptance> recordings) {
  std::map<std::string, std::pair<Time, Figures>> newest;
  for (const Acceptance& a : recordings) {
    const std::vector<Figures> all = figures_of(a);
    for (std::size_t i = 0; i < a.gpus.size(); ++i) {
      // A GPU without a name is itself and no other.
      const std::string who =
          a.gpus[i].uuid.empty() ? fmt::format("{} {} {}", a.file, a.host.name, a.gpus[i].gpu) : a.gpus[i].uuid;
      const auto it = newest.find(who);
      if (it == newest.end() || it->second.first <= a.host.begun) newest[who] = {a.host.begun, all[i]};
    }
  }
  std::map<std::string, std::vector<double>> out;
  for (const auto& [who, run] : newest) {
    for (const auto& [metric, value] : run.second.value) out[metric].push_back(value);
  }
  return out;
}

double sheet(const GpuModel* g, std::string_view peak) {
  if (g == nullptr) return 0;
  if (peak == "hbm") return 1000 * g->hbm_tb_s;
  if (peak == "bf16") return g->bf16_tflops;
  if (peak == "fp8") return g->fp8_tflops;
  if (peak == "nvlink") return g->nvlink_gb_s;
  if (peak == "host") return g->host_gb_s;
  return peak == "tdp" ? g->tdp_w : 0;
}

std::optional<double> share(double value, double peak) { return peak > 0 ? std::optional(value / peak) : std::nullopt; }

// Of the logarithm of a median.
double error_of(const Spread& s, const Metric& m) {
  const double n = static_cast<double>(s.count), prior = std::max(m.floor, 0.001), own = s.median != 0 ? s.sigma / s.median : 0;
  return kOfMedian * std::sqrt((n * own * own + kPrior * prior * prior) / (n + kPrior) / n);
}

double middle(const std::map<std::string, std::vector<double>>& values, const char* metric) {
  const auto it = values.find(metric);
  return it == values.end() ? 0 : spread_of(it->second).median;
}

Compared row_of(const Metric& m, const std::vector<double>& a, const std::vector<double>& b) {
  const Spread x = spread_of(a), y = spread_of(b);
  Compared c;
  c.metric = m.name;
  c.count_a = x.count;
  c.count_b = y.count;
  c.a = x.median;
  c.b = y.median;
  c.ratio = m.better == Better::higher ? c.b / c.a : c.a / c.b;
  const double ex = error_of(x, m), ey = error_of(y, m), away = std::exp(kSides * std::sqrt(ex * ex + ey * ey));
  c.low = c.ratio / away;
  c.high = c.ratio * away;
  c.known = c.low > 1 || c.high < 1;
  return c;
}

// Rates of work: what a watt or a dollar buys of them can be asked.
bool is_rate(const Metric& m) {
  return m.better == Better::higher && (m.unit == "GB/s" || m.unit == "TFLOP/s" || m.unit == "TOP/s") &&
         m.name.find("_per_") == std::string_view::npos;
}

// Eight GPUs of a node hold a small model, and larger ones take more nodes.
TrainingPlan plan_for(const Transformer& t) {
  TrainingPlan p;
  const double params = t.params();
  p.gpus = params < 2e10 ? 8 : params < 1e11 ? 64 : 512;
  p.tp = params < 2e10 ? 2 : 8;
  p.pp = params < 1e11 ? 1 : 8;
  p.dp = p.gpus / (p.tp * p.pp);
  p.ep = t.experts > 0 ? std::min<std::uint32_t>(8, p.dp * p.tp) : 1;
  p.seq = 4096;
  p.global_batch = p.dp * p.pp * 4;
  p.shard = Shard::optimizer;
  p.sequence_parallel = true;
  p.recompute = Recompute::selective;
  return p;
}

double step_s(const Side& side, const std::map<std::string, std::vector<double>>& values, const Transformer& t,
              const TrainingPlan& plan) {
  const GpuModel& g = *side.model;
  Calibration c;
  c.gpu = g.name;
  const double products = middle(values, "sustained_bf16"), memory = middle(values, "hbm_read"),
               ring = middle(values, "nccl_busbw");
  if (products <= 0 || memory <= 0 || predict::memory_use(t, plan).all() > g.hbm_gb) return 0;
  c.gemm = std::min(1.0, products / g.bf16_tflops);
  c.attention = std::min(1.0, c.attention * c.gemm / Calibration{}.gemm);
  c.hbm = std::min(1.0, memory / (1000 * g.hbm_tb_s));
  if (ring > 0 && g.nvlink_gb_s > 0) c.nvlink = std::min(1.0, ring / g.nvlink_gb_s);
  const predict::Network network{8, g.nic_gb_s};
  return predict::step_time(g, c, network, t, plan).all_s();
}

void compare_steps(const Side& a, const Side& b, const std::map<std::string, std::vector<double>>& va,
                   const std::map<std::string, std::vector<double>>& vb, std::span<const Transformer> models, Comparison& out) {
  if (models.empty()) return;
  if (a.model == nullptr || b.model == nullptr) {
    out.notes.push_back("training steps are not predicted: the data sheet of a GPU is not known (--gpu-a, --gpu-b)");
    return;
  }
  for (const Transformer& t : models) {
    const TrainingPlan plan = plan_for(t);
    StepCompared s;
    s.model = t.name;
    s.plan = fmt::format("{} GPUs, tensor {}, pipeline {}, {} sequences of {}", plan.gpus, plan.tp, plan.pp, plan.global_batch,
                         plan.seq);
    s.a_s = step_s(a, va, t, plan);
    s.b_s = step_s(b, vb, t, plan);
    out.steps.push_back(std::move(s));
  }
  out.notes.push_back(
      "training steps are a model's word, fed with the measured rates of products and memory; network cards and what was not "
      "measured "
      "are by their data sheets");
}

void note(const Side& side, const std::map<std::string, std::vector<double>>& values, Comparison& out) {
  std::set<std::string> suites;
  std::size_t most = 0;
  for (const Acceptance& r : side.recordings) suites.insert(fmt::format("{} ({})", r.suite.version, name_of(r.suite.profile)));
  for (const auto& [metric, all] : values) most = std::max(most, all.size());
  if (suites.size() > 1)
    out.notes.push_back(
        fmt::format("{}: recordings of several suites: {}", printable(side.name), join({suites.begin(), suites.end()}, ", ")));
  if (most < kFew)
    out.notes.push_back(
        fmt::format("{}: {} GPUs: intervals lean on how much cards of a kind usually differ", printable(side.name), most));
}

}  // namespace

Comparison compare(const Side& a, const Side& b, std::span<const Transformer> models) {
  Comparison out;
  out.name_a = a.name;
  out.name_b = b.name;
  const auto va = values_of(a.recordings), vb = values_of(b.recordings);
  const double watts_a = middle(va, "power_w"), watts_b = middle(vb, "power_w");
  for (const Metric& m : metrics()) {
    const auto x = va.find(std::string(m.name)), y = vb.find(std::string(m.name));
    if (x == va.end() || y == vb.end() || m.unit.empty() || m.name == "march_share") continue;
    if (spread_of(x->second).median <= 0 || spread_of(y->second).median <= 0) continue;
    Compared c = row_of(m, x->second, y->second);
    if (is_rate(m) && watts_a > 0 && watts_b > 0) c.per_watt = c.ratio * watts_a / watts_b;
    if (is_rate(m) && a.price_per_h > 0 && b.price_per_h > 0) c.per_dollar = c.ratio * a.price_per_h / b.price_per_h;
    c.peak_a = share(c.a, sheet(a.model, m.peak));
    c.peak_b = share(c.b, sheet(b.model, m.peak));
    out.rows.push_back(std::move(c));
  }
  note(a, va, out);
  note(b, vb, out);
  const auto version = [](const Side& s) { return s.recordings.empty() ? std::string() : s.recordings.front().suite.version; };
  if (version(a) != version(b))
    out.notes.push_back(fmt::format("suite {} against suite {}: figures of different suites cannot be compared",
                                    printable(version(a)), printable(version(b))));
  if (watts_a > 0 && watts_b > 0) out.notes.push_back("per watt: by the power drawn under sustained products of bf16");
  compare_steps(a, b, va, vb, models, out);
  return out;
}

}  // namespace muster::accept
