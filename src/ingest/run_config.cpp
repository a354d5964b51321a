#include "ingest/run_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "ingest/comm_settings.h"
#include "ingest/hardware_file.h"
#include "ingest/json.h"
#include "ingest/model_config.h"
#include "ingest/step_log.h"
#include "ingest/toml.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

constexpr std::size_t kConfigBytesMax = 1 << 20;

// A value that can stand in a script without meaning something else there.
bool plain(std::string_view value) {
  if (value.empty() || value.size() > 64 || value.starts_with('-')) return false;
  return std::all_of(value.begin(), value.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == ',' || c == '+' || c == '*' ||
           c == '(' || c == ')' || c == '[' || c == ']' || c == '-';
  });
}

// Arguments as a program dumps them, as they would have been given: "num_layers" -> "32" is "--num-layers 32".
std::string script_of(const StepLog& log) {
  std::string out;
  for (const auto& [name, value] : log.arguments) {
    if (value == "None" || value == "False" || name.size() > 64) continue;
    if ((name == "num_experts" && !parse_uint(value)) || name == "vocab_size" || name == "padded_vocab_size") continue;
    std::string flag = name == "fp8" ? "fp8-format" : name == "num_key_value_heads" ? "num-query-groups" : name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (value != "True" && !plain(value)) continue;
    out += "--" + flag + (value == "True" ? "" : " " + value) + "\n";
    if (name == "num_key_value_heads") out += "--group-query-attention\n";
  }
  if (log.padded_vocab > 0) out += fmt::format("--padded-vocab-size {}\n", log.padded_vocab);
  return out;
}

std::string argument(const StepLog& log, std::string_view name) {
  const auto it = log.arguments.find(name);
  return it == log.arguments.end() ? std::string() : it->second;
}

void megatron_launch(const StepLog& log, RunConfig& out) {
  const std::string script = script_of(log);
  auto launch = parse_launch_config(script, "the log's arguments");
  if (!launch) {
    out.not_planned = launch.error().what;
  } else {
    if (log.gpus > 0) launch->gpus = log.gpus;
    if (const auto stage = parse_uint(argument(log, "zero_stage")); stage && *stage <= 3 && argument(log, "deepspeed") == "True")
      launch->shard = static_cast<Shard>(*stage);
    if (const auto n = parse_uint(argument(log, "ds_sequence_parallel_size")); n && *n > 1 && *n < 1024)
      launch->cp = static_cast<std::uint32_t>(*n);
    if (argument(log, "checkpoint_activations") == "True") launch->recompute = Recompute::full;
    out.launch = *launch;
  }
  if (auto model = parse_model_config(script, "the log's arguments")) {
    out.model = *model;
  } else if (out.not_planned.empty()) {
    out.not_planned = model.error().what;
  }
}

// "llama3 8B" is llama3-8b.
std::optional<Transformer> model_called(std::string_view name) {
  std::string key = lower(name);
  std::replace(key.begin(), key.end(), ' ', '-');
  const Transformer* m = find_transformer(key);
  return m == nullptr ? std::nullopt : std::optional(*m);
}

void titan_launch(const StepLog& log, RunConfig& out) {
  LaunchConfig c;
  c.framework = "torchtitan";
  const RankMesh& m = log.mesh;
  c.gpus = log.gpus;
  c.tp = std::max(1U, m.tp);
  c.cp = std::max(1U, m.cp);
  c.pp = std::max(1U, m.pp);
  c.ep = m.ep;
  c.copies = m.replicate;
  c.batch = log.batch;
  c.micro_batch = log.micro_batch;
  c.seq = log.seq;
  c.shard = m.shard > 1 ? Shard::weights : Shard::none;
  c.recompute = out.settings.recompute;
  c.sequence_parallel = c.tp > 1;
  c.dtype = out.settings.dtype;
  out.launch = c;
  out.model = model_called(log.model);
}

// "[parallelism]" on a line of its own.
bool is_toml(std::string_view text, std::string_view where) {
  if (lower(where).ends_with(".toml")) return true;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(text.substr(at, end - at));
    if (line == "[parallelism]" || line == "[training]" || line == "[activation_checkpoint]") return true;
    at = end + 1;
  }
  return false;
}

