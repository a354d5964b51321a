#include "adapters/agent/job_environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "adapters/agent/job_socket.h"
#include "base/hash.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "model/job_environment.h"

namespace muster::agent {
namespace {

constexpr std::size_t kProcessesMost = 24;  // of a job: its first ones; workers that load data come later
constexpr std::size_t kPidsMost = 200'000;
constexpr std::size_t kMapsMost = 4 << 20;
constexpr std::size_t kEnvironMost = 256 << 10;
constexpr std::size_t kArgumentsMost = 64 << 10;
constexpr std::size_t kFileMost = 1 << 20;
constexpr std::size_t kFilesMost = 8;          // of configuration, of one job
constexpr std::size_t kPackagesMost = 20'000;  // entries of a folder of Python packages
constexpr std::size_t kValueMost = 200;        // bytes
constexpr std::size_t kVariablesMost = 64;
constexpr std::size_t kAnswerMost = 96 << 10;  // the rest waits for the next time
constexpr int kYoungLooks = 3;                 // a process may be put into its job's group a moment after it began
constexpr Duration kFirstWait = seconds(10);
constexpr Duration kLastWait = minutes(10);
constexpr Duration kLoading = minutes(2);  // within this a job that has loaded nothing yet is still starting

std::string hash_of(std::string_view bytes) { return fmt::format("{:016x}", xxh64(bytes)); }

std::vector<std::string> words_of(const std::string& bytes) {
  std::vector<std::string> out;
  for (const std::string_view w : split(bytes, '\0')) {
    if (!w.empty()) out.emplace_back(w);
  }
  return out;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "libcudart.so.12.8.90": "12.8.90"; empty where there is none.
std::string suffix_of(std::string_view path) {
  const std::string_view name = file_name(path);
  const std::size_t at = name.find(".so.");
  return at == std::string_view::npos ? std::string() : std::string(name.substr(at + 4));
}

// What a mapped file is to us; empty: nothing.
std::string_view kind_of(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kKinds = {{{"libnccl.so", "nccl"},
                                                                                    {"libnccl-net", "nccl_net"},
                                                                                    {"libnccl-tuner", "nccl_tuner"},
                                                                                    {"libcudart.so", "cudart"},
                                                                                    {"libcuda.so", "cuda"},
                                                                                    {"libcudnn.so", "cudnn"},
                                                                                    {"libcublas.so", "cublas"},
                                                                                    {"libtorch_cuda.so", "torch"},
                                                                                    {"libpython3", "python"}}};
  const std::string_view name = file_name(path);
  for (const auto& [begin, kind] : kKinds) {
    if (name.starts_with(begin)) return kind;
  }
  return {};
}

// The folder of Python packages that a file lies in; empty: none.
std::string packages_folder(std::string_view path) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    if (const std::size_t at = path.find(folder); at != std::string_view::npos)
      return std::string(path.substr(0, at + folder.size() - 1));
  }
  return {};
}

// "torch-2.8.0+cu128.dist-info" of names: {"torch", "2.8.0+cu128"}.
std::optional<std::pair<std::string, std::string>> wheel_of(std::string_view name) {
  constexpr std::string_view kEnd = ".dist-info";
  const std::size_t bar = name.find('-');
  if (!name.ends_with(kEnd) || bar == std::string_view::npos || bar == 0) return std::nullopt;
  return std::pair(lower(name.substr(0, bar)), std::string(name.substr(bar + 1, name.size() - kEnd.size() - bar - 1)));
}

// Whose versions are told by name; of all others together a hash.
bool told_by_name(std::string_view wheel) {
  for (const std::string_view known : {"torch", "triton", "transformer_engine", "flash_attn", "apex", "megatron_core",
                                       "deepspeed", "transformers", "lightning", "jax", "jaxlib", "vllm", "numpy"}) {
    if (wheel == known) return true;
  }
  return wheel.starts_with("nvidia_");
}

// Of a command's words: those that are another one in each process, or a secret.
bool own_word(std::string_view word) {
  const std::string name = lower(word.substr(0, word.find('=')));
  for (const std::string_view part : {"local_rank", "local-rank", "node_rank", "node-rank", "machine_rank", "master_addr",
                                      "master-addr", "rdzv", "secret", "password", "api_key", "apikey", "api-key"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return name == "--rank" || name.ends_with("token");
}

bool names_configuration(std::string_view word) {
  for (const std::string_view end : {".yaml", ".yml", ".json", ".toml", ".cfg", ".conf", ".ini", ".py", ".sh"}) {
    if (word.ends_with(end)) return true;
  }
  return false;
}

}  // namespace

bool tells_how(std::string_view variable) {
  for (const std::string_view part : {"TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE", "KEY"}) {
    if (variable.find(part) != std::string_view::npos) return false;
  }
  for (const std::string_view own : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NCCL_COMM_ID", "NCCL_HOSTID"}) {
    if (variable == own) return false;
  }
  for (const std::string_view exact : {"LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONHASHSEED", "XLA_FLAGS", "MALLOC_CONF"}) {
    if (variable == exact) return true;
  }
  for (const std::string_view begin : {"NCCL_", "CUDA_", "OMP_", "TORCH_", "PYTORCH_", "CUBLAS_", "CUDNN_", "NVTE_", "NVSHMEM_",
                                       "UCX_", "MKL_", "FI_", "OMPI_MCA_", "GLOO_", "KMP_"}) {
    if (variable.starts_with(begin)) return true;
  }
  return false;
}

std::string shown_value(std::string_view value) {
  const std::size_t scheme = value.find("://"), at = value.find('@', scheme == std::string_view::npos ? 0 : scheme);
  if (scheme != std::string_view::npos && at != std::string_view::npos) return "(an address with a name in it)";
  return std::string(clipped(printable(clipped(value, kValueMost)), kValueMost));
}

// By the processes' cgroups, which users cannot choose. Each is asked once.
std::map<std::string, std::vector<pid_t>> EnvironmentWatch::find_jobs() {
  std::map<std::string, std::vector<pid_t>> out;
  std::map<pid_t, Process> now;
  for (const std::string& name : names_in(root_ + "/proc", kPidsMost)) {
    const auto pid = parse_uint(name);
    if (!pid || *pid > INT32_MAX) continue;
    const auto id = static_cast<pid_t>(*pid);
    const auto known = processes_.find(id);
    Process p = known == processes_.end() ? Process{} : known->second;
    if (p.job.empty() && p.looks < kYoungLooks) {
      p.job = job_of_cgroups(read_some(root_ + "/proc/" + name + "/cgroup", 4096).value_or(""));
      ++p.looks;
    }
    if (!p.job.empty()) out[p.job].push_back(id);
    now.emplace(id, std::move(p));
  }
  processes_ = std::move(now);
  for (auto& [job, pids] : out) {
    std::sort(pids.begin(), pids.end());
    if (pids.size() > kProcessesMost) pids.resize(kProcessesMost);
  }
  return out;
}

std::string EnvironmentWatch::ask(Time now) {
  const auto here = find_jobs();
  std::erase_if(jobs_, [&](const auto& j) { return here.count(j.first) == 0; });
  std::string out;
  for (const auto& [id, pids] : here) {
    Job& j = jobs_[id];
    if (j.first.ns == 0) j.first = now;
    if (j.processes != pids) {
      j.processes = pids;
      j.wait = kFirstWait;
      j.due = now + kFirstWait;  // not while it is still starting others
    }
    if (now < j.due || out.size() > kAnswerMost) continue;
    j.due = now + j.wait;
    j.wait = std::min(nanoseconds(j.wait.ns * 2), kLastWait);
    // Also where nothing has changed: the controller may have been away, or not known the job yet.
    const std::string said = look_at(id, j, now);
    if (!said.empty()) out += said + "\n";
  }
  return out;
}

EnvironmentWatch::Looked EnvironmentWatch::look(pid_t pid) {
  Looked p;
  p.base = fmt::format("{}/proc/{}", root_, pid);
  const auto maps = read_some(p.base + "/maps", kMapsMost);
  if (!maps) return p;
  p.seen = true;
  for (std::string_view line : split(*maps, '\n')) {
    const std::size_t at = line.find('/');
    if (at == std::string_view::npos) continue;
    const std::string_view path = line.substr(at);
    const std::string_view kind = kind_of(path);
    if (kind.empty()) continue;
    p.libraries.try_emplace(std::string(kind), path);
    p.works = p.works || kind == "nccl" || kind == "cuda" || kind == "cudart" || kind == "torch";
  }
  for (const std::string& word : words_of(read_some(p.base + "/environ", kEnvironMost).value_or(""))) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) p.variables.try_emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  p.arguments = words_of(read_some(p.base + "/cmdline", kArgumentsMost).value_or(""));
  return p;
}

// Empty: nothing can be said yet.
std::string EnvironmentWatch::look_at(const std::string& job, const Job& j, Time now) {
  std::vector<Looked> seen;
  bool works = false;
  for (const pid_t pid : j.processes) {
    Looked p = look(pid);
    if (!p.seen || p.arguments.empty() || p.arguments[0].starts_with("slurmstepd")) continue;
    works = works || p.works;
    seen.push_back(std::move(p));
  }
  if (!works && now - j.first < kLoading) return {};
  std::erase_if(seen, [&](const Looked& p) { return works && !p.works; });
  Facts facts;
  add_node(facts);
  if (seen.empty())
    facts[std::string(kUnseenFact)] = {"the agent may not look into the job's processes: it needs CAP_SYS_PTRACE"};
  std::string name = job;
  std::size_t variables = 0;
  for (const Looked& p : seen) {
    add_libraries(p, facts);
    add_image(p, facts);
    add_configuration(p, facts);
    for (const auto& [variable, value] : p.variables) {
      if (!tells_how(variable) || ++variables > kVariablesMost * seen.size()) continue;
      facts[std::string(kVariablePrefix) + std::string(clipped(printable(variable), 80))].insert(shown_value(value));
    }
    // An array's members have a name of their own; the job itself must be the one that the cgroups name.
    const auto said = [&](const char* what) { return p.variables.count(what) != 0 ? p.variables.at(what) : std::string(); };
    const auto array = parse_uint(said("SLURM_ARRAY_JOB_ID")), member = parse_uint(said("SLURM_ARRAY_TASK_ID"));
    if (said("SLURM_JOB_ID") == job && array && member) name = fmt::format("{}_{}", *array, *member);
  }
  JsonWriter w;
  w.object().field("job", name).key("environment").object();
  for (const auto& [what, values] : facts) {
    std::vector<std::string> all(values.begin(), values.end());
    if (all.size() > 4) all.resize(4);
    w.field(what, join(all, " | "));
  }
  w.end_object().end_object();
  return w.take_members();
}

void EnvironmentWatch::add_libraries(const Looked& p, Facts& facts) {
  const auto path_of = [&](const char* kind) { return p.libraries.count(kind) != 0 ? p.libraries.at(kind) : std::string(); };
  for (const auto& [kind, fact] :
       {std::pair("cudart", "cuda.runtime"), {"cudnn", "cudnn.version"}, {"cublas", "cublas.version"}}) {
    if (const std::string v = suffix_of(path_of(kind)); !v.empty()) facts[fact].insert(shown_value(v));
  }
  if (const std::string v = suffix_of(path_of("cuda")); v.size() > 1) facts["cuda.driver_library"].insert(shown_value(v));
  if (const std::string path = path_of("nccl"); !path.empty()) {
    std::string version = nccl_versions_.recall(p.base + "/root" + path, find_nccl_version);
    if (version.empty()) version = suffix_of(path);
    facts["nccl.version"].insert(version.size() > 1 ? shown_value(version) : "not found in the file");
    facts["nccl.path"].insert(shown_value(path));
  }
  for (const auto& [kind, fact] : {std::pair("nccl_net", "nccl.net_plugin"), {"nccl_tuner", "nccl.tuner_plugin"}}) {
    if (const std::string path = path_of(kind); !path.empty()) facts[fact].insert(shown_value(path));
  }
  for (const char* kind : {"torch", "nccl", "python"}) {
    if (const std::string folder = packages_folder(path_of(kind)); !folder.empty()) return add_packages(p, folder, facts);
  }
}

// The names of installed packages say which versions they are: no file of them is read.
void EnvironmentWatch::add_packages(const Looked& p, const std::string& folder, Facts& facts) {
  const std::string all = packages_.recall(p.base + "/root" + folder, [](const std::string& path) {
    std::string text, told;
    std::size_t count = 0;
    for (const std::string& name : names_in(path, kPackagesMost)) {
      const auto wheel = wheel_of(name);
      if (!wheel) continue;
      text += name + "\n";
      ++count;
      if (told_by_name(wheel->first)) told += "\n" + wheel->first + "=" + wheel->second;
    }
    return fmt::format("{} of {} packages{}", hash_of(text), count, told);
  });
  const auto lines = split(all, '\n');
  if (!lines.empty() && !lines[0].empty()) facts["python.packages"].insert(shown_value(lines[0]));
  for (std::size_t i = 1; i < std::min<std::size_t>(lines.size(), 32); ++i) {
    const std::size_t equals = lines[i].find('=');
    const std::string_view wheel = lines[i].substr(0, equals);
    const std::string fact = wheel == "torch" ? "torch.version" : "python." + std::string(clipped(printable(wheel), 60));
    facts[fact].insert(shown_value(lines[i].substr(equals + 1)));
  }
}

// No engine says at this place which digest an image has: what is installed in it stands for it.
void EnvironmentWatch::add_image(const Looked& p, Facts& facts) {
  for (const auto& [variable, value] : p.variables) {
    if (variable == "APPTAINER_CONTAINER" || variable == "SINGULARITY_CONTAINER" || variable == "SLURM_CONTAINER" ||
        variable.ends_with("SPANK_OPTION_pyxis_container_image"))
      facts["image.name"].insert(shown_value(value));
    if (variable == "MUSTER_IMAGE_DIGEST") facts["image.digest"].insert(shown_value(value));
  }
  const std::string inside = p.base + "/root";
  const std::string release = contents_.recall(inside + "/etc/os-release", [](const std::string& path) {
    const std::string text = read_some(path, 16 << 10).value_or("");
    for (const std::string_view line : split(text, '\n')) {
      if (line.starts_with("PRETTY_NAME=")) return std::string(line.substr(12));
    }
    return std::string();
  });
  if (!release.empty())
    facts["image.os"].insert(
        shown_value(trim(release.size() > 1 && release[0] == '"' ? std::string_view(release).substr(1, release.size() - 2)
                                                                 : std::string_view(release))));
  const std::string packages = contents_.recall(inside + "/var/lib/dpkg/status", [](const std::string& path) {
    const auto text = read_some(path, 16 << 20);
    return text ? hash_of(*text) : std::string();
  });
  if (!packages.empty()) facts["image.packages"].insert(packages);
}

// What it was started with: the program, a hash of its words, and a hash of each file that these name.
void EnvironmentWatch::add_configuration(const Looked& p, Facts& facts) {
  std::string words, program;
  std::size_t files = 0;
  for (std::size_t i = 0; i < p.arguments.size(); ++i) {
    const std::string& word = p.arguments[i];
    if (own_word(word)) {
      const bool value_follows = word.find('=') == std::string::npos && i + 1 < p.arguments.size();
      if (value_follows && !p.arguments[i + 1].starts_with('-')) ++i;
      continue;
    }
    words += word + '\n';
    const std::string_view value = std::string_view(word).substr(word.starts_with("--") ? word.find('=') + 1 : 0);
    if (program.empty() && (value.ends_with(".py") || value.ends_with(".sh"))) program = file_name(value);
    if (program.empty() && i > 0 && p.arguments[i - 1] == "-m") program = word;
    if (!names_configuration(value) || value.find("..") != std::string_view::npos || files >= kFilesMost) continue;
    const std::string path = p.base + (value.starts_with('/') ? "/root" : "/cwd/") + std::string(value);
    const std::string content = contents_.recall(path, [](const std::string& file) {
      const auto text = read_some(file, kFileMost);
      return text ? hash_of(*text) : std::string();
    });
    if (content.empty()) continue;
    ++files;
    facts[std::string(kConfigFilePrefix) + std::string(clipped(printable(file_name(value)), 60))].insert(content);
  }
  if (program.empty() && !p.arguments.empty()) program = file_name(p.arguments[0]);
  if (!program.empty()) facts["config.program"].insert(shown_value(program));
  if (!words.empty()) facts["config.arguments"].insert(hash_of(words));
}

void EnvironmentWatch::add_node(Facts& facts) {
  const auto line = [&](const char* fact, const std::string& path) {
    const auto text = read_some(root_ + path, 256);
    const std::string_view first = text ? trim(std::string_view(*text).substr(0, text->find('\n'))) : std::string_view();
    if (!first.empty()) facts[fact].insert(shown_value(first));
  };
  line("kernel.release", "/proc/sys/kernel/osrelease");
  line("driver.loaded", "/sys/module/nvidia/version");
  line("ofed.version", "/sys/module/mlx5_core/version");
  const std::string nics = "/sys/class/infiniband";
  for (const std::string& nic : names_in(root_ + nics, 64)) line("nic.firmware", nics + "/" + nic + "/fw_ver");
}

}  // namespace muster::agent
