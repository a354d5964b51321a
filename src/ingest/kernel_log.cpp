#include "ingest/kernel_log.h"

#include <charconv>

namespace muster {
namespace {

// A cursor over one text; every `take` either consumes exactly what it names or leaves it alone.
class Cursor {
 public:
  explicit Cursor(std::string_view s) : s_(s) {}

  bool take(std::string_view word) {
    if (s_.substr(0, word.size()) != word) return false;
    s_.remove_prefix(word.size());
    return true;
  }
  // A decimal number without sign or leading zero; `least` to `most` digits.
  std::optional<std::uint64_t> number(std::size_t most, bool leading_zero = false) {
    std::size_t n = 0;
    while (n < s_.size() && n <= most && s_[n] >= '0' && s_[n] <= '9') ++n;
    if (n == 0 || n > most || (!leading_zero && n > 1 && s_[0] == '0')) return std::nullopt;
    std::uint64_t v = 0;
    if (std::from_chars(s_.data(), s_.data() + n, v).ec != std::errc()) return std::nullopt;
    s_.remove_prefix(n);
    return v;
  }
  std::optional<PciAddress> pci() {
    std::size_t used = 0;
    const auto a = read_pci_prefix(s_, used);
    if (a) s_.remove_prefix(used);
    return a;
  }
  // Characters of a driver's or interface's name.
  std::string_view word(std::size_t most) {
    std::size_t n = 0;
    const auto ok = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
             c == '.';
    };
    while (n < s_.size() && ok(s_[n])) ++n;
    if (n > most) return {};
    const std::string_view w = s_.substr(0, n);
    s_.remove_prefix(n);
    return w;
  }
  void blanks() {
    while (!s_.empty() && s_[0] == ' ') s_.remove_prefix(1);
  }
  bool done() const { return s_.empty(); }
  std::string_view rest() const { return s_; }

