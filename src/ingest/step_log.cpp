#include "ingest/step_log.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "ingest/step_log_deepspeed.h"
#include "ingest/step_log_text.h"

namespace muster {
namespace {

using namespace step_text;

constexpr std::size_t kForms = names(StepForm{}).size() - 1;
constexpr std::size_t kJsonMax = 1 << 20;
constexpr std::size_t kJsonLinesMax = 8192;
constexpr double kMebi = 1048576, kGiga = 1e9;

std::string kept(std::string_view s) { return printable(trim(s).substr(0, kStepTextMax)); }

struct FormSteps {
  std::vector<StepSample> steps;
  std::uint64_t source = 0;
  std::uint64_t left_out = 0;
};

constexpr std::string_view kIteration = "elapsed time per iteration (ms):";
constexpr std::string_view kAcross = "time across ranks (ms)";
constexpr std::string_view kAllRanks = "times across ranks (ms)";
constexpr std::string_view kNemo = "train_step_timing in s";
constexpr std::string_view kArguments = "- arguments -";

}  // namespace

struct StepLogReader::Guts {
  StepLog out;
  std::array<FormSteps, kForms> forms;
  std::string pending;  // a line that has not ended
  bool too_long = false;
  bool in_arguments = false, in_timers = false, in_json = false, settings_seen = false;
  std::string json_tag, json;
  std::size_t json_lines = 0;
  std::string ranks_of;            // timers of all ranks: whose come now,
  double low_ms = 0, high_ms = 0;  // and what they are so far
  double bridge_tflops = 0;
  std::uint64_t bar_total = 0;
  DeepSpeedLines deepspeed;

