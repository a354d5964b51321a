#include "adapters/facts/machine.h"

#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "adapters/facts/book_reader.h"
#include "base/text.h"

namespace muster::facts {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu/";
constexpr int kSocketsMax = 64;

// "model name\t: AMD EPYC 9654" in the first CPU's part of /proc/cpuinfo.
Reading cpu_word(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key)
      return {Found::value, std::string(trim(line.substr(colon + 1)))};
  }
  return {};
}

bool in_list(std::string_view list, std::uint64_t cpu) {
  for (const std::string_view piece : split(trim(list), ',')) {
    const auto dash = piece.find('-');
    const auto from = parse_uint(piece.substr(0, dash));
    const auto to = dash == std::string_view::npos ? from : parse_uint(piece.substr(dash + 1));
    if (from && to && *from <= cpu && cpu <= *to) return true;
  }
  return false;
}

// One file for each socket, not one for each CPU.
std::size_t sockets(const Host& host, std::size_t cpus) {
  std::vector<std::string> seen;
  for (std::uint64_t cpu = 0; cpu < cpus && seen.size() < kSocketsMax; ++cpu) {
    if (std::any_of(seen.begin(), seen.end(), [&](const std::string& s) { return in_list(s, cpu); })) continue;
    const std::string topology = kCpus + ("cpu" + std::to_string(cpu)) + "/topology/";
    Reading r = host.line(topology + "package_cpus_list");
    if (!r.ok()) r = host.line(topology + "core_siblings_list");
    if (!r.ok()) break;
    seen.push_back(r.text);
  }
  return seen.size();
}

// Reading names and first lines of a folder is hashing it.
Reading hash_of_folder(const Host& host, const std::string& folder) {
  Found why = Found::value;
  std::string all;
  for (const std::string& name : host.entries(folder, &why)) all += name + "=" + host.line(folder + name).text + "\n";
  if (why != Found::value) return {why, {}};
  return {Found::value, short_hash(all)};
}

void probe_idle(const Host& host, Sheet& sheet) {
  const std::string folder = std::string(kCpus) + "cpu0/cpuidle/";
  Found why = Found::value;
  std::vector<std::string> off;
  for (const std::string& state : host.entries(folder, &why)) {
    if (host.line(folder + state + "/disable").text == "1") off.push_back(host.line(folder + state + "/name").text);
  }
  if (why != Found::value || off.empty()) return sheet.absent("cpu.idle_disabled");
  sheet.put("cpu.idle_disabled", join(off, ","));
}

std::uint64_t kib_of(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return 0;
  std::string_view rest = trim(text.substr(at + key.size()));
  return parse_uint(rest.substr(0, rest.find(' '))).value_or(0);
}

// "DMA-FQ" and the like of the first group says how all are mapped.
void probe_iommu(const Host& host, Sheet& sheet) {
  const auto groups = host.entries("/sys/kernel/iommu_groups");
  if (groups.empty()) return sheet.put("iommu.mode", "off");
  const Reading type = host.line("/sys/kernel/iommu_groups/" + groups.front() + "/type");
  if (!type.ok()) return sheet.unreadable("iommu.mode");
  sheet.put("iommu.mode", type.text == "identity" ? "passthrough" : "translated");
}

}  // namespace

std::size_t cpus_in(std::string_view list) {
  std::size_t out = 0;
  for (const std::string_view piece : split(trim(list), ',')) {
    const auto dash = piece.find('-');
    const auto from = parse_uint(piece.substr(0, dash));
    const auto to = dash == std::string_view::npos ? from : parse_uint(piece.substr(dash + 1));
    if (from && to && *from <= *to) out += *to - *from + 1;
  }
  return out;
}

void probe_cpu(const Host& host, Sheet& sheet) {
  if (!host.live()) return;
  // The first part alone: the kernel writes as much as is read, and there are hundreds of CPUs.
  const std::string info = host.text("/proc/cpuinfo", 4096).text;
  Reading model = cpu_word(info, "model name");
  if (!model.ok()) model = cpu_word(info, "CPU part");
  sheet.put("cpu.model", model);
  sheet.put("microcode", cpu_word(info, "microcode"));
  const Reading online = host.line(std::string(kCpus) + "online");
  const std::size_t cpus = cpus_in(online.text);
  online.ok() ? sheet.put("cpu.cores", std::to_string(cpus)) : sheet.unreadable("cpu.cores");
  const std::size_t count = sockets(host, cpus);
  count > 0 ? sheet.put("cpu.sockets", std::to_string(count)) : sheet.unreadable("cpu.sockets");
#if defined(__aarch64__)
  sheet.put("cpu.arch", "aarch64");
#else
  sheet.put("cpu.arch", "x86_64");
#endif
  sheet.put("cpu.vulnerabilities_hash", hash_of_folder(host, std::string(kCpus) + "vulnerabilities/"));
  probe_idle(host, sheet);
  probe_iommu(host, sheet);
}

void probe_memory(const Host& host, Sheet& sheet) {
  if (!host.live()) return;
  const Reading info = host.text("/proc/meminfo", 8192);
  if (info.ok()) {
    sheet.put("memory.gib", std::to_string((kib_of(info.text, "MemTotal:") + (1U << 19)) >> 20));
    sheet.put("swap.kib", std::to_string(kib_of(info.text, "SwapTotal:")));
  } else {
    sheet.unreadable("memory.gib");
    sheet.unreadable("swap.kib");
  }
  const Reading numa = host.line("/sys/devices/system/node/online");
  sheet.put("numa.nodes", numa.ok() ? Reading{Found::value, std::to_string(cpus_in(numa.text))} : numa);
}

