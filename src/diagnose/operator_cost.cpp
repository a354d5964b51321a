#include "diagnose/operator_cost.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/text.h"

namespace muster::diagnose {
namespace {

using Kind = OperatorCost::Kind;
using Cost = std::optional<OperatorCost>;
constexpr double kMost = 1e24;  // beyond what any machine does in a year: the shapes are wrong

// Operators that read their first `tensors` operands and write one result of the shape that these give together.
enum class Form : std::uint8_t {
  pointwise,
  comparison,  // writes booleans
  reduction,   // writes next to nothing
  fill,        // writes its first operand
  copy,        // writes its first operand, reads its second
  all,         // each operand is read or written once
  view,        // moves nothing
};

struct Rule {
  Form form = Form::pointwise;
  std::uint8_t tensors = 1;
  double flops = 1;  // for each element
};

using Rules = std::map<std::string_view, Rule>;

// `names` are apart by spaces, and stay.
void add(Rules& to, Rule rule, std::string_view names) {
  for (const std::string_view n : split(names, ' ')) to.emplace(n, rule);
}

Rules make_rules() {
  Rules r;
  add(r, {Form::view, 0, 0},
      "view _unsafe_view reshape _reshape_alias t transpose permute expand as_strided detach alias slice "
      "select narrow squeeze unsqueeze flatten unflatten unbind split split_with_sizes chunk unfold empty "
      "empty_like empty_strided new_empty new_empty_strided resize result_type lift_fresh resolve_conj "
      "resolve_neg view_as expand_as diagonal movedim set record_stream is_nonzero real imag view_as_real "
      "view_as_complex numpy_T mT adjoint swapaxes");
  add(r, {Form::pointwise, 1, 1},
      "relu neg abs sqrt rsqrt exp exp2 log log2 log1p expm1 sin cos tan reciprocal square sign floor ceil "
      "round trunc clamp clip hardtanh leaky_relu threshold nan_to_num erf tril triu flip roll cumsum "
      "cumprod constant_pad_nd bitwise_not hardswish hardsigmoid relu6 dequantize "
      "conj_physical frac erfinv sinh cosh atan");
  add(r, {Form::pointwise, 1, 4}, "sigmoid tanh gelu silu elu selu mish softplus log_sigmoid logit");
  add(r, {Form::pointwise, 1, 5}, "softmax _softmax log_softmax _log_softmax");
  add(r, {Form::pointwise, 1, 8},
      "layer_norm native_layer_norm rms_norm _fused_rms_norm group_norm native_group_norm batch_norm "
      "_batch_norm_impl_index native_batch_norm cudnn_batch_norm miopen_batch_norm instance_norm "
      "_native_batch_norm_legit _batch_norm_with_update batch_norm_elemt");
  add(r, {Form::pointwise, 2, 1},
      "add sub rsub mul div divide multiply subtract true_divide floor_divide remainder fmod maximum "
      "minimum fmax fmin clamp_min clamp_max pow atan2 bitwise_and bitwise_or bitwise_xor __and__ __or__ "
      "__xor__ lerp prelu masked_fill _prelu_kernel hypot xlogy __lshift__ __rshift__ bitwise_left_shift "
      "bitwise_right_shift threshold_backward native_dropout_backward hardtanh_backward "
      "leaky_relu_backward logaddexp masked_scale _masked_scale");
  add(r, {Form::pointwise, 2, 8},
      "sigmoid_backward tanh_backward gelu_backward silu_backward elu_backward softplus_backward "
      "mish_backward hardswish_backward _softmax_backward_data _log_softmax_backward_data "
      "log_sigmoid_backward");
  add(r, {Form::pointwise, 2, 12},
      "native_layer_norm_backward _fused_rms_norm_backward native_group_norm_backward "
      "cudnn_batch_norm_backward miopen_batch_norm_backward native_batch_norm_backward batch_norm_backward");
  add(r, {Form::pointwise, 3, 2}, "addcmul addcdiv where _s_where");
  add(r, {Form::comparison, 2, 1}, "eq ne lt le gt ge logical_and logical_or logical_xor isclose greater less not_equal");
  add(r, {Form::comparison, 1, 1}, "isnan isinf isfinite logical_not signbit");
  add(r, {Form::reduction, 1, 1},
      "sum mean amax amin max min argmax argmin prod any all aminmax count_nonzero nansum "
      "_local_scalar_dense item batch_norm_stats nonzero");
  add(r, {Form::reduction, 1, 3},
      "var std norm linalg_vector_norm logsumexp var_mean std_mean adaptive_avg_pool2d "
      "_adaptive_avg_pool2d adaptive_avg_pool1d adaptive_avg_pool3d");
  add(r, {Form::reduction, 2, 3},
      "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy dist kl_div "
      "binary_cross_entropy_with_logits cross_entropy_loss equal allclose");
  add(r, {Form::fill, 1, 0},
      "zero fill ones_like zeros_like full_like uniform normal random bernoulli exponential rand_like "
      "randn_like randint_like");
  add(r, {Form::copy, 2, 0}, "copy");
  add(r, {Form::pointwise, 1, 0},
      "clone contiguous to _to_copy type_as float half bfloat16 pin_memory _pin_memory "
      "repeat_interleave");
  add(r, {Form::all, 0, 1},
      "silu_and_mul gelu_and_mul gelu_tanh_and_mul rmsnorm rmsnorm2d_fwd add_rmsnorm fused_add_rms_norm "
      "fused_add_rmsnorm gemma_rmsnorm");
  return r;
}

const Rules& rules() {
  static const Rules all = make_rules();
  return all;
}

// "aten::add_.Tensor" as "add".
std::string_view plain_name(std::string_view op) {
  if (const auto at = op.rfind("::"); at != std::string_view::npos) op.remove_prefix(at + 2);
  if (const auto at = op.find('.'); at != std::string_view::npos) op = op.substr(0, at);
  if (op.size() > 1 && op.ends_with('_') && !op.ends_with("__")) op.remove_suffix(1);
  return op;
}

std::vector<double> numbers_of(std::string_view list) {
  std::vector<double> out;
  list = trim(list);
  if (list.starts_with('[') && list.ends_with(']')) list = list.substr(1, list.size() - 2);
  for (const std::string_view word : split(list, ',')) {
    if (const auto n = parse_double(trim(word))) out.push_back(*n);
    if (out.size() > 16) break;
  }
  return out;
}

// The sizes of PyTorch's types by their numbers (c10/core/ScalarType.h), as casts name them.
double bytes_of_code(std::string_view code) {
  constexpr std::array<double, 28> kBytes = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2};
  const auto n = parse_uint(trim(code));
  return n && *n < kBytes.size() ? kBytes[*n] : 0;
}

// The operands of one call, with what is common to all rules.
class Call {
 public:
  explicit Call(std::span<const Operand> operands) : operands_(operands) {}

