// Symptoms: what each fault does to a node and how it shows: kernel records as bytes, counters and missing GPUs for the next
// scrape, silence, gangs that stop or slow down. Nothing here says "fault" to the outside.
#include <fmt/core.h>

#include "ingest/kernel_log.h"
#include "twin/cluster.h"

namespace muster::twin {
namespace {

// Stages of a fault after its beginning.
enum Stage : std::uint32_t {
  kGrow = 1,     // once a minute: counters go on counting
  kRepeat = 2,   // the driver complains again
  kOver = 3,     // it goes away by itself
  kRelapse = 4,  // a crashed host crashes again: a new fault
  kBite = 5,     // a gang that was started on the bad part meets it
  kMend = 6,     // a cooling unit does a little more again
};

bool loses_gpu(FaultKind k) { return k == FaultKind::gpu_off_bus || k == FaultKind::gsp_hang; }
bool drops_link(FaultKind k) { return k == FaultKind::nic_flap || k == FaultKind::cable_down; }

}  // namespace

void Cluster::kernel(NodeId n, std::string_view line, int priority) {
  Node& x = node(n);
  if (x.life != Life::up) return;
  constexpr std::uint64_t kBootRecords = 1400;  // what a boot itself says
  const std::string record =
      fmt::format("{},{},{},-;{}\n", priority, kBootRecords + x.records++, (now - x.booted).ns / 1000, line);
  count.record_bytes += record.size();
  if (auto r = parse_kmsg(record, n, boot_id(n), utc(), config.site)) {
    inbox.kernel.push_back(std::move(*r));
    wake = true;
  }
}

void Cluster::xid(NodeId n, int slot, int code, std::string_view tail) {
  const std::string& pci = config.site.gpu_pci[static_cast<std::size_t>(slot)];
  if (node(n).records == 0) {  // the driver introduces a GPU before its first complaint of a boot
    kernel(n, fmt::format("NVRM: GPU at PCI:{}: {}", pci, uuid(n, slot)));
    kernel(n, fmt::format("NVRM: GPU Board Serial Number: {}", 1650000000000ULL + identity(n, slot) % 9999999999ULL));
  }
  kernel(n, fmt::format("NVRM: Xid (PCI:{}): {}, {}", pci, code, tail));
}

std::string Cluster::process(NodeId n, int slot, FaultLive& f) {
  if (!busy(n, slot)) return "pid='<unknown>', name=<unknown>";
  return fmt::format("pid={}, name=python3", 4000 + f.prng.below(90000));
}

// The gangs on the part are done for: at once where the launcher sees a rank exit, else when the collective times out.
void Cluster::break_gang(std::uint32_t f, double kill_share, const std::string& detail) {
  const NodeId n = faults[f].node;
  const bool quick = live[f].prng.chance(kill_share);
  const double soon_s = 2 + 14 * live[f].prng.unit();
  for (const std::uint32_t g : gangs_on(n, faults[f].slot)) {
    if (quick) {
      doom(g, from_seconds(soon_s), JobEnd::node_failed, fmt::format("rank on {} exited: {}", name(n), detail));
    } else {
      doom(g, kNcclTimeout, JobEnd::node_failed, "watchdog: collective timed out after 600000 ms");
    }
  }
}

// A GPU's state is what its active faults make it.
void Cluster::recompute_gpu(NodeId n, int slot) {
  Gpu& g = gpu(n, slot);
  g.lost = g.remap_pending = g.remap_failed = g.stalled = false;
  g.link_up = !leaf_dead(n);
  g.pcie_width = 16;
  g.speed = g.clock = 1;
  g.hot_c = 0;
  for (const std::uint32_t f : node(n).faults) {
    const FaultTruth& t = faults[f];
    if (t.slot != slot) continue;
    g.lost = g.lost || loses_gpu(t.kind);
    g.link_up = g.link_up && !drops_link(t.kind);
    g.stalled = g.stalled || t.kind == FaultKind::nic_flap;
    g.remap_pending = g.remap_pending || t.kind == FaultKind::row_remap;
    g.remap_failed = g.remap_failed || t.kind == FaultKind::row_remap_failure;
    if (t.kind == FaultKind::pcie_degraded) g.pcie_width = 8;
    if (t.kind == FaultKind::thermal) {
      g.hot_c = std::max(g.hot_c, 50 - 25 * live[f].severity);
      g.clock = std::min(g.clock, live[f].severity);
    } else if (live[f].severity > 0) {
      g.speed = std::min(g.speed, live[f].severity);
    }
  }
  update_speed(n);
}

void Cluster::show(std::uint32_t f) {
  FaultTruth& t = faults[f];
  FaultLive& l = live[f];
  const NodeId n = t.node;
  const int slot = t.slot;
  const double given_s = strokes.contains(f) ? strokes[f].lasts.seconds() : 0;
  const auto later = [&](double s, Stage stage) { queue.push(now + from_seconds(s), Tick::fault, f, stage); };
  switch (t.kind) {
    case FaultKind::gpu_off_bus:
      if (!l.prng.chance(0.1)) {  // some fall silently
        xid(n, slot, 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
        show_again(f);
        xid(n, slot, 154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)");
      }
      break_gang(f, 0.7, "CUDA error: unspecified launch failure");
      break;
    case FaultKind::ecc_uncorrectable: fault_stage(f, kBite); break;
    case FaultKind::row_remap:
      ++gpu(n, slot).remapped_rows;
      xid(n, slot, 63, process(n, slot, l) + ", Row Remapper: New row marked for remapping, reset gpu to activate.");
      break;
    case FaultKind::row_remap_failure:
      xid(n, slot, 64, fmt::format("{}, Row Remapper: Error recording the new row: no spare row left.", process(n, slot, l)));
      if (l.prng.chance(0.5)) fault_stage(f, kBite);
      break;
    case FaultKind::nvlink_degraded: show_nvlink(f); break;
    case FaultKind::pcie_degraded:
      l.severity = static_cast<float>(0.7 + 0.2 * l.prng.unit());
      show_again(f);
      fault_stage(f, kGrow);
      break;
    case FaultKind::thermal:
      l.severity = static_cast<float>(0.55 + 0.25 * l.prng.unit());
      later(60, kGrow);
      break;
    case FaultKind::gsp_hang:
      fault_stage(f, kRepeat);
      break_gang(f, 0, {});
      break;
    case FaultKind::nic_flap: show_flap(f); break;
    case FaultKind::cable_down:
      show_again(f);
      break_gang(f, 0.6, "NET/IB: Got completion with status=12 opcode=0 len=0 vendor err 129");
      break;
    case FaultKind::node_hang: go_silent(n, Life::hung); break;
    case FaultKind::host_crash: show_crash(f); break;
    case FaultKind::slow_gpu:
      l.severity = static_cast<float>(0.62 + 0.22 * l.prng.unit());
      later(3600 * l.prng.exponential(12), kOver);  // slow parts recover, if nobody finds them first
      break;
    case FaultKind::storage_stall:
      store.set_factor(now, 0.05);
      reschedule_store();
      if (const double s = 600 + 3000 * l.prng.unit(); given_s == 0) later(s, kOver);
      break;
    case FaultKind::driver_hang: emit(AgentSaid{n, AgentWord::probe_hung, "nvml", 0, "no answer for 60 s"}); break;
    case FaultKind::cooling_fault:
      if (const double s = show_cooling(f); given_s == 0) later(s, kMend);
      break;
    default: show_disaster(f); break;  // and app_bug: see bug()
  }
  if (given_s > 0) later(given_s, t.kind == FaultKind::cooling_fault ? kMend : kOver);
  const bool needs_load = t.kind == FaultKind::slow_gpu || t.kind == FaultKind::thermal;
  t.shown = !needs_load || gpu_load(n, slot) > 0.5;
  if (n.some() && slot >= 0) {
    recompute_gpu(n, slot);
    // What only its gang feels is in no counter.
    if (!needs_load && t.kind != FaultKind::app_bug) tell(n, slot, loses_gpu(t.kind) ? kFull : kCounters);
  }
}

void Cluster::show_nvlink(std::uint32_t f) {
  FaultLive& l = live[f];
  const NodeId n = faults[f].node;
  l.severity = static_cast<float>(0.6 + 0.3 * l.prng.unit());
  // One draw a statement, here and below: the order in which a call's arguments are evaluated differs between compilers.
  const std::uint64_t link = l.prng.below(18);
  const std::string who = process(n, faults[f].slot, l);
  xid(n, faults[f].slot, 74,
      fmt::format("{}, NVLink: fatal error detected on link {}(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", who, link));
  if (l.prng.chance(0.4)) break_gang(f, 1, "NCCL error: unhandled cuda error, NVLink");
  fault_stage(f, kGrow);
}

void Cluster::show_flap(std::uint32_t f) {
  const NodeId n = faults[f].node;
  const double down_s = std::min(300.0, 1.5 + live[f].prng.exponential(14));
  show_again(f);
  // The NICs retry for half a minute; then the collective gives up.
  if (down_s > 40) {
    for (const std::uint32_t g : gangs_on(n, faults[f].slot)) {
      doom(g, from_seconds(36), JobEnd::node_failed,
           fmt::format("rank on {}: NET/IB: Got completion with status=12 opcode=0 len=0 vendor err 129", name(n)));
    }
  }
  queue.push(now + from_seconds(down_s), Tick::fault, f, kOver);
}

void Cluster::show_crash(std::uint32_t f) {
  const NodeId n = faults[f].node;
  Prng& prng = live[f].prng;
  go_silent(n, Life::crashed);
  queue.push(now + from_seconds(300 + 300 * prng.unit()), Tick::booted, n.v, node(n).turn);
  if (prng.chance(0.2)) queue.push(now + from_seconds(1500 + 7200 * prng.unit()), Tick::fault, f, kRelapse);
}

void Cluster::show_again(std::uint32_t f) {
  const FaultTruth& t = faults[f];
  const NodeId n = t.node;
  const int slot = t.slot;
  if (slot < 0) return;
  const std::string& pci = config.site.gpu_pci[static_cast<std::size_t>(slot)];
  switch (t.kind) {
    case FaultKind::gpu_off_bus: kernel(n, fmt::format("NVRM: GPU {}.0: GPU has fallen off the bus.", pci)); break;
    case FaultKind::gsp_hang: fault_stage(f, kRepeat); break;
    case FaultKind::nic_flap:
    case FaultKind::cable_down:
      ++gpu(n, slot).link_downed;
      kernel(n, fmt::format("mlx5_core {} ibs{}: Link down", nic_pci(config.site, slot), slot), 6);
      break;
    case FaultKind::pcie_degraded:
      kernel(n, fmt::format("pcieport {}:01.1: AER: Correctable error message received from {}.0", pci.substr(0, 7), pci));
      kernel(n, fmt::format("nvidia {}.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)", pci));
      kernel(n, fmt::format("nvidia {}.0:   device [10de:2335] error status/mask=00000001/0000a000", pci));
      kernel(n, fmt::format("nvidia {}.0:    [ 0] RxErr                  (First)", pci));
      break;
    default: break;  // the rest shows in counters, when there is load
  }
}

void Cluster::fault_stage(std::uint32_t f, std::uint32_t stage) {
  const FaultTruth t = faults[f];
  FaultLive& l = live[f];
  const NodeId n = t.node;
  if (stage == kRelapse) {
    if (!calmed && node(n).life == Life::up) begin_fault(FaultKind::host_crash, n, -1, false);
    return;
  }
  if (stage >= kDisasterStages) {
    const std::uint32_t at = stage - kDisasterStages;
    return disaster_stage(f, at % kDisasterOps, NodeId{at / kDisasterOps});
  }
  if (t.fate != Fate::active) return;
  const bool alive = !n.some() || node(n).life == Life::up;
  switch (stage) {
    case kGrow: {
      Gpu& g = gpu(n, t.slot);
      if (alive && t.kind == FaultKind::nvlink_degraded) g.nvlink_errors += 20 + static_cast<std::uint32_t>(l.prng.below(400));
      if (alive && t.kind == FaultKind::pcie_degraded) g.pcie_replays += 5 + static_cast<std::uint32_t>(l.prng.below(120));
      const bool hot = t.kind == FaultKind::thermal && alive && gpu_load(n, t.slot) > 0.5;
      if (hot) g.thermal_us += 20'000'000 + l.prng.below(30'000'000);
      if (alive && (t.kind != FaultKind::thermal || hot)) tell(n, t.slot, hot ? kCounters | kTemp | kLoad : kCounters);
      queue.push(now + minutes(1), Tick::fault, f, kGrow);
      break;
    }
    case kRepeat: {
      const std::uint64_t pid = 1200 + l.prng.below(800);
      const std::uint64_t sequence = 1000 + l.prng.below(9000);
      xid(n, t.slot, 119,
          fmt::format("pid={}, name=nv-hostengine, Timeout after 45s of waiting for RPC response from GPU{} GSP! "
                      "Expected function 76 (GSP_RM_CONTROL) sequence {} (0x20802702 0x8).",
                      pid, t.slot, sequence));
      if (++l.turn < 3) queue.push(now + seconds(45), Tick::fault, f, kRepeat);
      break;
    }
    case kOver: end_fault(f, Fate::self_cleared); break;
    case kMend:
      if (mend_cooling(f)) queue.push(now + minutes(5), Tick::fault, f, kMend);
      break;
    case kBite: {
      if (!alive || (l.turn++ > 0 && !busy(n, t.slot))) break;
      const int code = l.prng.chance(0.8) ? 94 : 95;
      const std::string who = process(n, t.slot, l);
      ++gpu(n, t.slot).ecc_dbe;
      xid(n, t.slot, code,
          who + (code == 94 ? ", Contained: CE User Channel (0x9). RST: No, D-RST: No"
                            : ", Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No"));
      if (busy(n, t.slot)) xid(n, t.slot, 45, fmt::format("{}, Ch 00000009 caused by previous Xid {}", who, code));
      xid(n, t.slot, 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)");
      tell(n, t.slot, kCounters);
      break_gang(f, 1, "CUDA error: uncorrectable ECC error encountered");
      break;
    }
    default: break;
  }
}

void Cluster::undo(std::uint32_t f) {
  const FaultTruth& t = faults[f];
  if (t.kind == FaultKind::storage_stall) {
    store.set_factor(now, 1);
    reschedule_store();
  }
  if (t.kind == FaultKind::driver_hang) emit(AgentSaid{t.node, AgentWord::probe_back, "nvml", 0, {}});
  if (t.kind == FaultKind::cooling_fault) set_cooling(static_cast<std::uint32_t>(t.slot), 1);
  if (of_site(t.kind)) undo_disaster(f);
  if (!t.node.some() || t.slot < 0 || t.kind == FaultKind::app_bug) return;
  if (drops_link(t.kind)) {
    kernel(t.node, fmt::format("mlx5_core {} ibs{}: Link up", nic_pci(config.site, t.slot), t.slot), 6);
  }
  recompute_gpu(t.node, t.slot);
  tell(t.node, t.slot, loses_gpu(t.kind) ? kFull : kCounters | kTemp);
}

// A gang has been started on nodes whose faults are still there: it meets them.
void Cluster::haunt(std::uint32_t g) {
  for (std::size_t i = 0; i < gangs[g].nodes.size(); ++i) {
    const NodeId n = gangs[g].nodes[i];
    const std::uint16_t slots = slots_of(gangs[g], i);
    if (node(n).life != Life::up) {
      doom(g, kNcclTimeout, JobEnd::node_failed, fmt::format("no answer from {}", name(n)));
    }
    if (leaf_dead(n) && gangs[g].nodes.size() > 1) {
      doom(g, seconds(90), JobEnd::node_failed, fmt::format("rank on {}: NET/IB: no active port", name(n)));
    }
    const std::vector<std::uint32_t> active = node(n).faults;
    for (const std::uint32_t f : active) {
      if (faults[f].slot >= 0 && (slots >> faults[f].slot & 1) == 0) continue;
      FaultLive& l = live[f];
      const double s = 60 + 120 * l.prng.unit();
      switch (faults[f].kind) {
        case FaultKind::gpu_off_bus:
        case FaultKind::gsp_hang:
          doom(g, from_seconds(s), JobEnd::node_failed, fmt::format("rank on {}: CUDA error: no such device", name(n)));
          break;
        case FaultKind::cable_down:
          doom(g, from_seconds(s), JobEnd::node_failed, fmt::format("rank on {}: NET/IB: no active port", name(n)));
          break;
        case FaultKind::ecc_uncorrectable: queue.push(now + from_seconds(4 * s), Tick::fault, f, kBite); break;
        default: break;
      }
    }
  }
}

// A user's program does wrong. The node is sound.
void Cluster::bug(std::uint32_t g) {
  Gang& x = gangs[g];
  if (x.phase != Phase::init && x.phase != Phase::compute && x.phase != Phase::writing) return;
  Prng pick(config.seed, fmt::format("bug/{}/{}", render(x.id), x.attempt));
  const std::size_t i = pick.below(x.nodes.size());
  const NodeId n = x.nodes[i];
  const std::uint16_t mine = slots_of(x, i);
  auto slot = static_cast<int>(pick.below(per_node));
  while ((mine >> slot & 1) == 0) slot = (slot + 1) % static_cast<int>(per_node);
  if (node(n).life != Life::up || gpu(n, slot).lost) return;
  begin_bug(g, n, slot, false);
}

std::uint64_t Cluster::begin_bug(std::uint32_t g, NodeId n, int slot, bool by_hand) {
  const std::uint64_t id = begin_fault(FaultKind::app_bug, n, slot, by_hand);
  const auto f = static_cast<std::uint32_t>(id - 1);
  FaultLive& l = live[f];
  const std::string who = process(n, slot, l);
  std::string why = "exit code 1";
  switch (l.prng.below(4)) {
    case 0:
      xid(n, slot, 31,
          who +
              ", channel 0x0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_8 faulted @ "
              "0x0_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE");
      why += ": CUDA error: an illegal memory access was encountered";
      break;
    case 1:
      xid(n, slot, 13, "Graphics SM Warp Exception on (GPC 1, TPC 4, SM 0): Misaligned Address");
      xid(n, slot, 13, "Graphics SM Global Exception on (GPC 1, TPC 4, SM 0): Multiple Warp Errors");
      xid(n, slot, 13, "Graphics Exception: ESR 0x519730=0xc00000b 0x519734=0x4 0x519728=0x1f81fb60 0x51972c=0x1174");
      xid(n, slot, 13, who + ", Graphics Exception: channel 0x0000000a, Class 0000cbc0, Offset 00000510, Data 0017e2ac");
      why += ": CUDA error: misaligned address";
      break;
    case 2:
      xid(n, slot, 43, who + ", channel 0x0000000a");
      why += ": CUDA error: unspecified launch failure";
      break;
    default: why += ": ValueError: loss is nan"; break;
  }
  doom(g, from_seconds(1 + 2 * l.prng.unit()), JobEnd::app_failed, fmt::format("{} (rank on {})", why, name(n)));
  end_fault(f, Fate::self_cleared);
  return id;
}

}  // namespace muster::twin
