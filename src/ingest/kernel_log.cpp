#include "ingest/kernel_log.h"

#include "ingest/log_cursor.h"
#include "ingest/nvlink5.h"

namespace muster {
namespace {

// Which of the kernel's messages Muster's detectors look at. The rest is for `muster explain`.
std::optional<KernelKind> kind_of(const KernelText& k) {
  if (k.kind == TextKind::xid) return KernelKind::xid;
  if (k.kind == TextKind::off_bus) return KernelKind::off_bus;
  if (k.kind == TextKind::aer) return KernelKind::pcie_error;
  if (k.code == "mlx5 link down") return KernelKind::link_down;
  if (k.code == "mlx5 link up") return KernelKind::link_up;
  if (k.kind == TextKind::sxid) return KernelKind::sxid;
  // Without an address these begin like something that a program's name can be made to look like.
  if (k.pci && k.code == "NVRM init failed") return KernelKind::gpu_init;
  if (k.pci && (k.code == "NVRM GSP heartbeat" || k.code == "NVRM GSP crash")) return KernelKind::gsp_dead;
  for (const std::string_view code :
       {"mlx5 slot power", "mlx5 health miss", "mlx5 unrecoverable", "mlx5 cmd timeout", "mlx5 module hot"}) {
    if (k.code == code) return KernelKind::nic_fault;
  }
  if (k.code == "HOST MCE uncorrected" || k.code == "HOST EDAC UE") return KernelKind::host_memory;
  return std::nullopt;
}

// "EDAC MC0: 1 UE " fits into a program's name, with which a message can be made to begin; what follows it does not.
bool whole(const KernelText& k, std::string_view text) {
  return k.code != "HOST EDAC UE" || text.substr(0, 32).find(" UE memory ") != std::string_view::npos;
}

// Of a GPU, or of a NIC by its GPU; -1: neither.
int slot_of(KernelKind kind, const std::optional<PciAddress>& pci, const PciTable& table) {
  if (!pci) return -1;
  switch (kind) {
    case KernelKind::xid:
    case KernelKind::off_bus:
    case KernelKind::gpu_init:
    case KernelKind::gsp_dead: return table.gpu(*pci);
    case KernelKind::link_down:
    case KernelKind::link_up:
    case KernelKind::nic_fault: return table.nic(*pci);
    case KernelKind::pcie_error: {
      const int gpu = table.gpu(*pci);
      return gpu >= 0 ? gpu : table.nic(*pci);
    }
    case KernelKind::sxid:  // of a switch: the whole node
    case KernelKind::host_memory: return -1;
  }
  return -1;
}

// NVLink 5 events say Fatal or Nonfatal; one whose words are of a form not known is taken for fatal.
bool fatal_nvlink5(const KernelText& k) {
  constexpr int kFirst = 144, kLast = 150;
  if (k.number < kFirst || k.number > kLast) return false;
  const auto words = parse_nvlink5(k.words);
  return !words || words->fatal;
}

// "prio,seq,usec,flags[,key=value...]" up to the semicolon.
bool read_head(std::string_view head, std::uint64_t& prio, std::uint64_t& seq) {
  Cursor c(head);
  const auto p = c.number(6);
  if (!p || !c.take(",")) return false;
  const auto s = c.number(20);
  if (!s || !c.take(",") || !c.number(20) || !c.take(",")) return false;
  prio = *p;
  seq = *s;
  if (!c.take("-") && !c.take("c") && !c.take("+")) return false;
  return c.done() || c.take(",");
}

bool plain(std::string_view s) {
  for (const char ch : s) {
    // The kernel escapes control characters: one here did not come from /dev/kmsg.
    if (static_cast<unsigned char>(ch) < 0x20 || ch == 0x7f) return false;
  }
  return true;
}

}  // namespace

std::optional<KernelRecord> parse_kmsg(std::string_view record, NodeId node, std::uint64_t boot, Time at, const Site& site) {
  if (record.size() > kKernelRecordMax) return std::nullopt;
  constexpr std::size_t kHeadMax = 128;
  const std::size_t semi = record.substr(0, kHeadMax).find(';');
  std::uint64_t prio = 0;
  std::uint64_t seq = 0;
  if (semi == std::string_view::npos || !read_head(record.substr(0, semi), prio, seq)) return std::nullopt;
  if (prio >> 3 != 0) return std::nullopt;  // not the kernel's: written through /dev/kmsg
  std::string_view text = record.substr(semi + 1);
  text = text.substr(0, text.find('\n'));
  if (!plain(text)) return std::nullopt;
  const auto k = read_kernel_text(text, Address::whole);
  const auto kind = k && whole(*k, text) ? kind_of(*k) : std::nullopt;
  if (!kind || (!k->pci && *kind != KernelKind::host_memory)) return std::nullopt;
  KernelRecord r;
  r.at = at;
  r.node = node;
  r.slot = static_cast<std::int16_t>(slot_of(*kind, k->pci, PciTable(site)));
  r.kind = *kind;
  r.code = k->kind == TextKind::xid || k->kind == TextKind::sxid || k->kind == TextKind::aer ? k->number : 0;
  r.caused_by = k->caused_by;
  r.verdict = k->verdict;
  r.fatal = k->said == Said::fatal || (k->kind == TextKind::xid && fatal_nvlink5(*k));
  r.boot = boot;
  r.seq = seq;
  r.text = std::string(text.substr(0, kKernelTextMax));
  return r;
}

std::optional<LogLine> parse_log_line(std::string_view text) {
  text = text.substr(0, kKernelRecordMax);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  const auto read = [](std::string_view one) -> std::optional<LogEvent> {
    LogReader reader;
    reader.feed(one);
    reader.finish();
    auto events = reader.take();
    return events.empty() ? std::nullopt : std::optional(std::move(events.front()));
  };
  if (auto event = read(text)) return LogLine{std::move(*event), false};
  for (const std::string_view start : {"NVRM: ", "nvidia-nvswitch", "mlx5_core ", "pcieport ", "nvidia "}) {
    for (std::size_t i = text.find(start, 1); i != std::string_view::npos; i = text.find(start, i + 1)) {
      if (auto event = read(text.substr(i))) return LogLine{std::move(*event), true};
    }
  }
  return std::nullopt;
}

}  // namespace muster