 private:
  std::string_view s_;
};

struct Meaning {
  KernelKind kind = KernelKind::xid;
  int code = 0;
  std::optional<PciAddress> pci;
};

// How much an Xid's address may leave out. Only old drivers print less than the whole, and a short form fits into the
// 15 bytes of a program's name, with which a user can make a kernel line begin.
enum class Address { whole, any };

bool xid_address(Cursor& c, Address form, Meaning& m) {
  if (form == Address::any && c.take(": ")) return true;  // "NVRM: Xid: 13, ..."
  if (!c.take(" (")) return false;
  const bool pci_word = c.take("PCI:");
  m.pci = c.pci();
  if (!m.pci && form == Address::any) {
    if (pci_word && c.take("...")) return c.take("): ");  // made unreadable by whoever reported it
    const auto bus = c.number(4, true);                   // "(0001:00)": bus and device
    return bus && c.take(":") && c.number(2, true) && c.take("): ");
  }
  if (!m.pci) return false;
  if (c.take(" GPU-I:")) {  // an instance of a partitioned GPU, perhaps a compute instance of that
    if (!c.number(3, true)) return false;
    if (c.take(" GPU-CI:") && !c.number(3, true)) return false;
  }
  return c.take("): ");
}

// After "79,": nothing, or " text", or " pid=N[, name=...]". What stands in a name is a user's word and is not looked
// at.
bool xid_tail(Cursor& c) {
  if (c.done()) return true;
  if (!c.take(" ")) return false;
  c.blanks();
  if (!c.take("pid=")) return true;
  if (!c.take("'<unknown>'") && !c.take("<unknown>") && !c.take("'N/A'") && !c.number(10)) return false;
  return c.done() || c.take(",") || c.take(" ");
}

bool read_xid(Cursor c, Address form, Meaning& m) {
  if (!c.take("NVRM: Xid") || !xid_address(c, form, m)) return false;
  const auto code = c.number(3);
  // A line cut inside the code has no comma.
  if (!code || *code == 0 || !c.take(",")) return false;
  m.kind = KernelKind::xid;
  m.code = static_cast<int>(*code);
  return xid_tail(c);
}

bool read_off_bus(Cursor c, Meaning& m) {
  m.kind = KernelKind::off_bus;
  m.code = 0;
  m.pci.reset();
  if (c.take("NVRM: GPU at ")) {
    c.take("PCI:");
    m.pci = c.pci();
    return m.pci && (c.take(" has fallen off the bus") || c.take(": GPU has fallen off the bus")) &&
           (c.take("."), c.done());
  }
  if (c.take("NVRM: GPU ")) {
    m.pci = c.pci();
    return m.pci && c.take(": GPU has fallen off the bus") && (c.take("."), c.done());
  }
  // What the driver says when it finds a dead GPU at its start: one record, whose line ends the kernel shows as \x0a.
  if (!c.take("NVRM: The NVIDIA GPU ") || !(m.pci = c.pci())) return false;
  if (!c.take("\\x0aNVRM: (PCI ID: ")) return false;
  const std::string_view ids = c.rest().substr(0, 10);
  if (ids.size() != 10 || ids[4] != ':' || ids[9] != ')') return false;
  c.take(ids);
  c.take("\\x0aNVRM:");
  return c.take(" installed in this system has\\x0aNVRM: fallen off the bus and is not responding to commands");
}

bool read_link(Cursor c, Meaning& m) {
  m.code = 0;
  if (!c.take("mlx5_core ") || !(m.pci = c.pci()) || !c.take(" ") || c.word(15).empty() || !c.take(": Link "))
    return false;
  const bool down = c.rest() == "down";
  m.kind = down ? KernelKind::link_down : KernelKind::link_up;
  return down || c.rest() == "up";
}

// Older kernels say Corrected and Uncorrected, newer ones Correctable and Uncorrectable.
std::optional<int> aer_severity(Cursor& c) {
  if (c.take("Correctable") || c.take("Corrected")) return 0;
  if (!c.take("Uncorrectable") && !c.take("Uncorrected")) return std::nullopt;
  if (c.take(" (Non-Fatal)")) return 1;
  if (c.take(" (Fatal)")) return 2;
  return std::nullopt;
}

bool read_aer(Cursor c, Meaning& m) {
  m.kind = KernelKind::pcie_error;
  if (c.word(24).empty() || !c.take(" ") || !(m.pci = c.pci()) || !c.take(": ")) return false;
  std::optional<int> severity;
  if (c.take("PCIe Bus Error: severity=")) {
    severity = aer_severity(c);
    if (!severity || !c.take(", type=")) return false;
  } else if (c.take("AER: ")) {  // the root port's summary: the address that counts comes last
    c.take("Multiple ");
    severity = aer_severity(c);
    if (!severity || !c.take(" error ") || !(c.take("message received from ") || c.take("received: "))) return false;
    m.pci = c.pci();
    if (!m.pci || !c.done()) return false;
  } else {
    return false;
  }
  m.code = *severity;
  return true;
}

std::optional<Meaning> read_text(std::string_view text, Address form) {
  Meaning m;
  if (text.substr(0, 6) == "NVRM: ") {
    if (read_xid(Cursor(text), form, m) || read_off_bus(Cursor(text), m)) return m;
    return std::nullopt;
  }
  if (read_link(Cursor(text), m) || read_aer(Cursor(text), m)) return m;
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

std::optional<KernelRecord> parse_kmsg(std::string_view record, NodeId node, std::uint64_t boot, Time at,
                                       const Site& site) {
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
  const auto m = read_text(text, Address::whole);
  if (!m || !m->pci) return std::nullopt;
  const PciTable table(site);
  KernelRecord r;
  r.at = at;
  r.node = node;
  int slot = m->kind == KernelKind::link_down || m->kind == KernelKind::link_up ? -1 : table.gpu(*m->pci);
  if (slot < 0 && m->kind != KernelKind::xid && m->kind != KernelKind::off_bus) slot = table.nic(*m->pci);
  r.slot = static_cast<std::int16_t>(slot);
  r.kind = m->kind;
  r.code = m->code;
  r.boot = boot;
  r.seq = seq;
  r.text = std::string(text.substr(0, kKernelTextMax));
  return r;
}

std::optional<LogLine> parse_log_line(std::string_view text) {
  text = text.substr(0, kKernelRecordMax);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  LogLine line;
  if (const auto i = text.find("SXid ("); i != std::string_view::npos) {
    Cursor c(text.substr(i));
    c.take("SXid (");
    c.take("PCI:");
    const auto pci = c.pci();
    const auto code = pci && c.take("): ") ? c.number(5) : std::nullopt;
    if (!code || !c.take(",")) return std::nullopt;
    line.fault = "SXid " + std::to_string(*code);
    line.pci = render(*pci);
    return line;
  }
  for (const std::string_view start : {"NVRM: ", "mlx5_core ", "pcieport ", "nvidia "}) {
    for (std::size_t i = text.find(start); i != std::string_view::npos; i = text.find(start, i + 1)) {
      const auto m = read_text(text.substr(i), Address::any);
      if (!m) continue;
      line.fault = m->kind == KernelKind::xid ? "Xid " + std::to_string(m->code) : std::string(name_of(m->kind));
      if (m->pci) line.pci = render(*m->pci);
      constexpr std::string_view kBlame = "caused by previous Xid ";
      if (const auto b = text.rfind(kBlame); m->code == 45 && b != std::string_view::npos) {
        const auto previous = Cursor(text.substr(b + kBlame.size())).number(3);
        line.previous = static_cast<int>(previous.value_or(0));
      }
      return line;
    }
  }
  return std::nullopt;
}

}  // namespace muster
