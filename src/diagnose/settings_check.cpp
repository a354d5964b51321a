#include "diagnose/settings_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "model/fields.h"
#include "predict/memory.h"
#include "predict/step.h"

namespace muster::diagnose {
namespace {

using predict::Group;
using predict::StepTime;

constexpr double kWeightBytes = 2;
constexpr double kHidden = 0.5;                     // of what could be hidden, at least: kernels beside exchanges are slower
constexpr double kWorthPct = 0.5;                   // of a step: less is not worth a change
constexpr double kMemory = 0.94;                    // of a GPU's that may be used
constexpr double kCasesMost = 0.9;                  // of a step: nothing saves more
constexpr std::uint64_t kBucketLeast = 10'000'000;  // gradients: 20 MB keep the network busier than their start does

// In whose words a remedy is given.
enum class Family { megatron, deepspeed, fsdp, torchtitan };

Family family_of(const CommSettings& s) {
  if (s.framework == "torchtitan") return Family::torchtitan;
  if (s.framework == "FSDP" || s.framework == "DDP") return Family::fsdp;
  return s.zero_stage || s.framework == "DeepSpeed" ? Family::deepspeed : Family::megatron;
}

std::string overlap_remedy(Family f) {
  return f == Family::deepspeed
             ? "\"overlap_comm\": true in zero_optimization (it needs up to 4.5 times reduce_bucket_size of memory)"
             : "--overlap-grad-reduce";
}

// What makes the host wait, or lets it do more than it needs to.
std::vector<Finding> host_findings(const CommSettings& s) {
  std::vector<Finding> out;
  if (s.timing_level.value_or(0) > 0)
    out.push_back({.title = fmt::format("timers of level {} wait for all ranks at every phase", *s.timing_level),
                   .remedy = "--timing-log-level 0, but while looking for something",
                   .confidence = Confidence::low});
  if (s.wall_clock_breakdown == true)
    out.push_back({.title = "DeepSpeed waits for the GPU after every phase to time it",
                   .remedy = "\"wall_clock_breakdown\": false, but while looking for something",
                   .confidence = Confidence::low});
  if (s.empty_cache.value_or(0) > 0)
    out.push_back({.title = "the allocator gives its memory back every step",
                   .remedy = "--empty-unused-memory-level 0",
                   .confidence = Confidence::low});
  if (s.contiguous_gradients == false)
    out.push_back({.title = "gradients are not copied into one buffer as they come: memory falls to pieces",
                   .remedy = "\"contiguous_gradients\": true in zero_optimization",
                   .verify = "torch.cuda.memory_reserved() is nearer to memory_allocated()",
                   .confidence = Confidence::low});
  return out;
}

class Check {
 public:
  explicit Check(const SettingsAsk& ask)
      : a_(ask),
        p_(ask.plan),
        links_(ask.gpu, ask.calibration, ask.network),
        family_(family_of(ask.settings)),
        now_(time_of(ask.plan, ask.calibration)),
        step_s_(std::max(ask.step_s, now_.all_s())) {
    const double predicted = predict::memory_use(a_.model, p_, habits()).all();
    if (a_.used_memory_gb > 0 && predicted > 0) memory_scale_ = std::clamp(a_.used_memory_gb / predicted, 0.5, 2.0);
  }

  std::vector<Finding> all() {
    attention();
    overlap_gradients();
    overlap_weights();
    optimizer_pieces();
    whole_weights();
    every_micro_batch();
    small_buckets();
    prefetch();
    tensor();
    recompute();
    micro_batch();
    pieces_of_stages();
    fusions();
    number_format();
    offload();
    host();
    another_split();
    std::stable_sort(out_.begin(), out_.end(), [](const Finding& x, const Finding& y) { return x.cost_pct > y.cost_pct; });
    return std::move(out_);
  }