  std::size_t size() const { return operands_.size(); }
  bool tensor(std::size_t i) const {
    if (i >= operands_.size() || operands_[i].shapes.empty()) return false;
    return !operands_[i].shapes.front().empty() || operands_[i].shapes.size() > 1 || element_bytes(operands_[i].type) > 0;
  }
  bool one(std::size_t i) const { return tensor(i) && operands_[i].shapes.size() == 1; }
  const Shape& shape(std::size_t i) const { return operands_[i].shapes.front(); }
  std::span<const Shape> shapes(std::size_t i) const { return operands_[i].shapes; }
  double dim(std::size_t i, std::size_t d) const { return static_cast<double>(shape(i)[d]); }
  std::size_t rank(std::size_t i) const { return one(i) ? shape(i).size() : 0; }
  std::string_view value(std::size_t i) const { return i < operands_.size() ? operands_[i].value : std::string_view(); }

  static double count(const Shape& s, std::size_t from = 0) {
    double n = 1;
    for (std::size_t d = from; d < s.size(); ++d) n *= static_cast<double>(s[d]);
    return n;
  }
  double count(std::size_t i) const {
    double n = 0;
    for (const Shape& s : operands_[i].shapes) n += count(s);
    return n;
  }
  double width(std::size_t i) const {
    const double told = element_bytes(operands_[i].type);
    if (told == 0) guessed_ = true;
    return told == 0 ? 4 : told;
  }
  double bytes(std::size_t i) const { return tensor(i) ? count(i) * width(i) : 0; }

  // Negative sizes, and more of them than a tensor has, are damage.
  bool sound() const {
    return std::all_of(operands_.begin(), operands_.end(), [](const Operand& o) {
      return std::all_of(o.shapes.begin(), o.shapes.end(), [](const Shape& s) {
        return s.size() <= 64 && std::all_of(s.begin(), s.end(), [](std::int64_t n) { return n >= 0; });
      });
    });
  }

