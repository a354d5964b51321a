#include "diagnose/memory_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"

namespace muster::diagnose {
namespace {

constexpr std::uint64_t kWorkMax = 300'000'000;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

bool takes(MemoryAction a) { return a == MemoryAction::segment_alloc || a == MemoryAction::segment_map; }
bool gives_back(MemoryAction a) { return a == MemoryAction::segment_free || a == MemoryAction::segment_unmap; }

// Blocks that were given back, or are there at the end, and that no event asked for.
void live_before(const MemorySnapshot& s, MemoryHistory& h) {
  std::unordered_set<std::uint64_t> born, seen;
  for (const MemoryEvent& e : h.events) {
    if (e.action == MemoryAction::alloc) {
      born.insert(e.address);
    } else if (e.action == MemoryAction::free_completed && born.erase(e.address) == 0 && seen.insert(e.address).second) {
      h.before.push_back({e.address, rounded_request(e.size, h.settings), e.size, e.stream, h.pool_of(e.address), 0});
    }
  }
  for (const MemorySegment& segment : s.segments) {
    if (segment.device != h.device) continue;
    for (const MemoryBlock& b : segment.blocks) {
      if (b.state == BlockState::inactive || born.contains(b.address) || !seen.insert(b.address).second) continue;
      h.before.push_back({b.address, b.size, b.requested, segment.stream, segment.pool, b.stack});
    }
  }
  std::sort(h.before.begin(), h.before.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
}

void segments_before(const MemorySnapshot& s, MemoryHistory& h) {
  std::unordered_set<std::uint64_t> born;
  std::uint64_t taken = 0, given = 0, now = 0;
  for (const MemoryEvent& e : h.events) {
    if (takes(e.action)) taken += e.size;
    if (gives_back(e.action)) given += e.size;
    if (e.action == MemoryAction::segment_alloc) {
      born.insert(e.address);
    } else if (e.action == MemoryAction::segment_free && born.erase(e.address) == 0) {
      h.segments_before.push_back({e.address, e.size, e.stream, 0, e.size <= 2 * kMiB, false});
    }
  }
  for (const MemorySegment& segment : s.segments) {
    if (segment.device != h.device) continue;
    now += segment.size;
    if (!segment.expandable && !born.contains(segment.address)) {
      h.segments_before.push_back(
          {segment.address, segment.size, segment.stream, segment.pool, !segment.large, segment.expandable});
    }
  }
  h.reserved_before = now + given > taken ? now + given - taken : 0;
  std::sort(h.segments_before.begin(), h.segments_before.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
}

class Player {
 public:
  Player(const MemoryHistory& h, const AllocatorSettings& settings, CachingAllocator::Limit limit)
      : h_(h), exact_(!settings.expandable && !h.settings.expandable), a_(settings, limit) {}

  // As it was where segments stay as they are; else one after the other.
  void begin() {
    std::size_t at = 0;
    for (std::size_t i = 0; exact_ && i < h_.segments_before.size(); ++i) {
      const auto& s = h_.segments_before[i];
      while (at < h_.before.size() && h_.before[at].address < s.address) ask(h_.before[at++]);
      std::vector<CachingAllocator::Placed> used;
      const std::size_t first = at;
      for (; at < h_.before.size() && h_.before[at].address - s.address < s.size; ++at)
        used.push_back({h_.before[at].address, h_.before[at].size});
      const auto ids = a_.place({s.stream, s.pool, s.small}, {s.address, s.size}, used);
      for (std::size_t k = 0; k < ids.size(); ++k) live_[h_.before[first + k].address] = ids[k];
    }
    while (at < h_.before.size()) ask(h_.before[at++]);
  }

  MemoryReplay play(bool forced) {
    MemoryReplay out;
    std::size_t last_in_vain = 0;
    for (std::size_t i = 0; i < h_.events.size(); ++i) {
      const MemoryEvent& e = h_.events[i];
      if (a_.work() > kWorkMax) {
        out.whole = false;
        break;
      }
      if (e.action == MemoryAction::free_completed) {
        if (const auto it = live_.find(e.address); it != live_.end()) {
          a_.free(it->second);
          live_.erase(it);
        }
      } else if (e.action == MemoryAction::alloc) {
        const auto id = a_.allocate(e.size, e.stream, h_.pool_of(e.address), forced);
        if (!id) {
          out.failed_at = i;
          break;
        }
        live_[e.address] = *id;
      } else if (e.action == MemoryAction::oom) {
        ++out.asked_in_vain;
        last_in_vain = i;
        if (const auto id = a_.allocate(e.size, e.stream, 0)) {
          ++out.served;
          a_.free(*id);
        }
      }
      if (last_in_vain == i || out.asked_in_vain == 0) out.reserved_peak = a_.reserved_peak();
    }
    out.device_allocs = a_.device_allocs();
    out.device_frees = a_.device_frees();
    out.reserved_peak = std::max(out.reserved_peak, h_.events.empty() ? a_.reserved_peak() : 0);
    return out;
  }

 private:
  void ask(const MemoryHistory::Live& b) {
    if (const auto id = a_.allocate(b.requested, b.stream, b.pool, true)) live_[b.address] = *id;
  }

  const MemoryHistory& h_;
  bool exact_;
  CachingAllocator a_;
  std::unordered_map<std::uint64_t, CachingAllocator::Id> live_;
};

}  // namespace

std::uint64_t MemoryHistory::pool_of(std::uint64_t address) const {
  const auto after = std::upper_bound(own_pools.begin(), own_pools.end(), address,
                                      [](std::uint64_t a, const Segment& s) { return a < s.address; });
  if (after == own_pools.begin()) return 0;
  const Segment& s = *std::prev(after);
  return address - s.address < s.size ? s.pool : 0;
}

MemoryHistory history_of(const MemorySnapshot& snapshot, std::uint32_t device) {
  MemoryHistory h;
  h.device = device;
  h.settings = snapshot.settings;
  if (device < snapshot.traces.size()) h.events = snapshot.traces[device];
  for (const MemorySegment& s : snapshot.segments) {
    if (s.device != device) continue;
    if (s.expandable) h.settings.expandable = true;
    if (s.pool != 0) h.own_pools.push_back({s.address, s.size, s.stream, s.pool, !s.large, s.expandable});
  }
  std::sort(h.own_pools.begin(), h.own_pools.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  live_before(snapshot, h);
  segments_before(snapshot, h);
  return h;
}

MemoryReplay replay_memory(const MemoryHistory& history, const AllocatorSettings& settings, CachingAllocator::Limit limit,
                           bool forced) {
  Player p(history, settings, limit);
  p.begin();
  return p.play(forced);
}

std::vector<SettingTrial> try_settings(const MemoryHistory& h, CachingAllocator::Limit limit) {
  std::vector<SettingTrial> out;
  if (h.settings.expandable) return out;
  AllocatorSettings with = h.settings;
  with.expandable = true;
  with.max_split.reset();  // some versions fail when these are set together
  with.collection_threshold = 0;
  out.push_back({"expandable_segments:True", replay_memory(h, with, limit, false)});
  for (const std::uint64_t mib : {512, 256, 128, 64}) {
    with = h.settings;
    if (with.max_split && *with.max_split == mib * kMiB) continue;
    with.max_split = mib * kMiB;
    out.push_back({fmt::format("max_split_size_mb:{}", mib), replay_memory(h, with, limit, false)});
  }
  for (const std::uint32_t divisions : {8U, 4U}) {
    with = h.settings;
    if (with.divisions[0] == divisions) continue;
    with.divisions.fill(divisions);
    out.push_back({fmt::format("roundup_power2_divisions:{}", divisions), replay_memory(h, with, limit, false)});
  }
  return out;
}

std::string with_setting(const std::string& current, const std::string& setting) {
  const std::string key = setting.substr(0, setting.find(':') + 1);
  const bool expandable = key == "expandable_segments:";  // with which limits on splitting do not go together
  std::string out;
  int depth = 0;
  std::string part;
  const auto keep = [&] {
    const std::string_view one = trim(part);
    const bool clashes =
        expandable && (one.starts_with("max_split_size_mb:") || one.starts_with("garbage_collection_threshold:"));
    if (!one.empty() && !one.starts_with(key) && !clashes) out += fmt::format("{}{}", out.empty() ? "" : ",", one);
    part.clear();
  };
  for (const char c : current) {
    depth += (c == '[') - (c == ']');
    if (c == ',' && depth == 0) {
      keep();
    } else {
      part += c;
    }
  }
  keep();
  return out.empty() ? setting : out + "," + setting;
}

}  // namespace muster::diagnose
