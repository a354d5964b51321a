// Sheet: the row of one node in a FactTable, as the probe fills it.
#pragma once
#include <string>
#include <string_view>

#include "adapters/facts/host.h"
#include "model/fact_table.h"

namespace muster::facts {

class Sheet {
 public:
  Sheet(FactTable& table, std::string_view node) : table_(table), node_(table.node(node)) {}

  void put(std::string_view key, std::string_view value, std::string_view part = {});
  void put(std::string_view key, const Reading& r, std::string_view part = {});
  void flag(std::string_view key, bool on, std::string_view part = {}) { put(key, on ? "on" : "off", part); }
  void absent(std::string_view key, std::string_view part = {}) { table_.put_absent(node_, part, key); }
  void unreadable(std::string_view key, std::string_view part = {}) { table_.put_unreadable(node_, part, key); }
  // Null: no value so far.
  const std::string* value(std::string_view key, std::string_view part = {}) const { return table_.value(node_, part, key); }
  std::size_t node() const { return node_; }

 private:
  FactTable& table_;
  std::size_t node_;
};

}  // namespace muster::facts