 private:
  const CommSettings& s() const { return a_.settings; }
  double stage_layers() const { return p_.stage_layers(a_.model.layers); }
  predict::MemoryHabits habits() const {
    predict::MemoryHabits h;
    h.fused_attention = s().fused_attention.value_or(true);
    return h;
  }
  StepTime time_of(const TrainingPlan& plan, const Calibration& c) const {
    return predict::step_time(a_.gpu, c, a_.network, a_.model, plan);
  }
  double memory_gb(const TrainingPlan& plan) const { return memory_scale_ * predict::memory_use(a_.model, plan, habits()).all(); }
  bool fits(const TrainingPlan& plan) const { return memory_gb(plan) <= kMemory * a_.gpu.hbm_gb; }
  Group replicas() const {
    const double ranks = p_.replicas();
    return {ranks, std::clamp(std::floor(a_.gpu.domain / static_cast<double>(p_.tp)), 1.0, ranks)};
  }
  double shared_params() const { return predict::stage_params(a_.model, p_).shared; }
  double gradient_bytes() const { return s().comm_dtype == "fp32" ? 4 : s().comm_dtype.empty() ? a_.calibration.grad_bytes : 2; }
  // Of one micro-batch through one stage.
  predict::LayerTime stage() const {
    const predict::MicroTime micro = predict::micro_time(a_.gpu, a_.calibration, a_.network, a_.model, p_);
    const double moe = stage_layers() * a_.model.moe_layers() / a_.model.layers;
    predict::LayerTime out = micro.dense.times(stage_layers() - moe);
    out.add(micro.moe.times(moe));
    return out;
  }

  // Between `low_s` and `high_s` would be saved, widened by what predictions are off.
  bool add(Finding f, double low_s, double high_s) {
    const double low = 100 * std::max(0.0, low_s * a_.calibration.low) / step_s_;
    const double high = 100 * high_s * a_.calibration.high / step_s_;
    if (!(high >= kWorthPct)) return false;
    f.gain = Gain{std::min(low, 100 * kCasesMost), std::min(high, 100 * kCasesMost)};
    f.cost_pct = f.gain->high_pct;
    if (f.verify.empty()) f.verify = "the median time of a step over 100 steps, before and after";
    out_.push_back(std::move(f));
    return true;
  }
  // What another plan or software would save, both predicted alike.
  bool add_instead(Finding f, const TrainingPlan& plan, const Calibration& c) {
    const double then = time_of(plan, c).all_s(), saved = now_.all_s() - then;
    // A run that is faster than predicted may have saved some of it already.
    const double sure = a_.step_s > 0 ? std::clamp(a_.step_s - then, 0.0, std::max(0.0, saved)) : saved;
    f.evidence.push_back(fmt::format("predicted: a step of {:.3f} s as it is, {:.3f} s with it", now_.all_s(), then));
    return saved > 0 && add(std::move(f), sure, saved);
  }
  void add_untold(Finding f) { out_.push_back(std::move(f)); }

  std::string volume(double bytes, double seconds, const Group& g) const {
    return fmt::format("{:.2f} GB among {:.0f} ranks take {:.3f} s of {:.3f} s at {:.0f} GB/s", bytes / 1e9, g.ranks, seconds,
                       step_s_, links_.ring_bytes_per_s(g) / 1e9);
  }

  void attention() {
    if (s().fused_attention != false) return;
    Calibration fused = a_.calibration;
    if (a_.calibration.attention > 0) return;  // it was fitted on fused kernels: the difference is not in it
    fused.attention = Calibration{}.attention;
    fused.score_passes = 0;
    Finding f{
        .title = "attention is not fused: scores go through memory",
        .evidence = {fmt::format("sequences of {} tokens, {} heads: {:.1f} GB of scores a layer and micro-batch", p_.seq,
                                 a_.model.heads / p_.tp, 2.0 * p_.micro_batch * p_.seq * p_.seq * a_.model.heads / p_.tp / 1e9)},
        .remedy = s().framework == "Megatron" && family_ == Family::deepspeed
                      ? "--use-flash-attn-v2"
                      : "--attention-backend flash with --transformer-impl transformer_engine"};
    add_instead(std::move(f), p_, fused);
  }

