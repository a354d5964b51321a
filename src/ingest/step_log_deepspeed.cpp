#include "ingest/step_log_deepspeed.h"

#include <algorithm>

#include "base/text.h"
#include "ingest/step_log.h"
#include "ingest/step_log_text.h"

namespace muster {
namespace {

using namespace step_text;

constexpr double kGibi = 1073741824.0 / 1e9;
constexpr std::string_view kRate = "SamplesPerSec=", kNow = "CurrSamplesPerSec=";
constexpr std::string_view kPipeline = "iter time (s):";
constexpr std::string_view kPiece = "_microstep";

// "0/40, SamplesPerSec=...", as before 2023.
std::optional<std::uint64_t> step_before(std::string_view line, std::size_t rate) {
  const std::size_t comma = line.substr(0, rate).rfind(',');
  if (comma == std::string_view::npos) return {};
  std::size_t from = comma;
  while (from > 0 && digit(line[from - 1])) --from;
  if (from == comma || from == 0 || line[from - 1] != '/') return {};
  return step_of(number_at(line.substr(from, comma - from)));
}

// A step is its forward pass, its backward pass and the optimizer: what else has a timer is inside of these. 0: not all are told.
double step_ms(std::string_view line, std::string_view suffix) {
  double parts[3] = {-1, -1, -1};
  for (const std::string_view part : split(line, '|')) {
    const std::size_t colon = part.rfind(':');
    if (colon == std::string_view::npos) continue;
    std::string_view name = trim(part.substr(0, colon));
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    const int at = name == "fwd" || name == "forward" ? 0 : name == "bwd" || name == "backward" ? 1 : name == "step" ? 2 : -1;
    if (at >= 0) parts[at] = number_at(part.substr(colon + 1)).value_or(-1);
  }
  const double all = parts[0] + parts[1] + parts[2];
  return parts[0] >= 0 && parts[1] >= 0 && parts[2] >= 0 && all < 1e12 ? all : 0;
}

std::uint32_t setting(const StepLog& log, std::string_view name) {
  const auto it = log.engine.find(name);
  const std::uint32_t own = it == log.engine.end() ? 0 : count_of(number_at(it->second));
  return own > 0 ? own : count_of(after(log.deepspeed_json, "\"" + std::string(name) + "\""));
}

}  // namespace

// "epoch=0/micro_step=20/global_step=10, RunningAvgSamplesPerSec=12.3, CurrSamplesPerSec=12.5, MemAllocated=14.5GB,
// MaxMemAllocated=40.1GB"
std::optional<StepSample> DeepSpeedLines::throughput(std::string_view line) {
  StepSample s;
  s.samples_per_s = after(line, kNow).value_or(after(line, kRate).value_or(0));
  if (!(s.samples_per_s > 0)) return {};
  auto count = step_of(after(line, "global_step="));
  if (const auto micro = step_of(after(line, "micro_step=")); micro && count && *count > 0 && *micro % *count == 0)
    accumulation_ = count_of(static_cast<double>(*micro / *count));
  if (!count) count = step_before(line, line.find(kRate));
  // What is allocated at most: what is reserved for it, which is more, is not told.
  if (const auto gib = after(line, "MaxMemAllocated="); gib && *gib < 1e4)
    used_memory_gb_ = std::max(used_memory_gb_, *gib * kGibi);
  if (told_now_) {
    if (count) ahead_ = static_cast<std::int64_t>(told_) - static_cast<std::int64_t>(*count);
    s.step = told_;
  } else if (count) {
    s.step = static_cast<std::uint64_t>(std::max<std::int64_t>(0, static_cast<std::int64_t>(*count) + ahead_));
  }
  told_now_ = false;
  if (s.step == 0) return {};
  return s;
}

// "steps: 10 loss: 2.3456 iter time (s): 1.234 samples/sec: 51.9": the mean of all steps since the last such line.
std::optional<StepSample> DeepSpeedLines::pipeline(std::string_view line) {
  auto step = step_of(after(line, "steps:"));
  if (!step) step = step_of(after(line, "step:"));
  StepSample s;
  s.time_s = after(line, kPipeline).value_or(0);
  if (!step || *step == 0 || !(s.time_s > 0)) return {};
  s.step = *step;
  s.samples_per_s = after(line, "samples/sec:").value_or(0);
  if (has(line, "loss: nan")) s.nan = 1;
  pipeline_ = true;
  return s;
}

// "[Rank 0] step=10, skipped=0, lr=[...], mom=[...]": it has no time but that of its line.
std::optional<StepSample> DeepSpeedLines::learning(std::string_view line) {
  const auto step = step_of(after(line, " step="));
  if (!step || *step == 0) return {};
  StepSample s;
  s.step = *step;
  if (const auto skipped = step_of(after(line, "skipped="))) {
    if (*skipped > skipped_) s.skipped = static_cast<std::uint32_t>(std::min<std::uint64_t>(*skipped - skipped_, UINT32_MAX));
    skipped_ = *skipped;
  }
  told_now_ = true;
  return s;
}

std::optional<StepSample> DeepSpeedLines::progress(std::string_view line) {
  std::optional<StepSample> s;
  if (has(line, kPipeline)) {
    s = pipeline(line);
  } else if (has(line, kRate)) {
    return throughput(line);
  } else if (has(line, "skipped=") && has(line, "lr=")) {
    s = learning(line);
  }
  if (!s || s->step == told_) return s;
  told_ = s->step;
  timed_since_ = false;
  if (pieces_.size() < kStepsMax) pieces_.push_back({told_, std::exchange(pieces_s_, 0), stamp_of(line), 0});
  return s;
}

// Of a step they come after the line that tells its number, where there is one: not every step has it.
void DeepSpeedLines::timers(std::string_view line, std::uint32_t number) {
  const std::size_t bar = line.find('|');
  if (bar == std::string_view::npos) return;
  const std::string_view parts = line.substr(bar + 1);
  pieces_s_ += 1e-3 * step_ms(parts, kPiece);
  const double whole = 1e-3 * step_ms(parts, "");
  if (!(whole > 0) || whole_.size() >= kStepsMax) return;
  const std::uint64_t next = whole_.empty() ? 1 : whole_.back().step + 1;
  whole_.push_back({std::exchange(timed_since_, true) ? next : told_, whole, stamp_of(line), number});
}

void DeepSpeedLines::settings(StepLog& out) const {
  const bool known = !out.engine.empty() || !out.deepspeed_json.empty() || accumulation_ > 0;
  if (!known || !out.arguments.empty()) return;  // Megatron's own say it
  // The engine counts the ranks that have data of their own: without stages those are all.
  if (out.gpus == 0 && !pipeline_) out.gpus = setting(out, "world_size");
  if (out.micro_batch == 0) out.micro_batch = setting(out, "train_micro_batch_size_per_gpu");
  if (out.batch == 0) out.batch = setting(out, "train_batch_size");
  std::uint32_t times = setting(out, "gradient_accumulation_steps");
  if (times == 0) times = accumulation_;
  if (out.batch == 0 && !pipeline_) out.batch = count_of(static_cast<double>(out.micro_batch) * out.gpus * times);
}

bool DeepSpeedLines::time_by_timers(StepLog& out) const {
  if (!whole_.empty()) {
    // Steps that no line of progress has are told by timers too: all of them count.
    std::vector<StepSample> all;
    std::size_t told = 0;
    for (const Timed& t : whole_) {
      StepSample s;
      if (told < out.steps.size() && out.steps[told].step == t.step) s = out.steps[told++];
      s.step = t.step;
      s.time_s = t.time_s;
      s.at_s = t.at_s;
      if (s.line == 0) s.line = t.line;
      all.push_back(s);
    }
    for (; told < out.steps.size(); ++told) all.back().skipped += out.steps[told].skipped;
    out.steps = std::move(all);
    return true;
  }
  bool any = false;
  std::size_t at = 0;
  for (std::size_t i = 1; i < pieces_.size(); ++i) {
    const Timed &a = pieces_[i - 1], &b = pieces_[i];
    if (b.step <= a.step || !(b.time_s > 0)) continue;
    while (at < out.steps.size() && out.steps[at].step != b.step) ++at;
    if (at == out.steps.size()) break;
    out.steps[at].time_s = b.time_s / static_cast<double>(b.step - a.step);
    any = true;
  }
  return any;
}

void DeepSpeedLines::time_steps(StepLog& out) const {
  if (std::any_of(out.steps.begin(), out.steps.end(), [](const StepSample& s) { return s.time_s > 0; })) {
    out.clock = StepClock::printed;
    return;
  }
  if (time_by_rate(out, out.batch)) return;
  if (!pipeline_ && time_by_timers(out)) {
    out.clock = StepClock::timers;
    return;
  }
  time_by_stamps(out);
}

void DeepSpeedLines::scale_timers(StepLog& out) const {
  double apart = 1;  // Megatron's own timers are of one iteration
  if (pipeline_ && out.arguments.empty() && pieces_.size() > 1) {
    std::vector<double> all;
    for (std::size_t i = 1; i < pieces_.size(); ++i) {
      if (pieces_[i].step > pieces_[i - 1].step) all.push_back(static_cast<double>(pieces_[i].step - pieces_[i - 1].step));
    }
    if (!all.empty()) {
      std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
      apart = all[all.size() / 2];
    }
  }
  for (PhaseTimer& t : out.timers) {
    if (t.ranks) continue;
    t.min_ms /= apart;
    t.max_ms /= apart;
    t.micro = !pipeline_ && std::string_view(t.name).ends_with(kPiece);
  }
  if (accumulation_ > 0) out.accumulation = accumulation_;
  if (out.accumulation == 0) out.accumulation = setting(out, "gradient_accumulation_steps");
}

bool looks_like_deepspeed(std::string_view text) {
  return (has(text, kRate) && has(text, "MemAllocated=")) || (has(text, kPipeline) && has(text, "samples/sec:")) ||
         (has(text, "skipped=") && has(text, ", lr=[") && has(text, "mom="));
}

}  // namespace muster
