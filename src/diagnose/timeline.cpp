#include "diagnose/timeline.h"

#include <algorithm>
#include <map>

namespace muster::diagnose {
namespace {

constexpr std::int64_t kShortGap = 10'000;  // between two kernels of a queue that is not empty
constexpr std::int64_t kLongHostWork =
    500'000;                                   // a host that is silent for so long does not launch slowly, it does something else
constexpr std::int64_t kEmptyQueue = 100'000;  // to fill a queue again that a wait has emptied
constexpr std::uint64_t kSmallCopyBytes = 65'536;  // a copy to the host of less is a number that somebody asks for

using Index = std::uint32_t;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_host_copy(std::string_view name) { return has(name, "HtoD") || has(name, "DtoH"); }
bool is_pageable(std::string_view name) { return has(name, "Pageable"); }

// Intervals of the host that do not overlap, for one reason each.
struct Busy {
  Span span;
  Part part;
  std::uint32_t name;
};

class Builder {
 public:
  Builder(const Trace& trace, std::span<const std::int64_t> waits) : t_(trace), waits_(waits) {}

  Timeline build() {
    choose_device();
    if (out_.events.empty()) return std::move(out_);
    find_calls();
    find_steps();
    find_busy();
    sweep();
    return std::move(out_);
  }

 private:
  void choose_device() {
    std::map<std::int16_t, std::uint64_t> count;
    for (const GpuEvent& e : t_.gpu) ++count[e.device];
    out_.devices = static_cast<std::uint32_t>(count.size());
    std::uint64_t most = 0;
    for (const auto& [device, n] : count) {
      if (n > most) {
        most = n;
        out_.device = device;
      }
    }
    for (const GpuEvent& e : t_.gpu) {
      if (e.device == out_.device) out_.events.push_back(&e);
    }
    std::stable_sort(out_.events.begin(), out_.events.end(),
                     [](const GpuEvent* x, const GpuEvent* y) { return x->span.start_ns < y->span.start_ns; });
    out_.own_ns.assign(out_.events.size(), 0);
    out_.waited_ns.assign(out_.events.size(), 0);
  }

  void find_calls() {
    for (const RuntimeCall& c : t_.calls) {
      if (c.correlation != kNoCorrelation) by_correlation_.push_back(&c);
    }
    const auto before = [](const RuntimeCall* x, const RuntimeCall* y) { return x->correlation < y->correlation; };
    if (!std::is_sorted(by_correlation_.begin(), by_correlation_.end(), before))
      std::stable_sort(by_correlation_.begin(), by_correlation_.end(), before);
    for (const GpuEvent* e : out_.events) {
      const auto it = std::lower_bound(by_correlation_.begin(), by_correlation_.end(), e->correlation,
                                       [](const RuntimeCall* c, std::uint64_t id) { return c->correlation < id; });
      out_.calls.push_back(it != by_correlation_.end() && (*it)->correlation == e->correlation ? *it : nullptr);
    }
  }

