#include "model/cabling.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster {
namespace {

bool fits(const CableTable& t) {
  const std::size_t n = t.nics.size();
  if (t.far_ends.size() != n || t.ports.size() != n || t.labels.size() != n) return false;
  for (std::size_t i = 0; i < n; ++i) {
    if (t.far_ends[i] >= t.switches.size() || (i > 0 && t.nics[i] <= t.nics[i - 1])) return false;
  }
  return true;
}

}  // namespace

std::optional<Cable> Cabling::at(NodeId node, std::int16_t slot) const {
  const CableTable& t = table();
  if (!node.some() || slot < 0 || slot >= static_cast<std::int16_t>(kNicsMax)) return std::nullopt;
  const std::uint64_t nic = std::uint64_t{node.v} * kNicsMax + static_cast<std::uint64_t>(slot);
  const auto it = std::lower_bound(t.nics.begin(), t.nics.end(), nic);
  if (it == t.nics.end() || *it != nic) return std::nullopt;
  const auto i = static_cast<std::size_t>(it - t.nics.begin());
  return Cable{t.far_ends[i], t.switches[t.far_ends[i]], t.ports[i], t.labels[i]};
}

void Cabling::set(CableTable table) {
  table_ = fits(table) && !table.nics.empty() ? std::make_shared<const CableTable>(std::move(table)) : nullptr;
}

std::string nic_name(std::int16_t slot) { return "mlx5_" + std::to_string(slot); }

std::string say_far_end(std::string_view switch_name, std::string_view port, std::string_view label) {
  if (switch_name.empty()) return {};
  return fmt::format(", cable{}{} to port {} of {}", label.empty() ? "" : " ", label, port, switch_name);
}

}  // namespace muster
