#include "report/finding_view.h"

#include <fmt/core.h>

#include <set>

#include "base/text.h"
#include "report/units.h"

namespace muster::report {

Whereabouts whereabouts(const State& s, const Finding& f) {
  Whereabouts w;
  if (f.kind == FindingKind::row_hot && f.slot >= 0) w.row = std::to_string(f.slot + 1);
  const bool of_job = f.kind == FindingKind::nccl_hang || f.kind == FindingKind::sdc_suspected;
  if (f.job.some())
    w.job = "job " + render(f.job);
  else if (of_job)  // one that no engine told of
    w.job = printable(f.subject);
  if (f.node.v >= s.site.nodes.size()) return w;
  const NodeSpec& n = s.site.nodes[f.node.v];
  w.node = n.name;
  if (n.rack < s.site.racks.size()) w.rack = s.site.racks[n.rack];
  w.leaf = n.leaf;
  w.pod = n.pod;
  w.domain = n.domain;
  if (const std::uint32_t row = row_of(s.site, f.node); row != kNoRow) w.row = std::to_string(row + 1);
  if (f.slot < 0) return w;
  if (of_link(f)) {
    w.nic = nic_name(f.slot);
    if (const auto cable = s.site.cables.at(f.node, f.slot)) {
      w.switch_name = cable->switch_name;
      w.switch_port = cable->port;
      w.cable = cable->label;
    }
  }
  if (static_cast<std::size_t>(f.slot) < s.site.gpu_pci.size()) w.pci = s.site.gpu_pci[static_cast<std::size_t>(f.slot)];
  if (const GpuIdentity* g = find_gpu(s, f.node, f.slot)) {
    w.uuid = g->uuid;
    w.serial = g->serial;
    if (!g->pci.empty()) w.pci = g->pci;
  }
  return w;
}

std::string say(const Whereabouts& w, std::int16_t slot) {
  if (w.node.empty()) return !w.job.empty() ? w.job : w.row.empty() ? "the whole site" : "row " + w.row;
  std::string out = w.node;
  if (!w.nic.empty())
    out += fmt::format(", NIC {}{}", w.nic, say_far_end(w.switch_name, w.switch_port, w.cable));
  else if (slot >= 0)
    out += fmt::format(", GPU {}{}", slot, w.pci.empty() ? "" : " at " + w.pci);
  if (w.nic.empty() && !w.uuid.empty()) out += fmt::format(" ({}{})", w.uuid, w.serial.empty() ? "" : ", serial " + w.serial);
  if (!w.rack.empty()) out += ", rack " + w.rack;
  return w.leaf >= 0 ? out + fmt::format(", leaf switch {}", w.leaf) : out;
}

Members members_of(const State& s, FindingId cause) {
  Members out;
  std::set<NodeId> seen;
  for (const auto& [id, f] : s.findings) {
    if (f.part_of != cause) continue;
    out.findings.push_back(id);
    if (f.node.v < s.site.nodes.size() && seen.insert(f.node).second) out.nodes.push_back(s.site.nodes[f.node.v].name);
  }
  return out;
}

std::string say(const account::FindingCost& c) {
  const double hours = static_cast<double>(c.gpu_ms) / 3.6e6;
  std::string out = fmt::format("{:.{}f} GPU-hours", hours, hours < 10 ? 2 : 0);
  if (c.money > 0) out += ", " + render_money(c.money, c.currency);
  return out;
}

}  // namespace muster::report
