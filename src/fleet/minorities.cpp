#include "fleet/minorities.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "base/math.h"
#include "fleet/same_value.h"
#include "fleet/version.h"

namespace muster::fleet {
namespace {

constexpr double kIdentityShare = 0.1;  // of those that know: more different values are names
constexpr double kUnknownShare = 0.05;  // fewer unknown cells than that change nothing that is measured

// By code: whether it is a value, absent among them.
std::vector<bool> known_codes(const FactColumn& column) {
  std::vector<bool> out(kFirstValue + column.values.size(), false);
  out[kFactAbsent] = true;
  for (std::size_t i = 0; i < column.values.size(); ++i) out[kFirstValue + i] = !no_answer(column.values[i]);
  return out;
}

struct Counted {
  std::vector<std::uint32_t> count;     // by kind * width + code
  std::vector<std::uint32_t> known_of;  // by kind
  std::size_t width = 0;
};

Counted count_of(const FactColumn& column, const std::vector<std::uint32_t>& measured, const std::vector<std::uint32_t>& kind,
                 std::size_t kinds) {
  const std::vector<bool> known = known_codes(column);
  Counted out;
  out.width = kFirstValue + column.values.size();
  out.count.assign(kinds * out.width, 0);
  out.known_of.assign(kinds, 0);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const FactCode c = column.code(measured[i]);
    if (!known[c]) continue;
    ++out.count[kind[i] * out.width + c];
    ++out.known_of[kind[i]];
  }
  return out;
}

bool name_by_meaning(const FactMeaning* meaning) {
  return meaning != nullptr && (meaning->kind == FactKind::identity || meaning->layer == FactLayer::identity);
}

bool identity(const FactColumn& column, const FactMeaning* meaning, const Counted& counted) {
  if (name_by_meaning(meaning)) return true;
  std::vector<std::uint32_t> all(counted.width, 0);
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < counted.count.size(); ++i) {
    all[i % counted.width] += counted.count[i];
    total += counted.count[i];
  }
  const auto distinct = std::count_if(all.begin(), all.end(), [](std::uint32_t n) { return n > 0; });
  const std::uint32_t top = all.empty() ? 0 : *std::max_element(all.begin(), all.end());
  return static_cast<double>(distinct) > std::max(2.0, kIdentityShare * total) && top * 2 < total && column.values.size() > 2;
}

// The sets of one column, by value.
void sets_of(const FactColumn& column, std::uint32_t place, const std::vector<std::uint32_t>& measured,
             const std::vector<std::uint32_t>& kind, const Counted& counted, std::size_t least, std::vector<Minority>& into) {
  const std::vector<bool> known = known_codes(column);
  std::vector<std::int32_t> set_of(counted.width, -1);
  std::vector<Minority> sets;
  std::vector<std::uint32_t> unknown;
  std::uint32_t total = 0;
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < counted.count.size(); ++i) distinct += counted.count[i] > 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const FactCode c = column.code(measured[i]);
    if (!known[c]) {
      unknown.push_back(static_cast<std::uint32_t>(i));
      continue;
    }
    ++total;
    // Only where it is a minority: where all of a kind have a value, nothing can be said of it.
    if (counted.count[kind[i] * counted.width + c] * 2 > counted.known_of[kind[i]]) continue;
    if (set_of[c] < 0) {
      set_of[c] = static_cast<std::int32_t>(sets.size());
      sets.push_back({{{place, c}}, {}, {}, 0});
    }
    sets[static_cast<std::size_t>(set_of[c])].nodes.push_back(static_cast<std::uint32_t>(i));
  }
  if (static_cast<double>(unknown.size()) < kUnknownShare * static_cast<double>(measured.size())) unknown.clear();
  for (Minority& m : sets) {
    if (m.nodes.size() < least) continue;
    m.unknown = unknown;
    m.surprise_bits = -det_log(static_cast<double>(m.nodes.size() + 1) / static_cast<double>(total + distinct)) / det_log(2.0);
    into.push_back(std::move(m));
  }
}

