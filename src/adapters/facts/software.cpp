#include "adapters/facts/software.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "adapters/agent/host_probes.h"
#include "adapters/facts/book_reader.h"
#include "adapters/facts/elf.h"
#include "base/text.h"

namespace muster::facts {
namespace {

constexpr std::size_t kContainersMax = 64;

// What stands behind `"key"` and a colon, as text; empty: not there. Good for files of a known writer, not for any JSON.
std::string json_word(std::string_view text, std::string_view key) {
  const auto at = text.find("\"" + std::string(key) + "\"");
  if (at == std::string_view::npos) return {};
  std::string_view rest = text.substr(at + key.size() + 2);
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t\n:")));
  if (rest.empty() || rest.front() != '"') return {};
  rest.remove_prefix(1);
  return std::string(rest.substr(0, rest.find('"')));
}

std::string define_of(std::string_view header, std::string_view name) {
  const auto at = header.find("#define " + std::string(name) + " ");
  if (at == std::string_view::npos) return {};
  const std::string_view rest = trim(header.substr(at + name.size() + 9, 16));
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789")));
}

Reading toolkit_version(const Host& host) {
  const Reading json = host.text("/usr/local/cuda/version.json");
  if (json.ok()) {
    const auto at = json.text.find("\"cuda\"");
    const std::string version = at == std::string::npos ? "" : json_word(std::string_view(json.text).substr(at), "version");
    if (!version.empty()) return {Found::value, version};
  }
  // libcudart.so.12 -> libcudart.so.12.4.127
  for (const char* major : {"13", "12", "11.0"}) {
    const Reading so = host.link(std::string("/usr/local/cuda/lib64/libcudart.so.") + major);
    if (const auto v = so.text.find(".so."); so.ok() && v != std::string::npos) return {Found::value, so.text.substr(v + 4)};
  }
  if (const Reading old = host.line("/usr/local/cuda/version.txt"); old.ok())  // "CUDA Version 10.2.89"
    return {Found::value, old.text.substr(old.text.rfind(' ') + 1)};
  return {host.exists("/usr/local/cuda") ? Found::unreadable : Found::absent, {}};
}

// Newest name of the form MLX5_1.N among a library's strings.
std::string newest_abi(std::string_view strings) {
  constexpr std::string_view kName = "MLX5_1.";
  std::uint64_t newest = 0;
  for (auto at = strings.find(kName); at != std::string_view::npos; at = strings.find(kName, at + 1)) {
    const std::string_view rest = strings.substr(at + kName.size(), 8);
    newest = std::max(newest, parse_uint(rest.substr(0, rest.find_first_not_of("0123456789"))).value_or(0));
  }
  return newest == 0 ? std::string() : std::string(kName) + std::to_string(newest);
}

// "HPC-X v2.21" in VERSION; the folder's name says for which CUDA: hpcx-v2.21-gcc-doca_ofed-ubuntu22.04-cuda12-x86_64.
void probe_hpcx(const Host& host, Sheet& sheet) {
  std::string folder;
  for (const std::string& name : host.entries("/opt")) {
    if (name.starts_with("hpcx")) folder = name;
  }
  if (folder.empty()) {
    sheet.absent("hpcx.version");
    return sheet.absent("hpcx.cuda_major");
  }
  std::string version = host.line("/opt/" + folder + "/VERSION").text;
  if (const auto v = version.find('v'); v != std::string::npos) version = version.substr(v + 1);
  if (const auto v = folder.find("-v"); version.empty() && v != std::string::npos)
    version = folder.substr(v + 2, folder.find('-', v + 2) - v - 2);
  version.empty() ? sheet.unreadable("hpcx.version") : sheet.put("hpcx.version", version);
  const auto cuda = folder.find("-cuda");
  const std::string major = cuda == std::string::npos ? "" : folder.substr(cuda + 5, folder.find('-', cuda + 5) - cuda - 5);
  major.empty() ? sheet.unreadable("hpcx.cuda_major") : sheet.put("hpcx.cuda_major", major.substr(0, major.find('.')));
}

// Digests, or names where the runtime keeps no digest beside them.
Found running_images(const Host& host, std::set<std::string>& out) {
  Found seen = Found::absent;
  const auto look = [&](const std::string& folder, const std::string& file, std::string_view key) {
    Found why = Found::value;
    std::size_t count = 0;
    for (const std::string& id : host.entries(folder, &why)) {
      if (++count > kContainersMax) break;
      const Reading config = host.text(folder + id + "/" + file, 1U << 20);
      if (std::string image = json_word(config.text, key); !image.empty()) out.insert(std::move(image));
      if (config.found == Found::unreadable) why = Found::unreadable;
    }
    if (why != Found::absent && seen != Found::unreadable) seen = why;
  };
  look("/run/containerd/io.containerd.runtime.v2.task/k8s.io/", "config.json", "io.kubernetes.cri.image-name");
  look("/var/lib/docker/containers/", "config.v2.json", "Image");
  return seen;
}

bool is_nfs(std::string_view type) { return type == "nfs" || type == "nfs4"; }

// Version of a mapped libnccl, read below the root folder of the process that has it: by its name, or by the header that wheels
// bring along.
std::string version_of_mapped(const Host& host, const std::string& pid, const std::string& path) {
  const auto so = path.find(".so.");
  if (const std::string_view suffix = std::string_view(path).substr(so + 4); suffix.find('.') != std::string_view::npos)
    return std::string(suffix);
  const std::string library = "/proc/" + pid + "/root" + path;
  const std::string folder = library.substr(0, library.rfind('/'));
  if (std::string v = nccl_of_header(host.text(folder + "/../include/nccl.h", 16384).text); !v.empty()) return v;
  // "NCCL version 2.28.9+cuda12.9" among its constants, and texts about other versions too, without a CUDA.
  constexpr std::string_view kWords = "NCCL version ";
  const auto constants = elf_section(host, library, ".rodata", 2U << 20);
  if (!constants) return {};
  std::string first;
  for (auto at = constants->find(kWords); at != std::string::npos; at = constants->find(kWords, at + 1)) {
    const std::string_view rest = std::string_view(*constants).substr(at + kWords.size(), 32);
    const std::string_view version = rest.substr(0, rest.find_first_not_of("0123456789."));
    if (rest.substr(version.size()).starts_with("+cuda")) return std::string(version);
    if (first.empty()) first = version;
  }
  return first;
}

// Process numbers in the control groups of jobs: few, where all of /proc are thousands.
void add_processes(const Host& host, const std::string& folder, int depth, std::vector<std::string>& out) {
  constexpr std::size_t kMost = 256;
  if (depth < 0 || out.size() > kMost) return;
  const std::string processes = host.text(folder + "cgroup.procs", 4096).text;
  for (const std::string_view pid : split(processes, '\n')) {
    if (!pid.empty()) out.emplace_back(pid);
  }
  for (const std::string& name : host.entries(folder)) {
    const bool below = name.starts_with("job_") || name.starts_with("step_") || name.starts_with("task_") || name == "user" ||
                       name.ends_with(".slice") || name.ends_with(".scope");
    if (below) add_processes(host, folder + name + "/", depth - 1, out);
  }
}

std::vector<std::string> processes(const Host& host) {
  std::vector<std::string> out;
  for (const char* folder : {"/sys/fs/cgroup/system.slice/slurmstepd.scope/", "/sys/fs/cgroup/kubepods.slice/"})
    add_processes(host, folder, 5, out);
  const std::size_t of_jobs = out.size();
  for (std::string& name : host.entries("/proc")) {
    if (name[0] >= '1' && name[0] <= '9') out.push_back(std::move(name));
  }
  // The youngest first: jobs are younger than the services of the system.
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(of_jobs), out.end(),
            [](const std::string& a, const std::string& b) { return a.size() != b.size() ? a.size() > b.size() : a > b; });
  return out;
}

enum class Looked { all, denied, stopped };

// Paths of libraries that a process has mapped; empty: not that one.
struct Mapped {
  std::string nccl, libcuda;
};

// The path of a library in the text of /proc/PID/maps, `name` being what its file's name begins with; empty: not in there.
std::string mapped_library(std::string_view maps, std::string_view name) {
  const auto at = maps.find(name);
  if (at == std::string_view::npos) return {};
  const auto line = maps.rfind('\n', at) + 1;
  const auto end = maps.find('\n', at);
  if (end == std::string_view::npos) return {};
  std::string_view path = maps.substr(line, end - line);
  path.remove_prefix(path.find('/'));
  constexpr std::string_view kGone = " (deleted)";  // an upgrade put another file there
  if (path.ends_with(kGone)) path.remove_suffix(kGone.size());
  return std::string(path);
}

// Of the driver's own library alone: that of a compatibility package is another version by design.
std::string libcuda_version(const std::string& path) {
  const auto so = path.rfind(".so.");
  if (so == std::string::npos || path.find("/compat/") != std::string::npos) return {};
  const std::string version = path.substr(so + 4);
  return version.find('.') == std::string::npos || version.find_first_not_of("0123456789.") != std::string::npos ? "" : version;
}

// Whether its address space is as large as that of a process with a CUDA context, which reserves far more than this. Asking costs
// a tenth of reading the maps.
bool may_use_gpu(const Host& host, const std::string& pid) {
  constexpr std::uint64_t kPagesLeast = 1U << 20;  // 4 GiB, or 64 of 64-KiB pages
  const Reading r = host.line("/proc/" + pid + "/statm");
  return r.ok() && parse_uint(r.text.substr(0, r.text.find(' '))).value_or(0) >= kPagesLeast;
}

// A line at a time as the kernel gives them, so that a process with many mappings cannot use up all the time at once.
Looked look_at(const Host& host, const std::string& pid, double until, Mapped& mapped) {
  const int fd = host.open("/proc/" + pid + "/maps", O_RDONLY);
  if (fd < 0) return errno == EACCES || errno == EPERM ? Looked::denied : Looked::all;
  std::string text;
  std::array<char, 32768> chunk;
  Looked out = Looked::all;
  for (ssize_t n = 0; (n = ::read(fd, chunk.data(), chunk.size())) != 0;) {
    if (n < 0) {
      out = errno == EACCES || errno == EPERM ? Looked::denied : Looked::all;
      break;
    }
    text.append(chunk.data(), static_cast<std::size_t>(n));
    if (mapped.nccl.empty()) mapped.nccl = mapped_library(text, "/libnccl.so.");
    if (mapped.libcuda.empty()) mapped.libcuda = mapped_library(text, "/libcuda.so.");
    if (!mapped.nccl.empty() && !mapped.libcuda.empty()) break;
    const auto cut = text.rfind('\n');
    text.erase(0, cut == std::string::npos ? 0 : cut);
    if (cpu_ms() > until) {
      out = Looked::stopped;
      break;
    }
  }
  ::close(fd);
  return out;
}

}  // namespace

