// Which nodes are of one kind.
#include "fleet/cohorts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace muster::fleet {
namespace {

// What makes a kind. Of a single node of which one part is odd, the kind is that of the others: see apart().
constexpr std::array<std::string_view, 6> kOfNode = {"node.role", "node.product", "node.virt",
                                                     "cpu.model", "gpu.count",    "nic.count"};
constexpr std::size_t kRole = 0, kProduct = 1, kVirt = 2;
constexpr std::size_t kAlikeLeast = 3;  // parts that a node of another product has in common with a kind, to be an odd one of it
constexpr std::array<std::string_view, 2> kOfParts = {"gpu.model", "nic.board_id"};
constexpr std::size_t kItems = kOfNode.size() + kOfParts.size();
// So few nodes may be odd ones of another kind: less than four, or than a hundredth of the largest kind. Of 2,048 nodes a dozen
// with seven GPUs have lost one.
constexpr std::size_t kFew = 4, kFewPerLargest = 100;

using Signature = std::array<std::string, kItems>;  // empty: not known

// "8 x NVIDIA H100 80GB HBM3", in order of the words.
std::string parts_text(const FactTable& table, const std::vector<std::size_t>& columns, std::size_t node) {
  std::map<std::string_view, int> count;
  for (const std::size_t c : columns) {
    if (const std::string* v = table.columns()[c].value(node)) ++count[*v];
  }
  std::string out;
  for (const auto& [what, n] : count) out += fmt::format("{}{} x {}", out.empty() ? "" : " + ", n, what);
  return out;
}

std::vector<Signature> signatures(const FactTable& table) {
  std::vector<Signature> out(table.nodes().size());
  for (std::size_t k = 0; k < kOfNode.size(); ++k) {
    const std::ptrdiff_t c = table.find_column("", kOfNode[k]);
    for (std::size_t n = 0; c >= 0 && n < out.size(); ++n) {
      const FactColumn& column = table.columns()[static_cast<std::size_t>(c)];
      if (const std::string* v = column.value(n)) out[n][k] = *v;
    }
  }
  for (std::size_t k = 0; k < kOfParts.size(); ++k) {
    const std::vector<std::size_t> columns = table.columns_of(kOfParts[k]);
    for (std::size_t n = 0; n < out.size(); ++n) out[n][kOfNode.size() + k] = parts_text(table, columns, n);
  }
  return out;
}

// How many of what is known of both differ; none: they are of different kinds in any case.
std::optional<std::size_t> apart(const Signature& a, const Signature& b) {
  std::size_t differ = 0, same = 0;
  bool other_machine = false;
  for (std::size_t k = 0; k < kItems; ++k) {
    if (a[k].empty() || b[k].empty()) continue;
    if (a[k] == b[k]) {
      ++same;
      continue;
    }
    if (k == kRole) return std::nullopt;  // somebody said so
    other_machine = other_machine || k == kProduct || k == kVirt;
    // A count and the list of what is counted are one thing.
    const bool counted = (k == 4 && !a[6].empty() && !b[6].empty()) || (k == 5 && !a[7].empty() && !b[7].empty());
    if (!counted) ++differ;
  }
  if (other_machine && same < kAlikeLeast) return std::nullopt;
  // Nor is one that nothing is known of a node of the only kind there is.
  return same == 0 ? std::nullopt : std::optional(differ);
}

std::string name_of(const Signature& s) {
  std::string out;
  const auto add = [&](std::string_view what) {
    if (!what.empty()) out += fmt::format("{}{}", out.empty() ? "" : ", ", what);
  };
  add(s[0] == "compute" ? "" : s[0]);
  add(s[1]);
  if (s[2] != "none") add(s[2]);
  if (s[1].empty()) add(s[3]);
  add(!s[6].empty() ? s[6] : s[4].empty() || s[4] == "0" ? "" : s[4] + " GPUs");
  add(!s[7].empty() ? s[7] : s[5].empty() || s[5] == "0" ? "" : s[5] + " NICs");
  return out.empty() ? "kind not known" : out;
}

Cohort cohort_of(const Signature& s) {
  Cohort out;
  out.name = name_of(s);
  for (std::size_t k = 0; k < kItems; ++k) {
    if (s[k].empty()) continue;
    out.signature.emplace_back(k < kOfNode.size() ? kOfNode[k] : kOfParts[k - kOfNode.size()], s[k]);
  }
  return out;
}

}  // namespace

std::vector<Cohort> cohorts_of(const FactTable& table, const FactBook&) {
  const std::vector<Signature> all = signatures(table);
  std::map<Signature, std::vector<std::uint32_t>> groups;
  for (std::size_t n = 0; n < all.size(); ++n) groups[all[n]].push_back(static_cast<std::uint32_t>(n));
  using Group = std::map<Signature, std::vector<std::uint32_t>>::iterator;
  std::vector<Group> large, few;
  std::size_t largest = 0;
  for (const auto& [signature, nodes] : groups) largest = std::max(largest, nodes.size());
  const std::size_t many = std::max(kFew, largest / kFewPerLargest);
  for (auto it = groups.begin(); it != groups.end(); ++it) (it->second.size() >= many ? large : few).push_back(it);
  std::stable_sort(large.begin(), large.end(), [](Group a, Group b) { return a->second.size() > b->second.size(); });
  for (const Group g : few) {
    Group best = groups.end();
    std::size_t least = 2;
    for (const Group l : large) {
      const auto d = apart(g->first, l->first);
      if (d && *d < least) {
        least = *d;
        best = l;
      }
    }
    if (best == groups.end()) continue;
    best->second.insert(best->second.end(), g->second.begin(), g->second.end());
    g->second.clear();
  }
  std::vector<Cohort> out;
  for (auto& [signature, nodes] : groups) {
    if (nodes.empty()) continue;
    Cohort c = cohort_of(signature);
    std::sort(nodes.begin(), nodes.end());
    c.nodes = std::move(nodes);
    out.push_back(std::move(c));
  }
  std::stable_sort(out.begin(), out.end(), [](const Cohort& a, const Cohort& b) { return a.nodes.size() > b.nodes.size(); });
  return out;
}

std::vector<std::uint32_t> hardly_known(const FactTable& table, std::span<const Cohort> kinds) {
  std::vector<std::uint32_t> known(table.nodes().size(), 0);
  for (const FactColumn& c : table.columns()) {
    for (std::size_t n = 0; n < std::min(known.size(), c.cells.size()); ++n)
      known[n] += c.cells[n] == kFactAbsent || c.cells[n] >= kFirstValue;
  }
  std::vector<std::uint32_t> out;
  for (const Cohort& k : kinds) {
    std::vector<std::uint32_t> counts;
    for (const std::uint32_t n : k.nodes) counts.push_back(known[n]);
    const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
    std::nth_element(counts.begin(), middle, counts.end());
    for (const std::uint32_t n : k.nodes) {
      if (known[n] == 0 || known[n] * 2 < *middle) out.push_back(n);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace muster::fleet
