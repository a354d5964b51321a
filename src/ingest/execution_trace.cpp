#include "ingest/execution_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "ingest/json.h"

namespace muster {
namespace {

constexpr std::size_t kTextMax = 500;
constexpr std::size_t kOperandsMax = 4096;
constexpr std::string_view kWhat = "a trace as torch.profiler.ExecutionTraceObserver writes it (JSON, or that in gzip)";

std::string text_of(const Value* v) {
  return v != nullptr && v->string() != nullptr ? v->string()->substr(0, kTextMax) : std::string();
}

std::optional<std::uint64_t> whole_of(const Value* v) {
  if (v == nullptr) return {};
  if (v->integer() != nullptr)
    return *v->integer() >= 0 ? std::optional(static_cast<std::uint64_t>(*v->integer())) : std::nullopt;
  double d = 0;
  if (v->number(d)) return d >= 0 && d < 1.8e19 ? std::optional(static_cast<std::uint64_t>(d)) : std::nullopt;
  if (v->string() != nullptr) return parse_uint(*v->string());
  if (v->array() != nullptr && !v->array()->empty()) return whole_of(&v->array()->front());
  return {};
}

std::vector<std::int64_t> shape_of(const Value::Array& a) {
  std::vector<std::int64_t> out;
  for (const Value& n : a) {
    if (n.integer() != nullptr && out.size() < 64) out.push_back(*n.integer());
  }
  return out;
}

// A tensor is [tensor, storage, offset, elements, bytes of each, device].
bool is_tensor(const Value& v) {
  return v.array() != nullptr && v.array()->size() == 6 && v.array()->back().string() != nullptr &&
         (*v.array())[1].integer() != nullptr;
}

// Numbers and words, and lists of them, as Kineto shows "Concrete Inputs".
std::string plain(const Value& v, int depth = 0) {
  if (v.boolean() != nullptr) return *v.boolean() ? "True" : "False";
  if (v.integer() != nullptr) return fmt::format("{}", *v.integer());
  if (double d = 0; v.number(d)) return render_number(d);
  if (v.string() != nullptr) return *v.string() == "<None>" ? "" : v.string()->substr(0, kTextMax);
  if (v.array() == nullptr || depth > 1 || v.array()->size() > 16) return {};
  std::string out = "[";
  for (const Value& one : *v.array()) out += (out.size() > 1 ? ", " : "") + plain(one, depth + 1);
  return out + "]";
}

class NodeReader {
 public:
  explicit NodeReader(const Value& node) : node_(node) {
    if (const Value* attrs = node.find("attrs"); attrs != nullptr && attrs->array() != nullptr) attrs_ = attrs->array();
  }

  // Members of newer schemas are in a list of attributes.
  const Value* find(std::string_view name) const {
    if (const Value* own = node_.find(name)) return own;
    if (attrs_ == nullptr) return nullptr;
    for (const Value& a : *attrs_) {
      const Value* n = a.find("name");
      if (n != nullptr && n->string() != nullptr && *n->string() == name) return a.find("value");
    }
    return nullptr;
  }

  std::vector<TraceOperand> operands(const char* side, const char* shapes_key, const char* types_key, bool& gpu) const {
    const Value* of = node_.find(side);
    if (of == nullptr) return {};
    const bool old = of->array() != nullptr;
    const Value* values = old ? of : of->find("values");
    const Value* shapes = old ? node_.find(shapes_key) : of->find("shapes");
    const Value* types = old ? node_.find(types_key) : of->find("types");
    std::vector<TraceOperand> out;
    if (types == nullptr || types->array() == nullptr) return out;
    const auto at = [](const Value* list, std::size_t i) -> const Value* {
      return list != nullptr && list->array() != nullptr && i < list->array()->size() ? &(*list->array())[i] : nullptr;
    };
    for (std::size_t i = 0; i < types->array()->size() && i < kOperandsMax; ++i)
      out.push_back(operand(at(values, i), at(shapes, i), text_of(&(*types->array())[i]), gpu));
    return out;
  }

 private:
  static void add(TraceOperand& o, const Value* value, const Value* shape, bool& gpu) {
    if (o.shapes.size() >= kOperandsMax) return;
    o.shapes.push_back(shape != nullptr && shape->array() != nullptr ? shape_of(*shape->array()) : std::vector<std::int64_t>{});
    o.storages.push_back(value != nullptr && is_tensor(*value) ? whole_of(&(*value->array())[1]).value_or(0) : 0);
    if (value != nullptr && is_tensor(*value)) {
      const std::string& device = *value->array()->back().string();
      gpu = gpu || device.starts_with("cuda") || device.starts_with("hip") || device.starts_with("xpu");
    }
  }

  static TraceOperand operand(const Value* value, const Value* shape, std::string type, bool& gpu) {
    TraceOperand o;
    o.type = std::move(type);
    if (o.type.starts_with("Tensor(") && o.type.find("nullptr") == std::string::npos) {
      add(o, value, shape, gpu);
    } else if (o.type.find("Tensor(") != std::string::npos && shape != nullptr && shape->array() != nullptr) {
      const Value::Array* values = value != nullptr ? value->array() : nullptr;
      for (std::size_t i = 0; i < shape->array()->size(); ++i)
        add(o, values != nullptr && i < values->size() ? &(*values)[i] : nullptr, &(*shape->array())[i], gpu);
    } else if (value != nullptr) {
      o.value = plain(*value);
    }
    return o;
  }

