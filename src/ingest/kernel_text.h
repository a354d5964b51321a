// One message of the kernel, without anything before it, to what it says: a grammar per form, anchored at the first byte. Names
// of processes, files and control groups are users' words: they are handed on, never looked into.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ingest/pci.h"

namespace muster {

// How much an Xid's address may leave out. Only old drivers and people who hide it print less than the whole, and a short form
// fits into the 15 bytes of a program's name, with which a user can make a kernel message begin.
enum class Address { whole, any };

enum class TextKind : std::uint8_t {
  xid,
  sxid,
  off_bus,       // a GPU that left without an Xid
  off_bus_part,  // one of the first lines of the three that say so
  xid_words,     // repeats an Xid in words
  lost_words,    // repeats, without an address, that a GPU is gone
  nvrm,          // the driver's other bad news
  aer,
  aer_detail,  // a line below it that names the error
  nic,         // mlx5
  host,
};

enum class Said : std::uint8_t { nothing, fatal, nonfatal };

// Views are into the text that was read.
struct KernelText {
  TextKind kind = TextKind::xid;
  std::string code;  // of the fault catalogue: "Xid 79", "AER corr RxErr"; empty for parts and words
  int number = 0;    // of the Xid or SXid; for aer 0 corrected, 1 uncorrected, 2 fatal
  std::optional<PciAddress> pci;
  int function = -1;     // of the address, where one is printed
  std::string_view mig;  // "GPU-I:05 GPU-CI:00"
  std::int64_t pid = -1;
  std::string_view process;   // a user's word
  int caused_by = 0;          // Xid 45: the Xid the driver blames
  int verdict = -1;           // Xid 154: what the driver now wants, 0 (nothing) to 5
  Said said = Said::nothing;  // the word Fatal or Non-fatal in the line itself
  std::string_view words;     // Xid: what the driver says beyond code and process
  bool cut = false;           // ends right after the code's comma: the rest may be on the next line
  bool vague = false;         // no address, or not the whole of it
};

std::optional<KernelText> read_kernel_text(std::string_view text, Address form);
// What Fabric Manager's own log says of a switch: "detected NVSwitch non-fatal error 12028 on fid 0 ... port 61".
std::optional<KernelText> read_fabric_manager(std::string_view text);
// "pid=1122, name=python3, GPU has fallen off the bus.": what stands behind an Xid's code; fills pid, process, words.
bool read_xid_tail(std::string_view text, KernelText& out);
// Xid 154's verdicts, 0 to 5: "GPU Reset Required". Empty for others.
std::string_view verdict_name(int verdict);

// The parts of read_kernel_text, one per family.
std::optional<KernelText> read_nvidia_text(std::string_view text, Address form);
std::optional<KernelText> read_nic_text(std::string_view text);
std::optional<KernelText> read_aer_text(std::string_view text);
std::optional<KernelText> read_host_text(std::string_view text);

}  // namespace muster
