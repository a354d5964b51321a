#include "diagnose/memory_findings.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster::diagnose {
namespace {

// Findings come by what they are about. Out of memory is all of a step; the others cost no time that a snapshot tells.
constexpr double kCostOom = 100, kCostGrowth = 50, kCostChurn = 5, kCostFragments = 2, kCostRounding = 1;

constexpr double kChurnPerStep = 0.5;  // of segments: fewer are no loop's habit

std::string title_of(const DeviceMemory& d, const Oom& o) {
  const std::string asked = fmt::format("GPU {} ran out of memory for {}", d.device, say_bytes(o.asked));
  switch (o.cause) {
    case OomCause::too_large:
      return d.batch && d.batch->no_room
                 ? fmt::format("{}: what stays from step to step leaves no room, whatever the batch", asked)
                 : fmt::format("{}: what is in use leaves too little", asked);
    case OomCause::fragmented:
      return fmt::format("{}, though {} that it had reserved lay free: in pieces too small", asked, say_bytes(o.state.inactive));
    case OomCause::other_streams:
      return fmt::format("{}: {} lay free, cached for other streams", asked, say_bytes(o.free_other_streams));
    case OomCause::private_pools:
      return fmt::format("{}: {} lay free in the pools of CUDA graphs", asked, say_bytes(o.free_private));
    case OomCause::elsewhere:
      return fmt::format("{}: {} of it are held outside of this allocator", asked, say_bytes(o.elsewhere));
    case OomCause::split_limit: break;
  }
  return fmt::format("{}: a free block of {} was there, which max_split_size_mb forbids to use", asked, say_bytes(o.largest_own));
}

std::vector<std::string> evidence_of(const DeviceMemory& d, const Oom& o, const MemoryQuestion& q) {
  std::vector<std::string> out;
  out.push_back(fmt::format("{}: event {} of {} on GPU {}: {} asked for in {}", q.file, o.event, d.events, d.device,
                            say_bytes(o.asked), o.where));
  out.push_back(fmt::format("then {} were reserved, {} in use, {} free in the cache (largest piece {}), {} free on the device",
                            say_bytes(o.state.reserved), say_bytes(o.state.allocated), say_bytes(o.state.inactive),
                            say_bytes(o.state.largest_free), say_bytes(o.device_free)));
  if (o.free_other_streams > 0 || o.free_private > 0) {
    out.push_back(fmt::format("of the free: {} for the same stream (largest piece {}), {} for other streams, {} in private pools",
                              say_bytes(o.free_own), say_bytes(o.largest_own), say_bytes(o.free_other_streams),
                              say_bytes(o.free_private)));
  }
  if (o.by_fraction) out.push_back("the device had enough: the program limits itself (set_per_process_memory_fraction)");
  if (o.elsewhere > 0)
    out.push_back(fmt::format("{} of the device are held outside of this allocator: other processes, NCCL, the driver",
                              say_bytes(o.elsewhere)));
  std::size_t shown = 0;
  for (const MemoryHolder& m : d.at_peak) {
    if (shown++ == 3) break;
    out.push_back(fmt::format("{} of {} are held by {} ({})", say_bytes(m.bytes), say_bytes(o.state.allocated), m.where,
                              names(MemoryClass{})[static_cast<std::size_t>(m.kind)]));
  }
  if (d.batch) out.push_back("the batch: " + say_batch(*d.batch));
  if (d.replay_off)
    out.push_back(fmt::format("replayed with today's settings it {}, at a peak of reserved memory {:+.1f} % off the recorded one",
                              d.replay_fails_alike ? "fails there as well" : "does not fail there", 100 * *d.replay_off));
  return out;
}

std::uint64_t held(const DeviceMemory& d, MemoryClass c) { return d.classes[static_cast<std::size_t>(c)]; }

// No batch is small enough: what the model itself takes has to become less.
std::string room_words(const DeviceMemory& d) {
  const std::uint64_t state =
      held(d, MemoryClass::parameters) + held(d, MemoryClass::optimizer) + held(d, MemoryClass::gradients);
  if (d.growth && held(d, MemoryClass::kept) > state)
    return fmt::format("let go of what {} keeps from step to step: that is most of what stays", d.growth->where);
  const bool weights = held(d, MemoryClass::parameters) >= held(d, MemoryClass::optimizer);
  return fmt::format(
      "no batch fits beside what stays: spread it over more GPUs ({}), keep the optimizer's states in 8 bits (bitsandbytes, "
      "torchao), or offload them to the host (\"offload_optimizer\", CPUOffloadPolicy)",
      weights ? "weights too: FSDP, ZeRO stage 3, or tensor ranks" : "FSDP, or ZeRO stage 1 for the optimizer's alone");
}

std::string batch_words(const DeviceMemory& d) {
  if (!d.batch)
    return d.oom && d.oom->by_fraction
               ? "a larger torch.cuda.set_per_process_memory_fraction, a smaller batch, or activation checkpointing"
               : "a smaller batch, or activation checkpointing";
  const BatchAdvice& b = *d.batch;
  if (b.no_room) return room_words(d);
  if (b.fits && *b.fits == 0)
    return fmt::format(
        "not even one sample fits ({:.2f} times today's batch): activation checkpointing, shorter sequences, or "
        "sequences in pieces (context ranks)",
        b.factor);
  return fmt::format("a batch of {}{:.2f} times today's{}, or activation checkpointing", b.at_most ? "at most " : "", b.factor,
                     b.fits ? fmt::format(" ({})", *b.fits) : "");
}

std::string setting_words(const SettingAdvice& a) {
  return fmt::format("{} (newer versions of PyTorch call it PYTORCH_ALLOC_CONF)", a.environment);
}

std::string remedy_of(const DeviceMemory& d, const Oom& o) {
  if (o.cause == OomCause::elsewhere)
    return fmt::format("end the other processes on this GPU (nvidia-smi lists them); else {}", batch_words(d));
  if (o.cause == OomCause::too_large && !d.advice) return batch_words(d);
  if (d.advice && d.advice->tight)
    return fmt::format("{}, which serves it with next to nothing to spare; and {}", setting_words(*d.advice), batch_words(d));
  if (d.advice) return setting_words(*d.advice);
  switch (o.cause) {
    case OomCause::private_pools:
      return "let the graphs share one pool (torch.cuda.graph(pool=...)), capture fewer sizes, or " + batch_words(d);
    case OomCause::other_streams:
      return "allocate on fewer streams, or torch.cuda.empty_cache() between phases; " + batch_words(d);
    case OomCause::split_limit: return "remove max_split_size_mb from PYTORCH_CUDA_ALLOC_CONF";
    default: return "no setting of the allocator serves it in a replay: " + batch_words(d);
  }
}

Finding oom_finding(const DeviceMemory& d, const Oom& o, const MemoryQuestion& q) {
  Finding f;
  f.title = title_of(d, o);
  f.evidence = evidence_of(d, o, q);
  f.expected = fmt::format("{} in use and {} asked for, of {} that it could have", say_bytes(o.state.allocated),
                           say_bytes(o.asked), say_bytes(o.limit));
  f.achieved = fmt::format("{} reserved for {} in use", say_bytes(o.state.reserved), say_bytes(o.state.allocated));
  f.remedy = remedy_of(d, o);
  if (d.advice) {
    f.evidence.push_back(fmt::format("replayed with {} every request is served, at {} reserved", d.advice->setting,
                                     say_bytes(d.advice->reserved_peak)));
    f.verify = fmt::format("run it again: no request fails, and torch.cuda.max_memory_reserved() is near {}",
                           say_bytes(d.advice->reserved_peak));
  } else {
    f.verify =
        fmt::format("run it again: no request fails, and torch.cuda.max_memory_reserved() stays below {}", say_bytes(o.limit));
  }
  f.confidence = d.advice ? d.advice->confidence : o.by_fraction ? Confidence::medium : Confidence::high;
  f.cost_pct = kCostOom;
  return f;
}

Finding growth_finding(const DeviceMemory& d, const MemoryGrowth& g) {
  Finding f;
  f.title = fmt::format("GPU {}: what is in use grows by {} a step", d.device, say_bytes(g.bytes_per_step));
  f.evidence = {fmt::format("over {} steps, where each begins", g.steps),
                fmt::format("{:.0f} % of it was asked for in {} and never given back", 100 * g.share, g.where)};
  f.expected = "0 B a step";
  f.achieved = say_bytes(g.bytes_per_step) + " a step";
  f.remedy = fmt::format(
      "let go of what {} keeps from step to step (.item() or .detach() for losses and metrics, no list that grows)", g.where);
  f.verify = "torch.cuda.memory_allocated() at the beginning of each step stays the same";
  f.confidence = g.share >= 0.7 && g.steps >= 5 ? Confidence::high : Confidence::medium;
  f.cost_pct = kCostGrowth;
  return f;
}

Finding churn_finding(const DeviceMemory& d, const MemoryChurn& c) {
  Finding f;
  f.title = fmt::format("GPU {}: segments are taken from the driver and given back in every step", d.device);
  f.evidence = {fmt::format("{:.1f} taken and {:.1f} given back a step; giving back waits for the GPU", c.allocs_per_step,
                            c.frees_per_step)};
  f.expected = "none after the first steps";
  f.achieved = fmt::format("{:.1f} a step", c.allocs_per_step + c.frees_per_step);
  f.remedy =
      d.advice ? setting_words(*d.advice)
               : "a smaller batch, or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; no torch.cuda.empty_cache() in the loop";
  f.verify = "torch.cuda.memory_stats()['num_alloc_retries'] stays the same from step to step";
  f.confidence = Confidence::high;
  f.cost_pct = kCostChurn;
  return f;
}

void fragments(const DeviceMemory& d, std::vector<Finding>& into) {
  if (d.oom || !d.advice || d.advice->reserved_peak > d.reserved_peak.bytes / 20 * 19) return;
  Finding f;
  f.title = fmt::format("GPU {}: {} are reserved at the peak for {} in use", d.device, say_bytes(d.reserved_peak.bytes),
                        say_bytes(d.allocated_peak.bytes));
  f.evidence = {
      fmt::format("replayed with {} the peak is {}", d.advice->setting, say_bytes(d.advice->reserved_peak)),
      fmt::format("{} lie free in segments that cannot go back, since something is in use in them", say_bytes(d.now.pinned))};
  f.expected = say_bytes(d.advice->reserved_peak) + " reserved";
  f.achieved = say_bytes(d.reserved_peak.bytes) + " reserved";
  f.remedy = setting_words(*d.advice);
  f.verify = fmt::format("torch.cuda.max_memory_reserved() is near {}", say_bytes(d.advice->reserved_peak));
  f.confidence = d.advice->confidence;
  f.cost_pct = kCostFragments;
  into.push_back(std::move(f));
}

void rounding(const DeviceMemory& d, std::vector<Finding>& into) {
  const std::uint64_t lost = d.now.allocated > d.now.requested ? d.now.allocated - d.now.requested : 0;
  if (d.now.allocated == 0 || static_cast<double>(lost) < 0.1 * static_cast<double>(d.now.allocated)) return;
  Finding f;
  f.title = fmt::format("GPU {}: {} of {} in use are lost to rounding", d.device, say_bytes(lost), say_bytes(d.now.allocated));
  f.evidence = {fmt::format("{} were asked for", say_bytes(d.now.requested))};
  f.expected = say_bytes(d.now.requested);
  f.achieved = say_bytes(d.now.allocated);
  f.remedy = "remove roundup_power2_divisions, or put many small tensors into one";
  f.confidence = Confidence::medium;
  f.cost_pct = kCostRounding;
  into.push_back(std::move(f));
}

}  // namespace

std::vector<Finding> memory_findings(const MemoryDiagnosis& diagnosis, const MemoryQuestion& question) {
  std::vector<Finding> out;
  for (const DeviceMemory& d : diagnosis.devices) {
    if (d.oom) out.push_back(oom_finding(d, *d.oom, question));
    if (d.growth) out.push_back(growth_finding(d, *d.growth));
    if (d.churn && std::min(d.churn->frees_per_step, d.churn->allocs_per_step) >= kChurnPerStep)
      out.push_back(churn_finding(d, *d.churn));
    fragments(d, out);
    rounding(d, out);
  }
  std::stable_sort(out.begin(), out.end(), [](const Finding& a, const Finding& b) { return a.cost_pct > b.cost_pct; });
  return out;
}

}  // namespace muster::diagnose
