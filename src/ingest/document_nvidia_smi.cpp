// What is wrong by the word of nvidia-smi.
#include <fmt/core.h>

#include "base/text.h"
#include "ingest/documents.h"
#include "ingest/nvidia_smi.h"
#include "ingest/nvidia_smi_text.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;

struct Block {  // of one GPU
  std::size_t from = 0, to = 0;
};

// Where the GPUs stand, in their order. Behind the last: the whole text, for one that was not found.
std::vector<Block> blocks_of(std::string_view text, bool xml) {
  std::vector<Block> out;
  const std::string_view mark = xml ? "<gpu id=" : "GPU ";
  for (std::size_t at = text.find(mark); at != npos && out.size() < kSmiGpusMax; at = text.find(mark, at + 1)) {
    const bool line_begins = at == 0 || text[at - 1] == '\n';
    if (!xml && !line_begins) continue;
    if (!out.empty()) out.back().to = at;
    out.push_back({at, text.size()});
  }
  return out;
}

// The last key of a GPU's block, at the outermost level: which it is differs among releases, not among the GPUs of a report.
std::string_view last_key(std::string_view block) {
  constexpr std::string_view kIndent = "\n    ";
  for (std::size_t at = block.rfind(kIndent); at != npos && at > 0; at = block.rfind(kIndent, at - 1)) {
    const std::string_view line = block.substr(at + kIndent.size(), block.find('\n', at + 1) - at - kIndent.size());
    if (!line.empty() && line[0] != ' ') return trim(line.substr(0, line.find(" : ")));
  }
  return {};
}

// Whether a report in text ends within a GPU: others may have followed.
bool cut_off(std::string_view text, const std::vector<Block>& blocks) {
  if (blocks.empty()) return false;  // not one GPU: as it stands
  const std::string_view end = text.substr(text.rfind('\n') + 1);
  if (text.size() > kSmiTextBytesMax || (end.starts_with(' ') && end.find(" : ") == npos)) return true;
  const auto part = [&](const Block& b) { return text.substr(b.from, b.to - b.from); };
  const std::string_view last = part(blocks.back());
  return blocks.size() > 1 ? last_key(last) != last_key(part(blocks.front())) : last.find("\n    Processes") == npos;
}

class Examiner {
 public:
  Examiner(std::string_view text, bool xml, DocumentReading& out) : text_(text), xml_(xml), lines_(text), out_(out) {}

  void gpu(const SmiGpu& g, Block block) {
    block_ = block;
    const auto address = read_pci(g.pci);
    pci_ = address ? render(*address) : g.pci;
    verdict(g);
    memory(g);
    clocks(g);
    links(g);
    heat(g);
    if (g.unreadable > 0) unreadable(g);
  }
  void complaint(const SmiProblem& p) {
    block_ = {0, text_.size()};
    pci_ = p.pci ? render(*p.pci) : std::string();
    const std::string_view key = std::string_view(p.text).substr(0, 24);
    switch (p.kind) {
      case SmiProblemKind::no_driver:
        return own("no_driver", key, key, "nvidia-smi cannot talk to the driver: it is not loaded, or hangs", "fatal", "node",
                   "Look for NVRM in the kernel log; load the driver (modprobe nvidia); else REBOOT_NODE", p.text);
      case SmiProblemKind::version_mismatch:
        return own("driver_version_mismatch", key, key,
                   "The driver in the kernel and its library are of different releases: updated while in use", "error", "node",
                   "DRAIN; REBOOT_NODE, or unload and load the modules", p.text);
      case SmiProblemKind::no_devices: return see("no_gpus", "GPU count short", key, key, p.text);
      case SmiProblemKind::no_handle: return see("gpu_lost", "Fallen off bus, no Xid", key, key, p.text);
      case SmiProblemKind::inforom: return see("inforom_corrupted", "DCGM_FR 9", key, key, p.text);
      case SmiProblemKind::other:
        if (others_++ == 0) out_.notes.push_back("not understood: " + p.text);
        return;
    }
  }
  void count_short(double attached, std::size_t shown) {
    block_ = {0, text_.size()};
    pci_.clear();
    see("gpu_count", "GPU count short", "<attached_gpus>", "Attached GPUs",
        fmt::format("{:.0f} attached, {} shown", attached, shown));
  }

  std::size_t others() const { return others_; }

