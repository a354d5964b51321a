// Bitmaps per value.
#include "decide/place/ranks.h"

#include <algorithm>
#include <utility>

namespace muster::decide::place {

void Ranks::reset(std::vector<std::uint32_t> values, std::uint32_t highest) {
  values_ = std::move(values);
  last_ = std::min(highest, kTop);
  words_ = (size() + 63) / 64;
  bits_.assign(std::size_t{last_ + 1} * words_, 0);
  counts_.assign(last_ + 1, 0);
  in_use_.assign(last_ / 64 + 1, 0);
  for (std::uint32_t g = 0; g < size(); ++g) {
    const std::uint32_t b = bucket(values_[g]);
    bits_[std::size_t{b} * words_ + g / 64] |= std::uint64_t{1} << (g % 64);
    if (counts_[b]++ == 0) in_use_[b / 64] |= std::uint64_t{1} << (b % 64);
  }
}

void Ranks::set(std::uint32_t group, std::uint32_t value) {
  const std::uint32_t from = bucket(values_[group]), to = bucket(value);
  values_[group] = value;
  if (from == to) return;
  const std::uint64_t bit = std::uint64_t{1} << (group % 64);
  bits_[std::size_t{from} * words_ + group / 64] &= ~bit;
  bits_[std::size_t{to} * words_ + group / 64] |= bit;
  if (--counts_[from] == 0) in_use_[from / 64] &= ~(std::uint64_t{1} << (from % 64));
  if (counts_[to]++ == 0) in_use_[to / 64] |= std::uint64_t{1} << (to % 64);
}

std::uint32_t Ranks::below(std::uint32_t bucket) const {
  for (std::uint32_t w = (bucket + 63) / 64; w-- > 0;) {
    std::uint64_t left = in_use_[w];
    if (bucket < (w + 1) * 64) left &= (std::uint64_t{1} << (bucket % 64)) - 1;
    if (left != 0) return w * 64 + 63 - static_cast<std::uint32_t>(std::countl_zero(left));
  }
  return kNoGroup;
}

std::vector<Ranks::Entry> Ranks::top() const {
  std::vector<Entry> out;
  for (std::uint32_t g = 0; g < size(); ++g) {
    if (values_[g] >= last_) out.push_back({values_[g], g});
  }
  std::sort(out.begin(), out.end(),
            [](const Entry& a, const Entry& b) { return a.value != b.value ? a.value > b.value : a.group < b.group; });
  return out;
}

std::uint32_t Ranks::max() const {
  if (values_.empty()) return 0;
  const std::uint32_t b = below(last_ + 1);
  return b < kTop ? b : top().front().value;
}

std::uint32_t Ranks::first_at_least(std::uint32_t value) const {
  if (values_.empty() || (value > last_ && last_ < kTop)) return kNoGroup;
  const std::uint32_t start = bucket(value);
  for (std::uint32_t w = start / 64; w < in_use_.size(); ++w) {
    std::uint64_t used = in_use_[w];
    if (w == start / 64) used &= ~std::uint64_t{0} << (start % 64);
    if (used == 0) continue;
    const std::uint32_t b = w * 64 + static_cast<std::uint32_t>(std::countr_zero(used));
    if (b == kTop) return first_in_top(value);
    for (std::uint32_t i = 0;; ++i) {
      const std::uint64_t row = bits_[std::size_t{b} * words_ + i];
      if (row != 0) return i * 64 + static_cast<std::uint32_t>(std::countr_zero(row));
    }
  }
  return kNoGroup;
}

std::uint32_t Ranks::first_in_top(std::uint32_t value) const {
  std::uint32_t best = kNoGroup;
  for (std::uint32_t g = 0; g < size(); ++g) {
    if (values_[g] >= std::max(value, kTop) && (best == kNoGroup || values_[g] < values_[best])) best = g;
  }
  return best;
}

}  // namespace muster::decide::place
