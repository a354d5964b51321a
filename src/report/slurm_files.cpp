#include "report/slurm_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/text.h"
#include "ingest/embedded.h"
#include "ingest/slurm_text.h"

namespace muster::report {
namespace {

using Names = std::vector<std::string>;
using slurm::compress_names;

// Slurm's name of a model: "h200".
std::string type_of(const Site& site, const NodeSpec& n) {
  std::string out;
  for (const char c : lower(n.gpu_model.empty() ? site.gpu_model : n.gpu_model)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_') out += c;
  }
  return out;
}

// Nodes by GPU model, in the order in which the models come.
std::vector<std::pair<std::string, Names>> by_type(const Site& site) {
  std::vector<std::pair<std::string, Names>> out;
  for (const NodeSpec& n : site.nodes) {
    const std::string type = type_of(site, n);
    auto at = std::find_if(out.begin(), out.end(), [&](const auto& x) { return x.first == type; });
    if (at == out.end()) at = out.insert(out.end(), {type, {}});
    at->second.push_back(n.name);
  }
  return out;
}

std::string numbered(std::string_view word, std::size_t index, std::size_t count) {
  return fmt::format("{}{:0{}}", word, index + 1, std::to_string(count).size());
}

// Leaves first. The description has no names for switches.
std::vector<SlurmSwitch> switches_of(const Site& site) {
  std::vector<Names> leaves(site.leaves), pods(site.pods);
  std::vector<bool> known(site.leaves);
  for (const NodeSpec& n : site.nodes) {
    leaves[n.leaf].push_back(n.name);
    if (!known[n.leaf]) pods[n.pod].push_back(numbered("leaf", n.leaf, site.leaves));
    known[n.leaf] = true;
  }
  std::vector<SlurmSwitch> out;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    out.push_back({numbered("leaf", i, leaves.size()), compress_names(std::move(leaves[i])), ""});
  if (leaves.size() < 2) return out;
  Names spines;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    spines.push_back(pods.size() == 1 ? "spine" : numbered("spine", i, pods.size()));
    out.push_back({spines.back(), "", compress_names(std::move(pods[i]))});
  }
  // Without a switch above all, Slurm starts no job across pods.
  if (spines.size() > 1) out.push_back({"core", "", compress_names(std::move(spines))});
  return out;
}

// NVLink domains of several nodes; none where each node is its own.
std::vector<Names> domains_of(const Site& site) {
  std::vector<Names> out(site.domains);
  for (const NodeSpec& n : site.nodes) out[n.domain].push_back(n.name);
  if (std::all_of(out.begin(), out.end(), [](const Names& d) { return d.size() < 2; })) out.clear();
  return out;
}

std::string all_nodes(const Site& site) {
  Names names;
  for (const NodeSpec& n : site.nodes) names.push_back(n.name);
  return compress_names(std::move(names));
}

std::string headline(const Site& site, std::string_view where) {
  return fmt::format("# For {}: {} nodes, {} GPUs. Written by `muster fleet emit slurm`. {}\n", printable(site.name),
                     site.nodes.size(), site.gpus(), where);
}

std::string slurm_conf(const Site& site, const SlurmWishes& w) {
  std::string out = headline(site, "In slurm.conf:  include muster.conf");
  out +=
      "# slurm.conf may name a key once only: what stands here must not stand there as well.\n\n"
      "SelectType=select/cons_tres\n";
  // Without RealMemory a node has 1 MB, and no job would fit.
  out += fmt::format("SelectTypeParameters={}\n", w.hardware.empty() ? "CR_Core" : "CR_Core_Memory");
  out +=
      "GresTypes=gpu\n"
      "# topology.conf; from 25.05 on topology.yaml, which goes before it\n"
      "TopologyPlugin=topology/tree\n"
      "# job_submit.lua must lie beside slurm.conf before slurmctld is started with this.\n"
      "JobSubmitPlugins=lua\n"
      "# Jobs that have ended stay listed for five minutes, so that Muster sees how they ended.\n"
      "MinJobAge=300\n"
      "# A job of a lost node is put back into the queue, unless its owner said --no-requeue.\n"
      "JobRequeue=1\n"
      "# A job whose launch fails on a broken node goes back into the queue, instead of being held for a person to release.\n"
      "#SchedulerParameters=nohold_on_prolog_fail\n"
      "# Lets Muster reboot nodes by `scontrol reboot`: a program on each node, run by slurmd as root.\n"
      "#RebootProgram=/usr/sbin/reboot\n\n";
  if (w.hardware.empty()) {
    out +=
        "# Cores and memory are not known, so Slurm takes each node for one core. `slurmd -C` on a node prints the words;\n"
        "# muster fleet emit slurm --hardware \"$(slurmd -C)\" puts them here.\n";
  }
  for (const auto& [type, names] : by_type(site)) {
    out += fmt::format("NodeName={}{}{} Gres=gpu{}:{}{} State=UNKNOWN\n", compress_names(names), w.hardware.empty() ? "" : " ",
                       w.hardware, type.empty() ? "" : ":" + type, site.gpus_per_node, type.empty() ? "" : " Feature=" + type);
  }
  out += fmt::format("PartitionName={} Nodes={} Default=YES MaxTime=INFINITE State=UP\n", w.partition, all_nodes(site));
  return out;
}

// Device files of a node's GPUs, as the driver names them.
std::string device_files(const std::string& type, std::uint32_t gpus) {
  const bool amd = type.rfind("mi", 0) == 0;
  const std::uint32_t first = amd ? 128 : 0;
  const std::string base = amd ? "/dev/dri/renderD" : "/dev/nvidia";
  return gpus == 1 ? fmt::format("{}{}", base, first) : fmt::format("{}[{}-{}]", base, first, first + gpus - 1);
}

std::string gres_conf(const Site& site) {
  std::string out = headline(site, "Beside slurm.conf, on every node.");
  out +=
      "# Where slurmd was built with NVML (or rsmi), AutoDetect=nvml (rsmi) finds the files, cores and links by itself:\n"
      "# then that one line stands for all of these.\n";
  for (const auto& [type, names] : by_type(site)) {
    out += fmt::format("NodeName={} Name=gpu{} File={}\n", compress_names(names), type.empty() ? "" : " Type=" + type,
                       device_files(type, site.gpus_per_node));
  }
  return out;
}

std::string topology_conf(const Site& site) {
  return headline(site, "Beside slurm.conf.") + render_topology_conf(switches_of(site));
}

std::string topology_yaml(const Site& site) {
  std::string out = headline(site, "Beside slurm.conf; Slurm 25.05 and later.");
  out += render_topology_yaml(switches_of(site));
  const std::vector<Names> domains = domains_of(site);
  if (domains.empty()) return out;
  const auto least =
      std::min_element(domains.begin(), domains.end(), [](const Names& a, const Names& b) { return a.size() < b.size(); });
  out += "# A partition asks for it by Topology=nvlink: jobs within one NVLink domain first.\n";
  out += fmt::format("- topology: nvlink\n  cluster_default: false\n  block:\n    block_sizes:\n      - {}\n    blocks:\n",
                     least->size());
  for (std::size_t i = 0; i < domains.size(); ++i) {
    out +=
        fmt::format("      - block: {}\n        nodes: {}\n", numbered("nvlink", i, domains.size()), compress_names(domains[i]));
  }
  return out;
}

std::string shipped(std::string_view name, const SlurmWishes& w) {
  const auto text = embedded_file(fmt::format("emit/slurm/{}", name));
  MUSTER_CHECK(text.has_value());
  std::string out(*text);
  const std::pair<std::string_view, std::string> marks[] = {
      {"@folder@", w.folder}, {"@heartbeat@", w.heartbeat}, {"@partitions@", fmt::format("[\"{}\"] = true", w.partition)}};
  for (const auto& [mark, value] : marks) {
    for (auto at = out.find(mark); at != std::string::npos; at = out.find(mark, at + value.size()))
      out.replace(at, mark.size(), value);
  }
  return out;
}

}  // namespace

