// What provisioning tools need of a cluster that is to be installed: node lists, variables, first-boot files.
#include <fmt/core.h>

#include <map>
#include <set>

#include "base/json_writer.h"
#include "base/text.h"
#include "fleet/remedied.h"
#include "ingest/slurm_text.h"
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

std::string listed(std::vector<std::string> names) {
  for (std::string& name : names) name = printable(name);
  return slurm::compress_names(std::move(names));
}

// Nodes with such names, as a list; empty: none.
std::string such_nodes(const Site& site, bool (*such)(std::string_view)) {
  std::vector<std::string> names;
  for (const NodeSpec& n : site.nodes) {
    if (such(n.name)) names.push_back(n.name);
  }
  return names.empty() ? "" : listed(std::move(names));
}

bool no_host_of_maas(std::string_view name) {
  return name.find('_') != std::string_view::npos || name.ends_with('-') || name.ends_with('.');
}

// Which user-data each node gets: "base", "change_01".
std::vector<std::string> user_data_of(const Site& site, const fleet::Repair& r) {
  std::vector<std::string> out(site.nodes.size(), "base");
  for (std::size_t i = 0; i < r.sets.size(); ++i) {
    for (const std::uint32_t n : r.sets[i].nodes) out[n] = change_name(r, i);
  }
  return out;
}

std::string user_data_file(std::string_view name) { return fmt::format("{}.user-data.yaml", name); }

std::string all_nodes(const Site& site) {
  std::string out =
      "---\n# Every node of the cluster, by GPU and by rack. The groups of changes and waves are in inventory.yml.\n";
  if (const std::string taken = such_nodes(site, fleet::taken_name); !taken.empty())
    out += comment(fmt::format("Without {}: Ansible has another use for that name.", taken));
  std::map<std::string, std::string> groups;
  for (const NodeSpec& n : site.nodes) {
    if (fleet::taken_name(n.name)) continue;
    const std::string host = fmt::format("        {}:\n", json_quoted(n.name));
    groups[fmt::format("gpu_{}", group_word(model_of(site, n)))] += host;
    groups[fmt::format("rack_{:04}", n.rack + 1)] +=
        fmt::format("        {}:\n          muster_rack: {}\n          muster_leaf: {}\n          muster_nvlink_domain: {}\n",
                    json_quoted(n.name), json_quoted(site.racks[n.rack]), n.leaf, n.domain);
  }
  if (groups.empty()) return out + "all:\n  children: {}\n";
  out += "all:\n  children:\n";
  for (const auto& [name, hosts] : groups) out += fmt::format("    {}:\n      hosts:\n{}", name, hosts);
  return out;
}

// What nobody knows before the machines are there is left empty: hardware addresses and controllers. The first two columns are
// what a shell reads, and hold no comma.
std::string maas_machines(const Site& site, const std::vector<std::string>& user_data) {
  Table t;
  for (const char* name :
       {"hostname", "user_data", "architecture", "mac_addresses", "power_type", "power_address", "zone", "tags"})
    t.columns.push_back({name, false, false, true, name});
  for (std::size_t i = 0; i < site.nodes.size(); ++i) {
    const NodeSpec& n = site.nodes[i];
    const std::string tags = fmt::format("gpu-{} leaf-{} pod-{}", group_word(model_of(site, n)), n.leaf, n.pod);
    std::vector<Cell> row;
    for (const std::string& text : {n.name, "cloud-init/" + user_data_file(user_data[i]), std::string("amd64/generic"),
                                    std::string(), std::string("redfish"), std::string(), site.racks[n.rack], tags})
      row.emplace_back(text);
    t.rows.push_back(std::move(row));
  }
  return render_csv(t, true);
}

