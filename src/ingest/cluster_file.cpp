#include "ingest/cluster_file.h"

#include <fmt/core.h>

#include "base/check.h"
#include "base/text.h"
#include "ingest/embedded.h"
#include "ingest/form.h"
#include "ingest/pci.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

enum class Domain : std::uint8_t { node, rack };
constexpr std::array<std::string_view, 2> names(Domain) { return {"node", "rack"}; }

// How a run of alike nodes is laid out.
struct Layout {
  std::uint32_t nodes = 0;
  std::uint32_t nodes_per_rack = 4;
  std::uint32_t nodes_per_leaf = 16;
  std::uint32_t leaves_per_pod = 8;
  std::uint32_t racks_per_row = 0;  // 0: rows are not known
  Domain domain = Domain::node;
  std::string gpu_model;  // empty: the site's
  std::string name_format = "node####";
};

constexpr std::size_t kNameMax = 63;  // as a DNS label

bool good_name(std::string_view s) {
  if (s.empty() || s.size() > kNameMax) return false;
  for (const char c : s) {
    const bool ok =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    if (!ok) return false;
  }
  return s[0] != '-' && s[0] != '.';
}

std::string numbered(std::string_view before, std::uint64_t n, std::size_t width, std::string_view after) {
  return fmt::format("{}{:0{}}{}", before, n, width, after);
}

// "node####" and 7 give "node0007".
std::string apply_format(std::string_view format, std::uint64_t n) {
  const std::size_t at = format.find('#');
  std::size_t end = at;
  while (end < format.size() && format[end] == '#') ++end;
  return numbered(format.substr(0, at), n, end - at, format.substr(end));
}

void check_format(Form& form, const Value& v, std::string_view format) {
  const std::size_t at = format.find('#');
  const std::size_t end = at == std::string_view::npos ? at : format.find_first_not_of('#', at);
  const bool one_run =
      at != std::string_view::npos && (end == std::string_view::npos || format.find('#', end) == std::string_view::npos);
  const std::size_t width = one_run ? std::min(end, format.size()) - at : 0;
  if (!one_run || width > 9 || !good_name(apply_format(format, 1))) {
    form.error(
        v, fmt::format("name_format must be a host name with one run of # for the number, as node####, is {}", quoted(format)));
  }
}

// HGX boards as they are met in practice; Grace-Blackwell trays have a PCI domain per GPU.
std::vector<std::string> usual_addresses(std::uint32_t gpus_per_node, Domain domain) {
  if (gpus_per_node == 4 && domain == Domain::rack) return {"0008:01:00", "0009:01:00", "0018:01:00", "0019:01:00"};
  std::vector<std::string> all = {"0000:1b:00", "0000:43:00", "0000:52:00", "0000:61:00",
                                  "0000:9d:00", "0000:c3:00", "0000:d1:00", "0000:df:00"};
  if (gpus_per_node <= all.size()) {
    all.resize(gpus_per_node);
    return all;
  }
  all.clear();
  for (std::uint32_t i = 0; i < gpus_per_node; ++i) all.push_back(fmt::format("0000:{:02x}:00", 0x10 + 0x0c * i));
  return all;
}

// 0.1 GB/s a GPU is what public designs give: 2 TB/s for 24,000 GPUs at Meta (Llama 3), 20 to 62 GB/s for 256 in
// NVIDIA's SuperPOD.
double usual_storage_gbs(std::uint32_t gpus) { return std::max(5.0, 0.1 * static_cast<double>(gpus)); }

void read_layout(Form& form, Layout& l) {
  form.whole("nodes_per_rack", l.nodes_per_rack, 1, 1024);
  form.whole("nodes_per_leaf", l.nodes_per_leaf, 1, 4096);
  form.whole("leaves_per_pod", l.leaves_per_pod, 1, 4096);
  form.name("nvlink_domain", l.domain);
  form.text("node_gpu", l.gpu_model, kNameMax);
  if (form.text("name_format", l.name_format, kNameMax)) check_format(form, *form.any("name_format"), l.name_format);
}

// Adds a run of nodes; racks, leaves and pods begin anew with it.
void add_nodes(Site& site, const Layout& l, std::uint64_t first_number) {
  const std::uint32_t leaf0 = site.leaves;
  const std::uint32_t pod0 = site.pods;
  const auto rack0 = static_cast<std::uint32_t>(site.racks.size());
  for (std::uint32_t i = 0; i < l.nodes; ++i) {
    NodeSpec n;
    n.name = apply_format(l.name_format, first_number + i);
    n.gpu_model = l.gpu_model;
    n.rack = rack0 + i / l.nodes_per_rack;
    n.leaf = leaf0 + i / l.nodes_per_leaf;
    n.pod = pod0 + i / l.nodes_per_leaf / l.leaves_per_pod;
    if (n.rack == site.racks.size()) {
      site.racks.push_back(numbered("rack", site.racks.size() + 1, 3, ""));
      if (l.domain == Domain::rack) ++site.domains;
    }
    if (l.domain == Domain::node) ++site.domains;
    n.domain = site.domains - 1;
    site.leaves = n.leaf + 1;
    site.pods = n.pod + 1;
    site.nodes.push_back(std::move(n));
  }
}

