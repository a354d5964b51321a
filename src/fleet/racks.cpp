#include "fleet/racks.h"

#include <algorithm>
#include <map>

namespace muster::fleet {
namespace {

constexpr std::size_t kLeastNodes = 4;  // of a rack that tells anything

std::string_view without_last_number(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name;
}

// 0 everywhere where most nodes are not in a rack of some size, or all are in one.
std::vector<std::uint32_t> numbered(const std::vector<std::string_view>& labels) {
  std::map<std::string_view, std::size_t> count;
  for (const std::string_view l : labels) {
    if (!l.empty()) ++count[l];
  }
  std::map<std::string_view, std::uint32_t> number;
  std::size_t covered = 0;
  for (const auto& [label, n] : count) {
    number.emplace(label, static_cast<std::uint32_t>(number.size() + 1));
    if (n >= kLeastNodes) covered += n;
  }
  std::vector<std::uint32_t> out(labels.size(), 0);
  if (count.size() < 2 || covered * 2 < labels.size()) return out;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!labels[i].empty()) out[i] = number[labels[i]];
  }
  return out;
}

}  // namespace

std::vector<std::uint32_t> racks_of(const FactTable& table) {
  for (const std::string_view key : {"node.rack", "rack"}) {
    const std::ptrdiff_t c = table.find_column("", key);
    if (c < 0) continue;
    std::vector<std::string_view> labels;
    for (std::size_t n = 0; n < table.nodes().size(); ++n) {
      const std::string* v = table.columns()[static_cast<std::size_t>(c)].value(n);
      labels.push_back(v == nullptr ? std::string_view() : *v);
    }
    std::vector<std::uint32_t> out = numbered(labels);
    if (std::any_of(out.begin(), out.end(), [](std::uint32_t r) { return r != 0; })) return out;
  }
  std::vector<std::string_view> labels;
  for (const FactNode& n : table.nodes()) labels.push_back(without_last_number(n.name));
  return numbered(labels);
}

}  // namespace muster::fleet
