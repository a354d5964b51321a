#include "diagnose/memory_course.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"

namespace muster::diagnose {
namespace {

bool has(std::string_view text, std::string_view what) { return text.find(what) != std::string_view::npos; }

// A path's last two parts say enough.
std::string_view short_path(std::string_view path) {
  const auto last = path.rfind('/');
  if (last == std::string_view::npos || last == 0) return path;
  const auto before = path.rfind('/', last - 1);
  return before == std::string_view::npos ? path : path.substr(before + 1);
}

bool of_native_code(const CallFrame& f) {
  for (const std::string_view ending : {".cpp", ".cc", ".h", ".hpp", ".cu", ".cuh", ".c", ".S", ".so"}) {
    if (f.file.ends_with(ending)) return true;
  }
  return f.file.empty() || f.file.starts_with("??") || has(f.name, "::") || has(f.file, ".so.");
}
bool of_a_library(const CallFrame& f) {
  return of_native_code(f) || has(f.file, "site-packages/") || has(f.file, "dist-packages/") || has(f.file, "/torch/") ||
         f.file.starts_with("torch/") || has(f.file, "/lib/python3") || f.file.starts_with("<");
}

std::string said(const CallFrame& f) { return fmt::format("{} at {}:{}", f.name, short_path(f.file), f.line); }

// Which of a device's ranges of addresses are taken from the driver.
class Ranges {
 public:
  struct Range {
    std::uint64_t size = 0, stream = 0, pool = 0;
    bool expandable = false;
  };
  void add(std::uint64_t address, Range r) {
    if (r.size > 0) all_[address] = r;
  }
  void remove(std::uint64_t address, std::uint64_t size) {
    auto it = all_.upper_bound(address);
    if (it == all_.begin()) return;
    --it;
    const std::uint64_t from = it->first;
    const Range r = it->second;
    const std::uint64_t skip = address - from;
    if (skip >= r.size || size > r.size - skip) return;
    all_.erase(it);
    if (skip > 0) add(from, {skip, r.stream, r.pool, r.expandable});
    add(address + size, {r.size - skip - size, r.stream, r.pool, r.expandable});
  }
  // Neighbours of an expandable segment are one.
  std::map<std::uint64_t, Range> joined() const {
    std::map<std::uint64_t, Range> out;
    for (const auto& [address, r] : all_) {
      if (!out.empty()) {
        auto& [before, last] = *out.rbegin();
        if (last.expandable && r.expandable && last.stream == r.stream && last.pool == r.pool && address - before == last.size) {
          last.size += r.size;
          continue;
        }
      }
      out.emplace(address, r);
    }
    return out;
  }

