#include "ingest/comm_settings.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/text.h"
#include "ingest/json.h"

namespace muster {
namespace {

constexpr std::size_t kValuesMax = 100'000;
constexpr std::size_t kDepthMax = 64;

struct Leaf {
  std::string path;  // ".zero_optimization.offload_optimizer.device"
  std::string text;
};
using Leaves = std::map<std::string, std::vector<Leaf>, std::less<>>;

std::optional<std::string> text_of(const Value& v) {
  if (v.boolean() != nullptr) return *v.boolean() ? "true" : "false";
  if (v.string() != nullptr) return *v.string();
  double n = 0;
  if (v.number(n)) return render_number(n);
  if (v.array() == nullptr) return {};
  std::vector<std::string> parts;  // "float8,mx": of short lists of words
  for (const Value& each : *v.array()) {
    if (each.string() == nullptr || parts.size() == 16) return {};
    parts.push_back(each.string()->substr(0, 64));
  }
  return join(parts, ",");
}

void collect(const Value& v, const std::string& path, Leaves& into, std::size_t& left, std::size_t depth) {
  if (v.object() == nullptr || depth == 0) return;
  for (const Value::Member& m : *v.object()) {
    if (left == 0 || m.key.size() > 256) return;
    --left;
    const std::string own = path + "." + m.key;
    if (m.value.object() != nullptr) {
      if (own.size() < 1024) collect(m.value, own, into, left, depth - 1);
    } else if (auto text = text_of(m.value)) {
      into[m.key].push_back({own, std::move(*text)});
    }
  }
}

// Readings of one setting's text.
class Words {
 public:
  explicit Words(const SettingText& text) : text_(text) {}

  // The first of several names that is there; empty: none is, or it is left open.
  std::string text(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      const auto t = text_(name);
      if (t && *t != "None" && *t != "none" && *t != "null" && *t != "auto" && !t->empty()) return printable(*t).substr(0, 64);
    }
    return {};
  }
  std::optional<bool> yes(std::initializer_list<std::string_view> names) const {
    const std::string t = lower(text(names));
    if (t == "true" || t == "yes" || t == "1") return true;
    if (t == "false" || t == "no" || t == "0") return false;
    return {};
  }
  std::optional<std::uint64_t> count(std::initializer_list<std::string_view> names) const {
    std::string plain;
    for (const char c : text(names)) {
      if (c != ',') plain += c;
    }
    const auto n = parse_double(plain);
    return n && *n >= 0 && *n <= 1e15 && *n == std::floor(*n) ? std::optional(static_cast<std::uint64_t>(*n)) : std::nullopt;
  }
  std::optional<std::uint32_t> small(std::initializer_list<std::string_view> names) const {
    const auto n = count(names);
    return n && *n <= 1'000'000'000 ? std::optional(static_cast<std::uint32_t>(*n)) : std::nullopt;
  }

 private:
  const SettingText& text_;
};

std::string dtype_word(std::string s) {
  s = lower(s);
  if (s.starts_with("torch.")) s = s.substr(6);
  if (s == "float32" || s == "fp32" || s == "float") return "fp32";
  if (s == "bfloat16" || s == "bf16") return "bf16";
  if (s == "float16" || s == "fp16" || s == "half") return "fp16";
  return {};
}

void megatron_fusions(const Words& w, CommSettings& out) {
  out.grad_accumulation_fusion = w.yes({"gradient_accumulation_fusion"});
  out.cross_entropy_fusion = w.yes({"cross_entropy_loss_fusion"});
  const std::string implementation = w.text({"transformer_impl"}), backend = w.text({"attention_backend"});
  bool flash = false, asked = false;
  for (const char* name : {"use_flash_attn", "use_flash_attn_v1", "use_flash_attn_v2", "use_flash_attn_triton"}) {
    const auto yes = w.yes({name});
    asked = asked || yes;
    flash = flash || yes.value_or(false);
  }
  if (backend.find("unfused") != std::string::npos) {
    out.fused_attention = false;
  } else if (flash || implementation == "transformer_engine") {
    out.fused_attention = true;
  } else if (asked && implementation == "local") {
    out.fused_attention = false;
  }
}

void put_recompute(const Words& w, CommSettings& out) {
  const std::string granularity = w.text({"recompute_granularity", "activations_checkpoint_granularity"});
  if (granularity == "full") out.recompute = Recompute::full;
  if (granularity == "selective" || w.yes({"recompute_activations"}) == true) out.recompute = Recompute::selective;
  if (w.yes({"checkpoint_activations"}) == true) out.recompute = Recompute::full;
}

template <class T>
void fill(std::optional<T>& first, const std::optional<T>& second) {
  if (!first) first = second;
}
void fill(std::string& first, const std::string& second) {
  if (first.empty()) first = second;
}
template <class T>
requires std::is_integral_v<T>
void fill(T& first, T second) {
  if (first == 0) first = second;
}

}  // namespace

