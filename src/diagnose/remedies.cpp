// What would make the step of a profile faster: each remedy is tried on a replay of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "diagnose/profile.h"

namespace muster::diagnose {
namespace {

// The profiler takes its time on the host for every event; a program that runs without it is faster by that. It took 2.3 to 6.6
// us for each on an H200's host with PyTorch 2.11, shapes recorded; it may be nothing.
constexpr std::int64_t kProfilerNs[] = {3'300, 0, 5'000};
constexpr double kWorthTelling = 2;         // percent of the step
constexpr double kFusedPasses = 5.0 / 3.0;  // a fused kernel's time over its longest part's: five tensors instead of three
constexpr double kOptimizerShare = 0.6;     // of the memory's rate that fused optimizers were seen to get
constexpr double kOptimizerPasses = 7;      // weights, gradients, two moments read; three written
constexpr int kWorkersMost = 16;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

Change bare(std::size_t i) {
  Change c;
  c.host_event_ns = kProfilerNs[i];
  return c;
}

class Remedies {
 public:
  Remedies(const Profile& p, const Peaks& peaks, Bound bound)
      : p_(p), t_(*p.trace), peaks_(peaks), bound_(bound), replay_(*p.trace, p.line) {
    steps_ = static_cast<double>(p.line.steps.size());
    for (std::size_t i = 0; i < 3; ++i) base_[i] = replay_.step_ns(bare(i));
  }

  std::vector<Finding> all() {
    input();
    sync();
    copies();
    launches();
    plain_fp32();
    unfused();
    optimizer();
    slow_products();
    fewer_bits();
    exchanges();
    small_grids();
    allocations();
    elsewhere();
    std::stable_sort(out_.begin(), out_.end(),
                     [](const Ranked& x, const Ranked& y) { return x.first != y.first ? x.first : x.weight > y.weight; });
    std::vector<Finding> findings;
    for (Ranked& r : out_) findings.push_back(std::move(r.finding));
    return findings;
  }

 private:
  struct Ranked {
    Finding finding;
    bool first = false;  // about what bounds the step
    double weight = 0;
  };

  double share(Bound b) const { return p_.shares[static_cast<std::size_t>(b)]; }
  std::int64_t a_step(std::int64_t ns) const { return static_cast<std::int64_t>(static_cast<double>(ns) / steps_); }
  std::string where(std::uint32_t e) const {
    const GpuEvent& event = *p_.line.events[e];
    return event.correlation == kNoCorrelation
               ? fmt::format("{}: ts {:.3f}", p_.file, static_cast<double>(event.span.start_ns) / 1e3)
               : fmt::format("{}: correlation {}", p_.file, event.correlation);
  }

  // `rough`: points that the model itself may be off.
  void put(Bound about, Finding f, const Change* change, double rough = 3, double slower_ns = 0) {
    Ranked r;
    if (change != nullptr) {
      double gain[3];
      for (std::size_t i = 0; i < 3; ++i) {
        Change c = *change;
        c.host_event_ns = kProfilerNs[i];
        const auto after = std::max(static_cast<double>(replay_.step_ns(c)), slower_ns);
        gain[i] = base_[i] > 0 ? 100 * (1 - after / static_cast<double>(base_[i])) : 0;
      }
      const double least = std::min({gain[0], gain[1], gain[2]}), most = std::max({gain[0], gain[1], gain[2]});
      // Both ends of what the profiler may have taken are unlikely: half the way to each.
      f.gain = Gain{std::max(0.0, (gain[0] + least) / 2 - rough), std::min(99.0, (gain[0] + most) / 2 + rough)};
      if (gain[0] < 1) return;
      f.achieved = f.achieved.empty() ? fmt::format("{:.4g} ms a step", ms(p_.line.step_ns())) : f.achieved;
      if (f.expected.empty()) f.expected = fmt::format("{:.4g} ms a step", ms(p_.line.step_ns()) * (1 - gain[0] / 100));
      r.weight = gain[0];
    } else {
      r.weight = f.cost_pct / 4;
    }
    f.confidence = p_.replay_error > 0.03
                       ? Confidence::low
                       : std::min(f.confidence, p_.line.steps.size() > 1 ? Confidence::high : Confidence::medium);
    if (f.verify.empty()) f.verify = "profile it again, and `muster diagnose --diff BEFORE AFTER`";
    r.first = about == bound_;
    r.finding = std::move(f);
    out_.push_back(std::move(r));
  }

