// What the wiring of a node, the counters of ports and the tables of nccl-tests say.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "diagnose/fabric_doctor.h"
#include "diagnose/nccl_sizes.h"
#include "diagnose/nccl_troubles.h"

namespace muster::diagnose {
namespace {

std::string place(const PciPort& p) {
  return fmt::format("{}:{}{}{}", p.file, p.line, p.address.empty() ? "" : ": " + p.address, p.what.empty() ? "" : " " + p.what);
}

void acs(const std::vector<PciPort>& ports, std::vector<Finding>& out) {
  std::size_t with = 0, redirected = 0;
  std::vector<std::string> evidence;
  for (const PciPort& p : ports) {
    if (!p.acs) continue;
    ++with;
    redirected += p.redirected;
    if ((p.redirected || p.source_validated) && evidence.size() < 4)
      evidence.push_back(fmt::format("{}: ACSCtl: SrcValid{}{}", place(p), p.source_validated ? "+" : "-",
                                     p.redirected ? ", redirects to the CPU" : ""));
  }
  if (evidence.empty()) return;
  Finding f = finding_of(*cause_named("pcie_acs"), redirected > 0 ? Confidence::high : Confidence::medium);
  f.evidence = std::move(evidence);
  f.evidence.push_back(fmt::format("{} of {} ports with ACS redirect what goes between devices", redirected, with));
  out.push_back(std::move(f));
}

void narrow(const std::vector<PciPort>& ports, std::vector<Finding>& out) {
  Finding f = finding_of(*cause_named("pcie_degraded"), Confidence::high);
  for (const PciPort& p : ports) {
    if (!(p.gpu() || p.card()) || p.lanes == 0 || p.lanes >= p.lanes_most || f.evidence.size() >= 6) continue;
    f.evidence.push_back(fmt::format("{}: x{} of x{}", place(p), p.lanes, p.lanes_most));
  }
  if (!f.evidence.empty()) out.push_back(std::move(f));
}

// "eth0", "ens5", "bond0", "ib0": a network of sockets, whatever its speed. Cards are "mlx5_0", "rocep1s0", "rdmap16s27".
bool interface_name(std::string_view n) {
  for (const std::string_view p : {"eth", "eno", "ens", "enp", "enP", "enx", "bond", "team", "veth", "docker", "br-"}) {
    if (n.starts_with(p)) return true;
  }
  return n == "lo" || (n.size() > 2 && n.starts_with("ib") && n[2] >= '0' && n[2] <= '9');
}

// A real card: NCCL also lists interfaces as cards.
bool rdma_card(const TopologyPart& c) { return c.gb_s >= 5 && !interface_name(c.name); }

bool share_switch(const TopologyPart& x, const TopologyPart& y) {
  return !x.switches.empty() && !y.switches.empty() && x.switches.back() == y.switches.back();
}

void topology(const NcclTopology& t, std::vector<Finding>& out) {
  const auto cards = std::count_if(t.cards.begin(), t.cards.end(), rdma_card);
  if (cards == 0 || t.gpus.empty()) return;
  std::size_t near = 0, unknown = 0, without = 0;
  for (const TopologyPart& c : t.cards) {
    if (!rdma_card(c)) continue;
    near += std::any_of(t.gpus.begin(), t.gpus.end(), [&](const TopologyPart& g) { return share_switch(g, c); });
    without += !c.gdr;
  }
  for (const TopologyPart& g : t.gpus) unknown += g.lanes == 0 || g.gt_s == 0;
  if (near == 0 && t.gpus.size() >= 2 && (unknown > 0 || t.numa_unknown)) {
    Finding f = finding_of(*cause_named("vm_topology"), Confidence::medium);
    f.evidence.push_back(fmt::format("{}: {} GPUs and {} cards, none of which share a PCIe switch; {} links of unknown speed",
                                     t.file, t.gpus.size(), cards, unknown));
    out.push_back(std::move(f));
  }
  if (without > 0) {
    Finding f = finding_of(*cause_named("no_gpudirect"), Confidence::medium);
    f.evidence.push_back(fmt::format("{}: gdr=\"0\" on {} of {} cards", t.file, without, cards));
    out.push_back(std::move(f));
  }
  std::map<std::uint32_t, std::size_t> widths;
  for (const TopologyPart& g : t.gpus) ++widths[g.lanes];
  for (const TopologyPart& g : t.gpus) {
    if (widths.size() < 2 || g.lanes == 0 || g.lanes >= widths.rbegin()->first) continue;
    Finding f = finding_of(*cause_named("pcie_degraded"), Confidence::medium);
    f.evidence.push_back(fmt::format("{}:{}: {} has x{}, others x{}", t.file, g.line, g.name, g.lanes, widths.rbegin()->first));
    out.push_back(std::move(f));
  }
}

void matrix(const GpuMatrix& m, std::vector<Finding>& out) {
  if (m.cards.empty() || m.gpus.size() < 2) return;
  for (const auto& row : m.to_cards) {
    for (const std::string& way : row) {
      if (way == "PIX" || way == "PXB") return;
    }
  }
  const bool nvlink = std::any_of(m.to_gpus.begin(), m.to_gpus.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](const std::string& way) { return way.starts_with("NV"); });
  });
  Finding f = finding_of(*cause_named("vm_topology"), nvlink ? Confidence::medium : Confidence::low);
  f.title = "no network card is near a GPU as this node shows itself: traffic of GPUDirect goes through the CPU, or not at all";
  f.evidence.push_back(
      fmt::format("{}:{}: {} GPUs and {} cards, none at PIX or PXB", m.file, m.line, m.gpus.size(), m.cards.size()));
  out.push_back(std::move(f));
}

