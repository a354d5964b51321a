#include "ingest/kernel_log.h"

#include "ingest/log_cursor.h"

namespace muster {
namespace {

// Which of the kernel's messages Muster's detectors look at. The rest is for `muster explain`.
std::optional<KernelKind> kind_of(const KernelText& k) {
  if (k.kind == TextKind::xid) return KernelKind::xid;
  if (k.kind == TextKind::off_bus) return KernelKind::off_bus;
  if (k.kind == TextKind::aer) return KernelKind::pcie_error;
  if (k.code == "mlx5 link down") return KernelKind::link_down;
  if (k.code == "mlx5 link up") return KernelKind::link_up;
  return std::nullopt;
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
  const auto kind = k && k->pci ? kind_of(*k) : std::nullopt;
  if (!kind) return std::nullopt;
  const PciTable table(site);
  KernelRecord r;
  r.at = at;
  r.node = node;
  int slot = *kind == KernelKind::link_down || *kind == KernelKind::link_up ? -1 : table.gpu(*k->pci);
  if (slot < 0 && *kind != KernelKind::xid && *kind != KernelKind::off_bus) slot = table.nic(*k->pci);
  r.slot = static_cast<std::int16_t>(slot);
  r.kind = *kind;
  r.code = k->kind == TextKind::xid || k->kind == TextKind::aer ? k->number : 0;
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
