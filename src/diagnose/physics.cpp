#include "diagnose/physics.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"

namespace muster::diagnose {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view p) { return has(text, p); });
}

constexpr double kBrief = 8e-6;  // seconds: a kernel that takes less and needs less than a third of it is too small

struct Key {
  std::uint32_t op, inputs, kernel;
  bool operator==(const Key&) const = default;
};
struct Hash {
  std::size_t operator()(const Key& k) const {
    return (std::size_t{k.op} * 0x9E3779B97F4A7C15ULL) ^ (std::size_t{k.inputs} << 21) ^ k.kernel;
  }
};

std::string short_kernel(std::string_view name) {
  for (const std::string_view start : {"void ", "at::native::", "(anonymous namespace)::"}) {
    if (name.starts_with(start)) name.remove_prefix(start.size());
  }
  std::string out = printable(name.substr(0, name.find('(') == 0 ? name.size() : std::min(name.find('('), name.size())));
  if (out.size() > 90) out = out.substr(0, 87) + "...";
  return out;
}

std::string shape_words(const std::vector<OpInput>& inputs) {
  std::string out;
  int said = 0;
  for (const OpInput& in : inputs) {
    if (in.shapes.empty() || in.shapes.front().empty()) continue;
    if (said++ == 3) break;
    out += out.empty() ? "" : " x ";
    if (in.shapes.size() > 1) {
      out += fmt::format("{} tensors", in.shapes.size());
      continue;
    }
    out += fmt::format("[{}]", fmt::join(in.shapes.front(), ", "));
  }
  return out;
}

std::optional<OperatorCost> cost_of(std::string_view op, const std::vector<OpInput>& inputs) {
  std::vector<Operand> operands;
  for (const OpInput& in : inputs) {
    std::string_view type = in.type;
    operands.push_back({in.shapes, type, in.value});
  }
  return operator_cost(op, operands);
}

// Of the first tensor: what products are computed in.
std::string_view type_of(const std::vector<OpInput>& inputs) {
  for (const OpInput& in : inputs) {
    if (!in.shapes.empty() && in.shapes.front().size() >= 2 && !in.type.empty()) return in.type;
  }
  return {};
}

double rate_of(const Peaks& p, std::string_view type, std::string_view kernel) {
  if (has(type, "Float8")) return p.fp8 > 0 ? p.fp8 : p.bf16;
  if (has_any(type, {"BFloat16", "Half"})) return p.bf16;
  if (has(type, "double")) return p.fp32;
  if (type == "float" || has(type, "(float")) return is_plain_fp32(kernel) ? p.fp32 : p.tf32;
  return p.bf16;
}

class Builder {
 public:
  Builder(const Trace& t, const Timeline& line, const Peaks& peaks) : t_(t), line_(line), peaks_(peaks) {}

  Physics build() {
    std::unordered_map<std::uint32_t, std::uint32_t> ops;  // external id to operator
    ops.reserve(t_.ops.size());
    for (std::uint32_t i = 0; i < t_.ops.size(); ++i) {
      if (t_.ops[i].external != kNone) ops.try_emplace(t_.ops[i].external, i);
    }
    out_.of_event.assign(line_.events.size(), kNone);
    for (std::uint32_t e = 0; e < line_.events.size(); ++e) {
      const GpuEvent& event = *line_.events[e];
      if (event.work == GpuWork::communication || line_.own_ns[e] == 0) continue;
      if (event.work == GpuWork::copy && has_any(t_.names[event.name], {"HtoD", "DtoH"})) continue;
      const auto it = event.external == kNone ? ops.end() : ops.find(event.external);
      add(e, it == ops.end() ? nullptr : &t_.ops[it->second]);
    }
    finish();
    return std::move(out_);
  }

