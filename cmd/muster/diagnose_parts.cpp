#include "diagnose_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "diagnose/execution_trace.h"
#include "diagnose/kernel_profile.h"
#include "model/fields.h"

namespace muster::cmd {
namespace {

constexpr std::size_t kSaidKernels = 10;

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
  const diagnose::ExecutionDiagnosis d =
      diagnose::diagnose_execution(trace, {.flops_per_s = peaks.bf16, .bytes_per_s = peaks.bytes_per_s, .launch_s = 5e-6});
  report::DiagnosisPart part;
  part.key = only ? "execution" : "execution " + name;
  part.title = only ? "" : name;
  const double steps = static_cast<double>(std::max<std::uint64_t>(1, d.steps));
  part.words.push_back(fmt::format(
      "  {} operators in {} steps: {:.4g} GFLOP and {:.4g} GB a step{}", d.operators, d.steps, d.flops / 1e9 / steps,
      d.bytes / 1e9 / steps, d.seconds > 0 ? fmt::format(", {:.4g} ms at best on {}", d.seconds * 1e3 / steps, peaks.gpu) : ""));
  part.words.push_back(fmt::format("  {} in the longest row of operators that wait for each other", d.chain.operators));
  JsonWriter w;
  w.object().field("operators", d.operators).field("steps", d.steps).field("flops", d.flops).field("bytes", d.bytes);
  w.field("seconds", d.seconds).field("unknown", d.unknown).field("small", d.small).field("syncs", d.syncs);
  w.field("chain_operators", d.chain.operators).key("exchanges").array();
  for (const diagnose::ExchangeSum& x : d.exchanges) {
    w.object().field("op", x.op).field("group", x.group).field("dtype", x.dtype).field("ranks", x.ranks).field("calls", x.calls);
    w.field("bytes", x.bytes).end_object();
    part.words.push_back(
        fmt::format("  {}: {} calls, {:.4g} MB a step, {} ranks", x.op, x.calls, x.bytes / 1e6 / steps, x.ranks));
  }
  w.end_array().end_object();
  part.json = w.take();
  if (to.verdict.sentence.empty()) {
    const double computing = peaks.bf16 > 0 ? d.flops / peaks.bf16 : 0,
                 moving = peaks.bytes_per_s > 0 ? d.bytes / peaks.bytes_per_s : 0;
    const double launching = 5e-6 * static_cast<double>(d.operators);
    const bool small = d.seconds > 0 && launching > 1.5 * d.seconds;
    to.verdict = {small                 ? diagnose::Bound::launch
                  : computing >= moving ? diagnose::Bound::compute
                                        : diagnose::Bound::memory,
                  d.seconds > 0
                      ? fmt::format("without times: at best {:.4g} ms a step on {}, {}", d.seconds * 1e3 / steps, peaks.gpu,
                                    small                 ? "and launching its operators takes longer than that"
                                    : computing >= moving ? "most of it arithmetic"
                                                          : "most of it through memory")
                      : std::string("without times, and without a GPU to compare with (--gpu): what there is to do, and no more"),
                  diagnose::Confidence::low};
  }
  to.parts.push_back(std::move(part));
  take_findings(d.findings, to);
}

}  // namespace muster::cmd
