#include "ingest/kernel_text.h"

#include <array>

#include "ingest/log_cursor.h"

namespace muster {
namespace {

constexpr std::size_t kProcessNameMax = 15;  // bytes, as the kernel keeps them

// Whether the message begins with a process's name, as some of the kernel's do: "NAME[123]: segfault at", "NAME invoked
// oom-killer:". Whoever chose the name chose how the message begins.
bool begins_with_a_process(std::string_view text) {
  const std::size_t most = std::min(text.size(), kProcessNameMax + 1);
  for (std::size_t i = 1; i < most; ++i) {
    Cursor c(text.substr(i));
    if (c.take(" invoked oom-killer") || c.take(" used greatest stack")) return true;
    c = Cursor(text.substr(i));
    if ((c.take("[") || c.take(" (") || c.take("/")) && c.number(10) && (c.take("]") || c.take(")") || c.take(":"))) return true;
  }
  return false;
}

bool contains(std::string_view text, std::string_view what) { return text.find(what) != std::string_view::npos; }

bool read_mig(Cursor& c, std::string_view text, KernelText& k) {
  const std::size_t from = text.size() - c.rest().size() + 1;
  if (!c.take(" GPU-I:")) return true;
  if (!c.number(3, true)) return false;
  if (c.take(" GPU-CI:") && !c.number(3, true)) return false;
  k.mig = text.substr(from, text.size() - c.rest().size() - from);
  return true;
}

bool xid_address(Cursor& c, std::string_view text, Address form, KernelText& k) {
  if (form == Address::any && c.take(": ")) {  // "NVRM: Xid: 13, ..."
    k.vague = true;
    return !begins_with_a_process(text);
  }
  if (!c.take(" (")) return false;
  const bool pci_word = c.take("PCI:");
  k.pci = c.pci();
  if (!k.pci && form == Address::any) {
    k.vague = true;
    if (pci_word && (c.take("...") || c.take("XXXX:XX:XX") || c.take("xxxx:xx:xx")))  // hidden by whoever reported it
      return (c.take(".0"), c.take("): "));
    const auto bus = c.hex(4, 4);  // "(0001:00)": bus and device
    const auto device = bus && *bus <= 0xff && c.take(":") ? c.hex(2, 2) : std::nullopt;
    if (!device || *device > 0x1f) return false;
    k.pci = PciAddress{0, static_cast<std::uint8_t>(*bus), static_cast<std::uint8_t>(*device)};
    return c.take("): ");
  }
  return k.pci && read_mig(c, text, k) && c.take("): ");
}

// "recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
int read_verdict(std::string_view words) {
  constexpr std::string_view kTo = ") to 0x";
  const std::size_t at = words.find(kTo);
  if (at == std::string_view::npos || !contains(words.substr(0, at), "recovery action changed from 0x")) return -1;
  const auto v = Cursor(words.substr(at + kTo.size())).hex(1, 2);
  return v && *v <= 5 ? static_cast<int>(*v) : -1;
}

int read_blame(std::string_view words) {
  constexpr std::string_view kBlame = "caused by previous Xid ";
  const std::size_t at = words.rfind(kBlame);
  if (at == std::string_view::npos) return 0;
  Cursor c(words.substr(at + kBlame.size()));
  const auto n = c.number(3);
  c.take(".");
  return n && c.done() ? static_cast<int>(*n) : 0;
}

std::optional<KernelText> read_xid(std::string_view text, Address form) {
  KernelText k;
  Cursor c(text);
  if (!c.take("NVRM: Xid") || !xid_address(c, text, form, k)) return std::nullopt;
  const auto code = c.number(3);
  // A line cut inside the code has no comma.
  if (!code || *code == 0 || !c.take(",")) return std::nullopt;
  k.number = static_cast<int>(*code);
  k.code = "Xid " + std::to_string(*code);
  if (c.rest().find_first_not_of(' ') == std::string_view::npos) {
    k.cut = true;
    return k;
  }
  if (!c.take(" ") || !read_xid_tail(c.rest(), k)) return std::nullopt;
  if (k.number == 154) k.verdict = read_verdict(k.words);
  if (k.number == 45) k.caused_by = read_blame(k.words);
  return k;
}

std::optional<KernelText> read_sxid(std::string_view text) {
  Cursor c(text);
  KernelText k;
  k.kind = TextKind::sxid;
  if (!c.take("nvidia-nvswitch") || !c.number(3, true) || !c.take(": SXid (")) return std::nullopt;
  c.take("PCI:");
  if (!(k.pci = c.pci(&k.function)) || !c.take("): ")) return std::nullopt;
  const auto code = c.number(5);
  if (!code || *code == 0 || !c.take(",")) return std::nullopt;
  k.number = static_cast<int>(*code);
  k.code = "SXid " + std::to_string(*code);
  c.blanks();
  k.words = c.rest();
  if (c.take("Fatal"))
    k.said = Said::fatal;
  else if (c.take("Non-fatal") || c.take("Nonfatal"))
    k.said = Said::nonfatal;
  else if (c.take("Severity 0 "))
    k.said = Said::nonfatal;
  else if (c.take("Severity 1 "))
    k.said = Said::fatal;
  return k;
}

KernelText simple(TextKind kind, std::string_view code) {
  KernelText k;
  k.kind = kind;
  k.code = code;
  return k;
}

// What the driver says when it finds a dead GPU at its start: three or four lines, or one record with line ends the kernel shows
// as \x0a and rsyslog as #012.
std::optional<KernelText> read_off_bus_start(Cursor c) {
  KernelText k = simple(TextKind::off_bus_part, "");
  if (c.take("(PCI ID: ") || c.take("installed in this system has")) return k;
  if (c.take("fallen off the bus and is not responding to commands")) return simple(TextKind::off_bus, "Fallen off bus, no Xid");
  if (!c.take("The NVIDIA GPU ") || !(k.pci = c.pci())) return std::nullopt;
  c.blanks();
  if (c.done()) return k;
  const auto line_end = [&] { return c.take("\\x0a") || c.take("#012"); };
  if (!line_end() || !c.take("NVRM: (PCI ID: ") || !c.hex(4, 4) || !c.take(":") || !c.hex(4, 4) || !c.take(")"))
    return std::nullopt;
  if (line_end()) c.take("NVRM:");
  if (!c.take(" installed in this system has") || !line_end()) return std::nullopt;
  if (!c.take("NVRM: fallen off the bus and is not responding to commands")) return std::nullopt;
  k.kind = TextKind::off_bus;
  k.code = "Fallen off bus, no Xid";
  return k;
}

// "GPU at 0000:01:00.0 has fallen off the bus.", "GPU 0000:c3:00.0: GPU has fallen off the bus.", and what else begins so.
std::optional<KernelText> read_gpu_line(Cursor c) {
  const bool at = c.take("at ");
  c.take("PCI:");
  KernelText k = simple(TextKind::off_bus, "Fallen off bus, no Xid");
  if (!(k.pci = c.pci())) return std::nullopt;
  if ((at && c.take(" has fallen off the bus")) || c.take(": GPU has fallen off the bus")) {
    c.take(".");
    if (c.done()) return k;
    return std::nullopt;
  }
  if (!c.take(": ")) return std::nullopt;
  if (c.take("RmInitAdapter failed!") || c.take("rm_init_adapter failed")) {
    k.kind = TextKind::nvrm;
    k.code = "NVRM init failed";
    return k;
  }
  return std::nullopt;
}

// Bad news that names a GPU by its index or not at all, somewhere in a line of the driver's.
std::optional<KernelText> read_nvrm_words(std::string_view rest) {
  if (contains(rest, "RmInitAdapter failed!") || contains(rest, "rm_init_adapter failed"))
    return simple(TextKind::nvrm, "NVRM init failed");
  if (contains(rest, "[NV_ERR_RESET_REQUIRED]")) return simple(TextKind::nvrm, "NVRM reset required");
  if (contains(rest, "eartbeat timed out")) return simple(TextKind::nvrm, "NVRM GSP heartbeat");
  if (contains(rest, "CrashCat")) return simple(TextKind::nvrm, "NVRM GSP crash");
  if (contains(rest, "PMU has halted")) return simple(TextKind::nvrm, "NVRM PMU halted");
  if (contains(rest, "failed to wait for GFW_BOOT")) return simple(TextKind::nvrm, "NVRM GFW boot");
  if (contains(rest, "[NV_ERR_GPU_IS_LOST]")) return simple(TextKind::lost_words, "Fallen off bus, no Xid");
  constexpr std::string_view kRepeat = "RC all channels for critical error ";
  if (const std::size_t at = rest.find(kRepeat); at != std::string_view::npos) {
    Cursor c(rest.substr(at + kRepeat.size()));
    const auto n = c.number(3);
    c.take(".");
    if (!n || *n == 0 || !c.done()) return std::nullopt;
    KernelText k = simple(TextKind::xid_words, "Xid " + std::to_string(*n));
    k.number = static_cast<int>(*n);
    return k;
  }
  return std::nullopt;
}

}  // namespace

bool read_xid_tail(std::string_view text, KernelText& out) {
  Cursor c(text);
  c.blanks();
  if (!c.take("pid=")) {
    out.words = c.rest();
    return true;
  }
  if (!c.take("'<unknown>'") && !c.take("<unknown>") && !c.take("'N/A'") && !c.take("N/A")) {
    const auto pid = c.number(10);
    if (!pid) return false;
    out.pid = static_cast<std::int64_t>(*pid);
  }
  if (c.done()) return true;
  if (!c.take(",") && !c.take(" ")) return false;
  c.blanks();
  if (c.take("name=")) {
    // It ends at the first comma: a name that holds one itself is told too short, and what follows is still not the driver's
    // code.
    const std::string_view rest = c.rest();
    const std::size_t end = rest.find(", ");
    const std::string_view name = rest.substr(0, end);
    if (name != "<unknown>" && name != "'<unknown>'" && name != "'N/A'") out.process = name;
    c.skip(end == std::string_view::npos ? rest.size() : end + 2);
  }
  c.blanks();
  out.words = c.rest();
  return true;
}

std::string_view verdict_name(int verdict) {
  constexpr std::array<std::string_view, 6> kNames = {"None",      "GPU Reset Required", "Node Reboot Required",
                                                      "Drain P2P", "Drain and Reset",    "Recover IMEX Domain"};
  return verdict >= 0 && verdict < 6 ? kNames[static_cast<std::size_t>(verdict)] : std::string_view();
}

std::optional<KernelText> read_nvidia_text(std::string_view text, Address form) {
  Cursor c(text);
  if (c.peek() == 'n') return read_sxid(text);
  if (!c.take("NVRM: ")) return std::nullopt;
  if (c.rest().substr(0, 3) == "Xid") return read_xid(text, form);
  if (c.take("GPU ")) {
    if (auto k = read_gpu_line(c)) return k;
    c = Cursor(text);
    c.take("NVRM: ");
  }
  if (auto k = read_off_bus_start(c)) return k;
  if (form == Address::whole) return std::nullopt;
  auto k = read_nvrm_words(c.rest());
  if (!k || begins_with_a_process(text)) return std::nullopt;
  k->vague = true;
  return k;
}

std::optional<KernelText> read_fabric_manager(std::string_view text) {
  Cursor c(text);
  KernelText k;
  k.kind = TextKind::sxid;
  if (!c.take("detected NVSwitch ")) return std::nullopt;
  if (c.take("non-fatal ") || c.take("nonfatal "))
    k.said = Said::nonfatal;
  else if (c.take("fatal "))
    k.said = Said::fatal;
  else
    return std::nullopt;
  const auto code = c.take("error ") ? c.number(5) : std::nullopt;
  if (!code || *code == 0 || !c.take(" on ")) return std::nullopt;
  k.number = static_cast<int>(*code);
  k.code = "SXid " + std::to_string(*code);
  constexpr std::string_view kAt = "pci bus id ";
  if (const std::size_t at = c.rest().find(kAt); at != std::string_view::npos) {
    Cursor address(c.rest().substr(at + kAt.size()));
    k.pci = address.pci(&k.function);
  }
  k.vague = !k.pci;
  return k;
}

std::optional<KernelText> read_kernel_text(std::string_view text, Address form) {
  if (text.size() < 8) return std::nullopt;
  if (text[0] == 'N' || text[0] == 'n') {
    if (auto k = read_nvidia_text(text, form)) return k;
    if (text.starts_with("NVRM: ")) return std::nullopt;
  }
  if (text[0] == 'm') {
    if (auto k = read_nic_text(text)) return k;
  }
  if (auto k = read_aer_text(text)) return k;
  return read_host_text(text);
}

}  // namespace muster