 private:
  void add(std::uint32_t e, const HostOp* op) {
    const GpuEvent& event = *line_.events[e];
    const bool shaped = op != nullptr && op->inputs != kNone;
    const Key key{shaped ? op->name : kNone, shaped ? op->inputs : kNone, shaped ? kNone : event.name};
    const auto [it, fresh] = index_.try_emplace(key, static_cast<std::uint32_t>(out_.classes.size()));
    if (fresh) {
      KernelClass c;
      c.kernel = event.name;
      c.example = e;
      if (shaped) {
        c.op = op->name;
        c.inputs = op->inputs;
      }
      out_.classes.push_back(std::move(c));
      most_.push_back(0);
      last_.push_back(kNone);
    }
    KernelClass& c = out_.classes[it->second];
    c.own_ns += line_.own_ns[e];
    if (!shaped || last_[it->second] != event.external) ++c.count;
    last_[it->second] = event.external;
    if (line_.own_ns[e] > most_[it->second]) {
      most_[it->second] = line_.own_ns[e];
      c.kernel = event.name;
      c.example = e;
      if (event.work == GpuWork::compute && event.detail != kNone) c.launch = &t_.launches[event.detail];
    }
    out_.of_event[e] = it->second;
  }

  void judge(KernelClass& c) {
    const std::string_view kernel = t_.names[c.kernel];
    c.kind = kernel_kind(kernel);
    c.name = short_kernel(kernel);
    c.limit = c.kind == KernelKind::stream || c.kind == KernelKind::optimizer ? Limit::memory : Limit::compute;
    if (c.op == kNone) return;
    const std::vector<OpInput>& inputs = t_.inputs[c.inputs];
    const std::string_view op = t_.names[c.op];
    c.name = printable(fmt::format("{} {}", op, shape_words(inputs)));
    const auto cost = cost_of(op, inputs);
    if (!cost || (cost->flops <= 0 && cost->bytes <= 0)) return;
    using K = OperatorCost::Kind;
    if (c.kind != KernelKind::optimizer && cost->kind != K::other)
      c.kind = cost->kind == K::product       ? KernelKind::product
               : cost->kind == K::attention   ? KernelKind::attention
               : cost->kind == K::convolution ? KernelKind::convolution
                                              : KernelKind::stream;
    const auto n = static_cast<double>(c.count);
    c.flops = cost->flops * n;
    // Of lists of tensors the profile does not say the type, the kernel does.
    const bool halves = cost->guessed && has_any(kernel, {"BFloat16", "Half"});
    c.bytes = cost->bytes * n * (halves ? 0.5 : 1);
    if (!peaks_.known()) return;
    const double rate = rate_of(peaks_, type_of(inputs), kernel);
    const double computing = c.kind == KernelKind::stream || rate <= 0 ? 0 : c.flops / rate,
                 moving = c.bytes / peaks_.bytes_per_s;
    c.least_s = std::max(computing, moving);
    c.limit = computing >= moving ? Limit::compute : Limit::memory;
    const double each = static_cast<double>(c.own_ns) * 1e-9 / n;
    if (each < kBrief && c.least_s / n < each / 3) c.limit = Limit::size;
  }

  void finish() {
    for (KernelClass& c : out_.classes) {
      judge(c);
      const bool computes = c.limit == Limit::compute ||
                            (c.limit == Limit::size && c.kind != KernelKind::stream && c.kind != KernelKind::optimizer);
      (computes ? out_.compute_ns : out_.memory_ns) += c.own_ns;
      if (c.kind == KernelKind::unknown) out_.unknown_ns += c.own_ns;
    }
    std::vector<std::uint32_t> order(out_.classes.size()), place(out_.classes.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t x, std::uint32_t y) { return out_.classes[x].own_ns > out_.classes[y].own_ns; });
    std::vector<KernelClass> sorted;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      sorted.push_back(std::move(out_.classes[order[i]]));
    }
    out_.classes = std::move(sorted);
    for (std::uint32_t& c : out_.of_event) {
      if (c != kNone) c = place[c];
    }
    const auto device = static_cast<std::size_t>(std::max<int>(0, line_.device));
    if (device < t_.units.size()) out_.units = t_.units[device];
  }

  const Trace& t_;
  const Timeline& line_;
  const Peaks& peaks_;
  Physics out_;
  std::unordered_map<Key, std::uint32_t, Hash> index_;
  std::vector<std::int64_t> most_;
  std::vector<std::uint32_t> last_;
};

}  // namespace

