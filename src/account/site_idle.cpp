#include "account/site_idle.h"

#include <algorithm>
#include <array>

namespace muster::account {

void DayCursor::add(SiteClass c, std::int64_t milli, std::int64_t from_ms, std::int64_t to_ms) {
  if (milli == 0) return;
  while (at_ < days_.size() && days_[at_].to.ms() <= from_ms) ++at_;
  for (std::size_t d = at_; d < days_.size() && from_ms < to_ms; ++d) {
    const std::int64_t end = std::min(days_[d].to.ms(), to_ms);
    days_[d].sum[c] += milli * (end - from_ms);
    from_ms = end;
  }
}

// By key, those with the same one in the order they came: a radix sort, since there are millions.
void IdleTime::sort() {
  constexpr int kBits = 11;
  std::uint64_t most = 0;
  for (const Change& c : changes_) most = std::max(most, c.key);
  std::vector<Change> other(changes_.size());
  for (int shift = 0; shift < 64 && most >> shift != 0; shift += kBits) {
    std::array<std::size_t, (1U << kBits) + 1> at{};
    const auto digit = [shift](const Change& c) { return (c.key >> shift) & ((1U << kBits) - 1); };
    for (const Change& c : changes_) ++at[digit(c) + 1];
    for (std::size_t i = 1; i < at.size(); ++i) at[i] += at[i - 1];
    for (const Change& c : changes_) other[at[digit(c)]++] = c;
    changes_.swap(other);
  }
}

void IdleTime::part(std::uint32_t types, SiteAccount& out) {
  sort();
  std::array<std::int64_t, kIdleTypesMax> idle{}, wanted{};
  std::int64_t any = 0;
  DayCursor days(out.days), days_too(out.days);
  std::int64_t since = from_;
  const auto spend = [&](std::int64_t until) {
    const std::int64_t length = until - since;
    std::int64_t left = any, free = 0, missed = 0;
    std::array<std::int64_t, kIdleTypesMax> some{};
    for (std::uint32_t t = 0; t < types; ++t) {
      some[t] = std::min(idle[t], wanted[t]);
      // Who would take any type takes what nobody else waits for.
      const std::int64_t more = std::min(idle[t] - some[t], left);
      left -= more;
      some[t] += more;
      missed += some[t];
      free += idle[t] - some[t];
      out.types[t].sum[SiteClass::idle_fragmented] += some[t] * length;
      out.types[t].sum[SiteClass::idle_no_demand] += (idle[t] - some[t]) * length;
    }
    out.sum[SiteClass::idle_fragmented] += missed * length;
    out.sum[SiteClass::idle_no_demand] += free * length;
    days.add(SiteClass::idle_fragmented, missed, since, until);
    days_too.add(SiteClass::idle_no_demand, free, since, until);
  };
  for (const Change& c : changes_) {
    const std::int64_t at = from_ + static_cast<std::int64_t>(c.key >> 8);
    if (at > since) spend(at);
    since = std::max(since, at);
    const auto type = static_cast<std::uint32_t>(c.key >> 1 & kAnyType);
    (type == kAnyType ? any : (c.key & 1) != 0 ? wanted[type] : idle[type]) += c.delta;
  }
  if (to_ > since) spend(to_);
  changes_ = {};
}

}  // namespace muster::account
