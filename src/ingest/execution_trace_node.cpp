#include "ingest/execution_trace_node.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "ingest/json.h"

namespace muster {
namespace {

constexpr std::size_t kTextMax = 500;
constexpr std::size_t kOperandsMax = 4096;
constexpr std::size_t kIdsMax = 100'000;
constexpr std::size_t kListMax = std::size_t{1} << 20;  // of a list in a text
constexpr double kMost = 1e18;                          // beyond what a node does or takes: damage

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

// "duration_micros" as protobuf's JSON has it: "durationMicros".
std::string camel(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool joint = name[i] == '_' && i + 1 < name.size() && name[i + 1] >= 'a' && name[i + 1] <= 'z';
    if (joint) ++i;
    out += joint ? static_cast<char>(name[i] - 'a' + 'A') : name[i];
  }
  return out;
}

// What an attribute says, whatever its type: "value", "int64_val", "stringVal", "bool_list" {"values"}.
const Value* said_by(const Value& attribute) {
  if (const Value* v = attribute.find("value")) return v;
  if (attribute.object() == nullptr) return nullptr;
  for (const Value::Member& m : *attribute.object()) {
    if (m.key.ends_with("_val") || m.key.ends_with("Val")) return &m.value;
    if (m.key.ends_with("_list") || m.key.ends_with("List")) return m.value.find("values");
  }
  return nullptr;
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

void add(TraceOperand& o, const Value* value, const Value* shape, bool& gpu) {
  if (o.shapes.size() >= kOperandsMax) return;
  o.shapes.push_back(shape != nullptr && shape->array() != nullptr ? shape_of(*shape->array()) : std::vector<std::int64_t>{});
  o.storages.push_back(value != nullptr && is_tensor(*value) ? whole_of(&(*value->array())[1]).value_or(0) : 0);
  if (value != nullptr && is_tensor(*value)) {
    const std::string& device = *value->array()->back().string();
    gpu = gpu || device.starts_with("cuda") || device.starts_with("hip") || device.starts_with("xpu");
  }
}

TraceOperand operand(const Value* value, const Value* shape, std::string type, bool& gpu) {
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

// Chakra keeps lists as Python prints them: "[['a', True], (1, 2)]".
Value list_of(std::string_view python) {
  if (python.size() > kListMax) return {};
  std::string json;
  char quote = 0;
  for (std::size_t i = 0; i < python.size(); ++i) {
    const char c = python[i];
    const auto word = [&](std::string_view w) { return quote == 0 && python.substr(i).starts_with(w); };
    if (quote != 0 && c == '\\' && i + 1 < python.size()) {
      ++i;
      json += python[i] == '\'' ? std::string("'") : std::string{'\\', python[i]};
    } else if (quote == 0 ? c == '\'' || c == '"' : c == quote) {
      quote = quote == 0 ? c : '\0';
      json += '"';
    } else if (quote == '\'' && c == '"') {
      json += "\\\"";
    } else if (word("True") || word("None")) {
      json += word("True") ? "true" : "null";
      i += 3;
    } else if (word("False")) {
      json += "false";
      i += 4;
    } else {
      json += quote == 0 && c == '(' ? '[' : quote == 0 && c == ')' ? ']' : c;
    }
  }
  auto v = parse_json(json, 16);
  return v ? std::move(*v) : Value();
}

struct Named {
  std::string_view name;
  NodeWork work;
};
// In the order of Chakra's numbers (et_def.proto).
constexpr std::array kTypes = {Named{"invalid_node", NodeWork::none},       Named{"metadata_node", NodeWork::metadata},
                               Named{"mem_load_node", NodeWork::memory},    Named{"mem_store_node", NodeWork::memory},
                               Named{"comp_node", NodeWork::compute},       Named{"comm_send_node", NodeWork::exchange},
                               Named{"comm_recv_node", NodeWork::exchange}, Named{"comm_coll_node", NodeWork::exchange},
                               Named{"storage_node", NodeWork::other},      Named{"batch_node", NodeWork::other},
                               Named{"checkpoint_node", NodeWork::other}};
constexpr std::array<std::string_view, 10> kCollectives = {"all_reduce",     "reduce",    "all_gather", "gather",
                                                           "scatter",        "broadcast", "all_to_all", "reduce_scatter",
                                                           "reduce_scatter", "barrier"};

std::size_t type_of(const NodeReader& r) {
  std::string said = r.text("type");
  if (said.empty()) said = r.text("NodeType");
  const std::string name = lower(trim(said));
  if (const auto number = parse_uint(name)) return *number < kTypes.size() ? static_cast<std::size_t>(*number) : 0;
  const auto it = std::find_if(kTypes.begin(), kTypes.end(), [&](const Named& t) { return t.name == name; });
  return it == kTypes.end() ? 0 : static_cast<std::size_t>(it - kTypes.begin());
}

// By its number or name, or by the name of the kernel: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL".
std::string collective_of(const NodeReader& r, const std::string& node) {
  const std::string said = lower(r.text("comm_type"));
  if (const auto number = parse_uint(said); number && *number < kCollectives.size()) return std::string(kCollectives[*number]);
  if (!said.empty() && !parse_uint(said)) return said;
  std::string name = lower(node);
  std::erase(name, '_');
  for (const std::string_view c :
       {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "barrier", "scatter", "gather", "reduce"}) {
    std::string bare(c);
    std::erase(bare, '_');
    if (name.find(bare) != std::string::npos) return std::string(c);
  }
  return "collective";
}

}  // namespace

NodeReader::NodeReader(const Value& node) : node_(node) {
  attributes_ = node.find("attrs");
  if (attributes_ == nullptr) attributes_ = node.find("attr");
}

const Value* NodeReader::find(std::string_view name) const {
  const std::string other = camel(name);
  if (const Value* own = node_.find(name)) return own;
  if (const Value* own = node_.find(other)) return own;
  if (attributes_ == nullptr) return nullptr;
  if (const Value* member = attributes_->find(name)) return member;
  if (const Value* member = attributes_->find(other)) return member;
  if (attributes_->array() == nullptr) return nullptr;
  for (const Value& a : *attributes_->array()) {
    const Value* n = a.find("name");
    if (n != nullptr && n->string() != nullptr && (*n->string() == name || *n->string() == other)) return said_by(a);
  }
  return nullptr;
}

std::string NodeReader::text(std::string_view name) const {
  const Value* v = find(name);
  return v == nullptr ? std::string() : plain(*v, 2);
}

std::optional<double> NodeReader::number(std::string_view name) const {
  const Value* v = find(name);
  if (v == nullptr) return {};
  double d = 0;
  if (!v->number(d)) {
    const auto read = v->string() != nullptr ? parse_double(*v->string()) : std::nullopt;
    if (!read) return {};
    d = *read;
  }
  return d >= 0 && d < kMost ? std::optional(d) : std::nullopt;
}

std::optional<std::uint64_t> NodeReader::whole(std::string_view name) const { return whole_of(find(name)); }

std::vector<std::uint64_t> NodeReader::ids(std::string_view name) const {
  std::vector<std::uint64_t> out;
  const Value* v = find(name);
  if (v == nullptr) return out;
  if (v->array() == nullptr) {
    if (const auto one = whole_of(v)) out.push_back(*one);
    return out;
  }
  for (const Value& one : *v->array()) {
    if (const auto id = whole_of(&one); id && out.size() < kIdsMax) out.push_back(*id);
  }
  return out;
}

std::vector<TraceOperand> NodeReader::operands(const char* side, const char* shapes_key, const char* types_key, bool& gpu) const {
  const Value* of = node_.find(side);
  if (of == nullptr) return {};
  const bool old = of->array() != nullptr;
  std::array<Value, 3> parsed;  // what is kept as text
  const auto list = [&](const Value* v, Value& into) -> const Value* {
    if (v == nullptr || v->string() == nullptr) return v;
    into = list_of(*v->string());
    return &into;
  };
  const Value* values = list(old ? of : of->find("values"), parsed[0]);
  const Value* shapes = list(old ? node_.find(shapes_key) : of->find("shapes"), parsed[1]);
  const Value* types = list(old ? node_.find(types_key) : of->find("types"), parsed[2]);
  std::vector<TraceOperand> out;
  if (types == nullptr || types->array() == nullptr) return out;
  const auto at = [](const Value* l, std::size_t i) -> const Value* {
    return l != nullptr && l->array() != nullptr && i < l->array()->size() ? &(*l->array())[i] : nullptr;
  };
  for (std::size_t i = 0; i < types->array()->size() && i < kOperandsMax; ++i) {
    const std::string* type = (*types->array())[i].string();
    out.push_back(operand(at(values, i), at(shapes, i), type != nullptr ? type->substr(0, kTextMax) : std::string(), gpu));
  }
  return out;
}

NodeWork work_of(const NodeReader& r) { return kTypes[type_of(r)].work; }

void fill_chakra(const NodeReader& r, ExecutionNode& n) {
  n.duration_us = r.number("duration_micros");
  if (!n.duration_us) n.duration_us = r.number("runtime");
  const Value* host = r.find("is_cpu_op");
  double flag = 0;
  n.on_host = host != nullptr && ((host->boolean() != nullptr && *host->boolean()) || (host->number(flag) && flag != 0));
  if (n.work == NodeWork::metadata) return;
  // What is not said to be the host's is the accelerator's. What the host launches works where its operands are.
  n.on_gpu = n.on_gpu || !n.on_host;
  n.operations = r.number("num_ops").value_or(0);
  n.bytes = r.number("tensor_size").value_or(0);
  if (n.work != NodeWork::exchange) return;
  TraceExchange e;
  const std::string_view type = kTypes[type_of(r)].name;
  e.op = type == "comm_send_node" ? "send" : type == "comm_recv_node" ? "recv" : collective_of(r, n.name);
  e.group = r.text("pg_name");
  e.dtype = r.text("dtype");
  e.bytes = r.number("comm_size").value_or(n.bytes);
  e.ranks = static_cast<std::uint32_t>(std::min<std::uint64_t>(r.whole("pg_size").value_or(0), 100'000'000));
  n.exchange = std::move(e);
}

}  // namespace muster
