#include "diagnose/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "diagnose/memory_course.h"
#include "diagnose/memory_findings.h"

namespace muster::diagnose {
namespace {

constexpr double kMargin = 0.05;  // of what a process may have: what no snapshot shows, as NCCL's and cuBLAS's own buffers
constexpr std::size_t kHoldersMax = 200;  // that are told apart
constexpr double kWorthwhile = 0.05;      // of what is reserved: less is no reason to change a setting
constexpr double kBatchLeast = 0.1;       // of a batch: one that is smaller is none, where its number is not known

std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

// What the process could have had in all, as far as the failed request tells.
void set_limit(Oom& oom, const MemoryCourse& course) {
  oom.by_fraction = oom.device_free >= oom.segment;
  oom.limit = oom.by_fraction ? std::max(course.reserved_peak.bytes, oom.state.reserved) : oom.state.reserved + oom.device_free;
}

OomCause cause_of(const Oom& oom, const AllocatorSettings& settings) {
  // A program's own limit is known from below only: with next to nothing free, it was reached by what is in use.
  const bool full = oom.by_fraction && oom.state.inactive < oom.asked / 10;
  if (oom.state.allocated + oom.asked > oom.limit || full) {
    const bool others =
        !oom.by_fraction && oom.elsewhere > 0 &&
        static_cast<double>(oom.state.allocated + oom.asked) < (1 - kMargin) * static_cast<double>(oom.limit + oom.elsewhere);
    return others ? OomCause::elsewhere : OomCause::too_large;
  }
  if (settings.max_split && oom.largest_own >= oom.asked) return OomCause::split_limit;
  const auto enough_without = [&](std::uint64_t part) { return oom.state.allocated + part + oom.asked <= oom.limit; };
  if (!enough_without(oom.free_private)) return OomCause::private_pools;
  if (!enough_without(oom.free_other_streams)) return OomCause::other_streams;
  return OomCause::fragmented;
}

class Device {
 public:
  Device(const MemorySnapshot& s, const MemoryQuestion& q, const std::vector<StackFacts>& facts, std::uint32_t device)
      : s_(s), q_(q), facts_(facts), h_(history_of(s, device)), course_(course_of(h_, facts.size())) {
    out_.device = device;
  }

  DeviceMemory take() {
    out_.events = h_.events.size();
    out_.now = state_now(s_, out_.device);
    out_.allocated_peak = course_.allocated_peak;
    out_.reserved_peak = course_.reserved_peak;
    out_.steps = course_.steps.size();
    find_oom();
    hold();
    grow();
    churn();
    try_all();
    batch();
    return std::move(out_);
  }

 private:
  const std::string& where(std::uint32_t stack) const { return facts_[stack < facts_.size() ? stack : 0].user; }

  void find_oom() {
    for (std::size_t i = 0; i < h_.events.size(); ++i) {
      if (h_.events[i].action != MemoryAction::oom) continue;
      ++out_.ooms;
      out_.oom = Oom{};
      out_.oom->event = i;
    }
    if (!out_.oom) return;
    Oom& oom = *out_.oom;
    const MemoryEvent& e = h_.events[oom.event];
    oom.time_us = e.time_us;
    oom.asked = rounded_request(e.size, h_.settings);
    oom.segment = segment_for(oom.asked);
    oom.stream = e.stream;
    oom.device_free = e.address;
    oom.where = where(e.stack);
    oom.state = state_at(s_, h_, course_, oom.event, &oom);
    set_limit(oom, course_);
    if (q_.device_bytes) oom.elsewhere = minus(*q_.device_bytes, oom.state.reserved + oom.device_free);
    oom.cause = cause_of(oom, h_.settings);
  }

  // At the peak, which is when a request failed, if one did.
  std::size_t moment() const { return out_.oom ? out_.oom->event : course_.allocated_peak.event; }