void counters(const std::vector<PortErrors>& ports, std::vector<Finding>& out) {
  // They count from when they were last cleared: a link goes down at every start of its node, and comes up with an error or two.
  constexpr std::uint64_t kUsual = 10;
  Finding down = finding_of(*cause_named("link_flap"), Confidence::low);
  Finding errors = finding_of(*cause_named("link_errors"), Confidence::low);
  for (const PortErrors& p : ports) {
    for (const auto& [name, n] : p.counters) {
      const bool falls = name.starts_with("LinkDowned") && n > 0;
      const bool fails = n > 0 && (name.starts_with("SymbolError") || name.starts_with("PortRcvErrors") ||
                                   name.starts_with("LocalLinkIntegrity") || name.starts_with("LinkErrorRecovery"));
      Finding& f = falls ? down : errors;
      if ((falls || fails) && n > kUsual) f.confidence = Confidence::medium;
      if ((falls || fails) && f.evidence.size() < 6)
        f.evidence.push_back(fmt::format("{}: {} port {}: {} {}", p.file, p.node, p.port, name, n));
    }
  }
  if (!down.evidence.empty()) out.push_back(std::move(down));
  if (!errors.evidence.empty()) out.push_back(std::move(errors));
}

double bus_of(const NcclTestRow& r) {
  const NcclTestTiming* t = r.best();
  return t == nullptr ? 0 : t->bus_gb_s;
}

// A size at which less than two thirds of what smaller ones had is left.
void collapse(const NcclTestLog& log, const NcclTestRun& run, std::vector<Finding>& out) {
  const NcclTestRow* best = nullptr;
  for (const NcclTestRow& r : run.rows) {
    if (r.best() == nullptr) continue;
    const double now = bus_of(r);
    if (best != nullptr && r.bytes > best->bytes && r.bytes >= 1 << 20 && bus_of(*best) >= 0.5 && now < 0.65 * bus_of(*best)) {
      Finding f = finding_of(*cause_named("size_collapse"), Confidence::high);
      f.title = fmt::format("bandwidth falls apart from {} on", size_words(r.bytes));
      f.evidence.push_back(fmt::format("{}:{}: {:.2f} GB/s at {}", log.file, best->line, bus_of(*best), size_words(best->bytes)));
      f.evidence.push_back(fmt::format("{}:{}: {:.2f} GB/s at {}", log.file, r.line, now, size_words(r.bytes)));
      return out.push_back(std::move(f));
    }
    if (best == nullptr || now > bus_of(*best)) best = &r;
  }
}

