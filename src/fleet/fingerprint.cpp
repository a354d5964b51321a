#include "fleet/fingerprint.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>

#include "base/hash.h"

namespace muster::fleet {
namespace {

FactLayer layer_of(const FactBook& book, std::string_view key) {
  const FactMeaning* m = book.find(key);
  return m == nullptr ? FactLayer::tuning : m->layer;
}

bool comparable(const FactBook& book, std::string_view key) {
  const FactMeaning* m = book.find(key);
  if (m == nullptr) return true;
  return m->layer != FactLayer::identity && m->layer != FactLayer::state && m->kind != FactKind::identity;
}

std::uint64_t joined(std::uint64_t a, std::uint64_t b) {
  std::array<char, 16> both;
  std::memcpy(both.data(), &a, 8);
  std::memcpy(both.data() + 8, &b, 8);
  return xxh64({both.data(), both.size()});
}

// Hash of what each cell of a column may hold; 0: no part of a print.
std::vector<std::uint64_t> hashes_of(const FactColumn& c) {
  const std::uint64_t name = xxh64(fact_name(c.entity, c.key));
  std::vector<std::uint64_t> out(kFirstValue + c.values.size(), 0);
  out[kFactAbsent] = joined(name, 1);
  for (std::size_t v = 0; v < c.values.size(); ++v) out[kFirstValue + v] = joined(name, xxh64(c.values[v]));
  return out;
}

LayerPrints prints_of(const FactTable& table, FactLayer layer, const std::vector<const FactColumn*>& columns) {
  std::vector<std::uint64_t> prints(table.nodes().size(), 0);
  for (const FactColumn* c : columns) {
    const auto hashes = hashes_of(*c);
    for (std::size_t n = 0; n < prints.size(); ++n) {
      if (const std::uint64_t h = hashes[c->code(n)]; h != 0) prints[n] = joined(prints[n], h);
    }
  }
  LayerPrints out{layer, columns.size(), {}};
  std::map<std::uint64_t, std::vector<std::uint32_t>> groups;
  for (std::size_t n = 0; n < prints.size(); ++n) groups[prints[n]].push_back(static_cast<std::uint32_t>(n));
  for (auto& [print, nodes] : groups) out.groups.push_back({print, std::move(nodes)});
  std::stable_sort(out.groups.begin(), out.groups.end(), [](const Alike& a, const Alike& b) {
    return a.nodes.size() != b.nodes.size() ? a.nodes.size() > b.nodes.size() : a.nodes.front() < b.nodes.front();
  });
  return out;
}

// What a cell says; nothing: unreadable or unknown. Absent is empty text.
std::optional<std::string> said(const FactTable& table, std::size_t node, std::string_view entity, std::string_view key) {
  const std::ptrdiff_t c = table.find_column(entity, key);
  if (c < 0) return std::nullopt;
  const FactColumn& column = table.columns()[static_cast<std::size_t>(c)];
  if (const std::string* v = column.value(node)) return *v;
  return column.code(node) == kFactAbsent ? std::optional<std::string>(std::string()) : std::nullopt;
}

// What a booted node will say of a fact, as far as an image shows it.
std::optional<std::string> after_boot(const FactTable& next, std::size_t node, const FactColumn& c, const std::string& now) {
  if (auto v = said(next, node, c.entity, c.key)) return v;
  if (c.key == "kernel.release") return said(next, node, "", "kernel.installed");
  for (const char* module : {"driver.loaded", "driver.uvm", "driver.modeset", "driver.drm", "driver.peermem"}) {
    // A module that is not loaded now is not loaded by an image alone either.
    if (c.key == module) return now.empty() ? std::nullopt : said(next, node, "", "driver.on_disk");
  }
  return std::nullopt;
}

}  // namespace

std::vector<LayerPrints> fingerprints_of(const FactTable& table, const FactBook& book) {
  std::map<FactLayer, std::vector<const FactColumn*>> layers;
  for (const FactColumn& c : table.columns()) {
    if (comparable(book, c.key)) layers[layer_of(book, c.key)].push_back(&c);
  }
  std::vector<LayerPrints> out;
  for (auto& [layer, columns] : layers) {
    std::sort(columns.begin(), columns.end(), [](const FactColumn* a, const FactColumn* b) {
      return a->key != b->key ? a->key < b->key : a->entity < b->entity;
    });
    out.push_back(prints_of(table, layer, columns));
  }
  return out;
}

BootChanges boot_changes(const FactTable& now, std::size_t node, const FactTable& next, std::size_t next_node,
                         const FactBook& book) {
  BootChanges out;
  for (const FactColumn& c : now.columns()) {
    const FactLayer layer = layer_of(book, c.key);
    // A boot changes no hardware.
    if (!comparable(book, c.key) || layer == FactLayer::hardware) continue;
    const auto is = said(now, node, c.entity, c.key);
    if (!is) continue;
    const auto then = after_boot(next, next_node, c, *is);
    if (!then) {
      ++out.unknown;
    } else if (*then == *is) {
      ++out.same;
    } else {
      out.changes.push_back({fact_name(c.entity, c.key), layer, *is, *then});
    }
  }
  std::sort(out.changes.begin(), out.changes.end(),
            [](const BootChange& a, const BootChange& b) { return a.layer != b.layer ? a.layer < b.layer : a.fact < b.fact; });
  return out;
}

}  // namespace muster::fleet
