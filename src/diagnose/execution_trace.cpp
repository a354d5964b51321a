#include "diagnose/execution_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>

#include "base/text.h"

namespace muster::diagnose {
namespace {

using Kind = OperatorCost::Kind;

bool heavy(Kind k) { return k == Kind::product || k == Kind::attention || k == Kind::convolution; }

// Chakra's nodes may say what they cost. Where they compute at all, they do so as products can.
bool told_cost(const ExecutionNode& n) {
  return (n.work == NodeWork::compute || n.work == NodeWork::memory) && (n.operations > 0 || n.bytes > 0);
}

std::optional<OperatorCost> cost_of(const ExecutionNode& n) {
  if (told_cost(n)) return OperatorCost{n.operations, n.bytes, n.operations > 0 ? Kind::product : Kind::stream};
  if (n.work != NodeWork::none && n.work != NodeWork::compute) return {};
  std::vector<Operand> operands(n.inputs.size());
  for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = {n.inputs[i].shapes, n.inputs[i].type, n.inputs[i].value};
  // What it does, if anything, is among those that it calls.
  if (may_do_nothing(n.name)) return OperatorCost{};
  return operator_cost(n.name, operands);
}

double bytes_of_type(std::string_view dtype) {
  if (const double b = element_bytes(dtype); b > 0) return b;
  const std::string d = lower(dtype);
  if (d == "double" || d == "long") return 8;
  if (d == "float" || d == "int") return 4;
  if (d == "bfloat16" || d == "half" || d == "short") return 2;
  return d == "byte" || d == "char" || d == "bool" || d.starts_with("float8") ? 1 : 4;
}

class Counter {
 public:
  Counter(const ExecutionTrace& trace, const Rates& peaks) : trace_(trace), peaks_(peaks) {}
  ExecutionDiagnosis count();

 private:
  void choose();
  void take(const ExecutionNode& n, const OperatorCost& c);
  void exchange(const ExecutionNode& n);
  void chain(const ExecutionNode& n, double flops, double seconds);
  void time();
  void rows();
  double best_s(const OperatorCost& c) const;