  // Calls of the host by name, within the gaps of one part.
  std::map<std::string, std::pair<std::int64_t, std::uint32_t>> during(Part part) const {
    std::map<std::string, std::pair<std::int64_t, std::uint32_t>> out;
    for (const Gap& g : p_.line.gaps) {
      if (g.part != part) continue;
      auto& [ns, count] = out[g.during == kNone ? std::string("nothing recorded") : printable(t_.names[g.during])];
      ns += g.span.length();
      ++count;
    }
    return out;
  }
  const Gap* longest(Part part) const {
    const Gap* out = nullptr;
    for (const Gap& g : p_.line.gaps) {
      if (g.part == part && (out == nullptr || g.span.length() > out->span.length())) out = &g;
    }
    return out;
  }
  void say_gaps(Part part, Finding& f) const {
    for (const auto& [name, seen] : during(part)) {
      if (seen.first * 20 < a_step(1) + p_.line.parts()[static_cast<std::size_t>(part)]) continue;
      f.evidence.push_back(fmt::format("{:.4g} ms a step, {} gaps: {}", ms(a_step(seen.first)), seen.second, name));
    }
    if (const Gap* g = longest(part))
      f.evidence.push_back(fmt::format("the longest, {:.4g} ms, before {}", ms(g->span.length()), where(g->next)));
  }

  void input() {
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
      workers = workers || has(t_.names[m.name], "MultiProcessing");
    }
    Change c;
    c.no_input = true;
    Change fed = bare(0);
    fed.no_input = true;
    const double rest = std::max<double>(1, static_cast<double>(replay_.step_ns(fed)));
    const double load = static_cast<double>(fetching) / steps_;  // of one batch, by one worker, or what is missing of it
    // With workers already, batches come one in a step: so many times more of them are needed.
    const double ratio = workers ? static_cast<double>(p_.line.step_ns()) / rest : load / rest;
    const int wanted = std::clamp(static_cast<int>(std::ceil(1.25 * ratio)) + 1, 2, kWorkersMost);
    f.remedy =
        workers
            ? fmt::format("DataLoader(num_workers=...): {:.0f} times as many as now, prefetch_factor=4, persistent_workers=True",
                          std::min(ratio * 1.25, 16.0))
            : fmt::format("DataLoader(num_workers={}, prefetch_factor=4, persistent_workers=True)", wanted);
    // As many workers as are asked for may still not be enough; and they take turns with the step on the host.
    const double slower =
        workers ? static_cast<double>(p_.line.step_ns()) * 1.2 / std::min(ratio * 1.25, 8.0) : load * 1.2 / wanted;
    put(Bound::input, std::move(f), &c, 4, std::max(slower, 1.25 * rest));
  }

