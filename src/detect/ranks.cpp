#include "detect/ranks.h"

#include <fmt/core.h>

#include <bit>

namespace muster::detect {
namespace {
std::uint16_t slots_on(const State& s, const Job& j, std::size_t i) {
  return i < j.slots.size() && j.slots[i] != 0 ? j.slots[i] : all_slots(s.site);
}
}  // namespace

std::optional<RankPlace> place_of_rank(const State& s, const Job& j, int rank) {
  if (rank < 0) return std::nullopt;
  auto left = static_cast<std::size_t>(rank);
  for (std::size_t i = 0; i < j.nodes.size(); ++i) {
    const std::uint16_t slots = slots_on(s, j, i);
    const auto here = static_cast<std::size_t>(std::popcount(slots));
    if (left >= here) {
      left -= here;
      continue;
    }
    for (std::int16_t slot = 0; slot < 16; ++slot) {
      if ((slots >> slot & 1) != 0 && left-- == 0) return RankPlace{j.nodes[i], slot};
    }
  }
  return std::nullopt;
}

std::size_t ranks_of(const State& s, const Job& j) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < j.nodes.size(); ++i) n += static_cast<std::size_t>(std::popcount(slots_on(s, j, i)));
  return n;
}

std::string say_rank(const State& s, const Job* j, int rank) {
  const auto p = j == nullptr ? std::nullopt : place_of_rank(s, *j, rank);
  if (!p) return fmt::format("rank {}", rank);
  return fmt::format("rank {} ({}, GPU {})", rank, s.site.nodes[p->node.v].name, p->slot);
}

}  // namespace muster::detect