  void line(std::string_view raw);
  void read(std::string_view line);
  void record(StepForm form, StepSample sample, std::string_view line);
  void iteration(std::string_view line);
  void torchtitan(std::string_view line);
  void nemo(std::string_view line);
  void bridge(std::string_view line);
  bool progress_bar(std::string_view line);
  void argument(std::string_view line);
  bool timer(std::string_view line);
  void time_parts(std::string_view line);
  PhaseTimer* phase(std::string_view name);
  void engine(std::string_view line);
  bool json_line(std::string_view line);
  void facts(std::string_view line);
  void titan_facts(std::string_view line);
  void mesh_of(std::string_view line);
  void gpu_facts(std::string_view line);
  void marks(std::string_view line);
  void derive_times(StepForm form);
  void choose_form();
};

void StepLogReader::Guts::record(StepForm form, StepSample s, std::string_view line) {
  FormSteps& f = forms[static_cast<std::size_t>(form)];
  const std::uint64_t source = xxh64(launcher_tag(line), 0);
  s.line = static_cast<std::uint32_t>(std::min<std::uint64_t>(out.lines, UINT32_MAX));
  if (s.at_s == 0) s.at_s = stamp_of(line);
  if (!f.steps.empty()) {
    StepSample& last = f.steps.back();
    if (s.step == last.step) {  // another rank says the same, of which the slowest counts; or another line of it says more
      last.time_s = std::max(last.time_s, s.time_s);
      if (last.samples_per_s == 0 || (s.samples_per_s > 0 && s.samples_per_s < last.samples_per_s))
        last.samples_per_s = s.samples_per_s;
      last.skipped = std::max(last.skipped, s.skipped);
      last.nan = std::max(last.nan, s.nan);
      if (last.at_s == 0) last.at_s = s.at_s;
      return;
    }
    // Or is a line behind. What goes further back was started again.
    if (s.step < last.step && source != f.source && last.step - s.step <= 2) return;
  }
  if (f.steps.size() >= kStepsMax) {
    ++f.left_out;
    return;
  }
  f.source = source;
  f.steps.push_back(s);
}

// " iteration 1/ 5 | consumed samples: 2048 | elapsed time per iteration (ms): 76015.3 | ..."
void StepLogReader::Guts::iteration(std::string_view line) {
  const std::size_t at = line.find("iteration ");
  const auto step = at == std::string_view::npos ? std::nullopt : step_of(number_at(line.substr(at + 10)));
  if (!step) return;
  StepSample s;
  s.step = *step;
  s.time_s = after(line, kIteration).value_or(0) * 1e-3;
  for (const std::string_view key : {"(TFLOP/s/GPU)", "TFLOPs:", "tflops/GPU"}) {
    if (s.tflops == 0) s.tflops = after(line, key).value_or(0);
  }
  s.batch = count_of(after(line, "global batch size:"));
  s.skipped = count_of(after(line, "number of skipped iterations:"));
  s.nan = count_of(after(line, "number of nan iterations:"));
  if (s.tflops == 0) s.tflops = std::exchange(bridge_tflops, 0);
  record(StepForm::megatron, s, line);
}

// "step: 10  loss: 7.12  grad_norm: 1.2  memory: 42.10GiB(53.20%)  tps: 7,890  tflops: 400.12  mfu: 40.50%"
void StepLogReader::Guts::torchtitan(std::string_view line) {
  const std::size_t at = line.find("step:");
  const auto step = step_of(number_at(line.substr(at + 5)));
  if (!step) return;
  const std::string_view rest = line.substr(at);
  StepSample s;
  s.step = *step;
  s.tokens_per_s = after(rest, " tps:").value_or(after(rest, " wps:").value_or(0));
  s.tflops = after(rest, " tflops:").value_or(0);
  s.mfu_pct = after(rest, " mfu:").value_or(0);
  if (has(rest.substr(0, 200), "loss: nan")) s.nan = 1;
  record(StepForm::torchtitan, s, line);
  const std::size_t memory = rest.find("memory:");
  if (memory == std::string_view::npos) return;
  const double used = number_at(rest.substr(memory + 7)).value_or(0) * kMebi * 1024 / kGiga;
  out.used_memory_gb = std::max(out.used_memory_gb, std::clamp(used, 0.0, 1e4));
  const std::size_t open = rest.find('(', memory);
  const double share = open == std::string_view::npos ? 0 : number_at(rest.substr(open + 1)).value_or(0);
  if (out.gpu_memory_gb == 0 && share >= 5 && share <= 100) out.gpu_memory_gb = std::min(1e4, used / share * 100);
}

void StepLogReader::Guts::nemo(std::string_view line) {
  auto step = step_of(after(line, "global_step"));
  if (!step) step = step_of(after(line, "iteration "));
  if (!step) return;
  StepSample s;
  s.step = *step;
  s.time_s = after(line, kNemo).value_or(0);
  s.tflops = after(line, "TFLOPS_per_GPU").value_or(0);
  s.batch = count_of(after(line, "global_batch_size"));
  record(StepForm::nemo, s, line);
}

// "Step Time : 5.39s GPU utilization: 2347.0MODEL_TFLOP/s/GPU": before the iteration's own line, if there is one.
void StepLogReader::Guts::bridge(std::string_view line) {
  const double s = after(line, "Step Time").value_or(0);
  if (s <= 0) return;
  bridge_tflops = after(line, "GPU utilization:").value_or(0);
  FormSteps& f = forms[static_cast<std::size_t>(StepForm::bridge)];
  StepSample sample;
  sample.step = f.steps.empty() ? 1 : f.steps.back().step + 1;
  sample.time_s = s;
  sample.tflops = bridge_tflops;
  record(StepForm::bridge, sample, line);
}

// " 10%|#         | 50/500 [01:23<12:30,  1.67s/it]", without words before it: bars of loading and of evaluation have some.
bool StepLogReader::Guts::progress_bar(std::string_view line) {
  const std::size_t bar = line.find("%|");
  if (bar == std::string_view::npos || bar > 8) return false;
  const std::size_t end = line.find("| ", bar + 2);
  if (end == std::string_view::npos || (!has(line.substr(end), "s/it") && !has(line.substr(end), "it/s"))) return false;
  const auto done = step_of(number_at(line.substr(end + 2)));
  const std::size_t slash = line.find('/', end), open = line.find('[', end);
  if (!done || slash == std::string_view::npos || open == std::string_view::npos) return false;
  const auto total = step_of(number_at(line.substr(slash + 1)));
  if (!total || *total < *done || *total < bar_total) return false;
  FormSteps& f = forms[static_cast<std::size_t>(StepForm::progress_bar)];
  if (*total > bar_total) f = {};
  bar_total = *total;
  double elapsed = 0;
  for (const std::string_view part : split(line.substr(open + 1, line.find('<', open) - open - 1), ':')) {
    const auto n = parse_uint(part);
    if (!n || *n > 1'000'000) return false;
    elapsed = 60 * elapsed + static_cast<double>(*n);
  }
  StepSample s;
  s.step = *done;
  s.at_s = elapsed + 1;  // 0 is none
  if (*done > 0) record(StepForm::progress_bar, s, line);
  return true;
}

void StepLogReader::Guts::argument(std::string_view line) {
  const auto d = dotted(line);
  if (!d || out.arguments.size() >= kStepSettingsMax || has(d->name, "/")) return;
  out.arguments.emplace(std::string(d->name), kept(d->value));
}

PhaseTimer* StepLogReader::Guts::phase(std::string_view name) {
  const std::string key = printable(trim(name).substr(0, 96));
  if (key.empty()) return nullptr;
  for (PhaseTimer& t : out.timers) {
    if (t.name == key) return &t;
  }
  if (out.timers.size() >= kStepTimersMax) return nullptr;
  out.timers.push_back({key});
  return &out.timers.back();
}

// "    forward-backward ....: (5001.33, 5001.50)", "....: 5001.33", or a name and then "rank  0: 5001.33" for each.
bool StepLogReader::Guts::timer(std::string_view line) {
  constexpr double kMost = 1e12;
  if (const auto d = dotted(line); d && d->value.starts_with(':')) {
    std::string_view value = trim(d->value.substr(1));
    const bool both = value.starts_with('(');
    const auto low = number_at(value.substr(both ? 1 : 0));
    const std::size_t comma = value.find(", ");
    const auto high = both && comma != std::string_view::npos ? number_at(value.substr(comma + 1)) : low;
    if (!low || !high || *low < 0 || *high < *low || *high > kMost) return false;
    if (PhaseTimer* t = phase(d->name)) {
      ++t->times;
      t->min_ms += *low;
      t->max_ms += *high;
      t->ranks = t->ranks || both;
    }
    return true;
  }
  const std::string_view rest = trim(line.substr(launcher_tag(line).size()));
  if (!ranks_of.empty() && rest.starts_with("rank ")) {
    const std::size_t colon = rest.find(':');
    const auto n = colon == std::string_view::npos ? std::nullopt : number_at(rest.substr(colon + 1));
    PhaseTimer* t = n && *n >= 0 && *n < kMost ? phase(ranks_of) : nullptr;
    if (t == nullptr) return true;
    const bool first = number_at(rest.substr(5)).value_or(0) == 0;
    if (first || t->times == 0) {
      t->ranks = true;
      ++t->times;
      t->min_ms += *n;
      t->max_ms += *n;
      low_ms = *n;
      high_ms = *n;
    } else {
      t->min_ms += std::min(0.0, *n - low_ms);
      t->max_ms += std::max(0.0, *n - high_ms);
      low_ms = std::min(low_ms, *n);
      high_ms = std::max(high_ms, *n);
    }
    return true;
  }
  if (rest.ends_with(':') && !has(rest, " ") && rest.size() > 1 && rest.size() < 97) {
    ranks_of = printable(rest.substr(0, rest.size() - 1));
    return true;
  }
  return false;
}

// "time (ms) | fwd: 12.3 | bwd: 45.6 | step: 7.8", as DeepSpeed and early Megatron print them.
void StepLogReader::Guts::time_parts(std::string_view line) {
  deepspeed.timers(line, static_cast<std::uint32_t>(std::min<std::uint64_t>(out.lines, UINT32_MAX)));
  const std::string_view rest = line.substr(line.find("time (ms) |") + 11);
  for (const std::string_view part : split(rest, '|')) {
    const std::size_t colon = part.rfind(':');
    const auto n = colon == std::string_view::npos ? std::nullopt : number_at(part.substr(colon + 1));
    if (!n || *n < 0 || *n > 1e12) continue;
    if (PhaseTimer* t = phase(part.substr(0, colon))) {
      ++t->times;
      t->min_ms += *n;
      t->max_ms += *n;
    }
  }
}

// "config.py:978:print]   zero_config .................. stage=1 overlap_comm=False ..."
void StepLogReader::Guts::engine(std::string_view line) {
  if (has(line, "  json = {")) {
    in_json = json.empty();
    if (!in_json) return;
    json_tag = launcher_tag(line);
    json = "{\n";
    json_lines = 0;
    return;
  }
  const auto keep = [&](std::string key, std::string_view value) {
    if (out.engine.size() < kStepSettingsMax) out.engine.emplace(std::move(key), kept(value));
  };
  // A name that is too long has no dots, and a later release has a line of its own for the number of ranks.
  for (const std::string_view name : {"train_micro_batch_size_per_gpu  ", "mesh_device None world_size = "}) {
    if (const auto n = after(line, name))
      return keep(std::string(has(name, "world") ? "world_size" : trim(name)), fmt::format("{}", count_of(n)));
  }
  const auto d = dotted(line);
  if (!d) return;
  if (d->name != "zero_config") return keep(std::string(d->name), d->value);
  for (const std::string_view word : split(d->value, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos && equals > 0 && equals < 64)
      keep("zero_config." + printable(word.substr(0, equals)), word.substr(equals + 1));
  }
}

// Of the configuration that DeepSpeed prints over many lines; lines of others in between are passed over.
bool StepLogReader::Guts::json_line(std::string_view line) {
  if (!line.starts_with(json_tag) || ++json_lines > kJsonLinesMax || json.size() > kJsonMax) {
    if (json_lines > kJsonLinesMax || json.size() > kJsonMax) in_json = false;
    return false;
  }
  const std::string_view rest = line.substr(json_tag.size());
  if (rest != "}" && !rest.starts_with("    ")) return false;
  json += rest;
  json += '\n';
  if (rest == "}") {
    in_json = false;
    out.deepspeed_json = json;
  }
  return true;
}

// "Building 2-D device mesh with ['dp_shard', 'tp'], [8, 2]": only what is more than 1 is named.
void StepLogReader::Guts::mesh_of(std::string_view line) {
  const std::size_t open = line.find('[', line.find("-D device mesh with ")), close = line.find("], [", open);
  if (close == std::string_view::npos) return;
  const auto names = split(line.substr(open + 1, close - open - 1), ',');
  const auto counts = split(line.substr(close + 4, line.find(']', close + 4) - close - 4), ',');
  if (names.size() != counts.size()) return;
  RankMesh m{1, 1, 1, 1, 1, 0};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view name = trim(names[i]);
    const std::uint32_t n = std::max(1U, count_of(number_at(counts[i])));
    if (name == "'pp'") m.pp = n;
    if (name == "'dp_replicate'") m.replicate = n;
    if (name == "'cp'") m.cp = n;
    if (name == "'tp'") m.tp = n;
    // With experts those that share weights are named in two parts; early releases had but one way to spread data.
    if (name.starts_with("'dp_shard") || name == "'dp'") m.shard = count_of(static_cast<double>(m.shard) * n);
  }
  out.mesh = m;
}

