#include "diagnose/profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/fields.h"

namespace muster::diagnose {
namespace {

constexpr double kReplayOff = 0.03;  // beyond it, gains are guesses
constexpr double kLossCounts = 25;   // percent of the step from which on what is lost bounds it, and not what is done;
constexpr double kLostInAll = 33;    // or if all that is lost comes to this, and the most of it to
constexpr double kLossLeast = 15;
constexpr double kUnknownCounts = 0.25;  // of the kernels' time

double at(const Shares& s, Bound b) { return s[static_cast<std::size_t>(b)]; }

std::string why(Bound b, double pct, double step_ms, std::size_t ranks) {
  const std::string of =
      fmt::format("of a step of {}{}", ms_words(step_ms), ranks > 1 ? fmt::format(", over {} ranks", ranks) : "");
  switch (b) {
    case Bound::compute: return fmt::format("{} the GPU computes {:.0f} %: its arithmetic is the limit", of, pct);
    case Bound::memory: return fmt::format("{} the GPU spends {:.0f} % in kernels that wait for its memory", of, pct);
    case Bound::communication: return fmt::format("{} {:.0f} % goes into exchanges that nothing is computed beside", of, pct);
    case Bound::input: return fmt::format("{} the GPU waits {:.0f} % for the next batch", of, pct);
    case Bound::launch: return fmt::format("{} the GPU waits {:.0f} % for the host to launch the next kernel", of, pct);
    case Bound::sync:
      return fmt::format("{} the GPU is idle {:.0f} % because the host had waited for it and the queue was empty", of, pct);
    case Bound::copy: return fmt::format("{} {:.0f} % goes into copies between host and GPU that nothing runs beside", of, pct);
    case Bound::pipeline: return fmt::format("{} {:.0f} % is the pipeline's bubble", of, pct);
    case Bound::dependency: return fmt::format("{} {:.0f} % is spent waiting for another stream", of, pct);
    case Bound::other: break;
  }
  return fmt::format("{} the GPU is idle {:.0f} % for no reason that a call of the host shows", of, pct);
}

}  // namespace

std::string ms_words(double ms) {
  return ms < 9'999       ? fmt::format("{:.4g} ms", ms)
         : ms < 9'999'000 ? fmt::format("{:.4g} s", ms / 1e3)
                          : fmt::format("{:.0f} s", ms / 1e3);
}

Shares shares_of(const PartTimes& parts, const Physics& kernels) {
  double sum = 0;
  for (const std::int64_t ns : parts) sum += static_cast<double>(ns);
  Shares out{};
  if (sum <= 0) return out;
  const auto part = [&](Part p) { return 100 * static_cast<double>(parts[static_cast<std::size_t>(p)]) / sum; };
  const double working = part(Part::compute) + part(Part::compute_beside);
  const double known = static_cast<double>(kernels.compute_ns + kernels.memory_ns);
  const double computes = known > 0 ? static_cast<double>(kernels.compute_ns) / known : 0;
  const auto set = [&](Bound b, double pct) { out[static_cast<std::size_t>(b)] = pct; };
  set(Bound::compute, working * computes);
  set(Bound::memory, working * (1 - computes));
  set(Bound::communication, part(Part::wait) + part(Part::transfer));
  set(Bound::input, part(Part::input));
  set(Bound::launch, part(Part::launch));
  set(Bound::sync, part(Part::sync));
  set(Bound::copy, part(Part::pageable) + part(Part::pinned));
  set(Bound::pipeline, part(Part::pipeline));
  set(Bound::dependency, part(Part::dependency));
  set(Bound::other, part(Part::other));
  return out;
}

Profile take_apart(const Trace& trace, std::string file, const Peaks& peaks, std::span<const std::int64_t> waits) {
  Profile p;
  p.trace = &trace;
  p.file = std::move(file);
  p.line = timeline(trace, waits);
  if (p.line.events.empty()) return p;
  p.kernels = physics(trace, p.line, peaks);
  p.shares = shares_of(p.line.parts(), p.kernels);
  return p;
}

Replay play_again(Profile& p) {
  Replay out(*p.trace, p.line);
  if (!p.line.events.empty()) p.replay_error = out.error();
  return out;
}

Verdict verdict_of(std::span<const Profile> ranks) {
  Shares mean{};
  double step_ms = 0, off = 0, kernels = 0, unknown = 0;
  bool hosts = false;  // calls of the host are there
  std::size_t n = 0, steps = SIZE_MAX;
  for (const Profile& p : ranks) {
    if (p.line.events.empty()) continue;
    ++n;
    steps = std::min(steps, p.line.steps.size());
    off = std::max(off, p.replay_error);
    kernels += static_cast<double>(p.kernels.compute_ns + p.kernels.memory_ns);
    unknown += static_cast<double>(p.kernels.unknown_ns);
    hosts = hosts || (p.trace != nullptr && !p.trace->calls.empty());
    step_ms += static_cast<double>(p.line.step_ns()) / 1e6;
    for (std::size_t b = 0; b < kBounds; ++b) mean[b] += p.shares[b];
  }
  Verdict v;
  if (n == 0) {
    v.sentence = "nothing ran on a GPU: what bounds the job cannot be told from this";
    return v;
  }
  for (double& s : mean) s /= static_cast<double>(n);
  step_ms /= static_cast<double>(n);
  constexpr Bound kLost[] = {Bound::communication, Bound::input, Bound::launch, Bound::sync, Bound::copy, Bound::pipeline};
  const auto most = [&](Bound x, Bound y) { return at(mean, x) < at(mean, y); };
  const Bound worst = *std::max_element(std::begin(kLost), std::end(kLost), most);
  const Bound nameless = std::max(Bound::other, Bound::dependency, most);
  const double work = at(mean, Bound::compute) + at(mean, Bound::memory);
  v.bound = at(mean, Bound::compute) >= at(mean, Bound::memory) ? Bound::compute : Bound::memory;
  if (at(mean, worst) >= kLossCounts || (100 - work >= kLostInAll && at(mean, worst) >= kLossLeast)) v.bound = worst;
  // What is idle for reasons that nobody can name is no bound; where it is most of all, that is said.
  v.nameless = at(mean, nameless) > std::max(work, at(mean, worst));
  v.sentence = v.nameless ? fmt::format("{}; of what it shows, most is {} ({:.0f} %)",
                                        why(nameless, at(mean, nameless), step_ms, n), name_of(v.bound), at(mean, v.bound))
                          : why(v.bound, at(mean, v.bound), step_ms, n);
  double second = 0;
  for (std::size_t b = 0; b < kBounds; ++b) {
    if (b != static_cast<std::size_t>(v.bound)) second = std::max(second, mean[b]);
  }
  const bool clear = at(mean, v.bound) > 1.25 * second;
  v.confidence = off > kReplayOff || v.nameless ? Confidence::low : clear && steps > 1 ? Confidence::high : Confidence::medium;
  const bool worked = v.bound == Bound::compute || v.bound == Bound::memory;
  if (worked && unknown > kUnknownCounts * kernels) {
    v.confidence = Confidence::low;
    v.sentence += fmt::format("; {:.0f} % of that is in kernels of which neither shapes nor names tell what they wait for",
                              100 * unknown / kernels);
  }
  if (!v.nameless && at(mean, nameless) >= kLossCounts) {
    v.confidence = hosts ? std::min(v.confidence, Confidence::medium) : Confidence::low;
    v.sentence += fmt::format("; it is idle {:.0f} %, and the profile does not show why", at(mean, nameless));
  }
  if (off > kReplayOff)
    v.sentence += fmt::format("; a replay of it is {:.0f} % off, so that gains are rough", 100 * std::min(off, 9.99));
  return v;
}

std::vector<std::string> shortcomings(std::span<const Profile> ranks, const Peaks& peaks) {
  std::vector<std::string> out;
  bool shapes = false, marks = false, calls = false, devices = false;
  std::uint64_t left_out = 0;
  std::uint32_t told = 0;
  for (const Profile& p : ranks) {
    shapes = shapes || !p.trace->inputs.empty();
    marks = marks || !p.trace->steps.empty();
    calls = calls || !p.trace->calls.empty();
    devices = devices || p.line.devices > 1;
    left_out += p.trace->left_out;
    if (p.trace->ranks) told = std::max(told, *p.trace->ranks);
  }
  if (!calls)
    out.emplace_back("the host's calls are not in it: why the GPU is idle cannot be told (ProfilerActivity.CPU records them)");
  if (!marks) out.emplace_back("no steps are marked: it is taken as one (call profiler.step() after each)");
  if (!shapes) out.emplace_back("no shapes: kernels are told apart by their names alone (record_shapes=True)");
  if (!peaks.known()) out.emplace_back("what its GPU can do is not known: name one with --gpu to compare with");
  if (ranks.size() == 1 && told > 1)
    out.push_back(fmt::format("one rank of {}: whether an exchange waits for a peer or moves data cannot be told from it", told));
  if (ranks.size() > 1 && ranks.size() < told)
    out.push_back(fmt::format("{} ranks of {}: those that are not here may be the ones that these wait for", ranks.size(), told));
  if (devices) out.emplace_back("several GPUs in one profile: the one with the most work is told of");
  if (left_out > 0) out.push_back(fmt::format("{} operators beyond what is kept were left out of the shapes", left_out));
  return out;
}

}  // namespace muster::diagnose
