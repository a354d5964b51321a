#include "report/run_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "model/fields.h"

namespace muster::report {
namespace {

using diagnose::Pace;
using diagnose::RunCheck;

constexpr double kPlain = 1e9;  // larger ones, which only a broken log has, are written short

// Seconds with the digits that tell steps apart.
std::string seconds(double s) {
  return s < 1 ? fmt::format("{:.1f} ms", s * 1e3) : s < kPlain ? fmt::format("{:.3f} s", s) : fmt::format("{:.3g} s", s);
}

std::string bounded(double v) { return v < kPlain ? fmt::format("{:.1f}", v) : fmt::format("{:.3g}", v); }

// Since when it is slower or faster than it was: the middle of all steps alone hides that.
std::string change_words(const diagnose::StepTimes& t) {
  const auto by = [](const diagnose::Shift& s) {
    const double ratio = s.before_s > 0 ? s.after_s / s.before_s : 1;
    return ratio >= 1 ? fmt::format("{:.0f} % slower", 100 * (ratio - 1)) : fmt::format("{:.0f} % faster", 100 * (1 - ratio));
  };
  if (t.shift) return fmt::format(", and {} since step {}", by(*t.shift), t.shift->step);
  if (t.growth) return fmt::format(", and little by little {} by the end", by(*t.growth));
  return "";
}

// Where a step's time is not what the log printed, what it is from.
std::string clock_words(const RunCheck& c) {
  switch (c.clock) {
    case StepClock::rate:
      return c.samples_per_s > 0 ? fmt::format("{} samples a second and {} a step", bounded(c.samples_per_s), c.clock_batch)
                                 : "tokens a second";
    case StepClock::timers: return "timers of its forward pass, its backward pass and the optimizer, without what is between";
    case StepClock::stamps: return "the time between lines, over the steps between them";
    case StepClock::none:
    case StepClock::printed: break;
  }
  return "";
}

std::string speed(const RunCheck& c) {
  std::vector<std::string> parts;
  if (c.tokens_per_s > 0)
    parts.push_back(
        fmt::format("{} tokens/s", c.tokens_per_s < kPlain ? fmt::format("{:.0f}", c.tokens_per_s) : bounded(c.tokens_per_s)));
  if (c.tflops > 0) parts.push_back(fmt::format("{} TFLOP/s a GPU", bounded(c.tflops)));
  if (c.mfu_pct > 0) parts.push_back(fmt::format("MFU {} % of {}", bounded(c.mfu_pct), c.gpu));
  if (c.reported_tflops > 0) parts.push_back(fmt::format("the log counts {} TFLOP/s", bounded(c.reported_tflops)));
  if (c.reported_mfu_pct > 0) parts.push_back(fmt::format("and MFU {} %", bounded(c.reported_mfu_pct)));
  return join(parts, ", ");
}

void write_spread(JsonWriter& w, const diagnose::Spread& s) {
  w.key("step_s").object();
  w.field("median", s.median_s).field("p10", s.p10_s).field("p90", s.p90_s).field("mean", s.mean_s).end_object();
}

void write_expected(JsonWriter& w, const RunCheck& c) {
  w.key("expected");
  if (!c.expected) {
    w.null();
    return;
  }
  const diagnose::ExpectedStep& e = *c.expected;
  w.object().field("step_s", e.step_s).field("low_s", e.low_s).field("high_s", e.high_s).field("basis", e.basis);
  w.field("others", e.others);
  const predict::StepTime& t = e.parts;
  w.key("parts").object();
  w.field("compute_s", t.compute_s).field("head_s", t.head_s).field("tensor_s", t.tensor_s).field("context_s", t.context_s);
  w.field("expert_s", t.expert_s).field("send_s", t.send_s).field("data_s", t.data_s).field("bubble_s", t.bubble_s);
  w.field("optimizer_s", t.optimizer_s).field("overhead_s", t.overhead_s).field("jitter_s", t.jitter_s).end_object();
  w.end_object();
}

void write_history(JsonWriter& w, const diagnose::StepTimes& t) {
  w.field("warm_up", std::uint64_t{t.warm_up})
      .field("outliers", std::uint64_t{t.outliers})
      .field("skipped", t.skipped)
      .field("nan", t.nan);
  w.field("outside_pct", t.outside_pct).field("computed_again", t.computed_again);
  const auto shift = [&](const char* key, const std::optional<diagnose::Shift>& s) {
    w.key(key);
    if (!s) {
      w.null();
      return;
    }
    w.object()
        .field("step", s->step)
        .field("line", s->line)
        .field("before_s", s->before_s)
        .field("after_s", s->after_s)
        .end_object();
  };
  shift("onset", t.shift);
  shift("growth", t.growth);
  w.key("periodic");
  if (t.periodic) {
    w.object().field("every", t.periodic->every).field("extra_s", t.periodic->extra_s).field("share_pct", t.periodic->share_pct);
    w.field("what", t.periodic->what ? name_of(*t.periodic->what) : std::string_view("unknown")).end_object();
  } else {
    w.null();
  }
  w.key("episodes").array();
  for (const auto& e : t.episodes)
    w.object().field("first", e.first).field("last", e.last).field("slower_pct", e.slower_pct).end_object();
  w.end_array().key("restarts").array();
  for (const auto& r : t.restarts)
    w.object().field("reached", r.reached).field("resumed", r.resumed).field("gap_s", r.gap_s).field("line", r.line).end_object();
  w.end_array();
}

std::string pace_sentence(const RunCheck& c) {
  const double step = c.times.spread.median_s;
  if (step <= 0 && c.samples_per_s > 0)
    return fmt::format("{} samples a second; the log does not tell how long a step took", bounded(c.samples_per_s));
  if (step <= 0) return "the log does not tell how long a step took";
  if (c.pace == Pace::unknown || !c.expected)
    return fmt::format("a step takes {}; how long it should take, and what it is bound by, cannot be told", seconds(step));
  const std::string_view far =
      c.confidence == diagnose::Confidence::low && c.expected->others.empty() ? ", which nothing like it was measured for" : "";
  switch (c.pace) {
    case Pace::as_expected:
      return fmt::format("a step takes {}, as expected ({} to {}){}", seconds(step), seconds(c.expected->low_s),
                         seconds(c.expected->high_s), far);
    case Pace::slower:
      return fmt::format("a step takes {}: {:.0f} % longer than the {} that are expected ({} to {}){}", seconds(step), c.off_pct,
                         seconds(c.expected->step_s), seconds(c.expected->low_s), seconds(c.expected->high_s), far);
    case Pace::faster:
      return fmt::format("a step takes {}: faster than the {} that are expected ({} to {}){}", seconds(step),
                         seconds(c.expected->step_s), seconds(c.expected->low_s), seconds(c.expected->high_s), far);
    case Pace::unknown: break;
  }
  return {};
}

}  // namespace

std::string run_sentence(const RunCheck& c) {
  if (c.times.spread.median_s <= 0) return pace_sentence(c);
  const bool others = c.expected && !c.expected->others.empty() && c.pace != Pace::unknown;
  return pace_sentence(c) + change_words(c.times) +
         (others ? fmt::format("; compared with runs of {}, not of {}", c.expected->others, c.framework) : "");
}

std::vector<std::string> say_run_check(const RunCheck& c) {
  std::vector<std::string> out;
  const diagnose::Spread& s = c.times.spread;
  if (s.samples > 0) {
    std::string line = fmt::format("{}{} {} ({} to {})", c.framework.empty() ? "" : c.framework + ", ", s.samples,
                                   s.samples == 1 ? "step" : "steps", c.times.first, c.times.last);
    if (s.samples >= 5) line += fmt::format(", eight of ten between {} and {}", seconds(s.p10_s), seconds(s.p90_s));
    out.push_back(std::move(line));
    if (const std::string from = clock_words(c); !from.empty()) out.push_back("times of steps: by " + from);
  }
  if (const std::string line = speed(c); !line.empty()) out.push_back(line);
  if (c.expected) out.push_back(fmt::format("expected on {} {}: {}", c.gpus, c.gpu, c.expected->basis));
  if (!c.gpu_from.empty()) out.push_back("GPU: " + c.gpu_from);
  for (std::size_t i = 0; i < std::min<std::size_t>(4, c.phases.size()); ++i) {
    const diagnose::PhaseShare& p = c.phases[i];
    out.push_back(fmt::format("  {:<28} {:>10} ms, {} % of a step{}", p.name, bounded(p.mean_ms), bounded(p.share_pct),
                              p.ranks ? fmt::format("; the fastest rank {:.0f} % less", p.spread_pct) : ""));
  }
  return out;
}

void write_run(JsonWriter& w, const RunCheck& c) {
  w.object();
  w.field("framework", c.framework).field("gpus", c.gpus).field("gpu", c.gpu).field("gpu_from", c.gpu_from);
  w.field("steps", std::uint64_t{c.times.spread.samples}).field("first", c.times.first).field("last", c.times.last);
  write_spread(w, c.times.spread);
  w.field("timed_by", name_of(c.clock));
  const auto told = [&](const char* key, double v) {
    w.key(key);
    if (v > 0) {
      w.value(v);
    } else {
      w.null();
    }
  };
  told("tokens_per_s", c.tokens_per_s);
  told("samples_per_s", c.samples_per_s);
  told("tflops", c.tflops);
  told("mfu_pct", c.mfu_pct);
  told("reported_tflops", c.reported_tflops);
  told("reported_mfu_pct", c.reported_mfu_pct);
  write_expected(w, c);
  w.field("pace", name_of(c.pace)).field("off_pct", c.off_pct);
  write_history(w, c.times);
  w.key("phases").array();
  for (const diagnose::PhaseShare& p : c.phases) {
    w.object().field("name", p.name).field("mean_ms", p.mean_ms).field("share_pct", p.share_pct);
    w.key("spread_pct");
    if (p.ranks) {
      w.value(p.spread_pct);
    } else {
      w.null();
    }
    w.end_object();
  }
  w.end_array().key("cannot").array();
  for (const std::string& why : c.cannot) w.value(printable(why));
  w.end_array().end_object();
}

}  // namespace muster::report