  void overlap_gradients() {
    if (s().overlap_grad_reduce != false || p_.replicas() <= 1) return;
    if (p_.shard == Shard::weights) {  // what the model of a step predicts has them overlapped: the difference is not in it
      add_untold({.title = "weights are gathered and gradients summed between computing, not beside it",
                  .remedy = overlap_remedy(family_),
                  .verify = "the median time of a step over 100 steps, before and after"});
      return;
    }
    const Group g = replicas();
    const double bytes = shared_params() * gradient_bytes();
    const bool zero2 = family_ == Family::deepspeed && p_.shard == Shard::gradients;
    const double times = zero2 ? p_.micro_batches() : 1;
    const double each = p_.shard == Shard::none ? links_.all_reduce_s(g, bytes) : links_.gather_s(g, bytes);
    const double hideable = times * std::min(each, stage().backward_s);
    Finding f{.title = "gradients are summed after the backward pass, not beside it",
              .evidence = {volume(times * bytes, times * each, g),
                           fmt::format("{:.3f} s of it have a backward pass beside them", hideable)},
              .remedy = overlap_remedy(family_)};
    add(std::move(f), kHidden * hideable, hideable);
  }

  void overlap_weights() {
    if (s().overlap_param_gather != false || p_.replicas() <= 1 || p_.shard != Shard::optimizer) return;
    const Group g = replicas();
    const double bytes = shared_params() * kWeightBytes, each = links_.gather_s(g, bytes);
    const double hideable = std::min(each, stage().forward_s);
    Finding f{.title = "new weights are gathered before the forward pass, not beside it",
              .evidence = {volume(bytes, each, g)},
              .remedy = "--overlap-param-gather (with --use-distributed-optimizer and --overlap-grad-reduce)"};
    add(std::move(f), kHidden * hideable, hideable);
  }

  void optimizer_pieces() {
    if (s().distributed_optimizer != false || p_.shard != Shard::none || p_.replicas() <= 1) return;
    TrainingPlan instead = p_;
    instead.shard = Shard::optimizer;
    Finding f{.title = "every replica keeps and updates the whole optimizer's state",
              .evidence = {fmt::format("{:.1f} GB of memory a GPU would be free", memory_gb(p_) - memory_gb(instead))},
              .remedy = "--use-distributed-optimizer"};
    add_instead(std::move(f), instead, a_.calibration);
  }

  // Weights in pieces are gathered for each pass: where whole ones fit, they need not be.
  void whole_weights() {
    if (p_.shard != Shard::weights) return;
    TrainingPlan instead = p_;
    instead.shard = Shard::gradients;
    instead.shard_ranks = 0;
    if (!fits(instead)) return;
    Finding f{.title = "weights are kept in pieces and gathered for every pass, though they fit whole",
              .evidence = {fmt::format("whole, a GPU would use {:.0f} GB of {:g}", memory_gb(instead), a_.gpu.hbm_gb)}};
    switch (family_) {
      case Family::deepspeed: f.remedy = "\"stage\": 2 in zero_optimization"; break;
      case Family::torchtitan: f.remedy = "fsdp_reshard_after_forward = \"never\" in [parallelism]"; break;
      case Family::fsdp: f.remedy = "fsdp_reshard_after_forward: false (FSDP 1: fsdp_sharding_strategy: SHARD_GRAD_OP)"; break;
      case Family::megatron: f.remedy = "--data-parallel-sharding-strategy optim_grads"; break;
    }
    add_instead(std::move(f), instead, a_.calibration);
  }