  const Value& node_;
  const Value::Array* attrs_ = nullptr;
};

// What older schemas do not name apart is among the inputs: the tensors first, the group, and a word for what is done.
void fill_from_inputs(TraceExchange& e, const std::vector<TraceOperand>& inputs) {
  for (const TraceOperand& o : inputs) {
    if (e.op.empty() && o.type == "String") e.op = o.value;
    if (e.group.empty() && o.type.starts_with("Tuple[")) {
      std::string_view first = o.value;
      if (first.starts_with('[')) first.remove_prefix(1);
      e.group = first.substr(0, first.find_first_of(",]"));
    }
    if (e.in_elements > 0 || o.shapes.empty()) continue;
    double all = 0;
    for (const auto& s : o.shapes) {
      double n = 1;
      for (const std::int64_t d : s) n *= static_cast<double>(std::max<std::int64_t>(d, 0));
      all += n;
    }
    if (all < 1e18) e.in_elements = static_cast<std::uint64_t>(all);
    if (e.dtype.empty()) e.dtype = o.type.substr(0, 100);
  }
}

std::optional<TraceExchange> exchange_of(const NodeReader& r, const ExecutionNode& n) {
  if (n.name != "record_param_comms") return {};
  TraceExchange e;
  e.op = text_of(r.find("collective_name"));
  e.dtype = text_of(r.find("dtype"));
  e.group = text_of(r.find("pg_name"));
  e.in_elements = whole_of(r.find("in_msg_nelems")).value_or(0);
  e.out_elements = whole_of(r.find("out_msg_nelems")).value_or(0);
  e.ranks = static_cast<std::uint32_t>(std::min<std::uint64_t>(whole_of(r.find("pg_size")).value_or(0), 100'000'000));
  fill_from_inputs(e, n.inputs);
  if (e.out_elements == 0) e.out_elements = e.in_elements;
  if (e.op.empty() || e.op == "wait" || e.op == "init" || e.op == "barrier" || e.in_elements == 0) return {};
  return e;
}

// Where the value that begins at `from` ends; npos: it does not.
std::size_t end_of(std::string_view text, std::size_t from) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth <= 1) return i + 1;
      --depth;
    }
  }
  return std::string_view::npos;
}

// Where the list of nodes begins, behind its bracket.
std::size_t nodes_at(std::string_view text) {
  const std::size_t key = text.find("\"nodes\"");
  if (key == std::string_view::npos) return key;
  const std::size_t bracket = text.find_first_not_of(" \t\r\n:", key + 7);
  return bracket != std::string_view::npos && text[bracket] == '[' ? bracket + 1 : std::string_view::npos;
}

// In the order of their ids, which is that of their beginnings; what a parent is called is then before it.
void link(ExecutionTrace& t, const std::vector<std::uint64_t>& parents) {
  std::vector<std::uint32_t> order(t.nodes.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t x, std::uint32_t y) { return t.nodes[x].id < t.nodes[y].id; });
  std::vector<ExecutionNode> nodes;
  nodes.reserve(order.size());
  std::unordered_map<std::uint64_t, std::uint32_t> place;
  for (const std::uint32_t i : order) {
    const auto parent = place.find(parents[i]);
    t.nodes[i].parent = parent == place.end() ? kNoNode : parent->second;
    place.try_emplace(t.nodes[i].id, static_cast<std::uint32_t>(nodes.size()));
    nodes.push_back(std::move(t.nodes[i]));
  }
  t.nodes = std::move(nodes);
}

}  // namespace

bool looks_like_execution_trace(std::string_view text) {
  text = text.substr(0, 4096);
  return trim(text).starts_with('{') && text.find("\"schema\"") != std::string_view::npos &&
         text.find("\"nodes\"") != std::string_view::npos && text.find("\"traceEvents\"") == std::string_view::npos;
}

Result<ExecutionTrace> parse_execution_trace(std::string_view text, std::string_view file) {
  std::size_t at = nodes_at(text);
  if (at == std::string_view::npos)
    return fail(Code::bad_input, fmt::format("{}: there are no nodes in it", file), std::string(kWhat));
  ExecutionTrace out;
  if (const auto head = parse_json(std::string(text.substr(0, at)) + "]}")) out.schema = printable(text_of(head->find("schema")));
  std::vector<std::uint64_t> parents;
  while (true) {
    at = text.find_first_not_of(" \t\r\n,", at);
    if (at == std::string_view::npos || text[at] != '{') break;
    const std::size_t end = end_of(text, at);
    if (end == std::string_view::npos) break;
    const auto node = parse_json(text.substr(at, end - at));
    at = end;
    const auto id = node ? whole_of(node->find("id")) : std::nullopt;
    if (!id) {
      ++out.damaged;
      continue;
    }
    const NodeReader r(*node);
    ExecutionNode n;
    n.id = *id;
    n.name = text_of(node->find("name"));
    n.inputs = r.operands("inputs", "input_shapes", "input_types", n.on_gpu);
    n.outputs = r.operands("outputs", "output_shapes", "output_types", n.on_gpu);
    n.exchange = exchange_of(r, n);
    const Value* parent = node->find("ctrl_deps");
    parents.push_back(whole_of(parent != nullptr ? parent : node->find("parent")).value_or(0));
    out.nodes.push_back(std::move(n));
  }
  out.cut = at == std::string_view::npos || text[at] != ']';
  if (out.nodes.empty()) {
    return fail(Code::bad_input,
                out.damaged > 0 ? fmt::format("{}: none of its {} nodes can be read", file, out.damaged)
                                : fmt::format("{}: it has no nodes", file),
                std::string(kWhat));
  }
  link(out, parents);
  return out;
}

}  // namespace muster