// That any part has a value: columns of one key together, by the texts of their values. Absent is no value: nodes have different
// numbers of parts.
void sets_of_some(const FactTable& table, const std::vector<std::size_t>& columns, const std::vector<std::uint32_t>& measured,
                  const std::vector<std::uint32_t>& kind, std::size_t kinds, std::size_t least, std::vector<Minority>& into) {
  std::map<std::string_view, std::uint32_t> number;
  std::vector<FactValue> first;
  std::vector<std::vector<std::uint32_t>> of;  // by column, then code: number of the text from 1, 0: absent
  for (const std::size_t c : columns) {
    const FactColumn& column = table.columns()[c];
    std::vector<std::uint32_t>& mine = of.emplace_back(kFirstValue + column.values.size(), 0);
    for (std::size_t v = 0; v < column.values.size(); ++v) {
      if (no_answer(column.values[v])) continue;
      const auto [it, fresh] = number.emplace(column.values[v], static_cast<std::uint32_t>(number.size() + 1));
      mine[kFirstValue + v] = it->second;
      if (fresh) first.push_back({static_cast<std::uint32_t>(c), static_cast<FactCode>(kFirstValue + v), true});
    }
  }
  if (first.size() < 2) return;
  std::vector<std::vector<std::uint32_t>> nodes(first.size());
  std::vector<bool> known(measured.size(), true);
  std::vector<std::uint32_t> knowing(kinds, 0), has;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    has.clear();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const FactCode code = table.columns()[columns[c]].code(measured[i]);
      if (const std::uint32_t n = of[c][code]; n != 0) {
        if (std::find(has.begin(), has.end(), n) == has.end()) has.push_back(n);
      } else if (code != kFactAbsent) {
        known[i] = false;
      }
    }
    knowing[kind[i]] += known[i] || !has.empty();
    for (const std::uint32_t n : has) nodes[n - 1].push_back(static_cast<std::uint32_t>(i));
  }
  for (std::size_t v = 0; v < first.size(); ++v) {
    std::vector<std::uint32_t> count(kinds, 0);
    for (const std::uint32_t i : nodes[v]) ++count[kind[i]];
    std::erase_if(nodes[v], [&](std::uint32_t i) { return count[kind[i]] * 2 > knowing[kind[i]]; });
    if (nodes[v].size() < least) continue;
    Minority m{{first[v]}, std::move(nodes[v]), {}, 0};
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < measured.size(); ++i) {
      while (next < m.nodes.size() && m.nodes[next] < i) ++next;
      if (!known[i] && (next == m.nodes.size() || m.nodes[next] != i)) m.unknown.push_back(i);
    }
    if (static_cast<double>(m.unknown.size()) < kUnknownShare * static_cast<double>(measured.size())) m.unknown.clear();
    const auto total = static_cast<double>(measured.size() + first.size());
    m.surprise_bits = -det_log(static_cast<double>(m.nodes.size() + 1) / total) / det_log(2.0);
    into.push_back(std::move(m));
  }
}

std::uint64_t hash_of(const Minority& m) {
  const auto bytes = [](const std::vector<std::uint32_t>& v) {
    return std::string_view(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(std::uint32_t));
  };
  return xxh64(bytes(m.unknown), xxh64(bytes(m.nodes)));
}

}  // namespace

std::vector<Minority> minorities_of(const FactTable& table, const FactBook& book, const std::vector<std::uint32_t>& measured,
                                    const std::vector<std::uint32_t>& kind, std::size_t least,
                                    std::vector<std::string>* left_out) {
  MUSTER_CHECK(measured.size() == kind.size());
  std::size_t kinds = 1;
  for (const std::uint32_t k : kind) kinds = std::max<std::size_t>(kinds, k + 1);
  std::vector<Minority> all;
  std::map<std::string_view, std::vector<std::size_t>> parts;  // columns by key
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const FactColumn& column = table.columns()[c];
    const Counted counted = count_of(column, measured, kind, kinds);
    const FactMeaning* meaning = book.find(column.key);
    if (identity(column, meaning, counted)) {
      if (left_out != nullptr && !name_by_meaning(meaning)) left_out->push_back(fact_name(column.entity, column.key));
      continue;
    }
    sets_of(column, static_cast<std::uint32_t>(c), measured, kind, counted, least, all);
    if (!column.entity.empty()) parts[column.key].push_back(c);
  }
  for (const auto& [key, columns] : parts) {
    if (columns.size() > 1) sets_of_some(table, columns, measured, kind, kinds, least, all);
  }
  std::map<std::uint64_t, std::vector<std::size_t>> seen;
  std::vector<Minority> out;
  for (Minority& m : all) {
    std::vector<std::size_t>& same = seen[hash_of(m)];
    const auto it = std::find_if(same.begin(), same.end(),
                                 [&](std::size_t i) { return out[i].nodes == m.nodes && out[i].unknown == m.unknown; });
    if (it != same.end()) {
      // That some part has it says nothing more where the very same nodes have it in one slot.
      const auto is = [&](FactValue f) {
        const FactColumn &x = table.columns()[f.column], &y = table.columns()[m.facts[0].column];
        return x.key == y.key && f.code >= kFirstValue && m.facts[0].code >= kFirstValue &&
               x.values[f.code - kFirstValue] == y.values[m.facts[0].code - kFirstValue];
      };
      if (m.facts[0].some && std::any_of(out[*it].facts.begin(), out[*it].facts.end(), is)) continue;
      out[*it].facts.push_back(m.facts[0]);
      continue;
    }
    same.push_back(out.size());
    out.push_back(std::move(m));
  }
  return out;
}

}  // namespace muster::fleet