  void hold() {
    const MemoryClasses classes(course_, facts_);
    passing_.resize(course_.lives.size());
    for (std::size_t i = 0; i < passing_.size(); ++i) passing_[i] = classes.of(course_.lives[i]) == MemoryClass::activations;
    std::map<std::pair<std::string_view, MemoryClass>, MemoryHolder> all;
    for (const Lifetime& l : course_.lives) {
      if (!l.lives_at(moment())) continue;
      const MemoryClass kind = classes.of(l);
      out_.classes[static_cast<std::size_t>(kind)] += l.size;
      MemoryHolder& m = all[{where(l.stack), kind}];
      m.kind = kind;
      m.bytes += l.size;
      ++m.blocks;
    }
    for (auto& [key, m] : all) {
      m.where = key.first;
      out_.at_peak.push_back(std::move(m));
    }
    std::stable_sort(out_.at_peak.begin(), out_.at_peak.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    if (out_.at_peak.size() > kHoldersMax) out_.at_peak.resize(kHoldersMax);
  }

  // What lives where each step begins, from the second on: the first fills what then stays.
  void grow() {
    const auto& steps = course_.steps;
    if (steps.size() < 5) return;
    std::vector<std::int64_t> change(steps.size() + 1);
    for (const Lifetime& l : course_.lives) {
      const std::size_t from = l.born == kForever ? 0 : course_.step_of(l.born);
      const std::size_t to = l.died == kForever ? steps.size() : course_.step_of(l.died);
      change[from] += static_cast<std::int64_t>(l.size);  // lives where the next step begins
      change[to] -= static_cast<std::int64_t>(l.size);
    }
    std::vector<std::int64_t> live(steps.size());
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) live[i] = sum += change[i];
    std::size_t rises = 0;
    for (std::size_t i = 2; i < live.size(); ++i) rises += live[i] > live[i - 1];
    const std::size_t passed = live.size() - 2;
    const std::int64_t total = live.back() - live[1];
    if (rises * 5 < passed * 4 || total <= 0) return;
    if (static_cast<double>(total) < 0.005 * static_cast<double>(course_.allocated_peak.bytes)) return;
    MemoryGrowth g;
    g.steps = passed;
    g.bytes_per_step = static_cast<std::uint64_t>(total) / passed;
    std::map<std::string_view, std::uint64_t> stays;
    for (const Lifetime& l : course_.lives) {
      if (l.born != kForever && l.died == kForever && l.born >= steps[1] && l.born < steps.back())
        stays[where(l.stack)] += l.size;
    }
    std::uint64_t most = 0;
    for (const auto& [user, bytes] : stays) {
      if (bytes <= most) continue;
      most = bytes;
      g.where = user;
    }
    g.share = std::min(1.0, static_cast<double>(most) / static_cast<double>(total));
    out_.growth = std::move(g);
  }

  void churn() {
    const auto& steps = course_.steps;
    if (steps.size() < 4) return;
    double allocs = 0, frees = 0;
    for (std::size_t i = steps[2]; i < h_.events.size() && i <= moment_end(); ++i) {
      const MemoryAction a = h_.events[i].action;
      allocs += a == MemoryAction::segment_alloc || a == MemoryAction::segment_map;
      frees += a == MemoryAction::segment_free || a == MemoryAction::segment_unmap;
    }
    const auto passed = static_cast<double>(steps.size() - 2);
    if (allocs + frees > 0) out_.churn = MemoryChurn{allocs / passed, frees / passed};
  }
  std::size_t moment_end() const { return out_.oom ? out_.oom->event : h_.events.size(); }

  void try_all() {
    if (h_.events.empty()) return;
    CachingAllocator::Limit limit{kMemoryBytesMax, false};
    // Segments go back when there are no more to be had: it had then what it can have.
    const bool pressed = std::any_of(h_.events.begin(), h_.events.end(), [](const MemoryEvent& e) {
      return e.action == MemoryAction::segment_free || e.action == MemoryAction::segment_unmap;
    });
    if (pressed) limit.bytes = course_.reserved_peak.bytes;
    if (out_.oom) limit = {out_.oom->limit, out_.oom->by_fraction};
    const MemoryReplay same = replay_memory(h_, h_.settings, limit, true);
    if (same.whole && course_.reserved_peak.bytes > 0)
      out_.replay_off = static_cast<double>(same.reserved_peak) / static_cast<double>(course_.reserved_peak.bytes) - 1;
    out_.replay_fails_alike = same.served == 0 && same.asked_in_vain == out_.ooms;
    out_.trials = try_settings(h_, limit);
    advise(same, limit.bytes);
  }

  // Worth a change: a request is served that was not, less is reserved, or segments no longer come and go.
  bool helps(const MemoryReplay& with, const MemoryReplay& same) const {
    if (!with.fits()) return false;
    if (out_.oom) return true;
    if (same.device_frees >= out_.steps && out_.steps > 0 && with.device_frees * 5 <= same.device_frees) return true;
    return static_cast<double>(with.reserved_peak) <= (1 - kWorthwhile) * static_cast<double>(same.reserved_peak);
  }

  void advise(const MemoryReplay& same, std::uint64_t limit) {
    const SettingTrial* best = nullptr;
    for (const SettingTrial& t : out_.trials) {
      if (!helps(t.replay, same)) continue;
      // The first is preferred: it needs no number that fits one workload only.
      if (best == nullptr || (best != out_.trials.data() && t.replay.reserved_peak < best->replay.reserved_peak)) best = &t;
    }
    if (best == nullptr) return;
    SettingAdvice a;
    a.setting = best->setting;
    a.environment = "PYTORCH_CUDA_ALLOC_CONF=" + with_setting(h_.settings.text, best->setting);
    a.reserved_peak = best->replay.reserved_peak;
    a.tight = out_.oom && static_cast<double>(a.reserved_peak) > (1 - kMargin) * static_cast<double>(limit);
    const double off = out_.replay_off ? std::max(*out_.replay_off, -*out_.replay_off) : 1;
    // Where much is from before the recording, how it would lie then is not known.
    std::uint64_t before = 0;
    for (const MemoryHistory::Live& b : h_.before) before += b.size;
    const bool alike = (!out_.oom || out_.replay_fails_alike) && before <= course_.allocated_peak.bytes / 10;
    a.confidence = off <= 0.05 && alike && !a.tight ? Confidence::high
                   : off <= 0.15 && !a.tight        ? Confidence::medium
                                                    : Confidence::low;
    out_.advice = std::move(a);
  }