void StepLogReader::Guts::titan_facts(std::string_view line) {
  // "Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, ...", or the same as a program's own value.
  if (const std::size_t at = line.find("dp_shard="); at != std::string_view::npos && has(line, "dp_replicate=")) {
    const auto ranks = [&](std::string_view name) {
      for (const char before : {' ', '('}) {
        if (const auto n = after(line, before + std::string(name) + "=")) return count_of(n);
      }
      return 0U;
    };
    const RankMesh mesh{ranks("pp"), ranks("dp_replicate"), ranks("dp_shard"), ranks("cp"), ranks("tp"), ranks("ep")};
    if (mesh.shard > 0) out.mesh = mesh;  // -1: all that are left, which is not worked out yet
    if (const auto n = after(line, "world_size=")) out.gpus = count_of(n);
  }
  if (has(line, "-D device mesh with [")) mesh_of(line);
  if (const std::size_t at = line.find("Trainer is initialized with local batch size"); at != std::string_view::npos) {
    const std::string_view rest = line.substr(at);
    out.micro_batch = count_of(after(rest, "local batch size"));
    out.batch = count_of(after(rest, "global batch size"));
    out.seq = count_of(after(rest, "sequence length"));
  }
  if (const std::size_t at = line.find("Model "), size = line.find(" size: "), end = line.find(" total parameters");
      at != std::string_view::npos && size != std::string_view::npos && end != std::string_view::npos && at + 6 < size &&
      size < end) {
    out.model = kept(line.substr(at + 6, std::min<std::size_t>(size - at - 6, 80)));
    out.parameters = std::min(1e16, number_at(line.substr(size + 7)).value_or(0));
  }
  if (has(line, "activation checkpointing to the model")) {
    out.recompute = has(line, "full") || has(line, "FullAC") ? "full" : "selective";
  }
}