std::string render_topology_conf(std::span<const SlurmSwitch> switches) {
  std::string out;
  for (const SlurmSwitch& s : switches) {
    out += s.nodes.empty() ? fmt::format("SwitchName={} Switches={}\n", s.name, s.switches)
                           : fmt::format("SwitchName={} Nodes={}\n", s.name, s.nodes);
  }
  return out;
}

std::string render_topology_yaml(std::span<const SlurmSwitch> switches) {
  std::string out = "---\n- topology: fabric\n  cluster_default: true\n  tree:\n    switches:\n";
  for (const SlurmSwitch& s : switches) {
    out += fmt::format("      - switch: {}\n        {}: {}\n", s.name, s.nodes.empty() ? "children" : "nodes",
                       s.nodes.empty() ? s.switches : s.nodes);
  }
  return out;
}

std::vector<TextFile> slurm_files(const Site& site, const SlurmWishes& w) {
  std::vector<TextFile> out = {{"muster.conf", slurm_conf(site, w)},
                               {"gres.conf", gres_conf(site)},
                               {"topology.conf", topology_conf(site)},
                               {"topology.yaml", topology_yaml(site)}};
  // Under a name of its own: a site's job_submit.lua must not be written over.
  out.push_back({"job_submit.lua.example", shipped("job_submit.lua", w)});
  for (const std::string_view name :
       {"muster.lua", "muster-release.sh", "muster-release.service", "muster-release.timer", "muster-hook.sh"})
    out.push_back({std::string(name), shipped(name, w), name.ends_with(".sh")});
  return out;
}

Result<std::string> slurm_hardware(std::string_view text) {
  constexpr std::string_view kKeys[] = {"CPUs",           "Boards",         "SocketsPerBoard", "Sockets",
                                        "CoresPerSocket", "ThreadsPerCore", "RealMemory",      "TmpDisk"};
  const char* const next = "give what `slurmd -C` prints on a node: --hardware \"$(slurmd -C)\"";
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
  std::string out;
  for (const std::string_view word : split(line, ' ')) {
    if (word.empty()) continue;
    const auto equals = word.find('=');
    const std::string key(word.substr(0, equals));
    // What differs from node to node, or is said elsewhere.
    if (key == "NodeName" || key == "UpTime" || key == "Gres") continue;
    const auto known = std::find_if(std::begin(kKeys), std::end(kKeys), [&](auto k) { return lower(k) == lower(key); });
    const auto number = equals == std::string_view::npos ? std::nullopt : parse_uint(word.substr(equals + 1));
    if (known == std::end(kKeys) || !number || *number == 0)
      return fail(Code::bad_input, fmt::format("--hardware: \"{}\" is no word about a node's hardware", printable(word)), next);
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", *known, *number);
  }
  if (out.empty()) return fail(Code::bad_input, "--hardware: nothing about cores or memory in it", next);
  return out;
}

}  // namespace muster::report