  Cost cost(double flops, double bytes, Kind kind) const {
    if (!(flops >= 0 && flops < kMost && bytes >= 0 && bytes < kMost)) return {};
    return OperatorCost{flops, bytes, kind, guessed_};
  }

 private:
  std::span<const Operand> operands_;
  mutable bool guessed_ = false;
};

// What the first `tensors` operands give together, axis by axis from the last; none: they do not fit.
std::optional<double> broadcast_count(const Call& c, std::size_t tensors) {
  Shape out;
  for (std::size_t i = 0; i < c.size() && i < tensors; ++i) {
    if (!c.one(i)) continue;
    const Shape& s = c.shape(i);
    const std::size_t rank = s.size();
    if (rank > out.size()) out.insert(out.begin(), rank - out.size(), 1);
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t& o = out[out.size() - rank + d];
      const std::int64_t n = s[d];
      if (o == 1) o = n;
      if (n != 1 && n != o) return {};
    }
  }
  return Call::count(out);
}

Cost pointwise(const Call& c, const Rule& r, std::string_view name) {
  if (!c.tensor(0) && !c.tensor(1)) return {};
  // Lists (of the _foreach_ kind) go pair by pair.
  const bool lists = c.tensor(0) && !c.one(0);
  const auto broadcast = lists ? std::optional(c.count(0)) : broadcast_count(c, r.tensors);
  if (!broadcast) return {};
  double bytes = 0, widest = 0, widest_number = 0;
  for (std::size_t i = 0; i < c.size() && i < r.tensors; ++i) {
    if (!c.tensor(i)) continue;
    bytes += c.bytes(i);
    // A number in a tensor of no axis does not widen the result.
    (c.rank(i) > 0 || lists ? widest : widest_number) = std::max(c.rank(i) > 0 || lists ? widest : widest_number, c.width(i));
  }
  double out = widest > 0 ? widest : widest_number;
  if (r.form == Form::comparison) out = 1;
  if (name == "where" && c.tensor(1)) out = c.width(1);
  if (name == "masked_fill" && c.tensor(0)) out = c.width(0);
  if ((name == "_to_copy" || name == "to") && bytes_of_code(c.value(1)) > 0) out = bytes_of_code(c.value(1));
  return c.cost(*broadcast * r.flops, bytes + *broadcast * out, Kind::stream);
}

Cost by_rule(const Call& c, const Rule& r, std::string_view name) {
  if (r.form == Form::view) return c.cost(0, 0, Kind::other);
  if (r.form == Form::pointwise || r.form == Form::comparison) return pointwise(c, r, name);
  double bytes = 0;
  if (r.form == Form::all) {
    for (std::size_t i = 0; i < c.size(); ++i) bytes += c.bytes(i);
    return bytes > 0 ? c.cost(0, bytes, Kind::stream) : Cost{};
  }
  if (!c.tensor(0) || (r.form == Form::copy && !c.tensor(1))) return {};
  for (std::size_t i = 0; i < c.size() && i < r.tensors; ++i) bytes += c.bytes(i);
  return c.cost(c.count(0) * r.flops, bytes, Kind::stream);
}

// Products. `a` is m by k and `b` is k by n (n by k where `turned`), each for as many as the axes before say.
Cost product(const Call& c, std::size_t a, std::size_t b, bool turned = false, double out_bytes = 0) {
  if (c.rank(a) == 0 || c.rank(b) == 0) return {};
  const Shape &x = c.shape(a), &y = c.shape(b);
  const bool row = x.size() == 1, column = y.size() == 1;
  const double k = c.dim(a, x.size() - 1);
  const double m = row ? 1 : c.dim(a, x.size() - 2);
  const double n = column ? 1 : c.dim(b, turned ? y.size() - 2 : y.size() - 1);
  const double inner = column ? c.dim(b, 0) : c.dim(b, turned ? y.size() - 1 : y.size() - 2);
  if (k != inner) return {};
  Shape many;
  const auto take = [&many](const Shape& s) {
    const std::size_t rank = s.size() > 2 ? s.size() - 2 : 0;
    if (rank > many.size()) many.insert(many.begin(), rank - many.size(), 1);
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t& o = many[many.size() - rank + d];
      if (o == 1) o = s[d];
      if (s[d] != 1 && s[d] != o) return false;
    }
    return true;
  };
  if (!take(x) || !take(y)) return {};
  const double batch = Call::count(many), out = batch * m * n;
  return c.cost(2 * out * k, c.bytes(a) + c.bytes(b) + out * (out_bytes > 0 ? out_bytes : c.width(a)), Kind::product);
}

