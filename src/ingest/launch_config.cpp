#include "ingest/launch_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ingest/arguments.h"
#include "ingest/json.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

// Reads members of one object; the first thing wrong is kept.
class Reader {
 public:
  Reader(const Value& value, std::string_view where, std::string& wrong) : value_(value), where_(where), wrong_(wrong) {}

  // 0: not there, or "auto".
  std::uint32_t count(std::string_view key) const {
    const Value* v = value_.find(key);
    if (v == nullptr || v->is_null() || is_auto(*v)) return 0;
    double n = NAN;
    if (!v->number(n) && v->string() != nullptr) n = parse_double(*v->string()).value_or(NAN);
    if (n >= 1 && n <= 1e8 && n == std::floor(n)) return static_cast<std::uint32_t>(n);
    fail_with(key, "a whole number above 0, or \"auto\"");
    return 0;
  }
  std::optional<bool> yes(std::string_view key) const {
    const Value* v = value_.find(key);
    if (v == nullptr || v->is_null() || is_auto(*v)) return {};
    if (v->boolean() != nullptr) return *v->boolean();
    if (v->string() != nullptr && (lower(*v->string()) == "true" || lower(*v->string()) == "false"))
      return lower(*v->string()) == "true";
    fail_with(key, "true or false");
    return {};
  }
  std::string text(std::string_view key) const {
    const Value* v = value_.find(key);
    if (v == nullptr) return {};
    if (v->string() != nullptr) return *v->string();
    return v->integer() != nullptr ? fmt::format("{}", *v->integer()) : std::string();
  }
  bool has(std::string_view key) const { return value_.find(key) != nullptr; }
  // An empty one where there is none.
  Reader inner(std::string_view key) const {
    static const Value kEmpty{Value::Object{}};
    const Value* v = value_.find(key);
    return {v != nullptr && v->object() != nullptr ? *v : kEmpty, where_, wrong_};
  }
  void fail_with(std::string_view key, std::string_view must) const {
    if (wrong_.empty()) wrong_ = fmt::format("{}: {} must be {}", where_, key, must);
  }
  void fail_with(std::string why) const {
    if (wrong_.empty()) wrong_ = fmt::format("{}: {}", where_, why);
  }

 private:
  static bool is_auto(const Value& v) { return v.string() != nullptr && *v.string() == "auto"; }

  const Value& value_;
  std::string_view where_;
  std::string& wrong_;
};

void zero_stage(const Reader& r, std::string_view key, LaunchConfig& out) {
  const std::string stage = r.text(key);
  if (stage.empty() || stage == "auto") return;
  const auto n = parse_uint(stage);
  if (!n || *n > 3) return r.fail_with(key, "0, 1, 2 or 3");
  out.shard = static_cast<Shard>(*n);
}

LaunchConfig deepspeed(const Reader& r) {
  LaunchConfig out;
  out.framework = "DeepSpeed";
  out.batch = r.count("train_batch_size");
  out.micro_batch = r.count("train_micro_batch_size_per_gpu");
  const std::uint32_t times = r.count("gradient_accumulation_steps");
  const Reader zero = r.inner("zero_optimization");
  zero_stage(zero, "stage", out);
  out.shard_ranks = zero.count("mics_shard_size");
  for (const std::string_view key : {"offload_optimizer", "offload_param"}) {
    if (const std::string where = zero.inner(key).text("device"); !where.empty() && where != "none")
      r.fail_with(fmt::format("{} to {}: what is kept outside the GPU is not planned", key, printable(where)));
  }
  if (const std::uint32_t n = r.inner("tensor_parallel").count("autotp_size"); n > 0) out.tp = n;
  if (const std::uint32_t n = r.count("sequence_parallel_size"); n > 0) out.cp = n;
  out.half = r.inner("fp16").yes("enabled").value_or(false);
  if (out.half || r.inner("bf16").yes("enabled").value_or(false)) out.dtype = Dtype::bf16;
  if (out.batch > 0 && out.micro_batch > 0 && times > 0) {
    const std::uint64_t each = std::uint64_t{out.micro_batch} * times;
    if (out.batch % each != 0) {
      r.fail_with(fmt::format("a batch of {} is no multiple of micro-batches of {} times {}", out.batch, out.micro_batch, times));
      return out;
    }
    out.gpus = static_cast<std::uint32_t>(out.batch / each * out.tp * out.cp);  // they say how many replicas there are
  }
  return out;
}

