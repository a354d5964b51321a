#include "ingest/nvidia_smi.h"

#include <charconv>
#include <cmath>
#include <span>
#include <variant>

#include "base/text.h"
#include "ingest/xml.h"

namespace muster {
namespace {

using NumberField = std::optional<double> SmiGpu::*;
using FlagField = std::optional<bool> SmiGpu::*;
using TextField = std::string SmiGpu::*;

template <class F>
struct Row {
  std::string_view path;  // of the element, below <gpu>
  F field;
};

// Where drivers renamed an element, both names are listed; of two in one text the first that has a value counts.
constexpr Row<NumberField> kNumbers[] = {
    {"minor_number", &SmiGpu::minor},
    {"platformInfo/module_id", &SmiGpu::module_id},
    {"temperature/gpu_temp", &SmiGpu::temp_c},
    {"temperature/memory_temp", &SmiGpu::memory_temp_c},
    {"temperature/gpu_temp_max_threshold", &SmiGpu::shutdown_c},
    {"temperature/gpu_temp_slow_threshold", &SmiGpu::slowdown_c},
    {"temperature/gpu_temp_max_gpu_threshold", &SmiGpu::max_operating_c},
    {"temperature/gpu_temp_max_mem_threshold", &SmiGpu::memory_max_c},
    {"temperature/gpu_temp_tlimit", &SmiGpu::margin_c},
    {"temperature/gpu_temp_max_tlimit_threshold", &SmiGpu::shutdown_margin_c},
    {"temperature/gpu_temp_slow_tlimit_threshold", &SmiGpu::slowdown_margin_c},
    {"temperature/gpu_temp_max_gpu_tlimit_threshold", &SmiGpu::max_margin_c},
    {"clocks/graphics_clock", &SmiGpu::graphics_mhz},
    {"clocks/sm_clock", &SmiGpu::sm_mhz},
    {"clocks/mem_clock", &SmiGpu::memory_mhz},
    {"max_clocks/sm_clock", &SmiGpu::sm_max_mhz},
    {"max_clocks/mem_clock", &SmiGpu::memory_max_mhz},
    {"clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap", &SmiGpu::sw_power_cap_us},
    {"clocks_event_reasons_counters/clocks_event_reasons_counters_sw_therm_slowdown", &SmiGpu::sw_thermal_us},
    {"clocks_event_reasons_counters/clocks_event_reasons_counters_hw_therm_slowdown", &SmiGpu::hw_thermal_us},
    {"clocks_event_reasons_counters/clocks_event_reasons_counters_hw_power_brake", &SmiGpu::hw_power_brake_us},
    {"gpu_power_readings/instant_power_draw", &SmiGpu::power_w},
    {"gpu_power_readings/power_draw", &SmiGpu::power_w},
    {"gpu_power_readings/average_power_draw", &SmiGpu::power_w},
    {"power_readings/power_draw", &SmiGpu::power_w},
    {"gpu_power_readings/current_power_limit", &SmiGpu::power_limit_w},
    {"power_readings/enforced_power_limit", &SmiGpu::power_limit_w},
    {"power_readings/power_limit", &SmiGpu::power_limit_w},
    {"gpu_power_readings/default_power_limit", &SmiGpu::power_limit_default_w},
    {"power_readings/default_power_limit", &SmiGpu::power_limit_default_w},
    {"gpu_power_readings/max_power_limit", &SmiGpu::power_limit_max_w},
    {"power_readings/max_power_limit", &SmiGpu::power_limit_max_w},
    {"utilization/gpu_util", &SmiGpu::gpu_util_pct},
    {"fb_memory_usage/used", &SmiGpu::memory_used_mib},
    {"fb_memory_usage/total", &SmiGpu::memory_total_mib},
    {"remapped_rows/remapped_row_corr", &SmiGpu::remapped_corrected},
    {"remapped_rows/remapped_row_unc", &SmiGpu::remapped_uncorrected},
    {"remapped_rows/row_remapper_histogram/row_remapper_histogram_none", &SmiGpu::remap_banks_none_left},
    {"retired_pages/multiple_single_bit_retirement/retired_count", &SmiGpu::retired_single_bit},
    {"retired_pages/double_bit_retirement/retired_count", &SmiGpu::retired_double_bit},
    {"pci/pci_gpu_link_info/pcie_gen/current_link_gen", &SmiGpu::pcie_gen},
    {"pci/pci_gpu_link_info/pcie_gen/max_link_gen", &SmiGpu::pcie_gen_max},
    {"pci/pci_gpu_link_info/pcie_gen/max_device_link_gen", &SmiGpu::pcie_gen_device_max},
    {"pci/pci_gpu_link_info/pcie_gen/max_host_link_gen", &SmiGpu::pcie_gen_host_max},
    {"pci/pci_gpu_link_info/link_widths/current_link_width", &SmiGpu::pcie_width},
    {"pci/pci_gpu_link_info/link_widths/max_link_width", &SmiGpu::pcie_width_max},
    {"pci/replay_counter", &SmiGpu::pcie_replays},
    {"pci/replay_rollover_counter", &SmiGpu::pcie_replay_rollovers},
};

// Several elements add up to one figure: parity and SEC-DED errors of SRAM, and before Ampere the units that are SRAM.
constexpr Row<NumberField> kSums[] = {
    {"ecc_errors/volatile/sram_correctable", &SmiGpu::sram_corrected},
    {"ecc_errors/volatile/sram_uncorrectable", &SmiGpu::sram_uncorrected},
    {"ecc_errors/volatile/sram_uncorrectable_parity", &SmiGpu::sram_uncorrected},
    {"ecc_errors/volatile/sram_uncorrectable_secded", &SmiGpu::sram_uncorrected},
    {"ecc_errors/volatile/dram_correctable", &SmiGpu::dram_corrected},
    {"ecc_errors/volatile/dram_uncorrectable", &SmiGpu::dram_uncorrected},
    {"ecc_errors/aggregate/sram_correctable", &SmiGpu::sram_corrected_ever},
    {"ecc_errors/aggregate/sram_uncorrectable", &SmiGpu::sram_uncorrected_ever},
    {"ecc_errors/aggregate/sram_uncorrectable_parity", &SmiGpu::sram_uncorrected_ever},
    {"ecc_errors/aggregate/sram_uncorrectable_secded", &SmiGpu::sram_uncorrected_ever},
    {"ecc_errors/aggregate/dram_correctable", &SmiGpu::dram_corrected_ever},
    {"ecc_errors/aggregate/dram_uncorrectable", &SmiGpu::dram_uncorrected_ever},
};

constexpr Row<FlagField> kFlags[] = {
    {"ecc_mode/current_ecc", &SmiGpu::ecc_on},
    {"ecc_mode/pending_ecc", &SmiGpu::ecc_pending},
    {"ecc_errors/aggregate/sram_threshold_exceeded", &SmiGpu::sram_threshold_exceeded},
    {"ecc_errors/channel_repair_pending", &SmiGpu::channel_repair_pending},
    {"ecc_errors/tpc_repair_pending", &SmiGpu::tpc_repair_pending},
    {"ecc_errors/unrepairable_memory", &SmiGpu::unrepairable_memory},
    {"remapped_rows/remapped_row_pending", &SmiGpu::remap_pending},
    {"remapped_rows/remapped_row_failure", &SmiGpu::remap_failed},
    {"retired_pages/pending_retirement", &SmiGpu::retirement_pending},
    {"retired_pages/pending_blacklist", &SmiGpu::retirement_pending},
    {"mig_mode/current_mig", &SmiGpu::mig_on},
    {"mig_mode/pending_mig", &SmiGpu::mig_pending},
    {"gpu_reset_status/reset_required", &SmiGpu::reset_required},
    {"gpu_reset_status/drain_and_reset_recommended", &SmiGpu::drain_and_reset_recommended},
};

constexpr Row<TextField> kTexts[] = {
    {"product_name", &SmiGpu::product},        {"serial", &SmiGpu::serial},      {"uuid", &SmiGpu::uuid},
    {"vbios_version", &SmiGpu::vbios},         {"pci/pci_bus_id", &SmiGpu::pci}, {"fabric/state", &SmiGpu::fabric_state},
    {"fabric/status", &SmiGpu::fabric_status},
};

struct ReasonRow {
  std::string_view name;
  ClockReason bit;
};
constexpr ReasonRow kReasons[] = {
    {"gpu_idle", kClockIdle},
    {"applications_clocks_setting", kClockApplications},
    {"sw_power_cap", kClockSwPowerCap},
    {"hw_slowdown", kClockHwSlowdown},
    {"sync_boost", kClockSyncBoost},
    {"sw_thermal_slowdown", kClockSwThermal},
    {"hw_thermal_slowdown", kClockHwThermal},
    {"hw_power_brake_slowdown", kClockHwPowerBrake},
    {"display_clocks_setting", kClockDisplay},
    {"display_clock_setting", kClockDisplay},
};

template <class R>
const R* find(std::span<const R> rows, std::string_view path) {
  for (const R& r : rows) {
    if (r.path == path) return &r;
  }
  return nullptr;
}

bool begins(std::string_view s, std::string_view with) { return s.substr(0, with.size()) == with; }
bool has(std::string_view s, std::string_view part) { return s.find(part) != std::string_view::npos; }
std::string kept(std::string_view s) { return printable(s.substr(0, kSmiTextMax)); }

// The driver's words for "there is none", with or without brackets.
bool absent(std::string_view s) {
  if (s.size() > 2 && s.front() == '[' && s.back() == ']') s = s.substr(1, s.size() - 2);
  return s.empty() || s == "N/A" || s == "None" || begins(s, "Not Supported") || begins(s, "Not Available") ||
         begins(s, "Insufficient Permissions") || has(s, "deprecated");
}
// The driver's words for "I could not ask it".
bool failed(std::string_view s) {
  return has(s, "ERR!") || begins(s, "Unknown Error") || begins(s, "[Unknown Error") || has(s, "requires reset") ||
         has(s, "is lost");
}

// "35 C", "700.00 W", "16x", "3072 bank(s)", "-8 C"; a note may follow.
std::optional<double> leading_number(std::string_view s) {
  double v = 0;
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v);
  if (r.ec != std::errc() || !std::isfinite(v)) return std::nullopt;
  const std::string_view rest = s.substr(static_cast<std::size_t>(r.ptr - s.data()));
  if (!rest.empty() && rest[0] != ' ' && rest != "x" && rest[0] != '%') return std::nullopt;
  return v;
}

std::optional<bool> yes_or_no(std::string_view s) {
  if (s == "Yes" || s == "Enabled" || s == "Active") return true;
  if (s == "No" || s == "Disabled" || s == "Not Active") return false;
  return std::nullopt;
}

RecoveryAction recovery_of(std::string_view s) {
  if (has(s, "IMEX")) return RecoveryAction::recover_imex;
  if (begins(s, "Drain P2P")) return RecoveryAction::drain_p2p;
  if (begins(s, "Drain")) return RecoveryAction::drain_and_reset;
  if (has(s, "Reboot")) return RecoveryAction::reboot;
  if (has(s, "Reset")) return RecoveryAction::reset;
  return s == "None" ? RecoveryAction::none : RecoveryAction::unknown;
}

class Reader {
 public:
  explicit Reader(NvidiaSmi& out) : out_(out) {}

