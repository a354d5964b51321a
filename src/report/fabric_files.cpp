#include "report/fabric_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "model/fields.h"
#include "report/fabric_topology.h"
#include "report/ib_net.h"

namespace muster::report {
namespace {

using design::FabricKind;
using design::FabricPlan;

constexpr double kHdrGbS = 25;

std::string folder_of(const FabricPlan& plan, std::size_t step) {
  return step == 0 ? std::string() : fmt::format("grow-{}/", plan.steps[step].nodes);
}

// "128 nodes with 8 cards, rail, 32 leaves and 16 spines of 64 ports, 4xNDR".
std::string headline(const FabricPlan& plan, std::size_t step) {
  const design::PlanStep& s = plan.steps[step];
  const design::FabricAsk& a = plan.ask.fabric;
  std::string switches = fmt::format("{} leaves", s.switches[0]);
  if (s.switches[1] > 0) switches += fmt::format(", {} spines", s.switches[1]);
  if (s.switches[2] > 0) switches += fmt::format(", {} cores", s.switches[2]);
  return fmt::format("{} nodes with {} cards, {}, {} of {} ports, {}", s.nodes, a.nics, name_of(a.kind), switches, a.radix,
                     say_ib_rate(a.gb_s));
}

std::string written(const FabricPlan& plan, std::size_t step) {
  return fmt::format("# {}. Written by `muster fabric design`.\n", headline(plan, step));
}

std::string net_heading(const FabricPlan& plan, std::size_t step, bool for_ibsim) {
  // The words that readers of ibnetdiscover's output look for.
  std::string out = fmt::format("\nTopology file: {}. Written by `muster fabric design`.", headline(plan, step));
  if (for_ibsim && plan.ask.fabric.gb_s > kHdrGbS) {
    out += fmt::format(
        "\nLinks are written as 4xHDR, the fastest that ibsim 0.10 knows; they are {}, as in expected_ibnetdiscover.txt.",
        say_ib_rate(plan.ask.fabric.gb_s));
  }
  return out + "\n";
}

std::string root_guids(const FabricPlan& plan, std::size_t step) {
  fmt::memory_buffer out;
  for (const std::uint64_t guid : roots_at(plan, step)) fmt::format_to(std::back_inserter(out), "0x{:016x}\n", guid);
  return fmt::to_string(out);
}

std::string_view routing_engines(const FabricPlan& plan, std::size_t step) {
  const design::PlanStep& s = plan.steps[step];
  if (plan.ask.fabric.kind == FabricKind::dragonfly) return "dfsssp,lash";
  return s.all_switches() < 2 ? "minhop" : "ftree,updn";
}

Result<void> add_step(const FabricPlan& plan, std::size_t step, const FabricFileWishes& w, std::vector<TextFile>& files) {
  const std::string at = folder_of(plan, step);
  const Fabric fabric = fabric_at(plan, step);
  const auto add = [&](const char* name, std::string text) { files.push_back({at + name, std::move(text)}); };
  add("cables.csv", render_cables_csv(plan, step));
  add("node_cables.csv", render_node_cables(plan, step));
  const std::uint32_t ports = plan.ask.fabric.radix;
  add("fabric.net", render_ib_net(fabric, {net_heading(plan, step, true), ports, true}));
  add("expected_ibnetdiscover.txt", render_ib_net(fabric, {net_heading(plan, step, false), ports, false}));
  add("opensm.conf", render_opensm_conf(plan, step, w.opensm_folder + (step == 0 ? "" : "/" + at.substr(0, at.size() - 1))));
  if (plan.ask.fabric.kind != FabricKind::dragonfly) add("root_guids.txt", root_guids(plan, step));
  const auto topology = fabric_topology(fabric);
  if (!topology) return tl::unexpected(topology.error());
  const std::vector<SlurmSwitch> switches = slurm_switches(*topology);
  add("topology.conf", written(plan, step) + render_topology_conf(switches));
  add("topology.yaml", written(plan, step) + render_topology_yaml(switches));
  add("node_labels.yaml", written(plan, step) + render_node_labels(*topology, w.domain_nodes));
  return {};
}

}  // namespace

std::string render_cables_csv(const FabricPlan& plan, std::size_t step) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "label,a,a_port,a_rack,a_unit,b,b_port,b_rack,b_unit,length_m,medium,rate\n");
  const Fabric& f = plan.whole;
  const std::string rate = say_ib_rate(plan.ask.fabric.gb_s);
  std::vector<std::string> racks;
  racks.reserve(f.nodes.size());
  for (const design::Spot& s : plan.floor.spots) racks.push_back(rack_name(s));
  for (std::size_t i = 0; i < plan.cables.size(); ++i) {
    const design::PlannedCable& c = plan.cables[i];
    if (c.since != step) continue;
    const FabricLink &a = f.links[2 * i], &b = f.links[2 * i + 1];
    fmt::format_to(to, "C-{:06},{},{},{},U{:02},{},{},{},U{:02},{:g},{},{}\n", i + 1, f.nodes[a.from].name, a.port, racks[a.from],
                   plan.floor.spots[a.from].unit, f.nodes[b.from].name, b.port, racks[b.from], plan.floor.spots[b.from].unit,
                   c.length_m, name_of(c.medium), rate);
  }
  return fmt::to_string(out);
}

