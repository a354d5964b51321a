#include "adapters/facts/packages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "adapters/facts/book_reader.h"
#include "adapters/facts/rpm_packages.h"
#include "base/text.h"

namespace muster::facts {
namespace {

// A fact that is the version of a package. `names`: any of them, the first that is there; `program`: there, though no package is.
struct Row {
  const char* key;
  std::array<std::string_view, 6> names;
  const char* program;
};

constexpr Row kRows[] = {
    {"fabricmanager.version",
     {"nvidia-fabricmanager", "nvidia-fabric-manager", "cuda-drivers-fabricmanager"},
     "/usr/bin/nv-fabricmanager"},
    {"imex.version", {"nvidia-imex"}, "/usr/bin/nvidia-imex"},
    {"dcgm.version", {"datacenter-gpu-manager-4-core", "datacenter-gpu-manager"}, "/usr/bin/nv-hostengine"},
    {"nvlsm.version", {"nvlsm"}, "/opt/nvidia/nvlsm/sbin/nvlsm"},
    {"doca.version", {"doca-ofed", "doca-host", "doca-all", "doca-networking"}, nullptr},
    {"mft.version", {"mft"}, "/usr/bin/mst"},
    {"kernel_mft.version", {"kernel-mft-dkms", "kernel-mft", "kmod-kernel-mft-mlnx"}, nullptr},
    {"openmpi.version", {"openmpi-bin", "openmpi"}, "/usr/bin/ompi_info"},
    {"containerd.version", {"containerd.io", "containerd"}, "/usr/bin/containerd"},
    {"docker.version", {"docker-ce", "docker.io", "moby-engine"}, "/usr/bin/dockerd"},
    {"podman.version", {"podman"}, "/usr/bin/podman"},
    {"crio.version", {"cri-o"}, "/usr/bin/crio"},
    {"enroot.version", {"enroot"}, "/usr/bin/enroot"},
    {"container_toolkit.version", {"nvidia-container-toolkit"}, "/usr/bin/nvidia-container-runtime"},
    {"kubelet.version", {"kubelet"}, "/usr/bin/kubelet"},
    {"munge.version", {"munge"}, "/usr/sbin/munged"},
    {"slurm.slurmd",
     {"slurmd", "slurm-smd-slurmd", "slurm-smd", "slurm-slurmd", "slurm-slurmd-ohpc", "slurm-node"},
     "/usr/sbin/slurmd"},
};

// Asked about besides: who installed the driver, what is held.
constexpr std::string_view kOthers[] = {"nvidia-driver",         "nvidia-open",
                                        "nvidia-dkms",           "nvidia-kernel-open-dkms",
                                        "nvidia-kernel-dkms",    "cuda-drivers",
                                        "libnvidia-compute",     "libcuda1",
                                        "libnvidia-nscq",        "ofed-scripts",
                                        "unattended-upgrades",   "efa",
                                        "linux-modules-nvidia",  "mlnx-ofed-kernel-dkms",
                                        "nvidia-driver-cuda",    "nvidia-driver-cuda-libs",
                                        "kmod-nvidia-open-dkms", "kmod-nvidia-latest-dkms",
                                        "kmod-nvidia-dkms"};

constexpr std::size_t kStanzaMax = 4U << 20;

// "nvidia-driver-580-server-open" for nvidia-driver.
bool kin(std::string_view name, std::string_view of) {
  if (!name.starts_with(of)) return false;
  if (name.size() == of.size()) return true;
  return name.size() > of.size() + 1 && name[of.size()] == '-' && name[of.size() + 1] >= '0' && name[of.size() + 1] <= '9';
}

bool wanted(std::string_view name) {
  // Most of a thousand names begin otherwise.
  static constexpr std::string_view kFirst = "cdeklmnopsu";
  if (name.empty() || kFirst.find(name[0]) == std::string_view::npos) return false;
  for (const Row& r : kRows) {
    for (const std::string_view n : r.names) {
      if (!n.empty() && kin(name, n)) return true;
    }
  }
  return std::any_of(std::begin(kOthers), std::end(kOthers), [&](std::string_view n) { return kin(name, n); });
}

std::string_view upstream(std::string_view version) {
  if (const auto colon = version.find(':'); colon != std::string_view::npos) version.remove_prefix(colon + 1);
  return version.substr(0, version.find_first_of("-~+^"));
}

std::string_view field(std::string_view stanza, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ": ";
  const auto at = stanza.find(start);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = stanza.substr(at + start.size());
  return rest.substr(0, rest.find('\n'));
}

// Whose the driver is: user space and fabric manager come the same ways.
void put_source(const Host& host, const Packages& p, const char* key, bool packaged, bool there, Sheet& sheet) {
  if (packaged) {
    sheet.put(key, p.base == PackageBase::rpm ? "rpm" : "apt");
  } else if (!there) {
    sheet.absent(key);
  } else if (p.base == PackageBase::rpm && !p.read) {
    sheet.unreadable(key);
  } else {
    sheet.put(key, host.exists("/usr/bin/nvidia-uninstall") ? "run" : "image");
  }
}

// What there may be a package of, though none was found: absent only where all could be read.
void put_missing(const Packages& p, const char* key, bool there, Sheet& sheet) {
  there&& p.base == PackageBase::rpm && !p.read ? sheet.unreadable(key) : sheet.absent(key);
}

std::vector<std::string_view> asked_about() {
  std::vector<std::string_view> out(std::begin(kOthers), std::end(kOthers));
  for (const Row& r : kRows) {
    std::copy_if(r.names.begin(), r.names.end(), std::back_inserter(out), [](std::string_view n) { return !n.empty(); });
  }
  return out;
}

Packages read_rpm(const Host& host) {
  Packages out;
  RpmPackages rpm = read_rpm_packages(host, asked_about(), wanted);
  if (rpm.database.empty() && !host.exists("/var/lib/rpm") && !host.exists("/usr/lib/sysimage/rpm")) return out;
  out.base = PackageBase::rpm;
  out.database = rpm.database.empty() ? "rpm" : rpm.database;
  out.read = rpm.read;
  for (RpmPackage& p : rpm.found) out.found.push_back({std::move(p.name), std::string(upstream(p.version)), false});
  return out;
}

void probe_held(const Packages& p, Sheet& sheet) {
  if (p.base != PackageBase::dpkg) return sheet.unreadable("packages.held");
  std::vector<std::string> held;
  for (const Package& x : p.found) {
    const bool ours = x.name.starts_with("nvidia-") || x.name.starts_with("libnvidia-") || x.name.starts_with("cuda-drivers");
    if (x.held && ours) held.push_back(x.name);
  }
  std::sort(held.begin(), held.end());
  held.empty() ? sheet.absent("packages.held") : sheet.put("packages.held", join(held, ","));
}

void probe_unattended(const Host& host, const Packages& p, Sheet& sheet) {
  if (p.base == PackageBase::dpkg && p.find("unattended-upgrades") == nullptr) return sheet.absent("unattended_upgrades");
  if (p.base != PackageBase::dpkg) return sheet.unreadable("unattended_upgrades");
  const Reading conf = host.text("/etc/apt/apt.conf.d/20auto-upgrades");
  const auto at = conf.text.find("Unattended-Upgrade");
  const std::string_view rest = at == std::string::npos ? std::string_view() : std::string_view(conf.text).substr(at);
  sheet.flag("unattended_upgrades", rest.substr(0, rest.find('\n')).find("\"1\"") != std::string_view::npos);
}

// `ofed_info` is a script whose first words print the name of the release.
void probe_ofed(const Host& host, const Packages& p, Sheet& sheet) {
  const Reading script = host.text("/usr/bin/ofed_info", 4096);
  for (const std::string_view name : {"MLNX_OFED_LINUX-", "OFED-internal-"}) {
    const auto at = script.text.find(name);
    if (at == std::string::npos) continue;
    const std::string_view rest = std::string_view(script.text).substr(at + name.size());
    return sheet.put("ofed.version", rest.substr(0, rest.find_first_not_of("0123456789.-")));
  }
  if (const Package* x = p.find("ofed-scripts")) return sheet.put("ofed.version", x->version);
  script.found == Found::absent ? sheet.absent("ofed.version") : sheet.unreadable("ofed.version");
}

}  // namespace

std::vector<Package> parse_dpkg_status(std::string_view text) {
  constexpr std::string_view kPackage = "\nPackage: ";
  std::vector<Package> out;
  if (!text.starts_with('\n') && !text.starts_with(kPackage.substr(1))) return out;
  // Each stanza begins with its name, so names are all that is looked for in what is mostly descriptions.
  std::size_t at = text.starts_with('\n') ? text.find(kPackage) : 0;
  std::size_t name_at = at == 0 && !text.starts_with('\n') ? kPackage.size() - 1 : at + kPackage.size();
  while (at != std::string_view::npos) {
    const void* next = ::memmem(text.data() + name_at, text.size() - name_at, kPackage.data(), kPackage.size());
    const std::size_t end =
        next == nullptr ? text.size() : static_cast<std::size_t>(static_cast<const char*>(next) - text.data());
    const std::string_view name = text.substr(name_at, text.find('\n', name_at) - name_at);
    if (wanted(name)) {
      const std::string_view stanza = text.substr(name_at, end - name_at);
      const std::string_view status = field(stanza, "Status");
      if (status.ends_with(" installed"))
        out.push_back({std::string(name), std::string(upstream(field(stanza, "Version"))), status.starts_with("hold ")});
    }
    at = next == nullptr ? std::string_view::npos : end;
    name_at = end + kPackage.size();
  }
  return out;
}

const Package* Packages::find(std::string_view name) const {
  const auto it = std::find_if(found.begin(), found.end(), [&](const Package& p) { return p.name == name; });
  return it == found.end() ? nullptr : &*it;
}

const Package* Packages::numbered(std::string_view name) const {
  const auto it = std::find_if(found.begin(), found.end(), [&](const Package& p) { return kin(p.name, name); });
  return it == found.end() ? nullptr : &*it;
}

Packages read_packages(const Host& host) {
  Packages out;
  const int fd = host.open("/var/lib/dpkg/status", O_RDONLY);
  // Systems with rpm can have dpkg as a tool, with an empty list.
  if (struct stat s{}; fd < 0 || (::fstat(fd, &s) == 0 && s.st_size == 0)) {
    if (fd >= 0) ::close(fd);
    return read_rpm(host);
  }
  out.base = PackageBase::dpkg;
  out.database = "dpkg";
  out.read = true;
  // In pieces that stay in the processor's cache; a piece ends where a stanza does.
  std::string text;
  std::array<char, 64 << 10> chunk;
  for (ssize_t n = 0; (n = ::read(fd, chunk.data(), chunk.size())) > 0 && text.size() < kStanzaMax;) {
    text.append(chunk.data(), static_cast<std::size_t>(n));
    const auto end = text.rfind("\n\n");
    if (end == std::string::npos) continue;
    for (Package& p : parse_dpkg_status(std::string_view(text).substr(0, end + 1))) out.found.push_back(std::move(p));
    text.erase(0, end + 2);
  }
  for (Package& p : parse_dpkg_status(text)) out.found.push_back(std::move(p));
  ::close(fd);
  return out;
}

void probe_packages(const Host& host, const Packages& p, Sheet& sheet) {
  for (const Row& row : kRows) {
    const Package* package = nullptr;
    for (const std::string_view name : row.names) {
      if (package == nullptr && !name.empty()) package = p.numbered(name);
    }
    if (package != nullptr) {
      sheet.put(row.key, package->version);
    } else if (row.program != nullptr && host.exists(row.program)) {
      sheet.unreadable(row.key);
    } else {
      put_missing(p, row.key, row.program == nullptr, sheet);
    }
  }
  p.database.empty() ? sheet.absent("packages.database") : sheet.put("packages.database", p.database);
  const Package* fm = p.numbered("nvidia-fabricmanager");
  if (fm == nullptr) fm = p.numbered("nvidia-fabric-manager");
  const bool has_fm = fm != nullptr || host.exists("/usr/bin/nv-fabricmanager");
  fm != nullptr ? sheet.put("fabricmanager.package", fm->name) : put_missing(p, "fabricmanager.package", has_fm, sheet);
  put_source(host, p, "fabricmanager.source", fm != nullptr, has_fm, sheet);
  bool packaged = false;
  for (const std::string_view name :
       {"nvidia-driver", "nvidia-open", "nvidia-dkms", "nvidia-kernel-open-dkms", "nvidia-kernel-dkms", "cuda-drivers",
        "libnvidia-compute", "libcuda1", "nvidia-driver-cuda", "nvidia-driver-cuda-libs", "kmod-nvidia-open-dkms",
        "kmod-nvidia-latest-dkms", "kmod-nvidia-dkms"})
    packaged |= p.numbered(name) != nullptr;
  put_source(host, p, "driver.source", packaged, !library_path(host, "libcuda.so.1").empty(), sheet);
  const Package* mft = p.find("mft");
  if (mft == nullptr) {
    put_missing(p, "mft.source", host.exists("/usr/bin/mst"), sheet);
  } else {
    sheet.put("mft.source", p.find("doca-ofed") != nullptr || p.find("doca-host") != nullptr ? "doca" : "other");
  }
  probe_ofed(host, p, sheet);
  probe_held(p, sheet);
  probe_unattended(host, p, sheet);
}

}  // namespace muster::facts