  // Where the host runs ahead of the GPU, a step lasts from the first thing that was launched in it to the first that was
  // launched in the next: what was launched ahead counts where it runs. The last step has no next and is left out. Where the GPU
  // keeps up with the host, the host's own marks are the steps, and all of them are whole.
  void find_steps() {
    out_.launch_steps.assign(out_.events.size(), -1);
    std::vector<std::int64_t> first(t_.steps.size(), INT64_MAX), last(t_.steps.size(), INT64_MIN);
    for (Index i = 0; i < out_.events.size(); ++i) {
      if (out_.calls[i] == nullptr) continue;
      const auto it = std::upper_bound(t_.steps.begin(), t_.steps.end(), out_.calls[i]->span.start_ns,
                                       [](std::int64_t at, const Mark& m) { return at < m.span.start_ns; });
      if (it == t_.steps.begin()) continue;
      const auto k = static_cast<std::size_t>(it - t_.steps.begin() - 1);
      out_.launch_steps[i] = static_cast<std::int64_t>(k);
      first[k] = std::min(first[k], out_.events[i]->span.start_ns);
      last[k] = std::max(last[k], out_.events[i]->span.end_ns);
    }
    bool kept_up = t_.steps.size() > 1;
    std::int64_t mean = 0;
    for (const Mark& m : t_.steps) mean += m.span.length() / static_cast<std::int64_t>(t_.steps.size());
    for (std::size_t k = 0; k < t_.steps.size() && kept_up; ++k) {
      const Span& s = t_.steps[k].span;
      kept_up = last[k] != INT64_MIN && last[k] <= s.end_ns + mean / 20 && (k == 0 || s.start_ns >= t_.steps[k - 1].span.end_ns);
    }
    if (kept_up) {
      out_.lockstep = true;
      for (std::size_t k = 0; k < t_.steps.size(); ++k) {
        const bool more = k + 1 < t_.steps.size();
        out_.steps.push_back(
            {{t_.steps[k].span.start_ns, more ? t_.steps[k + 1].span.start_ns : t_.steps[k].span.end_ns}, t_.steps[k].name, {}});
      }
      return;
    }
    for (std::size_t k = 0; k + 1 < first.size(); ++k) {
      if (first[k] < first[k + 1] && first[k + 1] != INT64_MAX)
        out_.steps.push_back({{first[k], first[k + 1]}, t_.steps[k].name, {}});
    }
    // Steps that run into each other have no order to speak of.
    for (std::size_t k = 1; k < out_.steps.size(); ++k) {
      if (out_.steps[k].span.start_ns < out_.steps[k - 1].span.end_ns) {
        out_.steps.clear();
        break;
      }
    }
    if (!out_.steps.empty()) return;
    std::int64_t end = INT64_MIN;
    for (const GpuEvent* e : out_.events) end = std::max(end, e->span.end_ns);
    std::int64_t start = out_.events.front()->span.start_ns;
    if (t_.steps.size() == 1) start = std::min(start, t_.steps.front().span.start_ns);
    out_.steps.push_back({{start, end}, t_.steps.size() == 1 ? t_.steps.front().name : kNone, {}});
  }

  // What the host was kept by: batches that are fetched, calls that wait.
  void find_busy() {
    for (const Mark& m : t_.marks) {
      if (fetches_input(t_.names[m.name])) busy_.push_back({m.span, Part::input, m.name});
    }
    std::vector<std::uint8_t> kind(t_.names.size(), 0);
    std::map<std::uint64_t, const GpuEvent*> copies;
    for (const GpuEvent* e : out_.events) {
      if (e->work == GpuWork::copy && e->correlation != kNoCorrelation) copies.emplace(e->correlation, e);
    }
    for (const RuntimeCall& c : t_.calls) {
      if (kind[c.name] == 0) kind[c.name] = static_cast<std::uint8_t>(static_cast<int>(host_call(t_.names[c.name])) + 1);
      const auto call = static_cast<HostCall>(kind[c.name] - 1);
      if (call == HostCall::sync || call == HostCall::allocate) {
        busy_.push_back({c.span, Part::sync, c.name});
        syncs_.push_back(c.span);
      } else if (call == HostCall::copy) {
        const auto it = copies.find(c.correlation);
        if (it == copies.end() || 2 * c.span.length() < it->second->span.length()) continue;  // it did not wait
        if (c.span.length() < kShortGap) continue;
        const bool asks = it->second->bytes < kSmallCopyBytes;
        busy_.push_back({c.span, asks ? Part::sync : Part::pageable, c.name});
        syncs_.push_back(c.span);
      }
    }
    const auto by_start = [](const auto& x, const auto& y) { return x.span.start_ns < y.span.start_ns; };
    std::stable_sort(busy_.begin(), busy_.end(), by_start);
    for (const Busy& b : busy_) longest_busy_ = std::max(longest_busy_, b.span.length());
    std::sort(syncs_.begin(), syncs_.end(), [](const Span& x, const Span& y) { return x.end_ns < y.end_ns; });
    for (const HostOp& op : t_.ops) op_starts_.push_back(op.span.start_ns);
    for (const RuntimeCall& c : t_.calls) op_starts_.push_back(c.span.start_ns);
    std::sort(op_starts_.begin(), op_starts_.end());
    for (const Mark& m : t_.marks) {
      if (!fetches_input(t_.names[m.name])) said_.push_back({m.span, Part::other, m.name});
    }
    std::stable_sort(said_.begin(), said_.end(), by_start);
  }