// Values that nccl-tests checked and found wrong.
void corrupt(const NcclTestLog& log, const NcclTestRun& run, std::vector<Finding>& out) {
  double wrong = 0;
  std::vector<std::string> evidence;
  for (const NcclTestRow& r : run.rows) {
    double here = 0;
    for (const auto* half : {&r.out, &r.in}) here += *half ? (*half)->wrong.value_or(0) : 0;
    if (here > 0 && evidence.size() < 4)
      evidence.push_back(fmt::format("{}:{}: {:.0f} wrong values at {}", log.file, r.line, here, size_words(r.bytes)));
    wrong += here;
  }
  if (wrong == 0 && run.out_of_bounds && *run.out_of_bounds > 0) {
    wrong = static_cast<double>(*run.out_of_bounds);
    evidence.push_back(fmt::format("{}:{}: {:.0f} values out of bounds", log.file, run.line, wrong));
  }
  const Cause* c = cause_named("corrupt_data");
  if (wrong <= 0 || c == nullptr) return;
  Finding f = finding_of(*c, Confidence::high);
  f.title = fmt::format("{}{} gave {:.0f} wrong values", run.program.empty() ? "an exchange" : run.program,
                        run.ranks > 0 ? fmt::format(" over {} {}", run.ranks, run.ranks == 1 ? "GPU" : "GPUs") : "", wrong);
  f.evidence = std::move(evidence);
  f.expected = "0 wrong values";
  f.achieved = fmt::format("{:.0f} wrong values", wrong);
  out.push_back(std::move(f));
}

// Figures that are right and are often read wrongly.
void readings(const DoctorMaterial& m, const NcclTestLog& log, const NcclTestRun& run, std::vector<Finding>& out) {
  const NcclTestRow* best = nullptr;
  for (const NcclTestRow& r : run.rows) {
    if (best == nullptr || bus_of(r) > bus_of(*best)) best = &r;
  }
  if (best == nullptr || best->best() == nullptr || best->bytes < 16 << 20) return;
  double wire = 0;
  for (const NcclTopology& t : m.topologies) {
    double sum = 0;
    for (const TopologyPart& c : t.cards) sum += rdma_card(c) ? c.gb_s : 0;
    wire = std::max(wire, sum);
  }
  const bool tree = std::any_of(m.log.choices.begin(), m.log.choices.end(),
                                [](const NcclChoice& c) { return c.algorithm.find("TREE") != std::string::npos; });
  const double bus = best->best()->bus_gb_s;
  if (run.nodes == 2 && ((wire > 0 && bus > 1.02 * wire) || (wire == 0 && tree))) {
    Finding f;
    f.title =
        "on two nodes a tree shows more than the cards carry: it sends half over the network, and the figure counts the whole";
    f.evidence.push_back(fmt::format("{}:{}: busbw {:.1f} GB/s{}", log.file, best->line, bus,
                                     wire > 0 ? fmt::format(", the cards together {:.1f}", wire) : ", the tuner chose trees"));
    f.remedy = "compare with the wire only with NCCL_ALGO=RING, or on three nodes and more";
    f.verify = "NCCL_ALGO=RING gives at most the cards' rate";
    out.push_back(std::move(f));
  }
  if (run.op == Collective::all_reduce && bus > 1.3 * best->best()->alg_gb_s && bus > 100) {
    Finding f;
    f.title = fmt::format("read busbw ({:.0f} GB/s), not algbw ({:.0f} GB/s), against the rate of the links", bus,
                          best->best()->alg_gb_s);
    f.evidence.push_back(fmt::format("{}:{}: at {}", log.file, best->line, size_words(best->bytes)));
    f.confidence = Confidence::low;
    out.push_back(std::move(f));
  }
}

}  // namespace

std::vector<Finding> check_wiring(const DoctorMaterial& m) {
  std::vector<Finding> out;
  acs(m.ports, out);
  narrow(m.ports, out);
  for (const NcclTopology& t : m.topologies) topology(t, out);
  for (const GpuMatrix& x : m.matrices) matrix(x, out);
  counters(m.errors, out);
  return out;
}

std::vector<Finding> check_tables(const DoctorMaterial& m) {
  std::vector<Finding> out;
  for (const NcclTestLog& log : m.benches) {
    for (const NcclTestRun& run : log.runs) {
      corrupt(log, run, out);
      collapse(log, run, out);
      readings(m, log, run, out);
    }
  }
  return out;
}

}  // namespace muster::diagnose