std::string render_node_cables(const FabricPlan& plan, std::size_t step) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "node,nic,switch,port,cable,length_m\n");
  const Fabric& f = plan.whole;
  for (std::size_t i = 0; i < plan.cables.size(); ++i) {
    const FabricLink &a = f.links[2 * i], &b = f.links[2 * i + 1];
    if (plan.cables[i].since > step || plan.tiers[a.from] != 0) continue;
    const std::string_view name = f.nodes[a.from].name;
    const std::size_t space = name.find(' ');
    fmt::format_to(to, "{},{},{},{},C-{:06},{:g}\n", name.substr(0, space), name.substr(space + 1), f.nodes[b.from].name, b.port,
                   i + 1, plan.cables[i].length_m);
  }
  return fmt::to_string(out);
}

std::string render_opensm_conf(const FabricPlan& plan, std::size_t step, const std::string& folder) {
  const std::string_view engines = routing_engines(plan, step);
  std::string out = written(plan, step);
  out += fmt::format("# For OpenSM:  opensm -F {}/opensm.conf\n\n", folder);
  if (plan.ask.fabric.kind == FabricKind::dragonfly) {
    out +=
        "# Shortest ways, balanced over all cables. Lanes keep them free of deadlocks, so programs must ask for their service "
        "level\n"
        "# (a path record) instead of taking 0.\n"
        "routing_engine dfsssp,lash\n"
        "qos TRUE\n";
    return out;
  }
  if (engines == "minhop") {
    out += "# One switch: any engine routes it.\nrouting_engine minhop\n";
    return out;
  }
  out +=
      "# With the roots told, ftree takes the network for the tree that it is even where a cable or a switch is missing. Without "
      "them\n"
      "# it gives up at the first missing cable, and OpenSM routes by minhop and says SUBNET UP: on a tree of three levels a "
      "fifth of\n"
      "# the bandwidth is left. updn, from the same roots, is what remains where ftree fails all the same.\n";
  out += fmt::format("routing_engine {}\nroot_guid_file {}/root_guids.txt\n", engines, folder);
  return out;
}

std::string render_nccl_topology(const design::FabricAsk& a) {
  // Where boards with eight GPUs have them; a file that is taken as it is must have this machine's own.
  constexpr std::string_view kBuses[] = {"1b", "43", "52", "61", "9d", "c3", "d1", "df"};
  const auto bus = [&](std::uint32_t i) {
    return a.nics <= std::size(kBuses) ? std::string(kBuses[i]) : fmt::format("{:02x}", 0x10 + 0x0c * i);
  };
  const std::uint32_t half = (a.nics + 1) / 2;
  std::string out =
      "<!-- Of a node, for NCCL_TOPO_FILE: which card is beside which GPU. The PCI addresses are those of usual boards with "
      "eight GPUs:\n"
      "     compare them with `lspci` and a dump (NCCL_TOPO_DUMP_FILE) of one of the nodes. -->\n"
      "<system version=\"1\">\n";
  constexpr std::string_view kLink = "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"";
  for (std::uint32_t cpu = 0; cpu * half < a.nics; ++cpu) {
    out += fmt::format("  <cpu numaid=\"{}\" arch=\"x86_64\">\n", cpu);
    for (std::uint32_t i = cpu * half; i < std::min(a.nics, (cpu + 1) * half); ++i) {
      out += fmt::format("    <pci busid=\"ffff:{}:00.0\" class=\"0x060400\" {}>\n", bus(i), kLink);
      out += fmt::format("      <pci busid=\"0000:{}:00.0\" class=\"0x030200\" {}>\n        <gpu dev=\"{}\"/>\n      </pci>\n",
                         bus(i), kLink, i);
      out += fmt::format("      <pci busid=\"0000:{}:01.0\" class=\"0x020700\" {}>\n        <nic>\n", bus(i), kLink);
      out +=
          fmt::format("          <net name=\"mlx5_{}\" dev=\"{}\" speed=\"{:.0f}\" port=\"1\" maxconn=\"131072\" gdr=\"1\"/>\n",
                      i, i, a.gb_s * 8000);
      out += "        </nic>\n      </pci>\n    </pci>\n";
    }
    out += "  </cpu>\n";
  }
  return out + "</system>\n";
}

Result<std::vector<TextFile>> fabric_files(const FabricPlan& plan, const FabricFileWishes& w) {
  std::vector<TextFile> out;
  for (std::size_t k = 0; k < plan.steps.size(); ++k) {
    if (auto ok = add_step(plan, k, w, out); !ok) return tl::unexpected(ok.error());
  }
  out.push_back({"nccl_topology.xml", render_nccl_topology(plan.ask.fabric)});
  out.push_back({"summary.json", render_fabric_summary(plan)});
  return out;
}

}  // namespace muster::report