std::string warewulf_nodes(const Site& site, const std::vector<std::string>& user_data) {
  std::map<std::string, std::string> profiles;
  std::string nodes;
  for (std::size_t i = 0; i < site.nodes.size(); ++i) {
    const NodeSpec& n = site.nodes[i];
    const std::string profile = "gpu-" + group_word(model_of(site, n));
    profiles[profile] =
        fmt::format("  {}:\n    comment: {}\n    tags:\n      gpus: \"{}\"\n", profile,
                    json_quoted(fmt::format("{} x {}", site.gpus_per_node, model_of(site, n))), site.gpus_per_node);
    const std::string of_data = "user-data-" + user_data[i];
    profiles[of_data] = fmt::format("  {}:\n    comment: {}\n    tags:\n      user_data: {}\n", of_data,
                                    json_quoted(fmt::format("first boot: cloud-init/{}", user_data_file(user_data[i]))),
                                    json_quoted(user_data_file(user_data[i])));
    nodes += fmt::format(
        "  {}:\n    profiles:\n      - default\n      - {}\n      - {}\n    tags:\n      rack: {}\n      leaf: \"{}\"\n",
        json_quoted(n.name), profile, of_data, json_quoted(site.racks[n.rack]), n.leaf);
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

// Keys of every node's user-data.
std::string base_keys(const std::vector<std::string>& ssh_keys) {
  std::string out = "package_update: true\npackage_upgrade: false\nssh_pwauth: false\n";
  if (ssh_keys.empty()) out += "# Nobody can log in: no key was named.\n";
  if (!ssh_keys.empty()) out += "ssh_authorized_keys:\n";
  for (const std::string& key : ssh_keys) out += fmt::format("  - {}\n", json_quoted(key));
  return out + "ntp:\n  enabled: true\n";
}

// The installer's answers around a user-data.
std::string autoinstall(std::string_view user_data) {
  std::string out =
      "#cloud-config\n# For Ubuntu's installer. Storage and the network are the site's to say; this takes the whole first disk.\n"
      "autoinstall:\n  version: 1\n  refresh-installer:\n    update: false\n  ssh:\n    install-server: true\n    allow-pw: "
      "false\n"
      "  storage:\n    layout:\n      name: direct\n"
      "  # Once, before the first boot: nothing is pinned by then. What the user-data pins it holds against later ones.\n"
      "  updates: security\n  user-data:\n";
  for (const std::string_view line : split(user_data, '\n')) {
    if (line != "#cloud-config" && !line.empty()) out += fmt::format("    {}\n", line);
  }
  return out;
}

// Which node gets which user-data, and how two of the tools are told.
std::string about_user_data(const Site& site, const std::vector<std::string>& user_data) {
  std::map<std::string, std::vector<std::string>> nodes = {{"base", {}}};
  for (std::size_t i = 0; i < site.nodes.size(); ++i) nodes[user_data[i]].push_back(site.nodes[i].name);
  std::string out =
      "\n## Which user-data a node gets\n"
      "cloud-init takes one user-data for an instance, so each of these is whole: what `base` says stands in the others too. "
      "The\n"
      "file of the same name in `autoinstall/` has it inside.\n\n| user-data | nodes |\n|---|---|\n";
  for (const auto& [name, of] : nodes)
    out += fmt::format("| cloud-init/{} | {} |\n", user_data_file(name), of.empty() ? "none" : escape_markdown(listed(of)));
  out +=
      "\n## MAAS\nMAAS takes a user-data when it deploys a machine. Of machines that are ready, with `jq`, in this folder:\n\n"
      "    tail -n +2 maas/machines.csv | while IFS=, read -r host user_data rest; do\n"
      "      id=$(maas PROFILE machines read hostname=\"$host\" < /dev/null | jq -r '.[0].system_id')\n"
      "      maas PROFILE machine deploy \"$id\" user_data=\"$(base64 -w0 \"$user_data\")\" < /dev/null\n"
      "    done\n"
      "\n## Warewulf\nA profile gives each node the tag `user_data`: the name of its file. A template of an overlay reads it as\n"
      "`.Tags.user_data`; with `cloud-init/` copied to /etc/warewulf, these two files of one are what cloud-init looks for "
      "(NoCloud):\n\n"
      "    /var/lib/cloud/seed/nocloud/user-data.ww    {{ Include (printf \"/etc/warewulf/cloud-init/%s\" .Tags.user_data) }}\n"
      "    /var/lib/cloud/seed/nocloud/meta-data.ww    instance-id: {{ .Id }}\n";
  return out;
}

std::string about_people(const Site& site, const fleet::Repair& r, const std::vector<std::string>& ssh_keys) {
  std::string out = "\n## Who may log in\n";
  if (ssh_keys.empty())
    out += "Nobody: no user-data has a key. Write the folder anew with `--ssh-key FILE`, or add `ssh_authorized_keys`.\n";
  else
    out += "The first user of the image, with any of these keys:\n\n";
  for (const std::string& key : ssh_keys) out += fmt::format("    {}\n", key);
  std::string by_hand, left_out;
  for (const fleet::ByHand& b : r.by_hand)
    (b.left_out ? left_out : by_hand) += "- " + escape_markdown(printable(told(r, b))) + "\n";
  for (const std::string& note : provision_names(site)) left_out += "- " + escape_markdown(printable(note)) + "\n";
  for (const std::string& note : r.notes) left_out += "- " + escape_markdown(printable(note)) + "\n";
  if (!by_hand.empty()) out += "\n## To be done by hand\n" + by_hand;
  if (!left_out.empty()) out += "\n## Left out\n" + left_out;
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
      {"maas/machines.csv",
       "MAAS: one line a machine, with its user-data; hardware and controller addresses are to be filled in"},
      {"warewulf/nodes.conf", "Warewulf 4: profiles, of GPU and of user-data, and nodes, to be merged into its own"},
      {"terraform/cluster.auto.tfvars", "Terraform and OpenTofu: variables, no resources"},
      {"cloud-init/base", "cloud-init: of nodes for which nothing is declared"},
      {"cloud-init/", "cloud-init: of the nodes that its comment names, whole"},
      {"autoinstall/", "Ubuntu's installer, with the user-data of the same name inside"}};
  for (const TextFile& f : files) {
    for (const auto& [name, what] : about) {
      if (!f.name.starts_with(name)) continue;
      out += fmt::format("| {} | {} |\n", f.name, what);
      break;
    }
  }
  return out;
}

std::string about_packages(const fleet::Repair& r) {
  const std::vector<std::string> names = provision_packages(r);
  if (names.empty()) return "";
  return fmt::format(
      "\n## Repositories that the image has to have\nNothing here adds one. In these versions the system's own archive has not "
      "all of them; of the driver and CUDA, NVIDIA's\nrepository (developer.download.nvidia.com) does: {}. Where one is missing, "
      "the "
      "user-data ends\nthere, with what is missing in /var/log/cloud-init-output.log; nothing is held then, and nothing "
      "rebooted.\n",
      escape_markdown(join(names, ", ")));
}

constexpr std::string_view kGate =
    "\n## Before a new node joins\n`muster fleet probe` and `muster accept quick` on it, then\n"
    "`muster fleet provision join NODE FACTS --acceptance FILE`, with the facts of the fleet and of the node.\n";

}  // namespace

