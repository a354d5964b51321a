// What an operator of PyTorch has to compute and to move, from its name and the shapes and types of its operands alone.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace muster::diagnose {

using Shape = std::vector<std::int64_t>;

// Bytes are the least that must move: each operand is read once and each result written once. A multiplication and an addition
// are two operations. Where the mask is said to be causal, only the half that is needed counts.
struct OperatorCost {
  enum class Kind : std::uint8_t { product, attention, convolution, stream, other };  // other: it moves nothing, as a view
  double flops = 0, bytes = 0;
  Kind kind = Kind::other;
  bool guessed = false;  // the type of an operand was not told: four bytes an element were assumed
};

struct Operand {
  std::span<const Shape> shapes;  // one; of a list of tensors, all; empty: no tensor, or not told
  std::string_view type;          // "c10::BFloat16", "Tensor(float)"; of a list, of its elements
  std::string_view value;         // "[2, 2]", "True", as in Kineto's "Concrete Inputs"; empty: not told
};

// None: the operator is not known, or its operands do not tell (a convolution forward without its stride, for one).
std::optional<OperatorCost> operator_cost(std::string_view op, std::span<const Operand> operands);
// The same where no operand is a list; `types` and `values` may be shorter than `inputs`.
std::optional<OperatorCost> operator_cost(std::string_view op, std::span<const Shape> inputs,
                                          std::span<const std::string_view> types, std::span<const std::string_view> values = {});

// Of "float", "c10::Half", "Tensor(long int)", "GenericList[Tensor(float),Tensor(float)]"; 0: no tensor, or not told.
double element_bytes(std::string_view type);

// aten::to, aten::contiguous: where there is nothing to do they do nothing, and where there is they call others for it.
bool may_do_nothing(std::string_view op);

}  // namespace muster::diagnose