// "gpu[001-016]" gives sixteen names, "gpu1" one. Empty: wrong.
std::vector<std::string> expand(std::string_view s) {
  const std::size_t open = s.find('[');
  if (open == std::string_view::npos) return good_name(s) ? std::vector<std::string>{std::string(s)} : std::vector<std::string>{};
  const std::size_t dash = s.find('-', open);
  const std::size_t close = s.find(']', open);
  if (dash == std::string_view::npos || close == std::string_view::npos || close < dash) return {};
  const std::string_view low = s.substr(open + 1, dash - open - 1);
  const auto from = parse_uint(low);
  const auto to = parse_uint(s.substr(dash + 1, close - dash - 1));
  if (!from || !to || *to < *from || *to - *from >= kClusterNodesMax || low.size() > 9) return {};
  std::vector<std::string> all;
  for (std::uint64_t n = *from; n <= *to; ++n) {
    all.push_back(numbered(s.substr(0, open), n, low.size(), s.substr(close + 1)));
    if (!good_name(all.back())) return {};
  }
  return all;
}

// Names to numbers in the order they are first met.
class Numbers {
 public:
  std::uint32_t of(const std::string& name) {
    return map_.try_emplace(name, static_cast<std::uint32_t>(map_.size())).first->second;
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(map_.size()); }

 private:
  std::map<std::string, std::uint32_t> map_;
};

void read_listed(Form& form, const Value::Array& items, std::string_view file, Site& site) {
  Numbers racks, leaves, pods, domains;
  std::map<std::uint32_t, std::uint32_t> pod_of_leaf;
  for (const Value& item : items) {
    Form f(item, file, "nodes[].");
    std::string names_text, rack = "rack001", leaf, pod = "pod1", domain;
    f.need("name");
    f.text("name", names_text);
    f.text("rack", rack, kNameMax);
    leaf = rack;
    f.text("leaf", leaf, kNameMax);
    f.text("pod", pod, kNameMax);
    const bool shared = f.text("domain", domain, kNameMax);
    std::vector<std::string> all = names_text.empty() ? std::vector<std::string>{} : expand(names_text);
    if (f.ok() && all.empty())
      f.error(item, fmt::format("name must be a host name or a range as gpu[001-016], is {}", quoted(names_text)));
    if (const auto r = f.finish(); !r) return form.adopt(r.error());
    for (std::string& name : all) {
      NodeSpec n;
      n.rack = racks.of(rack);
      if (n.rack == site.racks.size()) site.racks.push_back(rack);
      n.leaf = leaves.of(leaf);
      n.pod = pods.of(pod);
      n.domain = domains.of(shared ? "shared " + domain : "node " + name);
      n.name = std::move(name);
      if (pod_of_leaf.try_emplace(n.leaf, n.pod).first->second != n.pod) {
        return form.error(item, fmt::format("leaf {} is in two pods", quoted(leaf)));
      }
      site.nodes.push_back(std::move(n));
    }
    if (site.nodes.size() > kClusterNodesMax) return form.error(item, fmt::format("more than {} nodes", kClusterNodesMax));
  }
  site.leaves = leaves.size();
  site.pods = pods.size();
  site.domains = domains.size();
}

void read_groups(Form& form, const Value::Array& groups, std::string_view file, const Layout& base, Site& site) {
  for (const Value& g : groups) {
    Form f(g, file, "groups[].");
    Layout l = base;
    f.need("nodes");
    f.whole("nodes", l.nodes, 1, kClusterNodesMax);
    read_layout(f, l);
    if (const auto r = f.finish(); !r) return form.adopt(r.error());
    if (site.nodes.size() + l.nodes > kClusterNodesMax) return form.error(g, fmt::format("more than {} nodes", kClusterNodesMax));
    // A name of its own is numbered from 1; the common one goes on counting.
    add_nodes(site, l, l.name_format == base.name_format ? site.nodes.size() + 1 : 1);
  }
}

void read_nodes(Form& form, std::string_view file, Layout& layout, Site& site) {
  const Value* groups = form.any("groups");
  const Value* nodes = form.any("nodes");
  if ((groups != nullptr) == (nodes != nullptr)) {
    return form.error(groups != nullptr ? groups->line() : 1, "give nodes (a number or a list) or groups, and not both");
  }
  if (groups != nullptr) {
    if (const auto* list = form.list("groups", 1024)) read_groups(form, *list, file, layout, site);
    return;
  }
  if (nodes->array() != nullptr) {
    if (const auto* list = form.list("nodes", kClusterNodesMax)) read_listed(form, *list, file, site);
    return;
  }
  if (form.whole("nodes", layout.nodes, 1, kClusterNodesMax) && form.ok()) add_nodes(site, layout, 1);
}