  // ZeRO 2 sums gradients after every micro-batch, ZeRO 1 after the last.
  void every_micro_batch() {
    if (family_ != Family::deepspeed || p_.shard != Shard::gradients || p_.micro_batches() < 2 || p_.replicas() <= 1) return;
    TrainingPlan instead = p_;
    instead.shard = Shard::optimizer;
    if (!fits(instead)) return;
    const Group g = replicas();
    const double bytes = shared_params() * gradient_bytes(), each = links_.gather_s(g, bytes);
    const double saved = (p_.micro_batches() - 1) * each, beside = (p_.micro_batches() - 1) * stage().backward_s;
    const double seen = s().overlap_grad_reduce == true ? std::max(0.1 * saved, saved - beside) : saved;
    Finding f{.title = fmt::format("gradients are summed after each of {:.0f} micro-batches", p_.micro_batches()),
              .evidence = {volume(p_.micro_batches() * bytes, p_.micro_batches() * each, g),
                           fmt::format("with stage 1 a GPU would use {:.0f} GB of {:g}", memory_gb(instead), a_.gpu.hbm_gb)},
              .remedy = "\"stage\": 1 in zero_optimization"};
    add(std::move(f), kHidden * seen, seen);
  }

  void small_buckets() {
    if (s().reduce_bucket == 0 || p_.replicas() <= 1) return;
    const Group g = replicas();
    const double params = shared_params(), bucket = std::min(params, static_cast<double>(s().reduce_bucket));
    const double start = links_.gather_s(g, 0), carry = links_.gather_s(g, bucket * gradient_bytes()) - start;
    if (bucket <= 0 || start < 0.3 * (start + carry)) return;
    const double larger = std::min(params, bucket * start / std::max(carry, 1e-12) * 4);
    const double saved = (params / bucket - params / larger) * start;
    Finding f{.title = "buckets of gradients are so small that starting an exchange takes longer than carrying it",
              .evidence = {fmt::format("{:.0f} buckets of {:.1f} million gradients: {:.0f} us to start, {:.0f} us to carry",
                                       params / bucket, bucket / 1e6, start * 1e6, carry * 1e6)},
              .remedy = family_ == Family::deepspeed ? fmt::format("\"reduce_bucket_size\": {:.0f}", larger)
                                                     : fmt::format("--ddp-bucket-size {:.0f}", larger)};
    add(std::move(f), kHidden * saved, saved);
  }

  void prefetch() {
    if (p_.shard != Shard::weights || p_.replicas() <= 1) return;
    const bool none = s().backward_prefetch == "NO_PREFETCH";
    if (!none && s().backward_prefetch != "BACKWARD_POST") return;
    const Group g = replicas();
    const double bytes = shared_params() * kWeightBytes, gathered = p_.micro_batches() * links_.gather_s(g, bytes);
    const double hideable = std::min(gathered, p_.micro_batches() * stage().backward_s) * (none ? 1 : 0.5);
    Finding f{.title = none ? "weights are asked for only when the backward pass needs them"
                            : "the next weights are asked for after a layer's gradients, not before",
              .evidence = {volume(p_.micro_batches() * bytes, gathered, g)},
              .remedy = "fsdp_backward_prefetch: BACKWARD_PRE"};
    add(std::move(f), kHidden * hideable, hideable);
  }

  void tensor() {
    if (p_.tp <= 1) return;
    if (s().sequence_parallel == false && !p_.sequence_parallel) {
      TrainingPlan instead = p_;
      instead.sequence_parallel = true;
      Finding f{.title = "norms and residuals are computed by every tensor rank alike",
                .evidence = {fmt::format("{:.1f} GB of memory a GPU would be free", memory_gb(p_) - memory_gb(instead))},
                .remedy = "--sequence-parallel"};
      add_instead(std::move(f), instead, a_.calibration);
    }
    const bool off = family_ == Family::torchtitan ? s().async_tensor == false : s().tensor_overlap == false;
    if (!off || static_cast<double>(p_.tp) > a_.gpu.domain) return;
    Calibration seen = a_.calibration;
    seen.tp_exposed = 1;
    const double exchange = time_of(p_, seen).tensor_s;
    const double hidden = exchange * (1 - std::min(a_.calibration.tp_exposed, 0.7));
    Finding f{.title = "tensor ranks exchange after each product, not piece by piece beside it",
              .evidence = {fmt::format("{} tensor ranks exchange for {:.3f} s of {:.3f} s", p_.tp, exchange, step_s_)},
              .remedy = family_ == Family::torchtitan ? "enable_async_tensor_parallel = true in [parallelism], with compile"
                                                      : "--tp-comm-overlap (with --sequence-parallel and transformer_engine)"};
    add(std::move(f), kHidden * hidden, hidden);
  }

