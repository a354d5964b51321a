#include "adapters/agent/exposition.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"

namespace muster::agent {
namespace {

std::string escape(std::string_view s) {
  std::string out;
  for (const char c : s.substr(0, 256)) {
    if (c == '\\' || c == '"') out.push_back('\\');
    if (c == '\n') {
      out += "\\n";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string render_labels(const Labels& labels) {
  if (labels.empty()) return "";
  std::string out = "{";
  for (const auto& [name, value] : labels) {
    if (out.size() > 1) out.push_back(',');
    out += name + "=\"" + escape(value) + "\"";
  }
  return out + "}";
}

// Lines of one family stand together, whatever order they come in.
class Page {
 public:
  void add(const std::string& name, const char* type, const std::string& help, const Labels& labels, double value) {
    Family& f = families_[name];
    if (f.head.empty()) f.head = "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
    f.lines += name + render_labels(labels) + " " + render_number(value) + "\n";
  }
  std::string take() {
    std::string out;
    for (auto& [name, f] : families_) out += f.head + f.lines;
    return out;
  }

 private:
  struct Family {
    std::string head, lines;
  };
  std::map<std::string, Family> families_;
};

const std::string& fact(const GpuReadings& g, const std::string& name) {
  static const std::string kNone;
  const auto it = g.facts.find(name);
  return it == g.facts.end() ? kNone : it->second;
}

// Which of dcgm-exporter's series only ever grow.
const char* type_of(const std::string& name) {
  for (const char* counting : {"_TOTAL", "_COUNTER", "_CONSUMPTION", "_REMAPPED_ROWS", "_VIOLATION"}) {
    if (name.ends_with(counting)) return "counter";
  }
  return "gauge";
}

const char* help_of(const std::string& name) {
  if (name == "muster_gpu_lost") return "1 where NVML says that the GPU is gone.";
  if (name == "muster_gpu_processes") return "Processes that compute on the GPU.";
  return "As dcgm-exporter has it.";
}

void add_gpus(Page& page, const Picture& p, const std::string& hostname) {
  const auto driver = p.readings.node.find("driver_version");
  for (const auto& [index, g] : p.readings.gpus) {
    Labels labels = {{"gpu", std::to_string(index)},          {"UUID", fact(g, "uuid")},       {"pci_bus_id", fact(g, "pci")},
                     {"device", "nvidia" + fact(g, "minor")}, {"modelName", fact(g, "model")}, {"Hostname", hostname}};
    if (driver != p.readings.node.end()) labels.emplace_back("DCGM_FI_DRIVER_VERSION", driver->second);
    const Labels our_labels = {{"gpu", std::to_string(index)}, {"uuid", fact(g, "uuid")}, {"pci_bus_id", fact(g, "pci")}};
    const auto gone = g.values.find("muster_gpu_lost");
    const bool lost = gone != g.values.end() && gone->second != 0;
    for (const auto& [name, value] : g.values) {
      const bool ours = name.rfind("muster_", 0) == 0;
      if (lost && !ours) continue;  // what was read before: a page that shows it would say that the GPU is there
      page.add(name, type_of(name), help_of(name), ours ? our_labels : labels, value);
    }
    if (lost) continue;
    int last = 0;
    for (const Xid& x : p.readings.xids) last = x.gpu == index ? x.code : last;
    page.add("DCGM_FI_DEV_XID_ERRORS", "gauge", "The last Xid that NVML told of.", labels, last);
  }
}

void add_host(Page& page, const Readings& r) {
  for (const auto& [port, values] : r.ports) {
    const Labels labels = {{"device", port.first}, {"port", std::to_string(port.second)}};
    for (const auto& [name, value] : values) {
      page.add("node_infiniband_" + name, name.ends_with("_total") ? "counter" : "gauge", "As node_exporter has it.", labels,
               value);
    }
  }
  for (const auto& [address, values] : r.pci) {
    for (const auto& [name, value] : values) {
      if (name == "gpu") continue;
      const bool counts = name.rfind("aer_", 0) == 0;
      page.add("muster_pcie_" + name + (counts ? "_errors_total" : ""), counts ? "counter" : "gauge",
               counts ? "PCIe errors the kernel has counted." : "PCIe link, from sysfs; speeds in GT/s.",
               {{"pci_bus_id", address}}, value);
    }
  }
  Labels versions;
  for (const auto& [name, text] : r.node) {
    if (name == "boot_time") {
      page.add("node_boot_time_seconds", "gauge", "When the machine booted.", {}, parse_double(text).value_or(0));
      continue;
    }
    if (name.rfind("topology_", 0) == 0 || name.rfind("nic_", 0) == 0) continue;  // facts for the controller
    std::string label = name;
    std::replace_if(
        label.begin(), label.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    versions.emplace_back(label, text);
  }
  page.add("muster_node_info", "gauge", "Versions on this node.", versions, 1);
}

void add_agent(Page& page, const Figures& f) {
  for (const auto& [name, s] : f.probes) {
    page.add("muster_probe_hung", "gauge", "1 while the probe does not come back.", {{"probe", name}}, s.hung ? 1 : 0);
    page.add("muster_probe_failing", "gauge", "1 while the probe complains.", {{"probe", name}}, s.trouble.empty() ? 0 : 1);
    page.add("muster_probe_duration_seconds", "gauge", "How long its last answer took.", {{"probe", name}}, s.took_s);
  }
  const auto count = [&](const char* name, const char* help, std::uint64_t v) {
    page.add(name, "counter", help, {}, static_cast<double>(v));
  };
  count("muster_agent_kernel_records_total", "Kernel records read.", f.kernel_records);
  count("muster_agent_kernel_faults_total", "Kernel records understood as faults.", f.kernel_faults);
  count("muster_agent_kernel_missing_total", "Kernel records overwritten before they were read.", f.kernel_missing);
  count("muster_agent_held_back_total", "Faults not sent: too many of one kind.", f.held_back);
  count("muster_agent_dropped_total", "Faults not sent: the spool was full.", f.dropped);
  count("muster_agent_sent_total", "Items the controller has.", f.sent);
  count("muster_agent_job_reports_total", "Reports of jobs on this node.", f.job_reports);
  count("muster_agent_job_refusals_total", "Reports of jobs that made no sense, or of somebody else's job.", f.job_refusals);
  page.add("muster_agent_spool_bytes", "gauge", "Waiting for the controller.", {}, static_cast<double>(f.spool_bytes));
  page.add("muster_agent_controller_up", "gauge", "1 while the controller answers.", {}, f.controller_answers ? 1 : 0);
  page.add("muster_agent_kernel_trusted", "gauge", "1 where the records come from /dev/kmsg.", {}, f.kernel_trusted ? 1 : 0);
}

double value_or(const std::map<std::string, double>& values, const char* name, double otherwise) {
  const auto it = values.find(name);
  return it == values.end() ? otherwise : it->second;
}

void check_gpus(const Readings& r, std::vector<std::string>& out) {
  for (const auto& [index, g] : r.gpus) {
    const std::string who = fmt::format("GPU {} ({})", index, fact(g, "pci"));
    if (value_or(g.values, "muster_gpu_lost", 0) != 0) out.push_back(who + " is gone");
    if (const double a = value_or(g.values, "DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION", 0); a != 0) {
      constexpr const char* kActions[] = {"none", "reset", "reboot", "drain peer-to-peer work", "drain and reset"};
      out.push_back(who +
                    " asks for: " + (a > 0 && a < 5 ? kActions[static_cast<int>(a)] : "an action this version does not know"));
    }
    if (value_or(g.values, "DCGM_FI_DEV_ROW_REMAP_FAILURE", 0) != 0) out.push_back(who + " could not remap a memory row");
    if (value_or(g.values, "DCGM_FI_DEV_ROW_REMAP_PENDING", 0) != 0) out.push_back(who + " must be reset to remap a memory row");
    if (value_or(g.values, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 0) != 0) out.push_back(who + " has uncorrectable memory errors");
    const double width = value_or(g.values, "DCGM_FI_DEV_PCIE_LINK_WIDTH", 0);
    const double most = value_or(g.values, "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", 0);
    if (width > 0 && width < most) out.push_back(fmt::format("{} has {:.0f} of {:.0f} PCIe lanes", who, width, most));
  }
}

}  // namespace

std::string render_exposition(const Picture& p, const std::string& hostname) {
  Page page;
  add_gpus(page, p, hostname);
  add_host(page, p.readings);
  add_agent(page, p.figures);
  // The line that tells the controller: every GPU of the node is on this page.
  return (p.readings.gpus.empty() ? "" : "# muster full\n") + page.take();
}

std::vector<std::string> check_node(const Picture& p) {
  std::vector<std::string> out;
  for (const auto& [address, text] : p.figures.fatal) out.push_back("kernel: " + text);
  check_gpus(p.readings, out);
  for (const auto& [name, s] : p.figures.probes) {
    if (s.hung) out.push_back(name + " does not answer");
    if (!s.trouble.empty()) out.push_back(name + ": " + s.trouble);
  }
  for (const auto& [port, values] : p.readings.ports) {
    const double phys = value_or(values, "physical_state_id", 5);
    if (value_or(values, "state_id", 4) == 4 || phys == 3) continue;  // 3: switched off by a person
    out.push_back(fmt::format("port {}/{} is not active", port.first, port.second));
  }
  return out;
}

std::string render_json(const Picture& p, const std::string& hostname) {
  JsonWriter w;
  w.object().field("node", hostname).key("facts").object();
  for (const auto& [name, text] : p.readings.node) w.field(name, text);
  w.end_object().key("gpus").array();
  for (const auto& [index, g] : p.readings.gpus) {
    w.object().field("index", index);
    for (const auto& [name, text] : g.facts) w.field(name, text);
    w.key("values").object();
    for (const auto& [name, value] : g.values) w.field(name, value);
    w.end_object().end_object();
  }
  w.end_array().key("ports").array();
  for (const auto& [port, values] : p.readings.ports) {
    w.object().field("device", port.first).field("port", port.second).key("values").object();
    for (const auto& [name, value] : values) w.field(name, value);
    w.end_object().end_object();
  }
  w.end_array().key("pci").object();
  for (const auto& [address, values] : p.readings.pci) {
    w.key(address).object();
    for (const auto& [name, value] : values) w.field(name, value);
    w.end_object();
  }
  w.end_object().key("probes").object();
  for (const auto& [name, s] : p.figures.probes) {
    w.key(name).object().field("hung", s.hung).field("took_s", s.took_s).field("trouble", s.trouble).end_object();
  }
  w.end_object().key("problems").array();
  for (const std::string& text : check_node(p)) w.value(text);
  w.end_array().end_object();
  return w.take();
}

}  // namespace muster::agent