  void sweep();
  void idle(std::int64_t from, std::int64_t to, Index next);
  std::int64_t host_late(std::int64_t from, std::int64_t to, Index next);
  void add(std::int64_t from, std::int64_t to, Part part, Index owner);
  void add_gap(std::int64_t from, std::int64_t to, Part part, Index next, std::uint32_t during);
  void alone(std::int64_t from, std::int64_t to, Index i);
  std::uint32_t said(std::int64_t from, std::int64_t to) const;
  bool is_send(const GpuEvent& e) const {
    if (e.detail == kNone || t_.exchanges[e.detail].op == kNone) return false;
    const std::string_view op = t_.names[t_.exchanges[e.detail].op];
    return op.starts_with("send") || op.starts_with("recv") || op == "coalesced" || has(op, "isend") || has(op, "irecv");
  }

  const Trace& t_;
  std::span<const std::int64_t> waits_;
  Timeline out_;
  std::vector<const RuntimeCall*> by_correlation_;
  std::vector<Busy> busy_;
  std::vector<Span> syncs_;              // by their end
  std::vector<std::int64_t> op_starts_;  // of operators and calls
  std::vector<Busy> said_;               // what the program itself marked, by start
  std::size_t step_ = 0;                 // first that may hold what comes next
  std::size_t busy_at_ = 0;
  std::int64_t longest_busy_ = 0;
  std::size_t sync_at_ = 0;
  std::int64_t behind_ = 0;  // how much earlier the host would be, had it not waited
};

void Builder::add(std::int64_t from, std::int64_t to, Part part, Index owner) {
  while (step_ < out_.steps.size() && out_.steps[step_].span.end_ns <= from) ++step_;
  for (std::size_t k = step_; k < out_.steps.size() && out_.steps[k].span.start_ns < to; ++k) {
    const std::int64_t a = std::max(from, out_.steps[k].span.start_ns), b = std::min(to, out_.steps[k].span.end_ns);
    if (a >= b) continue;
    out_.steps[k].ns[static_cast<std::size_t>(part)] += b - a;
    if (owner == kNone) continue;
    out_.own_ns[owner] += b - a;
    if (part == Part::wait) out_.waited_ns[owner] += b - a;
  }
}

void Builder::add_gap(std::int64_t from, std::int64_t to, Part part, Index next, std::uint32_t during) {
  if (from >= to) return;
  add(from, to, part, kNone);
  const Span within{std::max(from, out_.steps.front().span.start_ns), std::min(to, out_.steps.back().span.end_ns)};
  if (within.start_ns >= within.end_ns) return;
  out_.gaps.push_back({within, part, next, during});
}

// An exchange or a copy with nothing computed beside it.
void Builder::alone(std::int64_t from, std::int64_t to, Index i) {
  const GpuEvent& e = *out_.events[i];
  if (e.work == GpuWork::communication) {
    if (is_send(e)) {
      add(from, to, Part::pipeline, i);
      return;
    }
    const auto at = static_cast<std::size_t>(&e - t_.gpu.data());
    const std::int64_t waited = at < waits_.size() ? std::max<std::int64_t>(0, waits_[at]) : 0;
    const std::int64_t until = std::clamp(e.span.start_ns + waited, from, to);
    add(from, until, Part::wait, i);
    add(until, to, Part::transfer, i);
    return;
  }
  const std::string_view name = t_.names[e.name];
  if (e.work == GpuWork::copy && is_host_copy(name)) {
    add(from, to, is_pageable(name) ? Part::pageable : Part::pinned, i);
  } else {
    add(from, to, Part::compute, i);  // within the device: it moves bytes as a kernel would
  }
}

// Points in time at which something begins or ends; between two of them, what runs decides.
void Builder::sweep() {
  struct End {
    std::int64_t at;
    Index event;
  };
  const auto later = [](const End& x, const End& y) { return x.at > y.at; };
  std::vector<End> ends;                     // a heap, the first to end on top
  std::array<std::vector<Index>, 3> active;  // computing, exchanging, copying or filling: in the order of their starts
  const auto row = [&](const GpuEvent& e) -> std::vector<Index>& {
    return active[e.work == GpuWork::compute ? 0 : e.work == GpuWork::communication ? 1 : 2];
  };
  std::int64_t now = std::min(out_.steps.front().span.start_ns, out_.events.front()->span.start_ns);
  const auto until = [&](std::int64_t at) {
    if (at <= now) return;
    if (!active[0].empty()) {
      add(now, at, active[1].empty() ? Part::compute : Part::compute_beside, active[0].front());
    } else if (!active[1].empty()) {
      alone(now, at, active[1].front());
    } else if (!active[2].empty()) {
      alone(now, at, active[2].front());
    }
    now = at;
  };
  for (Index i = 0; i < out_.events.size(); ++i) {
    const GpuEvent& e = *out_.events[i];
    while (!ends.empty() && ends.front().at <= e.span.start_ns) {
      until(ends.front().at);
      std::vector<Index>& from = row(*out_.events[ends.front().event]);
      from.erase(std::find(from.begin(), from.end(), ends.front().event));
      std::pop_heap(ends.begin(), ends.end(), later);
      ends.pop_back();
    }
    if (ends.empty() && e.span.start_ns > now) {
      idle(now, e.span.start_ns, i);
      now = e.span.start_ns;
    }
    until(e.span.start_ns);
    if (e.span.length() == 0) continue;
    row(e).push_back(i);
    ends.push_back({e.span.end_ns, i});
    std::push_heap(ends.begin(), ends.end(), later);
  }
  while (!ends.empty()) {
    until(ends.front().at);
    std::vector<Index>& from = row(*out_.events[ends.front().event]);
    from.erase(std::find(from.begin(), from.end(), ends.front().event));
    std::pop_heap(ends.begin(), ends.end(), later);
    ends.pop_back();
  }
  // After the last of all, the host ends its step.
  if (now < out_.steps.back().span.end_ns)
    add_gap(now, out_.steps.back().span.end_ns, Part::launch, static_cast<Index>(out_.events.size() - 1), kNone);
}

// Nothing runs from `from` until event `next` begins at `to`.
void Builder::idle(std::int64_t from, std::int64_t to, Index next) {
  const RuntimeCall* call = out_.calls[next];
  const GpuEvent& e = *out_.events[next];
  if (call == nullptr) {
    add_gap(from, to, to - from <= kShortGap ? Part::launch : Part::other, next, kNone);
    return;
  }
  if (call->span.start_ns <= from) {  // it was in the queue
    const bool staged = e.work == GpuWork::copy && is_pageable(t_.names[e.name]);
    behind_ = 0;
    add_gap(from, to, staged ? Part::pageable : to - from <= kShortGap ? Part::launch : Part::dependency, next, kNone);
    return;
  }
  const std::int64_t issued = std::min(call->span.start_ns, to);
  host_late(from, issued, next);
  const bool staged = e.work == GpuWork::copy && is_pageable(t_.names[e.name]);
  add_gap(issued, to, staged ? Part::pageable : Part::launch, next, call->name);
}

// The shortest of the program's own marks that most of a time lies in: "save_checkpoint".
std::uint32_t Builder::said(std::int64_t from, std::int64_t to) const {
  std::uint32_t out = kNone;
  std::int64_t shortest = INT64_MAX;
  auto it = std::lower_bound(said_.begin(), said_.end(), to, [](const Busy& b, std::int64_t at) { return b.span.start_ns < at; });
  constexpr int kLookedAt = 256;  // nearest first: those that hold it and began before so many others are not about it
  for (int looked = 0; it != said_.begin() && looked < kLookedAt; ++looked) {
    --it;
    const std::int64_t within = std::min(to, it->span.end_ns) - std::max(from, it->span.start_ns);
    if (5 * within < 4 * (to - from) || it->span.length() >= shortest) continue;
    shortest = it->span.length();
    out = it->name;
  }
  return out;
}

// The host had not yet issued it: what was it doing?
std::int64_t Builder::host_late(std::int64_t from, std::int64_t to, Index next) {
  const std::int64_t asked = from;
  // Waits that ended since the last gap: the host would have been here that much earlier without them.
  bool drained = false;
  std::uint32_t by = kNone;
  for (; sync_at_ < syncs_.size() && syncs_[sync_at_].end_ns <= to; ++sync_at_) {
    behind_ += syncs_[sync_at_].length();
    drained = drained || syncs_[sync_at_].end_ns >= from - kShortGap;
  }
  while (busy_at_ < busy_.size() && busy_[busy_at_].span.start_ns + longest_busy_ <= from - kShortGap) ++busy_at_;
  std::int64_t at = from;
  const auto rest = [&](std::int64_t until) {
    if (until <= at) return;
    const std::int64_t silent = until - at;
    const auto ops = std::upper_bound(op_starts_.begin(), op_starts_.end(), until) -
                     std::lower_bound(op_starts_.begin(), op_starts_.end(), at);
    // A host that says nothing for long does not launch slowly, it does something else: what brings data had been fetching it,
    // and what had waited for the GPU left it without work.
    const GpuEvent& e = *out_.events[next];
    const bool brings = e.work == GpuWork::copy && has(t_.names[e.name], "HtoD");
    const bool elsewhere = silent > kLongHostWork && ops * kLongHostWork < silent;
    const std::uint32_t doing = elsewhere ? said(at, until) : kNone;  // what it calls that itself goes before what is guessed
    const bool all = elsewhere && drained && !brings && doing == kNone;
    const std::int64_t kept = all ? silent : doing != kNone ? 0 : std::min(silent, behind_ + (drained ? kEmptyQueue : 0));
    add_gap(at, at + kept, Part::sync, next, by);
    behind_ = std::max<std::int64_t>(0, behind_ - kept);
    const Part rest_of_it = !elsewhere ? Part::launch : brings && doing == kNone ? Part::input : Part::other;
    add_gap(at + kept, until, rest_of_it, next, doing);
    at = until;
  };
  for (std::size_t k = busy_at_; k < busy_.size() && busy_[k].span.start_ns < to; ++k) {
    const Busy& b = busy_[k];
    if (b.span.end_ns <= at) {
      if (b.part == Part::sync && b.span.end_ns >= from - kShortGap) by = b.name;
      continue;
    }
    rest(std::max(at, b.span.start_ns));
    const std::int64_t end = std::min(to, b.span.end_ns);
    add_gap(at, end, b.part, next, b.name);
    at = std::max(at, end);
    if (b.part == Part::sync) by = b.name;
  }
  rest(to);
  return to - asked;
}

}  // namespace

std::int64_t Timeline::step_ns() const {
  std::int64_t sum = 0;
  for (const StepParts& s : steps) sum += s.span.length();
  return steps.empty() ? 0 : sum / static_cast<std::int64_t>(steps.size());
}

PartTimes Timeline::parts() const {
  PartTimes out{};
  for (const StepParts& s : steps) {
    for (std::size_t i = 0; i < kParts; ++i) out[i] += s.ns[i];
  }
  return out;
}

HostCall host_call(std::string_view name) {
  if (has(name, "Synchronize")) return HostCall::sync;
  if (has(name, "GraphLaunch")) return HostCall::graph;
  if (has(name, "LaunchKernel") || has(name, "LaunchCooperative") || has(name, "ModuleLaunch") || has(name, "ExtModuleLaunch"))
    return HostCall::launch;
  if (has(name, "Memcpy")) return HostCall::copy;
  for (const std::string_view part : {"cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaMallocHost", "hipMalloc", "hipFree",
                                      "hipHostMalloc", "cuMemAlloc", "cuMemFree", "cuMemMap", "cuMemUnmap", "cuMemCreate"}) {
    if (name.starts_with(part) && !has(name, "Async")) return HostCall::allocate;
  }
  return HostCall::plain;
}

bool fetches_input(std::string_view mark) {
  return mark.starts_with("enumerate(DataLoader)") || has(mark, "DataLoaderIter") || has(mark, "dataloader") ||
         has(mark, "DataLoader.__next__") || has(mark, "data_load") || has(mark, "batch-generator") || has(mark, "get_batch") ||
         has(mark, "data loading");
}

Timeline timeline(const Trace& trace, std::span<const std::int64_t> waits) { return Builder(trace, waits).build(); }

}  // namespace muster::diagnose
