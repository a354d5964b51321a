#include "model/fact_table.h"

#include <algorithm>

#include "base/check.h"

namespace muster {
namespace {

constexpr char kBetween = '\x1f';

std::string column_name(std::string_view entity, std::string_view key) {
  std::string out(entity);
  out += kBetween;
  out += key;
  return out;
}

// gpu2 before gpu10: the digits at the end count as a number.
bool natural_less(std::string_view a, std::string_view b) {
  const auto stem = [](std::string_view s) {
    while (!s.empty() && s.back() >= '0' && s.back() <= '9') s.remove_suffix(1);
    return s;
  };
  const std::string_view sa = stem(a), sb = stem(b);
  if (sa != sb) return sa < sb;
  const std::string_view na = a.substr(sa.size()), nb = b.substr(sb.size());
  return na.size() != nb.size() ? na.size() < nb.size() : na < nb;
}

}  // namespace

std::size_t FactTable::node(std::string_view name) {
  const auto [it, fresh] = node_at_.try_emplace(std::string(name), nodes_.size());
  if (fresh) nodes_.push_back({std::string(name), {}, {}});
  return it->second;
}

std::size_t FactTable::column(std::string_view entity, std::string_view key) {
  const auto [it, fresh] = column_at_.try_emplace(column_name(entity, key), columns_.size());
  if (fresh) {
    columns_.push_back({std::string(entity), std::string(key), {}, {}});
    code_at_.emplace_back();
    last_.push_back(kFactUnknown);
  }
  return it->second;
}

FactCode FactTable::intern(std::size_t column, std::string_view value) {
  FactColumn& c = columns_[column];
  FactCode& last = last_[column];
  if (last >= kFirstValue && c.values[last - kFirstValue] == value) return last;
  auto& codes = code_at_[column];
  if (const auto it = codes.find(value); it != codes.end()) return last = it->second;
  last = static_cast<FactCode>(kFirstValue + c.values.size());
  codes.emplace(value, last);
  c.values.emplace_back(value);
  return last;
}

void FactTable::set(std::size_t node, std::size_t column, FactCode code) {
  MUSTER_CHECK(node < nodes_.size());
  std::vector<FactCode>& cells = columns_[column].cells;
  if (cells.size() <= node) cells.resize(std::max(node + 1, cells.size() * 2), kFactUnknown);
  cells[node] = code;
}

void FactTable::put(std::size_t node, std::string_view entity, std::string_view key, std::string_view value) {
  const std::size_t c = column(entity, key);
  set(node, c, intern(c, value));
}

void FactTable::put(std::size_t node, std::size_t column, std::string_view value) {
  MUSTER_CHECK(column < columns_.size());
  set(node, column, intern(column, value));
}

void FactTable::put_absent(std::size_t node, std::size_t column) {
  MUSTER_CHECK(column < columns_.size());
  set(node, column, kFactAbsent);
}

void FactTable::put_absent(std::size_t node, std::string_view entity, std::string_view key) {
  set(node, column(entity, key), kFactAbsent);
}

void FactTable::put_unreadable(std::size_t node, std::string_view entity, std::string_view key) {
  set(node, column(entity, key), kFactUnreadable);
}

void FactTable::set_source(std::size_t node, std::string_view source, Time at) {
  FactNode& n = nodes_[node];
  if (n.source.empty()) {
    n.source = source;
  } else if (n.source != source) {
    n.source += ',';
    n.source += source;
  }
  n.at = std::max(n.at, at);
}

bool FactTable::begin_probe(std::size_t node, std::string_view source, Time at) {
  constexpr std::string_view kProbe = "probe";
  FactNode& n = nodes_[node];
  if (source != kProbe || at.ns == 0 || n.at.ns == 0 || at == n.at || !n.source.starts_with(kProbe)) return true;
  if (at < n.at) {
    if (passed_over_.empty() || passed_over_.back() != node) passed_over_.push_back(node);
    return false;
  }
  if (n.source != kProbe) return true;  // others told of it too, and what they said without a time stays
  for (FactColumn& c : columns_) {
    if (node < c.cells.size()) c.cells[node] = kFactUnknown;
  }
  return true;
}

std::ptrdiff_t FactTable::find_node(std::string_view name) const {
  const auto it = node_at_.find(name);
  return it == node_at_.end() ? -1 : static_cast<std::ptrdiff_t>(it->second);
}

std::ptrdiff_t FactTable::find_column(std::string_view entity, std::string_view key) const {
  const auto it = column_at_.find(column_name(entity, key));
  return it == column_at_.end() ? -1 : static_cast<std::ptrdiff_t>(it->second);
}

std::vector<std::size_t> FactTable::columns_of(std::string_view key) const {
  std::vector<std::size_t> out;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].key == key) out.push_back(c);
  }
  std::sort(out.begin(), out.end(),
            [&](std::size_t a, std::size_t b) { return natural_less(columns_[a].entity, columns_[b].entity); });
  return out;
}

const std::string* FactTable::value(std::size_t node, std::string_view entity, std::string_view key) const {
  const std::ptrdiff_t c = find_column(entity, key);
  return c < 0 ? nullptr : columns_[static_cast<std::size_t>(c)].value(node);
}

std::string fact_name(std::string_view entity, std::string_view key) {
  return entity.empty() ? std::string(key) : std::string(entity) + ":" + std::string(key);
}

}  // namespace muster