  // What a GPU would use if less were computed again: no less than it does. What torchtitan calls selective is not attention
  // alone: it keeps every second product's result, and nothing of what is between them, so without it a GPU keeps at least twice
  // of what it keeps now for the backward pass. Megatron's keeps all but the scores, which the prediction knows.
  double kept_gb(const TrainingPlan& instead) const {
    const double scaled = std::max(memory_gb(instead), a_.used_memory_gb);
    if (!by_products()) return scaled;
    const predict::MemoryUse now = predict::memory_use(a_.model, p_, habits());
    const double backward = std::max(0.0, a_.used_memory_gb - (now.all() - now.activations));
    return std::max({scaled, a_.used_memory_gb + backward, predict::memory_use(a_.model, instead, habits()).all()});
  }
  bool by_products() const {
    return family_ == Family::torchtitan && p_.recompute == Recompute::selective && a_.used_memory_gb > 0;
  }

  // What is computed again, by a plan that computes less of it again. `scaled`: by the memory that the run itself used.
  std::optional<TrainingPlan> less_again(bool scaled) const {
    // Norms and residuals in pieces leave room for more: only where it does not go without.
    const bool pieces = p_.tp > 1 && !p_.sequence_parallel && family_ == Family::megatron;
    std::vector<Recompute> ways = {Recompute::none, Recompute::selective};
    if (!scaled) std::swap(ways[0], ways[1]);  // the run used more than is predicted: not all of it at once
    for (const bool sequence : {false, true}) {
      if (sequence && !pieces) break;
      for (const Recompute how : ways) {
        if (how == p_.recompute) continue;
        TrainingPlan out = p_;
        out.recompute = how;
        out.recompute_layers = 0;
        out.sequence_parallel = p_.sequence_parallel || sequence;
        if ((scaled ? kept_gb(out) : memory_gb(out) / memory_scale_) <= kMemory * a_.gpu.hbm_gb) return out;
      }
    }
    return {};
  }

  std::string recompute_remedy(const TrainingPlan& instead) const {
    const bool none = instead.recompute == Recompute::none;
    switch (family_) {
      case Family::torchtitan: return fmt::format("mode = \"{}\" in [activation_checkpoint]", name_of(instead.recompute));
      case Family::fsdp: return "fsdp_activation_checkpointing: false";
      case Family::deepspeed:
      case Family::megatron: break;
    }
    return fmt::format(
        "{}{}", none ? "without --recompute-granularity" : "--recompute-granularity selective",
        instead.sequence_parallel && !p_.sequence_parallel ? ", with --sequence-parallel to make room for it" : "");
  }

  void recompute() {
    if (p_.recompute == Recompute::none) return;
    auto instead = less_again(true);
    const bool sure = instead.has_value();
    // A run may use more than it needs (what the allocator keeps is in its count), so where whole layers are computed again, that
    // it fits by the prediction alone is worth a try.
    if (!sure && p_.recompute == Recompute::full && memory_scale_ > 1) instead = less_again(false);
    if (!instead) return;
    Finding f{.title = p_.recompute == Recompute::full ? "whole layers are computed again, though there is memory for less"
                                                       : "attention is computed again, though there is memory to keep it",
              .remedy = recompute_remedy(*instead)};
    const double then = sure ? kept_gb(*instead) : memory_gb(*instead) / memory_scale_;
    f.evidence.push_back(fmt::format("without, a GPU would use {:.0f} GB of {:g}", then, a_.gpu.hbm_gb));
    if (sure && by_products()) {
      f.title = "products are computed again, though there may be memory to keep their results";
      f.confidence = Confidence::low;
      f.evidence.push_back(fmt::format("at a guess: the log has {:.0f} GB as it is. Watch the first steps", a_.used_memory_gb));
    }
    if (!sure) {
      f.title = "whole layers are computed again, though by the prediction there is memory for less";
      f.confidence = Confidence::low;
      f.evidence.push_back(fmt::format("as it is {:.0f} GB are predicted and the log has {:.0f}: watch the first steps",
                                       memory_gb(p_) / memory_scale_, a_.used_memory_gb));
    }
    add_instead(std::move(f), *instead, a_.calibration);
  }

