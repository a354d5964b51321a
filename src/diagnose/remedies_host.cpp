// What the host, the loader and the links keep the GPU from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "diagnose/remedies.h"

namespace muster::diagnose {
namespace {

constexpr int kWorkersMost = 16;
constexpr double kBesideWorkers = 1.25;  // so much longer a step takes on its host when the loader's workers take turns with it

Change without_profiler() {
  Change c;
  c.host_event_ns = Remedies::kProfilerNs[0];
  return c;
}

}  // namespace

void Remedies::input() {
  if (share(Bound::input) < kWorthTelling) return;
  Finding f;
  f.cost_pct = share(Bound::input);
  f.title = fmt::format("The GPU waits {:.1f} % of the step for the next batch", f.cost_pct);
  say_gaps(Part::input, f);
  std::int64_t fetching = 0;
  bool workers = false;
  for (const Mark& m : t_.marks) {
    if (!fetches_input(t_.names[m.name])) continue;
    fetching += m.span.length();
    workers = workers || has_part(t_.names[m.name], "MultiProcessing");
  }
  Change c;
  c.no_input = true;
  c.host_slower = kBesideWorkers;
  Change fed = without_profiler();
  fed.no_input = true;
  const double rest = std::max<double>(1, static_cast<double>(replay_.step_ns(fed)));
  const double load = static_cast<double>(fetching) / steps_;  // of one batch, by one worker, or what is missing of it
  // With workers already, batches come one in a step: so many times more of them are needed.
  const double ratio = workers ? static_cast<double>(p_.line.step_ns()) / rest : load / rest;
  const int wanted = std::clamp(static_cast<int>(std::ceil(1.25 * ratio)) + 1, 2, kWorkersMost);
  f.remedy = workers ? fmt::format(
                           "DataLoader(num_workers=...): {:.0f} times as many as now, prefetch_factor=4, persistent_workers=True",
                           std::min(ratio * 1.25, 16.0))
                     : fmt::format("DataLoader(num_workers={}, prefetch_factor=4, persistent_workers=True)", wanted);
  // As many workers as are asked for may still not be enough.
  const double slower =
      workers ? static_cast<double>(p_.line.step_ns()) * 1.2 / std::min(ratio * 1.25, 8.0) : load * 1.2 / wanted;
  put(Bound::input, std::move(f), &c, 4, slower);
}

void Remedies::sync() {
  if (share(Bound::sync) < kWorthTelling) return;
  Finding f;
  f.cost_pct = share(Bound::sync);
  f.title = fmt::format("The host waits for the GPU, and then leaves it idle for {:.1f} % of the step", f.cost_pct);
  say_gaps(Part::sync, f);
  std::map<std::string, std::uint64_t> by;
  std::uint64_t waits = 0;
  for (const HostOp& op : t_.ops) {
    const std::string_view name = t_.names[op.name];
    if (name == "aten::item" || name == "aten::_local_scalar_dense" || name == "aten::nonzero" || name == "aten::is_nonzero" ||
        name == "aten::equal")
      ++by[std::string(name)];
  }
  for (const RuntimeCall& call : t_.calls) waits += host_call(t_.names[call.name]) == HostCall::sync ? 1 : 0;
  f.evidence.push_back(
      fmt::format("{:.4g} waits a step", static_cast<double>(waits) / std::max<double>(1, static_cast<double>(t_.steps.size()))));
  for (const auto& [name, count] : by) f.evidence.push_back(fmt::format("{} was called {} times", name, count));
  f.remedy = by.contains("aten::nonzero") ? "no masks of unknown length in the step (torch.where instead of x[mask]); keep "
                                            "numbers on the GPU, ask for them every hundred steps"
                                          : "no .item(), .cpu(), print(loss) or torch.cuda.synchronize() in the step: add "
                                            "losses up on the GPU and ask for them every "
                                            "hundred steps, or ask for the last step's";
  f.verify = "torch.cuda.set_sync_debug_mode(\"warn\") names every line that waits";
  Change c;
  c.no_waits = true;
  put(Bound::sync, std::move(f), &c, 4);
}

void Remedies::copies() {
  if (share(Bound::copy) < kWorthTelling) return;
  Finding f;
  f.cost_pct = share(Bound::copy);
  std::vector<std::int64_t> lengths = measured();
  std::uint64_t bytes = 0, count = 0;
  std::int64_t taken = 0;
  std::uint32_t example = kNone;
  for (std::uint32_t e = 0; e < lengths.size(); ++e) {
    const GpuEvent& event = *p_.line.events[e];
    if (event.work != GpuWork::copy || !has_part(t_.names[event.name], "Pageable") || event.bytes < 65'536) continue;
    bytes += event.bytes;
    taken += event.span.length();
    ++count;
    if (example == kNone || event.bytes > p_.line.events[example]->bytes) example = e;
    if (peaks_.host_bytes_per_s > 0) {
      const auto pinned = static_cast<std::int64_t>(static_cast<double>(event.bytes) / peaks_.host_bytes_per_s * 1e9);
      lengths[e] = std::min(lengths[e], pinned);
    }
  }
  if (count == 0) {
    f.title = fmt::format("Copies between host and GPU take {:.1f} % of the step", f.cost_pct);
    f.evidence = copies_words();
    f.remedy = "copy the next batch on a stream of its own while this one is computed (torch.cuda.Stream, record_stream)";
    Change c;
    for (std::uint32_t e = 0; e < lengths.size(); ++e) {
      const GpuEvent& event = *p_.line.events[e];
      if (event.work == GpuWork::copy && (has_part(t_.names[event.name], "HtoD") || has_part(t_.names[event.name], "DtoH")))
        lengths[e] = 0;
    }
    c.lengths_ns = std::move(lengths);
    c.free_copies = true;
    put(Bound::copy, std::move(f), &c, 5);
    return;
  }
  const double rate = taken > 0 ? static_cast<double>(bytes) / static_cast<double>(taken) : 0;  // GB/s
  f.title = fmt::format("Copies from memory that is not pinned take {:.1f} % of the step", f.cost_pct);
  f.evidence = copies_words();
  f.evidence.push_back(fmt::format("the largest: {}", where(example)));
  f.achieved = fmt::format("{:.3g} GB/s", rate);
  if (peaks_.host_bytes_per_s > 0) f.expected = fmt::format("{:.3g} GB/s from pinned memory", peaks_.host_bytes_per_s / 1e9);
  f.remedy = "DataLoader(pin_memory=True) or tensor.pin_memory(), and .to(device, non_blocking=True)";
  Change c;
  c.lengths_ns = std::move(lengths);
  c.free_copies = true;
  put(Bound::copy, std::move(f), peaks_.host_bytes_per_s > 0 ? &c : nullptr, 4);
}

std::vector<std::string> Remedies::copies_words() const {
  std::map<std::string, std::pair<std::uint64_t, std::int64_t>> kinds;
  for (const GpuEvent* e : p_.line.events) {
    const std::string_view name = t_.names[e->name];
    if (e->work != GpuWork::copy || !(has_part(name, "HtoD") || has_part(name, "DtoH"))) continue;
    auto& [bytes, ns] = kinds[printable(t_.names[e->name])];
    bytes += e->bytes;
    ns += e->span.length();
  }
  std::vector<std::string> out;
  for (const auto& [name, seen] : kinds)
    out.push_back(fmt::format("{}: {:.4g} MB in {:.4g} ms a step", name, static_cast<double>(seen.first) / 1e6 / steps_,
                              in_ms(a_step(seen.second))));
  return out;
}

void Remedies::launches() {
  if (share(Bound::launch) < kWorthTelling) return;
  Finding f;
  f.cost_pct = share(Bound::launch);
  f.title = fmt::format("The host launches too slowly: the GPU is idle {:.1f} % of the step", f.cost_pct);
  std::uint64_t kernels = 0, graphed = 0;
  std::vector<std::int64_t> lengths;
  for (std::uint32_t e = 0; e < p_.line.events.size(); ++e) {
    if (p_.line.own_ns[e] == 0 || p_.line.events[e]->work != GpuWork::compute) continue;
    ++kernels;
    const RuntimeCall* by = p_.line.calls[e];
    graphed += by != nullptr && host_call(t_.names[by->name]) == HostCall::graph ? 1 : 0;
    lengths.push_back(p_.line.events[e]->span.length());
  }
  if (!lengths.empty()) {
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    f.evidence.push_back(fmt::format("{:.4g} kernels a step, half of them shorter than {:.3g} us",
                                     static_cast<double>(kernels) / steps_, static_cast<double>(*middle) / 1e3));
  }
  say_gaps(Part::launch, f);
  if (2 * graphed > kernels) {
    f.evidence.push_back(fmt::format("{} of {} kernels were launched by graphs already", graphed, kernels));
    f.remedy = "larger graphs (the whole step in one), a larger micro-batch, or fewer and larger kernels";
    put(Bound::launch, std::move(f), nullptr);
    return;
  }
  f.remedy =
      "torch.compile(model, mode=\"reduce-overhead\"), or the step in a torch.cuda.CUDAGraph; a larger micro-batch does it as "
      "well";
  f.verify = "cudaGraphLaunch in the next profile, and no gaps between its kernels";
  Change c;
  c.graph = true;
  put(Bound::launch, std::move(f), &c, 4);
}

void Remedies::exchanges() {
  const PartTimes parts = p_.line.parts();
  const std::int64_t bare = parts[static_cast<std::size_t>(Part::transfer)];
  if (pct(bare) < kWorthTelling) return;
  // No more of it can be hidden than there is computing to hide it behind.
  const auto computing = static_cast<double>(parts[static_cast<std::size_t>(Part::compute)]);
  const double hidden = std::min(1.0, computing / static_cast<double>(bare));
  Finding f;
  f.cost_pct = pct(bare);
  f.title = fmt::format("Exchanges that nothing is computed beside take {:.1f} % of the step", f.cost_pct);
  std::map<std::string, std::pair<std::int64_t, std::uint32_t>> kinds;
  std::vector<std::int64_t> lengths = measured();
  for (std::uint32_t e = 0; e < lengths.size(); ++e) {
    const GpuEvent& event = *p_.line.events[e];
    if (event.work != GpuWork::communication) continue;
    auto& [ns, count] = kinds[printable(t_.names[event.name]).substr(0, 70)];
    const std::int64_t moving = p_.line.own_ns[e] - p_.line.waited_ns[e];
    ns += moving;
    ++count;
    lengths[e] = std::max<std::int64_t>(0, lengths[e] - static_cast<std::int64_t>(hidden * static_cast<double>(moving)));
  }
  for (const auto& [name, seen] : kinds) {
    if (f.evidence.size() < 4)
      f.evidence.push_back(fmt::format("{}: {:.4g} ms a step alone, {} in all", name, in_ms(a_step(seen.first)), seen.second));
  }
  f.remedy =
      "overlap them: gradients in buckets while the backward pass runs (DDP bucket_cap_mb, --overlap-grad-reduce, "
      "\"overlap_comm\": true), "
      "weights fetched ahead (FSDP forward_prefetch and BACKWARD_PRE, --overlap-param-gather)";
  if (hidden < 0.9) {
    f.evidence.push_back(fmt::format("there are {:.4g} ms of computing a step to hide them behind", computing / 1e6 / steps_));
    f.remedy = "exchange less or faster (links, larger micro-batches, fewer replicas, gradients in 16 bits); and " + f.remedy;
  }
  // Of one rank's profile alone, all of it may be waiting for a peer.
  f.confidence =
      t_.ranks.value_or(1) > 1 && parts[static_cast<std::size_t>(Part::wait)] == 0 ? Confidence::low : Confidence::medium;
  Change c;
  c.lengths_ns = std::move(lengths);
  put(Bound::communication, std::move(f), &c, 8);
}

void Remedies::allocations() {
  std::map<std::string, std::pair<std::int64_t, std::uint32_t>> seen;
  std::int64_t taken = 0;
  for (const RuntimeCall& c : t_.calls) {
    if (host_call(t_.names[c.name]) != HostCall::allocate) continue;
    const std::int64_t from = std::max(c.span.start_ns, p_.line.steps.front().span.start_ns);
    const std::int64_t length = std::min(c.span.end_ns, p_.line.steps.back().span.end_ns) - from;
    if (length <= 0) continue;
    auto& [ns, count] = seen[printable(t_.names[c.name])];
    ns += length;
    ++count;
    taken += length;
  }
  if (pct(taken) < kWorthTelling) return;
  Finding f;
  f.cost_pct = pct(taken);
  f.title = fmt::format("Memory is taken and given back within steps: {:.1f} % of their time", f.cost_pct);
  for (const auto& [name, s] : seen) f.evidence.push_back(fmt::format("{}: {} times, {:.4g} ms", name, s.second, in_ms(s.first)));
  f.remedy =
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and less memory in use: a full device makes the allocator give back "
      "and take again";
  f.verify = "torch.cuda.memory_stats()[\"num_alloc_retries\"] stays 0";
  put(Bound::sync, std::move(f), nullptr);
}

void Remedies::elsewhere() {
  if (share(Bound::other) < 5) return;
  Finding f;
  f.cost_pct = share(Bound::other);
  f.title = fmt::format("The GPU is idle {:.1f} % of the step while the host does what the profile does not show", f.cost_pct);
  say_gaps(Part::other, f);
  if (t_.calls.empty()) {
    f.title =
        fmt::format("The GPU is idle {:.1f} % of the step, and the host's calls, which say why, are not recorded", f.cost_pct);
    f.remedy = "profile again with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]";
    f.confidence = Confidence::high;
    put(Bound::other, std::move(f), nullptr);
    return;
  }
  const auto gaps = during(Part::other);
  const auto most =
      std::max_element(gaps.begin(), gaps.end(), [](const auto& x, const auto& y) { return x.second.first < y.second.first; });
  if (most != gaps.end() && most->first != kNothingRecorded &&
      2 * in_ms(a_step(most->second.first)) > f.cost_pct / 100 * in_ms(p_.line.step_ns())) {
    f.title = fmt::format("The GPU is idle {:.1f} % of the step, most of it while the host is in {}", f.cost_pct, most->first);
    const bool saves = has_part(most->first, "checkpoint") || has_part(most->first, "save");
    f.remedy = saves ? "save without stopping (torch.distributed.checkpoint.async_save, --async-save), or less often"
                     : fmt::format("{} less often, in another thread or process, or on the GPU", most->first);
    f.confidence = Confidence::medium;
  } else {
    f.remedy =
        "profile with with_stack=True, and see what Python does there: checkpoints, logging, garbage collection, code of one's "
        "own";
    f.confidence = Confidence::low;
  }
  put(Bound::other, std::move(f), nullptr);
}

// What bounds the step and has no remedy that a replay gains by is told all the same.
void Remedies::unmended() {
  if (std::any_of(out_.begin(), out_.end(), [](const Ranked& r) { return r.first; })) return;
  struct Advice {
    Bound bound;
    Part part;
    std::string_view title, remedy;
  };
  constexpr Advice kAdvice[] = {
      {Bound::input, Part::input, "The GPU waits for the next batch",
       "DataLoader(num_workers=..., prefetch_factor=4, persistent_workers=True), data nearer to the host"},
      {Bound::launch, Part::launch, "The host launches too slowly",
       "torch.compile(model, mode=\"reduce-overhead\"), a torch.cuda.CUDAGraph, a larger batch; for a server: its own graphs "
       "(e.g. without enforce_eager)"},
      {Bound::sync, Part::sync, "The host waits for the GPU and leaves it idle",
       "no .item(), .cpu() or synchronize() in the step"},
      {Bound::copy, Part::pinned, "Copies between host and GPU", "copy on a stream of its own, from pinned memory"},
      {Bound::pipeline, Part::pipeline, "The pipeline's bubble",
       "more micro-batches a step, an interleaved schedule (--num-layers-per-virtual-pipeline-stage), layers evenly over "
       "stages"},
      {Bound::communication, Part::transfer, "Exchanges that nothing is computed beside",
       "exchange less or faster: larger micro-batches, gradients in 16 bits, groups within a node"},
      {Bound::dependency, Part::dependency, "Work waits for another stream",
       "look at what the other streams do then: an exchange or a copy that comes late"}};
  for (const Advice& a : kAdvice) {
    if (!bounds(a.bound) || share(a.bound) < kWorthTelling) continue;
    Finding f;
    f.cost_pct = share(a.bound);
    f.title = fmt::format("{}: {:.1f} % of the step", a.title, f.cost_pct);
    say_gaps(a.part, f);
    f.evidence.emplace_back(
        "what it would save cannot be told: played again with the usual remedy alone, the step takes as long");
    f.remedy = a.remedy;
    f.confidence = Confidence::low;
    put(a.bound, std::move(f), nullptr);
  }
}

}  // namespace muster::diagnose
