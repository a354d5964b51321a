#include "adapters/agent/verdict.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "adapters/agent/kernel_source.h"
#include "adapters/agent/word_file.h"
#include "adapters/state/lock.h"
#include "base/text.h"
#include "ingest/pci.h"

namespace muster::agent {
namespace {

constexpr std::array<std::string_view, 3> kWords{"fit", "trouble", "broken"};
constexpr std::size_t kTextMost = 400;
constexpr std::size_t kWordsMost = 64 << 10;  // bytes that may wait for an agent that does not run
constexpr const char* kHookWords = "hook-words";

double value_of(const GpuReadings& g, const char* name) {
  const auto it = g.values.find(name);
  return it == g.values.end() ? 0 : it->second;
}

std::string address_of(const GpuReadings& g) {
  const auto it = g.facts.find("pci");
  if (it == g.facts.end()) return {};
  const auto a = read_pci(it->second);
  return a ? render(*a) : std::string();
}

// What NVML says of the GPU at that address, or of itself; empty: nothing that confirms a fault.
std::string confirmed(const Picture& p, const std::string& address) {
  const auto nvml = p.figures.probes.find("nvml");
  if (nvml != p.figures.probes.end() && nvml->second.hung) return "NVML does not answer";
  for (const auto& [index, g] : p.readings.gpus) {
    if (address_of(g) != address) continue;
    if (value_of(g, "muster_gpu_lost") != 0) return fmt::format("NVML has lost GPU {}", index);
    if (value_of(g, "DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION") != 0) return fmt::format("NVML wants GPU {} recovered", index);
  }
  return {};
}

std::string read_small(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // whatever lies there, it must not wait
  if (fd < 0) return {};
  std::string text(4096, '\0');
  const ssize_t n = read(fd, text.data(), text.size());
  close(fd);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

// Whole or not at all.
Result<void> replace_small(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int failed = errno;
  if (fd >= 0) close(fd);
  if (!written) return tl::unexpected(system_error("cannot write " + fresh, failed));
  if (rename(fresh.c_str(), path.c_str()) != 0) return tl::unexpected(system_error("cannot write " + path, errno));
  return {};
}

}  // namespace

Verdict judge_node(const Picture& p) {
  Verdict v;
  for (const auto& [address, text] : p.figures.fatal) {
    const std::string second = confirmed(p, address);
    if (second.empty()) continue;
    v.fitness = Fitness::broken;
    v.text = fmt::format("{}; {}", second, text);
    return v;
  }
  const std::vector<std::string> problems = check_node(p);
  if (problems.empty()) return v;
  v.fitness = Fitness::trouble;
  v.text = problems.front();
  return v;
}

std::string render_verdict(const Verdict& v) {
  return fmt::format("{} {} {} {} {}\n", kWords[static_cast<std::size_t>(v.fitness)], v.boot, v.uptime_s,
                     v.left ? std::to_string(*v.left) : "-", printable(v.text.substr(0, kTextMost)));
}

std::optional<Verdict> parse_verdict(std::string_view line) {
  if (line.empty() || line.back() != '\n') return std::nullopt;
  line = line.substr(0, line.find('\n'));
  std::array<std::string_view, 4> words;
  for (std::string_view& word : words) {
    const auto blank = line.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    word = line.substr(0, blank);
    line.remove_prefix(blank + 1);
  }
  const auto known = std::find(kWords.begin(), kWords.end(), words[0]);
  const auto at = parse_int(words[2]);
  if (known == kWords.end() || words[1].empty() || !at) return std::nullopt;
  Verdict v{static_cast<Fitness>(known - kWords.begin()), std::string(words[1]), *at, {}, std::string(line)};
  if (words[3] == "-") return v;
  const auto left = parse_uint(words[3]);
  if (!left) return std::nullopt;
  v.left = static_cast<std::uint32_t>(std::min<std::uint64_t>(*left, UINT32_MAX));
  return v;
}

HookAnswer answer_hook(const std::optional<Verdict>& v, const HookMoment& now) {
  if (!v) return {true, "muster: no verdict on this node, so it passes", "no agent has said whether the node is fit"};
  if (v->boot != now.boot)
    return {true, "muster: the verdict is of an earlier boot, so the node passes",
            "the agent has said nothing since the node booted"};
  const std::int64_t age = now.uptime_s - v->uptime_s;
  if (age > kVerdictStale_s || age < -kVerdictStale_s) {
    return {true, fmt::format("muster: the verdict is {} s old, so the node passes", age),
            fmt::format("the agent has said nothing for {} s", age)};
  }
  if (v->fitness == Fitness::fit) return {true, "muster: fit", {}};
  if (v->fitness == Fitness::trouble) return {true, "muster: passes, with trouble: " + v->text, {}};
  if (now.refused_s && now.uptime_s - *now.refused_s < kRefusalEvery_s) {
    return {true, "muster: broken, but it said no less than an hour ago, so it passes: " + v->text,
            "it is broken and passed, for it said no to a job within the hour: " + v->text};
  }
  if (!v->left) {
    return {true, "muster: broken, but no controller has said lately that a node may go, so it passes: " + v->text,
            "it is broken and passed, for no controller has said lately that a node may go: " + v->text};
  }
  if (*v->left == 0) {
    return {true, "muster: broken, but the controller lets no more nodes go, so it passes: " + v->text,
            "it is broken and passed, for the limit of nodes out of service is reached: " + v->text};
  }
  return {false, "muster: broken: " + v->text, "it said no to a job: " + v->text};
}

Result<void> save_verdict(const std::string& folder, const Verdict& v) {
  return replace_small(folder + "/verdict", render_verdict(v));
}

std::optional<Verdict> load_verdict(const std::string& folder) { return parse_verdict(read_small(folder + "/verdict")); }

std::int64_t uptime_s() {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);
  return t.tv_sec;
}

HookAnswer run_hook(const std::string& folder, const std::string& hook, const std::string& job) {
  HookMoment now{machine_boot(), uptime_s(), {}};
  // Held over the question and the refusal: two jobs that begin at once are not both refused.
  const int lock = open((folder + "/refused").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  for (int tries = 0; lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0 && tries < 50; ++tries) usleep(1000);
  char text[128] = {};
  const ssize_t n = lock < 0 ? 0 : pread(lock, text, sizeof text - 1, 0);
  const auto words = split(trim(std::string_view(text, n > 0 ? static_cast<std::size_t>(n) : 0)), ' ');
  if (words.size() == 2 && words[0] == now.boot) now.refused_s = parse_int(words[1]);
  HookAnswer a = answer_hook(load_verdict(folder), now);
  if (!a.pass) {
    const std::string mark = fmt::format("{} {}\n", now.boot, now.uptime_s);
    const bool kept =
        lock >= 0 && ftruncate(lock, 0) == 0 && pwrite(lock, mark.data(), mark.size(), 0) == static_cast<ssize_t>(mark.size());
    // A budget that cannot be kept is none.
    if (!kept)
      a = {true, "muster: broken, but its refusals cannot be counted, so it passes", "it is broken and passed: " + a.says};
  }
  if (!a.finding.empty()) {
    const std::string text = fmt::format("job {}: {}", job.empty() ? "?" : job, a.finding);
    // A word that does not fit is lost: the job starts all the same.
    static_cast<void>(leave_word(folder, kHookWords, hook + " " + printable(text.substr(0, kTextMost)), kWordsMost));
  }
  if (lock >= 0) close(lock);
  return a;
}

std::vector<HookWord> take_hook_words(const std::string& folder) {
  std::vector<HookWord> out;
  take_words(folder, kHookWords, [&](std::string_view line) {
    const std::string_view text = trim(line);
    const auto blank = text.find(' ');
    if (blank != std::string_view::npos) out.push_back({std::string(text.substr(0, blank)), printable(text.substr(blank + 1))});
    return true;
  });
  return out;
}

}  // namespace muster::agent