std::vector<std::string> provision_names(const Site& site) {
  std::vector<std::string> out;
  if (const std::string taken = such_nodes(site, fleet::taken_name); !taken.empty())
    out.push_back(fmt::format("Ansible has another use for that name, and nothing in ansible/ has it: {}; rename it", taken));
  if (const std::string no_host = such_nodes(site, no_host_of_maas); !no_host.empty())
    out.push_back(fmt::format("MAAS takes no such hostname (letters, digits, - and . between them): {}; rename it", no_host));
  return out;
}

std::vector<std::string> provision_packages(const fleet::Repair& r) {
  std::set<std::string> names;
  for (const fleet::ChangeSet& s : r.sets) {
    for (const fleet::Change& c : s.changes) {
      if (c.by == RemedyBy::package && !c.absent) names.insert(s.rpm ? c.other : c.name);
    }
  }
  return {names.begin(), names.end()};
}

std::vector<TextFile> provision_files(const Site& site, const fleet::Repair& declared, std::string_view whence,
                                      const std::vector<std::string>& ssh_keys) {
  std::vector<TextFile> out;
  for (TextFile& f : ansible_site(declared, whence)) {
    if (f.name == "ansible.cfg") f.text = "[defaults]\ninventory = inventory.yml,nodes.yml\n";
    f.name = "ansible/" + f.name;
    out.push_back(std::move(f));
  }
  const std::vector<std::string> user_data = user_data_of(site, declared);
  const std::string keys = base_keys(ssh_keys);
  const std::string base = "#cloud-config\n# For nodes for which nothing is declared. Nothing is upgraded by it.\n" + keys;
  out.push_back({"ansible/nodes.yml", all_nodes(site)});
  out.push_back({"maas/machines.csv", maas_machines(site, user_data)});
  out.push_back({"warewulf/nodes.conf", warewulf_nodes(site, user_data)});
  out.push_back({"terraform/cluster.auto.tfvars", site_tfvars(site)});
  out.push_back({"cloud-init/" + user_data_file("base"), base});
  out.push_back({"autoinstall/base.autoinstall.yaml", autoinstall(base)});
  const std::vector<TextFile> changes = cloud_init_files(declared, whence, keys);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    out.push_back({"cloud-init/" + changes[i].name, changes[i].text});
    // Ubuntu's installer installs Ubuntu.
    if (!declared.sets[i].rpm)
      out.push_back({fmt::format("autoinstall/{}.autoinstall.yaml", change_name(declared, i)), autoinstall(changes[i].text)});
  }
  std::string about = readme(site, out);
  about += about_user_data(site, user_data);
  about += about_packages(declared);
  about += about_people(site, declared, ssh_keys);
  out.push_back({"README.md", about + std::string(kGate)});
  return out;
}

}  // namespace muster::report