 private:
  DocumentProblem place(std::string code, std::string_view element, std::string_view key, std::string words) {
    DocumentProblem p;
    const std::string_view part = text_.substr(block_.from, block_.to - block_.from);
    const std::size_t at = part.find(xml_ ? element : key);
    p.line_first = p.line_last = lines_.of(block_.from + (at == npos ? 0 : at));
    p.code = std::move(code);
    p.words = std::move(words);
    p.pci = pci_;
    return p;
  }
  void see(std::string code, const char* fault, std::string_view element, std::string_view key, std::string words = {}) {
    DocumentProblem p = place(std::move(code), element, key, std::move(words));
    p.fault = fault;
    out_.problems.push_back(std::move(p));
  }
  void own(std::string code, std::string_view element, std::string_view key, const char* meaning, const char* severity,
           const char* scope, const char* action, std::string words) {
    DocumentProblem p = place(std::move(code), element, key, std::move(words));
    p.meaning = meaning;
    p.severity = severity;
    p.scope = scope;
    p.action = action;
    out_.problems.push_back(std::move(p));
  }

  void verdict(const SmiGpu& g) {
    if (g.recovery && *g.recovery == RecoveryAction::unknown) {
      see("recovery_action_unknown", "GPU Recovery Action", "<gpu_recovery_action>", "GPU Recovery Action",
          "in words that this Muster does not know");
    } else if (g.recovery && *g.recovery != RecoveryAction::none) {
      const int n = static_cast<int>(*g.recovery);
      see(fmt::format("recovery_action_{}", n), "Xid 154", "<gpu_recovery_action>", "GPU Recovery Action");
      out_.problems.back().verdict = n;
    } else if (g.reset_required.value_or(false)) {
      see("reset_required", "NVRM reset required", "<reset_required>", "Reset Required");
    } else if (g.drain_and_reset_recommended.value_or(false)) {
      see("recovery_action_4", "Xid 154", "<drain_and_reset_recommended>", "Drain and Reset Recommended");
      out_.problems.back().verdict = 4;
    }
  }

  void memory(const SmiGpu& g) {
    const double dram = g.dram_uncorrected.value_or(0), sram = g.sram_uncorrected.value_or(0);
    if (dram + sram > 0)
      see("ecc_uncorrectable", "ECC dbe volatile", dram > 0 ? "<dram_uncorrectable>" : "<sram_uncorrectable", "Volatile",
          fmt::format("{:.0f} of memory, {:.0f} on the chip", dram, sram));
    const auto flag = [&](std::optional<bool> on, const char* code, const char* fault, const char* element, const char* key) {
      if (on.value_or(false)) see(code, fault, element, key);
    };
    flag(g.sram_threshold_exceeded, "sram_threshold_exceeded", "SRAM threshold exceeded", "<sram_threshold_exceeded>",
         "SRAM Threshold Exceeded");
    flag(g.remap_pending, "row_remap_pending", "Row remap pending", "<remapped_row_pending>", "Remapped Rows");
    flag(g.remap_failed, "row_remap_failed", "Row remap failure", "<remapped_row_failure>", "Remapping Failure Occurred");
    if (g.remap_banks_none_left.value_or(0) > 0)
      see("row_remap_no_spares", "Row remap bank histogram", "<row_remapper_histogram_none>", "Bank Remap Availability",
          fmt::format("{:.0f} banks have no spare row left", *g.remap_banks_none_left));
    flag(g.channel_repair_pending, "channel_repair_pending", "Channel repair pending", "<channel_repair_pending>",
         "Channel Repair Pending");
    flag(g.tpc_repair_pending, "tpc_repair_pending", "TPC repair pending", "<tpc_repair_pending>", "TPC Repair Pending");
    flag(g.unrepairable_memory, "unrepairable_memory", "Unrepairable memory", "<unrepairable_memory>", "Unrepairable Memory");
    flag(g.retirement_pending, "page_retirement_pending", "Retired pages", "<pending_", "Retired Pages");
  }

  void clocks(const SmiGpu& g) {
    const std::uint32_t on = g.clock_reasons.value_or(0);
    const auto reason = [&](std::uint32_t bit, const char* code, const char* fault, const char* element, const char* key) {
      if ((on & bit) != 0) see(code, fault, element, key);
    };
    reason(kClockHwThermal, "clock_hw_thermal", "Clock event HW thermal", "_reason_hw_thermal_slowdown>", "HW Thermal Slowdown");
    reason(kClockHwPowerBrake, "clock_hw_power_brake", "Clock event HW power brake", "_reason_hw_power_brake_slowdown>",
           "HW Power Brake Slowdown");
    reason(kClockSwThermal, "clock_sw_thermal", "Clock event SW thermal", "_reason_sw_thermal_slowdown>", "SW Thermal Slowdown");
    // The bit that sums up the first two says something of its own only without them.
    if ((on & (kClockHwThermal | kClockHwPowerBrake)) == 0)
      reason(kClockHwSlowdown, "clock_hw_slowdown", "Clock event HW slowdown", "_reason_hw_slowdown>", "HW Slowdown");
  }

