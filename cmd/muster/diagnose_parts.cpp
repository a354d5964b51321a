#include "diagnose_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json_writer.h"
#include "base/text.h"
#include "diagnose/execution_trace.h"
#include "diagnose/kernel_profile.h"
#include "model/fields.h"

namespace muster::cmd {
namespace {

constexpr std::size_t kSaidKernels = 10;
constexpr double kLaunch = 5e-6;  // what the host needs to start a kernel, in seconds

void write_told(JsonWriter& w, const char* key, const std::optional<double>& v) {
  w.key(key);
  if (v) {
    w.value(*v);
  } else {
    w.null();
  }
}

diagnose::Bound bound_of(diagnose::KernelBound b) {
  switch (b) {
    case diagnose::KernelBound::compute: return diagnose::Bound::compute;
    case diagnose::KernelBound::memory: return diagnose::Bound::memory;
    case diagnose::KernelBound::fill:
    case diagnose::KernelBound::latency: return diagnose::Bound::launch;
    case diagnose::KernelBound::unknown: break;
  }
  return diagnose::Bound::other;
}

double steps_of(const diagnose::ExecutionDiagnosis& d) { return static_cast<double>(std::max<std::uint64_t>(1, d.steps)); }

std::vector<std::string> execution_words(const diagnose::ExecutionDiagnosis& d, const diagnose::Peaks& peaks) {
  std::vector<std::string> out;
  const double steps = steps_of(d);
  const char* each = d.steps > 0 ? " a step" : "";
  out.push_back(
      fmt::format("  {} operators{}: {:.4g} GFLOP and {:.4g} GB{}{}", d.operators,
                  d.steps > 0 ? fmt::format(" in {} steps", d.steps) : std::string(", no steps marked"), d.flops / 1e9 / steps,
                  d.bytes / 1e9 / steps, each,
                  d.seconds > 0 ? fmt::format(", {:.4g} ms at best on {}", d.seconds * 1e3 / steps, peaks.gpu) : std::string()));
  if (d.unknown > 0) out.push_back(fmt::format("  {} operators more whose cost is not known", d.unknown));
  out.push_back(fmt::format("  {} in the longest row of operators that wait for each other", d.chain.operators));
  if (d.traced) {
    const diagnose::TracedTimes& t = *d.traced;
    const auto ms = [&](double s) { return s * 1e3 / steps; };
    out.push_back(
        fmt::format("  by its own times {:.4g} ms{}: computing {:.4g} ms, exchanges {:.4g} ms{}{}; in the longest row "
                    "{:.4g} ms",
                    ms(t.sum_s()), each, ms(t.compute_s), ms(t.exchange_s),
                    t.memory_s > 0 ? fmt::format(", memory {:.4g} ms", ms(t.memory_s)) : std::string(),
                    t.other_s > 0 ? fmt::format(", other {:.4g} ms", ms(t.other_s)) : std::string(), ms(t.row_s)));
  }
  for (const diagnose::ExchangeSum& x : d.exchanges)
    out.push_back(fmt::format("  {}: {} calls, {:.4g} MB{}{}{}", x.op, x.calls, x.bytes / 1e6 / steps, each,
                              x.seconds > 0
                                  ? fmt::format(", {:.4g} ms, {:.4g} GB/s", x.seconds * 1e3 / steps, x.bytes / x.seconds / 1e9)
                                  : std::string(),
                              x.ranks > 0 ? fmt::format(", {} ranks", x.ranks) : std::string()));
  return out;
}

std::string execution_json(const diagnose::ExecutionDiagnosis& d) {
  JsonWriter w;
  w.object().field("operators", d.operators).field("steps", d.steps).field("flops", d.flops).field("bytes", d.bytes);
  w.field("seconds", d.seconds).field("unknown", d.unknown).field("small", d.small).field("syncs", d.syncs);
  w.field("chain_operators", d.chain.operators).key("traced");
  if (d.traced) {
    w.object().field("compute_s", d.traced->compute_s).field("memory_s", d.traced->memory_s);
    w.field("exchange_s", d.traced->exchange_s).field("other_s", d.traced->other_s).field("row_s", d.traced->row_s);
    w.field("row_exchange_s", d.traced->row_exchange_s).end_object();
  } else {
    w.null();
  }
  w.key("exchanges").array();
  for (const diagnose::ExchangeSum& x : d.exchanges) {
    w.object().field("op", x.op).field("group", x.group).field("dtype", x.dtype).field("ranks", x.ranks).field("calls", x.calls);
    w.field("bytes", x.bytes).field("seconds", x.seconds).end_object();
  }
  w.end_array().end_object();
  return w.take();
}

diagnose::Verdict traced_verdict(const diagnose::ExecutionDiagnosis& d) {
  const diagnose::TracedTimes& t = *d.traced;
  struct Part {
    double seconds;
    diagnose::Bound bound;
    const char* what;
  };
  const std::array<Part, 4> parts = {{{t.compute_s, diagnose::Bound::compute, "computing"},
                                      {t.exchange_s, diagnose::Bound::communication, "in exchanges"},
                                      {t.memory_s, diagnose::Bound::memory, "moving data"},
                                      {t.other_s, diagnose::Bound::other, "doing what is not told"}}};
  const Part& most =
      *std::max_element(parts.begin(), parts.end(), [](const Part& x, const Part& y) { return x.seconds < y.seconds; });
  std::string others;
  for (const Part& p : parts) {
    if (&p != &most && p.seconds > 0) others += fmt::format(", {:.0f} % {}", 100 * p.seconds / t.sum_s(), p.what);
  }
  const double steps = steps_of(d);
  return {most.bound,
          fmt::format("by the trace's own times {:.4g} ms{}, {:.0f} % of it {}{}", t.sum_s() * 1e3 / steps,
                      d.steps > 0 ? " a step" : "", 100 * most.seconds / t.sum_s(), most.what, others),
          diagnose::Confidence::medium};
}

diagnose::Verdict untimed_verdict(const diagnose::ExecutionDiagnosis& d, const diagnose::Peaks& peaks) {
  const double computing = peaks.bf16 > 0 ? d.flops / peaks.bf16 : 0,
               moving = peaks.bytes_per_s > 0 ? d.bytes / peaks.bytes_per_s : 0;
  const double launching = kLaunch * static_cast<double>(d.operators);
  const bool small = d.seconds > 0 && launching > 1.5 * d.seconds;
  if (d.operators == 0)
    return {d.exchanges.empty() ? diagnose::Bound::other : diagnose::Bound::communication,
            d.exchanges.empty() ? "without times, and without an operator whose cost is known"
                                : "without times, and exchanges are all that is known of it",
            diagnose::Confidence::low};
  if (d.seconds <= 0)
    return {diagnose::Bound::compute,
            peaks.known() ? "without times: what there is to do, and no more"
                          : "without times, and without a GPU to compare with (--gpu): what there is to do, and no more",
            diagnose::Confidence::low};
  return {small                 ? diagnose::Bound::launch
          : computing >= moving ? diagnose::Bound::compute
                                : diagnose::Bound::memory,
          fmt::format("without times: at best {:.4g} ms{} on {}, {}", d.seconds * 1e3 / steps_of(d), d.steps > 0 ? " a step" : "",
                      peaks.gpu,
                      small                 ? "and launching its operators takes longer than that"
                      : computing >= moving ? "most of it arithmetic"
                                            : "most of it through memory"),
          diagnose::Confidence::low};
}

void take_findings(std::vector<diagnose::Finding> from, report::Diagnosis& to) {
  for (diagnose::Finding& f : from) to.findings.push_back(std::move(f));
}

}  // namespace

void add_kernels(const KernelProfile& profile, const std::string& name, bool only, report::Diagnosis& to) {
  const diagnose::KernelDiagnosis d = diagnose::diagnose_kernels(profile);
  report::DiagnosisPart part;
  part.key = only ? "kernels" : "kernels " + name;
  part.title = only ? "" : name;
  JsonWriter w;
  w.object().field("time_ns", d.time_ns).key("kernels").array();
  for (const diagnose::KernelVerdict& k : d.kernels) {
    w.object().field("name", printable(k.name)).field("bound", name_of(k.bound)).field("launches", k.launches);
    w.field("time_ns", k.time_ns).field("share_pct", k.share_pct);
    write_told(w, "sm_pct", k.sm_pct);
    write_told(w, "memory_pct", k.memory_pct);
    write_told(w, "tensor_pct", k.tensor_pct);
    write_told(w, "occupancy_pct", k.achieved_occupancy_pct);
    write_told(w, "theoretical_occupancy_pct", k.theoretical_occupancy_pct);
    write_told(w, "waves", k.waves);
    write_told(w, "tail_pct", k.tail_pct);
    w.field("limiter", k.limiter).end_object();
    if (part.words.size() >= kSaidKernels) continue;
    const auto pct = [](const std::optional<double>& v) { return v ? fmt::format("{:.0f} %", *v) : std::string("?"); };
    part.words.push_back(fmt::format("  {:>5.1f} %  {:<8} SM {:>5}, memory {:>5}, occupancy {:>5}  {}", k.share_pct,
                                     name_of(k.bound), pct(k.sm_pct), pct(k.memory_pct), pct(k.achieved_occupancy_pct),
                                     printable(k.name).substr(0, 70)));
  }
  w.end_array().end_object();
  part.json = w.take();
  if (to.verdict.sentence.empty() && !d.kernels.empty()) {
    const diagnose::KernelVerdict& top = d.kernels.front();
    to.verdict = {
        bound_of(top.bound),
        fmt::format("{:.0f} % of what was profiled is {}, bound by {}", top.share_pct, printable(top.name).substr(0, 80),
                    top.bound == diagnose::KernelBound::fill      ? "too few blocks to fill the GPU"
                    : top.bound == diagnose::KernelBound::latency ? "latency: neither arithmetic nor memory is busy"
                                                                  : std::string(name_of(top.bound))),
        top.bound == diagnose::KernelBound::unknown ? diagnose::Confidence::low : diagnose::Confidence::high};
  }
  to.parts.push_back(std::move(part));
  take_findings(d.findings, to);
}

void add_execution(const ExecutionTrace& trace, const std::string& name, bool only, const diagnose::Peaks& peaks,
                   report::Diagnosis& to) {
  const diagnose::ExecutionDiagnosis d = diagnose::diagnose_execution(
      trace, {.flops_per_s = peaks.bf16, .bytes_per_s = peaks.bytes_per_s, .launch_s = kLaunch, .bf16 = peaks.bf16 > 0});
  report::DiagnosisPart part;
  part.key = only ? "execution" : "execution " + name;
  part.title = only ? "" : name;
  part.words = execution_words(d, peaks);
  part.json = execution_json(d);
  if (to.verdict.sentence.empty()) to.verdict = d.traced ? traced_verdict(d) : untimed_verdict(d, peaks);
  to.parts.push_back(std::move(part));
  take_findings(d.findings, to);
}

}  // namespace muster::cmd
