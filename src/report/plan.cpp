#include "report/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "report/units.h"

namespace muster::report {
namespace {

std::string seconds(double s) { return s < 1 ? fmt::format("{:.0f} ms", s * 1e3) : fmt::format("{:.2f} s", s); }

std::string_view zero_name(const TrainingPlan& p) {
  return p.shard == Shard::weights && p.shard_ranks > 0 ? "HSDP" : names(Shard{})[static_cast<std::size_t>(p.shard)];
}

}  // namespace

std::span<const StepPart> step_parts() {
  using T = predict::StepTime;
  static constexpr StepPart kParts[] = {
      {"compute", "computing layers", &T::compute_s},
      {"head", "the product with the vocabulary", &T::head_s},
      {"tensor", "exchanges among tensor ranks", &T::tensor_s},
      {"context", "exchanges among context ranks", &T::context_s},
      {"expert", "tokens to experts and back", &T::expert_s},
      {"send", "sends between stages", &T::send_s},
      {"data", "gradients and weights among replicas", &T::data_s},
      {"bubble", "stages that wait for the pipeline", &T::bubble_s},
      {"optimizer", "the optimizer", &T::optimizer_s},
      {"overhead", "the software's own overhead", &T::overhead_s},
      {"jitter", "the slowest of many", &T::jitter_s},
  };
  return kParts;
}

Table plan_table(const std::vector<PlanRow>& rows) {
  Table t;
  for (const char* name : {"TP", "CP", "PP", "VP", "EP", "DP", "MICRO"}) t.columns.push_back({name, true});
  t.columns.push_back({"RECOMPUTE"});
  t.columns.push_back({"SHARDED"});
  for (const char* name : {"STEP", "LOW", "HIGH", "MFU", "MEMORY GB", "TOKENS/S/GPU"}) t.columns.push_back({name, true});
  for (const StepPart& p : step_parts()) t.columns.push_back({upper(p.key), true, true});
  for (const PlanRow& r : rows) {
    const TrainingPlan& p = r.candidate.plan;
    std::vector<Cell> row;
    const auto number = [&](const char* format, double v) {
      Cell c(fmt::format(fmt::runtime(format), v));
      c.raw = fmt::format("{:.6g}", v);
      c.key = v;
      row.push_back(std::move(c));
    };
    for (const std::uint32_t n : {p.tp, p.cp, p.pp, p.vp, p.ep, p.dp, p.micro_batch}) number("{:g}", n);
    row.emplace_back(p.recompute_layers > 0 ? fmt::format("{} layers", p.recompute_layers)
                                            : std::string(names(Recompute{})[static_cast<std::size_t>(p.recompute)]));
    row.emplace_back(std::string(zero_name(p)));
    number("{:.3f} s", r.candidate.step_s);
    number("{:.3f} s", r.candidate.step_s * r.low);
    number("{:.3f} s", r.candidate.step_s * r.high);
    number("{:.1f} %", 100 * r.mfu);
    number("{:.1f}", r.candidate.memory_gb);
    number("{:.0f}", p.tokens() / r.candidate.step_s / p.gpus);
    for (const StepPart& part : step_parts()) number("{:.4f}", r.time.*part.value);
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table operator_table(const design::SearchAsk& ask, const design::Candidate& candidate) {
  const TrainingPlan& p = candidate.plan;
  const Transformer& m = ask.model;
  const predict::Engine engine{&ask.gpu, &ask.calibration, p.dtype};
  Table t;
  t.columns = {{"PART"}, {"OPERATOR"}, {"FORWARD_US", true}, {"BACKWARD_US", true}, {"TFLOP_S", true}, {"SHARE_PCT", true}};
  const auto row = [&](std::string part, std::string name, double forward_s, double backward_s, double flops, double of_step_s) {
    const auto number = [](double v, int digits) {
      Cell c(v > 0 ? fmt::format("{:.{}f}", v, digits) : "-");
      c.raw = fmt::format("{:.6g}", v);
      c.key = v;
      return c;
    };
    t.rows.push_back({Cell(std::move(part)), Cell(std::move(name)), number(forward_s * 1e6, 1), number(backward_s * 1e6, 1),
                      number(flops > 0 ? flops / forward_s / 1e12 : 0, 0), number(100 * of_step_s / candidate.step_s, 1)});
  };
  const double micro = p.micro_batches(), stage = p.stage_layers(m.layers);
  const double moe = static_cast<double>(m.moe_layers()) / m.layers;
  for (const auto& [kind, name, share] : {std::tuple(predict::LayerKind::dense, "dense layer", 1 - moe),
                                          std::tuple(predict::LayerKind::moe, "layer with experts", moe)}) {
    if (share <= 0) continue;
    for (const predict::Operator& o : predict::operators(engine, m, p, kind)) {
      // What is computed again is a second forward pass.
      const double again = p.recompute == Recompute::full        ? p.recomputed(m.layers)
                           : p.recompute == Recompute::selective ? (o.name == "attention" ? 1.0 : 0.0)
                                                                 : 0.0;
      row(name, std::string(o.name), o.forward_s, o.backward_s, o.flops,
          ((1 + again) * o.forward_s + o.backward_s) * stage * share * micro);
    }
  }
  const predict::StepTime time = predict::step_time(ask.gpu, ask.calibration, ask.network, m, p);
  for (const StepPart& part : step_parts()) {
    if (part.value == &predict::StepTime::compute_s || time.*part.value <= 0) continue;
    row("step", part.words, 0, 0, 0, time.*part.value);
  }
  return t;
}

std::string say_plan(const TrainingPlan& p) {
  std::string out = fmt::format("TP {}", p.tp);
  if (p.sequence_parallel) out += " with sequence parallelism";
  if (p.cp > 1) out += fmt::format(", CP {}", p.cp);
  out += fmt::format(", PP {}", p.pp);
  if (p.vp > 1) out += fmt::format(" in {} interleaved pieces", p.vp);
  if (p.zero_bubble) out += " with gradients of weights put off";
  if (p.ep > 1) out += fmt::format(", EP {}", p.ep);
  out += fmt::format(", DP {}, micro-batches of {} ({:g} a step), ", p.dp, p.micro_batch, p.micro_batches());
  out += p.recompute == Recompute::none   ? "nothing computed again"
         : p.recompute != Recompute::full ? "attention computed again"
         : p.recompute_layers == 0        ? "layers computed again"
                                          : fmt::format("{} layers of each stage computed again", p.recompute_layers);
  if (p.shard != Shard::none) {
    out += p.shard == Shard::optimizer   ? ", optimizer in pieces"
           : p.shard == Shard::gradients ? ", optimizer and gradients in pieces"
                                         : ", weights in pieces";
    if (p.shard_ranks > 0) out += fmt::format(" among {}", p.shard_ranks);
  }
  return out;
}

std::vector<std::string> say_why(const std::vector<PlanRow>& rows) {
  std::vector<std::string> out;
  if (rows.empty()) return out;
  const PlanRow& best = rows.front();
  out.push_back(fmt::format("best: {}", say_plan(best.candidate.plan)));
  std::vector<const StepPart*> parts;
  for (const StepPart& p : step_parts()) {
    if (best.time.*p.value >= 0.01 * best.candidate.step_s) parts.push_back(&p);
  }
  std::sort(parts.begin(), parts.end(),
            [&](const StepPart* x, const StepPart* y) { return best.time.*(x->value) > best.time.*(y->value); });
  std::string of = fmt::format("its step of {} goes into", seconds(best.candidate.step_s));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    of += fmt::format("{} {} {:.0f} %", i == 0 ? "" : ",", parts[i]->words,
                      100 * (best.time.*(parts[i]->value)) / best.candidate.step_s);
  }
  out.push_back(std::move(of));
  const predict::MemoryUse& m = best.memory;
  out.push_back(
      fmt::format("memory {:.1f} GB: weights {:.1f}, gradients {:.1f}, optimizer {:.1f}, activations {:.1f}, logits {:.1f}, "
                  "the rest {:.1f}",
                  m.all(), m.weights, m.gradients, m.optimizer, m.activations, m.logits, m.rest));
  if (rows.size() < 2) return out;
  const PlanRow& next = rows[1];
  const StepPart* lost = &step_parts()[0];
  for (const StepPart& p : step_parts()) {
    if (next.time.*p.value - best.time.*p.value > next.time.*lost->value - best.time.*lost->value) lost = &p;
  }
  out.push_back(fmt::format("next: {}", say_plan(next.candidate.plan)));
  const double slower = 100 * (next.candidate.step_s / best.candidate.step_s - 1);
  if (slower < 0.2) {
    out.push_back("it is as fast");
    return out;
  }
  out.push_back(fmt::format("it is {:.1f} % slower, most by {}: {} instead of {}", slower, lost->words,
                            seconds(next.time.*lost->value), seconds(best.time.*lost->value)));
  return out;
}

namespace {

std::string megatron(const Transformer& m, const TrainingPlan& p) {
  std::string out;
  const auto line = [&](const std::string& s) { out += (out.empty() ? "" : " \\\n") + s; };
  line(fmt::format("--num-layers {} --hidden-size {} --num-attention-heads {} --ffn-hidden-size {}", m.layers, m.hidden, m.heads,
                   m.ffn > 0 ? m.ffn : m.expert_ffn));
  if (m.kv_heads != m.heads && m.kv_rank == 0) line(fmt::format("--group-query-attention --num-query-groups {}", m.kv_heads));
  if (m.kv_rank > 0) {
    line(fmt::format("--multi-latent-attention --kv-lora-rank {} --qk-head-dim {} --qk-pos-emb-head-dim {} --v-head-dim {}",
                     m.kv_rank, m.nope_dim, m.rope_dim, m.v_dim));
    if (m.q_rank > 0) line(fmt::format("--q-lora-rank {}", m.q_rank));
  }
  if (m.kv_rank == 0 && m.head_dim * m.heads != m.hidden) line(fmt::format("--kv-channels {}", m.head_dim));
  if (m.window > 0 && m.windowed > 0) {
    line(fmt::format("--window-size {},0", m.window - 1));
    if (m.windowed < 1) line(fmt::format("--window-attn-skip-freq {:.0f}", 1 / (1 - m.windowed)));
  }
  if (m.gated) line("--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear");
  line(fmt::format("--vocab-size {}{}", m.vocab, m.tied ? "" : " --untie-embeddings-and-output-weights"));
  line(fmt::format("--seq-length {} --max-position-embeddings {}", p.seq, p.seq));
  line(fmt::format("--micro-batch-size {} --global-batch-size {}", p.micro_batch, p.global_batch));
  line(fmt::format("--tensor-model-parallel-size {} --pipeline-model-parallel-size {}", p.tp, p.pp));
  if (p.cp > 1) line(fmt::format("--context-parallel-size {}", p.cp));
  const bool even = m.layers % p.pp == 0;
  if (p.vp > 1) line(fmt::format("--num-layers-per-virtual-pipeline-stage {}", (even ? m.layers : m.layers + 2) / p.pp / p.vp));
  if (!even && p.vp > 1) line("--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split");
  if (!even && p.vp == 1) {
    // The stages between have the most; the first and the last, with the embedding and the head, what is left.
    const std::uint32_t left = m.layers - p.stage_layers(m.layers) * (p.pp - 2);
    line(fmt::format("--decoder-first-pipeline-num-layers {} --decoder-last-pipeline-num-layers {}", (left + 1) / 2, left / 2));
  }
  if (m.experts > 0) {
    line(
        fmt::format("--num-experts {} --moe-router-topk {} --moe-ffn-hidden-size {} --expert-model-parallel-size {} "
                    "--expert-tensor-parallel-size 1 --moe-grouped-gemm --moe-token-dispatcher-type alltoall",
                    m.experts, m.top_k, m.expert_ffn, p.ep));
    if (m.shared_ffn > 0) line(fmt::format("--moe-shared-expert-intermediate-size {}", m.shared_ffn));
    if (m.dense_layers > 0) line(fmt::format("--moe-layer-freq '([0]*{}+[1]*{})'", m.dense_layers, m.layers - m.dense_layers));
  }
  if (p.sequence_parallel) line("--sequence-parallel");
  if (p.recompute == Recompute::selective) line("--recompute-activations");
  if (p.recompute == Recompute::full) {
    line(p.recompute_layers == 0 ? "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
                                 : fmt::format("--recompute-granularity full --recompute-method block --recompute-num-layers {}",
                                               p.recompute_layers / p.vp));
  }
  if (p.shard == Shard::optimizer) line("--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather");
  if (p.shard >= Shard::gradients) {
    line(
        fmt::format("--use-megatron-fsdp --data-parallel-sharding-strategy {} --use-distributed-optimizer "
                    "--no-gradient-accumulation-fusion --ckpt-format fsdp_dtensor",
                    p.shard == Shard::weights ? "optim_grads_params" : "optim_grads"));
    if (p.shard_ranks > 0) line(fmt::format("--num-distributed-optimizer-instances {:g}", p.replicas() / p.shard_ranks));
  }
  line(p.dtype == Dtype::bf16    ? "--bf16"
       : p.dtype == Dtype::fp8   ? "--bf16 --fp8-format hybrid"
       : p.dtype == Dtype::mxfp8 ? "--bf16 --fp8-format e4m3 --fp8-recipe mxfp8"
                                 : "--bf16 --fp4-format e2m1");
  return out + "\n";
}

Result<std::string> deepspeed(const TrainingPlan& p) {
  if (p.recompute != Recompute::none)
    return fail(Code::bad_input,
                "this plan computes layers again, which DeepSpeed takes from the model's code and not from its configuration",
                "--recompute none, or another framework's arguments");
  if (p.pp > 1 || p.ep > 1) {
    return fail(Code::bad_input,
                fmt::format("this plan has {}, which DeepSpeed takes from the model's code and not from its configuration",
                            p.pp > 1 ? "pipeline stages" : "expert ranks"),
                "ask for megatron's arguments, or for a plan without them");
  }
  const int stage = static_cast<int>(p.shard);
  std::string zero = fmt::format("\"stage\": {}, \"overlap_comm\": true, \"contiguous_gradients\": true", stage);
  if (p.shard_ranks > 0) zero += fmt::format(", \"mics_shard_size\": {}", p.shard_ranks);
  return fmt::format(
      "{{\n  \"train_batch_size\": {},\n  \"train_micro_batch_size_per_gpu\": {},\n  \"gradient_accumulation_steps\": {:g},\n"
      "  \"bf16\": {{\"enabled\": true}},\n  \"zero_optimization\": {{{}}},\n"
      "  \"tensor_parallel\": {{\"autotp_size\": {}}},\n  \"sequence_parallel_size\": {}\n}}\n",
      p.global_batch, p.micro_batch, p.micro_batches(), zero, p.tp, p.cp);
}

// Its degrees multiply to the GPUs. Less than weights in pieces is: weights that stay together once they were gathered.
std::string torchtitan(const Transformer& m, const TrainingPlan& p) {
  const double whole = p.shard == Shard::none ? p.dp : p.shard_ranks > 0 ? p.replicas() / p.shard_ranks : 1;
  const double pieces = p.dp / whole;
  // With stages it cuts the local batch into micro-batches; without, a local batch is one pass and steps accumulate.
  const std::uint32_t local = p.pp > 1 ? p.global_batch / p.dp : p.micro_batch;
  // It counts the embedding and the head as a layer each.
  const std::uint32_t parts = p.pp * p.vp;
  const std::string per_stage =
      p.pp > 1 ? fmt::format("pipeline_parallel_layers_per_stage = {}\n", (m.layers + 2 + parts - 1) / parts) : "";
  return fmt::format(
      "[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\nseq_len = {}\n\n"
      "[parallelism]\ndata_parallel_replicate_degree = {:g}\ndata_parallel_shard_degree = {:g}\ntensor_parallel_degree = {}\n"
      "context_parallel_degree = {}\npipeline_parallel_degree = {}\npipeline_parallel_schedule = \"{}\"\n{}"
      "pipeline_parallel_microbatch_size = {}\nexpert_parallel_degree = {}\nfsdp_reshard_after_forward = "
      "\"{}\"\n\n[activation_checkpoint]\nmode = \"{}\"\n",
      local, p.global_batch, p.seq, whole, pieces, p.tp, p.cp, p.pp,
      p.zero_bubble ? "InterleavedZeroBubble"
      : p.vp > 1    ? "Interleaved1F1B"
                    : "1F1B",
      per_stage, p.micro_batch, p.ep, p.shard == Shard::weights ? "always" : "never",
      p.recompute == Recompute::none   ? "none"
      : p.recompute == Recompute::full ? "full"
                                       : "selective");
}

}  // namespace

Result<std::string> launch_text(Launcher launcher, const Transformer& model, const TrainingPlan& plan) {
  if (plan.zero_bubble && launcher == Launcher::megatron)
    return fail(Code::bad_input, "Megatron-LM cannot put off the gradients of weights",
                "--launch torchtitan, or --schedule interleaved");
  if (plan.zero_bubble && plan.vp < 2)
    return fail(Code::bad_input, "torchtitan puts off the gradients of weights only with two pieces a stage or more", "--vp 2");
  if (plan.dtype != Dtype::bf16 && launcher != Launcher::megatron)
    return fail(
        Code::bad_input,
        fmt::format("only Megatron-LM's arguments are written for {}", names(Dtype{})[static_cast<std::size_t>(plan.dtype)]),
        "--launch megatron, or --dtype bf16");
  if (launcher == Launcher::torchtitan && plan.recompute_layers > 0)
    return fail(Code::bad_input, "torchtitan computes all layers again or none",
                "--recompute none, selective, or megatron's arguments");
  if (launcher == Launcher::torchtitan && plan.ep > 1 && static_cast<std::uint32_t>(plan.pieces()) * plan.tp % plan.ep != 0)
    return fail(Code::bad_input,
                fmt::format("torchtitan wants {} expert ranks to divide the {:g} ranks that share one copy", plan.ep,
                            plan.pieces() * plan.tp),
                "fewer expert ranks (--ep), or megatron's arguments");
  switch (launcher) {
    case Launcher::megatron: return megatron(model, plan);
    case Launcher::deepspeed: return deepspeed(plan);
    case Launcher::torchtitan: return torchtitan(model, plan);
  }
  return {};
}

}  // namespace muster::report