double cpu_ms() {
  timespec t = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

std::string nccl_of_header(std::string_view header) {
  const std::string major = define_of(header, "NCCL_MAJOR"), minor = define_of(header, "NCCL_MINOR"),
                    patch = define_of(header, "NCCL_PATCH");
  return major.empty() || minor.empty() || patch.empty() ? std::string() : major + "." + minor + "." + patch;
}

void probe_cuda(const Host& host, Sheet& sheet) {
  sheet.put("cuda.toolkit", toolkit_version(host));
  Reading compat = host.link("/usr/local/cuda/compat/libcuda.so.1");
  if (const auto so = compat.text.find(".so."); so != std::string::npos) compat.text = compat.text.substr(so + 4);
  sheet.put("cuda.compat", compat);
}

void probe_libraries(const Host& host, Sheet& sheet) {
  const std::string mlx5 = library_path(host, "libmlx5.so.1");
  const auto strings = mlx5.empty() ? std::nullopt : elf_section(host, mlx5, ".dynstr", 256 << 10);
  const std::string abi = strings ? newest_abi(*strings) : "";
  if (mlx5.empty()) {
    sheet.absent("libmlx5.abi");
  } else {
    abi.empty() ? sheet.unreadable("libmlx5.abi") : sheet.put("libmlx5.abi", abi);
  }
  probe_hpcx(host, sheet);
  if (host.live()) {
    if (!host.exists("/sys/module/ib_core")) {
      sheet.absent("ib_core.source");
    } else {
      sheet.put("ib_core.source", host.exists("/sys/module/mlx_compat") ? "ofed" : "inbox");
    }
  }
  // "# EFA installer version: 1.30.0"
  const Reading efa = host.line("/opt/amazon/efa_installed_packages");
  sheet.put("efa.version", efa.ok() ? Reading{Found::value, efa.text.substr(efa.text.rfind(' ') + 1)} : efa);
}

void probe_containers(const Host& host, Sheet& sheet) {
  struct Runtime {
    const char *name, *socket, *program;
  };
  constexpr Runtime kRuntimes[] = {{"containerd", "/run/containerd/containerd.sock", "/usr/bin/containerd"},
                                   {"docker", "/run/docker.sock", "/usr/bin/dockerd"},
                                   {"podman", "/run/podman/podman.sock", "/usr/bin/podman"},
                                   {"crio", "/run/crio/crio.sock", "/usr/bin/crio"}};
  sheet.absent("container.runtime");
  for (const Runtime& r : kRuntimes) {
    if (!host.exists(r.socket) && !host.exists(r.program)) continue;
    sheet.put("container.runtime", r.name);
    break;
  }
  if (!host.live()) return;
  std::set<std::string> images;
  const Found seen = running_images(host, images);
  if (!images.empty()) {
    sheet.put("containers.images", join({images.begin(), images.end()}, ","));
  } else {
    seen == Found::unreadable ? sheet.unreadable("containers.images") : sheet.absent("containers.images");
  }
}

void probe_mounts(const Host& host, Sheet& sheet) {
  if (!host.live()) return;
  const Reading mounts = host.text("/proc/self/mounts", 1U << 20);
  if (!mounts.ok()) {
    sheet.put("mounts", mounts);
    return sheet.put("nfs.read_ahead_kb", mounts);
  }
  std::set<std::string> shared;
  bool nfs = false;
  for (const agent::Mount& m : agent::parse_mounts(mounts.text)) {
    shared.insert(m.type + ":" + m.path);
    nfs |= is_nfs(m.type);
  }
  shared.empty() ? sheet.absent("mounts") : sheet.put("mounts", join({shared.begin(), shared.end()}, ","));
  std::set<std::string> ahead;
  const std::string numbered = nfs ? host.text("/proc/self/mountinfo", 1U << 20).text : "";
  for (const std::string_view line : split(numbered, '\n')) {
    const auto words = split(line, ' ');
    const auto dash = line.find(" - ");
    if (words.size() < 5 || dash == std::string_view::npos) continue;
    const std::string_view type = line.substr(dash + 3, line.find(' ', dash + 3) - dash - 3);
    if (!is_nfs(type)) continue;
    const Reading r = host.line("/sys/class/bdi/" + std::string(words[2]) + "/read_ahead_kb");
    if (r.ok()) ahead.insert(r.text);
  }
  ahead.empty() ? sheet.absent("nfs.read_ahead_kb") : sheet.put("nfs.read_ahead_kb", join({ahead.begin(), ahead.end()}, ","));
}

void probe_image(const Host& host, const Packages& packages, Sheet& sheet) {
  const std::string release = host.text("/etc/os-release").text, build = host.text("/etc/cloud/build.info").text;
  const auto word = [](std::string_view text, std::string_view key) {
    for (const std::string_view line : split(text, '\n')) {
      if (!line.starts_with(key)) continue;
      const std::string_view v = trim(line.substr(key.size()));
      return std::string(v.size() >= 2 && v.front() == '"' ? v.substr(1, v.size() - 2) : v);
    }
    return std::string();
  };
  std::string image = word(release, "IMAGE_ID=");
  if (const std::string version = word(release, "IMAGE_VERSION="); !version.empty())
    image += (image.empty() ? "" : ":") + version;
  if (image.empty()) image = word(build, "serial:");
  image.empty() ? sheet.absent("os.image") : sheet.put("os.image", image);
  const Reading dgx = host.text("/etc/dgx-release");
  std::string version = word(dgx.text, "DGX_OTA_VERSION=");
  if (version.empty()) version = word(dgx.text, "DGX_SWBUILD_VERSION=");
  version.empty() ? sheet.put("dgx_os.version", Reading{dgx.ok() ? Found::unreadable : dgx.found, {}})
                  : sheet.put("dgx_os.version", version);
  if (sheet.value("slurm.slurmd") != nullptr || packages.find("slurmd") != nullptr) return;
  // Built by the site: its header says it, "#define SLURM_VERSION_NUMBER 0x190502" for 25.05.2.
  for (const char* header : {"/usr/include/slurm/slurm_version.h", "/opt/slurm/include/slurm/slurm_version.h",
                             "/usr/local/include/slurm/slurm_version.h"}) {
    const std::string text = host.text(header).text;
    const auto at = text.find("SLURM_VERSION_NUMBER 0x");
    const auto number = at == std::string::npos ? std::nullopt : parse_hex(std::string_view(text).substr(at + 23, 6));
    if (!number) continue;
    const auto two = [](std::uint64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
    return sheet.put("slurm.slurmd",
                     std::to_string(*number >> 16) + "." + two(*number >> 8 & 0xff) + "." + std::to_string(*number & 0xff));
  }
}

void probe_mapped_libraries(const Host& host, double until_cpu_ms, Sheet& sheet) {
  if (!host.live()) return;
  constexpr const char *kNccl = "nccl.mapped", *kLibcuda = "libcuda.mapped";
  if (!host.exists("/proc/driver/nvidia") && !host.exists("/sys/module/nvidia")) {
    sheet.absent(kNccl);
    return sheet.absent(kLibcuda);
  }
  std::set<std::string> nccl, libcuda, paths;
  bool all = true, named = true;
  for (const std::string& pid : processes(host)) {
    if (cpu_ms() > until_cpu_ms) {
      all = false;
      break;
    }
    if (!may_use_gpu(host, pid)) continue;
    Mapped mapped;
    all = look_at(host, pid, until_cpu_ms, mapped) == Looked::all && all;
    if (std::string v = libcuda_version(mapped.libcuda); !v.empty()) libcuda.insert(std::move(v));
    if (mapped.nccl.empty() || !paths.insert(mapped.nccl).second) continue;
    std::string v = version_of_mapped(host, pid, mapped.nccl);
    v.empty() ? static_cast<void>(named = false) : static_cast<void>(nccl.insert(std::move(v)));
  }
  const auto put = [&](const char* key, const std::set<std::string>& versions, bool whole) {
    if (!versions.empty()) return sheet.put(key, join({versions.begin(), versions.end()}, ","));
    whole ? sheet.absent(key) : sheet.unreadable(key);
  };
  put(kNccl, nccl, all && named);
  put(kLibcuda, libcuda, all);
}

}  // namespace muster::facts