  void links(const SmiGpu& g) {
    if (g.pcie_width && g.pcie_width_max && *g.pcie_width > 0 && *g.pcie_width < *g.pcie_width_max)
      see("pcie_width", "PCIe link gen/width", "<current_link_width>", "Link Width",
          fmt::format("{:.0f} of {:.0f} lanes", *g.pcie_width, *g.pcie_width_max));
    // An idle link slows down to save power.
    const bool busy = g.gpu_util_pct.value_or(0) >= 50;
    if (busy && g.pcie_gen && g.pcie_gen_max && *g.pcie_gen < *g.pcie_gen_max)
      see("pcie_gen", "PCIe link gen/width", "<current_link_gen>", "PCIe Generation",
          fmt::format("generation {:.0f} of {:.0f} under load", *g.pcie_gen, *g.pcie_gen_max));
    const bool state = !g.fabric_state.empty() && g.fabric_state != "Completed";
    const bool status = !g.fabric_status.empty() && g.fabric_status != "Success";
    if (state || status)
      see("fabric_state", "Fabric state", "<fabric>", "    Fabric\n",
          fmt::format("state {}{}", g.fabric_state.empty() ? "unknown" : g.fabric_state,
                      g.fabric_status.empty() ? "" : ", status " + g.fabric_status));
  }

  void heat(const SmiGpu& g) {
    constexpr double kNear = 5;  // degrees
    const auto margin = g.margin_c                 ? g.margin_c
                        : g.temp_c && g.slowdown_c ? std::optional(*g.slowdown_c - *g.temp_c)
                                                   : std::nullopt;
    if (margin && *margin < kNear)
      see("gpu_temp", "GPU temp", "<temperature>", "    Temperature\n", fmt::format("{:.0f} C below its limit", *margin));
    if (g.memory_temp_c && g.memory_max_c && *g.memory_max_c > 0 && *g.memory_temp_c > *g.memory_max_c - kNear)
      see("memory_temp", "HBM temp", "<memory_temp>", "Memory Current Temp",
          fmt::format("{:.0f} C, limit {:.0f} C", *g.memory_temp_c, *g.memory_max_c));
  }

  void unreadable(const SmiGpu& g) {
    const std::string_view said = g.unreadable_text;
    const std::string words = fmt::format("{} values read \"{}\"", g.unreadable, said);
    if (said.find("is lost") != npos) return see("gpu_lost", "Fallen off bus, no Xid", said, said, words);
    if (said.find("requires reset") == npos) return see("unreadable", "Power unreadable", said, said, words);
    if (!g.recovery && !g.reset_required) see("reset_required", "NVRM reset required", said, said, words);
  }

  std::string_view text_;
  bool xml_;
  Lines lines_;
  DocumentReading& out_;
  Block block_;
  std::string pci_;
  std::size_t others_ = 0;  // complaints in words that are not known
};

}  // namespace

void read_nvidia_smi(std::string_view text, bool xml, DocumentReading& out) {
  const NvidiaSmi smi = xml ? parse_nvidia_smi(text) : parse_nvidia_smi_text(text);
  out.source = "nvidia_smi";
  out.what = fmt::format("nvidia-smi -q{} of {} GPU{}{}", xml ? " -x" : "", smi.gpus.size(), smi.gpus.size() == 1 ? "" : "s",
                         smi.driver.empty() ? "" : ", driver " + smi.driver);
  Examiner examiner(text, xml, out);
  for (const SmiProblem& p : smi.problems) examiner.complaint(p);
  const auto blocks = blocks_of(text, xml);
  for (std::size_t i = 0; i < smi.gpus.size(); ++i) {
    examiner.gpu(smi.gpus[i], i < blocks.size() ? blocks[i] : Block{0, text.size()});
  }
  if (smi.complete && smi.attached && *smi.attached > static_cast<double>(smi.gpus.size()) && smi.left_out == 0) {
    if (!xml && cut_off(text, blocks))
      out.notes.push_back(fmt::format("it is not whole: {:.0f} GPUs are attached, and it ends within number {} of them",
                                      *smi.attached, smi.gpus.size()));
    else
      examiner.count_short(*smi.attached, smi.gpus.size());
  }
  if (examiner.others() > 1) out.notes.push_back(fmt::format("and {} lines more, likewise", examiner.others() - 1));
  if (smi.gpus.empty() && out.problems.empty()) out.notes.push_back("it shows no GPU");
  if (xml && !smi.complete) out.notes.push_back("it is not whole: " + printable(smi.broken));
  if (smi.not_understood > 0) out.notes.push_back(fmt::format("{} values in a form that is not known", smi.not_understood));
  if (smi.left_out > 0) out.notes.push_back(fmt::format("{} GPUs or other things too many: not read", smi.left_out));
}

}  // namespace muster