void fsdp(const Reader& r, LaunchConfig& out) {
  const std::string how = r.text("fsdp_sharding_strategy");
  out.copy_a_node = how == "HYBRID_SHARD" || how == "4";
  if (r.yes("fsdp_offload_params").value_or(false))
    r.fail_with("fsdp_offload_params: what is kept outside the GPU is not planned");
  if (how == "FULL_SHARD" || how == "1" || how == "HYBRID_SHARD" || how == "4") out.shard = Shard::weights;
  if (how == "SHARD_GRAD_OP" || how == "2" || how == "_HYBRID_SHARD_ZERO2" || how == "5") out.shard = Shard::gradients;
  if (how == "NO_SHARD" || how == "3") out.shard = Shard::none;
  if (!how.empty() && !out.shard) r.fail_with("fsdp_sharding_strategy", "FULL_SHARD, SHARD_GRAD_OP, NO_SHARD or HYBRID_SHARD");
  // The second FSDP knows no strategies: weights are given back after a layer, or kept.
  if (!out.shard) {
    const std::string back = lower(r.text("fsdp_reshard_after_forward"));
    const bool kept = back == "false" || back == "shard_grad_op" || r.yes("fsdp_reshard_after_forward") == false;
    out.shard = kept ? Shard::gradients : Shard::weights;
  }
  if (const auto again = r.yes("fsdp_activation_checkpointing")) out.recompute = *again ? Recompute::full : Recompute::none;
}

LaunchConfig accelerate(const Reader& r) {
  LaunchConfig out;
  out.gpus = r.count("num_processes");
  const std::string precision = lower(r.text("mixed_precision"));
  if (precision == "no") r.fail_with("mixed_precision no is training in 32 bits, which is not planned");
  out.half = precision == "fp16";
  if (precision == "bf16" || out.half) out.dtype = Dtype::bf16;
  if (precision == "fp8") out.dtype = Dtype::fp8;
  // What is there of another way to spread it does not count.
  const std::string how = lower(r.text("distributed_type"));
  if (how == "multi_gpu" || how == "no") {
    out.framework = "DDP";
    out.shard = Shard::none;
  } else if (how == "fsdp" || (how != "deepspeed" && r.has("fsdp_config"))) {
    out.framework = "FSDP";
    fsdp(r.inner("fsdp_config"), out);
  } else {
    out.framework = "DeepSpeed";
    const Reader zero = r.inner("deepspeed_config");
    if (const std::string file = zero.text("deepspeed_config_file"); !file.empty())
      r.fail_with(fmt::format("it leaves all to {}: give that file instead", printable(file)));
    zero_stage(zero, "zero_stage", out);
    for (const std::string_view key : {"offload_optimizer_device", "offload_param_device"}) {
      if (const std::string where = zero.text(key); !where.empty() && where != "none")
        r.fail_with(fmt::format("{} {}: what is kept outside the GPU is not planned", key, printable(where)));
    }
  }
  const Reader ranks = r.inner("parallelism_config");
  out.copies = ranks.count("parallelism_config_dp_replicate_size");
  if (const std::uint32_t n = ranks.count("parallelism_config_tp_size"); n > 0) out.tp = n;
  if (const std::uint32_t n = ranks.count("parallelism_config_cp_size"); n > 0) out.cp = n;
  return out;
}

