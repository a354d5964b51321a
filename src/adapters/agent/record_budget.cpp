#include "adapters/agent/record_budget.h"

#include <algorithm>

namespace muster::agent {

bool RecordBudget::take(std::string_view kind, Time mono) {
  auto it = kinds_.find(kind);
  if (it == kinds_.end()) {
    if (kinds_.size() >= kKinds) {  // forget those whose allowance is whole again
      std::erase_if(kinds_, [&](const auto& k) { return (mono - k.second.at).seconds() * kPerSecond >= kBurst; });
    }
    it = kinds_.try_emplace(kinds_.size() < kKinds ? std::string(kind) : std::string("others"), Allowance{kBurst, mono}).first;
  }
  Allowance& a = it->second;
  a.left = std::min(kBurst, a.left + std::max(0.0, (mono - a.at).seconds()) * kPerSecond);
  a.at = mono;
  if (a.left < 1) {
    ++held_back_;
    return false;
  }
  a.left -= 1;
  return true;
}

std::uint64_t RecordBudget::take_held_back() { return std::exchange(held_back_, 0); }

std::string kind_of_record(std::string_view text) {
  // "NVRM: Xid (PCI:0000:1b:00): 79, pid=..." : up to the comma after the code; other records have none that varies before it.
  return std::string(text.substr(0, std::min<std::size_t>({text.find(','), text.size(), 96})));
}

}  // namespace muster::agent
