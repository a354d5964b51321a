#include "diagnose/exchanges.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "diagnose/nccl_sizes.h"
#include "model/fields.h"

namespace muster::diagnose {
namespace {

constexpr double kSmallBytes = 1 << 20;
constexpr double kSmallCost = 2;  // percent of the step
constexpr std::uint32_t kUsualNode = 8;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::optional<Collective> collective_of(std::string_view op) {
  if (has(op, "allreduce") || has(op, "all_reduce")) return Collective::all_reduce;
  if (has(op, "reduce_scatter")) return Collective::reduce_scatter;
  if (has(op, "allgather") || has(op, "all_gather")) return Collective::all_gather;
  if (has(op, "all_to_all") || has(op, "alltoall")) return Collective::all_to_all;
  if (has(op, "broadcast")) return Collective::broadcast;
  if (op == "reduce") return Collective::reduce;
  return {};
}

// "BFloat16", "c10::Half", "Byte".
double bytes_of(std::string_view dtype) {
  if (has(dtype, "Float8") || dtype == "Byte" || dtype == "Char" || dtype == "Bool") return 1;
  if (has(dtype, "Half") || has(dtype, "BFloat16") || dtype == "Short") return 2;
  if (has(dtype, "Double") || dtype == "Long") return 8;
  return 4;
}

struct Kind {
  Collective op;
  std::uint32_t ranks;
  std::uint32_t nodes;  // 0: which ranks take part is not told
  auto operator<=>(const Kind&) const = default;
};
struct Size {
  std::vector<std::int64_t> ns;
  std::int64_t own_ns = 0;
  std::uint32_t example = 0;
};

// Over how many nodes, if ranks are dealt out node by node.
std::uint32_t nodes_of(const ExchangeAsk& ask, std::uint32_t node) {
  if (ask.lowest == kNone || node == 0) return 0;
  return std::min(ask.ranks, ask.highest / node - ask.lowest / node + 1);
}

std::map<Kind, std::map<double, Size>> gather(const Profile& p, std::uint32_t node) {
  std::map<Kind, std::map<double, Size>> out;
  const Trace& t = *p.trace;
  for (std::uint32_t e = 0; e < p.line.events.size(); ++e) {
    const GpuEvent& event = *p.line.events[e];
    if (event.work != GpuWork::communication || event.detail == kNone) continue;
    const ExchangeAsk& ask = t.exchanges[event.detail];
    const auto op = ask.op == kNone ? std::nullopt : collective_of(t.names[ask.op]);
    if (!op || ask.ranks < 2) continue;
    const double each = ask.dtype == kNone ? 4 : bytes_of(t.names[ask.dtype]);
    const double elements =
        *op == Collective::all_gather ? static_cast<double>(ask.out_elements) : static_cast<double>(ask.in_elements);
    if (elements <= 0) continue;
    Size& s = out[{*op, ask.ranks, nodes_of(ask, node)}][elements * each];
    if (s.ns.empty()) s.example = e;
    s.ns.push_back(event.span.length());
    s.own_ns += p.line.own_ns[e] - p.line.waited_ns[e];
  }
  return out;
}

}  // namespace

std::vector<JudgedRun> judge_exchanges(const Profile& p, const NcclYardstick& y) {
  std::vector<JudgedRun> out;
  const auto device = static_cast<std::size_t>(std::max<int>(0, p.line.device));
  const std::string_view gpu = device < p.trace->gpus.size() ? std::string_view(p.trace->gpus[device]) : std::string_view();
  const std::uint32_t node = y.hint.gpus_per_node > 0 ? y.hint.gpus_per_node : kUsualNode;
  for (auto& [kind, sizes] : gather(p, node)) {
    JudgedRun run;
    run.what = std::string(name_of(kind.op));
    run.file = p.file;
    run.ranks = kind.ranks;
    run.nodes = kind.nodes;
    for (const auto& [bytes, seen] : sizes) {
      JudgedSize z;
      z.bytes = bytes;
      z.time_us = static_cast<double>(*std::min_element(seen.ns.begin(), seen.ns.end())) / 1e3;
      if (z.time_us > 0) z.bus_gb_s = bytes / z.time_us / 1e3 * bus_factor(kind.op, kind.ranks);
      run.sizes.push_back(std::move(z));
    }
    // A group that may be of one node or of many is held against nothing.
    if (kind.nodes == 0 && kind.ranks <= node && p.trace->ranks.value_or(0) > node) {
      run.why = "whether it stays within a node is not told";
    } else {
      expect_sizes(run, kind.op, kind.nodes > 0 ? (kind.ranks + kind.nodes - 1) / kind.nodes : 0, gpu, y);
    }
    out.push_back(std::move(run));
  }
  return out;
}

std::vector<Finding> exchange_findings(const Profile& p, const NcclYardstick& y) {
  std::vector<Finding> out = find_in_runs(judge_exchanges(p, y));
  const double all = static_cast<double>(p.line.step_ns()) * static_cast<double>(p.line.steps.size());
  std::uint64_t small = 0;
  std::int64_t alone = 0, bare = 0;
  std::uint32_t example = kNone;
  for (const auto& [kind, sizes] : gather(p, 0)) {
    for (const auto& [bytes, seen] : sizes) {
      bare += seen.own_ns;
      if (bytes > kSmallBytes) continue;
      small += seen.ns.size();
      alone += seen.own_ns;
      example = seen.example;
    }
  }
  const auto pct = [&](std::int64_t ns) { return all > 0 ? 100 * static_cast<double>(ns) / all : 0; };
  for (Finding& f : out) f.cost_pct = pct(bare);
  // One that nothing hides costs nothing.
  std::erase_if(out, [](const Finding& f) { return f.cost_pct < 1; });
  if (example != kNone && pct(alone) >= kSmallCost) {
    Finding f;
    f.cost_pct = pct(alone);
    f.title =
        fmt::format("Small exchanges, of less than 1 MiB, take {:.1f} % of the step: their start is all they cost", f.cost_pct);
    f.evidence = {fmt::format("{:.4g} of them a step, one at {}: correlation {}",
                              static_cast<double>(small) / static_cast<double>(std::max<std::size_t>(1, p.line.steps.size())),
                              p.file, p.line.events[example]->correlation)};
    f.remedy =
        "fewer and larger: DDP bucket_cap_mb, FSDP units of a whole layer, --ddp-bucket-size, gradients coalesced before the "
        "norm";
    f.gain = Gain{0.3 * f.cost_pct, 0.9 * f.cost_pct};
    f.verify = "the same bytes in fewer exchanges in the next profile";
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace muster::diagnose