 private:
  std::map<std::uint64_t, Range> all_;
};

struct Used {
  std::uint64_t address = 0, size = 0, requested = 0;
};

// Free stretches between what is used in one range.
void add_range(MemoryState& state, Oom* oom, std::uint64_t address, const Ranges::Range& r, std::span<const Used> used) {
  std::uint64_t at = address, busy = 0, largest = 0;
  const std::uint64_t end = address + r.size;
  for (const Used& u : used) {
    if (u.address < at || u.address >= end) continue;
    largest = std::max(largest, u.address - at);
    const std::uint64_t size = std::min(u.size, end - u.address);
    busy += size;
    state.requested += std::min(u.requested, size);
    at = u.address + size;
  }
  largest = std::max(largest, end - at);
  state.reserved += r.size;
  state.allocated += busy;
  state.inactive += r.size - busy;
  if (busy > 0) state.pinned += r.size - busy;
  state.largest_free = std::max(state.largest_free, largest);
  if (oom == nullptr) return;
  // The request that failed was for the common pool: what a graph keeps for itself is not for it.
  if (r.pool != 0) {
    oom->free_private += r.size - busy;
  } else if (r.stream != oom->stream) {
    oom->free_other_streams += r.size - busy;
  } else {
    oom->free_own += r.size - busy;
    oom->largest_own = std::max(oom->largest_own, largest);
  }
}

constexpr std::size_t kCountsTried = 20;

// How often each stack asked, and how often what it got was given back.
struct Habit {
  std::uint32_t asked = 0, ended = 0, first = kForever, last = 0;
};

// As often as steps come: no gap is much longer than the others, but for the first, which warms up, and where a long run pauses.
bool regular(const std::vector<std::uint32_t>& at) {
  std::vector<std::uint32_t> gaps;
  for (std::size_t i = 2; i < at.size(); ++i) gaps.push_back(at[i] - at[i - 1]);
  if (gaps.empty()) return false;
  std::sort(gaps.begin(), gaps.end());
  const std::uint64_t median = gaps[gaps.size() / 2];
  const auto longer = std::count_if(gaps.begin(), gaps.end(), [&](std::uint32_t g) { return g > 4 * median; });
  return static_cast<std::size_t>(longer) <= at.size() / 100;
}

// A step begins where something is asked for that is asked for once in each. Which stack that is: of those whose memory is given
// back, and that are spread over the whole course, the ones that ask least often, and there are some that ask as often.
std::vector<std::size_t> steps_of(const std::vector<Lifetime>& lives, std::size_t stacks) {
  std::vector<Habit> habits(stacks);
  for (const Lifetime& l : lives) {
    if (l.born == kForever || l.stack == 0 || l.stack >= stacks) continue;
    Habit& h = habits[l.stack];
    ++h.asked;
    h.ended += l.died != kForever;
    h.first = std::min(h.first, l.born);
    h.last = std::max(h.last, l.born);
  }
  std::uint32_t from = kForever, to = 0;
  std::map<std::uint32_t, std::uint32_t> as_often;
  for (const Habit& h : habits) {
    if (h.asked < 3 || 2 * h.ended < h.asked) continue;
    ++as_often[h.asked];
    from = std::min(from, h.first);
    to = std::max(to, h.last);
  }
  if (as_often.empty()) return {};
  std::uint32_t all = 0;
  for (const auto& [often, count] : as_often) all += count;
  std::size_t tried = 0;
  for (const auto& [often, count] : as_often) {
    const auto next = as_often.find(often + 1);  // the last step may have been cut short
    if ((count + (next == as_often.end() ? 0 : next->second)) * 20 < all) continue;
    if (++tried > kCountsTried) break;
    std::uint32_t marker = 0;
    for (std::uint32_t s = 1; s < stacks; ++s) {
      const Habit& h = habits[s];
      if (h.asked != often || 2 * h.ended < h.asked) continue;
      if ((h.last - h.first) * 2.0 * often < 1.2 * (often - 1) * (to - from)) continue;  // a phase, not the whole course
      if (marker == 0 || h.first < habits[marker].first) marker = s;
    }
    if (marker == 0) continue;
    std::vector<std::uint32_t> at;
    for (const Lifetime& l : lives) {
      if (l.stack == marker && l.born != kForever) at.push_back(l.born);  // in order
    }
    if (regular(at)) return {at.begin(), at.end()};
  }
  return {};
}

}  // namespace

std::vector<StackFacts> facts_of(const MemorySnapshot& s) {
  std::vector<StackFacts> out(s.stack_ends.size());
  for (std::uint32_t id = 0; id < out.size(); ++id) {
    StackFacts& facts = out[id];
    const auto frames = s.stack(id);
    const CallFrame* user = nullptr;
    const CallFrame* fallback = nullptr;
    for (const std::uint32_t n : frames) {
      const CallFrame& f = s.frames[n];
      if (user == nullptr && !of_a_library(f)) user = &f;
      if (fallback == nullptr && !of_native_code(f)) fallback = &f;
      facts.optimizer = facts.optimizer || has(f.file, "/optim/") || has(lower(f.file), "optimizer") || f.name == "_init_group";
      facts.backward = facts.backward || f.name == "backward" || f.name == "_engine_run_backward" ||
                       has(f.name, "AccumulateGrad") || has(f.name, "autograd::Engine");
      facts.workspace = facts.workspace || has(lower(f.name), "workspace") || has(f.name, "cublas") || has(f.name, "CUDABlas");
    }
    if (user == nullptr) user = fallback;
    if (user == nullptr && !frames.empty()) user = &s.frames[frames.front()];
    facts.user = user != nullptr ? said(*user) : "not told";
  }
  return out;
}

std::size_t MemoryCourse::step_of(std::size_t event) const {
  return static_cast<std::size_t>(std::upper_bound(steps.begin(), steps.end(), event) - steps.begin());
}

MemoryCourse course_of(const MemoryHistory& h, std::size_t stacks) {
  MemoryCourse c;
  std::unordered_map<std::uint64_t, std::size_t> living;
  std::uint64_t allocated = 0, reserved = h.reserved_before;
  for (const MemoryHistory::Live& b : h.before) {
    living[b.address] = c.lives.size();
    c.lives.push_back({b.address, b.size, b.requested, b.stack, kForever, kForever});
    allocated += b.size;
  }
  const auto rises = [](MemoryPeak& peak, std::uint64_t bytes, std::size_t event, std::int64_t time_us) {
    if (bytes > peak.bytes) peak = {bytes, event, time_us};
  };
  rises(c.allocated_peak, allocated, 0, 0);
  rises(c.reserved_peak, reserved, 0, 0);
  for (std::size_t i = 0; i < h.events.size(); ++i) {
    const MemoryEvent& e = h.events[i];
    switch (e.action) {
      case MemoryAction::alloc: {
        const std::uint64_t size = rounded_request(e.size, h.settings);
        living[e.address] = c.lives.size();
        c.lives.push_back({e.address, size, e.size, e.stack, static_cast<std::uint32_t>(i), kForever});
        rises(c.allocated_peak, allocated += size, i, e.time_us);
        break;
      }
      case MemoryAction::free_completed:
        if (const auto it = living.find(e.address); it != living.end()) {
          c.lives[it->second].died = static_cast<std::uint32_t>(i);
          allocated -= c.lives[it->second].size;
          living.erase(it);
        }
        break;
      case MemoryAction::segment_alloc:
      case MemoryAction::segment_map: rises(c.reserved_peak, reserved += e.size, i, e.time_us); break;
      case MemoryAction::segment_free:
      case MemoryAction::segment_unmap: reserved -= std::min(reserved, e.size); break;
      default: break;
    }
  }
  c.steps = steps_of(c.lives, stacks);
  return c;
}

MemoryClasses::MemoryClasses(const MemoryCourse& course, const std::vector<StackFacts>& facts)
    : course_(course), facts_(facts), asked_(facts.size()), ended_(facts.size()), kept_(facts.size()) {
  for (const Lifetime& l : course.lives) {
    const std::size_t stack = l.stack < facts.size() ? l.stack : 0;
    const bool ended = l.born != kForever && l.died != kForever && course.step_of(l.died) <= course.step_of(l.born) + 1;
    asked_[stack] += l.born != kForever;
    ended_[stack] += ended;
    kept_[stack] = kept_[stack] || (l.born != kForever && l.died == kForever && course.step_of(l.born) > 1);
    if (l.died == kForever && (l.born == kForever || course.step_of(l.born) == 0)) lasting_sizes_.push_back(l.requested);
  }
  std::sort(lasting_sizes_.begin(), lasting_sizes_.end());
}

// Itself, or most of what the same calls asked for, does not outlive its step or the next.
bool MemoryClasses::passes(const Lifetime& l) const {
  if (l.born == kForever) return l.died != kForever && course_.step_of(l.died) <= 1 && !course_.steps.empty();
  if (l.died != kForever) return course_.step_of(l.died) <= course_.step_of(l.born) + 1;
  const std::size_t stack = l.stack < facts_.size() ? l.stack : 0;
  return ended_[stack] > 0 && 2 * ended_[stack] + 1 >= asked_[stack];
}

MemoryClass MemoryClasses::of(const Lifetime& l) const {
  const StackFacts& f = facts_[l.stack < facts_.size() ? l.stack : 0];
  const bool passing = passes(l);
  if (f.workspace) return MemoryClass::workspace;
  if (f.optimizer) return passing ? MemoryClass::workspace : MemoryClass::optimizer;
  // The engine's own threads have no Python calls: an empty stack among others is theirs.
  const bool backward = f.backward || (l.stack == 0 && facts_.size() > 1 && l.born != kForever);
  if (backward && std::binary_search(lasting_sizes_.begin(), lasting_sizes_.end(), l.requested)) return MemoryClass::gradients;
  if (passing) return MemoryClass::activations;
  const bool later = l.born != kForever && course_.steps.size() >= 3 && course_.step_of(l.born) > 0;
  return later && kept_[l.stack < facts_.size() ? l.stack : 0] ? MemoryClass::kept : MemoryClass::parameters;
}

MemoryState state_at(const MemorySnapshot& s, const MemoryHistory& h, const MemoryCourse& course, std::size_t event, Oom* oom) {
  Ranges ranges;
  for (const MemorySegment& segment : s.segments) {
    if (segment.device == h.device) ranges.add(segment.address, {segment.size, segment.stream, segment.pool, segment.expandable});
  }
  for (std::size_t i = h.events.size(); i-- > event;) {  // undone
    const MemoryEvent& e = h.events[i];
    if (e.action == MemoryAction::segment_alloc || e.action == MemoryAction::segment_map) ranges.remove(e.address, e.size);
    if (e.action == MemoryAction::segment_free || e.action == MemoryAction::segment_unmap)
      ranges.add(e.address, {e.size, e.stream, h.pool_of(e.address), e.action == MemoryAction::segment_unmap});
  }
  std::vector<Used> used;
  for (const Lifetime& l : course.lives) {
    if (l.lives_at(event)) used.push_back({l.address, l.size, l.requested});
  }
  std::sort(used.begin(), used.end(), [](const Used& a, const Used& b) { return a.address < b.address; });
  MemoryState state;
  auto first = used.begin();
  for (const auto& [address, r] : ranges.joined()) {
    while (first != used.end() && first->address < address) ++first;
    auto last = first;
    while (last != used.end() && last->address - address < r.size) ++last;
    add_range(state, oom, address, r, {first, last});
    first = last;
  }
  return state;
}

MemoryState state_now(const MemorySnapshot& s, std::uint32_t device) {
  MemoryState state;
  for (const MemorySegment& segment : s.segments) {
    if (segment.device != device) continue;
    std::vector<Used> used;
    for (const MemoryBlock& b : segment.blocks) {
      if (b.state != BlockState::inactive) used.push_back({b.address, b.size, b.requested});
    }
    std::sort(used.begin(), used.end(), [](const Used& a, const Used& b) { return a.address < b.address; });
    add_range(state, nullptr, segment.address, {segment.size, segment.stream, segment.pool, segment.expandable}, used);
  }
  return state;
}

}  // namespace muster::diagnose