// Of groups with a common axis: rows of one matrix, a matrix for each group (2 axes by 3), and what training needs of that.
Cost grouped_product(const Call& c) {
  if (c.rank(0) == 3 && c.rank(1) == 3) return product(c, 0, 1, false, 2);
  if (c.rank(0) == 2 && c.rank(1) == 3 && c.shape(0)[1] == c.shape(1)[1]) {
    const double out = c.dim(0, 0) * c.dim(1, 2);
    return c.cost(2 * out * c.dim(0, 1), c.bytes(0) + c.bytes(1) + out * 2, Kind::product);
  }
  if (c.rank(0) == 3 && c.rank(1) == 2 && c.shape(0)[2] == c.shape(1)[0]) {
    const double out = c.dim(0, 1) * c.dim(1, 1);
    return c.cost(2 * out * c.dim(0, 2), c.bytes(0) + c.bytes(1) + out * 2, Kind::product);
  }
  return c.rank(0) == 2 && c.rank(1) == 2 ? product(c, 0, 1, false, 2) : Cost{};
}

Cost products(const Call& c, std::string_view name) {
  if (name == "mm" || name == "bmm" || name == "matmul" || name == "mv" || name == "dot" || name == "vdot")
    return product(c, 0, 1);
  if (name == "_int_mm") return product(c, 0, 1, false, 4);
  if (name == "addmm" || name == "baddbmm" || name == "addmv" || name == "_addmm_activation") {
    auto out = product(c, 1, 2);
    if (out) out->bytes += c.bytes(0);
    return out;
  }
  if (name == "linear" || name == "gemm_a16w16") {
    // All axes of the input but the last are one.
    if (c.rank(0) == 0 || c.rank(1) == 0 || c.rank(1) > 2 || c.shape(0).back() != c.shape(1).back()) return {};
    const double k = static_cast<double>(c.shape(0).back()), n = c.rank(1) == 2 ? c.dim(1, 0) : 1;
    const double rows = k > 0 ? c.count(0) / k : 0;
    return c.cost(2 * rows * k * n, c.bytes(0) + c.bytes(1) + c.bytes(2) + rows * n * c.width(0), Kind::product);
  }
  if (name == "_scaled_mm") {
    double out = 0;
    for (std::size_t i = 5; i < 8 && out == 0; ++i) out = bytes_of_code(c.value(i));
    return product(c, 0, 1, false, out > 0 ? out : 2);
  }
  if (name == "_grouped_mm" || name == "_scaled_grouped_mm") return grouped_product(c);
  return {};
}

struct Attention {
  std::string_view name;
  std::uint8_t query = 0;   // key and value follow
  bool heads_first = true;  // [batch, heads, length, size], else [batch, length, heads, size]
  bool backward = false;
  std::int8_t causal = -1;   // the operand that says so
  std::int8_t lengths = -1;  // the operand that packs sequences of lengths that shapes do not tell
};

constexpr std::array kAttention = {
    Attention{"scaled_dot_product_attention", 0, true, false, 5},
    Attention{"_scaled_dot_product_attention_math", 0, true, false, 5},
    Attention{"_scaled_dot_product_flash_attention", 0, true, false, 4},
    Attention{"_scaled_dot_product_efficient_attention", 0, true, false, 6},
    Attention{"_scaled_dot_product_cudnn_attention", 0, true, false, 6},
    Attention{"_scaled_dot_product_flash_attention_backward", 1, true, true, 11, 6},
    Attention{"_scaled_dot_product_efficient_attention_backward", 1, true, true, 11},
    Attention{"_scaled_dot_product_cudnn_attention_backward", 1, true, true, 14, 9},
    Attention{"_flash_attention_forward", 0, false, false, 8, 3},
    Attention{"_efficient_attention_forward", 0, false, false, 9, 4},
    Attention{"_cudnn_attention_forward", 0, true, false, 9, 4},
    Attention{"_flash_attention_backward", 1, false, true, 11, 6},
    Attention{"_efficient_attention_backward", 1, false, true, 14, 6},
    Attention{"_flash_attn_forward", 0, false, false, 5},
    Attention{"_flash_attn_backward", 1, false, true, 11},
};