  const ExecutionTrace& trace_;
  Rates peaks_;
  ExecutionDiagnosis out_;
  std::vector<OperatorCost> costs_;
  std::vector<bool> counted_, leaf_, known_, optimizer_;
  std::unordered_map<std::uint64_t, Chain> written_;  // by storage: the longest chains that end there
  std::map<std::tuple<std::string, std::string, std::string>, ExchangeSum> exchanges_;
};

// Operators call operators: a product counts where the innermost is that is known to be one, and what only moves counts where
// nothing that it calls does.
void Counter::choose() {
  const std::size_t n = trace_.nodes.size();
  costs_.resize(n);
  counted_.assign(n, false);
  known_.assign(n, false);
  leaf_.assign(n, true);
  optimizer_.assign(n, false);
  std::vector<bool> heavy_below(n, false), any_below(n, false);
  for (std::size_t i = 0; i < n; ++i) {
    const ExecutionNode& node = trace_.nodes[i];
    out_.gpu = out_.gpu || node.on_gpu;
    if (const auto c = cost_of(node)) {
      costs_[i] = *c;
      known_[i] = true;
    }
    const std::uint32_t parent = node.parent;
    optimizer_[i] = node.name.starts_with("Optimizer.step") || (parent < i && optimizer_[parent]);
  }
  // Parents are before their children.
  for (std::size_t i = n; i-- > 0;) {
    const OperatorCost& c = costs_[i];
    const bool costs = c.flops > 0 || c.bytes > 0;
    // Those that say what they cost wait for others, and do not call them.
    if (told_cost(trace_.nodes[i])) {
      counted_[i] = true;
      continue;
    }
    counted_[i] = costs && (heavy(c.kind) ? !heavy_below[i] : !any_below[i]);
    const std::uint32_t parent = trace_.nodes[i].parent;
    if (parent >= i) continue;
    leaf_[parent] = false;
    if (heavy_below[i] || (costs && heavy(c.kind))) heavy_below[parent] = true;
    if (any_below[i] || costs) any_below[parent] = true;
  }
  // What ran for an operator whose cost is known is no operator of its own; what ran by itself is, whatever it did.
  std::vector<bool> covered(n, false);
  for (std::size_t i = 0; i < n; ++i) {
    const ExecutionNode& node = trace_.nodes[i];
    const std::uint32_t parent = node.parent;
    covered[i] =
        parent < i && (covered[parent] || (counted_[parent] && trace_.nodes[parent].on_gpu && !told_cost(trace_.nodes[parent])));
    const bool ran = (node.work == NodeWork::compute || node.work == NodeWork::memory) && node.on_gpu && !node.on_host &&
                     node.duration_us.value_or(0) > 0;
    if (ran && !covered[i]) counted_[i] = true;
  }
}

// What is written waits for all that was read.
void Counter::chain(const ExecutionNode& n, double flops, double seconds) {
  Chain longest;
  for (const TraceOperand& o : n.inputs) {
    for (const std::uint64_t s : o.storages) {
      const auto it = s == 0 ? written_.end() : written_.find(s);
      if (it == written_.end()) continue;
      longest.operators = std::max(longest.operators, it->second.operators);
      longest.flops = std::max(longest.flops, it->second.flops);
      longest.seconds = std::max(longest.seconds, it->second.seconds);
    }
  }
  ++longest.operators;
  longest.flops += flops;
  longest.seconds += seconds;
  // What works in place on a list gives back nothing.
  const bool in_place = n.outputs.empty() && !n.inputs.empty() && n.name.ends_with('_');
  for (const TraceOperand& o : in_place ? std::span(n.inputs).first(1) : std::span(n.outputs)) {
    for (const std::uint64_t s : o.storages) {
      if (s != 0) written_[s] = longest;
    }
  }
  out_.chain.operators = std::max(out_.chain.operators, longest.operators);
  out_.chain.flops = std::max(out_.chain.flops, longest.flops);
  out_.chain.seconds = std::max(out_.chain.seconds, longest.seconds);
}

double Counter::best_s(const OperatorCost& c) const {
  const double compute = peaks_.flops_per_s > 0 && heavy(c.kind) ? c.flops / peaks_.flops_per_s : 0;
  const double memory = peaks_.bytes_per_s > 0 ? c.bytes / peaks_.bytes_per_s : 0;
  return std::max(compute, memory);
}

void Counter::take(const ExecutionNode& n, const OperatorCost& c) {
  const double seconds = best_s(c);
  OperatorSum& sum = out_.by_kind[static_cast<std::size_t>(c.kind)];
  ++sum.operators;
  sum.flops += c.flops;
  sum.bytes += c.bytes;
  sum.seconds += seconds;
  ++out_.operators;
  out_.flops += c.flops;
  out_.bytes += c.bytes;
  out_.seconds += seconds;
  if ((n.on_host || !n.duration_us ? seconds : *n.duration_us / 1e6) < peaks_.launch_s) ++out_.small;
  const bool floats =
      std::any_of(n.inputs.begin(), n.inputs.end(), [](const TraceOperand& o) { return o.type == "Tensor(float)"; });
  if (heavy(c.kind) && floats) out_.float_flops += c.flops;
  chain(n, c.flops, seconds);
}

void Counter::exchange(const ExecutionNode& n) {
  if (exchanges_.size() > 100'000) return;
  const TraceExchange& e = *n.exchange;
  ExchangeSum& sum = exchanges_[{e.op, e.group, e.dtype}];
  sum.ranks = std::max(sum.ranks, e.ranks);
  ++sum.calls;
  sum.bytes += e.bytes > 0 ? e.bytes : static_cast<double>(e.in_elements) * bytes_of_type(e.dtype);
  sum.seconds += n.duration_us.value_or(0) / 1e6;
}

void Counter::time() {
  const auto timed = [](const ExecutionNode& n) { return n.work != NodeWork::metadata && n.duration_us.value_or(0) > 0; };
  const bool device =
      std::any_of(trace_.nodes.begin(), trace_.nodes.end(), [&](const ExecutionNode& n) { return timed(n) && !n.on_host; });
  TracedTimes t;
  for (const ExecutionNode& n : trace_.nodes) {
    if (!timed(n) || (device && n.on_host)) continue;
    double& of = n.work == NodeWork::exchange  ? t.exchange_s
                 : n.work == NodeWork::compute ? t.compute_s
                 : n.work == NodeWork::memory  ? t.memory_s
                                               : t.other_s;
    of += *n.duration_us / 1e6;
  }
  if (t.sum_s() > 0) out_.traced = t;
}

// Where nodes say which they wait for. Those that wait for each other in a circle are left out.
void Counter::rows() {
  const std::size_t n = trace_.nodes.size();
  if (std::all_of(trace_.nodes.begin(), trace_.nodes.end(), [](const ExecutionNode& x) { return x.work == NodeWork::none; }))
    return;
  std::vector<std::uint32_t> waits(n, 0), ready;
  std::vector<std::vector<std::uint32_t>> next(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (const std::uint32_t d : trace_.nodes[i].waits_for) {
      if (d >= n) continue;
      next[d].push_back(i);
      ++waits[i];
    }
    if (waits[i] == 0) ready.push_back(i);
  }
  struct Row {
    Chain chain;
    double traced_s = 0, exchange_s = 0;
  };
  std::vector<Row> before(n);  // of what a node waits for, the longest
  for (std::size_t k = 0; k < ready.size(); ++k) {
    const std::uint32_t i = ready[k];
    const ExecutionNode& node = trace_.nodes[i];
    Row row = before[i];
    if (counted_[i] || node.exchange) ++row.chain.operators;
    if (counted_[i]) {
      row.chain.flops += costs_[i].flops;
      row.chain.seconds += best_s(costs_[i]);
    }
    const double traced_s = node.work == NodeWork::metadata ? 0 : node.duration_us.value_or(0) / 1e6;
    row.traced_s += traced_s;
    if (node.work == NodeWork::exchange) row.exchange_s += traced_s;
    const auto longer = [](Row& than, const Row& r) {
      than.chain.operators = std::max(than.chain.operators, r.chain.operators);
      than.chain.flops = std::max(than.chain.flops, r.chain.flops);
      than.chain.seconds = std::max(than.chain.seconds, r.chain.seconds);
      if (r.traced_s <= than.traced_s) return;
      than.traced_s = r.traced_s;
      than.exchange_s = r.exchange_s;
    };
    for (const std::uint32_t to : next[i]) {
      longer(before[to], row);
      if (--waits[to] == 0) ready.push_back(to);
    }
    out_.chain.operators = std::max(out_.chain.operators, row.chain.operators);
    out_.chain.flops = std::max(out_.chain.flops, row.chain.flops);
    out_.chain.seconds = std::max(out_.chain.seconds, row.chain.seconds);
    if (out_.traced && row.traced_s > out_.traced->row_s) {
      out_.traced->row_s = row.traced_s;
      out_.traced->row_exchange_s = row.exchange_s;
    }
  }
}

ExecutionDiagnosis Counter::count() {
  choose();
  out_.nodes = trace_.nodes.size();
  for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
    const ExecutionNode& n = trace_.nodes[i];
    if (n.name.starts_with("ProfilerStep")) ++out_.steps;
    if (n.exchange) {
      exchange(n);
      chain(n, 0, 0);
    }
    if (out_.gpu && !n.on_gpu) continue;
    if (n.name == "aten::_local_scalar_dense") ++out_.syncs;
    if (counted_[i]) {
      take(n, costs_[i]);
      if (optimizer_[i]) ++out_.optimizer_operators;
    } else if (leaf_[i] && !known_[i] && !n.inputs.empty() && !n.exchange && n.name.find("::") != std::string::npos) {
      ++out_.unknown;
    }
  }
  time();
  rows();
  for (auto& [key, sum] : exchanges_) {
    sum.op = printable(std::get<0>(key));
    sum.group = printable(std::get<1>(key));
    sum.dtype = printable(std::get<2>(key));
    out_.exchanges.push_back(sum);
  }
  std::stable_sort(out_.exchanges.begin(), out_.exchanges.end(),
                   [](const ExchangeSum& x, const ExchangeSum& y) { return x.bytes > y.bytes; });
  return std::move(out_);
}

std::string per_step(const ExecutionDiagnosis& d, double n) {
  return d.steps > 0 ? fmt::format("{:.0f} a step", n / static_cast<double>(d.steps)) : fmt::format("{:.0f}", n);
}

// Launches that take longer than what they launch leave the GPU idle, whatever it is.
std::optional<Finding> launch_bound(const ExecutionDiagnosis& d, const Rates& p) {
  const double busy = d.traced ? d.traced->sum_s() : d.seconds;
  if (!d.gpu || busy <= 0 || d.operators < 100) return {};
  const double launches = static_cast<double>(d.operators) * p.launch_s,
               share = static_cast<double>(d.small) / static_cast<double>(d.operators);
  if (share < 0.5 || launches < 0.5 * busy) return {};
  Finding f;
  f.title = "Most operators are too small to keep the GPU busy while the next is launched";
  f.evidence.push_back(fmt::format("{} of {} operators need less than {:.0f} us{}", d.small, d.operators, p.launch_s * 1e6,
                                   d.traced ? "" : " at the peak of the GPU"));
  f.evidence.push_back(fmt::format("the GPU needs {:.2f} ms for all, their launches {:.2f} ms", busy * 1e3, launches * 1e3));
  f.expected = "launches that take less time than what they launch";
  f.achieved = fmt::format("{:.0f} % of operators are smaller", 100 * share);
  f.remedy =
      "torch.compile(model, mode=\"reduce-overhead\") (CUDA graphs, fusion), a larger batch, fused optimizers (fused=True)";
  const double lost = launches > busy ? 100 * (1 - busy / launches) : 0;
  if (lost > 0) f.gain = Gain{0, lost};
  f.verify = "a profile with times (torch.profiler): idle between kernels goes down";
  f.confidence = launches > busy ? Confidence::medium : Confidence::low;
  f.cost_pct = lost;
  return f;
}

std::optional<Finding> single_precision(const ExecutionDiagnosis& d, const Rates& p) {
  double heavy_flops = 0, heavy_seconds = 0;
  for (const Kind k : {Kind::product, Kind::attention, Kind::convolution}) {
    heavy_flops += d.by_kind[static_cast<std::size_t>(k)].flops;
    heavy_seconds += d.by_kind[static_cast<std::size_t>(k)].seconds;
  }
  if (!d.gpu || heavy_flops <= 0 || d.float_flops < 0.5 * heavy_flops) return {};
  Finding f;
  f.title = "Products and convolutions are done in 32 bits";
  f.evidence.push_back(
      fmt::format("{:.0f} % of {:.2f} TFLOP have operands of type float", 100 * d.float_flops / heavy_flops, heavy_flops / 1e12));
  f.expected = p.bf16 ? "bf16, or TF32 where 32 bits are needed" : "16 bits, or what else the GPU's tensor cores take";
  f.achieved = "float";
  const std::string ampere =
      "torch.autocast(\"cuda\", dtype=torch.bfloat16), or torch.set_float32_matmul_precision('high') and "
      "torch.backends.cudnn.allow_tf32 = True";
  f.remedy = p.bf16 ? ampere
                    : "BF16 or TF32 on GPUs from Ampere on: " + ampere +
                          "; FP16 on those before: torch.autocast(\"cuda\", dtype=torch.float16) with torch.amp.GradScaler";
  // Without a GPU there are no times, and how much of the step it is is not known.
  if (d.seconds > 0) {
    f.cost_pct = 100 * heavy_seconds / d.seconds;
    f.gain = Gain{0, f.cost_pct / 2};
  }
  f.verify = p.bf16 ? "the trace shows c10::BFloat16 operands, or the profile shows tensor-core kernels"
                    : "the trace shows c10::BFloat16 or c10::Half operands, or the profile shows tensor-core kernels";
  f.confidence = Confidence::medium;  // whether TF32 is on, a trace does not tell
  return f;
}

std::optional<Finding> small_messages(const ExecutionDiagnosis& d) {
  double calls = 0, bytes = 0;
  for (const ExchangeSum& e : d.exchanges) {
    if (e.ranks == 1 || e.bytes <= 0) continue;
    calls += static_cast<double>(e.calls);
    bytes += e.bytes;
  }
  const double steps = d.steps > 0 ? static_cast<double>(d.steps) : 1;
  if (calls / steps < 30 || bytes / calls > 1e6) return {};
  Finding f;
  f.title = "Exchanges are many and small";
  f.evidence.push_back(fmt::format("{} of {:.0f} KB each", per_step(d, calls), bytes / calls / 1e3));
  f.expected = "messages of 10 MB or more, where latency does not count";
  f.achieved = fmt::format("{:.0f} KB", bytes / calls / 1e3);
  f.remedy = "larger buckets: DDP bucket_cap_mb=100, DeepSpeed reduce_bucket_size and allgather_bucket_size, larger FSDP units";
  f.verify = "fewer and larger record_param_comms in the trace";
  f.confidence = Confidence::low;
  return f;
}

// In a row with the operators: nothing hides them.
std::optional<Finding> bare_exchanges(const ExecutionDiagnosis& d) {
  if (!d.traced || d.traced->row_s <= 0) return {};
  const TracedTimes& t = *d.traced;
  const double share = 100 * t.row_exchange_s / t.row_s;
  if (share < 10) return {};
  Finding f;
  f.title = fmt::format("Exchanges wait for operators and operators for exchanges: {:.0f} % of the longest row is theirs", share);
  f.evidence.push_back(fmt::format("the longest row of nodes that wait for each other takes {:.4g} ms, {:.4g} ms of it exchanges",
                                   t.row_s * 1e3, t.row_exchange_s * 1e3));
  f.evidence.push_back(fmt::format("of {:.4g} ms of exchanges in all, by the times in the trace", t.exchange_s * 1e3));
  f.expected = "exchanges beside operators that do not need their results";
  f.achieved = fmt::format("{:.4g} ms of exchanges in the row", t.row_exchange_s * 1e3);
  f.remedy =
      "start an exchange where its input is there and wait for it where its result is used (async_op=True): DDP's buckets, "
      "FSDP's "
      "prefetch (backward_prefetch, forward_prefetch), Megatron-LM's --overlap-grad-reduce and --overlap-param-gather";
  f.cost_pct = share;
  f.gain = Gain{0, 100 * std::min(t.row_exchange_s, t.row_s - t.row_exchange_s) / t.row_s};
  f.verify = "a trace of the same step: the longest row is shorter";
  f.confidence = Confidence::medium;
  return f;
}

std::optional<Finding> plain_optimizer(const ExecutionDiagnosis& d) {
  const double steps = d.steps > 0 ? static_cast<double>(d.steps) : 1;
  if (static_cast<double>(d.optimizer_operators) / steps < 200) return {};
  Finding f;
  f.title = "The optimizer goes through the parameters one by one";
  f.evidence.push_back(
      fmt::format("{} operators within Optimizer.step", per_step(d, static_cast<double>(d.optimizer_operators))));
  f.expected = "a few launches for all parameters";
  f.achieved = per_step(d, static_cast<double>(d.optimizer_operators));
  f.remedy = "fused=True (Adam, AdamW, SGD, Adagrad), or foreach=True";
  f.cost_pct = d.operators > 0 ? 100 * static_cast<double>(d.optimizer_operators) / static_cast<double>(d.operators) : 0;
  f.verify = "the trace shows aten::_fused_adamw_ or aten::_foreach_ operators";
  f.confidence = Confidence::high;
  return f;
}

std::optional<Finding> host_waits(const ExecutionDiagnosis& d) {
  const double steps = d.steps > 0 ? static_cast<double>(d.steps) : 1;
  if (!d.gpu || static_cast<double>(d.syncs) / steps < 2) return {};
  Finding f;
  f.title = "The host waits for values from the GPU within a step";
  f.evidence.push_back(fmt::format("aten::item: {}", per_step(d, static_cast<double>(d.syncs))));
  f.expected = "none, or one where the loss is logged";
  f.achieved = per_step(d, static_cast<double>(d.syncs));
  f.remedy =
      "keep values on the GPU (.detach(), torch.where, clip_grad_norm_ without error_if_nonfinite) and log every hundred steps";
  f.verify = "torch.cuda.set_sync_debug_mode(\"warn\") is silent";
  f.confidence = Confidence::medium;
  return f;
}

}  // namespace

ExecutionDiagnosis diagnose_execution(const ExecutionTrace& trace, const Rates& peaks) {
  ExecutionDiagnosis out = Counter(trace, peaks).count();
  for (auto f : {launch_bound(out, peaks), single_precision(out, peaks), plain_optimizer(out), small_messages(out),
                 bare_exchanges(out), host_waits(out)}) {
    if (f) out.findings.push_back(std::move(*f));
  }
  std::stable_sort(out.findings.begin(), out.findings.end(),
                   [](const Finding& x, const Finding& y) { return x.cost_pct > y.cost_pct; });
  return out;
}

}  // namespace muster::diagnose
