#include "decide/dossier.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace muster::decide {
namespace {

constexpr std::size_t kTextMax = 300;  // of one line of evidence, which is untrusted

std::string part(const State& s, const Incident& i) {
  const NodeSpec& node = s.site.nodes[i.node.v];
  std::string out = fmt::format("node {} (rack {})\n", node.name, s.site.racks[node.rack]);
  if (i.slot < 0) return out;
  out += fmt::format("GPU or link in slot {}\n", i.slot);
  if (const GpuIdentity* g = find_gpu(s, i.node, i.slot)) {
    out += fmt::format("  UUID {}\n  serial {}\n  VBIOS {}\n  PCI {}\n", printable(g->uuid), printable(g->serial),
                       printable(g->vbios), printable(g->pci));
  } else if (static_cast<std::size_t>(i.slot) < s.site.gpu_pci.size()) {
    out += fmt::format("  PCI {}; its serial number is not known, for no agent told it\n",
                       s.site.gpu_pci[static_cast<std::size_t>(i.slot)]);
  }
  return out;
}

std::string evidence(const State& s, const Incident& i) {
  std::string out;
  for (const FindingId id : i.findings) {
    const Finding* f = find_finding(s, id);
    if (f == nullptr) continue;
    const bool failed = f->kind == FindingKind::acceptance_failed;  // what of it is the part to be replaced
    out += fmt::format("{}{}, first seen {}\n", name_of(f->kind),
                       failed          ? ": " + printable(f->subject.substr(0, kTextMax))
                       : f->code > 0 ? fmt::format(" {}", f->code)
                                     : std::string(),
                       render_utc(f->began()));
    for (const Evidence& e : f->evidence)
      out += fmt::format("  {} {}: {}\n", render_utc(e.at), name_of(e.witness), printable(e.text.substr(0, kTextMax)));
  }
  return out;
}

// Counters and other readings: as they were when each fault was found, by whoever is no log, and as probes of the node told them;
// the last one was asked for with this in mind.
std::string readings(const State& s, const Incident& i) {
  std::string out;
  for (const FindingId id : i.findings) {
    const Finding* f = find_finding(s, id);
    if (f == nullptr) continue;
    const auto told = [](const Evidence& e) { return e.witness == Witness::scrape && !e.text.empty(); };
    const auto first = std::find_if(f->evidence.begin(), f->evidence.end(), told);
    if (first == f->evidence.end()) continue;
    const auto last = std::find_if(f->evidence.rbegin(), f->evidence.rend(), told);
    out += fmt::format("  when found, {}: {}\n", render_utc(first->at), printable(first->text.substr(0, kTextMax)));
    if (&*last != &*first)
      out += fmt::format("  last seen, {}: {}\n", render_utc(last->at), printable(last->text.substr(0, kTextMax)));
  }
  std::vector<const OrderRecord*> probes;
  for (const auto& [key, o] : s.orders) {
    if (o.order.reason.incident == i.id && o.order.action.verb == Verb::probe_node && o.status == Status::done)
      probes.push_back(&o);
  }
  std::stable_sort(probes.begin(), probes.end(),
                   [](const OrderRecord* a, const OrderRecord* b) { return a->intended < b->intended; });
  for (const OrderRecord* p : probes) {
    out += fmt::format("  {}, {}: {}\n", p == probes.back() ? "now" : "asked", render_utc(p->intended),
                       p->detail.empty() ? "the node answered; its readings are with whoever keeps its samples"
                                         : printable(p->detail.substr(0, kTextMax)));
  }
  return out.empty() ? "  none that is not in the kernel's log: the node could not be asked\n" : out;
}

}  // namespace

std::string dossier(const State& s, const Incident& i) {
  std::string out =
      part(s, i) + "\nWhat was seen\n" + evidence(s, i) + "\nCounters and readings\n" + readings(s, i) + "\nWhat was done\n";
  for (const auto& [key, o] : s.orders) {
    if (o.order.reason.incident != i.id) continue;
    out += fmt::format("  {} {}: {}{}{}\n", render_utc(o.intended), name_of(o.order.action.verb), name_of(o.status),
                       o.detail.empty() ? "" : ", ", printable(o.detail.substr(0, kTextMax)));
  }
  const auto& past = s.nodes[i.node.v].past;
  out += fmt::format("\nBefore, within 28 days: {} incidents, lemon score {:.1f}\n", past.size(), lemon_score(s, i.node));
  for (const PastIncident& p : past) {
    out += fmt::format("  {} ago: {}, {} repair{}\n", render_duration(s.mono() - p.opened), name_of(p.cause), p.repairs,
                       p.repairs == 1 ? "" : "s");
  }
  return out;
}

}  // namespace muster::decide