// "NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"
void StepLogReader::Guts::gpu_facts(std::string_view line) {
  if (out.gpu_name.empty()) {
    for (const std::string_view maker : {"NVIDIA ", "Instinct "}) {
      const std::size_t at = line.find(maker);
      if (at == std::string_view::npos) continue;
      const std::string_view name = line.substr(at + maker.size(), 32);
      std::size_t n = 0, digits = 0;
      while (n < name.size() && (name_char(name[n]) || name[n] == '-' || name[n] == ' ')) ++n;
      for (std::size_t i = 0; i < std::min<std::size_t>(n, 6); ++i) digits += digit(name[i]) ? 1 : 0;
      if (digits < 2 || name[0] < 'A' || name[0] > 'Z') continue;
      std::string_view whole = line.substr(at, maker.size() + n);
      if (const std::size_t with = whole.find(" with"); with != std::string_view::npos) whole = whole.substr(0, with);
      out.gpu_name = kept(whole);
      out.amd = maker[0] == 'I';
    }
  }
  if (has(line, " capacity: ") && has(line, "GiB memory")) {
    const double gib = after(line.substr(line.find(" capacity: ")), " with ").value_or(0);
    if (gib > 0 && gib < 1e4) out.gpu_memory_gb = gib * kMebi * 1024 / kGiga;
  }
  if (!out.amd) {
    for (const bool amd : {true, false}) {
      const std::size_t at = line.find(amd ? "torch hip version " : "torch cuda version ");
      if (at == std::string_view::npos) continue;
      if (const auto d = dotted(line); d && !trim(d->value).empty() && digit(trim(d->value).front())) out.amd = amd;
    }
  }
  if (const auto mb = after(line, "max reserved:"); mb && *mb < 1e7)
    out.used_memory_gb = std::max(out.used_memory_gb, *mb * kMebi / kGiga);
}