Peaks peaks_of(const GpuModel& gpu, std::span<const Timing> timings) {
  Peaks p;
  p.gpu = gpu.name;
  // By data sheets: large products get about three quarters of the tensor cores' rate, streams nine tenths of the memory's.
  p.bf16 = 0.75 * gpu.bf16_tflops * 1e12;
  p.fp8 = 0.7 * gpu.fp8_tflops * 1e12;
  p.fp32 = 0.85 * gpu.fp32_tflops * 1e12;
  p.bytes_per_s = 0.88 * gpu.hbm_tb_s * 1e12;
  p.host_bytes_per_s = gpu.host_gb_s * 1e9;
  double bf16 = 0, fp8 = 0, bytes = 0;
  for (const Timing& t : timings) {
    if (t.forward_s <= 0) continue;
    if (t.kind == Timing::Kind::gemm) {
      double& best = t.dtype == Dtype::bf16 ? bf16 : fp8;
      best = std::max(best, 2 * t.m * t.n * t.k * t.groups / t.forward_s);
    } else if (t.kind == Timing::Kind::stream && t.bytes > 1e8) {
      bytes = std::max(bytes, t.bytes / t.forward_s);
    }
  }
  p.measured = bf16 > 0 && bytes > 0;
  if (bf16 > 0) p.bf16 = bf16;
  if (fp8 > 0) p.fp8 = fp8;
  if (bytes > 0) p.bytes_per_s = bytes;
  p.tf32 = p.bf16 / 2;
  return p;
}

bool is_plain_fp32(std::string_view kernel) {
  if (has_any(kernel, {"tf32", "tensorop", "s1688", "s16816", "wgmma", "bf16", "bfloat16", "half"})) return false;
  return has_any(kernel, {"simt", "ffma", "sgemm", "SGEMM", "scudnn", "gemmSN", "gemv", "sgemv", "f32f32_f32f32"});
}

KernelKind kernel_kind(std::string_view kernel) {
  // Names of generated kernels list the operators around them; only templates multiply.
  if (kernel.starts_with("triton_") && !kernel.starts_with("triton_tem")) return KernelKind::stream;
  if (has_any(kernel, {"FusedOptimizer", "multi_tensor_apply", "FusedAdam", "FusedSgd", "adam_", "Adam", "adamw",
                       "multi_tensor_lamb", "LAMB"}))
    return KernelKind::optimizer;
  if (has_any(kernel, {"flash", "Flash", "fmha", "Fmha", "sdpa", "attention", "attn", "mha_"})) return KernelKind::attention;
  if (has_any(kernel,
              {"conv", "Conv", "fprop", "wgrad", "dgrad", "winograd", "implicit_gemm", "cudnn_ampere_scudnn", "scudnn"}) &&
      !has_any(kernel, {"convert", "Convert"}))
    return KernelKind::convolution;
  if (has_any(kernel, {"gemm", "Gemm", "GEMM", "nvjet", "cutlass", "cublas", "Cijk_", "wgmma", "matmul", "triton_tem", "_mm_",
                       "mfma", "gemv", "cask", "xmma"}) &&
      !has_any(kernel, {"splitKreduce", "elementwise", "fbgemm_gpu::"}))
    return KernelKind::product;
  const std::string plain = lower(kernel);
  // Parts of names that such kernels have: element by element, sums along a row, moving things about.
  const bool streams = has_any(
      plain, {"elementwise", "at::native", "reduce",  "softmax", "norm",    "copy",    "memcpy",  "memset",    "fill", "cat",
              "index",       "gather",     "scatter", "embed",   "dropout", "transp",  "perm",    "rotary",    "rope", "silu",
              "gelu",        "relu",       "activ",   "quant",   "pool",    "bn_",     "entropy", "nll",       "loss", "sort",
              "topk",        "cub::",      "thrust",  "splitk",  "triton",  "convert", "cast",    "pad",       "bias", "foreach",
              "argmax",      "interp",     "upsampl", "im2col",  "nchw",    "nhwc",    "tensor",  "pointwise", "sum_"});
  return streams ? KernelKind::stream : KernelKind::unknown;
}

Physics physics(const Trace& trace, const Timeline& line, const Peaks& peaks) { return Builder(trace, line, peaks).build(); }

}  // namespace muster::diagnose