SettingText settings_of(const Value& tree) {
  auto all = std::make_shared<Leaves>();
  std::size_t left = kValuesMax;
  collect(tree, "", *all, left, kDepthMax);
  return [all](std::string_view name) -> std::optional<std::string> {
    const std::size_t dot = name.rfind('.');
    const auto it = all->find(dot == std::string_view::npos ? name : name.substr(dot + 1));
    if (it == all->end()) return {};
    const std::string end = "." + std::string(name);
    for (const Leaf& leaf : it->second) {
      if (leaf.path.ends_with(end)) return leaf.text;
    }
    return {};
  };
}

SettingText settings_of(const Arguments& script) {
  return [script](std::string_view name) -> std::optional<std::string> {
    std::string flag(name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (flag == "fp8") flag = "fp8-format";
    if (script.has(flag)) {
      const std::string value = script.text(flag);
      return value.empty() || value.starts_with('-') ? "true" : value;
    }
    if (script.has("no-" + flag)) return "false";
    for (const char* off : {"overlap_grad_reduce", "overlap_param_gather", "tp_comm_overlap", "use_distributed_optimizer",
                            "sequence_parallel", "cross_entropy_loss_fusion"}) {
      if (name == off) return "false";
    }
    return {};
  };
}

CommSettings megatron_settings(const SettingText& text) {
  const Words w(text);
  CommSettings out;
  out.framework = "Megatron";
  // DeepSpeed does the replicas' part where it is asked to.
  if (w.yes({"deepspeed"}) != true) {
    out.overlap_grad_reduce = w.yes({"overlap_grad_reduce", "overlap_grad_sync"});
    out.overlap_param_gather = w.yes({"overlap_param_gather", "overlap_param_sync"});
    out.distributed_optimizer = w.yes({"use_distributed_optimizer"});
    out.reduce_bucket = w.count({"ddp_bucket_size"}).value_or(0);
  } else {
    out.zero_stage = w.small({"zero_stage"});
  }
  out.grads_fp32 = w.yes({"accumulate_allreduce_grads_in_fp32", "grad_reduce_in_fp32"});
  if (out.grads_fp32) out.comm_dtype = *out.grads_fp32 ? "fp32" : "";
  out.sequence_parallel = w.yes({"sequence_parallel"});
  out.tensor_overlap = w.yes({"tp_comm_overlap", "ub_tp_comm_overlap"});
  out.async_tensor = w.yes({"async_tensor_model_parallel_allreduce"});
  out.overlap_p2p = w.yes({"overlap_p2p_comm"});
  out.moe_dispatcher = w.text({"moe_token_dispatcher_type"});
  put_recompute(w, out);
  megatron_fusions(w, out);
  if (w.yes({"bf16"}) == true || w.yes({"fp16"}) == true) out.dtype = Dtype::bf16;
  if (!w.text({"fp8"}).empty() && w.yes({"fp8"}) != false)
    out.dtype = w.text({"fp8_recipe"}) == "mxfp8" ? Dtype::mxfp8 : Dtype::fp8;
  out.data_workers = w.small({"num_workers"});
  out.timing_level = w.small({"timing_log_level"});
  out.empty_cache = w.small({"empty_unused_memory_level"});
  out.save_interval = w.count({"save_interval"}).value_or(0);
  out.eval_interval = w.count({"eval_interval"}).value_or(0);
  out.log_interval = w.count({"log_interval"}).value_or(0);
  out.async_save = w.yes({"async_save"});
  return out;
}

CommSettings deepspeed_settings(const SettingText& text) {
  const Words w(text);
  CommSettings out;
  out.framework = "DeepSpeed";
  out.zero_stage = w.small({"zero_optimization.stage", "zero_config.stage", "zero_stage", "zero_optimization_stage"});
  out.overlap_grad_reduce = w.yes({"overlap_comm"});
  // What it is where nobody says: DeepSpeed's own documentation.
  if (!out.overlap_grad_reduce && out.zero_stage && *out.zero_stage > 0) out.overlap_grad_reduce = *out.zero_stage == 3;
  out.reduce_bucket = w.count({"reduce_bucket_size"}).value_or(0);
  out.gather_bucket = w.count({"allgather_bucket_size"}).value_or(0);
  out.prefetch_bucket = w.count({"stage3_prefetch_bucket_size", "prefetch_bucket_size"}).value_or(0);
  out.persistence_threshold = w.count({"stage3_param_persistence_threshold", "param_persistence_threshold"});
  out.hierarchy = w.small({"zero_hpz_partition_size"}).value_or(0);
  out.quantized_weights = w.yes({"zero_quantized_weights"});
  out.quantized_gradients = w.yes({"zero_quantized_gradients"});
  out.contiguous_gradients = w.yes({"contiguous_gradients"});
  out.reduce_scatter = w.yes({"reduce_scatter"});
  out.offload_optimizer = w.text({"offload_optimizer.device", "offload_optimizer_device"});
  out.offload_param = w.text({"offload_param.device", "offload_param_device"});
  out.comm_dtype = dtype_word(w.text({"communication_data_type"}));
  if (w.yes({"bf16.enabled", "bfloat16.enabled"}) == true || w.yes({"fp16.enabled"}) == true) out.dtype = Dtype::bf16;
  out.wall_clock_breakdown = w.yes({"wall_clock_breakdown"});
  return out;
}

CommSettings fsdp_settings(const SettingText& text) {
  const Words w(text);
  CommSettings out;
  out.framework = lower(w.text({"distributed_type"})) == "multi_gpu" ? "DDP" : "FSDP";
  const std::string strategy = w.text({"fsdp_sharding_strategy", "sharding_strategy"});
  if (strategy == "FULL_SHARD" || strategy == "1" || strategy == "HYBRID_SHARD" || strategy == "4")
    out.reshard_after_forward = true;
  if (strategy == "SHARD_GRAD_OP" || strategy == "2") out.reshard_after_forward = false;
  if (const auto back = w.yes({"fsdp_reshard_after_forward", "reshard_after_forward"})) out.reshard_after_forward = back;
  std::string prefetch = w.text({"fsdp_backward_prefetch", "fsdp_backward_prefetch_policy", "backward_prefetch"});
  std::transform(prefetch.begin(), prefetch.end(), prefetch.begin(),
                 [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c); });
  out.backward_prefetch = prefetch;
  out.forward_prefetch = w.yes({"fsdp_forward_prefetch", "forward_prefetch"});
  out.limit_all_gathers = w.yes({"fsdp_limit_all_gathers", "limit_all_gathers"});
  if (w.yes({"fsdp_offload_params", "offload_params", "cpu_offload"}) == true) out.offload_param = out.offload_optimizer = "cpu";
  if (const auto again = w.yes({"fsdp_activation_checkpointing", "activation_checkpointing"}))
    out.recompute = *again ? Recompute::full : Recompute::none;
  const std::string precision = lower(w.text({"mixed_precision"}));
  if (precision == "bf16" || precision == "fp16") out.dtype = Dtype::bf16;
  if (precision == "fp8") out.dtype = Dtype::fp8;
  out.comm_dtype = dtype_word(w.text({"reduce_dtype"}));
  out.data_workers = w.small({"dataloader_num_workers"});
  return out;
}

