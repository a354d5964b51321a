// The text is turned into the XML that the same driver would have printed, of the elements that the XML's reader knows: one place
// says what they mean.
#include "ingest/nvidia_smi_text.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "ingest/pci.h"

namespace muster {
namespace {

struct Alias {
  std::string_view text;  // path below the GPU: lower case, '_' for a blank
  std::string_view xml;
};
// Where the XML's name is not the text's in lower case.
constexpr Alias kAliases[] = {
    {"serial_number", "serial"},
    {"gpu_uuid", "uuid"},
    {"pci/bus_id", "pci/pci_bus_id"},
    {"pci/gpu_link_info/pcie_generation/max", "pci/pci_gpu_link_info/pcie_gen/max_link_gen"},
    {"pci/gpu_link_info/pcie_generation/current", "pci/pci_gpu_link_info/pcie_gen/current_link_gen"},
    {"pci/gpu_link_info/pcie_generation/device_max", "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen"},
    {"pci/gpu_link_info/pcie_generation/host_max", "pci/pci_gpu_link_info/pcie_gen/max_host_link_gen"},
    {"pci/gpu_link_info/link_width/max", "pci/pci_gpu_link_info/link_widths/max_link_width"},
    {"pci/gpu_link_info/link_width/current", "pci/pci_gpu_link_info/link_widths/current_link_width"},
    {"pci/replays_since_reset", "pci/replay_counter"},
    {"pci/replay_number_rollovers", "pci/replay_rollover_counter"},
    {"utilization/gpu", "utilization/gpu_util"},
    {"ecc_mode/current", "ecc_mode/current_ecc"},
    {"ecc_mode/pending", "ecc_mode/pending_ecc"},
    {"mig_mode/current", "mig_mode/current_mig"},
    {"mig_mode/pending", "mig_mode/pending_mig"},
    {"retired_pages/single_bit_ecc", "retired_pages/multiple_single_bit_retirement/retired_count"},
    {"retired_pages/double_bit_ecc", "retired_pages/double_bit_retirement/retired_count"},
    {"retired_pages/pending_page_blacklist", "retired_pages/pending_blacklist"},
    {"retired_pages/pending", "retired_pages/pending_retirement"},
    {"remapped_rows/correctable_error", "remapped_rows/remapped_row_corr"},
    {"remapped_rows/uncorrectable_error", "remapped_rows/remapped_row_unc"},
    {"remapped_rows/pending", "remapped_rows/remapped_row_pending"},
    {"remapped_rows/remapping_failure_occurred", "remapped_rows/remapped_row_failure"},
    {"remapped_rows/bank_remap_availability_histogram/none", "remapped_rows/row_remapper_histogram/row_remapper_histogram_none"},
    {"temperature/gpu_current_temp", "temperature/gpu_temp"},
    {"temperature/memory_current_temp", "temperature/memory_temp"},
    {"temperature/gpu_shutdown_temp", "temperature/gpu_temp_max_threshold"},
    {"temperature/gpu_slowdown_temp", "temperature/gpu_temp_slow_threshold"},
    {"temperature/gpu_max_operating_temp", "temperature/gpu_temp_max_gpu_threshold"},
    {"temperature/memory_max_operating_temp", "temperature/gpu_temp_max_mem_threshold"},
    {"temperature/gpu_t.limit_temp", "temperature/gpu_temp_tlimit"},
    {"temperature/gpu_shutdown_t.limit_temp", "temperature/gpu_temp_max_tlimit_threshold"},
    {"temperature/gpu_slowdown_t.limit_temp", "temperature/gpu_temp_slow_tlimit_threshold"},
    {"temperature/gpu_max_operating_t.limit_temp", "temperature/gpu_temp_max_gpu_tlimit_threshold"},
    {"gpu_power_readings/instantaneous_power_draw", "gpu_power_readings/instant_power_draw"},
    {"clocks/graphics", "clocks/graphics_clock"},
    {"clocks/sm", "clocks/sm_clock"},
    {"clocks/memory", "clocks/mem_clock"},
    {"max_clocks/sm", "max_clocks/sm_clock"},
    {"max_clocks/memory", "max_clocks/mem_clock"},
};
// What is called the same in both.
constexpr std::string_view kSame[] = {"product_name",      "minor_number",    "vbios_version",      "gpu_recovery_action",
                                      "gpu_reset_status/", "ecc_errors/",     "fabric/state",       "fabric/status",
                                      "fb_memory_usage/",  "power_readings/", "gpu_power_readings/"};

std::string element_name(std::string_view s) {
  std::string out = lower(s);
  std::erase(out, '-');  // SEC-DED
  std::replace(out.begin(), out.end(), ' ', '_');
  return out;
}

bool plain_name(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

// The element's path below <gpu>; empty: one the reader has no use for.
std::string element_of(const std::vector<std::string>& path) {
  if (path.size() >= 2 && (path[0] == "clocks_event_reasons" || path[0] == "clocks_throttle_reasons")) {
    if (!plain_name(path.back())) return {};
    const std::string_view one = std::string_view(path[0]).substr(0, path[0].size() - 1);
    return path[0] + "/" + std::string(one) + "_" + (path.back() == "idle" ? "gpu_idle" : path.back());
  }
  const std::string joined = join(path, "/");
  for (const Alias& a : kAliases) {
    if (a.text == joined) return std::string(a.xml);
  }
  for (const std::string_view s : kSame) {
    const bool whole = s.back() == '/' ? joined.starts_with(s) : joined == s;
    if (whole && std::all_of(path.begin(), path.end(), [](const std::string& p) { return plain_name(p) && !p.empty(); }))
      return joined;
  }
  return {};
}

std::string escaped(std::string_view s) {
  std::string out;
  for (const char c : printable(s)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

class Converter {
 public:
  void line(std::string_view s) {
    const std::size_t indent = std::min(s.find_first_not_of(' '), s.size());
    s = trim(s);
    if (s.empty() || s.front() == '=') return;
    const std::size_t colon = s.find(" : ");
    const std::string_view key = trim(s.substr(0, colon == std::string_view::npos ? s.size() : colon));
    const std::string_view value = colon == std::string_view::npos ? std::string_view() : trim(s.substr(colon + 3));
    if (indent == 0) return top(s, key, value, colon != std::string_view::npos);
    if (!in_gpu_) return;
    while (!indents_.empty() && indents_.back() >= indent) indents_.pop_back(), path_.pop_back();
    constexpr std::size_t kDepthMax = 8;
    if (path_.size() >= kDepthMax) return;
    indents_.push_back(indent);
    path_.push_back(element_name(key.substr(0, 64)));
    if (colon == std::string_view::npos) return;
    if (const std::string e = element_of(path_); !e.empty()) put(e, value);
  }
  std::string finish() {
    if (in_gpu_) xml_ += "</gpu>\n";
    return before_ + "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n" + xml_ + "</nvidia_smi_log>\n";
  }

 private:
  void top(std::string_view line, std::string_view key, std::string_view value, bool valued) {
    std::size_t used = 0;
    if (line.starts_with("GPU ") && read_pci_prefix(line.substr(4), used) && trim(line.substr(4 + used)).size() <= 2) {
      if (in_gpu_) xml_ += "</gpu>\n";
      in_gpu_ = true;
      path_.clear();
      indents_.clear();
      xml_ += "<gpu id=\"" + escaped(line.substr(4)) + "\">\n";
      return;
    }
    if (!in_gpu_ && valued && (key == "Driver Version" || key == "CUDA Version" || key == "Attached GPUs")) {
      put(element_name(key), value);
    } else if (!valued) {
      // Complaints of nvidia-smi itself stand outside. The XML's reader takes what is before the XML for such.
      const std::string text = printable(line);
      if (text.find('<') == std::string::npos) before_ += text + "\n";
    }
  }
  void put(std::string_view element, std::string_view value) {
    const auto names = split(element, '/');
    for (const auto& n : names) xml_ += "<" + std::string(n) + ">";
    xml_ += escaped(value);
    for (auto n = names.rbegin(); n != names.rend(); ++n) xml_ += "</" + std::string(*n) + ">";
    xml_ += "\n";
  }

  std::string before_, xml_;
  bool in_gpu_ = false;
  std::vector<std::string> path_;
  std::vector<std::size_t> indents_;
};

}  // namespace

NvidiaSmi parse_nvidia_smi_text(std::string_view text) {
  Converter converter;
  text = text.substr(0, kSmiTextBytesMax);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    converter.line(text.substr(0, std::min(end, kSmiLineMax)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parse_nvidia_smi(converter.finish());
}

}  // namespace muster