void probe_virtualisation(const Host& host, Sheet& sheet) {
  if (!host.live()) return;
  if (host.exists("/.dockerenv") || host.exists("/run/.containerenv") || host.exists("/run/systemd/container"))
    return sheet.put("node.virt", "container");
  const std::string info = host.text("/proc/cpuinfo", 4096).text;
  const Reading vendor = host.line("/sys/class/dmi/id/sys_vendor");
  const bool hypervisor = cpu_word(info, "flags").text.find("hypervisor") != std::string::npos;
#if defined(__aarch64__)
  // Arm has no such flag; virtual machines name their maker.
  const bool virtual_machine = !vendor.ok() || vendor.text == "QEMU" || vendor.text == "Google";
#else
  const bool virtual_machine = hypervisor;
#endif
  if (!virtual_machine) return sheet.put("node.virt", "none");
  if (!vendor.ok()) return sheet.put("node.virt", "microvm");
  if (vendor.text.find("VMware") != std::string::npos) return sheet.put("node.virt", "vmware");
  if (vendor.text.find("Microsoft") != std::string::npos) return sheet.put("node.virt", "hyperv");
  if (vendor.text.find("Xen") != std::string::npos) return sheet.put("node.virt", "xen");
  sheet.put("node.virt", "kvm");
  static_cast<void>(hypervisor);
}

std::string common_command_line(std::string_view command_line) {
  constexpr std::array<std::string_view, 12> kOwn = {
      "root=",    "BOOT_IMAGE=", "initrd=", "ip=",     "BOOTIF=",   "resume=",
      "nfsroot=", "ds=",         "wwid=",   "ro.boot", "hostname=", "systemd.machine_id="};
  std::string out;
  for (const std::string_view word : split(command_line, ' ')) {
    const std::string_view w = trim(word);
    if (w.empty() || std::any_of(kOwn.begin(), kOwn.end(), [&](std::string_view o) { return w.starts_with(o); })) continue;
    if (!out.empty()) out += ' ';
    out += w;
  }
  return out;
}

void probe_kernel(const Host& host, Sheet& sheet) {
  // Those with an image in /boot; where there is no /boot, as in containers and on nodes that boot over the network, those with
  // modules.
  std::string newest;
  for (const std::string& name : host.entries("/boot")) {
    constexpr std::string_view kImage = "vmlinuz-";
    if (!name.starts_with(kImage) || name.find("rescue") != std::string::npos) continue;
    const std::string release = name.substr(kImage.size());
    if (newest.empty() || ::strverscmp(newest.c_str(), release.c_str()) < 0) newest = release;
  }
  if (newest.empty()) {
    for (const std::string& name : host.entries("/lib/modules")) {
      if (newest.empty() || ::strverscmp(newest.c_str(), name.c_str()) < 0) newest = name;
    }
  }
  newest.empty() ? sheet.absent("kernel.installed") : sheet.put("kernel.installed", newest);
  if (!host.live()) return;
  if (const std::string* all = sheet.value("kernel.cmdline")) sheet.put("kernel.cmdline", common_command_line(*all));
  sheet.put("kernel.page_size", std::to_string(::sysconf(_SC_PAGESIZE)));
  const std::string* release = sheet.value("kernel.release");
  if (release == nullptr) return sheet.unreadable("kernel.config_hash");
  Reading config = host.text("/boot/config-" + *release, 1U << 20);
  if (!config.ok()) config = host.text("/lib/modules/" + *release + "/config", 1U << 20);
  if (!config.ok()) config = host.text("/proc/config.gz", 1U << 20);
  sheet.put("kernel.config_hash", config.ok() ? Reading{Found::value, short_hash(config.text)} : config);
}

void probe_system(const Host& host, Sheet& sheet) {
  std::string limits = host.text("/etc/security/limits.conf").text;
  for (const std::string& name : host.entries("/etc/security/limits.d"))
    limits += name + "\n" + host.text("/etc/security/limits.d/" + name).text;
  limits.empty() ? sheet.absent("limits.conf_hash") : sheet.put("limits.conf_hash", short_hash(limits));
  std::set<std::string> nccl;
  const std::string environment = host.text("/etc/environment").text;
  for (const std::string_view line : split(environment, '\n')) {
    const std::string_view l = trim(line);
    if (l.starts_with("NCCL_") || l.starts_with("export NCCL_")) nccl.emplace(l.substr(l.find("NCCL_")));
  }
  nccl.empty() ? sheet.absent("env.nccl") : sheet.put("env.nccl", join({nccl.begin(), nccl.end()}, " "));
  if (!host.live()) return;
  const Reading netns = host.link("/proc/self/ns/net");
  if (const auto open = netns.text.find('['); netns.ok() && open != std::string::npos) {
    sheet.put("netns", std::string_view(netns.text).substr(open + 1, netns.text.size() - open - 2));
  } else {
    sheet.unreadable("netns");
  }
  if (!host.is_root_folder()) return;  // what follows asks the kernel, not a file
  timex t = {};
  const int state = ::adjtimex(&t);
  state < 0 ? sheet.unreadable("time.synchronised") : sheet.flag("time.synchronised", (t.status & STA_UNSYNC) == 0);
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) == 0) {
    sheet.put("shm.bytes", std::to_string(static_cast<std::uint64_t>(shm.f_blocks) * shm.f_frsize));
  } else {
    sheet.absent("shm.bytes");
  }
}

}  // namespace muster::facts