  void open(std::string_view name, std::string_view id) {
    path_.emplace_back(name.substr(0, 80));
    if (path_.size() == 2 && name == "gpu") {
      gpu_ = SmiGpu{};
      gpu_.pci = kept(id);
    }
    if (name == "process_info") process_ = SmiProcess{};
    if (name == "mig_device") mig_ = SmiMig{};
  }

  void close(std::string_view name, std::string_view text) {
    if (path_.size() == 2 && path_[1] == "gpu") {
      keep(out_.gpus, std::move(gpu_), kSmiGpusMax);
    } else if (path_.size() == 2) {
      top(name, text);
    } else if (path_.size() > 2 && path_[1] == "gpu") {
      in_gpu(text);
    }
    path_.pop_back();
  }

 private:
  template <class T>
  void keep(std::vector<T>& all, T&& one, std::size_t most) {
    if (all.size() < most) {
      all.push_back(std::move(one));
    } else {
      ++out_.left_out;
    }
  }

  void top(std::string_view name, std::string_view text) {
    // From driver 610 on a note follows the version.
    if (name == "driver_version" && !absent(text.substr(0, text.find(' ')))) out_.driver = kept(text.substr(0, text.find(' ')));
    if (name == "cuda_version" && !absent(text.substr(0, text.find(' ')))) out_.cuda = kept(text.substr(0, text.find(' ')));
    if (name == "attached_gpus") number(out_.attached, text);
  }

