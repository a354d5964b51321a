#include "diagnose/caching_allocator.h"

#include <algorithm>
#include <bit>

namespace muster::diagnose {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kBlockMin = 512;
constexpr std::uint64_t kSmallSegment = 2 * kMiB, kLargeSegment = 20 * kMiB;
constexpr std::uint64_t kOwnSegmentFrom = 10 * kMiB, kSegmentStep = 2 * kMiB;
constexpr std::uint64_t kAddresses = std::uint64_t{1} << 44;  // that a segment may expand over: more than any GPU has

std::uint64_t rounded_up(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

}  // namespace

std::uint64_t rounded_request(std::uint64_t requested, const AllocatorSettings& settings) {
  if (requested <= kBlockMin) return kBlockMin;
  const auto power = static_cast<unsigned>(std::bit_width(requested) - 1);
  const std::size_t at = std::min<std::size_t>(power > 20 ? power - 20 : 0, settings.divisions.size() - 1);
  const std::uint64_t divisions = settings.divisions[at];
  if (divisions > 1 && requested > kBlockMin * divisions && !std::has_single_bit(requested)) {
    const std::uint64_t step = (std::uint64_t{1} << power) / divisions;
    if (step > 0) return rounded_up(requested, step);
  }
  return rounded_up(requested, kBlockMin);
}

std::uint64_t segment_for(std::uint64_t rounded) {
  if (rounded <= kSmallRequestMax) return kSmallSegment;
  return rounded < kOwnSegmentFrom ? kLargeSegment : rounded_up(rounded, kSegmentStep);
}

std::uint32_t CachingAllocator::pool_of(const PoolKey& key) {
  const auto [it, fresh] = pool_ids_.emplace(key, static_cast<std::uint32_t>(pools_.size()));
  if (fresh) pools_.push_back({key, {}, {}, 0});
  return it->second;
}

CachingAllocator::Id CachingAllocator::add(Block b) {
  if (!spare_.empty()) {
    const Id id = spare_.back();
    spare_.pop_back();
    blocks_[id] = b;
    return id;
  }
  blocks_.push_back(b);
  return static_cast<Id>(blocks_.size() - 1);
}

void CachingAllocator::insert(Id id) {
  Block& b = blocks_[id];
  Pool& p = pools_[b.pool];
  b.freed_at = p.searches;
  if (b.mapped) {
    p.free.emplace(b.size, b.address, id);
  } else {
    p.unmapped.emplace(b.address, id);
  }
}

void CachingAllocator::erase(Id id) {
  const Block& b = blocks_[id];
  if (b.mapped) {
    pools_[b.pool].free.erase({b.size, b.address, id});
  } else {
    pools_[b.pool].unmapped.erase({b.address, id});
  }
}

// Cuts the first `size` bytes off as `b`; what remains comes after it, and stands in no list yet.
CachingAllocator::Id CachingAllocator::split(Id b, std::uint64_t size) {
  Block rest = blocks_[b];
  rest.address += size;
  rest.size -= size;
  rest.before = b;
  const Id id = add(rest);
  if (rest.after != kNone) blocks_[rest.after].before = id;
  blocks_[b].after = id;
  blocks_[b].size = size;
  return id;
}

// `other` stands in its list, `b` in none. `b` takes it in.
void CachingAllocator::join(Id b, Id other) {
  if (other == kNone || blocks_[other].used || blocks_[other].mapped != blocks_[b].mapped) return;
  erase(other);
  Block& into = blocks_[b];
  const Block& gone = blocks_[other];
  if (into.before == other) {
    into.address = gone.address;
    into.before = gone.before;
    if (into.before != kNone) blocks_[into.before].after = b;
  } else {
    into.after = gone.after;
    if (into.after != kNone) blocks_[into.after].before = b;
  }
  into.size += gone.size;
  spare_.push_back(other);
}

void CachingAllocator::join_both(Id b) {
  join(b, blocks_[b].before);
  join(b, blocks_[b].after);
}

bool CachingAllocator::should_split(const Block& b, std::uint64_t size) const {
  const std::uint64_t rest = b.size - size;
  if (pools_[b.pool].key.small || settings_.expandable) return rest >= kBlockMin;
  return (!settings_.max_split || size < *settings_.max_split) && rest > kSmallRequestMax;
}

std::optional<CachingAllocator::Id> CachingAllocator::cached(std::uint32_t pool, std::uint64_t size) {
  Pool& p = pools_[pool];
  ++p.searches;
  ++work_;
  auto it = p.free.lower_bound({size, 0, 0});
  if (it == p.free.end()) return {};
  // The best fit among those that can grow is the one that can grow least.
  const auto can_be = [&](Id id) {
    const Block& b = blocks_[id];
    return b.size + (b.after != kNone && !blocks_[b.after].mapped ? blocks_[b.after].size : 0);
  };
  if (settings_.expandable) {
    for (auto next = std::next(it);
         next != p.free.end() && blocks_[std::get<2>(*it)].expandable && can_be(std::get<2>(*next)) < can_be(std::get<2>(*it));
         ++next, ++work_)
      it = next;
  }
  const Id id = std::get<2>(*it);
  if (settings_.max_split) {
    if (size < *settings_.max_split && blocks_[id].size >= *settings_.max_split) return {};
    if (size >= *settings_.max_split && blocks_[id].size >= size + kLargeSegment) return {};
  }
  p.free.erase(it);
  return id;
}

void CachingAllocator::reserve(std::uint64_t bytes) {
  reserved_ += bytes;
  reserved_peak_ = std::max(reserved_peak_, reserved_);
  ++device_allocs_;
}

std::optional<CachingAllocator::Id> CachingAllocator::grown(std::uint32_t pool, std::uint64_t size, bool forced) {
  const std::uint64_t segment = segment_for(size);
  const bool whole = limit_.by_fraction || !settings_.expandable;
  if (!forced && whole && reserved_ + segment > limit_.bytes) return {};
  if (settings_.expandable) return expanded(pool, size, forced);
  Block b;
  b.address = next_address_;
  b.size = segment;
  b.pool = pool;
  b.before = b.after = kNone;
  next_address_ += segment;
  reserve(segment);
  return add(b);
}

// The first free stretch of addresses that is long enough, partly mapped or not at all.
CachingAllocator::Id CachingAllocator::room_to_expand(std::uint32_t pool, std::uint64_t size) {
  for (const auto& [address, unmapped] : pools_[pool].unmapped) {
    Id from = unmapped;
    const Id before = blocks_[from].before;
    if (before != kNone && !blocks_[before].used) from = before;
    std::uint64_t bytes = 0;
    for (Id b = from; b != kNone && !blocks_[b].used && bytes < size; b = blocks_[b].after, ++work_) bytes += blocks_[b].size;
    if (bytes >= size) return from;
  }
  Block b;
  b.address = rounded_up(next_address_, kLargeSegment);
  b.size = kAddresses / kLargeSegment * kLargeSegment;
  b.pool = pool;
  b.before = b.after = kNone;
  b.mapped = false;
  b.expandable = true;
  next_address_ = b.address + b.size;
  const Id id = add(b);
  insert(id);
  return id;
}

// The first bytes of an unmapped block, in whole pages. It becomes a free one, joined with its neighbours.
bool CachingAllocator::map(Id id, std::uint64_t size, bool forced) {
  const std::uint64_t page = pools_[blocks_[id].pool].key.small ? kSmallSegment : kLargeSegment;
  const std::uint64_t bytes = std::min(rounded_up(size, page), blocks_[id].size);
  if (!forced && reserved_ + bytes > limit_.bytes) return false;
  erase(id);
  if (bytes < blocks_[id].size) insert(split(id, bytes));
  blocks_[id].mapped = true;
  join_both(id);
  insert(id);
  reserve(bytes);
  return true;
}

std::optional<CachingAllocator::Id> CachingAllocator::expanded(std::uint32_t pool, std::uint64_t size, bool forced) {
  Id b = room_to_expand(pool, size);
  if (!blocks_[b].mapped && !map(b, std::min(blocks_[b].size, size), forced)) return {};
  while (blocks_[b].size < size) {
    const Id next = blocks_[b].after;
    if (next == kNone || blocks_[next].mapped) return {};
    if (!map(next, std::min(size - blocks_[b].size, blocks_[next].size), forced)) return {};
    b = next;  // which has taken in the one before it
    ++work_;
  }
  erase(b);
  return b;
}

// Whole pages of a free block go back.
void CachingAllocator::unmap(Id id) {
  const std::uint64_t page = pools_[blocks_[id].pool].key.small ? kSmallSegment : kLargeSegment;
  const std::uint64_t from = rounded_up(blocks_[id].address, page);
  const std::uint64_t to = (blocks_[id].address + blocks_[id].size) / page * page;
  if (to <= from) return;
  erase(id);
  if (from > blocks_[id].address) {
    const Id rest = split(id, from - blocks_[id].address);
    insert(id);
    id = rest;
  }
  if (to < blocks_[id].address + blocks_[id].size) insert(split(id, to - blocks_[id].address));
  const std::uint64_t bytes = blocks_[id].size;
  blocks_[id].mapped = false;
  join_both(id);
  insert(id);
  reserved_ -= bytes;
  ++device_frees_;
}

// A whole segment, which stands in its list.
void CachingAllocator::release(Id id) {
  erase(id);
  reserved_ -= blocks_[id].size;
  ++device_frees_;
  spare_.push_back(id);
}

bool CachingAllocator::release_oversize(std::uint32_t pool, std::uint64_t size) {
  if (!settings_.max_split) return false;
  Pool& p = pools_[pool];
  const std::uint64_t wanted = std::max(size, *settings_.max_split);
  const auto whole = [&](Id id) { return blocks_[id].before == kNone && blocks_[id].after == kNone && !blocks_[id].expandable; };
  if (const auto it = p.free.lower_bound({wanted, 0, 0}); it != p.free.end()) {
    if (!whole(std::get<2>(*it))) return false;
    release(std::get<2>(*it));
    return true;
  }
  std::uint64_t released = 0;
  while (released < wanted && !p.free.empty()) {
    const auto& [bytes, address, id] = *p.free.rbegin();
    if (bytes < *settings_.max_split || !whole(id)) break;
    released += bytes;
    release(id);
    ++work_;
  }
  return released >= wanted;
}

void CachingAllocator::release_cached() {
  for (Pool& p : pools_) {
    if (p.key.pool != 0) continue;  // a graph's own pool is kept for its replays
    std::vector<Id> all;
    for (const auto& [size, address, id] : p.free) all.push_back(id);
    work_ += all.size();
    for (const Id id : all) {
      if (blocks_[id].expandable) {
        unmap(id);
      } else if (blocks_[id].before == kNone && blocks_[id].after == kNone) {
        release(id);
      }
    }
  }
}

// Above its threshold, segments that lay free for longer than the average go back before more is taken.
void CachingAllocator::collect() {
  const auto threshold = static_cast<std::uint64_t>(settings_.collection_threshold * static_cast<double>(limit_.bytes));
  if (reserved_ <= threshold) return;
  const std::uint64_t wanted = reserved_ - threshold;
  std::uint64_t released = 0;
  for (bool any = true; any && released < wanted;) {
    std::vector<Id> whole;
    std::uint64_t age = 0;
    for (const Pool& p : pools_) {
      if (p.key.small || p.key.pool != 0) continue;
      for (const auto& [size, address, id] : p.free) {
        if (blocks_[id].before != kNone || blocks_[id].after != kNone || blocks_[id].expandable) continue;
        whole.push_back(id);
        age += p.searches - blocks_[id].freed_at;
      }
      work_ += p.free.size();
    }
    any = false;
    const std::size_t count = whole.size();
    for (const Id id : whole) {
      if ((pools_[blocks_[id].pool].searches - blocks_[id].freed_at) * count < age) continue;
      released += blocks_[id].size;
      release(id);
      any = true;
    }
  }
}

std::optional<CachingAllocator::Id> CachingAllocator::allocate(std::uint64_t requested, std::uint64_t stream, std::uint64_t pool,
                                                               bool forced) {
  const std::uint64_t size = rounded_request(requested, settings_);
  const std::uint32_t p = pool_of({stream, pool, size <= kSmallRequestMax});
  auto found = cached(p, size);
  if (!found && settings_.collection_threshold > 0 && limit_.bytes > 0) collect();
  if (!found) found = grown(p, size, false);
  if (!found && release_oversize(p, size)) found = grown(p, size, false);
  if (!found) {
    release_cached();
    found = grown(p, size, false);
  }
  if (!found && forced) found = grown(p, size, true);
  if (!found) return {};
  if (should_split(blocks_[*found], size)) insert(split(*found, size));
  blocks_[*found].used = true;
  allocated_ += blocks_[*found].size;
  return found;
}

void CachingAllocator::free(Id id) {
  if (id >= blocks_.size() || !blocks_[id].used) return;
  ++work_;
  blocks_[id].used = false;
  allocated_ -= blocks_[id].size;
  join_both(id);
  insert(id);
}

std::vector<CachingAllocator::Id> CachingAllocator::place(const PoolKey& whose, Placed segment, const std::vector<Placed>& used) {
  std::vector<Id> ids;
  Block b;
  b.address = segment.address;
  b.size = segment.size;
  b.pool = pool_of(whose);
  b.before = b.after = kNone;
  Id rest = add(b);
  reserve(segment.size);
  --device_allocs_;
  for (const Placed& u : used) {
    if (u.size == 0 || u.address < blocks_[rest].address || u.size > segment.size ||
        u.address - segment.address > segment.size - u.size) {
      ids.push_back(kNone);
      continue;
    }
    const std::uint64_t skip = u.address - blocks_[rest].address;
    if (skip > 0) {
      const Id next = split(rest, skip);
      insert(rest);
      rest = next;
    }
    const Id one = rest;
    const bool more = u.size < blocks_[one].size;
    if (more) rest = split(one, u.size);
    blocks_[one].used = true;
    allocated_ += blocks_[one].size;
    ids.push_back(one);
    if (!more) break;
  }
  if (!blocks_[rest].used) insert(rest);
  ids.resize(used.size(), kNone);
  return ids;
}

}  // namespace muster::diagnose