RunConfig titan_config(const Value& tree) {
  const SettingText text = settings_of(tree);
  const auto count = [&](std::string_view name, std::uint32_t otherwise) {
    const auto t = text(name);
    const auto n = t ? parse_uint(*t) : std::nullopt;
    return n && *n <= 100'000'000 ? static_cast<std::uint32_t>(*n) : otherwise;
  };
  RunConfig out;
  out.settings = torchtitan_settings(text);
  LaunchConfig c;
  c.framework = "torchtitan";
  c.tp = std::max(1U, count("tensor_parallel_degree", 1));
  c.cp = std::max(1U, count("context_parallel_degree", 1));
  c.pp = std::max(1U, count("pipeline_parallel_degree", 1));
  c.ep = count("expert_parallel_degree", 0);
  c.copies = count("data_parallel_replicate_degree", 1);
  const std::uint32_t shard = count("data_parallel_shard_degree", 0);  // -1: all that are left
  c.shard = shard == 1 ? Shard::none : out.settings.reshard_after_forward == false ? Shard::gradients : Shard::weights;
  if (shard > 0) {
    const double all = static_cast<double>(shard) * std::max(1U, c.copies) * c.tp * c.cp * c.pp;
    if (all <= 1e7) c.gpus = static_cast<std::uint32_t>(all);
  }
  c.seq = count("training.seq_len", 0);
  c.micro_batch = count("training.local_batch_size", count("training.batch_size", 0));
  c.batch = count("training.global_batch_size", 0);
  c.recompute = out.settings.recompute;
  c.sequence_parallel = c.tp > 1;
  c.dtype = out.settings.dtype;
  out.launch = c;
  out.model = model_called(text("model.name").value_or("") + " " + text("model.flavor").value_or(""));
  return out;
}

RunConfig script_config(std::string_view text, std::string_view where) {
  RunConfig out;
  out.settings = megatron_settings(settings_of(Arguments(text)));
  if (auto launch = parse_launch_config(text, where)) {
    out.launch = *launch;
  } else {
    out.not_planned = launch.error().what;
  }
  if (auto model = parse_model_config(text, where)) out.model = *model;
  return out;
}

// JSON or YAML: by the keys that only one of them has.
Result<RunConfig> tree_config(const Value& tree, bool json, std::string_view text, std::string_view where) {
  const SettingText setting = settings_of(tree);
  const auto top = [&](std::string_view key) { return tree.find(key) != nullptr; };
  RunConfig out;
  const bool deepspeed = top("zero_optimization") || top("train_micro_batch_size_per_gpu") || top("train_batch_size");
  const bool accelerate = top("fsdp_config") || top("deepspeed_config") || top("distributed_type");
  if (json && (top("num_hidden_layers") || top("n_layer") || top("text_config"))) {
    auto model = parse_model_config(text, where);
    if (!model) return tl::unexpected(model.error());
    out.model = *model;
    return out;
  }
  if (deepspeed || accelerate) {
    const bool zero = deepspeed || lower(setting("distributed_type").value_or("")) == "deepspeed";
    out.settings = zero ? deepspeed_settings(setting) : fsdp_settings(setting);
    const auto count = [&](std::string_view name) {
      const auto n = parse_uint(setting(name).value_or(""));
      return n && *n <= 1'000'000 ? static_cast<std::uint32_t>(*n) : 0U;
    };
    out.batch = count("train_batch_size");
    const std::uint64_t own = std::uint64_t{count("train_micro_batch_size_per_gpu")} * count("gradient_accumulation_steps");
    if (own <= 1'000'000) out.rank_batch = static_cast<std::uint32_t>(own);
    if (auto launch = parse_launch_config(text, where)) {
      out.launch = *launch;
    } else {
      out.not_planned = launch.error().what;
    }
    return out;
  }
  for (const char* key : {"backward_prefetch", "fsdp_transformer_layer_cls_to_wrap", "transformer_layer_cls_to_wrap",
                          "fsdp_backward_prefetch", "fsdp_sharding_strategy", "reshard_after_forward", "limit_all_gathers"}) {
    if (!setting(key) && !top(key)) continue;
    out.settings = fsdp_settings(setting);
    return out;
  }
  if (setting("tensor_model_parallel_size") || setting("overlap_grad_reduce") || setting("micro_batch_size")) {
    out.settings = megatron_settings(setting);
    return out;
  }
  return fail(Code::bad_input, fmt::format("{}: this is no configuration of a training framework that is known", where),
              "DeepSpeed's JSON, Accelerate's YAML, torchtitan's TOML, or a script with Megatron-LM's arguments");
}

}  // namespace

Result<RunConfig> parse_run_config(std::string_view text, std::string_view where) {
  if (text.size() > kConfigBytesMax) {
    if (looks_like_step_log(text)) return run_config_of(parse_step_log(text));
    return fail(Code::bad_input, fmt::format("{}: no configuration is that large", where));
  }
  const std::string_view all = trim(text);
  const bool json = all.starts_with('{');
  if (!json && is_toml(text, where)) {
    const auto tree = parse_toml(text, where);
    if (!tree) return tl::unexpected(tree.error());
    return titan_config(*tree);
  }
  if (!json) {
    if (looks_like_step_log(text)) {
      RunConfig out = run_config_of(parse_step_log(text));
      if (out.launch || !out.settings.framework.empty()) return out;
    }
    const Arguments a(text);
    if (a.has("micro-batch-size") || a.has("tensor-model-parallel-size") || a.has("num-layers"))
      return script_config(text, where);
  }
  const auto tree = json ? parse_json(text) : parse_yaml(text, where);
  if (!tree) {
    return fail(Code::bad_input, json ? fmt::format("{}: {}", where, tree.error().what) : tree.error().what,
                "DeepSpeed's JSON, Accelerate's YAML, torchtitan's TOML, or a script with Megatron-LM's arguments");
  }
  return tree_config(*tree, json, text, where);
}