  // True: there is a value to read.
  bool value(std::string_view text) {
    if (failed(text)) {
      if (gpu_.unreadable++ == 0) gpu_.unreadable_text = kept(text);
      return false;
    }
    return !absent(text);
  }
  void number(std::optional<double>& into, std::string_view text) {
    if (into || !value(text)) return;
    into = leading_number(text);
    if (!into) ++out_.not_understood;
  }
  void flag(std::optional<bool>& into, std::string_view text) {
    if (!value(text)) return;
    const auto v = yes_or_no(text);
    if (!v) ++out_.not_understood;
    if (v) into = into.value_or(false) || *v;
  }

  void in_gpu(std::string_view text) {
    std::string path;
    for (std::size_t i = 2; i < path_.size(); ++i) path += (i > 2 ? "/" : "") + path_[i];
    if (begins(path, "processes/")) return in_process(text);
    if (begins(path, "mig_devices/")) return in_mig(path, text);
    if (begins(path, "clocks_event_reasons/") || begins(path, "clocks_throttle_reasons/")) return in_reasons(text);
    if (begins(path, "ecc_errors/") && has(path, "_bit/")) return in_old_ecc(path, text);
    if (path == "gpu_recovery_action") {
      if (value(text) || text == "None") gpu_.recovery = recovery_of(text);
      if (gpu_.recovery == RecoveryAction::unknown) ++out_.not_understood;
    } else if (const auto* n = find<Row<NumberField>>(kNumbers, path)) {
      number(gpu_.*n->field, text);
    } else if (const auto* s = find<Row<NumberField>>(kSums, path)) {
      add(gpu_.*s->field, text);
    } else if (const auto* f = find<Row<FlagField>>(kFlags, path)) {
      flag(gpu_.*f->field, text);
    } else if (const auto* t = find<Row<TextField>>(kTexts, path)) {
      if (value(text)) gpu_.*t->field = kept(text);
    }
  }

