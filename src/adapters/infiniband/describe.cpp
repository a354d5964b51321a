#include "adapters/infiniband/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "adapters/infiniband/port_info.h"
#include "base/text.h"

namespace muster::infiniband {
namespace {

using Bytes = std::span<const std::uint8_t, 64>;

// Quotes would end a name in the text.
std::string name_of(const NetNode& n) {
  std::string out = printable(std::string_view(n.description, strnlen(n.description, 64)));
  std::replace(out.begin(), out.end(), '"', '\'');
  return std::string(trim(out));
}

PortInfo info_of(const NetPort& p) {
  const NetPort* told = p.node->type == kSwitch ? p.node->ports[0] : &p;
  return decode_port_info(Bytes(p.info),
                          told == nullptr ? std::span<const std::uint8_t>() : std::span<const std::uint8_t>(told->info));
}

// What the fabric is like does not tell: one that was not heard.
std::string rate_of(const PortInfo& p) {
  return (p.lanes == 0 ? "??" : fmt::format("{}x", p.lanes)) + (p.speed.empty() ? "???" : std::string(p.speed));
}

char letter(const NetNode& n) { return n.type == kSwitch ? 'S' : n.type == kAdapter ? 'H' : 'R'; }

// The form that ibnetdiscover has printed for twenty years, and everybody reads.
void render(const NetNode& n, std::string& out) {
  const NodeInfo info = decode_node_info(Bytes(n.info));
  const std::string name = name_of(n);
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\nvendid=0x{:x}\ndevid=0x{:x}\nsysimgguid=0x{:x}\n", info.vendor, info.device, info.system_guid);
  if (n.type == kSwitch) {
    fmt::format_to(to, "switchguid=0x{:x}({:x})\nSwitch\t{} \"S-{:016x}\"\t\t# \"{}\" {} port 0 lid {} lmc {}\n", n.guid,
                   info.port_guid, n.port_count, n.guid, name, n.enhanced_port_0 != 0 ? "enhanced" : "base", n.lid, n.lmc);
  } else {
    fmt::format_to(to, "{}guid=0x{:x}\n{}\t{} \"{}-{:016x}\"\t\t# \"{}\"\n", n.type == kAdapter ? "ca" : "rt", n.guid,
                   n.type == kAdapter ? "Ca" : "Rt", n.port_count, letter(n), n.guid, name);
  }
  for (int i = 1; i <= n.port_count; ++i) {
    const NetPort* p = n.ports[i];
    if (p == nullptr || p->remote == nullptr) continue;
    const NetPort& far = *p->remote;
    const std::string far_guid = far.node->type == kSwitch ? "" : fmt::format("({:x}) ", far.guid);
    const std::string own_guid = n.type == kSwitch ? "" : fmt::format("({:x}) ", p->guid);
    const std::string own_lid = n.type == kSwitch ? "" : fmt::format("lid {} lmc {} ", p->lid, p->lmc);
    fmt::format_to(to, "[{}]{}\t\"{}-{:016x}\"[{}]{}\t\t# {}\"{}\" lid {} {}\n", i, own_guid, letter(*far.node), far.node->guid,
                   far.number, far_guid, own_lid, name_of(*far.node), lid_of(far), rate_of(info_of(*p)));
  }
}

PortState state_of(const NetPort& p) {
  const PortInfo info = info_of(p);
  PortState out;
  out.here = end_of(p);
  out.is_switch = p.node->type == kSwitch;
  out.lanes = info.lanes;
  out.lane_gbit_s = info.lane_gbit_s;
  out.logical = info.logical;
  out.physical = info.physical;
  if (p.remote == nullptr) return out;
  out.far = end_of(*p.remote);
  out.far_is_switch = p.remote->node->type == kSwitch;
  const PortInfo far = info_of(*p.remote);
  if (const int both = std::min(info.lanes_could, far.lanes_could); both > info.lanes) out.lanes_could = both;
  if (const double both = fastest_both(info, far); both > info.lane_gbit_s * 1.001) out.lane_gbit_s_could = both;
  return out;
}

}  // namespace

unsigned lid_of(const NetPort& p) { return p.node->type == kSwitch ? p.node->lid : p.lid; }
PortEnd end_of(const NetPort& p) { return {p.node->type == kSwitch ? p.node->guid : p.guid, name_of(*p.node), p.number}; }

std::string render_net(const NetFabric& fabric) {
  std::string out = fmt::format("#\n# Initiated from node {:016x} port {:016x}\n", fabric.from->guid,
                                decode_node_info(Bytes(fabric.from->info)).port_guid);
  // Switches first, as the tool has them.
  for (const bool switches : {true, false}) {
    for (const NetNode* n = fabric.nodes; n != nullptr; n = n->next) {
      if ((n->type == kSwitch) == switches) render(*n, out);
    }
  }
  return out;
}

std::vector<PortState> port_states(const NetFabric& fabric) {
  std::vector<PortState> out;
  for (const NetNode* n = fabric.nodes; n != nullptr; n = n->next) {
    for (int i = 1; i <= n->port_count; ++i) {
      if (n->ports[i] != nullptr) out.push_back(state_of(*n->ports[i]));
    }
  }
  return out;
}

}  // namespace muster::infiniband
