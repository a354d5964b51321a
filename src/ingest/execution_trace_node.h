// One node of an execution trace, whoever wrote it: PyTorch's observer, Chakra's converters, or protobuf's JSON of Chakra's
// nodes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "model/execution_trace.h"

namespace muster {

// Members by their names in the schema ("duration_micros"): as members, as protobuf writes them ("durationMicros"), or among the
// attributes, be these a list of {"name", "value"}, of {"name", "int64_val"}, or an object.
class NodeReader {
 public:
  explicit NodeReader(const Value& node);

  const Value* find(std::string_view name) const;
  std::string text(std::string_view name) const;  // numbers as text too; empty: not told
  std::optional<double> number(std::string_view name) const;
  std::optional<std::uint64_t> whole(std::string_view name) const;
  // All of a list, or the one number.
  std::vector<std::uint64_t> ids(std::string_view name) const;
  // `gpu` is set where an operand is on one.
  std::vector<TraceOperand> operands(const char* side, const char* shapes_key, const char* types_key, bool& gpu) const;

 private:
  const Value& node_;
  const Value* attributes_ = nullptr;
};

// Of Chakra's type of a node, by name or number; `none`: it has none, or not one of Chakra's.
NodeWork work_of(const NodeReader& r);
// What only Chakra's nodes tell. `n` has its work and its name.
void fill_chakra(const NodeReader& r, ExecutionNode& n);

}  // namespace muster