// What a script leaves out is as Megatron-LM has it.
Result<LaunchConfig> megatron(const Arguments& a, std::string_view where) {
  LaunchConfig out;
  out.framework = "Megatron";
  std::string wrong;
  const auto count = [&](const char* name, std::uint32_t otherwise) {
    const auto n = a.number(name);
    if (!n) return otherwise;
    if (*n >= 1 && *n <= 1e8 && *n == std::floor(*n)) return static_cast<std::uint32_t>(*n);
    if (wrong.empty())
      wrong = fmt::format("{}: --{} must be a whole number above 0, is '{}'", where, name, printable(a.text(name)));
    return otherwise;
  };
  out.batch = count("global-batch-size", 0);
  out.micro_batch = count("micro-batch-size", 0);
  out.seq = count("seq-length", 0);
  out.tp = count("tensor-model-parallel-size", 1);
  out.cp = count("context-parallel-size", 1);
  out.pp = count("pipeline-model-parallel-size", 1);
  out.ep = count("expert-model-parallel-size", a.has("num-experts") ? 1 : 0);
  out.vp = count("num-virtual-stages-per-pipeline-rank", 1);
  if (const std::uint32_t each = count("num-layers-per-virtual-pipeline-stage", 0); each > 0) {
    const std::uint32_t layers = count("num-layers", 0);
    const std::uint32_t counted = layers % out.pp == 0 ? layers : layers + 2;  // with the embedding and the head
    if (wrong.empty() && (layers == 0 || counted % (std::uint64_t{out.pp} * each) != 0)) {
      wrong = fmt::format("{}: {} layers in {} stages are no pieces of {}", where, layers, out.pp, each);
    }
    out.vp = std::max(1U, counted / out.pp / each);
  }
  out.shard = a.has("use-distributed-optimizer") ? Shard::optimizer : Shard::none;
  if (a.has("use-megatron-fsdp") || a.has("use-custom-fsdp"))
    out.shard = a.text("data-parallel-sharding-strategy") == "optim_grads" ? Shard::gradients : Shard::weights;
  const std::string granularity = a.text("recompute-granularity");
  out.recompute = a.has("recompute-activations") || granularity == "selective" ? Recompute::selective
                  : granularity == "full"                                      ? Recompute::full
                                                                               : Recompute::none;
  if (granularity == "full" && a.text("recompute-method") == "block")
    out.recompute_layers = count("recompute-num-layers", 1) * out.vp;  // it counts them in each piece of a stage
  out.sequence_parallel = a.has("sequence-parallel");
  // As torchrun and srun are told.
  for (const char* each : {"nproc_per_node", "nproc-per-node", "gpus-per-node", "ntasks-per-node"}) {
    for (const char* nodes : {"nnodes", "nodes"}) {
      if (out.gpus == 0 && a.has(each) && a.has(nodes)) out.gpus = count(each, 0) * count(nodes, 0);
    }
  }
  if (const std::uint32_t copies = count("num-distributed-optimizer-instances", 1); copies > 1) out.copies = copies;
  const std::uint64_t ranks = std::uint64_t{out.tp} * out.pp * out.cp;
  if (out.batch == 0 && out.micro_batch > 0 && out.gpus > 0 && out.gpus % ranks == 0)
    out.batch = static_cast<std::uint32_t>(out.micro_batch * (out.gpus / ranks));  // one micro-batch each, as Megatron-LM has it
  out.half = a.has("fp16");
  if (out.half || a.has("bf16")) out.dtype = Dtype::bf16;
  if (a.has("fp8-format")) out.dtype = a.text("fp8-recipe") == "mxfp8" ? Dtype::mxfp8 : Dtype::fp8;
  if (!wrong.empty()) return fail(Code::bad_input, wrong, "mend the script, or leave it out and use flags");
  return out;
}

}  // namespace

Result<LaunchConfig> parse_launch_config(std::string_view text, std::string_view where) {
  constexpr std::size_t kMost = 1 << 20;
  if (text.size() > kMost) return fail(Code::bad_input, fmt::format("{}: no configuration is that large", where));
  const bool json = trim(text).starts_with('{');
  if (!json) {
    const Arguments a(text);
    if (a.has("micro-batch-size") || a.has("tensor-model-parallel-size") || a.has("num-layers")) return megatron(a, where);
  }
  const auto value = json ? parse_json(text) : parse_yaml(text, where);
  if (!value)
    return fail(Code::bad_input, json ? fmt::format("{}: {}", where, value.error().what) : value.error().what,
                "a configuration of DeepSpeed (JSON) or Accelerate (YAML), or a script with Megatron-LM's arguments");
  std::string wrong;
  const Reader r(*value, where, wrong);
  const bool known = json ? r.has("zero_optimization") || r.has("train_batch_size") || r.has("train_micro_batch_size_per_gpu")
                          : r.has("fsdp_config") || r.has("deepspeed_config") || r.has("distributed_type");
  if (!known)
    return fail(Code::bad_input, fmt::format("{}: this is no configuration of DeepSpeed, Accelerate or Megatron-LM", where),
                json ? "one with zero_optimization or train_batch_size" : "one with fsdp_config or deepspeed_config");
  LaunchConfig out = json ? deepspeed(r) : accelerate(r);
  if (!wrong.empty()) return fail(Code::bad_input, wrong, "mend the file, or leave it out and use flags");
  return out;
}

}  // namespace muster
