// What `muster doctor --slurm` looks at: Slurm's answers, files, and who may read them. Nothing here changes anything.
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "adapters/slurm/doctor.h"
#include "adapters/slurm/heartbeat.h"
#include "base/text.h"

namespace muster::slurm {
namespace {

constexpr auto kAsk = std::chrono::seconds(10);
constexpr std::size_t kSubmitMost = 1U << 20U;

// What a program printed; nothing where it is not there or failed.
std::optional<std::string> said(const Settings& s, std::vector<std::string> argv) {
  Command c;
  c.argv = std::move(argv);
  c.env = {{"LC_ALL", "C"}};
  if (!s.conf.empty()) c.env.emplace_back("SLURM_CONF", s.conf);
  c.timeout = kAsk;
  const auto r = run(c);
  if (!r || r->status != 0) return std::nullopt;
  return r->out;
}

std::string path_of(const Settings& s, const std::string& tool) { return s.tools.empty() ? tool : s.tools + "/" + tool; }

// The last word of "slurm-wlm 22.05.8".
ToolFact tool(const Settings& s, const std::string& name, std::chrono::milliseconds most) {
  Command c;
  c.argv = {path_of(s, name), "--version"};
  if (!s.conf.empty()) c.env = {{"SLURM_CONF", s.conf}};
  c.timeout = most;
  const auto r = run(c);
  if (!r) return {name, r.error().code != Code::not_found, ""};
  const std::string_view line = trim(std::string_view(r->out).substr(0, r->out.find('\n')));
  return {name, true, printable(line.substr(line.rfind(' ') == std::string_view::npos ? 0 : line.rfind(' ') + 1))};
}

struct Person {
  uid_t uid = 0;
  std::vector<gid_t> groups;
};

std::optional<Person> person(const std::string& name) {
  const passwd* p = getpwnam(name.c_str());
  if (p == nullptr) return std::nullopt;
  Person who{p->pw_uid, std::vector<gid_t>(256)};
  int count = static_cast<int>(who.groups.size());
  if (getgrouplist(name.c_str(), p->pw_gid, who.groups.data(), &count) < 0) return std::nullopt;
  who.groups.resize(static_cast<std::size_t>(count));
  return who;
}

// By the bits of its mode; access lists are not looked at.
bool may(const Person& who, const std::string& path, unsigned bit) {
  struct stat st {};
  if (stat(path.c_str(), &st) != 0) return false;
  if (who.uid == 0) return true;
  if (st.st_uid == who.uid) return (st.st_mode & (bit << 6U)) != 0;
  if (std::find(who.groups.begin(), who.groups.end(), st.st_gid) != who.groups.end()) return (st.st_mode & (bit << 3U)) != 0;
  return (st.st_mode & bit) != 0;
}

void look_at_heartbeat(const Settings& s, Facts& f) {
  if (s.heartbeat.empty()) return;
  const std::filesystem::path file(s.heartbeat);
  // Written beside it and renamed, so it is the folder that counts.
  f.heartbeat_writable = access(file.parent_path().c_str(), W_OK | X_OK) == 0;
  const auto owner = f.config.find("SlurmUser");
  if (owner == f.config.end()) return;
  const auto who = person(owner->second.substr(0, owner->second.find('(')));
  if (!who) return;
  bool reads = true;
  for (auto folder = file.parent_path(); !folder.empty(); folder = folder.parent_path()) {
    reads = reads && may(*who, folder.string(), 1);
    if (folder == folder.root_path()) break;
  }
  if (access(s.heartbeat.c_str(), F_OK) == 0) reads = reads && may(*who, s.heartbeat, 4);
  f.heartbeat_readable = reads;
}

void look_at_gate(Facts& f) {
  const auto conf = f.config.find("SLURM_CONF");
  if (conf == f.config.end()) return;
  f.submit_path = (std::filesystem::path(conf->second).parent_path() / "job_submit.lua").string();
  std::ifstream file(f.submit_path, std::ios::binary);
  if (!file) return;
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (text.size() <= kSubmitMost) f.submit_text = std::move(text);
}

// A timer of systemd, or the script in its loop.
void look_for_release(const Settings& s, Facts& f) {
  if (const auto state = said(s, {"systemctl", "is-active", "muster-release.timer"}); state && trim(*state) == "active") {
    f.release_seen = true;
    f.release_how = "muster-release.timer is active";
    return;
  }
  f.release_seen = false;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string pid = entry.path().filename().string();
    if (!parse_uint(pid)) continue;
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    const std::string line((std::istreambuf_iterator<char>(file)), {});
    if (line.find("muster-release.sh") == std::string::npos || line.find("--loop") == std::string::npos) continue;
    // Of this cluster: it looks at the same heartbeat.
    if (!s.heartbeat.empty() && s.heartbeat != "/run/muster/heartbeat" && line.find(s.heartbeat) == std::string::npos) continue;
    f.release_seen = true;
    f.release_how = fmt::format("muster-release.sh runs, process {}", pid);
    return;
  }
}

bool is_here(const std::string& host) {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  const std::string_view own(name);
  const std::string_view first = std::string_view(host).substr(0, host.find('('));
  const auto bare = [](std::string_view x) { return x.substr(0, x.find('.')); };
  return first == "localhost" || bare(first) == bare(own);
}

void look_at_user(const Settings& s, Facts& f) {
  f.root = geteuid() == 0;
  const passwd* p = getpwuid(geteuid());
  f.user = p == nullptr ? std::to_string(geteuid()) : p->pw_name;
  const auto type = f.config.find("AccountingStorageType");
  if (type == f.config.end() || type->second.find("slurmdbd") == std::string::npos) return;
  const auto level = said(s, {path_of(s, "sacctmgr"), "-n", "-P", "show", "user", f.user, "format=AdminLevel"});
  f.database = level.has_value();
  if (level) f.admin_level = printable(trim(*level));
}

}  // namespace

