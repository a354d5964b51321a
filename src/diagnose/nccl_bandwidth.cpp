#include "diagnose/nccl_bandwidth.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/series.h"
#include "base/text.h"
#include "diagnose/nccl_sizes.h"
#include "model/fields.h"

namespace muster::diagnose {
namespace {

constexpr double kLeastMargin = 1.15;  // no difference smaller than this is called slow, however well a prediction fits elsewhere

// The cards of most of what was measured with such GPUs on that network, or else those that are usual.
double usual_nic(const GpuModel& gpu, const std::string& network, std::span<const CollectiveRow> rows) {
  std::map<double, std::size_t> seen;
  for (const CollectiveRow& r : rows) {
    if (r.setup.gpu == gpu.name && r.setup.network == network && r.setup.nic_gb_s > 0) ++seen[r.setup.nic_gb_s];
  }
  const auto most = std::max_element(seen.begin(), seen.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
  return most == seen.end() ? gpu.nic_gb_s : most->first;
}

// What the run says of where it was, and what is assumed beyond that.
CollectiveSetup setup_of(Collective op, const GpuModel& gpu, std::uint32_t ranks, std::uint32_t per_node,
                         const NcclYardstick& y) {
  const NcclHint& hint = y.hint;
  CollectiveSetup s;
  s.op = op;
  s.gpu = gpu.name;
  s.gpus = ranks;
  const std::uint32_t node = per_node > 0 ? per_node : hint.gpus_per_node > 0 ? hint.gpus_per_node : gpu.domain;
  s.together = std::min(ranks, gpu.domain > 8 ? std::max(node, gpu.domain) : node);
  if (s.together < ranks) {
    s.network = hint.network.empty() ? "infiniband" : hint.network;
    s.nic_gb_s = hint.nic_gb_s > 0 ? hint.nic_gb_s : usual_nic(gpu, s.network, y.rows);
  }
  return s;
}

// What the smallest take was measured for few operations, and that of all-to-all grows with the peers: without a measurement of
// the same kind only what is far out is called slow.
double small_margin(const predict::CollectivePrediction& p, std::string_view what) {
  return p.calibrated ? 1 : what == name_of(Collective::all_to_all) ? 8 : 2;
}

double margin(const predict::CollectivePrediction& p) { return std::max(kLeastMargin, p.s > 0 ? p.high_s / p.s : kLeastMargin); }

// Large is where the links carry most of what they can; small is where the start is nearly all.
void conclude(JudgedRun& run, double most_bus, double least_s) {
  std::vector<double> large, small, large_over, small_over, between, between_over;
  for (JudgedSize& z : run.sizes) {
    if (!z.expected || z.time_us <= 0) continue;
    const bool carries = z.expected->bus_gb_s >= 0.7 * most_bus;
    z.slow_above_us = z.expected->s * 1e6 * margin(*z.expected) * (carries ? 1 : small_margin(*z.expected, run.what));
    const double over = z.time_us / z.slow_above_us;
    z.slow = over > 1;
    if (carries) {
      large.push_back(z.share());
      large_over.push_back(over);
    } else if (z.expected->s <= 1.5 * least_s) {
      small.push_back(z.share());
      small_over.push_back(over);
    } else {
      between.push_back(z.share());
      between_over.push_back(over);
    }
  }
  if (large.empty() && small.empty()) {  // sizes that are neither, and nothing else: bandwidth counts
    large = std::move(between);
    large_over = std::move(between_over);
  }
  run.large_share = median_of(large);
  run.small_share = median_of(small);
  if (large.empty() && small.empty()) return;
  const bool slow_large = median_of(large_over) > 1, slow_small = median_of(small_over) > 1;
  run.verdict = slow_large && slow_small ? BusVerdict::slow
                : slow_large             ? BusVerdict::slow_large
                : slow_small             ? BusVerdict::slow_small
                                         : BusVerdict::as_expected;
}

std::string device_of(const JudgedRun& run) {
  const std::string gpus = run.ranks > 0     ? fmt::format(" over {} {}", run.ranks, run.ranks == 1 ? "GPU" : "GPUs")
                           : run.gpu.empty() ? ""
                                             : " over GPUs";  // how many is not told
  return fmt::format("{}{}{}{}", run.what, gpus, run.gpu.empty() ? "" : " " + run.gpu,
                     run.nodes > 1 ? fmt::format(" of {} nodes", run.nodes) : "");
}

const JudgedSize* worst(const JudgedRun& run, bool large) {
  const JudgedSize* out = nullptr;
  for (const JudgedSize& z : run.sizes) {
    if (!z.slow) continue;
    if (out == nullptr || (large ? z.bytes >= out->bytes : z.bytes <= out->bytes)) out = &z;
  }
  return out;
}

Finding wrong_values(const JudgedRun& run) {
  Finding f;
  f.title = fmt::format("{} gave {:.0f} wrong values", device_of(run), run.wrong);
  f.evidence.push_back(fmt::format("{}:{}: the column #wrong is not zero", run.file, run.line));
  f.expected = "0 wrong values";
  f.achieved = fmt::format("{:.0f} wrong values", run.wrong);
  f.remedy =
      "take the node out of service and test its GPUs and links one by one (dcgmi diag -r 3): results that are wrong spoil "
      "a training run without a sign";
  f.verify = "the same test with -c 1 on each node alone: #wrong is 0 everywhere but on the faulty one";
  f.confidence = Confidence::high;
  return f;
}

Finding slow_run(const JudgedRun& run) {
  const bool large = run.verdict != BusVerdict::slow_small;
  Finding f;
  const JudgedSize* z = worst(run, large);
  if (large) {
    f.title = fmt::format("{} gets {:.0f} % of the expected bandwidth at large sizes", device_of(run), run.large_share * 100);
    f.remedy =
        run.nodes > 1
            ? "find the slow part: the same test on each node alone, then on pairs of nodes (ib_write_bw card by card), with "
              "NCCL_DEBUG=INFO: every card is used and says /GDRDMA; then mend that card, cable or setting"
            : "look at NVLink on this node: nvidia-smi nvlink -s and -e, nvidia-smi topo -m, the fabric manager's state; "
              "NCCL_DEBUG=INFO says P2P (and NVLS where the GPU has it) and not SHM";
  } else {
    f.title = fmt::format("{} takes {:.1f} times as long as expected at small sizes", device_of(run),
                          run.small_share > 0 ? 1 / run.small_share : 0);
    f.remedy =
        "look at what delays the start: CPU binding and C-states, clocks of the GPUs, PCIe relaxed ordering, "
        "NCCL_PROTO or NCCL_ALGO that are set; unset these two and let NCCL choose";
  }
  if (z != nullptr) {
    const auto& p = *z->expected;
    f.evidence.push_back(fmt::format("{}:{}: {} in {}, {:.2f} GB/s; expected {} ({} to {}), {}", run.file, run.line,
                                     size_words(z->bytes), time_words(z->time_us), z->bus_gb_s, time_words(p.s * 1e6),
                                     time_words(p.low_s * 1e6), time_words(z->slow_above_us),
                                     p.calibrated ? "as measured at " + p.by : "extrapolated from " + p.by));
    f.expected = large ? fmt::format("{:.0f} GB/s at {}", p.bus_gb_s, size_words(z->bytes))
                       : fmt::format("{} at {}", time_words(p.s * 1e6), size_words(z->bytes));
    f.achieved = large ? fmt::format("{:.0f} GB/s", z->bus_gb_s) : time_words(z->time_us);
    f.verify = fmt::format("the same test again: at least {} % of {} at {}", large ? 85 : 70,
                           large ? "that bandwidth" : "that speed", size_words(z->bytes));
    f.confidence = !run.why.empty() ? Confidence::low : p.calibrated ? Confidence::high : Confidence::medium;
  }
  if (!run.why.empty()) f.evidence.push_back(run.why);
  return f;
}

}  // namespace

std::string size_words(double bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

std::string time_words(double us) {
  constexpr std::string_view kUnits[] = {"us", "ms", "s"};
  std::size_t unit = 0;
  // What would be rounded to 1000 is 1 of the next.
  while (us >= 999.5 && unit + 1 < std::size(kUnits)) {
    us /= 1000;
    ++unit;
  }
  return us < 999.5 ? fmt::format("{:.3g} {}", us, kUnits[unit]) : fmt::format("{:.0f} {}", us, kUnits[unit]);
}

const GpuModel* gpu_model_of(std::string_view device, std::span<const GpuModel> gpus) {
  const std::string text = lower(device);
  std::vector<std::string> words(1);
  for (const char c : text) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  for (const std::string& w : words) {
    if (w == "pcie" || w == "nvl" || w == "mig") return nullptr;
  }
  for (const std::string& w : words) {
    for (const GpuModel& g : gpus) {
      if (g.name == w) return &g;
    }
  }
  return nullptr;
}

void expect_sizes(JudgedRun& run, std::optional<Collective> op, std::uint32_t per_node, std::string_view device,
                  const NcclYardstick& y) {
  const std::string& told = y.hint.gpu;
  const GpuModel* gpu = told.empty() ? gpu_model_of(device, y.gpus) : gpu_model_of(told, y.gpus);
  if (gpu != nullptr) run.gpu = gpu->name;
  if (!op) {
    run.why = "which operation it is cannot be told, or is one of which nothing is known";
  } else if (run.ranks < 2) {
    run.why = "how many GPUs took part is not told";
  } else if (gpu == nullptr) {
    run.why = device.empty() && told.empty() ? "the GPU's model is not told: name it"
                                             : fmt::format("nothing is known of the GPU '{}'", told.empty() ? device : told);
  }
  if (!run.why.empty()) return;
  CollectiveRow ask;
  ask.setup = setup_of(*op, *gpu, run.ranks, per_node, y);
  if (!ask.setup.network.empty() && y.hint.nic_gb_s <= 0)
    run.why = fmt::format("assumed between nodes: {}, {:.4g} GB/s a GPU", ask.setup.network, ask.setup.nic_gb_s);
  for (JudgedSize& z : run.sizes) {
    ask.bytes = z.bytes;
    if (z.bytes > 0) z.expected = y.collectives.predict(ask);
  }
  // Both ends, whether the run has them or not: all of its sizes may be small.
  const auto at = [&](double bytes) {
    ask.bytes = bytes;
    return y.collectives.predict(ask);
  };
  const auto largest = at(8.0 * (1 << 30)), smallest = at(8);
  if (largest && smallest) conclude(run, largest->bus_gb_s, smallest->s);
}

std::vector<JudgedRun> judge_runs(const NcclTestLog& log, const NcclYardstick& y) {
  std::vector<JudgedRun> out;
  for (const NcclTestRun& r : log.runs) {
    JudgedRun run;
    run.what = r.op ? std::string(name_of(*r.op)) : r.program.empty() ? "an operation" : r.program;
    run.file = log.file;
    run.line = r.line;
    run.ranks = r.ranks;
    run.nodes = r.nodes;
    for (const NcclTestRow& row : r.rows) {
      const NcclTestTiming* t = row.best();
      if (t == nullptr) continue;
      run.sizes.push_back({row.bytes, t->time_us, t->bus_gb_s, {}, false});
      for (const auto* half : {&row.out, &row.in}) {
        if (*half && (*half)->wrong) run.wrong += *(*half)->wrong;
      }
    }
    if (run.wrong == 0 && r.out_of_bounds) run.wrong = static_cast<double>(*r.out_of_bounds);
    expect_sizes(run, r.op, r.per_node, r.gpu, y);
    out.push_back(std::move(run));
  }
  return out;
}

std::vector<Finding> find_in_runs(std::span<const JudgedRun> runs) {
  std::vector<Finding> out;
  for (const JudgedRun& run : runs) {
    if (run.wrong > 0) out.push_back(wrong_values(run));
  }
  for (const JudgedRun& run : runs) {
    if (run.verdict != BusVerdict::as_expected && run.verdict != BusVerdict::not_known) out.push_back(slow_run(run));
  }
  return out;
}

}  // namespace muster::diagnose