  void sync() {
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
    f.evidence.push_back(fmt::format("{:.4g} waits a step",
                                     static_cast<double>(waits) / std::max<double>(1, static_cast<double>(t_.steps.size()))));
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

  void copies() {
    if (share(Bound::copy) < kWorthTelling) return;
    Finding f;
    f.cost_pct = share(Bound::copy);
    std::vector<std::int64_t> lengths = measured();
    std::uint64_t bytes = 0, count = 0;
    std::int64_t taken = 0;
    std::uint32_t example = kNone;
    for (std::uint32_t e = 0; e < lengths.size(); ++e) {
      const GpuEvent& event = *p_.line.events[e];
      if (event.work != GpuWork::copy || !has(t_.names[event.name], "Pageable") || event.bytes < 65'536) continue;
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
        if (event.work == GpuWork::copy && (has(t_.names[event.name], "HtoD") || has(t_.names[event.name], "DtoH")))
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

  std::vector<std::string> copies_words() const {
    std::map<std::string, std::pair<std::uint64_t, std::int64_t>> kinds;
    for (const GpuEvent* e : p_.line.events) {
      if (e->work != GpuWork::copy) continue;
      auto& [bytes, ns] = kinds[printable(t_.names[e->name])];
      bytes += e->bytes;
      ns += e->span.length();
    }
    std::vector<std::string> out;
    for (const auto& [name, seen] : kinds)
      out.push_back(fmt::format("{}: {:.4g} MB in {:.4g} ms a step", name, static_cast<double>(seen.first) / 1e6 / steps_,
                                ms(a_step(seen.second))));
    return out;
  }

  void launches() {
    if (share(Bound::launch) < kWorthTelling) return;
    Finding f;
    f.cost_pct = share(Bound::launch);
    f.title = fmt::format("The host launches too slowly: the GPU is idle {:.1f} % of the step", f.cost_pct);
    std::uint64_t kernels = 0;
    std::vector<std::int64_t> lengths;
    for (std::uint32_t e = 0; e < p_.line.events.size(); ++e) {
      if (p_.line.own_ns[e] == 0 || p_.line.events[e]->work != GpuWork::compute) continue;
      ++kernels;
      lengths.push_back(p_.line.events[e]->span.length());
    }
    if (!lengths.empty()) {
      const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
      std::nth_element(lengths.begin(), middle, lengths.end());
      f.evidence.push_back(fmt::format("{:.4g} kernels a step, half of them shorter than {:.3g} us",
                                       static_cast<double>(kernels) / steps_, static_cast<double>(*middle) / 1e3));
    }
    say_gaps(Part::launch, f);
    f.remedy =
        "torch.compile(model, mode=\"reduce-overhead\"), or the step in a torch.cuda.CUDAGraph; a larger micro-batch does it as "
        "well";
    f.verify = "cudaGraphLaunch in the next profile, and no gaps between its kernels";
    Change c;
    c.graph = true;
    put(Bound::launch, std::move(f), &c, 4);
  }

  std::vector<std::int64_t> measured() const {
    std::vector<std::int64_t> out;
    out.reserve(p_.line.events.size());
    for (const GpuEvent* e : p_.line.events) out.push_back(e->span.length());
    return out;
  }
  bool is_kind(std::uint32_t e, KernelKind kind) const {
    const std::uint32_t c = p_.kernels.of_event[e];
    return c != kNone && p_.kernels.classes[c].kind == kind;
  }
  double pct(std::int64_t own_ns) const {
    const double all = static_cast<double>(p_.line.step_ns()) * steps_;
    return all > 0 ? 100 * static_cast<double>(own_ns) / all : 0;
  }

  void plain_fp32() {
    std::vector<std::int64_t> lengths = measured();
    std::int64_t own = 0;
    double flops = 0, seconds = 0;
    std::set<std::uint32_t> classes;
    for (std::uint32_t e = 0; e < lengths.size(); ++e) {
      const std::uint32_t k = p_.kernels.of_event[e];
      if (k == kNone) continue;
      const KernelClass& c = p_.kernels.classes[k];
      const bool product = c.kind == KernelKind::product || c.kind == KernelKind::convolution;
      if (!product || c.limit != Limit::compute || !is_plain_fp32(t_.names[p_.line.events[e]->name])) continue;
      own += p_.line.own_ns[e];
      classes.insert(k);
      // Three times as fast where the shapes do not tell: what TF32 gave on the least of GPUs that have it.
      double factor = 1.0 / 3;
      if (peaks_.known() && peaks_.fp32 > 0 && c.flops > 0) {
        factor = std::max(c.flops / peaks_.tf32, c.bytes / peaks_.bytes_per_s) * 1e9 / static_cast<double>(c.own_ns);
      } else if (peaks_.known() && peaks_.fp32 > 0) {
        factor = peaks_.fp32 / peaks_.tf32;
      }
      lengths[e] = static_cast<std::int64_t>(static_cast<double>(lengths[e]) * std::min(1.0, factor));
    }
    if (pct(own) < kWorthTelling) return;
    Finding f;
    f.cost_pct = pct(own);
    f.title = fmt::format("Products in 32 bits leave the tensor cores idle: {:.1f} % of the step", f.cost_pct);
    for (const std::uint32_t k : classes) {
      flops += p_.kernels.classes[k].flops;
      seconds += static_cast<double>(p_.kernels.classes[k].own_ns) / 1e9;
    }
    const KernelClass& top = p_.kernels.classes[*classes.begin()];
    f.evidence.push_back(fmt::format("{}: {:.4g} ms a step", top.name, ms(a_step(top.own_ns))));
    f.evidence.push_back(fmt::format("{}, {}", printable(t_.names[top.kernel]).substr(0, 90), where(top.example)));
    if (flops > 0) f.achieved = fmt::format("{:.3g} TFLOP/s", flops / seconds / 1e12);
    if (peaks_.tf32 > 0) f.expected = fmt::format("{:.3g} TFLOP/s in TF32", peaks_.tf32 / 1e12);
    f.remedy = "torch.set_float32_matmul_precision(\"high\") for TF32, or bf16 by torch.autocast for twice of that";
    Change c;
    c.lengths_ns = std::move(lengths);
    put(Bound::compute, std::move(f), &c, 4);
  }

  // Runs of kernels that go through memory one after the other, on one stream and by one thread of the host: forward, backward
  // and the update come apart by that.
  void unfused() {
    std::vector<std::int64_t> lengths = measured();
    std::map<std::uint32_t, std::vector<std::uint32_t>> streams;
    for (std::uint32_t e = 0; e < lengths.size(); ++e) {
      if (p_.line.events[e]->work == GpuWork::compute) streams[p_.line.events[e]->stream].push_back(e);
    }
    std::int64_t own = 0, before = 0, after = 0;
    std::size_t longest = 0;
    std::uint32_t example = kNone;
    const auto close = [&](std::vector<std::uint32_t>& run) {
      std::int64_t sum = 0, most = 0, mine = 0;
      for (const std::uint32_t e : run) {
        sum += lengths[e];
        most = std::max(most, lengths[e]);
        mine += p_.line.own_ns[e];
      }
      const auto fused = static_cast<std::int64_t>(static_cast<double>(most) * kFusedPasses);
      if (run.size() >= 3 && fused < sum && !has(t_.names[p_.line.events[run.front()]->name], "triton_")) {
        own += mine;
        before += sum;
        after += fused;
        if (run.size() > longest) {
          longest = run.size();
          example = run.front();
        }
        for (const std::uint32_t e : run) lengths[e] = -1;
        lengths[run.front()] = fused;
      }
      run.clear();
    };
    for (auto& [stream, events] : streams) {
      std::vector<std::uint32_t> run;
      std::uint32_t thread = kNone;
      std::int64_t step = -2;
      for (const std::uint32_t e : events) {
        const std::uint32_t by = p_.line.calls[e] != nullptr ? p_.line.calls[e]->thread : kNone;
        if (!is_kind(e, KernelKind::stream) || by != thread || p_.line.launch_steps[e] != step) close(run);
        thread = by;
        step = p_.line.launch_steps[e];
        if (is_kind(e, KernelKind::stream)) run.push_back(e);
      }
      close(run);
    }
    if (pct(own) < 5 || example == kNone) return;
    Finding f;
    f.cost_pct = pct(own);
    f.title = fmt::format("Operators that only go through memory, one by one, take {:.1f} % of the step", f.cost_pct);
    f.evidence.push_back(fmt::format("up to {} kernels in a row, from {}", longest, where(example)));
    say_kernels(KernelKind::stream, f);
    f.expected = fmt::format("{:.4g} ms a step for them", ms(after) / std::max<double>(1, steps_));
    f.achieved = fmt::format("{:.4g} ms", ms(before) / std::max<double>(1, steps_));
    f.remedy = "torch.compile(model): one kernel instead of each row of them";
    f.confidence = Confidence::medium;
    Change c;
    c.lengths_ns = std::move(lengths);
    put(Bound::memory, std::move(f), &c, 6);
  }

  void say_kernels(KernelKind kind, Finding& f) const {
    int said = 0;
    for (const KernelClass& k : p_.kernels.classes) {
      if (k.kind != kind || said == 3) continue;
      ++said;
      f.evidence.push_back(fmt::format(
          "{}: {:.4g} ms a step{}", k.name, ms(a_step(k.own_ns)),
          k.share_of_peak() > 0 ? fmt::format(", {:.0f} % of what the GPU can do", 100 * std::min(1.0, k.share_of_peak())) : ""));
    }
  }

  void optimizer() {
    std::vector<std::int64_t> lengths = measured();
    std::int64_t own = 0;
    std::map<std::int64_t, std::uint32_t> first;  // by step
    double bytes = 0;                             // of the parameters, as large as the largest list
    std::set<std::uint32_t> seen;
    for (std::uint32_t e = 0; e < lengths.size(); ++e) {
      if (!is_kind(e, KernelKind::optimizer) || has(t_.names[p_.line.events[e]->name], "FusedOpt") ||
          has(t_.names[p_.line.events[e]->name], "FusedAdam"))
        continue;
      own += p_.line.own_ns[e];
      const auto [it, fresh] = first.try_emplace(p_.line.launch_steps[e], e);
      if (!fresh) lengths[e] = -1;
      const KernelClass& c = p_.kernels.classes[p_.kernels.of_event[e]];
      if (c.inputs == kNone || !seen.insert(c.inputs).second) continue;
      for (const OpInput& in : t_.inputs[c.inputs]) {
        double sum = 0;
        for (const auto& shape : in.shapes) {
          double n = 1;
          for (const std::int64_t d : shape) n *= static_cast<double>(d);
          sum += n;
        }
        bytes = std::max(bytes, sum * (has(t_.names[c.kernel], "BFloat16") || has(t_.names[c.kernel], "Half") ? 2 : 4));
      }
    }
    if (pct(own) < 3 || bytes <= 0 || !peaks_.known()) return;
    const double fused = kOptimizerPasses * bytes / (kOptimizerShare * peaks_.bytes_per_s);
    for (const auto& [step, e] : first) lengths[e] = static_cast<std::int64_t>(fused * 1e9);
    Finding f;
    f.cost_pct = pct(own);
    f.title = fmt::format("The optimizer goes through its state many times: {:.1f} % of the step", f.cost_pct);
    f.evidence.push_back(fmt::format("{:.4g} M parameters, {:.4g} ms a step", bytes / 4e6, ms(a_step(own))));
    say_kernels(KernelKind::optimizer, f);
    f.achieved = fmt::format("{:.4g} ms", ms(a_step(own)));
    f.expected = fmt::format("{:.4g} ms", fused * 1e3);
    f.remedy = "fused=True for torch.optim.Adam, AdamW or SGD (or Apex's fused optimizers)";
    Change c;
    c.lengths_ns = std::move(lengths);
    put(Bound::memory, std::move(f), &c, 4);
  }

  void slow_products() {
    std::vector<std::int64_t> lengths = measured();
    std::vector<bool> slow(p_.kernels.classes.size());
    Finding f;
    for (std::size_t k = 0; k < slow.size(); ++k) {
      const KernelClass& c = p_.kernels.classes[k];
      const bool product = c.kind == KernelKind::product || c.kind == KernelKind::attention || c.kind == KernelKind::convolution;
      if (!product || c.limit != Limit::compute || c.least_s <= 0 || c.share_of_peak() > 0.6 || pct(c.own_ns) < 1) continue;
      if (is_plain_fp32(t_.names[c.kernel])) continue;
      slow[k] = true;
      f.cost_pct += pct(c.own_ns);
      if (f.evidence.size() < 4)
        f.evidence.push_back(fmt::format(
            "{}: {:.0f} % of what the GPU can do, {:.4g} ms a step{}, {}", c.name, 100 * std::min(1.0, c.share_of_peak()),
            ms(a_step(c.own_ns)), c.launch != nullptr ? fmt::format(", {} blocks", c.launch->blocks) : "", where(c.example)));
    }
    if (f.cost_pct < 5) return;
    for (std::uint32_t e = 0; e < lengths.size(); ++e) {
      const std::uint32_t k = p_.kernels.of_event[e];
      if (k == kNone || !slow[k]) continue;
      lengths[e] = static_cast<std::int64_t>(static_cast<double>(lengths[e]) *
                                             std::min(1.0, p_.kernels.classes[k].share_of_peak() / 0.75));
    }
    f.title = fmt::format("Products that are far below what the GPU can do take {:.1f} % of the step", f.cost_pct);
    f.expected = "three quarters of what large products get";
    f.achieved = "see the evidence";
    f.remedy =
        "sizes that are multiples of 64 (vocabulary, hidden, heads), a larger micro-batch, less tensor parallelism: tiles that "
        "fill all "
        "multiprocessors";
    f.confidence = Confidence::medium;
    Change c;
    c.lengths_ns = std::move(lengths);
    put(Bound::compute, std::move(f), &c, 6);
  }

  void fewer_bits() {
    if (bound_ != Bound::compute || peaks_.fp8 <= peaks_.bf16 || peaks_.bf16 <= 0) return;
    std::vector<std::int64_t> lengths = measured();
    std::int64_t own = 0;
    for (std::uint32_t e = 0; e < lengths.size(); ++e) {
      const std::uint32_t k = p_.kernels.of_event[e];
      if (k == kNone || !is_kind(e, KernelKind::product) || p_.kernels.classes[k].limit != Limit::compute) continue;
      if (is_plain_fp32(t_.names[p_.line.events[e]->name]) || has(t_.names[p_.line.events[e]->name], "e4m3")) continue;
      own += p_.line.own_ns[e];
      // Casting what is multiplied takes about a fifth of what fewer bits save.
      lengths[e] = static_cast<std::int64_t>(static_cast<double>(lengths[e]) * (0.2 + 0.8 * peaks_.bf16 / peaks_.fp8));
    }
    if (pct(own) < 30) return;
    Finding f;
    f.cost_pct = pct(own);
    f.title = fmt::format("Products in 16 bits take {:.1f} % of the step, near what the GPU can do in them", f.cost_pct);
    say_kernels(KernelKind::product, f);
    f.remedy =
        "FP8 products (Transformer Engine, torchao.float8), if the model's quality allows it; else fewer operations or more GPUs";
    f.confidence = Confidence::low;
    Change c;
    c.lengths_ns = std::move(lengths);
    put(Bound::other, std::move(f), &c, 8);
  }

  void exchanges() {
    const PartTimes parts = p_.line.parts();
    const std::int64_t bare = parts[static_cast<std::size_t>(Part::transfer)];
    if (pct(bare) < kWorthTelling) return;
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
      lengths[e] = std::max<std::int64_t>(0, lengths[e] - moving);
    }
    for (const auto& [name, seen] : kinds) {
      if (f.evidence.size() < 4)
        f.evidence.push_back(fmt::format("{}: {:.4g} ms a step alone, {} in all", name, ms(a_step(seen.first)), seen.second));
    }
    f.remedy =
        "overlap them: gradients in buckets while the backward pass runs (DDP bucket_cap_mb, --overlap-grad-reduce, "
        "\"overlap_comm\": true), "
        "weights fetched ahead (FSDP forward_prefetch and BACKWARD_PRE, --overlap-param-gather)";
    f.confidence = Confidence::medium;
    Change c;
    c.lengths_ns = std::move(lengths);
    put(Bound::communication, std::move(f), &c, 8);
  }

  void small_grids() {
    Finding f;
    for (const KernelClass& k : p_.kernels.classes) {
      if (k.launch == nullptr || k.launch->blocks == 0 || pct(k.own_ns) < 3) continue;
      const bool few = p_.kernels.units > 0 && k.launch->blocks < p_.kernels.units;
      const bool thin = k.launch->occupancy_pct > 0 && k.launch->occupancy_pct < 13 && k.kind == KernelKind::stream;
      const double waves = p_.kernels.units > 0 ? static_cast<double>(k.launch->blocks) / p_.kernels.units : 0;
      const bool tail = k.kind != KernelKind::stream && waves > 1 && waves < 4 && waves - std::floor(waves) > 0 &&
                        waves - std::floor(waves) < 0.3;
      if (!few && !thin && !tail) continue;
      f.cost_pct += pct(k.own_ns);
      if (f.evidence.size() < 4) {
        f.evidence.push_back(fmt::format("{}: {} blocks on {} multiprocessors{}, {:.4g} ms a step, {}", k.name, k.launch->blocks,
                                         p_.kernels.units,
                                         thin   ? fmt::format(", occupancy {} %", k.launch->occupancy_pct)
                                         : tail ? ", a last wave that is nearly empty"
                                                : "",
                                         ms(a_step(k.own_ns)), where(k.example)));
      }
    }
    if (f.cost_pct < 10) return;
    f.title = fmt::format("Kernels that do not fill the GPU take {:.1f} % of the step", f.cost_pct);
    f.remedy =
        "more work in each: a larger micro-batch, batched instead of looped operators, sizes whose tiles divide by the "
        "multiprocessors";
    f.confidence = Confidence::medium;
    put(Bound::other, std::move(f), nullptr);
  }

  void allocations() {
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
    for (const auto& [name, s] : seen) f.evidence.push_back(fmt::format("{}: {} times, {:.4g} ms", name, s.second, ms(s.first)));
    f.remedy =
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and less memory in use: a full device makes the allocator give back "
        "and take again";
    f.verify = "torch.cuda.memory_stats()[\"num_alloc_retries\"] stays 0";
    put(Bound::sync, std::move(f), nullptr);
  }

  void elsewhere() {
    if (share(Bound::other) < 5) return;
    Finding f;
    f.cost_pct = share(Bound::other);
    f.title = fmt::format("The GPU is idle {:.1f} % of the step while the host does what the profile does not show", f.cost_pct);
    say_gaps(Part::other, f);
    f.remedy =
        "profile with with_stack=True, and see what Python does there: checkpoints, logging, garbage collection, code of one's "
        "own";
    f.confidence = Confidence::low;
    put(Bound::other, std::move(f), nullptr);
  }

  const Profile& p_;
  const Trace& t_;
  const Peaks& peaks_;
  Bound bound_;
  Replay replay_;
  double steps_ = 1;
  std::int64_t base_[3] = {};
  std::vector<Ranked> out_;
};

}  // namespace

std::vector<Finding> profile_findings(const Profile& p, const Peaks& peaks, Bound bound) {
  if (p.line.events.empty()) return {};
  return Remedies(p, peaks, bound).all();
}

}  // namespace muster::diagnose