  void micro_batch() {
    std::optional<TrainingPlan> best;
    double least = now_.all_s() * 0.99;
    for (const std::uint32_t n : {1U, 2U, 4U, 8U, 16U}) {
      TrainingPlan instead = p_;
      instead.micro_batch = n;
      if (n == p_.micro_batch || p_.global_batch % (std::uint64_t{p_.dp} * n) != 0 || !fits(instead)) continue;
      if (const double t = time_of(instead, a_.calibration).all_s(); t < least) {
        least = t;
        best = instead;
      }
    }
    if (!best) return;
    Finding f{.title = fmt::format("micro-batches of {} would be faster than {}", best->micro_batch, p_.micro_batch),
              .evidence = {fmt::format("a GPU would use {:.0f} GB of {:g}", memory_gb(*best), a_.gpu.hbm_gb)}};
    switch (family_) {
      case Family::torchtitan: f.remedy = fmt::format("local_batch_size = {} in [training]", best->micro_batch); break;
      case Family::megatron: f.remedy = fmt::format("--micro-batch-size {}", best->micro_batch); break;
      case Family::deepspeed:
        f.remedy =
            fmt::format("{} (and gradient_accumulation_steps {:.0f})",
                        s().framework == "Megatron" ? fmt::format("--micro-batch-size {}", best->micro_batch)
                                                    : fmt::format("\"train_micro_batch_size_per_gpu\": {}", best->micro_batch),
                        best->micro_batches());
        break;
      case Family::fsdp: f.remedy = fmt::format("per_device_train_batch_size {}", best->micro_batch); break;
    }
    add_instead(std::move(f), *best, a_.calibration);
  }

  void pieces_of_stages() {
    if (p_.pp <= 1 || p_.vp > 1 || a_.model.layers % p_.pp != 0) return;
    std::optional<TrainingPlan> best;
    double least = now_.all_s();
    for (const std::uint32_t n : {2U, 4U, 8U}) {
      TrainingPlan instead = p_;
      instead.vp = n;
      if (a_.model.layers % (std::uint64_t{p_.pp} * n) != 0 || !fits(instead)) continue;
      if (const double t = time_of(instead, a_.calibration).all_s(); t < least) {
        least = t;
        best = instead;
      }
    }
    if (!best) return;
    Finding f{.title = "stages of the pipeline are not interleaved",
              .evidence = {fmt::format("filling and draining {} stages takes {:.3f} s of {:.3f} s", p_.pp, now_.bubble_s,
                                       now_.all_s())},
              .remedy = family_ == Family::torchtitan
                            ? "pipeline_parallel_schedule = \"Interleaved1F1B\" in [parallelism]"
                            : fmt::format("--num-layers-per-virtual-pipeline-stage {}", a_.model.layers / p_.pp / best->vp)};
    add_instead(std::move(f), *best, a_.calibration);
  }