void StepLogReader::Guts::facts(std::string_view line) {
  if (const auto n = after(line, "using world size:")) out.gpus = count_of(n);
  if (const auto n = after(line, "dist_world_size="); n && out.gpus == 0) out.gpus = count_of(n);
  if (has(line, "Discovered MPI settings of") && out.gpus == 0) out.gpus = count_of(after(line, "world_size="));
  if (has(line, "> padded vocab")) out.padded_vocab = count_of(after(line, "new size:"));
  if (has(line, "'train_runtime'")) {
    if (const auto rate = after(line, "'train_steps_per_second'"); rate && *rate > 0) out.mean_step_s = 1 / *rate;
    out.samples_per_s = after(line, "'train_samples_per_second'").value_or(0);
  }
  titan_facts(line);
  gpu_facts(line);
  marks(line);
}

void StepLogReader::Guts::marks(std::string_view line) {
  const bool saves =
      (has(line, "saving checkpoint") || has(line, "Saving model checkpoint") || has(line, "Saving the checkpoint"));
  const bool tests = has(line, "validation loss at iteration") || has(line, "Running Evaluation");
  if ((!saves && !tests) || out.marks.size() >= kStepMarksMax) return;
  std::optional<std::uint64_t> step = step_of(after(line, "at iteration"));
  if (!step) step = step_of(after(line, "checkpoint-"));
  for (const FormSteps& f : forms) {
    if (!step && !f.steps.empty()) step = f.steps.back().step;
  }
  if (!step) return;
  const StepMark mark{*step, saves ? MarkKind::checkpoint : MarkKind::evaluation};
  for (std::size_t i = out.marks.size(); i > 0 && i + 4 > out.marks.size(); --i) {  // other ranks say so too
    if (out.marks[i - 1].step == mark.step && out.marks[i - 1].kind == mark.kind) return;
  }
  out.marks.push_back(mark);
}