CommSettings torchtitan_settings(const SettingText& text) {
  const Words w(text);
  CommSettings out;
  out.framework = "torchtitan";
  const std::string back = w.text({"parallelism.fsdp_reshard_after_forward"});
  if (back == "never") out.reshard_after_forward = false;
  // By default weights are kept where a pipeline would gather them for every micro-batch.
  if (back == "always" || back == "default" || back.empty())
    out.reshard_after_forward = back == "always" || w.count({"pipeline_parallel_degree"}).value_or(1) <= 1;
  out.async_tensor = w.yes({"enable_async_tensor_parallel"});
  out.sequence_parallel = true;  // it has no other tensor parallelism
  const std::string mode = w.text({"activation_checkpoint.mode"});
  if (mode == "full") out.recompute = Recompute::full;
  if (mode == "selective") out.recompute = Recompute::selective;
  if (const auto t = text("activation_checkpoint.mode"); t && *t == "none") out.recompute = Recompute::none;
  out.compile = w.yes({"training.compile", "compile.enable"});
  if (w.yes({"enable_cpu_offload"}) == true) out.offload_param = out.offload_optimizer = "cpu";
  out.comm_dtype = dtype_word(w.text({"mixed_precision_reduce"}));
  out.dtype = Dtype::bf16;
  const auto float8 = [&] {
    for (const char* name : {"float8.enable_fsdp_float8_all_gather", "float8.enable_float8_linear",
                             "float8.precompute_float8_dynamic_scale_for_fsdp"}) {
      if (w.yes({name}) == true) return true;
    }
    return text("float8.recipe_name").has_value() || text("model.converters").value_or("").find("float8") != std::string::npos;
  };
  if (float8()) out.dtype = Dtype::fp8;
  out.fused_attention = true;
  out.save_interval =
      w.yes({"checkpoint.enable_checkpoint", "checkpoint.enable"}) == true ? w.count({"checkpoint.interval"}).value_or(0) : 0;
  out.log_interval = w.count({"metrics.log_freq"}).value_or(0);
  out.data_workers = w.small({"num_workers"});
  if (const std::string how = w.text({"checkpoint.async_mode"}); !how.empty()) out.async_save = how != "disabled";
  return out;
}