  // What passes within a step grows with the batch; the rest does not. Which moment binds depends on how much it grows: that of
  // the most activations, or that of the most gradients.
  void batch() {
    std::optional<std::uint64_t> limit = q_.device_bytes;
    if (out_.oom) limit = out_.oom->limit;
    if (!limit || (course_.steps.size() < 3 && !out_.oom)) return;
    BatchAdvice b;
    b.limit = *limit;
    b.margin = static_cast<std::uint64_t>(kMargin * static_cast<double>(*limit));
    b.at_most = out_.oom.has_value();
    b.factor = -1;
    std::vector<std::int64_t> stays(h_.events.size() + 1), grows(h_.events.size() + 1);
    for (std::size_t i = 0; i < course_.lives.size(); ++i) {
      const Lifetime& l = course_.lives[i];
      auto& change = passing_[i] ? grows : stays;
      change[l.born == kForever ? 0 : l.born] += static_cast<std::int64_t>(l.size);
      if (l.died != kForever) change[l.died] -= static_cast<std::int64_t>(l.size);
    }
    std::int64_t constant = 0, scaling = 0;
    for (std::size_t i = 0; i < h_.events.size(); ++i) {
      constant += stays[i];
      scaling += grows[i];
      const bool failing = out_.oom && out_.oom->event == i;
      binds(b, static_cast<std::uint64_t>(std::max<std::int64_t>(0, constant)),
            static_cast<std::uint64_t>(std::max<std::int64_t>(0, scaling)) + (failing ? out_.oom->asked : 0));
    }
    if (b.factor < 0) return;
    if (q_.batch) {
      const double fits = b.factor * static_cast<double>(*q_.batch);
      b.fits = fits < 1e15 ? static_cast<std::uint64_t>(fits) : 0;
    }
    // A limit that the program set itself is known from below only: that there is no room within it says nothing.
    if (out_.oom && out_.oom->by_fraction && b.factor < kBatchLeast) return;
    b.no_room = b.factor < kBatchLeast && b.fits.value_or(0) == 0;
    out_.batch = b;
  }
  static void binds(BatchAdvice& b, std::uint64_t constant, std::uint64_t scaling) {
    if (scaling == 0) return;
    const double factor = static_cast<double>(minus(b.limit, constant + b.margin)) / static_cast<double>(scaling);
    if (b.factor >= 0 && factor >= b.factor) return;
    b.factor = factor;
    b.constant = constant;
    b.scaling = scaling;
  }

  const MemorySnapshot& s_;
  const MemoryQuestion& q_;
  const std::vector<StackFacts>& facts_;
  MemoryHistory h_;
  MemoryCourse course_;
  std::vector<bool> passing_;  // course_.lives that are activations
  DeviceMemory out_;
};

}  // namespace

std::string say_bytes(std::uint64_t bytes) {
  const auto n = static_cast<double>(bytes);
  if (bytes >= std::uint64_t{1} << 30) return fmt::format("{:.2f} GiB", n / (1U << 30));
  if (bytes >= std::uint64_t{1} << 20) return fmt::format("{:.1f} MiB", n / (1U << 20));
  if (bytes >= 1024) return fmt::format("{:.1f} KiB", n / 1024);
  return fmt::format("{} B", bytes);
}

std::string say_batch(const BatchAdvice& b) {
  const std::string reserve =
      fmt::format("{} ({:.0f} %) in reserve for what no snapshot shows", say_bytes(b.margin), 100 * kMargin);
  if (b.no_room)
    return fmt::format("of {} that it could have, {} stay whatever the batch is and {} are kept; {} would grow with the batch",
                       say_bytes(b.limit), say_bytes(b.constant), reserve, say_bytes(b.scaling));
  return fmt::format("{:.2f} = ({} that it could have, less {}, less {} that stay) / {} that grow with the batch", b.factor,
                     say_bytes(b.limit), reserve, say_bytes(b.constant), say_bytes(b.scaling));
}

MemoryDiagnosis diagnose_memory(const MemorySnapshot& snapshot, const MemoryQuestion& question) {
  MemoryDiagnosis out;
  out.settings = snapshot.settings;
  std::set<std::uint32_t> devices;
  for (const MemorySegment& s : snapshot.segments) devices.insert(s.device);
  for (std::size_t i = 0; i < snapshot.traces.size(); ++i) {
    if (!snapshot.traces[i].empty()) devices.insert(static_cast<std::uint32_t>(i));
  }
  const std::vector<StackFacts> facts = facts_of(snapshot);
  for (const std::uint32_t d : devices) out.devices.push_back(Device(snapshot, question, facts, d).take());
  out.findings = memory_findings(out, question);
  return out;
}

}  // namespace muster::diagnose
