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

std::optional<OperatorCost> cost_of(const ExecutionNode& n) {
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
  void exchange(const TraceExchange& e);
  void chain(const ExecutionNode& n, double flops, double seconds);

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
    counted_[i] = costs && (heavy(c.kind) ? !heavy_below[i] : !any_below[i]);
    const std::uint32_t parent = trace_.nodes[i].parent;
    if (parent >= i) continue;
    leaf_[parent] = false;
    if (heavy_below[i] || (costs && heavy(c.kind))) heavy_below[parent] = true;
    if (any_below[i] || costs) any_below[parent] = true;
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

void Counter::take(const ExecutionNode& n, const OperatorCost& c) {
  const double compute = peaks_.flops_per_s > 0 && heavy(c.kind) ? c.flops / peaks_.flops_per_s : 0;
  const double memory = peaks_.bytes_per_s > 0 ? c.bytes / peaks_.bytes_per_s : 0;
  const double seconds = std::max(compute, memory);
  OperatorSum& sum = out_.by_kind[static_cast<std::size_t>(c.kind)];
  ++sum.operators;
  sum.flops += c.flops;
  sum.bytes += c.bytes;
  sum.seconds += seconds;
  ++out_.operators;
  out_.flops += c.flops;
  out_.bytes += c.bytes;
  out_.seconds += seconds;
  if (seconds < peaks_.launch_s) ++out_.small;
  const bool floats =
      std::any_of(n.inputs.begin(), n.inputs.end(), [](const TraceOperand& o) { return o.type == "Tensor(float)"; });
  if (heavy(c.kind) && floats) out_.float_flops += c.flops;
  chain(n, c.flops, seconds);
}

void Counter::exchange(const TraceExchange& e) {
  if (exchanges_.size() > 100'000) return;
  ExchangeSum& sum = exchanges_[{e.op, e.group, e.dtype}];
  sum.ranks = std::max(sum.ranks, e.ranks);
  ++sum.calls;
  sum.bytes += static_cast<double>(e.in_elements) * bytes_of_type(e.dtype);
}

ExecutionDiagnosis Counter::count() {
  choose();
  out_.nodes = trace_.nodes.size();
  for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
    const ExecutionNode& n = trace_.nodes[i];
    if (n.name.starts_with("ProfilerStep")) ++out_.steps;
    if (n.exchange) {
      exchange(*n.exchange);
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
  if (!d.gpu || d.seconds <= 0 || d.operators < 100) return {};
  const double launches = static_cast<double>(d.operators) * p.launch_s,
               share = static_cast<double>(d.small) / static_cast<double>(d.operators);
  if (share < 0.5 || launches < 0.5 * d.seconds) return {};
  Finding f;
  f.title = "Most operators are too small to keep the GPU busy while the next is launched";
  f.evidence.push_back(
      fmt::format("{} of {} operators need less than {:.0f} us at the peak of the GPU", d.small, d.operators, p.launch_s * 1e6));
  f.evidence.push_back(fmt::format("the GPU needs {:.2f} ms for all, their launches {:.2f} ms", d.seconds * 1e3, launches * 1e3));
  f.expected = "launches that take less time than what they launch";
  f.achieved = fmt::format("{:.0f} % of operators are smaller", 100 * share);
  f.remedy =
      "torch.compile(model, mode=\"reduce-overhead\") (CUDA graphs, fusion), a larger batch, fused optimizers (fused=True)";
  const double lost = launches > d.seconds ? 100 * (1 - d.seconds / launches) : 0;
  f.gain = Gain{0, lost};
  f.verify = "a profile with times (torch.profiler): idle between kernels goes down";
  f.confidence = launches > d.seconds ? Confidence::medium : Confidence::low;
  f.cost_pct = lost;
  return f;
}

std::optional<Finding> single_precision(const ExecutionDiagnosis& d) {
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
  f.expected = "bf16, or TF32 where 32 bits are needed";
  f.achieved = "float";
  f.remedy =
      "torch.autocast(\"cuda\", dtype=torch.bfloat16), or torch.set_float32_matmul_precision('high') and "
      "torch.backends.cudnn.allow_tf32 = True";
  f.cost_pct = d.seconds > 0 ? 100 * heavy_seconds / d.seconds : 0;
  f.gain = Gain{0, f.cost_pct / 2};
  f.verify = "the trace shows c10::BFloat16 operands, or the profile shows tensor-core kernels";
  f.confidence = Confidence::medium;  // whether TF32 is on, a trace does not tell
  return f;
}

std::optional<Finding> small_messages(const ExecutionDiagnosis& d) {
  double calls = 0, bytes = 0;
  for (const ExchangeSum& e : d.exchanges) {
    if (e.ranks == 1) continue;
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
  for (auto f : {launch_bound(out, peaks), single_precision(out), plain_optimizer(out), small_messages(out), host_waits(out)}) {
    if (f) out.findings.push_back(std::move(*f));
  }
  std::stable_sort(out.findings.begin(), out.findings.end(),
                   [](const Finding& x, const Finding& y) { return x.cost_pct > y.cost_pct; });
  return out;
}

}  // namespace muster::diagnose
