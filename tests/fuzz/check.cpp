#include "check.h"

#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/json_writer.h"
#include "base/text.h"

namespace muster::fuzz {

void expect(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void expect_file_error(const Error& e, std::string_view file) {
  const std::string start = std::string(file) + ":";
  expect(e.what.substr(0, start.size()) == start, "an error begins with the file");
  const std::size_t colon = e.what.find(':', start.size());
  expect(colon != std::string::npos, "an error has a line");
  const auto line = parse_uint(std::string_view(e.what).substr(start.size(), colon - start.size()));
  expect(line && *line >= 1, "the line is a number from 1");
  expect(printable(e.what) == e.what, "an error is printable");
  expect(e.code == Code::bad_input, "an error of a file is bad_input");
}

void expect_tree(const Value& v, int depth_max, int lines_max) {
  expect(v.line() >= 0 && v.line() <= lines_max, "a line is one of the text");
  if (v.array() != nullptr || v.object() != nullptr) expect(depth_max > 0, "depth is bounded");
  if (const auto* a = v.array()) {
    for (const Value& item : *a) expect_tree(item, depth_max - 1, lines_max);
  }
  if (const auto* o = v.object()) {
    std::set<std::string_view> keys;
    for (const auto& m : *o) {
      expect(keys.insert(m.key).second, "keys are unique");
      expect_tree(m.value, depth_max - 1, lines_max);
    }
  }
}

void expect_site(const Site& s) {
  expect(!s.nodes.empty(), "a site has nodes");
  expect(s.gpus_per_node >= 1 && s.gpus_per_node <= 16, "1 to 16 GPUs a node");
  expect(s.gpu_pci.size() == s.gpus_per_node, "an address per slot");
  expect(s.storage_write_gbs > 0 && s.link_gbps > 0 && s.power_limit_kw >= 0, "quantities are positive");
  std::set<std::string_view> names;
  std::set<std::uint32_t> racks, leaves, pods, domains;
  for (const NodeSpec& n : s.nodes) {
    expect(names.insert(n.name).second && !n.name.empty() && printable(n.name) == n.name, "names are unique and printable");
    expect(n.rack < s.racks.size() && n.leaf < s.leaves && n.pod < s.pods && n.domain < s.domains, "indices are in range");
    racks.insert(n.rack);
    leaves.insert(n.leaf);
    pods.insert(n.pod);
    domains.insert(n.domain);
  }
  expect(racks.size() == s.racks.size() && leaves.size() == s.leaves && pods.size() == s.pods && domains.size() == s.domains,
         "indices are dense");
  const CableTable& t = s.cables.table();
  std::set<std::pair<std::uint32_t, std::string_view>> ports;
  for (std::size_t i = 0; i < t.nics.size(); ++i) {
    const NodeId node{t.nics[i] / Cabling::kNicsMax};
    const auto slot = static_cast<std::int16_t>(t.nics[i] % Cabling::kNicsMax);
    expect(node.v < s.nodes.size() && static_cast<std::uint32_t>(slot) < s.gpus_per_node, "cables are of NICs that are there");
    const auto c = s.cables.at(node, slot);
    expect(c && !c->switch_name.empty() && !c->port.empty(), "a cable goes somewhere");
    expect(ports.emplace(c->to, c->port).second, "a port has one cable");
  }
}

namespace {
void write(JsonWriter& w, const Value& v) {
  double d = 0;
  if (const auto* o = v.object()) {
    w.object();
    for (const auto& m : *o) {
      w.key(m.key);
      write(w, m.value);
    }
    w.end_object();
  } else if (const auto* a = v.array()) {
    w.array();
    for (const Value& item : *a) write(w, item);
    w.end_array();
  } else if (const auto* s = v.string()) {
    w.value(*s);
  } else if (const auto* b = v.boolean()) {
    w.value(*b);
  } else if (const auto* i = v.integer()) {
    w.value(*i);
  } else if (v.number(d)) {
    w.value(d);
  } else {
    w.null();
  }
}
}  // namespace

std::string render(const Value& v) {
  JsonWriter w;
  write(w, v);
  return w.take();
}

}  // namespace muster::fuzz
