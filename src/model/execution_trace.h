// What PyTorch's execution trace observer wrote of one rank: which operator called which, with shapes and no times. Chakra's
// nodes say what each has to do and which it waits for, and may have times.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster {

struct TraceOperand {
  std::vector<std::vector<std::int64_t>> shapes;  // of a tensor, or of each of a list; empty: no tensor
  std::vector<std::uint64_t> storages;            // what they are kept in, 0: not told
  std::string type;                               // "Tensor(float)", untrusted
  std::string value;                              // of what is no tensor, as text: "[2, 2]", "true"
};

struct TraceExchange {
  std::string op, group, dtype;  // "allreduce", "0", "Float"; untrusted
  std::uint64_t in_elements = 0, out_elements = 0;
  std::uint32_t ranks = 0;  // of the group; 0: not told
  double bytes = 0;         // as told; 0: by elements and type
};

constexpr std::uint32_t kNoNode = UINT32_MAX;

// Of Chakra's nodes. `none`: PyTorch's, which have operands and call each other.
enum class NodeWork : std::uint8_t { none, metadata, memory, compute, exchange, other };

struct ExecutionNode {
  std::uint64_t id = 0;
  std::uint32_t parent = kNoNode;  // ExecutionTrace::nodes
  std::string name;                // untrusted
  std::vector<TraceOperand> inputs, outputs;
  std::optional<TraceExchange> exchange;
  bool on_gpu = false;  // an operand is, or the node is said to be
  NodeWork work = NodeWork::none;
  bool on_host = false;                       // said to run there (is_cpu_op)
  double operations = 0, bytes = 0;           // as told (num_ops, tensor_size); 0: not
  std::optional<double> duration_us;          // as told
  std::vector<std::uint32_t> waits_for = {};  // ExecutionTrace::nodes; may be behind it
};

struct ExecutionTrace {
  std::string schema;                // "1.1.0-chakra.0.0.4"
  std::vector<ExecutionNode> nodes;  // in the order in which they began; a parent before its children
  std::uint64_t damaged = 0;         // that could not be read
  bool cut = false;                  // the file ends in the middle
};

}  // namespace muster
