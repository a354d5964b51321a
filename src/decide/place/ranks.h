// Ranks: groups by how much each could take, in bitmaps, so that the tightest one that suffices is found in a few steps.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

namespace muster::decide::place {

constexpr std::uint32_t kNoGroup = UINT32_MAX;

// One bitmap of groups for each value up to kTop; larger values share the last one, in which the exact values are compared.
// What it answers depends on the values alone, never on the order of changes: ties go to the lowest group.
class Ranks {
 public:
  // No value is ever above `highest`.
  void reset(std::vector<std::uint32_t> values, std::uint32_t highest);
  void set(std::uint32_t group, std::uint32_t value);

  std::uint32_t operator[](std::uint32_t group) const { return values_[group]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(values_.size()); }
  std::uint32_t max() const;  // 0 when there are no groups
  // The group of the least value that is at least `value`; kNoGroup when none is.
  std::uint32_t first_at_least(std::uint32_t value) const;

  // Calls visit(group, value) from the largest value down, ties by group, until it says false or only zeros are left.
  template <class Visit>
  void descend(Visit visit) const {
    for (std::uint32_t b = below(last_ + 1); b != kNoGroup && b > 0; b = below(b)) {
      if (b == kTop) {
        for (const auto& [value, group] : top()) {
          if (!visit(group, value)) return;
        }
        continue;
      }
      for (std::uint32_t w = 0; w < words_; ++w) {
        for (std::uint64_t left = bits_[std::size_t{b} * words_ + w]; left != 0; left &= left - 1) {
          if (!visit(w * 64 + static_cast<std::uint32_t>(std::countr_zero(left)), b)) return;
        }
      }
    }
  }

 private:
  struct Entry {
    std::uint32_t value, group;
  };
  static constexpr std::uint32_t kTop = 1023;

  std::uint32_t bucket(std::uint32_t value) const { return value < last_ ? value : last_; }
  std::uint32_t below(std::uint32_t bucket) const;  // next bucket in use under this one
  std::uint32_t first_in_top(std::uint32_t value) const;
  std::vector<Entry> top() const;  // what shares the last bitmap, largest first

  std::vector<std::uint32_t> values_;
  std::uint32_t last_ = 0;
  std::uint32_t words_ = 0;
  std::vector<std::uint64_t> bits_;    // [bucket][word]
  std::vector<std::uint32_t> counts_;  // groups in a bucket
  std::vector<std::uint64_t> in_use_;  // buckets with any
};

}  // namespace muster::decide::place