CommSettings log_settings(const StepLog& log) {
  CommSettings out;
  if (!log.arguments.empty()) {
    out = megatron_settings([&](std::string_view name) -> std::optional<std::string> {
      const auto it = log.arguments.find(name);
      return it == log.arguments.end() ? std::nullopt : std::optional(it->second);
    });
  }
  // The engine prints what it made of its configuration, with what was left out filled in.
  if (!log.engine.empty()) {
    out = merged(std::move(out), deepspeed_settings([&](std::string_view name) -> std::optional<std::string> {
                   for (const std::string& key : {std::string(name), "zero_config." + std::string(name)}) {
                     if (const auto it = log.engine.find(key); it != log.engine.end()) return it->second;
                   }
                   return {};
                 }));
  }
  if (!log.deepspeed_json.empty()) {
    if (const auto tree = parse_json(log.deepspeed_json)) out = merged(std::move(out), deepspeed_settings(settings_of(*tree)));
  }
  if (log.mesh.shard > 0 && out.framework.empty()) {
    out.framework = "torchtitan";
    out.sequence_parallel = true;
    out.fused_attention = true;
    out.recompute = log.recompute == "full" ? Recompute::full : log.recompute.empty() ? Recompute::none : Recompute::selective;
  }
  return out;
}

CommSettings merged(CommSettings a, const CommSettings& b) {
  const auto each = [&](auto... of) { (fill(a.*of, b.*of), ...); };
  using S = CommSettings;
  each(&S::framework, &S::overlap_grad_reduce, &S::overlap_param_gather, &S::distributed_optimizer, &S::zero_stage,
       &S::reduce_bucket, &S::gather_bucket, &S::prefetch_bucket, &S::persistence_threshold, &S::hierarchy, &S::quantized_weights,
       &S::quantized_gradients, &S::contiguous_gradients, &S::reduce_scatter, &S::reshard_after_forward, &S::backward_prefetch,
       &S::forward_prefetch, &S::limit_all_gathers, &S::offload_optimizer, &S::offload_param, &S::comm_dtype, &S::grads_fp32);
  each(&S::sequence_parallel, &S::tensor_overlap, &S::async_tensor, &S::overlap_p2p, &S::moe_dispatcher, &S::recompute,
       &S::fused_attention, &S::grad_accumulation_fusion, &S::cross_entropy_fusion, &S::compile, &S::dtype, &S::data_workers,
       &S::timing_level, &S::wall_clock_breakdown, &S::empty_cache, &S::save_interval, &S::eval_interval, &S::log_interval,
       &S::async_save);
  return a;
}

}  // namespace muster
