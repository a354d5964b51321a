#include "adapters/facts/network.h"

#include "adapters/facts/book_reader.h"
#include "adapters/facts/pci.h"
#include "base/text.h"

namespace muster::facts {
namespace {

std::string last_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "4: ACTIVE" is ACTIVE, "5: LinkUp" is LinkUp.
Reading after_colon(Reading r) {
  if (const auto colon = r.text.find(':'); r.ok() && colon != std::string::npos)
    r.text = std::string(trim(std::string_view(r.text).substr(colon + 1)));
  return r;
}

void probe_port(const Host& host, const std::string& folder, const std::string& nic, Sheet& sheet) {
  const auto ports = host.entries(folder + "ports");
  const std::string port = folder + "ports/" + (ports.empty() ? "1" : ports.front()) + "/";
  sheet.put("nic.link_layer", host.line(port + "link_layer"), nic);
  sheet.put("nic.rate", host.line(port + "rate"), nic);
  sheet.put("nic.state", after_colon(host.line(port + "state")), nic);
  sheet.put("nic.phys_state", after_colon(host.line(port + "phys_state")), nic);
  // The MTU of InfiniBand is in no file; that of the interface on it says it of RoCE.
  const auto interfaces = host.entries(folder + "device/net");
  if (interfaces.empty()) return sheet.absent("nic.active_mtu", nic);
  sheet.put("nic.active_mtu", host.line(folder + "device/net/" + interfaces.front() + "/mtu"), nic);
}

}  // namespace

std::string nic_model(std::string_view hca_type) {
  struct Row {
    std::string_view type, name;
  };
  constexpr Row kRows[] = {{"MT4115", "ConnectX-4"},    {"MT4117", "ConnectX-4 Lx"}, {"MT4119", "ConnectX-5"},
                           {"MT4121", "ConnectX-5"},    {"MT4123", "ConnectX-6"},    {"MT4125", "ConnectX-6 Dx"},
                           {"MT4127", "ConnectX-6 Lx"}, {"MT4129", "ConnectX-7"},    {"MT4131", "ConnectX-8"},
                           {"MT41682", "BlueField"},    {"MT41686", "BlueField-2"},  {"MT41692", "BlueField-3"}};
  for (const Row& r : kRows) {
    if (hca_type == r.type) return std::string(r.name);
  }
  return std::string(hca_type);
}

std::vector<std::string> probe_nics(const Host& host, const FactBook& book, Sheet& sheet) {
  std::vector<std::string> folders;
  const std::string all = "/sys/class/infiniband/";
  const auto names = host.entries(all);
  sheet.put("nic.count", std::to_string(names.size()));
  for (const std::string& nic : names) {
    const std::string folder = all + nic + "/";
    read_part_by_book(host, book, sheet, "nic", nic, folder);
    const Reading type = host.line(folder + "hca_type");
    sheet.put("nic.model", type.ok() ? Reading{Found::value, nic_model(type.text)} : type, nic);
    const Reading device = host.link(folder + "device");
    sheet.put("nic.pci", device.ok() ? Reading{Found::value, last_name(device.text)} : device, nic);
    probe_port(host, folder, nic, sheet);
    folders.push_back(folder + "device/");
    if (const auto c = pci_control(host, folders.back())) {
      sheet.put("nic.max_read_request", std::to_string(c->max_read_request), nic);
      sheet.flag("nic.relaxed_ordering", c->relaxed_ordering, nic);
    } else {
      sheet.unreadable("nic.max_read_request", nic);
      sheet.unreadable("nic.relaxed_ordering", nic);
    }
  }
  return folders;
}

void probe_interfaces(const Host& host, const FactBook& book, Sheet& sheet) {
  constexpr std::size_t kMost = 64;
  const std::string all = "/sys/class/net/";
  std::size_t count = 0;
  for (const std::string& name : host.entries(all)) {
    const std::string folder = all + name + "/";
    const Reading device = host.link(folder + "device");
    if (!device.ok() && !host.exists(folder + "bonding")) continue;  // bridges, tunnels, the ends of containers
    if (++count > kMost) break;
    read_part_by_book(host, book, sheet, "netif", name, folder);
    // -1 is what some drivers say of a speed they do not know.
    if (const std::string* speed = sheet.value("netif.speed", name); speed != nullptr && *speed == "-1")
      sheet.unreadable("netif.speed", name);
    const Reading driver = host.link(folder + "device/driver");
    sheet.put("netif.driver", driver.ok() ? Reading{Found::value, last_name(driver.text)} : driver, name);
  }
}

}  // namespace muster::facts