Facts gather(const Settings& s) {
  Facts f;
  const auto conf = check_conf(s.conf);
  if (const auto ok = check_heartbeat(s); !ok) f.heartbeat_wrong = ok.error().what;
  // Without a slurm.conf they look for one for long before they say even their version.
  for (const char* name : {"squeue", "scontrol", "scancel", "sinfo", "sacct"})
    f.tools.push_back(tool(s, name, conf ? std::chrono::milliseconds(kAsk) : std::chrono::milliseconds(300)));
  for (const auto& [verb, argv] : s.hands) {
    ProgramFact p{verb, argv.front(), false, false};
    p.there = access(p.path.c_str(), F_OK) == 0;
    p.runs = access(p.path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(p.path);
    f.hands.push_back(std::move(p));
  }
  if (!s.rest.url.empty()) {
    auto rest = discover_rest(s.rest);
    if (!rest) rest = RestFacts{.url = s.rest.url, .problem = rest.error().what, .next = rest.error().next};
    f.rest = std::move(*rest);
  }
  if (!conf) {
    f.silent = conf.error().what;
    return f;
  }
  Tools tools(s.conf, s.tools);
  const auto config = tools.config();
  if (!config) {
    f.silent = config.error().what;
    return f;
  }
  f.config = *config;
  if (auto nodes = tools.nodes()) f.nodes = std::move(*nodes);
  if (auto partitions = tools.partitions()) f.partitions = std::move(*partitions);
  if (auto switches = tools.topology()) f.switches = std::move(*switches);
  const auto host = f.config.find("SlurmctldHost[0]");
  f.slurmctld_here = host == f.config.end() || is_here(host->second);
  look_at_user(s, f);
  look_at_heartbeat(s, f);
  look_at_gate(f);
  look_for_release(s, f);
  return f;
}

}  // namespace muster::slurm