  void add(std::optional<double>& sum, std::string_view text) {
    std::optional<double> more;
    number(more, text);
    if (more) sum = sum.value_or(0) + *more;
  }

  // Up to Volta: single_bit and double_bit, by unit.
  void in_old_ecc(std::string_view path, std::string_view text) {
    const std::string_view unit = path_.back();
    if (unit == "total" || path_.size() != 6) return;
    const bool once = has(path, "single_bit/"), now = has(path, "/volatile/"), dram = unit == "device_memory";
    if (now)
      return add(
          dram ? (once ? gpu_.dram_corrected : gpu_.dram_uncorrected) : (once ? gpu_.sram_corrected : gpu_.sram_uncorrected),
          text);
    add(dram ? (once ? gpu_.dram_corrected_ever : gpu_.dram_uncorrected_ever)
             : (once ? gpu_.sram_corrected_ever : gpu_.sram_uncorrected_ever),
        text);
  }

  void in_reasons(std::string_view text) {
    std::string_view name = path_.back();
    const std::size_t at = name.find("_reason_");
    if (at == std::string_view::npos) return;
    name.remove_prefix(at + 8);
    for (const ReasonRow& r : kReasons) {
      if (r.name != name) continue;
      std::optional<bool> on;
      flag(on, text);
      if (on) gpu_.clock_reasons = gpu_.clock_reasons.value_or(0) | (*on ? r.bit : 0U);
    }
  }

  void in_process(std::string_view text) {
    const std::string& name = path_.back();
    if (name == "process_info") {
      keep(gpu_.processes, std::move(process_), kSmiProcessesMax);
    } else if (name == "pid") {
      const auto pid = parse_uint(text);
      if (pid && *pid <= UINT32_MAX) process_.pid = static_cast<std::uint32_t>(*pid);
      if (!pid) ++out_.not_understood;
    } else if (name == "type") {
      process_.type = kept(text);
    } else if (name == "process_name") {
      process_.name = kept(text);
    } else if (name == "used_memory") {
      number(process_.memory_mib, text);
    }
  }

  void in_mig(std::string_view path, std::string_view text) {
    if (path == "mig_devices/mig_device") keep(gpu_.mig, std::move(mig_), kSmiMigMax);
    if (path == "mig_devices/mig_device/index") number(mig_.index, text);
    if (path == "mig_devices/mig_device/gpu_instance_id") number(mig_.gpu_instance, text);
    if (path == "mig_devices/mig_device/compute_instance_id") number(mig_.compute_instance, text);
    if (path == "mig_devices/mig_device/ecc_error_count/volatile_count/sram_uncorrectable") number(mig_.sram_uncorrected, text);
    if (path == "mig_devices/mig_device/fb_memory_usage/total") number(mig_.memory_total_mib, text);
  }