  void fusions() {
    const predict::Engine engine{&a_.gpu, &a_.calibration, p_.dtype};
    if (family_ != Family::megatron) return;
    if (s().grad_accumulation_fusion == false) {
      const double bytes = 2 * kWeightBytes * shared_params();  // written by the product, and read again to be added
      const double saved = p_.micro_batches() * predict::stream_s(engine, bytes);
      add({.title = "gradients of weights are added up in kernels of their own",
           .evidence = {fmt::format("{:.1f} GB more through memory for each of {:.0f} micro-batches", bytes / 1e9,
                                    p_.micro_batches())},
           .remedy = "without --no-gradient-accumulation-fusion (it needs Apex, or transformer_engine)"},
          kHidden * saved, saved);
    }
    if (s().cross_entropy_fusion == false) {
      const double logits = static_cast<double>(p_.micro_batch) * p_.seq / p_.cp * a_.model.vocab / p_.tp;
      const double times = p_.pp == 1 ? p_.micro_batches() : 1 + (p_.micro_batches() - 1) * a_.calibration.head_exposed;
      const double saved = times * predict::stream_s(engine, 8 * logits);
      add({.title = "the loss goes through the logits in several kernels",
           .evidence = {fmt::format("{:.1f} million logits a micro-batch", logits / 1e6)},
           .remedy = "--cross-entropy-loss-fusion"},
          kHidden * saved, saved);
    }
  }

  void number_format() {
    if (p_.dtype != Dtype::bf16 || a_.gpu.fp8_tflops <= 0 || a_.calibration.attention <= 0) return;
    TrainingPlan instead = p_;
    instead.dtype = Dtype::fp8;
    const double saved = now_.all_s() - time_of(instead, a_.calibration).all_s();
    if (saved < 0.05 * now_.all_s()) return;
    Finding f{.title = "products are computed in 16 bits, though the GPU has twice the rate in 8",
              .evidence = {fmt::format("{:.0f} TFLOP/s in 16 bits, {:.0f} in 8", a_.gpu.bf16_tflops, a_.gpu.fp8_tflops)},
              .remedy = family_ == Family::torchtitan ? "converters = [\"float8\"] in [model]" : "--fp8-format hybrid",
              .verify = "the loss over some thousand steps beside a run in 16 bits, and the median time of a step",
              .confidence = Confidence::low};
    if (add(std::move(f), kHidden * saved, saved))
      out_.back().cost_pct = out_.back().gain->low_pct;  // after what changes no result
  }

  void offload() {
    if (s().offload_optimizer.empty() && s().offload_param.empty()) return;
    if (!fits(p_)) return;
    add_untold(
        {.title = "state is kept outside the GPU, though it fits",
         .evidence = {fmt::format("all of it on the GPU would be {:.0f} GB of {:g}", memory_gb(p_), a_.gpu.hbm_gb)},
         .remedy = family_ == Family::deepspeed ? "without offload_optimizer and offload_param" : "fsdp_offload_params: false",
         .verify = "the median time of a step, before and after"});
  }

  void host() {
    for (Finding& f : host_findings(s())) add_untold(std::move(f));
  }

