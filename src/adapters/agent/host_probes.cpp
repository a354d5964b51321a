#include "adapters/agent/host_probes.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace muster::agent {
namespace {

std::string slurp(const std::string& path, std::size_t most = 4096) {
  std::string out;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return out;
  char chunk[4096];
  for (ssize_t n = 0; out.size() < most && (n = read(fd, chunk, std::min(sizeof chunk, most - out.size()))) > 0;)
    out.append(chunk, static_cast<std::size_t>(n));
  close(fd);
  return out;
}

std::string first_line(const std::string& path) {
  const std::string text = slurp(path);
  return std::string(trim(std::string_view(text).substr(0, text.find('\n'))));
}

std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> out;
  DIR* d = opendir(folder.c_str());
  if (d == nullptr) return out;
  while (const dirent* e = readdir(d)) {
    if (e->d_name[0] != '.') out.emplace_back(e->d_name);
  }
  closedir(d);
  std::sort(out.begin(), out.end());
  return out;
}

// "16.0 GT/s PCIe" -> 16; "Unknown" -> nothing
std::optional<double> leading_number(const std::string& text) {
  return parse_double(std::string_view(text).substr(0, text.find(' ')));
}

void pci_device(const std::string& folder, const std::string& name, std::string& out) {
  const std::string kind = first_line(folder + "/class");
  const bool gpu = first_line(folder + "/vendor") == "0x10de" && kind.rfind("0x03", 0) == 0;
  const bool nic = first_line(folder + "/vendor") == "0x15b3" && kind.rfind("0x02", 0) == 0;
  if (!gpu && !nic) return;
  out += fmt::format("pci {} gpu {}\n", name, gpu ? 1 : 0);
  for (const char* what : {"current_link_width", "max_link_width", "current_link_speed", "max_link_speed"}) {
    if (const auto v = leading_number(first_line(folder + "/" + what)))
      out += fmt::format("pci {} {} {}\n", name, what, render_number(*v));
  }
  for (const auto& [file, series] : {std::pair("aer_dev_correctable", "aer_correctable"),
                                     {"aer_dev_nonfatal", "aer_nonfatal"},
                                     {"aer_dev_fatal", "aer_fatal"}}) {
    const std::string text = slurp(folder + "/" + file);
    const auto at = text.find("TOTAL_ERR_");
    const auto blank = at == std::string::npos ? at : text.find(' ', at);
    if (blank == std::string::npos) continue;
    const auto v = parse_uint(trim(std::string_view(text).substr(blank, text.find('\n', blank) - blank)));
    if (v) out += fmt::format("pci {} {} {}\n", name, series, *v);
  }
}

// sysfs name and node_exporter's.
constexpr std::array<std::pair<const char*, const char*>, 11> kPortCounters = {{
    {"counters/link_downed", "link_downed_total"},
    {"counters/link_error_recovery", "link_error_recovery_total"},
    {"counters/symbol_error", "symbol_error_total"},
    {"counters/local_link_integrity_errors", "local_link_integrity_errors_total"},
    {"counters/excessive_buffer_overrun_errors", "excessive_buffer_overrun_errors_total"},
    {"counters/port_rcv_errors", "port_errors_received_total"},
    {"counters/port_xmit_discards", "port_discards_transmitted_total"},
    {"counters/port_xmit_wait", "port_transmit_wait_total"},
    {"hw_counters/local_ack_timeout_err", "local_ack_timeout_errors_total"},
    {"hw_counters/out_of_sequence", "out_of_sequence_packets_received_total"},
    {"hw_counters/rnr_nak_retry_err", "rnr_nak_retry_packets_received_total"},
}};

void ib_port(const std::string& folder, const std::string& device, const std::string& port, std::string& out) {
  const auto say = [&](const char* name, double v) {
    out += fmt::format("ib {} {} {} {}\n", device, port, name, render_number(v));
  };
  // "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)"
  const auto state = parse_uint(std::string_view(first_line(folder + "/state")).substr(0, 1));
  const auto phys = parse_uint(std::string_view(first_line(folder + "/phys_state")).substr(0, 1));
  if (state) say("state_id", static_cast<double>(*state));
  if (phys) say("physical_state_id", static_cast<double>(*phys));
  if (const auto rate = leading_number(first_line(folder + "/rate"))) say("rate_bytes_per_second", *rate * 1e9 / 8);
  for (const auto& [file, series] : kPortCounters) {
    if (const auto v = parse_uint(first_line(folder + "/" + file))) say(series, static_cast<double>(*v));
  }
}