  NvidiaSmi& out_;
  std::vector<std::string> path_;
  SmiGpu gpu_;
  SmiProcess process_;
  SmiMig mig_;
};

// "GPU0000:A1:00.0", "GPU 0000:09:00.0", "gpu 00000000:3B:00.0"
std::optional<PciAddress> address_in(std::string_view line) {
  for (std::size_t at = 0; at + 3 < line.size(); ++at) {
    if (line.substr(at, 3) != "GPU" && line.substr(at, 3) != "gpu") continue;
    std::string_view rest = line.substr(at + 3);
    if (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
    std::size_t used = 0;
    if (const auto a = read_pci_prefix(rest, used)) return a;
  }
  return std::nullopt;
}

SmiProblemKind problem_of(std::string_view line) {
  if (has(line, "version mismatch")) return SmiProblemKind::version_mismatch;
  if (has(line, "couldn't communicate with the NVIDIA driver") || has(line, "Driver Not Loaded"))
    return SmiProblemKind::no_driver;
  if (has(line, "No devices were found")) return SmiProblemKind::no_devices;
  if (has(line, "Unable to determine the device handle")) return SmiProblemKind::no_handle;
  if (has(line, "infoROM is corrupted") || has(line, "InfoROM is corrupted")) return SmiProblemKind::inforom;
  return SmiProblemKind::other;
}

void read_problems(std::string_view text, NvidiaSmi& out) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (out.problems.size() == kSmiProblemsMax) {
      ++out.left_out;
      continue;
    }
    out.problems.push_back({problem_of(line), address_in(line.substr(0, 512)), kept(line)});
  }
}

}  // namespace

NvidiaSmi parse_nvidia_smi(std::string_view text) {
  NvidiaSmi out;
  constexpr std::string_view kEnd = "</nvidia_smi_log>";
  const std::size_t from = std::min({text.find("<?xml"), text.find("<!DOCTYPE"), text.find("<nvidia_smi_log"), text.size()});
  const std::size_t last = text.rfind(kEnd);
  const std::size_t to = last == std::string_view::npos || last < from ? text.size() : last + kEnd.size();
  read_problems(text.substr(0, from), out);
  read_problems(text.substr(to), out);
  if (from == text.size()) {
    out.broken = "line 1: no XML in it";
    return out;
  }
  Reader reader(out);
  const auto ok =
      read_xml(text.substr(from, to - from), {[&](std::string_view name, std::string_view id) { reader.open(name, id); },
                                              [&](std::string_view name, std::string_view value) { reader.close(name, value); }});
  out.complete = ok.has_value();
  if (!ok) out.broken = ok.error().what;
  return out;
}

void append_samples(const NvidiaSmi& smi, NodeId node, Time at, const Site& site, std::vector<Sample>& out) {
  const PciTable table(site);
  for (const SmiGpu& g : smi.gpus) {
    const auto address = read_pci(g.pci);
    const int slot = address ? table.gpu(*address) : -1;
    if (slot < 0) continue;
    const auto put = [&](Field f, std::optional<double> v, double low, double high) {
      if (v && *v >= low && *v <= high) out.push_back({at, node, static_cast<std::int16_t>(slot), f, *v});
    };
    const auto sum = [](std::optional<double> a, std::optional<double> b) {
      return a || b ? std::optional<double>(a.value_or(0) + b.value_or(0)) : std::nullopt;
    };
    const auto flag = [](std::optional<bool> b) { return b ? std::optional<double>(*b ? 1 : 0) : std::nullopt; };
    constexpr double kMost = 9.2e18;
    put(Field::gpu_temp_c, g.temp_c, -50, 250);
    put(Field::memory_temp_c, g.memory_temp_c, -50, 250);
    put(Field::power_w, g.power_w, 0, 20000);
    put(Field::sm_clock_mhz, g.sm_mhz, 0, 20000);
    put(Field::gpu_util_pct, g.gpu_util_pct, 0, 100);
    put(Field::thermal_violation_us, sum(g.hw_thermal_us, g.sw_thermal_us), 0, kMost);
    put(Field::ecc_sbe_total, sum(g.sram_corrected, g.dram_corrected), 0, kMost);
    put(Field::ecc_dbe_total, sum(g.sram_uncorrected, g.dram_uncorrected), 0, kMost);
    put(Field::remapped_rows, g.remapped_uncorrected, 0, 1e6);
    put(Field::remap_pending, flag(g.remap_pending), 0, 1);
    put(Field::remap_failed, flag(g.remap_failed), 0, 1);
    put(Field::pcie_replay_total, g.pcie_replays, 0, kMost);
    put(Field::pcie_width, g.pcie_width, 0, 32);
  }
}

}  // namespace muster
