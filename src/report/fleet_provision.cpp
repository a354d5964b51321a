// What provisioning tools need of a cluster that is to be installed: node lists, variables, first-boot files.
#include <fmt/core.h>

#include <map>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/fleet_files.h"
#include "report/fleet_text.h"
#include "report/table.h"

namespace muster::report {
namespace {

// As JSON writes it, which YAML reads the same.
std::string json_quoted(std::string_view text) {
  JsonWriter w;
  w.value(text);
  return w.take();
}

// Terraform would take ${ and %{ for its own.
std::string hcl_quoted(std::string_view text) {
  std::string out;
  const std::string quoted = json_quoted(text);
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i + 1 < quoted.size() ? i + 1 : i] == '{' && (quoted[i] == '$' || quoted[i] == '%')) out += quoted[i];
    out += quoted[i];
  }
  return out;
}

std::string model_of(const Site& site, const NodeSpec& n) { return n.gpu_model.empty() ? site.gpu_model : n.gpu_model; }

std::string group_word(std::string_view text) {
  std::string out;
  for (const char c : lower(text)) out += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
  return out;
}

std::string all_nodes(const Site& site) {
  std::string out =
      "---\n# Every node of the cluster, by GPU and by rack. The groups of changes and waves are in inventory.yml.\nall:\n  "
      "children:\n";
  std::map<std::string, std::string> groups;
  for (const NodeSpec& n : site.nodes) {
    const std::string host = fmt::format("        {}:\n", json_quoted(n.name));
    groups[fmt::format("gpu_{}", group_word(model_of(site, n)))] += host;
    groups[fmt::format("rack_{:04}", n.rack + 1)] +=
        fmt::format("        {}:\n          muster_rack: {}\n          muster_leaf: {}\n          muster_nvlink_domain: {}\n",
                    json_quoted(n.name), json_quoted(site.racks[n.rack]), n.leaf, n.domain);
  }
  for (const auto& [name, hosts] : groups) out += fmt::format("    {}:\n      hosts:\n{}", name, hosts);
  return out;
}

// What nobody knows before the machines are there is left empty: hardware addresses and controllers.
std::string maas_machines(const Site& site) {
  Table t;
  for (const char* name : {"hostname", "architecture", "mac_addresses", "power_type", "power_address", "zone", "tags"})
    t.columns.push_back({name, false, false, true, name});
  for (const NodeSpec& n : site.nodes) {
    const std::string tags = fmt::format("gpu-{} leaf-{} pod-{}", group_word(model_of(site, n)), n.leaf, n.pod);
    std::vector<Cell> row;
    for (const std::string& text :
         {n.name, std::string("amd64/generic"), std::string(), std::string("redfish"), std::string(), site.racks[n.rack], tags})
      row.emplace_back(text);
    t.rows.push_back(std::move(row));
  }
  return render_csv(t, true);
}

std::string warewulf_nodes(const Site& site) {
  std::map<std::string, std::string> profiles;
  std::string nodes;
  for (const NodeSpec& n : site.nodes) {
    const std::string profile = "gpu-" + group_word(model_of(site, n));
    profiles[profile] =
        fmt::format("  {}:\n    comment: {}\n    tags:\n      gpus: \"{}\"\n", profile,
                    json_quoted(fmt::format("{} x {}", site.gpus_per_node, model_of(site, n))), site.gpus_per_node);
    nodes += fmt::format("  {}:\n    profiles:\n      - default\n      - {}\n    tags:\n      rack: {}\n      leaf: \"{}\"\n",
                         json_quoted(n.name), profile, json_quoted(site.racks[n.rack]), n.leaf);
  }
  std::string out =
      "# For Warewulf 4: to be merged into nodes.conf. Image, network devices and their hardware addresses are the site's to "
      "add:\n"
      "# wwctl node set NODE --netname default --hwaddr ADDRESS --ipaddr ADDRESS\nnodeprofiles:\n";
  for (const auto& [name, text] : profiles) out += text;
  return out + "nodes:\n" + nodes;
}

std::string site_tfvars(const Site& site) {
  std::string out = fmt::format(
      "# Variables alone: resources, and the state they own, are the site's.\ncluster = {{\n  name = {}\n  gpu = {}\n"
      "  gpus_per_node = {}\n  link_gbps = {}\n}}\n\nnodes = {{\n",
      hcl_quoted(site.name), hcl_quoted(site.gpu_model), site.gpus_per_node, render_number(site.link_gbps));
  for (const NodeSpec& n : site.nodes) {
    out += fmt::format("  {} = {{ gpu = {}, rack = {}, leaf = {}, pod = {}, nvlink_domain = {} }}\n", hcl_quoted(n.name),
                       hcl_quoted(model_of(site, n)), hcl_quoted(site.racks[n.rack]), n.leaf, n.pod, n.domain);
  }
  return out + "}\n";
}