// What a program says of itself, in one line; empty where it is not there.
std::string say_version(const std::string& program) {
  const std::string answer = ask_command("command -v " + program + " >/dev/null 2>&1 && " + program + " --version 2>/dev/null");
  return answer.rfind("0 ", 0) == 0 ? answer.substr(2) : std::string();
}

// A PCI device's bridges, root first: "pci0000:17/0000:17:01.0/0000:18:00.0". What two have in common is how near they are.
std::string pci_path(const std::string& device) {
  char* real = realpath(device.c_str(), nullptr);
  if (real == nullptr) return {};
  const std::string path = real;
  std::free(real);
  const auto at = path.find("/pci");
  return at == std::string::npos ? std::string() : path.substr(at + 1);
}

// By hand, from the files that hwloc reads too: hwloc loads whatever plugins a node has, NVML's and OpenCL's among them, and a
// driver that hangs would take the topology with it.
std::size_t bridges_in_common(const std::string& a, const std::string& b) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i) n += a[i] == '/' ? 1 : 0;
  return n;
}

struct PciPlace {
  std::string address, numa, path, name;  // name: of a NIC, "mlx5_0"
};

// Which NIC is nearest to a GPU: under the same switch, the same root, or on the same socket.
std::string nearest(const PciPlace& gpu, const std::vector<PciPlace>& nics) {
  const PciPlace* best = nullptr;
  std::size_t most = 0;
  for (const PciPlace& nic : nics) {
    const std::size_t n = bridges_in_common(gpu.path, nic.path);
    if (n > most || (best == nullptr && n == most && nic.numa == gpu.numa)) best = &nic, most = n;
  }
  if (best == nullptr) return {};
  return fmt::format(", nearest {} ({})", best->name, most > 1 ? "same switch" : most == 1 ? "same root" : "same socket");
}

std::string ask_topology(const std::string& root) {
  std::string out;
  const std::string pci = root + "/sys/bus/pci/devices/";
  std::vector<PciPlace> nics;
  const std::string ib = root + "/sys/class/infiniband/";
  for (const std::string& device : entries(ib)) {
    const std::string path = pci_path(ib + device + "/device");
    const std::string address = path.substr(path.rfind('/') + 1);
    nics.push_back({address, first_line(ib + device + "/device/numa_node"), path, device});
    out += fmt::format("node nic_{} {}, numa {}, board {}, {} ports\n", device, address, nics.back().numa,
                       printable(first_line(ib + device + "/board_id")), entries(ib + device + "/ports").size());
  }
  for (const std::string& address : entries(pci)) {
    if (first_line(pci + address + "/vendor") != "0x10de" || first_line(pci + address + "/class").rfind("0x03", 0) != 0) continue;
    const PciPlace gpu{address, first_line(pci + address + "/numa_node"), pci_path(pci + address), ""};
    out += fmt::format("node topology_gpu_{} numa {}{}\n", address, gpu.numa, nearest(gpu, nics));
  }
  const std::string numa = root + "/sys/devices/system/node/";
  for (const std::string& name : entries(numa)) {
    if (name.rfind("node", 0) != 0 || name.size() > 8) continue;
    out += fmt::format("node topology_{} cpus {}\n", name, printable(first_line(numa + name + "/cpulist")));
  }
  return out;
}

}  // namespace