  // Other numbers of tensor ranks and stages, with the same context ranks, experts and pieces: a look around, not a search.
  void another_split() {
    if (a_.model.experts > 0 || p_.cp > 1 || p_.shard == Shard::weights) return;
    TrainingPlan best = p_;
    double least = now_.all_s();
    for (std::uint32_t tp = 1; tp <= std::min<std::uint32_t>(a_.gpu.domain, 8); tp *= 2) {
      if (a_.model.heads % tp != 0 || (a_.model.kv_heads % tp != 0 && tp % a_.model.kv_heads != 0)) continue;
      for (std::uint32_t pp = 1; pp <= std::min(64U, a_.model.layers); pp *= 2) {
        if (p_.gpus % (tp * pp) != 0 || a_.model.layers % pp != 0 || (pp > 1 && p_.shard > Shard::optimizer)) continue;
        for (const std::uint32_t micro : {1U, 2U, 4U, 8U}) {
          TrainingPlan x = p_;
          x.tp = tp;
          x.pp = pp;
          x.dp = p_.gpus / (tp * pp);
          x.vp = 1;
          x.micro_batch = micro;
          x.sequence_parallel = tp > 1;
          if (x.global_batch % (std::uint64_t{x.dp} * micro) != 0 || !fits(x)) continue;
          if (const double t = time_of(x, a_.calibration).all_s(); t < least) {
            least = t;
            best = x;
          }
        }
      }
    }
    if ((best.tp == p_.tp && best.pp == p_.pp) || least > 0.95 * now_.all_s()) return;
    Finding f{
        .title = fmt::format("{} tensor ranks and {} stages would be faster than {} and {}", best.tp, best.pp, p_.tp, p_.pp),
        .evidence = {fmt::format("a GPU would use {:.0f} GB of {:g}", memory_gb(best), a_.gpu.hbm_gb)},
        .remedy = fmt::format("--tensor-model-parallel-size {} --pipeline-model-parallel-size {} --micro-batch-size {}", best.tp,
                              best.pp, best.micro_batch),
        .verify = "muster plan searches all ways to spread it; then a short run with each",
        .confidence = Confidence::low};
    if (family_ == Family::torchtitan)
      f.remedy = fmt::format("tensor_parallel_degree = {}, pipeline_parallel_degree = {}, local_batch_size = {}", best.tp,
                             best.pp, best.micro_batch);
    add_instead(std::move(f), best, a_.calibration);
  }

  const SettingsAsk& a_;
  const TrainingPlan& p_;
  predict::Links links_;
  Family family_;
  StepTime now_;
  double step_s_;
  double memory_scale_ = 1;
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> check_settings(const SettingsAsk& ask) { return Check(ask).all(); }

std::vector<Finding> check_switches(const CommSettings& s, std::uint32_t gpus) {
  std::vector<Finding> out;
  const Family family = family_of(s);
  if (gpus != 1) {
    if (s.overlap_grad_reduce == false)
      out.push_back({.title = "gradients are summed after the backward pass, not beside it", .remedy = overlap_remedy(family)});
    if (s.overlap_param_gather == false && s.distributed_optimizer != false && family == Family::megatron)
      out.push_back({.title = "new weights are gathered before the forward pass, not beside it",
                     .remedy = "--overlap-param-gather (with --use-distributed-optimizer and --overlap-grad-reduce)"});
    if (s.reduce_bucket > 0 && s.reduce_bucket < kBucketLeast)
      out.push_back({.title = "buckets of gradients are so small that starting an exchange takes longer than carrying it",
                     .evidence = {fmt::format("{:.3g} million gradients in one", static_cast<double>(s.reduce_bucket) / 1e6)},
                     .remedy = family == Family::deepspeed ? "\"reduce_bucket_size\": 500000000, the default"
                                                           : "--ddp-bucket-size 40000000, the default"});
    if (s.backward_prefetch == "NO_PREFETCH")
      out.push_back({.title = "weights are asked for only when the backward pass needs them",
                     .remedy = "fsdp_backward_prefetch: BACKWARD_PRE"});
  }
  if (s.fused_attention == false)
    out.push_back({.title = "attention is not fused: scores go through memory",
                   .remedy = family == Family::deepspeed ? "--use-flash-attn-v2" : "--attention-backend flash"});
  if (s.recompute == Recompute::full)
    out.push_back({.title = "whole layers are computed again: a forward pass more in every step",
                   .remedy = "where there is memory for it, only attention (selective), or nothing",
                   .confidence = Confidence::low});
  if (!s.offload_optimizer.empty() || !s.offload_param.empty())
    out.push_back({.title = "state is kept outside the GPU: every step carries it there and back",
                   .remedy = "on the GPU, in pieces among more ranks, where it fits",
                   .confidence = Confidence::low});
  for (Finding& f : host_findings(s)) out.push_back(std::move(f));
  for (Finding& f : out) {
    if (f.verify.empty()) f.verify = "the median time of a step over 100 steps, before and after";
  }
  return out;
}

}  // namespace muster::diagnose