constexpr std::string_view kBase =
    "#cloud-config\n"
    "# For every node. Versions stay as they are installed: an unattended upgrade of a driver breaks running jobs.\n"
    "package_update: true\npackage_upgrade: false\nssh_pwauth: false\nntp:\n  enabled: true\n";

// The installer's answers around a user-data.
std::string autoinstall(std::string_view user_data) {
  std::string out =
      "#cloud-config\n# For Ubuntu's installer. Storage and the network are the site's to say; this takes the whole first disk.\n"
      "autoinstall:\n  version: 1\n  refresh-installer:\n    update: false\n  ssh:\n    install-server: true\n    allow-pw: "
      "false\n"
      "  storage:\n    layout:\n      name: direct\n  updates: security\n  user-data:\n";
  for (const std::string_view line : split(user_data, '\n')) {
    if (line != "#cloud-config" && !line.empty()) out += fmt::format("    {}\n", line);
  }
  return out;
}

std::string readme(const Site& site, const std::vector<TextFile>& files) {
  std::string out = fmt::format("# {}: {} nodes, {} GPUs\nWritten by `muster fleet provision`.\n\n| file | for |\n|---|---|\n",
                                escape_markdown(printable(site.name)), site.nodes.size(), site.gpus());
  const std::pair<const char*, const char*> about[] = {
      {"ansible/inventory.yml", "Ansible: groups by wave, kind and change, of what was declared"},
      {"ansible/nodes.yml", "Ansible: every node, by GPU and by rack"},
      {"ansible/site.yml", "Ansible: brings nodes to what was declared, canaries first"},
      {"ansible/group_vars", "Ansible: what each change is"},
      {"ansible/README.md", "how to run it"},
      {"ansible/", "Ansible: the role, its collections and its configuration"},
      {"maas/machines.csv", "MAAS: one line a machine; hardware and controller addresses are to be filled in"},
      {"warewulf/nodes.conf", "Warewulf 4: profiles and nodes, to be merged into its own"},
      {"terraform/cluster.auto.tfvars", "Terraform and OpenTofu: variables, no resources"},
      {"cloud-init/base", "cloud-init: of every node"},
      {"cloud-init/", "cloud-init: of the nodes that its comment names"},
      {"autoinstall/", "Ubuntu's installer, with the user-data of the same name inside"}};
  for (const TextFile& f : files) {
    for (const auto& [name, what] : about) {
      if (!f.name.starts_with(name)) continue;
      out += fmt::format("| {} | {} |\n", f.name, what);
      break;
    }
  }
  return out +
         "\nBefore a new node joins: `muster fleet probe` and `muster accept quick` on it, then\n"
         "`muster fleet provision join NODE FACTS --acceptance FILE`, with the facts of the fleet and of the node.\n";
}

}  // namespace

std::vector<TextFile> provision_files(const Site& site, const fleet::Repair& declared, std::string_view whence) {
  std::vector<TextFile> out;
  for (TextFile& f : ansible_site(declared, whence)) {
    if (f.name == "ansible.cfg") f.text = "[defaults]\ninventory = inventory.yml,nodes.yml\n";
    f.name = "ansible/" + f.name;
    out.push_back(std::move(f));
  }
  out.push_back({"ansible/nodes.yml", all_nodes(site)});
  out.push_back({"maas/machines.csv", maas_machines(site)});
  out.push_back({"warewulf/nodes.conf", warewulf_nodes(site)});
  out.push_back({"terraform/cluster.auto.tfvars", site_tfvars(site)});
  out.push_back({"cloud-init/base.user-data.yaml", std::string(kBase)});
  out.push_back({"autoinstall/base.autoinstall.yaml", autoinstall(kBase)});
  for (const TextFile& f : cloud_init_files(declared, whence)) {
    const std::string name = f.name.substr(0, f.name.find('.'));
    out.push_back({"cloud-init/" + f.name, f.text});
    out.push_back({fmt::format("autoinstall/{}.autoinstall.yaml", name), autoinstall(f.text)});
  }
  out.push_back({"README.md", readme(site, out)});
  return out;
}

}  // namespace muster::report
