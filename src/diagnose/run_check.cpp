#include "diagnose/run_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "diagnose/settings_check.h"
#include "model/fields.h"
#include "predict/calibrate.h"

namespace muster::diagnose {
namespace {

constexpr std::string_view kTaken = "taken to be ";

// Steps between which a reader may look, as text.
std::string when(const Shift& s) {
  return s.line > 0 ? fmt::format("step {} (line {})", s.step, s.line) : fmt::format("step {}", s.step);
}

bool became_slower(const std::optional<Shift>& s) { return s && s->after_s > s->before_s; }

// Steps that are slow in a row because all are from there on, which is said already.
bool told(const Episode& e, const StepTimes& t) {
  return (became_slower(t.shift) && e.last >= t.shift->step) || (became_slower(t.growth) && e.last == t.last);
}

// Of the steps that are far slower than the middle, most are so in a row, or since the run became slower.
bool outliers_told(const StepLog& log, const StepTimes& t) {
  constexpr double kFar = 1.15;  // no step is called slow that is nearer to the middle
  std::size_t inside = 0;
  for (const StepSample& s : log.steps) {
    if (!(s.time_s > kFar * t.spread.median_s)) continue;
    inside += (became_slower(t.shift) && s.step >= t.shift->step) ||
              std::any_of(t.episodes.begin(), t.episodes.end(),
                          [&](const Episode& e) { return s.step >= e.first && s.step <= e.last; });
  }
  return 2 * inside >= t.outliers;
}

void find_slowdown(const StepTimes& t, std::vector<Finding>& out) {
  if (became_slower(t.shift)) {
    const double pct = 100 * (1 - t.shift->before_s / t.shift->after_s);
    out.push_back(
        {.title = fmt::format("from {} on, every step is {:.1f} % slower", when(*t.shift),
                              100 * (t.shift->after_s / t.shift->before_s - 1)),
         .evidence = {fmt::format("a median of {:.3f} s before, {:.3f} s after", t.shift->before_s, t.shift->after_s)},
         .expected = fmt::format("{:.3f} s", t.shift->before_s),
         .achieved = fmt::format("{:.3f} s", t.shift->after_s),
         .remedy = "the likeliest first: a GPU, link or node that became slow then (muster get findings); what ran beside the "
                   "job from then on; its data or its host. Profiles of all ranks name the rank that the others wait for",
         .gain = Gain{0.5 * pct, pct},
         .verify = "the time of a step is what it was before",
         .confidence = Confidence::high,
         .cost_pct = pct});
  }
  if (became_slower(t.growth)) {
    const double pct = 100 * (1 - t.growth->before_s / t.growth->after_s);
    out.push_back(
        {.title = fmt::format("steps become slower all through the run: {:.1f} % by its end",
                              100 * (t.growth->after_s / t.growth->before_s - 1)),
         .evidence = {fmt::format("{:.3f} s at the beginning, {:.3f} s at the end", t.growth->before_s, t.growth->after_s)},
         .remedy = "the host's memory, its page cache and the allocator's fragments grow like this, and so do sequences that "
                   "become longer: muster diagnose with profiles of an early and a late step",
         .gain = Gain{0, pct / 2},
         .cost_pct = pct / 2});
  }
  for (const Episode& e : t.episodes) {
    if (told(e, t)) continue;
    const auto steps = static_cast<double>(e.last - e.first + 1), all = static_cast<double>(t.last - t.first + 1);
    const double pct = all > 0 ? std::min(100.0, e.slower_pct * steps / all) : 0;
    if (pct < 0.1) continue;
    out.push_back({.title = fmt::format("steps {} to {} were {:.0f} % slower than the others", e.first, e.last, e.slower_pct),
                   .remedy = "what ran beside the job then, on its network and its nodes: muster get findings",
                   .gain = Gain{0, pct},
                   .cost_pct = pct});
  }
}

void find_period_cost(const StepLog& log, const StepTimes& t, std::vector<Finding>& out) {
  if (t.periodic && t.periodic->share_pct >= 0.5) {
    const Periodic& p = *t.periodic;
    const std::string_view what = p.what ? name_of(*p.what) : "";
    Finding f{
        .title = fmt::format("every {}th step takes {:.2f} s longer{}{}", p.every, p.extra_s, what.empty() ? "" : ": ", what),
        .evidence = {fmt::format("{:.1f} % of the time of all steps", p.share_pct)},
        .gain = Gain{0.5 * p.share_pct, p.share_pct},
        .confidence = p.what ? Confidence::high : Confidence::medium,
        .cost_pct = p.share_pct};
    f.remedy =
        p.what == MarkKind::checkpoint
            ? "write checkpoints beside training (--async-save, async_mode = \"async\"), or less often: "
              "muster plan says how often they pay"
        : p.what == MarkKind::evaluation
            ? "evaluate less often, or on fewer batches (--eval-interval, --eval-iters)"
            : "what is done at these steps only: checkpoints, evaluation, logging, garbage collection, a data loader's refill";
    out.push_back(std::move(f));
  } else if (t.outliers > 0 && t.outliers_pct >= 1 && !outliers_told(log, t)) {
    out.push_back({.title = fmt::format("{} of {} steps are far slower than the others", t.outliers, t.spread.samples),
                   .evidence = {fmt::format("beyond the median they take {:.1f} % of the time of all steps, at no even distance",
                                            t.outliers_pct)},
                   .remedy = "garbage collection and a data loader that falls behind look like this: profiles of such a step, "
                             "--manual-gc, more workers",
                   .gain = Gain{0, t.outliers_pct},
                   .cost_pct = t.outliers_pct});
  }
}

void find_lost(const StepLog& log, const StepTimes& t, std::vector<Finding>& out) {
  const double steps = std::max(1.0, static_cast<double>(t.last - t.first + 1));
  if (!t.restarts.empty()) {
    double gap = 0;
    for (const Restart& r : t.restarts) gap += r.gap_s;
    const double again = static_cast<double>(t.computed_again) / (steps + static_cast<double>(t.computed_again));
    Finding f{.title = fmt::format("the run was started again {} time{}, and {} steps were computed twice", t.restarts.size(),
                                   t.restarts.size() == 1 ? "" : "s", t.computed_again),
              .remedy = "checkpoints as often as the job's failures ask for: muster plan says how often",
              .confidence = Confidence::high,
              .cost_pct = 100 * again};
    for (std::size_t i = 0; i < std::min<std::size_t>(3, t.restarts.size()); ++i) {
      const Restart& r = t.restarts[i];
      f.evidence.push_back(fmt::format("line {}: step {} after step {}", r.line, r.resumed, r.reached));
    }
    if (gap > 0) f.evidence.push_back(fmt::format("{:.0f} s passed between them", gap));
    out.push_back(std::move(f));
  }
  if (t.outside_pct >= 3) {
    out.push_back(
        {.title = fmt::format("{:.1f} % of the time passes outside steps", t.outside_pct),
         .evidence = {"by the times of lines, beyond what steps took"},
         .remedy =
             "checkpoints, evaluation and logging are usually there: write checkpoints beside training, evaluate less often",
         .gain = Gain{0, t.outside_pct},
         .cost_pct = t.outside_pct});
    if (log.form == StepForm::deepspeed && (log.clock == StepClock::rate || log.clock == StepClock::timers))
      out.back().evidence.push_back("DeepSpeed's count of a step begins with the forward pass: waiting for data is outside too");
  }
  if (t.nan > 0) {
    out.push_back(
        {.title = fmt::format("{} iterations gave a loss that is no number", t.nan),
         .remedy =
             "look at the learning rate, the data of these steps, and a GPU that computes wrongly: muster diagnose with the "
             "job's log, muster check",
         .confidence = Confidence::high,
         .cost_pct = std::min(100.0, 100 * static_cast<double>(t.nan) / steps)});
  }
  const double skipped = std::min(100.0, 100 * static_cast<double>(t.skipped) / steps);
  if (t.skipped > 0 && (skipped > 1 || t.skipped > 20)) {
    out.push_back({.title = fmt::format("{} iterations were skipped: their work is lost", t.skipped),
                   .remedy = "bf16 instead of fp16, or a lower first loss scale (--initial-loss-scale, initial_scale_power)",
                   .gain = Gain{0.5 * skipped, skipped},
                   .cost_pct = skipped});
  }
}

bool at_start(std::string_view name) {
  for (const char* word : {"setup", "load-checkpoint", "initialize", "data-iterators"}) {
    if (name.find(word) != std::string_view::npos) return true;
  }
  return false;
}

// Phases that contain others, or have whole steps in them.
bool whole(std::string_view name) { return name == "interval-time" || name == "train-step" || name == "iteration-time"; }
bool computes(std::string_view name) {
  return name.find("forward") != std::string_view::npos || name.find("backward") != std::string_view::npos ||
         name.starts_with("fwd") || (name.starts_with("bwd") && name.find("allreduce") == std::string_view::npos);
}

// Whether a phase of one micro-batch is told for the whole step as well: "fwd" beside "fwd_microstep".
bool told_whole(const StepLog& log, const PhaseTimer& piece) {
  return std::any_of(log.timers.begin(), log.timers.end(), [&](const PhaseTimer& t) {
    return !t.micro && t.name.size() < piece.name.size() && piece.name.starts_with(t.name + "_microstep");
  });
}

std::vector<PhaseShare> phases_of(const StepLog& log, double step_s) {
  std::vector<PhaseShare> out;
  for (const PhaseTimer& t : log.timers) {
    if (t.times == 0 || at_start(t.name) || whole(t.name) || (t.micro && told_whole(log, t))) continue;
    const double pieces = t.micro ? std::max(1U, log.accumulation) : 1;
    const double slowest = pieces * t.max_ms / t.times, fastest = pieces * t.min_ms / t.times;
    out.push_back(
        {t.name, slowest, step_s > 0 ? slowest / step_s * 0.1 : 0, slowest > 0 ? 100 * (1 - fastest / slowest) : 0, t.ranks});
  }
  std::stable_sort(out.begin(), out.end(), [](const PhaseShare& x, const PhaseShare& y) { return x.mean_ms > y.mean_ms; });
  if (out.size() > 24) out.resize(24);
  return out;
}

void find_in_phases(const std::vector<PhaseShare>& phases, std::uint32_t pp, std::vector<Finding>& out) {
  const PhaseShare* uneven = nullptr;
  for (const PhaseShare& p : phases) {
    const double lost = p.share_pct * p.spread_pct / 100;
    const std::string line = fmt::format("{}: {:.1f} ms, {:.1f} % of a step", p.name, p.mean_ms, p.share_pct);
    const bool data = p.name.find("batch-generator") != std::string::npos || p.name.find("data") != std::string::npos;
    if (data && p.share_pct >= 3) {
      out.push_back({.title = "steps wait for their data",
                     .evidence = {line},
                     .remedy = "more workers of the data loader (--num-workers), pinned memory, data on local disks",
                     .gain = Gain{0.5 * p.share_pct, p.share_pct},
                     .confidence = Confidence::high,
                     .cost_pct = p.share_pct});
    }
    if (p.ranks && computes(p.name) && p.spread_pct >= 10 && lost >= 2 && p.name != "forward-backward" &&
        (uneven == nullptr || lost > uneven->share_pct * uneven->spread_pct / 100))
      uneven = &p;
    if (p.name.find("allreduce") != std::string::npos && !p.ranks && p.share_pct >= 5) {
      out.push_back({.title = "the backward pass waits for gradients to be summed",
                     .evidence = {line},
                     .remedy = "\"overlap_comm\": true in zero_optimization",
                     .gain = Gain{0.5 * p.share_pct, p.share_pct},
                     .cost_pct = p.share_pct});
    }
  }
  if (uneven == nullptr) return;
  const double lost = uneven->share_pct * uneven->spread_pct / 100;
  out.push_back(
      {.title = fmt::format("ranks have unequal work: {} takes the fastest {:.0f} % less than the slowest", uneven->name,
                            uneven->spread_pct),
       .evidence = {fmt::format("{:.1f} ms on the slowest rank, {:.1f} % of a step", uneven->mean_ms, uneven->share_pct)},
       .remedy = pp > 1
                     ? "give slow stages fewer layers (--decoder-first-pipeline-num-layers, --decoder-last-pipeline-num-layers)"
                     : "sequences of unequal length, or a slow GPU: profiles of all ranks tell which",
       .gain = Gain{0, lost},
       .cost_pct = lost});
}

// Software that computes attention as this run does: what was fitted with fused kernels says nothing of one without.
std::string software_for(const RunMaterial& g) {
  if (g.settings.fused_attention != false) return {};
  std::string last;
  for (const Software& s : g.software) {
    if (s.start.attention > 0) continue;
    if (s.start.software == lower(g.log.framework)) return s.start.software;
    last = s.start.software;
  }
  return last;
}

std::optional<predict::ChosenCalibration> calibration_for(const RunMaterial& g, RunCheck& out) {
  auto chosen = predict::choose_calibration(g.calibrations, g.software, g.gpus, *g.gpu, g.plan->dtype, software_for(g),
                                            g.model->experts > 0);
  if (!chosen) {
    out.cannot.push_back("expected times: " + chosen.error().what);
    return {};
  }
  return *chosen;
}

// The code that a software's runs were of, as far as it is known by name; empty: it is not.
std::string_view code_of(std::string_view software) {
  if (software.starts_with("megatron-deepspeed")) return "megatron-deepspeed";
  for (const std::string_view name : {"megatron", "bridge", "mlperf", "megascale"}) {
    if (software.starts_with(name)) return "megatron";
  }
  return software == "pytorch" || software == "llama3" ? software : "";
}

// Whose runs a calibration was fitted on, where they are not of the framework that wrote the log: what one framework gets out of
// a GPU says little of another.
std::string others_runs(const std::string& framework, const std::string& software) {
  const std::string own = lower(framework);
  const std::string_view code = code_of(software);
  if (own.empty() || code.empty() || own == software) return {};
  const bool megatron = own == "megatron-lm" || own == "megatron-bridge" || own == "nemo";
  return code == (megatron ? "megatron" : own) ? std::string() : software;
}

// Operations that the model asks for, a second; MFU is of the rate in 16 bits.
void count_operations(const RunMaterial& g, RunCheck& out) {
  const double step = out.times.spread.median_s;
  const std::uint32_t seq = g.plan ? g.plan->seq : g.log.seq;
  const double batch = g.plan ? g.plan->global_batch : g.log.batch;
  if (seq == 0 || batch <= 0 || out.gpus == 0 || step <= 0) return;
  out.tokens_per_s = batch * seq / step;
  out.tflops = g.model->flops_per_token(seq) * out.tokens_per_s / out.gpus / 1e12;
  if (g.gpu != nullptr) out.mfu_pct = 100 * out.tflops * 1e12 / g.gpu->peak(Dtype::bf16);
  constexpr double kApart = 0.4;  // some count what is computed again
  if (out.reported_tflops > 0 && std::abs(out.tflops / out.reported_tflops - 1) > kApart)
    out.cannot.push_back(fmt::format("the log counts {:.0f} TFLOP/s where its settings give {:.0f}: they may not belong together",
                                     out.reported_tflops, out.tflops));
}

// A run that was as expected until it became slower has one fault, which is told with its step.
void find_slower(const StepLog& log, const ExpectedStep& e, RunCheck& out) {
  if (out.pace != Pace::slower || (became_slower(out.times.shift) && out.times.shift->before_s <= e.high_s)) return;
  const double step = out.times.spread.median_s;
  const double least = 100 * (1 - e.high_s / step), most = 100 * (1 - e.step_s / step);
  const bool own = e.others.empty();
  // What is only another framework's goes behind what the log itself shows: half of it, of what was there before it became
  // slower.
  const double level = became_slower(out.times.shift) ? out.times.shift->before_s : step;
  const double cost = own ? most : std::max(0.0, 50 * (1 - e.step_s / level));
  out.findings.push_back(
      {.title = own ? fmt::format("steps take {:.0f} % longer than runs like it do", out.off_pct)
                    : fmt::format("steps take {:.0f} % longer than {} would for the same plan", out.off_pct, e.others),
       .evidence = {e.basis, own ? fmt::format("eight of ten such runs lie between {:.3f} and {:.3f} s", e.low_s, e.high_s)
                                 : fmt::format("eight of ten runs of {} lie between {:.3f} and {:.3f} s: how much of the "
                                               "difference is {}'s own cannot be told",
                                               e.others, e.low_s, e.high_s, log.framework)},
       .expected = fmt::format("{:.3f} s", e.step_s),
       .achieved = fmt::format("{:.3f} s", step),
       .remedy = "a profile of one step on every rank says where the time goes: torch.profiler, then muster diagnose",
       .gain = Gain{own ? least : 0, most},
       .verify = "the median time of a step over 100 steps, before and after",
       .confidence = out.confidence,
       .cost_pct = cost});
}

void judge(const RunMaterial& g, RunCheck& out) {
  const double step = out.times.spread.median_s;
  if (!g.model) {
    out.cannot.push_back(g.no_plan.empty()
                             ? "operations a second and an expected time: the model is not told (--config with its arguments)"
                             : "operations a second and an expected time: " + g.no_plan);
    return;
  }
  count_operations(g, out);
  if (g.gpu == nullptr) {
    out.cannot.push_back("how fast it should be: the log does not tell which GPU it ran on (--gpu or --cluster)");
    return;
  }
  const double peak = g.gpu->peak(g.plan ? g.plan->dtype : Dtype::bf16);
  if (peak > 0 && out.tflops * 1e12 > peak) {
    out.cannot.push_back(
        fmt::format("how fast it should be: {:.0f} TFLOP/s are more than {} has: the log, its settings and the GPU do not "
                    "belong together",
                    out.tflops, g.gpu->name));
    return;
  }
  if (!g.plan) {
    out.cannot.push_back("how fast it should be: " + (g.no_plan.empty() ? std::string("its plan is not told") : g.no_plan));
    return;
  }
  const auto chosen = calibration_for(g, out);
  if (!chosen) return;
  predict::Network network = g.network;
  if (network.nic_gb_s <= 0) network.nic_gb_s = g.gpu->nic_gb_s;
  const Calibration& c = chosen->calibration;
  ExpectedStep e;
  e.parts = predict::step_time(*g.gpu, c, network, *g.model, *g.plan);
  e.step_s = e.parts.all_s();
  if (!std::isfinite(e.step_s) || e.step_s <= 0) {
    out.cannot.push_back("how fast it should be: nothing can be predicted for such a plan");
    return;
  }
  // An interval is of what was measured over what was predicted.
  e.low_s = e.step_s * c.low;
  e.high_s = e.step_s * c.high;
  e.basis = chosen->words;
  const bool measured = e.basis.find("extrapolated") == std::string::npos;
  if (c.rows > 0) e.others = others_runs(g.log.framework, c.software);
  if (!e.others.empty()) e.basis += fmt::format(", none of {}", g.log.framework);
  out.confidence = !measured || !e.others.empty() || g.gpu_from.starts_with(kTaken) ? Confidence::low
                   : c.rows >= 20                                                   ? Confidence::high
                                                                                    : Confidence::medium;
  if (step > 0) {
    out.off_pct = 100 * (step / e.step_s - 1);
    out.pace = step > e.high_s ? Pace::slower : step < e.low_s ? Pace::faster : Pace::as_expected;
  }
  for (Finding& f : check_settings({g.settings, *g.model, *g.plan, *g.gpu, c, network, step, g.log.used_memory_gb})) {
    if (out.confidence == Confidence::low) f.confidence = Confidence::low;  // no surer than what it was computed with
    out.findings.push_back(std::move(f));
  }
  find_slower(g.log, e, out);
  out.expected = std::move(e);
}

}  // namespace

GpuGuess guess_gpu(const StepLog& log, std::span<const GpuModel> gpus) {
  const std::string name = lower(log.gpu_name);
  const GpuModel* found = nullptr;
  for (const GpuModel& g : gpus) {
    if (name.find(g.name) != std::string::npos && (found == nullptr || g.name.size() > found->name.size())) found = &g;
  }
  if (found != nullptr) return {found, fmt::format("the log names it: {}", log.gpu_name)};
  if (!log.gpu_name.empty() || (!log.amd && log.gpu_memory_gb <= 0)) return {};
  constexpr double kNear = 0.08;  // of the memory: what the driver keeps
  for (const GpuModel& g : gpus) {
    if (log.amd && *log.amd != g.name.starts_with("mi")) continue;
    if (g.hbm_gb * 1.1 < log.used_memory_gb) continue;
    if (log.gpu_memory_gb > 0 && std::abs(log.gpu_memory_gb / g.hbm_gb - 1) > kNear) continue;
    if (found != nullptr) return {};
    found = &g;
  }
  if (found == nullptr) return {};
  return {found, fmt::format("{}{}: of the GPUs that are known it alone is {} and has the {:.0f} GB that were used", kTaken,
                             found->name, log.amd ? (*log.amd ? "AMD's" : "NVIDIA's") : "that large",
                             std::max(log.used_memory_gb, log.gpu_memory_gb))};
}

namespace {

// Times that no step takes are a broken line, or one that was made up: they would hide what the others say.
std::optional<StepLog> without_absurd(const StepLog& log, RunCheck& out) {
  constexpr double kStepMost = 1e6;  // seconds: eleven days
  const auto absurd = [&](const StepSample& s) { return s.time_s > kStepMost; };
  const auto n = std::count_if(log.steps.begin(), log.steps.end(), absurd);
  if (n == 0 && !(log.mean_step_s > kStepMost)) return {};
  StepLog kept = log;
  std::erase_if(kept.steps, absurd);
  if (kept.mean_step_s > kStepMost) kept.mean_step_s = 0;
  out.cannot.push_back(
      n == 0 ? "the mean time of a step: it is said to be more than eleven days"
             : fmt::format("{} of {} steps: they are said to have taken more than eleven days each", n, log.steps.size()));
  return kept;
}

// Samples a second are times of steps once it is known how many samples a step has.
std::optional<StepLog> with_batch(const RunMaterial& g) {
  const bool own = g.log.clock == StepClock::printed || g.log.clock == StepClock::rate;
  if (g.log.form != StepForm::deepspeed || own) return {};
  StepLog timed = g.log;
  const std::uint32_t batch = g.batch > 0 ? g.batch : g.plan ? g.plan->global_batch : 0;
  return time_by_rate(timed, batch) ? std::optional(std::move(timed)) : std::nullopt;
}

void say_clock(const RunMaterial& g, RunCheck& out) {
  std::vector<double> rates;
  for (const StepSample& s : g.log.steps) {
    if (s.samples_per_s > 0) rates.push_back(s.samples_per_s);
  }
  out.samples_per_s = quantile(std::move(rates), 0.5);
  out.clock = g.log.clock;
  const std::uint32_t batch = g.log.batch > 0 ? g.log.batch : g.batch > 0 ? g.batch : g.plan ? g.plan->global_batch : 0;
  if (out.clock == StepClock::rate) out.clock_batch = batch;
  if (out.times.spread.samples > 0) return;
  out.cannot.push_back(out.samples_per_s > 0
                           ? fmt::format("steps: the log counts {:.5g} samples a second, but not how many a step has (--config "
                                         "with train_batch_size), and no two of its lines have different times",
                                         out.samples_per_s)
                           : "steps: the log has no line that tells how long one took");
}

RunCheck check_believable(const RunMaterial& g, RunCheck out) {
  out.framework = g.log.framework;
  out.gpus = g.log.gpus > 0 ? g.log.gpus : g.plan ? g.plan->gpus : 0;
  if (g.gpu != nullptr) out.gpu = g.gpu->name;
  out.gpu_from = g.gpu_from;
  out.times = study_steps(g.log);
  if (out.times.spread.samples == 0 && g.log.mean_step_s > 0) {
    const double s = g.log.mean_step_s;
    out.times.spread = {1, s, s, s, s};
  }
  std::vector<double> tflops, mfu;
  for (const StepSample& s : g.log.steps) {
    if (s.tflops > 0) tflops.push_back(s.tflops);
    if (s.mfu_pct > 0) mfu.push_back(s.mfu_pct);
  }
  out.reported_tflops = quantile(std::move(tflops), 0.5);
  out.reported_mfu_pct = quantile(std::move(mfu), 0.5);
  say_clock(g, out);
  out.phases = phases_of(g.log, out.times.spread.median_s);
  find_slowdown(out.times, out.findings);
  find_period_cost(g.log, out.times, out.findings);
  find_lost(g.log, out.times, out.findings);
  find_in_phases(out.phases, g.plan ? g.plan->pp : 1, out.findings);
  judge(g, out);
  if (!out.expected) {
    out.confidence = Confidence::low;  // times alone do not tell what a step is bound by
    for (Finding& f : check_switches(g.settings, out.gpus)) out.findings.push_back(std::move(f));
  }
  constexpr double kMostPct = 95;  // timers may say more than a step has
  for (Finding& f : out.findings) {
    f.cost_pct = std::clamp(f.cost_pct, 0.0, kMostPct);
    if (f.gain) f.gain = Gain{std::clamp(f.gain->low_pct, 0.0, kMostPct), std::clamp(f.gain->high_pct, 0.0, kMostPct)};
  }
  std::stable_sort(out.findings.begin(), out.findings.end(),
                   [](const Finding& x, const Finding& y) { return x.cost_pct > y.cost_pct; });
  return out;
}

}  // namespace

RunCheck check_run(const RunMaterial& g) {
  const auto again = [&](const StepLog& log) {
    return RunMaterial{.log = log,
                       .settings = g.settings,
                       .model = g.model,
                       .plan = g.plan,
                       .no_plan = g.no_plan,
                       .gpu = g.gpu,
                       .gpu_from = g.gpu_from,
                       .network = g.network,
                       .gpus = g.gpus,
                       .calibrations = g.calibrations,
                       .software = g.software,
                       .batch = g.batch};
  };
  RunCheck out;
  const auto timed = with_batch(g);
  const StepLog& log = timed ? *timed : g.log;
  const auto kept = without_absurd(log, out);
  return check_believable(again(kept ? *kept : log), std::move(out));
}

Bound run_bound(const RunCheck& check) {
  if (!check.expected) return Bound::compute;
  const predict::StepTime& t = check.expected->parts;
  const double compute = t.compute_s + t.head_s + t.optimizer_s;
  const double exchange = t.tensor_s + t.context_s + t.expert_s + t.send_s + t.data_s;
  return compute >= exchange && compute >= t.bubble_s ? Bound::compute
         : exchange >= t.bubble_s                     ? Bound::communication
                                                      : Bound::pipeline;
}

}  // namespace muster::diagnose