void StepLogReader::Guts::read(std::string_view line) {
  if (in_json && json_line(line)) return;
  if (has(line, kArguments)) {
    in_arguments = !settings_seen;
    settings_seen = true;
    return;
  }
  if (has(line, "end of arguments")) {
    in_arguments = false;
    return;
  }
  if (in_arguments && has(line, " ..")) return argument(line);
  if (has(line, kAcross) || has(line, kAllRanks)) {
    in_timers = true;
    ranks_of.clear();
    return;
  }
  if (has(line, kIteration)) {
    in_timers = false;
    return iteration(line);
  }
  if (in_timers && timer(line)) return;
  if (has(line, kNemo)) return nemo(line);
  if (has(line, "MODEL_TFLOP/s/GPU")) return bridge(line);
  if (has(line, "time (ms) |")) return time_parts(line);
  if (const auto sample = deepspeed.progress(line)) return record(StepForm::deepspeed, *sample, line);
  if (has(line, "step:") && has(line, "loss:") && (has(line, " tps:") || has(line, " wps:"))) return torchtitan(line);
  if (has(line, "%|") && progress_bar(line)) return;
  if (has(line, "[config.py:")) return engine(line);
  facts(line);
}

void StepLogReader::Guts::line(std::string_view raw) {
  if (raw.empty()) return;
  ++out.lines;
  if (has(raw, "\x1b")) return read(without_escapes(raw));
  read(raw);
}

// Where lines tell no times of steps: by tokens or samples and their rate, by timers, or by when they were written.
void StepLogReader::Guts::derive_times(StepForm form) {
  out.clock = StepClock::none;
  if (form == StepForm::deepspeed) return deepspeed.time_steps(out);
  const double tokens = out.gpus > 0 ? static_cast<double>(out.batch) * out.seq / out.gpus : 0;
  for (StepSample& s : out.steps) {
    if (s.time_s > 0) out.clock = StepClock::printed;
    if (s.time_s > 0 || form != StepForm::torchtitan || tokens <= 0 || s.tokens_per_s <= 0) continue;
    s.time_s = tokens / s.tokens_per_s;
    out.clock = StepClock::rate;
  }
  time_by_stamps(out);
  if (form == StepForm::progress_bar) {
    for (StepSample& s : out.steps) s.at_s = 0;
  }
}

StepLogReader::StepLogReader() : guts_(std::make_unique<Guts>()) {}
StepLogReader::~StepLogReader() = default;
StepLogReader::StepLogReader(StepLogReader&&) noexcept = default;
StepLogReader& StepLogReader::operator=(StepLogReader&&) noexcept = default;