std::string ask_sysfs(const std::string& root) {
  std::string out;
  const std::string pci = root + "/sys/bus/pci/devices";
  for (const std::string& name : entries(pci)) pci_device(pci + "/" + name, name, out);
  const std::string ib = root + "/sys/class/infiniband";
  for (const std::string& device : entries(ib)) {
    if (const std::string fw = first_line(ib + "/" + device + "/fw_ver"); !fw.empty())
      out += fmt::format("node firmware_{} {}\n", device, printable(fw));
    for (const std::string& port : entries(ib + "/" + device + "/ports"))
      ib_port(ib + "/" + device + "/ports/" + port, device, port, out);
  }
  // "btime 1700000000": when the machine booted.
  const std::string stat = slurp(root + "/proc/stat", 1 << 20);
  if (const auto at = stat.find("\nbtime "); at != std::string::npos)
    out += fmt::format("node boot_time {}\n", trim(std::string_view(stat).substr(at + 7, stat.find('\n', at + 7) - at - 7)));
  return out;
}

std::string ask_versions(const std::string& root) {
  std::string out;
  utsname u{};
  if (uname(&u) == 0) out += fmt::format("node kernel {}\n", printable(u.release));
  if (const std::string v = first_line(root + "/sys/module/nvidia/version"); !v.empty())
    out += fmt::format("node driver_version {}\n", printable(v));
  for (const char* program : {"containerd", "docker", "podman", "crio", "nvidia-ctk"}) {
    if (const std::string v = say_version(program); !v.empty()) out += fmt::format("node {} {}\n", program, printable(v));
  }
  for (const char* what : {"product_name", "bios_version"}) {
    if (const std::string v = first_line(root + "/sys/class/dmi/id/" + what); !v.empty())
      out += fmt::format("node {} {}\n", what, printable(v));
  }
  return out + ask_topology(root);
}

std::vector<Mount> parse_mounts(std::string_view text) {
  constexpr std::array kTypes = {"nfs",  "nfs4", "lustre", "gpfs",      "wekafs",         "ceph",       "fuse.ceph", "beegfs",
                                 "cifs", "9p",   "pvfs2",  "glusterfs", "fuse.glusterfs", "fuse.sshfs", "virtiofs"};
  std::vector<Mount> out;
  for (const std::string_view line : split(text, '\n')) {
    const auto w = split(line, ' ');
    if (w.size() < 3 || out.size() >= 64) continue;
    if (std::find(kTypes.begin(), kTypes.end(), w[2]) == kTypes.end()) continue;
    std::string path;  // blanks and the like stand as \040
    for (std::size_t i = 0; i < w[1].size(); ++i) {
      if (w[1][i] == '\\' && i + 3 < w[1].size()) {
        path.push_back(static_cast<char>((w[1][i + 1] - '0') * 64 + (w[1][i + 2] - '0') * 8 + (w[1][i + 3] - '0')));
        i += 3;
      } else {
        path.push_back(w[1][i]);
      }
    }
    out.push_back({std::move(path), std::string(w[2])});
  }
  return out;
}

std::vector<Mount> shared_mounts() { return parse_mounts(slurp("/proc/self/mounts", 1 << 20)); }

std::string ask_mount(const std::string& path) {
  struct statvfs s {};
  if (statvfs(path.c_str(), &s) != 0) return fmt::format("statvfs: {}", std::strerror(errno));
  DIR* d = opendir(path.c_str());
  if (d == nullptr) return errno == EACCES ? std::string() : fmt::format("opendir: {}", std::strerror(errno));
  errno = 0;
  readdir(d);  // the server is asked for the folder itself, not only for what this machine remembers
  const int why = errno;
  closedir(d);
  return why == 0 ? std::string() : fmt::format("readdir: {}", std::strerror(why));
}

std::string ask_command(const std::string& command) {
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return fmt::format("126 {}", std::strerror(errno));
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // it ends with the probe that asked
    dup2(out[1], STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  close(out[1]);
  std::string text;
  char piece[4096];
  for (ssize_t n = 0; pid > 0 && (n = read(out[0], piece, sizeof piece)) > 0;) {
    if (text.size() < sizeof piece) text.append(piece, static_cast<std::size_t>(n));
  }
  close(out[0]);
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return "126 cannot be started";
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return fmt::format("{} {}", code, trim(std::string_view(text).substr(0, std::min<std::size_t>(text.find('\n'), 500))));
}

}  // namespace muster::agent
