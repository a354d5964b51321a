#include "adapters/facts/pci.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace muster::facts {
namespace {

constexpr int kWalkMax = 48;  // capabilities of one device: a broken list must end
constexpr unsigned kExpress = 0x10;
constexpr unsigned kAcs = 0x000d;
constexpr unsigned kAcsRedirect = 0x0c;  // P2P request and completion redirect

class Config {
 public:
  Config(const Host& host, const std::string& folder) : fd_(host.open(folder + "config", O_RDONLY)) {}
  ~Config() {
    if (fd_ >= 0) ::close(fd_);
  }
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;
  std::optional<std::uint32_t> word(unsigned at, unsigned bytes) const {
    std::uint8_t b[4] = {};
    if (fd_ < 0 || ::pread(fd_, b, bytes, at) != static_cast<ssize_t>(bytes)) return std::nullopt;
    return b[0] | b[1] << 8 | b[2] << 16 | static_cast<std::uint32_t>(b[3]) << 24;
  }

 private:
  int fd_;
};

// Control word of ACS; 0: the bridge has none. Nothing: unreadable.
std::optional<std::uint32_t> acs_control(const Config& c) {
  unsigned at = 0x100;
  for (int i = 0; i < kWalkMax && at >= 0x100; ++i) {
    const auto head = c.word(at, 4);
    if (!head) return i == 0 ? std::nullopt : std::optional<std::uint32_t>(0);
    if (*head == 0 || *head == 0xffffffff) return 0;
    if ((*head & 0xffff) == kAcs) return c.word(at + 6, 2);
    at = *head >> 20;
  }
  return 0;
}

std::optional<std::uint64_t> hex_line(const Host& host, const std::string& path) { return parse_hex(host.line(path).text); }

}  // namespace

std::optional<PciControl> pci_control(const Host& host, const std::string& folder) {
  const Config c(host, folder);
  auto at = c.word(0x34, 1);
  for (int i = 0; at && *at >= 0x40 && i < kWalkMax; ++i) {
    const auto head = c.word(*at & 0xfc, 2);
    if (!head) return std::nullopt;
    if ((*head & 0xff) == kExpress) {
      const auto control = c.word((*at & 0xfc) + 8, 2);
      if (!control) return std::nullopt;
      return PciControl{128U << ((*control >> 5) & 7), 128U << ((*control >> 12) & 7), (*control & 0x10) != 0};
    }
    at = *head >> 8;
  }
  return std::nullopt;
}

std::string_view gpu_class(std::uint64_t device) {
  struct Range {
    std::uint64_t from, to;
    std::string_view name;
  };
  constexpr Range kRanges[] = {
      {0x1340, 0x17ff, "maxwell"}, {0x15f0, 0x15ff, "pascal"}, {0x1b00, 0x1d7f, "pascal"},    {0x1d80, 0x1dff, "volta"},
      {0x1e00, 0x21ff, "turing"},  {0x2080, 0x20ff, "ampere"}, {0x2200, 0x22ff, "ampere"},    {0x2300, 0x237f, "hopper"},
      {0x2400, 0x25ff, "ampere"},  {0x2680, 0x28ff, "ada"},    {0x2900, 0x2fff, "blackwell"}, {0x3180, 0x31ff, "blackwell"},
  };
  // Later rows are the more precise ones where two hold.
  std::string_view out;
  for (const Range& r : kRanges) {
    if (device >= r.from && device <= r.to) out = r.name;
  }
  return out;
}

std::vector<PciGpu> find_gpus(const Host& host, Sheet& sheet) {
  std::vector<PciGpu> out;
  const std::string bus = "/sys/bus/pci/devices/";
  std::size_t switches = 0;
  Found why = Found::value;
  for (const std::string& address : host.entries(bus, &why)) {
    const std::string folder = bus + address + "/";
    if (host.line(folder + "vendor").text != "0x10de") continue;
    const std::string kind = host.line(folder + "class").text;
    if (kind.starts_with("0x0680")) ++switches;
    // The functions behind the first are sound and USB.
    if (kind.starts_with("0x0300") || kind.starts_with("0x0302")) out.push_back({address, folder});
  }
  if (why == Found::unreadable) {
    sheet.unreadable("gpu.count");
    sheet.unreadable("nvswitch.count");
    return out;
  }
  sheet.put("gpu.count", std::to_string(out.size()));
  sheet.put("nvswitch.count", std::to_string(switches));
  const auto device = out.empty() ? std::nullopt : hex_line(host, out.front().folder + "device");
  const std::string_view name = device ? gpu_class(*device) : std::string_view();
  if (out.empty()) {
    sheet.absent("gpu.class");
  } else if (!name.empty()) {
    sheet.put("gpu.class", name);
  } else {
    sheet.unreadable("gpu.class");
  }
  return out;
}

void probe_gpu_links(const Host& host, const std::vector<PciGpu>& gpus, Sheet& sheet) {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::string part = "gpu" + std::to_string(i);
    const std::string& folder = gpus[i].folder;
    sheet.put("gpu.pci", gpus[i].address, part);
    sheet.put("gpu.numa", host.line(folder + "numa_node"), part);
    sheet.put("gpu.link_speed", host.line(folder + "current_link_speed"), part);
    sheet.put("gpu.link_speed_max", host.line(folder + "max_link_speed"), part);
    sheet.put("gpu.link_width", host.line(folder + "current_link_width"), part);
    sheet.put("gpu.link_width_max", host.line(folder + "max_link_width"), part);
    if (const auto c = pci_control(host, folder)) {
      sheet.put("gpu.max_read_request", std::to_string(c->max_read_request), part);
      sheet.put("gpu.max_payload", std::to_string(c->max_payload), part);
      sheet.flag("gpu.relaxed_ordering", c->relaxed_ordering, part);
    } else {
      for (const char* key : {"gpu.max_read_request", "gpu.max_payload", "gpu.relaxed_ordering"}) sheet.unreadable(key, part);
    }
  }
}

void probe_acs(const Host& host, const std::vector<std::string>& folders, Sheet& sheet) {
  std::set<std::string> bridges;
  for (const std::string& folder : folders) {
    // /sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0: what stands between the first and the last.
    const std::string path = host.real(folder);
    for (auto slash = path.find('/', path.find("/pci") + 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const std::string above = path.substr(0, slash + 1);
      const auto name = above.rfind('/', above.size() - 2) + 1;
      if (above.size() - name == 13) bridges.insert(above);
    }
  }
  if (bridges.empty()) return sheet.absent("pcie.acs_redirect");
  std::size_t redirect = 0;
  for (const std::string& bridge : bridges) {
    const auto control = acs_control(Config(host, bridge));
    if (!control) return sheet.unreadable("pcie.acs_redirect");
    redirect += (*control & kAcsRedirect) != 0 ? 1 : 0;
  }
  sheet.put("pcie.acs_redirect", std::to_string(redirect));
}

}  // namespace muster::facts
