// Messages of the kernel's other parts that concern a GPU node: network adapters, PCIe, memory, processors, storage.
#include <array>

#include "ingest/kernel_text.h"
#include "ingest/log_cursor.h"

namespace muster {
namespace {

bool contains(std::string_view text, std::string_view what) { return text.find(what) != std::string_view::npos; }

KernelText simple(TextKind kind, std::string_view code) {
  KernelText k;
  k.kind = kind;
  k.code = code;
  return k;
}

// Older kernels say Corrected and Uncorrected, newer ones Correctable and Uncorrectable.
std::optional<int> aer_severity(Cursor& c) {
  if (c.take("Correctable") || c.take("Corrected")) return 0;
  if (!c.take("Uncorrectable") && !c.take("Uncorrected")) return std::nullopt;
  if (c.take(" (Non-Fatal)")) return 1;
  if (c.take(" (Fatal)")) return 2;
  return std::nullopt;
}

KernelText aer(int severity, std::optional<PciAddress> pci, int function) {
  constexpr std::array<std::string_view, 3> kCodes = {"AER corrected", "AER uncorrected", "AER fatal"};
  KernelText k = simple(TextKind::aer, kCodes[static_cast<std::size_t>(severity)]);
  k.number = severity;
  k.pci = pci;
  k.function = function;
  return k;
}

struct AerName {
  std::string_view said, code;
};
// The short names of newer kernels and the long ones of older kernels.
constexpr AerName kAerNames[] = {
    {"RxErr", "AER corr RxErr"},
    {"Receiver Error", "AER corr RxErr"},
    {"BadTLP", "AER corr BadTLP"},
    {"Bad TLP", "AER corr BadTLP"},
    {"BadDLLP", "AER corr BadDLLP"},
    {"Bad DLLP", "AER corr BadDLLP"},
    {"Rollover", "AER corr Rollover"},
    {"RELAY_NUM Rollover", "AER corr Rollover"},
    {"REPLAY_NUM Rollover", "AER corr Rollover"},
    {"Timeout", "AER corr Timeout"},
    {"Replay Timer Timeout", "AER corr Timeout"},
    {"NonFatalErr", "AER corr NonFatalErr"},
    {"Advisory Non-Fatal", "AER corr NonFatalErr"},
    {"CorrIntErr", "AER corr CorrIntErr"},
    {"Corrected Internal Error", "AER corr CorrIntErr"},
    {"HeaderOF", "AER corr HeaderOF"},
    {"Header Log Overflow", "AER corr HeaderOF"},
    {"DLP", "AER uncorr DLP"},
    {"Data Link Protocol", "AER uncorr DLP"},
    {"SDES", "AER uncorr SDES"},
    {"Surprise Down Error", "AER uncorr SDES"},
    {"TLP", "AER uncorr TLP"},
    {"Poisoned TLP", "AER uncorr TLP"},
    {"FCP", "AER uncorr FCP"},
    {"Flow Control Protocol", "AER uncorr FCP"},
    {"CmpltTO", "AER uncorr CmpltTO"},
    {"Completion Timeout", "AER uncorr CmpltTO"},
    {"CmpltAbrt", "AER uncorr CmpltAbrt"},
    {"Completer Abort", "AER uncorr CmpltAbrt"},
    {"UnxCmplt", "AER uncorr UnxCmplt"},
    {"Unexpected Completion", "AER uncorr UnxCmplt"},
    {"RxOF", "AER uncorr RxOF"},
    {"Receiver Overflow", "AER uncorr RxOF"},
    {"MalfTLP", "AER uncorr MalfTLP"},
    {"Malformed TLP", "AER uncorr MalfTLP"},
    {"ECRC", "AER uncorr ECRC"},
    {"UnsupReq", "AER uncorr UnsupReq"},
    {"Unsupported Request", "AER uncorr UnsupReq"},
    {"ACSViol", "AER uncorr ACSViol"},
    {"ACS Violation", "AER uncorr ACSViol"},
    {"UncorrIntErr", "AER uncorr UncorrIntErr"},
    {"Uncorrectable Internal Error", "AER uncorr UncorrIntErr"},
    {"BlockedTLP", "AER uncorr BlockedTLP"},
    {"MC Blocked TLP", "AER uncorr BlockedTLP"},
    {"AtomicOpBlocked", "AER uncorr AtomicOpBlocked"},
    {"AtomicOp Egress Blocked", "AER uncorr AtomicOpBlocked"},
    {"PoisonTLPBlocked", "AER uncorr PoisonTLPBlocked"},
};

std::string_view aer_code(std::string_view said) {
  said = said.substr(0, said.find("  "));  // names are padded, "(First)" may follow
  if (const std::size_t first = said.find(" (First)"); first != std::string_view::npos) said = said.substr(0, first);
  while (!said.empty() && said.back() == ' ') said.remove_suffix(1);
  for (const AerName& n : kAerNames) {
    if (n.said == said) return n.code;
  }
  return {};
}

// "   [ 0] RxErr   (First)" below an error, and the line with the register.
std::optional<KernelText> aer_detail(Cursor c, const PciAddress& pci, int function) {
  KernelText k = simple(TextKind::aer_detail, "");
  k.pci = pci;
  k.function = function;
  c.blanks();
  if (c.take("device ["))
    return c.hex(4, 4) && c.take(":") && c.hex(4, 4) && c.take("] error status/mask=") ? std::optional(k) : std::nullopt;
  if (!c.take("[")) return std::nullopt;
  c.blanks();
  if (!c.number(2) || !c.take("]")) return std::nullopt;
  c.blanks();
  k.code = aer_code(c.rest());
  return k;
}

// The root port's summary: the address that counts comes last, in old kernels as "id=00e0".
std::optional<KernelText> aer_summary(Cursor c) {
  c.take("Multiple ");
  const auto severity = aer_severity(c);
  if (!severity || !c.take(" error ") || !(c.take("message received from ") || c.take("received: "))) return std::nullopt;
  int function = -1;
  std::optional<PciAddress> pci;
  if (c.take("id=")) {
    const auto id = c.hex(4, 4);
    if (!id) return std::nullopt;
    pci = PciAddress{0, static_cast<std::uint8_t>(*id >> 8), static_cast<std::uint8_t>(*id >> 3 & 0x1f)};
    function = static_cast<int>(*id & 7);
  } else {
    pci = c.pci(&function);
  }
  if (!pci || !c.done()) return std::nullopt;
  return aer(*severity, pci, function);
}

std::optional<KernelText> nic(std::string_view code, const PciAddress& pci, int function) {
  KernelText k = simple(TextKind::nic, code);
  k.pci = pci;
  k.function = function;
  return k;
}

// The kernel function a message comes from, as mlx5 prints it: "poll_health:825:(pid 0): ".
bool skip_function(Cursor& c) {
  if (c.word(48).empty() || !c.take(":") || !c.number(6) || !c.take(":")) return false;
  if (c.take("(pid ")) return c.number(10) && c.take("): ");
  return c.take(" ");
}

std::string_view nic_words(std::string_view said) {
  if (said.starts_with("Port module event[error]: module ") && contains(said, "High Temperature")) return "mlx5 module hot";
  if (said.starts_with("Port module event: module ") && contains(said, "Cable unplugged")) return "mlx5 cable out";
  Cursor c(said);
  if (!skip_function(c)) c = Cursor(said);
  const std::string_view words = c.rest();
  if (words.starts_with("Detected insufficient power on the PCIe slot")) return "mlx5 slot power";
  if (words.starts_with("device's health compromised - reached miss count")) return "mlx5 health miss";
  if (words.starts_with("synd 0x8: unrecoverable hardware error")) return "mlx5 unrecoverable";
  if (contains(words, " timeout. Will cause a leak of a command resource")) return "mlx5 cmd timeout";
  if (words.starts_with("ACCESS_REG(0x805)") && contains(words, "failed")) return "mlx5 access_reg";
  return {};
}

std::optional<KernelText> with_process(std::string_view code, Cursor c) {
  KernelText k = simple(TextKind::host, code);
  const auto pid = c.number(10);
  if (!pid || !c.take(" (")) return std::nullopt;
  k.pid = static_cast<std::int64_t>(*pid);
  constexpr std::size_t kProcessNameMax = 15;
  const std::size_t end = c.rest().substr(0, kProcessNameMax + 1).rfind(')');
  if (end == std::string_view::npos) return std::nullopt;
  k.process = c.rest().substr(0, end);
  return k;
}

std::optional<KernelText> read_oom(std::string_view text) {
  Cursor c(text);
  c.take("Memory cgroup ");
  if (c.take("out of memory: ") || c.take("Out of memory: ")) {
    if (!c.take("Killed process ") && !c.take("Kill process ")) return std::nullopt;
    return with_process("HOST OOM kill", c);
  }
  if (c.take("Killed process ")) return with_process("HOST OOM kill", c);
  return std::nullopt;
}

// "INFO: task NAME:123 blocked for more than 120 seconds." The name may hold colons.
std::optional<KernelText> read_hung(std::string_view text) {
  Cursor c(text);
  if (!c.take("INFO: task ")) return std::nullopt;
  const std::size_t end = c.rest().substr(0, 64).find(" blocked for more than ");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view task = c.rest().substr(0, end);
  const std::size_t colon = task.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  Cursor number(task.substr(colon + 1));
  const auto pid = number.number(10);
  if (!pid || !number.done()) return std::nullopt;
  KernelText k = simple(TextKind::host, "HOST hung task");
  k.pid = static_cast<std::int64_t>(*pid);
  k.process = task.substr(0, colon);
  return k;
}

// "NAME[123]: segfault at 0 ip 0 sp 0 error 4 in libnccl.so.2[7f00+1000]"; "NAME invoked oom-killer: gfp_mask=...".
std::optional<KernelText> read_named(std::string_view text) {
  constexpr std::size_t kNameMax = 16;
  const std::string_view head = text.substr(0, kNameMax + 22);
  if (const std::size_t at = head.find(" invoked oom-killer: "); at != std::string_view::npos && at > 0 && at <= kNameMax)
    return simple(TextKind::host, "HOST OOM kill");
  const std::size_t at = head.find("]: segfault at ");
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t open = text.substr(0, at).rfind('[');
  if (open == std::string_view::npos || open == 0 || open > kNameMax) return std::nullopt;
  Cursor number(text.substr(open + 1, at - open - 1));
  const auto pid = number.number(10);
  Cursor c(text.substr(at));
  c.take("]: segfault at ");
  if (!pid || !number.done() || !c.hex(1, 16) || !c.take(" ip ") || !c.hex(1, 16) || !c.take(" sp ") || !c.hex(1, 16) ||
      !c.take(" error ") || !c.hex(1, 4) || !c.take(" in libnccl") || c.word(40).empty() || !c.take("["))
    return std::nullopt;
  KernelText k = simple(TextKind::host, "libnccl segfault");
  k.pid = static_cast<std::int64_t>(*pid);
  k.process = text.substr(0, open);
  return k;
}

// A machine check says in bit 61 of the bank's status whether the error was left uncorrected.
std::optional<KernelText> read_mce(Cursor c) {
  if (!c.take("mce: [Hardware Error]: ") && !c.take("[Hardware Error]: ")) return std::nullopt;
  if (c.take("Machine check events logged")) return simple(TextKind::host, "HOST MCE logged");
  if (c.take("Machine check: ") || c.take("Uncorrected hardware")) return simple(TextKind::host, "HOST MCE uncorrected");
  if (!c.take("CPU ") || !c.number(5) || !c.take(": Machine Check")) return std::nullopt;
  if (c.take(" Exception: ")) return simple(TextKind::host, "HOST MCE uncorrected");
  constexpr std::string_view kBank = " Bank ";
  const std::size_t bank = c.rest().find(kBank);
  if (bank == std::string_view::npos) return std::nullopt;
  Cursor s(c.rest().substr(bank + kBank.size()));
  const auto status = s.number(3) && s.take(": ") ? s.hex(1, 16) : std::nullopt;
  if (!status) return std::nullopt;
  return simple(TextKind::host, (*status >> 61 & 1u) != 0 ? "HOST MCE uncorrected" : "HOST MCE logged");
}

std::optional<KernelText> read_edac(Cursor c) {
  if (!c.take("EDAC ")) return std::nullopt;
  if (!c.take("MC") || !c.number(4) || !c.take(": ")) return std::nullopt;
  if (c.number(9)) c.blanks();
  if (c.take("CE ")) return simple(TextKind::host, "HOST EDAC CE");
  if (c.take("UE ")) return simple(TextKind::host, "HOST EDAC UE");
  return std::nullopt;
}

std::string_view disk_words(std::string_view text) {
  Cursor c(text);
  if (c.take("blk_update_request: ")) text = c.rest();
  if ((text.starts_with("I/O error, dev nvme") || text.starts_with("critical medium error, dev nvme")))
    return "HOST nvme io error";
  if (text.starts_with("nvme nvme") && contains(text, "timeout") && contains(text, "QID")) return "HOST nvme timeout";
  if (text.starts_with("XFS (") && contains(text, "hutting down filesystem")) return "HOST xfs shutdown";
  if (text.starts_with("EXT4-fs") && contains(text, "emounting filesystem read-only")) return "HOST read-only fs";
  if (text.starts_with("nfs: server ") && contains(text, " not responding")) return "HOST nfs not responding";
  return {};
}

std::string_view host_words(std::string_view text) {
  Cursor c(text);
  if (c.take("NMI watchdog: ") || c.take("watchdog: ")) text = c.rest();
  if (text.starts_with("BUG: soft lockup - CPU#")) return "HOST soft lockup";
  if (text.starts_with("Kernel panic - not syncing: ")) return "HOST kernel panic";
  if (text.starts_with("NETDEV WATCHDOG: ") && contains(text, "(mlx5_core): transmit queue ") && contains(text, " timed out"))
    return "mlx5 netdev watchdog";
  if (text.starts_with('{')) {
    Cursor n(text.substr(1));
    if (n.number(9) && n.take("}[Hardware Error]: event severity: fatal")) return "HOST CPER fatal";
  }
  return {};
}

}  // namespace

std::optional<KernelText> read_nic_text(std::string_view text) {
  Cursor c(text);
  int function = -1;
  if (!c.take("mlx5_core ")) return std::nullopt;
  const auto pci = c.pci(&function);
  if (!pci) return std::nullopt;
  if (c.take(": ")) {
    const std::string_view code = nic_words(c.rest());
    return code.empty() ? std::nullopt : nic(code, *pci, function);
  }
  if (!c.take(" ") || c.word(15).empty()) return std::nullopt;
  c.take(" (uninitialized)");
  if (!c.take(": ")) return std::nullopt;
  const std::string_view said = c.rest();
  if (said == "Link down") return nic("mlx5 link down", *pci, function);
  if (said == "Link up") return nic("mlx5 link up", *pci, function);
  if (said.starts_with("TX timeout")) return nic("mlx5 tx timeout", *pci, function);
  if (said.starts_with("RX timeout on channel")) return nic("mlx5 rx timeout", *pci, function);
  return std::nullopt;
}

std::optional<KernelText> read_aer_text(std::string_view text) {
  // A driver's name and an address: checked before anything dearer, since every line comes by here.
  const std::size_t blank = text.substr(0, 25).find(' ');
  if (blank == std::string_view::npos || text.size() < blank + 16 || text[blank + 5] != ':') return std::nullopt;
  Cursor c(text);
  int function = -1;
  if (c.word(24).empty() || !c.take(" ")) return std::nullopt;
  const auto pci = c.pci(&function);
  if (!pci || !c.take(": ")) return std::nullopt;
  if (c.take("AER: ") && !c.rest().starts_with("PCIe Bus Error")) return aer_summary(c);
  if (!c.take("PCIe Bus Error: severity=")) return aer_detail(c, *pci, function);
  const auto severity = aer_severity(c);
  if (!severity || !c.take(", type=")) return std::nullopt;
  return aer(*severity, pci, function);
}

std::optional<KernelText> read_host_text(std::string_view text) {
  std::optional<KernelText> k;
  switch (text[0]) {
    case 'M':
    case 'O': k = read_oom(text); break;
    case 'K':
      if (text[1] == 'i') k = read_oom(text);
      break;
    case 'I': k = read_hung(text); break;
    case 'm':
    case '[': k = read_mce(Cursor(text)); break;
    case 'E': k = read_edac(Cursor(text)); break;
    default: break;
  }
  if (k) return k;
  std::string_view code;
  if (std::string_view("IbcnXE").find(text[0]) != std::string_view::npos) code = disk_words(text);
  if (code.empty() && std::string_view("NwBK{").find(text[0]) != std::string_view::npos) code = host_words(text);
  if (!code.empty()) return simple(TextKind::host, code);
  return read_named(text);
}

}  // namespace muster