bool says_yes(std::string_view value) {
  value = trim(value);
  return value == "True" || value == "true" || value == "1" || value == "2";
}

Cost attention(const Call& c, const Attention& a) {
  const std::size_t q = a.query, k = q + 1U, v = q + 2U;
  if (c.rank(q) != 4 || c.rank(k) != 4 || c.rank(v) != 4) return {};
  if (a.lengths >= 0 && c.rank(static_cast<std::size_t>(a.lengths)) > 0) return {};
  const std::size_t length = a.heads_first ? 2 : 1, heads = a.heads_first ? 1 : 2;
  if (c.shape(q)[0] != c.shape(k)[0] || c.shape(q)[3] != c.shape(k)[3] || c.shape(k)[length] != c.shape(v)[length]) return {};
  const double queries = c.dim(q, length), keys = c.dim(k, length), size = c.dim(q, 3), value_size = c.dim(v, 3);
  double pairs = c.dim(q, 0) * c.dim(q, heads) * queries * keys;
  if (a.causal >= 0 && says_yes(c.value(static_cast<std::size_t>(a.causal))) && keys > 0)
    pairs *= queries <= keys ? 1 - (queries - 1) / (2 * keys) : 0.5;
  const double out = c.dim(q, 0) * c.dim(q, heads) * queries * value_size * c.width(q);
  const double operands = c.bytes(q) + c.bytes(k) + c.bytes(v);
  // Backward the scores are computed again, and three gradients with that of the probabilities: five products for two.
  if (a.backward) return c.cost(2 * pairs * (3 * size + 2 * value_size), 2 * operands + 2 * out, Kind::attention);
  return c.cost(2 * pairs * (size + value_size), operands + out, Kind::attention);
}

struct Convolution {
  std::string_view name;
  std::int8_t stride = -1, padding = -1, dilation = -1;  // the operands that tell
  std::int8_t transposed = -1;
  bool always_transposed = false;
};

constexpr std::array kConvolutions = {
    Convolution{"conv1d", 3, 4, 5},
    Convolution{"conv2d", 3, 4, 5},
    Convolution{"conv3d", 3, 4, 5},
    Convolution{"convolution", 3, 4, 5, 6},
    Convolution{"_convolution", 3, 4, 5, 6},
    Convolution{"convolution_overrideable", 3, 4, 5, 6},
    Convolution{"cudnn_convolution", 3, 2, 4},
    Convolution{"miopen_convolution", 4, 3, 5},
    Convolution{"cudnn_convolution_relu", 3, 4, 5},
    Convolution{"cudnn_convolution_add_relu", 5, 6, 7},
    Convolution{"_conv_depthwise2d", 4, 5, 6},
    Convolution{"conv_transpose1d", 3, 4, 7, -1, true},
    Convolution{"conv_transpose2d", 3, 4, 7, -1, true},
    Convolution{"conv_transpose3d", 3, 4, 7, -1, true},
    Convolution{"cudnn_convolution_transpose", 4, 2, 5, -1, true},
};

// One value for each axis; one alone stands for all.
double axis(const std::vector<double>& list, std::size_t d, double otherwise) {
  return list.empty() ? otherwise : d < list.size() ? list[d] : list.back();
}

