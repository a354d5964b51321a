#include "ingest/execution_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "ingest/execution_trace_node.h"
#include "ingest/json.h"

namespace muster {
namespace {

constexpr std::string_view kWhat =
    "a trace as torch.profiler.ExecutionTraceObserver writes it, or Chakra's nodes as JSON (chakra_jsonizer); either may be in "
    "gzip";

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
  e.op = r.text("collective_name");
  e.dtype = r.text("dtype");
  e.group = r.text("pg_name");
  e.in_elements = r.whole("in_msg_nelems").value_or(0);
  e.out_elements = r.whole("out_msg_nelems").value_or(0);
  e.ranks = static_cast<std::uint32_t>(std::min<std::uint64_t>(r.whole("pg_size").value_or(0), 100'000'000));
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

// Where the nodes begin: behind the bracket of a list, or, where they follow each other without one, as chakra_jsonizer writes
// them, with the first.
struct Place {
  std::size_t at = std::string_view::npos;  // npos: there are none
  bool listed = false;
};
Place nodes_at(std::string_view text) {
  for (const std::string_view name : {"\"nodes\"", "\"workload_graph\""}) {
    const std::size_t key = text.find(name);
    if (key == std::string_view::npos) continue;
    const std::size_t bracket = text.find_first_not_of(" \t\r\n:", key + name.size());
    if (bracket != std::string_view::npos && text[bracket] == '[') return {bracket + 1, true};
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  if (text[first] == '[') return {first + 1, true};
  return text[first] == '{' ? Place{first, false} : Place{};
}

// What a node is, with the ids of those it has to do with.
struct Linked {
  ExecutionNode node;
  std::optional<std::uint64_t> parent;
  std::vector<std::uint64_t> waits_for;
};

std::optional<Linked> node_of(const Value& v) {
  const NodeReader r(v);
  Linked out;
  ExecutionNode& n = out.node;
  n.work = work_of(r);
  auto id = r.whole("id");
  if (!id) id = r.whole("Id");
  // Protobuf leaves out what is 0.
  if (!id && n.work != NodeWork::none && r.find("id") == nullptr) id = 0;
  if (!id) return {};
  n.id = *id;
  n.name = r.text("name");
  if (n.name.empty()) n.name = r.text("Name");
  n.inputs = r.operands("inputs", "input_shapes", "input_types", n.on_gpu);
  n.outputs = r.operands("outputs", "output_shapes", "output_types", n.on_gpu);
  out.parent = r.whole(v.find("parent") != nullptr && v.find("ctrl_deps") == nullptr ? "parent" : "ctrl_deps");
  if (n.work == NodeWork::none) {
    n.exchange = exchange_of(r, n);
    return out;
  }
  fill_chakra(r, n);
  out.waits_for = r.ids("data_deps");
  for (const std::uint64_t d : r.ids("ctrl_deps")) out.waits_for.push_back(d);
  return out;
}

// In the order of their ids, which is that of their beginnings; what a parent is called is then before it.
std::vector<ExecutionNode> link(std::vector<Linked> all) {
  std::stable_sort(all.begin(), all.end(), [](const Linked& x, const Linked& y) { return x.node.id < y.node.id; });
  std::vector<ExecutionNode> nodes;
  nodes.reserve(all.size());
  std::unordered_map<std::uint64_t, std::uint32_t> place;
  for (Linked& l : all) {
    const auto parent = l.parent ? place.find(*l.parent) : place.end();
    l.node.parent = parent == place.end() ? kNoNode : parent->second;
    place.try_emplace(l.node.id, static_cast<std::uint32_t>(nodes.size()));
    nodes.push_back(std::move(l.node));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::uint32_t>& waits = nodes[i].waits_for;
    for (const std::uint64_t id : all[i].waits_for) {
      if (const auto it = place.find(id); it != place.end() && it->second != i) waits.push_back(it->second);
    }
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  }
  return nodes;
}

// Of names alone nothing can be said.
bool tells(const ExecutionNode& n) {
  if (n.work == NodeWork::metadata) return false;
  return !n.inputs.empty() || !n.outputs.empty() || n.operations > 0 || n.bytes > 0 || n.duration_us.value_or(0) > 0 ||
         (n.exchange && (n.work == NodeWork::none || n.exchange->bytes > 0));
}

}  // namespace

bool looks_like_execution_trace(std::string_view text) {
  text = text.substr(0, 65'536);
  const std::string_view head = text.substr(0, 4096), begin = trim(head);
  const auto has = [](std::string_view in, std::string_view what) { return in.find(what) != std::string_view::npos; };
  if (!begin.starts_with('{') && !begin.starts_with('[')) return false;
  if (has(text, "\"traceEvents\"")) return false;
  if (begin.starts_with('{') && has(head, "\"schema\"") && has(head, "\"nodes\"")) return true;
  // Chakra's nodes have a type and those that they wait for.
  for (const std::string_view type : {"\"COMP_NODE\"", "\"COMM_COLL_NODE\"", "\"COMM_SEND_NODE\"", "\"COMM_RECV_NODE\"",
                                      "\"MEM_LOAD_NODE\"", "\"MEM_STORE_NODE\"", "\"METADATA_NODE\""}) {
    if (has(text, type)) return true;
  }
  if (has(head, "\"workload_graph\"")) return true;
  return (has(text, "\"type\"") || has(text, "\"NodeType\"")) &&
         (has(text, "\"ctrl_deps\"") || has(text, "\"ctrlDeps\"") || has(text, "\"data_deps\"") || has(text, "\"dataDeps\""));
}

Result<ExecutionTrace> parse_execution_trace(std::string_view text, std::string_view file) {
  const Place place = nodes_at(text);
  std::size_t at = place.at;
  if (at == std::string_view::npos)
    return fail(Code::bad_input, fmt::format("{}: there are no nodes in it", file), std::string(kWhat));
  ExecutionTrace out;
  if (place.listed) {
    const auto head = parse_json(std::string(text.substr(0, at)) + "]}");
    if (head) out.schema = printable(NodeReader(*head).text("schema"));
  }
  std::vector<Linked> nodes;
  while (true) {
    at = text.find_first_not_of(" \t\r\n,", at);
    if (at == std::string_view::npos || text[at] != '{') break;
    const std::size_t end = end_of(text, at);
    if (end == std::string_view::npos) break;
    const auto v = parse_json(text.substr(at, end - at));
    at = end;
    auto node = v ? node_of(*v) : std::nullopt;
    if (node) {
      nodes.push_back(std::move(*node));
    } else if (v && !place.listed && v->find("name") == nullptr) {
      // Chakra's metadata are before its nodes, and look like one.
      if (out.schema.empty()) out.schema = printable(NodeReader(*v).text("version"));
    } else {
      ++out.damaged;
    }
  }
  out.cut = place.listed ? at == std::string_view::npos || text[at] != ']' : at != std::string_view::npos;
  if (nodes.empty()) {
    return fail(Code::bad_input,
                out.damaged > 0 ? fmt::format("{}: none of its {} nodes can be read", file, out.damaged)
                : place.listed  ? fmt::format("{}: it has no nodes", file)
                                : fmt::format("{}: there are no nodes in it", file),
                std::string(kWhat));
  }
  out.nodes = link(std::move(nodes));
  if (std::none_of(out.nodes.begin(), out.nodes.end(), tells)) {
    return fail(Code::bad_input,
                fmt::format("{}: its {} nodes have names and no more: neither operands with types and shapes, as PyTorch's have, "
                            "nor a duration_micros, num_ops, tensor_size or comm_size, as Chakra's",
                            file, out.nodes.size()),
                std::string(kWhat));
  }
  return out;
}

}  // namespace muster