void StepLogReader::feed(std::string_view text) {
  Guts& g = *guts_;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\n\r");
    const std::string_view piece = text.substr(0, end);
    const std::size_t room = kStepLineMax - std::min(kStepLineMax, g.pending.size());
    if (end == std::string_view::npos) {
      g.pending += piece.substr(0, room);
      return;
    }
    if (g.pending.empty()) {
      g.line(piece.substr(0, kStepLineMax));
    } else {
      g.pending += piece.substr(0, room);
      g.line(std::exchange(g.pending, {}));
    }
    text.remove_prefix(end + 1);
  }
}

// The first form that tells times; where none does, the first that at least tells of steps: a reader is told what is missing.
void StepLogReader::Guts::choose_form() {
  std::optional<std::size_t> untold;
  for (std::size_t i = 0; i < kForms; ++i) {
    if (forms[i].steps.empty()) continue;
    out.steps = forms[i].steps;
    derive_times(static_cast<StepForm>(i));
    if (out.clock != StepClock::none) {
      out.form = static_cast<StepForm>(i);
      out.left_out = forms[i].left_out;
      return;
    }
    if (!untold && static_cast<StepForm>(i) != StepForm::progress_bar) untold = i;
  }
  out.steps.clear();
  if (!untold) return;
  out.form = static_cast<StepForm>(*untold);
  out.steps = std::move(forms[*untold].steps);
  out.left_out = forms[*untold].left_out;
}

StepLog StepLogReader::finish() {
  Guts& g = *guts_;
  if (!g.pending.empty()) g.line(std::exchange(g.pending, {}));
  StepLog& out = g.out;
  const auto argument = [&](const char* name) {
    const auto it = out.arguments.find(name);
    return it == out.arguments.end() ? 0U : count_of(parse_double(it->second));
  };
  if (out.gpus == 0) out.gpus = argument("world_size");
  const RankMesh& m = out.mesh;
  if (out.gpus == 0 && m.shard > 0) {
    double all = 1;
    for (const std::uint32_t n : {m.pp, m.replicate, m.shard, m.cp, m.tp}) all *= std::max(1U, n);
    out.gpus = count_of(all);
  }
  out.used_memory_gb = std::max(out.used_memory_gb, g.deepspeed.used_memory_gb());
  g.deepspeed.settings(out);
  g.deepspeed.scale_timers(out);
  g.choose_form();
  if (out.form == StepForm::none && out.mean_step_s > 0) out.form = StepForm::progress_bar;  // its last line alone
  const auto deepspeed = out.arguments.find("deepspeed");
  if (deepspeed != out.arguments.end() && deepspeed->second == "True") {
    out.framework = "Megatron-DeepSpeed";
  } else if (!out.arguments.empty() || out.form == StepForm::megatron) {
    out.framework = g.forms[static_cast<std::size_t>(StepForm::bridge)].steps.empty() ? "Megatron-LM" : "Megatron-Bridge";
  } else if (out.mean_step_s > 0) {
    out.framework = "Hugging Face Trainer";
  } else if (out.form != StepForm::none && out.form != StepForm::progress_bar) {
    out.framework = names(StepForm{})[static_cast<std::size_t>(out.form)];
  }
  return std::move(out);
}

StepLog parse_step_log(std::string_view text) {
  StepLogReader reader;
  reader.feed(text);
  return reader.finish();
}

bool looks_like_step_log(std::string_view text) {
  constexpr std::size_t kLooked = 4 << 20;
  const std::string_view head = text.substr(0, kLooked);
  if (head.find('\0') != std::string_view::npos) return false;
  for (const std::string_view sign :
       {kIteration, kNemo, std::string_view("MODEL_TFLOP/s/GPU"), std::string_view("'train_runtime'"),
        std::string_view("Trainer is initialized with local batch size")}) {
    if (has(head, sign)) return true;
  }
  if (has(head, kArguments) && has(head, " ...")) return true;
  return (has(head, "step:") && has(head, "loss:") && (has(head, " tps:") || has(head, " wps:"))) || looks_like_deepspeed(head) ||
         (has(head, "%|") && has(head, "/it]")) || (has(head, "%|") && has(head, "it/s]"));
}

}  // namespace muster