void read_addresses(Form& form, Site& site) {
  const auto* list = form.list("gpu_pci", kSlotsMax);
  if (list == nullptr) return;
  std::vector<std::string> all;
  for (const Value& v : *list) {
    const auto a = v.string() != nullptr ? read_pci(*v.string()) : std::nullopt;
    if (!a) return form.error(v, "gpu_pci must be PCI addresses as \"0000:1b:00\"");
    const std::string text = render(*a);
    if (std::find(all.begin(), all.end(), text) != all.end()) return form.error(v, fmt::format("gpu_pci has {} twice", text));
    all.push_back(text);
  }
  if (all.size() != site.gpus_per_node) {
    const Value* v = form.any("gpu_pci");
    return form.error(*v, fmt::format("gpu_pci has {} addresses, gpus_per_node is {}", all.size(), site.gpus_per_node));
  }
  site.gpu_pci = std::move(all);
}

void check_names(Form& form, const Value& root, const Site& site) {
  std::set<std::string_view> seen;
  for (const NodeSpec& n : site.nodes) {
    if (!seen.insert(n.name).second) return form.error(root, fmt::format("two nodes have the name {}", quoted(n.name)));
    if (!good_name(n.name))
      return form.error(root, fmt::format("{} is no host name of at most {} bytes", quoted(n.name), kNameMax));
  }
}

}  // namespace

Result<Site> parse_cluster(std::string_view text, std::string_view file, const ReadText& read, CableCounts* cables) {
  auto root = parse_yaml(text, file);
  if (!root) return tl::unexpected<Error>(std::move(root.error()));
  Form form(*root, file);
  Site site;
  Layout layout;
  site.name = "cluster";
  site.gpu_model = "H200";
  form.text("name", site.name, kNameMax);
  form.text("gpu", site.gpu_model, kNameMax);
  form.whole("gpus_per_node", site.gpus_per_node, 1, kSlotsMax);
  form.number("link_gbps", site.link_gbps, 1, 100'000);
  form.number("oversubscription", site.oversubscription, 1, 64);
  form.number("power_limit_kw", site.power_limit_kw, 0, 10'000'000);
  form.whole("racks_per_row", layout.racks_per_row, 0, 1024);
  form.number("rack_power_kw", site.rack_kw, 0, 10'000);
  form.number("row_power_kw", site.row_kw, 0, 1'000'000);
  read_layout(form, layout);
  if (form.ok()) read_nodes(form, file, layout, site);
  if (form.ok() && site.nodes.empty()) form.error(*root, "a cluster needs at least one node");
  if (form.ok()) check_names(form, *root, site);
  for (std::uint32_t r = 0; layout.racks_per_row > 0 && r < site.racks.size(); ++r) {
    site.rack_row.push_back(r / layout.racks_per_row);
  }
  if (form.ok() && site.row_kw > 0 && site.rack_row.empty()) form.error(*root, "row_power_kw needs racks_per_row");
  site.gpu_pci = usual_addresses(site.gpus_per_node, layout.domain);
  read_addresses(form, site);
  CableCounts counts;
  read_cables(form, file, read, site, counts);
  if (cables != nullptr) *cables = counts;
  site.storage_write_gbs = usual_storage_gbs(site.gpus());
  form.number("storage_write_gbs", site.storage_write_gbs, 0.01, 1e6);
  form.any("groups"), form.any("nodes");  // known also when something before them was wrong
  if (const auto r = form.finish(); !r) return tl::unexpected<Error>(r.error());
  return site;
}

std::vector<std::string> preset_cluster_names() {
  constexpr std::string_view kFolder = "clusters/", kEnding = ".yaml";
  std::vector<std::string> all;
  for (const std::string_view path : embedded_files()) {
    if (path.substr(0, kFolder.size()) != kFolder) continue;
    all.emplace_back(path.substr(kFolder.size(), path.size() - kFolder.size() - kEnding.size()));
  }
  return all;
}

Result<Site> preset_cluster(std::string_view name) {
  const auto known = preset_cluster_names();
  const auto text = embedded_file("clusters/" + std::string(name) + ".yaml");
  if (!text) {
    const auto near = nearest(name, known);
    return fail(Code::not_found, fmt::format("no cluster is called {}", quoted(name)),
                fmt::format("{}known: {}; or give a file (docs/formats/cluster.md)", near ? "did you mean " + *near + "? " : "",
                            join(known, ", ")));
  }
  return parse_cluster(*text, fmt::format("clusters/{}.yaml", name));
}

Result<Site> plain_cluster(std::uint32_t gpus) {
  constexpr std::uint32_t kPerNode = 8;
  if (gpus == 0 || gpus % kPerNode != 0 || gpus / kPerNode > kClusterNodesMax) {
    return fail(Code::bad_input, fmt::format("{} GPUs: must be a multiple of 8, from 8 to {}", gpus, kClusterNodesMax * kPerNode),
                fmt::format("try {}", std::clamp((gpus + kPerNode / 2) / kPerNode, 1u, kClusterNodesMax) * kPerNode));
  }
  Site site;
  site.name = fmt::format("plain-{}", gpus);
  site.gpu_model = "H200";
  Layout layout;
  layout.nodes = gpus / kPerNode;
  site.gpu_pci = usual_addresses(kPerNode, layout.domain);
  site.storage_write_gbs = usual_storage_gbs(gpus);
  add_nodes(site, layout, 1);
  return site;
}

}  // namespace muster