Cost convolution(const Call& c, const Convolution& v) {
  if (c.rank(0) < 3 || c.rank(1) != c.rank(0)) return {};
  const double kernel = Call::count(c.shape(1), 2), batch = c.dim(0, 0), in = Call::count(c.shape(0), 2);
  if (v.always_transposed || (v.transposed >= 0 && says_yes(c.value(static_cast<std::size_t>(v.transposed))))) {
    // The weight has the channels in, then the channels out: each element in meets a whole kernel.
    const double flops = 2 * batch * c.dim(1, 0) * in * c.dim(1, 1) * kernel;
    return c.cost(flops, c.bytes(0) * 2 + c.bytes(1), Kind::convolution);
  }
  const std::string_view stride = c.value(static_cast<std::size_t>(v.stride));
  const std::string_view padding = c.value(static_cast<std::size_t>(v.padding));
  const std::vector<double> steps = numbers_of(stride), pads = numbers_of(padding);
  const std::vector<double> spread = numbers_of(c.value(static_cast<std::size_t>(v.dilation)));
  const bool same = padding.find("same") != std::string_view::npos;
  if (steps.empty() || (pads.empty() && !same && padding.find("valid") == std::string_view::npos)) return {};
  double out = batch * c.dim(1, 0);
  for (std::size_t d = 2; d < c.rank(0); ++d) {
    const double step = axis(steps, d - 2, 1), reach = axis(spread, d - 2, 1) * (c.dim(1, d) - 1) + 1;
    if (!(step >= 1 && step < 1e9)) return {};
    const double room = same ? c.dim(0, d) - 1 : c.dim(0, d) + 2 * axis(pads, d - 2, 0) - reach;
    if (!(room >= 0 && room < 1e15)) return {};
    out *= static_cast<double>(static_cast<std::int64_t>(room / step)) + 1;
  }
  const double flops = 2 * out * c.dim(1, 1) * kernel;
  return c.cost(flops, c.bytes(0) + c.bytes(1) + out * c.width(0), Kind::convolution);
}

// `of` tells how many of the two gradients (of the input, of the weight) are wanted.
Cost convolution_back(const Call& c, std::size_t gradient, std::size_t input, std::size_t weight, double of, bool transposed) {
  if (c.rank(gradient) < 3 || c.rank(input) != c.rank(gradient) || c.rank(weight) != c.rank(input)) return {};
  const std::size_t meets = transposed ? input : gradient;
  const double flops = 2 * c.dim(meets, 0) * c.dim(weight, 0) * Call::count(c.shape(meets), 2) * Call::count(c.shape(weight), 1);
  const double moved = c.bytes(gradient) * of + (c.bytes(input) + c.bytes(weight)) * of;
  return c.cost(flops * of, moved, Kind::convolution);
}

Cost convolution_backward(const Call& c, std::string_view name) {
  if (name == "convolution_backward") {
    double of = 2;
    if (const std::string_view mask = c.value(10); !mask.empty()) {
      of = 0;
      const std::vector<std::string_view> wanted = split(trim(mask), ',');
      for (std::size_t i = 0; i < 2 && i < wanted.size(); ++i) of += lower(wanted[i]).find("true") != std::string::npos ? 1 : 0;
    }
    return convolution_back(c, 0, 1, 2, of, says_yes(c.value(7)));
  }
  if (name == "cudnn_convolution_backward" || name == "miopen_convolution_backward")
    return convolution_back(c, 1, 0, 2, 2, false);
  const bool by_input = name.ends_with("convolution_backward_input"), by_weight = name.ends_with("convolution_backward_weight");
  if ((!by_input && !by_weight) || c.rank(1) < 3 || c.rank(2) != c.rank(1)) return {};
  // The first operand is the shape of the result, told by its value alone.
  const std::vector<double> result = numbers_of(c.value(0));
  double kernel = 0, out = 0;
  if (by_input) {
    kernel = Call::count(c.shape(2), 1);
    out = c.bytes(1);
  } else {
    if (result.size() != c.rank(1)) return {};
    kernel = 1;
    for (std::size_t d = 1; d < result.size(); ++d) kernel *= result[d];
    out = kernel * result[0] * c.width(1);
  }
  const double flops = 2 * c.count(1) * kernel;
  return c.cost(flops, c.bytes(1) + c.bytes(2) + out, Kind::convolution);
}