RunConfig run_config_of(const StepLog& log) {
  RunConfig out;
  out.settings = log_settings(log);
  if (!log.arguments.empty()) {
    megatron_launch(log, out);
  } else if (log.mesh.shard > 0) {
    titan_launch(log, out);
  } else if (!log.deepspeed_json.empty()) {
    if (auto launch = parse_launch_config(log.deepspeed_json, "the log's DeepSpeed configuration")) {
      out.launch = *launch;
      if (log.gpus > 0) out.launch->gpus = log.gpus;
    } else {
      out.not_planned = launch.error().what;
    }
  }
  return out;
}

RunConfig merged(RunConfig a, const RunConfig& b) {
  a.settings = merged(std::move(a.settings), b.settings);
  if (!a.model) a.model = b.model;
  if (a.batch == 0) a.batch = b.batch;
  if (a.rank_batch == 0) a.rank_batch = b.rank_batch;
  if (!a.launch) {
    a.launch = b.launch;
    return a;
  }
  if (!b.launch) return a;
  LaunchConfig& x = *a.launch;
  const LaunchConfig& y = *b.launch;
  for (std::uint32_t LaunchConfig::*of :
       {&LaunchConfig::gpus, &LaunchConfig::batch, &LaunchConfig::micro_batch, &LaunchConfig::ep, &LaunchConfig::seq,
        &LaunchConfig::shard_ranks, &LaunchConfig::copies}) {
    if (x.*of == 0) x.*of = y.*of;
  }
  for (std::uint32_t LaunchConfig::*of : {&LaunchConfig::tp, &LaunchConfig::cp, &LaunchConfig::pp, &LaunchConfig::vp}) {
    if (x.*of == 1) x.*of = y.*of;
  }
  if (!x.shard) x.shard = y.shard;
  if (!x.recompute) {
    x.recompute = y.recompute;
    x.recompute_layers = y.recompute_layers;
  }
  if (!x.sequence_parallel) x.sequence_parallel = y.sequence_parallel;
  if (!x.dtype) x.dtype = y.dtype;
  return a;
}

std::uint32_t batch_of(const RunConfig& c, std::uint32_t gpus) {
  if (c.batch > 0) return c.batch;
  if (c.launch && c.launch->batch > 0) return c.launch->batch;
  const std::uint64_t all = std::uint64_t{c.rank_batch} * gpus;
  return all <= UINT32_MAX ? static_cast<std::uint32_t>(all) : 0;
}

Result<TrainingPlan> plan_of(const LaunchConfig& c, std::uint32_t gpus, std::uint32_t seq, std::uint32_t node_gpus) {
  const auto bad = [](std::string what) {
    return fail(Code::bad_input, std::move(what), "--config with the run's own settings");
  };
  TrainingPlan p;
  p.gpus = c.gpus > 0 ? c.gpus : gpus;
  p.seq = c.seq > 0 ? c.seq : seq;
  if (p.gpus == 0) return bad("how many GPUs it ran on is not told");
  if (p.seq == 0) return bad("the length of its sequences is not told");
  const std::uint64_t ranks = std::uint64_t{c.tp} * c.cp * c.pp;
  if (ranks == 0 || p.gpus % ranks != 0)
    return bad(fmt::format("{} tensor, context and pipeline ranks do not divide {} GPUs", ranks, p.gpus));
  p.tp = c.tp;
  p.cp = c.cp;
  p.pp = c.pp;
  p.vp = c.pp > 1 ? std::max(1U, c.vp) : 1;
  p.ep = std::max(1U, c.ep);
  p.dp = static_cast<std::uint32_t>(p.gpus / ranks);
  p.micro_batch = std::max(1U, c.micro_batch);
  const std::uint64_t each = std::uint64_t{p.dp} * p.micro_batch;
  p.global_batch = c.batch > 0 ? c.batch : static_cast<std::uint32_t>(std::min<std::uint64_t>(each, UINT32_MAX));
  if (p.global_batch % each != 0)
    return bad(
        fmt::format("a batch of {} is no multiple of {} replicas with micro-batches of {}", p.global_batch, p.dp, p.micro_batch));
  p.recompute = c.recompute.value_or(Recompute::none);
  p.recompute_layers = c.recompute_layers;
  p.dtype = c.dtype.value_or(Dtype::bf16);
  p.shard = c.shard.value_or(Shard::none);
  p.shard_ranks = c.shard_ranks;
  if (c.copies > 1) p.shard_ranks = std::max(1U, p.gpus / c.tp / c.pp / c.copies);
  if (c.copy_a_node) p.shard_ranks = std::max(1U, node_gpus / c.tp);
  if (p.shard_ranks >= p.replicas()) p.shard_ranks = 0;
  p.sequence_parallel = c.sequence_parallel.value_or(false) && p.tp > 1;
  return p;
}

}  // namespace muster
