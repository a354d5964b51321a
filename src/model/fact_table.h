// FactTable: what every node of a fleet is and runs, as far as somebody looked: kernels, drivers, firmware, settings. A column
// for each thing that can be known, its values stored once, so that 12,500 nodes with 200 facts each are compared in a part of a
// second.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "model/fields.h"

namespace muster {

// What a cell holds: one of these, or kFirstValue plus the place of its value in the column's list.
using FactCode = std::uint32_t;
constexpr FactCode kFactUnknown = 0;  // nobody looked
constexpr FactCode kFactAbsent = 1;   // somebody looked, and it is not there: a module that is not loaded, a file that is missing
constexpr FactCode kFactUnreadable = 2;  // it may be there; whoever looked was not allowed to see it, or it could not be read
constexpr FactCode kFirstValue = 3;

// One thing that can be known of each node.
struct FactColumn {
  std::string entity;               // part of the node: "gpu0", "mlx5_3", "eth0"; empty: the node itself
  std::string key;                  // "driver.loaded", "sysctl.vm.swappiness"; data/fleet/facts.csv lists those with a meaning
  std::vector<std::string> values;  // that nodes have, in the order in which they were first seen; untrusted
  std::vector<FactCode> cells;      // by node; may be shorter than there are nodes: the rest is unknown

  FactCode code(std::size_t node) const { return node < cells.size() ? cells[node] : kFactUnknown; }
  // Null: there is no value.
  const std::string* value(std::size_t node) const {
    const FactCode c = code(node);
    return c >= kFirstValue ? &values[c - kFirstValue] : nullptr;
  }
};

// Who was looked at, when and by what.
struct FactNode {
  std::string name;    // untrusted
  std::string source;  // "probe", "ansible", "nvidia-smi", a file; of several, with commas
  Time at;             // utc; 0: it does not say
};

class FactTable {
 public:
  // By name; added where it is new.
  std::size_t node(std::string_view name);
  // Later words about the same cell replace earlier ones; but unknown replaces nothing.
  void put(std::size_t node, std::string_view entity, std::string_view key, std::string_view value);
  void put_absent(std::size_t node, std::string_view entity, std::string_view key);
  void put_unreadable(std::size_t node, std::string_view entity, std::string_view key);
  void set_source(std::size_t node, std::string_view source, Time at);
  // What a whole probe said before of a node is gone where a newer one comes; an older one that comes later is passed over
  // (false), and the node remembered.
  bool begin_probe(std::size_t node, std::string_view source, Time at);
  const std::vector<std::size_t>& passed_over() const { return passed_over_; }
  // The same for whoever fills thousands of nodes: a column is looked up once, added where it is new, and named by its number.
  std::size_t column(std::string_view entity, std::string_view key);
  void put(std::size_t node, std::size_t column, std::string_view value);
  void put_absent(std::size_t node, std::size_t column);

  const std::vector<FactNode>& nodes() const { return nodes_; }
  const std::vector<FactColumn>& columns() const { return columns_; }
  // -1: not there.
  std::ptrdiff_t find_node(std::string_view name) const;
  std::ptrdiff_t find_column(std::string_view entity, std::string_view key) const;
  // All columns of a key, one for each entity that any node has, in natural order of the entity (gpu2 before gpu10).
  std::vector<std::size_t> columns_of(std::string_view key) const;
  // Null: no value there.
  const std::string* value(std::size_t node, std::string_view entity, std::string_view key) const;

 private:
  // Texts are found without making one.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  template <class T>
  using ByText = std::unordered_map<std::string, T, Hash, std::equal_to<>>;

  FactCode intern(std::size_t column, std::string_view value);
  void set(std::size_t node, std::size_t column, FactCode code);

  std::vector<FactNode> nodes_;
  std::vector<FactColumn> columns_;
  std::vector<std::size_t> passed_over_;  // nodes, ascending only by chance
  // Only looked up in, never walked through.
  ByText<std::size_t> node_at_;
  ByText<std::size_t> column_at_;          // "entity\x1fkey"
  std::vector<ByText<FactCode>> code_at_;  // by column
  std::vector<FactCode> last_;             // by column: the value put last, which the next node mostly has too
};

// "gpu0:vbios.version", or the key alone: how people read and write a column.
std::string fact_name(std::string_view entity, std::string_view key);

// ---- what is known of the facts themselves: data/fleet/facts.csv

// What a change of it would take, roughly: what a fingerprint is made over.
enum class FactLayer : std::uint8_t { hardware, firmware, kernel, driver, user_space, tuning, scheduler, identity, state };
constexpr std::array<std::string_view, 9> names(FactLayer) {
  return {"hardware", "firmware", "kernel", "driver", "user_space", "tuning", "scheduler", "identity", "state"};
}
enum class FactKind : std::uint8_t { text, version, number, flag, hash, identity };
constexpr std::array<std::string_view, 6> names(FactKind) { return {"text", "version", "number", "flag", "hash", "identity"}; }

struct FactMeaning {
  std::string key;
  std::string of;  // kind of entity: "", "gpu", "nic", "netif"
  FactLayer layer = FactLayer::tuning;
  FactKind kind = FactKind::text;
  std::string read;  // how the probe reads it, see adapters/facts; "given": it cannot, somebody must say it
  std::string about;
};

struct FactBook {
  std::vector<FactMeaning> rows;                       // in the order of the file
  std::map<std::string, std::size_t, std::less<>> at;  // by key
  // Null: a key of the site's own, which is compared as text and counts as tuning.
  const FactMeaning* find(std::string_view key) const {
    const auto it = at.find(key);
    return it == at.end() ? nullptr : &rows[it->second];
  }
};

}  // namespace muster
