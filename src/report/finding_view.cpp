#include "report/finding_view.h"

#include <fmt/core.h>

#include <set>

#include "base/text.h"
#include "decide/words.h"
#include "model/fabric_fault.h"
#include "report/units.h"

namespace muster::report {
namespace {

// Which card of the node is at an end of a fault of the network: "mlx5_3" of "missing_cable gpu017 mlx5_3[1] - leaf03[17]";
// empty where none is, or several are.
std::string card_at_end(std::string_view fault, std::string_view node) {
  std::string out;
  std::string_view rest = fault.substr(std::min(fault.size(), fault.find(' ') + 1));
  while (!rest.empty()) {
    const std::size_t cut = rest.find(" - ");
    std::string_view end = rest.substr(0, cut);
    rest = cut == std::string_view::npos ? std::string_view() : rest.substr(cut + 3);
    if (!end.starts_with(node) || end.size() <= node.size() || end[node.size()] != ' ') continue;
    end.remove_prefix(node.size() + 1);
    const std::string card = printable(end.substr(0, end.find('[')));
    if (!out.empty() && card != out) return {};
    out = card;
  }
  return out;
}

// -1: no name of ours.
std::int16_t slot_of_nic(std::string_view name) {
  for (std::int16_t slot = 0; slot < static_cast<std::int16_t>(Cabling::kNicsMax); ++slot) {
    if (nic_name(slot) == name) return slot;
  }
  return -1;
}

void wire(const State& s, NodeId node, std::int16_t slot, Whereabouts& w) {
  const auto cable = s.site.cables.at(node, slot);
  if (!cable) return;
  w.switch_name = cable->switch_name;
  w.switch_port = cable->port;
  w.cable = cable->label;
}

std::string without_a_node(const Whereabouts& w) {
  const std::string wide = w.leaf >= 0 ? fmt::format("leaf switch {}", w.leaf) : "the whole site";
  return !w.job.empty() ? w.job : w.row.empty() ? wide : "row " + w.row;
}

}  // namespace

Whereabouts whereabouts(const State& s, const Finding& f) {
  Whereabouts w;
  if (f.kind == FindingKind::row_hot && f.slot >= 0) w.row = std::to_string(f.slot + 1);
  if (f.kind == FindingKind::fabric_fault && !f.node.some()) w.leaf = f.slot;
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
  if (f.kind == FindingKind::fabric_fault) {
    w.nic = card_at_end(read_fault_subject(f.subject).fault, n.name);
    if (const std::int16_t slot = slot_of_nic(w.nic); slot >= 0) wire(s, f.node, slot, w);
  }
  if (f.slot < 0) return w;
  if (of_link(f)) {
    w.nic = nic_name(f.slot);
    wire(s, f.node, f.slot, w);
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
  if (w.node.empty()) return without_a_node(w);
  std::string out = w.node;
  if (!w.nic.empty())
    out += fmt::format(", NIC {}{}", w.nic, say_far_end(w.switch_name, w.switch_port, w.cable));
  else if (slot >= 0)
    out += fmt::format(", GPU {}{}", slot, w.pci.empty() ? "" : " at " + w.pci);
  if (w.nic.empty() && !w.uuid.empty()) out += fmt::format(" ({}{})", w.uuid, w.serial.empty() ? "" : ", serial " + w.serial);
  if (!w.rack.empty()) out += ", rack " + w.rack;
  return w.leaf >= 0 ? out + fmt::format(", leaf switch {}", w.leaf) : out;
}

std::string say_briefly(const Whereabouts& w, std::int16_t slot) {
  if (w.node.empty()) return without_a_node(w);
  if (!w.nic.empty()) return fmt::format("{}, NIC {}", w.node, w.nic);
  return slot >= 0 ? fmt::format("{}, GPU {}", w.node, slot) : w.node;
}

std::string say_subject(const State& s, const Finding& f) {
  std::string out = printable(f.subject);
  if (f.kind != FindingKind::common_cause) return out;
  const std::string kinds = join(members_of(s, f.id).kinds, ", ");
  return kinds.empty() ? out : fmt::format("{} ({})", out, kinds);
}

Finding leading(const State& s, const Incident& i) {
  const Finding *first = nullptr, *like = nullptr;
  for (const FindingId id : i.findings) {
    const Finding* f = find_finding(s, id);
    if (f == nullptr) continue;
    if (f->kind == i.cause && f->code == i.code && f->slot == i.slot) return *f;
    if (f->kind == i.cause && like == nullptr) like = f;
    if (first == nullptr) first = f;
  }
  if (like != nullptr) return *like;
  if (first != nullptr) return *first;
  Finding known;
  known.kind = i.cause;
  known.node = i.node;
  known.slot = i.slot;
  known.code = i.code;
  return known;
}

std::string incident_words(const State& s, const Incident& i, const Finding& lead) {
  const std::string subject = say_subject(s, lead);
  if (lead.kind == FindingKind::common_cause && !subject.empty()) return fmt::format("{}: {}", decide::say(i.cause), subject);
  const std::string place = say_briefly(whereabouts(s, lead), lead.slot);
  return fmt::format("{} on {}{}", decide::say(i.cause), place, subject.empty() || subject == place ? "" : ": " + subject);
}

std::string advice(const Finding& f) {
  if (f.kind == FindingKind::fabric_fault && !f.evidence.empty()) {
    const std::string& seen = f.evidence.back().text;
    const std::size_t at = seen.rfind(kFixWords);
    if (at != std::string::npos && at + kFixWords.size() < seen.size()) return printable(seen.substr(at + kFixWords.size()));
  }
  return std::string(suggestion(f.kind));
}

Members members_of(const State& s, FindingId cause) {
  Members out;
  std::set<NodeId> seen;
  std::set<FindingKind> kinds;
  for (const auto& [id, f] : s.findings) {
    if (f.part_of != cause) continue;
    if (kinds.insert(f.kind).second) out.kinds.emplace_back(name_of(f.kind));
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