// Rows that are looked up, or put where an index says.
Cost lookups(const Call& c, std::string_view name) {
  if (name == "embedding" && c.rank(0) == 2 && c.tensor(1)) {
    return c.cost(0, 2 * c.count(1) * c.dim(0, 1) * c.width(0) + c.bytes(1), Kind::stream);
  }
  if ((name == "embedding_dense_backward" || name == "embedding_backward") && c.rank(0) > 0 && c.tensor(1)) {
    const auto rows = parse_double(trim(c.value(2)));
    const double table = rows && *rows >= 0 ? *rows * static_cast<double>(c.shape(0).back()) * c.width(0) : c.bytes(0);
    return c.cost(c.count(0), c.bytes(0) + c.bytes(1) + table, Kind::stream);
  }
  if (name == "gather" && c.tensor(0) && c.tensor(2)) {
    return c.cost(0, c.bytes(2) + 2 * c.count(2) * c.width(0), Kind::stream);
  }
  if (name == "index_select" && c.rank(0) > 0 && c.tensor(2)) {
    const auto along = parse_int(trim(c.value(1))).value_or(0);
    const auto rank = static_cast<std::int64_t>(c.rank(0));
    if (along >= rank || along < -rank) return {};
    const double row = c.dim(0, static_cast<std::size_t>(along < 0 ? along + rank : along));
    const double out = row > 0 ? c.count(0) / row * c.count(2) : 0;
    return c.cost(0, c.bytes(2) + 2 * out * c.width(0), Kind::stream);
  }
  if ((name == "scatter_add" || name == "scatter" || name == "index_add") && c.tensor(0) && c.tensor(2) && c.tensor(3)) {
    const double reads = name == "scatter" ? 0 : c.count(3) * c.width(0);
    return c.cost(name == "scatter" ? 0 : c.count(3), c.bytes(2) + c.bytes(3) + reads + c.count(3) * c.width(0), Kind::stream);
  }
  if ((name == "index_put" || name == "_index_put_impl") && c.tensor(0) && c.tensor(1) && c.tensor(2)) {
    return c.cost(0, c.bytes(1) + c.bytes(2) + c.count(2) * c.width(0), Kind::stream);
  }
  if (name == "index" && c.rank(0) > 0 && c.tensor(1)) {
    const std::size_t axes = c.shapes(1).size();
    if (axes > c.rank(0)) return {};
    const double out = Call::count(c.shapes(1).front()) * Call::count(c.shape(0), axes);
    return c.cost(0, c.bytes(1) + 2 * out * c.width(0), Kind::stream);
  }
  return {};
}

Cost losses_and_pools(const Call& c, std::string_view name) {
  if (name == "native_dropout" || name == "_fused_dropout") {
    if (!c.tensor(0)) return {};
    return c.cost(c.count(0), 2 * c.bytes(0) + c.count(0), Kind::stream);  // and a mask of a byte each
  }
  if (name == "dropout") {
    if (!c.tensor(0)) return {};
    const bool idle = !c.value(2).empty() && !says_yes(c.value(2));
    return idle ? c.cost(0, 0, Kind::other) : c.cost(c.count(0), 2 * c.bytes(0) + c.count(0), Kind::stream);
  }
  if (name == "nll_loss" || name == "nll_loss_forward" || name == "nll_loss_nd" || name == "nll_loss2d_forward") {
    if (!c.tensor(0) || !c.tensor(1)) return {};
    return c.cost(c.count(1), c.bytes(1) + c.count(1) * c.width(0), Kind::stream);
  }
  if (name == "nll_loss_backward" || name == "nll_loss2d_backward") {
    if (!c.tensor(1) || !c.tensor(2)) return {};
    return c.cost(0, c.bytes(1) + c.bytes(2), Kind::stream);
  }
  const bool keeps_places = name == "max_pool2d_with_indices";
  if (keeps_places || name == "max_pool2d" || name == "avg_pool2d") {
    if (c.rank(0) < 3) return {};
    std::vector<double> step = numbers_of(c.value(2));
    if (step.empty()) step = numbers_of(c.value(1));
    const double area = axis(step, 0, 0) * axis(step, 1, 0);
    if (!(area >= 1)) return {};
    return c.cost(c.count(0), c.bytes(0) + c.count(0) / area * (c.width(0) + (keeps_places ? 8 : 0)), Kind::stream);
  }
  if (name == "max_pool2d_with_indices_backward" || name == "avg_pool2d_backward" || name == "_adaptive_avg_pool2d_backward") {
    if (!c.tensor(0) || !c.tensor(1)) return {};
    const double places = name.starts_with("max") ? c.count(0) * 8 : 0;
    return c.cost(c.count(0), c.bytes(0) + places + c.bytes(1), Kind::stream);
  }
  return {};
}

// Lists of tensors: what joins them, and what an optimizer does to all of them at once.
Cost lists(const Call& c, std::string_view name) {
  if (name == "cat" || name == "stack" || name == "flatten_dense_tensors" || name == "_cat" || name == "concat") {
    const bool told = c.tensor(0) && c.count(0) > 0;
    return told ? c.cost(0, 2 * c.bytes(0), Kind::stream) : Cost{};
  }
  if (name.starts_with("_fused_adam") || name.starts_with("_fused_sgd") || name.starts_with("_fused_adagrad")) {
    if (!c.tensor(0) || !c.tensor(1)) return {};
    // All but the gradients, which come second, are written again; the counts of steps are nothing.
    double bytes = 0;
    const std::size_t last = name.starts_with("_fused_adam") ? 5 : 3;
    for (std::size_t i = 0; i < c.size() && i < last; ++i) bytes += c.bytes(i) * (i == 1 ? 1 : 2);
    return c.cost(c.count(0) * 12, bytes, Kind::stream);
  }
  if (name == "_amp_foreach_non_finite_check_and_unscale") {
    return c.tensor(0) ? c.cost(c.count(0) * 2, 2 * c.bytes(0), Kind::stream) : Cost{};
  }
  if (!name.starts_with("_foreach_") || !c.tensor(0)) return {};
  name.remove_prefix(std::string_view("_foreach_").size());
  if (name == "norm" || name == "max") return c.cost(c.count(0), c.bytes(0), Kind::stream);
  if (name == "zero") return c.cost(0, c.bytes(0), Kind::stream);
  if (name == "copy") return c.cost(0, c.bytes(0) + c.bytes(1), Kind::stream);
  double bytes = c.bytes(0);  // the result
  for (std::size_t i = 0; i < c.size() && i < 3; ++i) bytes += c.bytes(i);
  return c.cost(c.count(0), bytes, Kind::stream);
}

// What torch.compile has fused reads or writes each of its buffers once, at least.
bool fused(std::string_view name) {
  return name.starts_with("triton_poi_") || name.starts_with("triton_red_") || name.starts_with("triton_per_");
}

}  // namespace

double element_bytes(std::string_view type) {
  if (const auto at = type.find("Tensor("); at != std::string_view::npos) {
    type.remove_prefix(at + std::string_view("Tensor(").size());
    type = type.substr(0, type.find(')'));
  }
  if (type.starts_with("c10::")) type.remove_prefix(5);
  static constexpr std::array<std::pair<double, std::string_view>, 5> kTypes = {{
      {4, ",float,int,int32_t,unsigned int,uint32_t,complex<Half>,complex<c10::Half>,qint32,"},
      {2, ",BFloat16,Half,short,short int,int16_t,unsigned short,uint16_t,"},
      {8, ",double,long int,long,long long,int64_t,unsigned long,uint64_t,complex<float>,"},
      {1, ",signed char,char,unsigned char,bool,int8_t,uint8_t,Float4_e2m1fn_x2,quint8,qint8,"},
      {16, ",complex<double>,"},
  }};
  if (type.empty() || type.find(',') != std::string_view::npos) return 0;
  const std::string word = "," + std::string(type) + ",";
  for (const auto& [bytes, types] : kTypes) {
    if (types.find(word) != std::string_view::npos) return bytes;
  }
  return type.starts_with("Float8_") ? 1 : 0;
}

bool may_do_nothing(std::string_view op) {
  constexpr std::string_view kMay =
      " to contiguous reshape dropout type_as float half bfloat16 pin_memory flatten_dense_tensors ";
  return kMay.find(" " + std::string(plain_name(op)) + " ") != std::string_view::npos;
}

std::optional<OperatorCost> operator_cost(std::string_view op, std::span<const Operand> operands) {
  const Call c(operands);
  if (!c.sound()) return {};
  const std::string_view name = plain_name(op);
  if (const auto rule = rules().find(name); rule != rules().end()) return by_rule(c, rule->second, name);
  if (fused(name)) return by_rule(c, {Form::all, 0, 1}, name);
  for (const Attention& a : kAttention) {
    if (name == a.name) return attention(c, a);
  }
  for (const Convolution& v : kConvolutions) {
    if (name == v.name) return convolution(c, v);
  }
  for (const auto family : {products, convolution_backward, lookups, losses_and_pools, lists}) {
    if (const Cost found = family(c, name)) return found;
  }
  return {};
}

std::optional<OperatorCost> operator_cost(std::string_view op, std::span<const Shape> inputs,
                                          std::span<const std::string_view> types, std::span<const std::string_view> values) {
  std::vector<Operand> operands(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    operands[i].shapes = inputs.subspan(i, 1);
    if (i < types.size()) operands[i].type = types[i];
    if (i < values.size()) operands[i].value = values[i];
  }
  return operator_cost(op, operands);
}

}  // namespace muster::diagnose
